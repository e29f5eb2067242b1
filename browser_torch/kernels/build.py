r"""Builds the kernels: as WebAssembly for the page, and natively for tests beside PyTorch.

The compiler for WebAssembly is zig's, from PyPI (`ziglang`). Its result is checked in, so that
building the site needs no compiler.
"""

import hashlib
import os
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

HERE = Path(__file__).resolve().parent
WASM = HERE / "kernels.wasm"
# The fingerprint of the sources and flags that the checked-in file was built from.
WASM_SOURCES = HERE / "kernels.wasm.sources"
SOURCES = sorted(HERE.glob("*.c"))

# Products and sums are rounded one by one, as everywhere where results are compared.
_COMMON = ["-ffp-contract=off", "-fno-builtin", "-Wall", "-Wextra", "-Werror"]
_WASM = [
    "-O2",
    "-target",
    "wasm32-freestanding",
    "-msimd128",
    "-mbulk-memory",
    "-fno-unroll-loops",
    # Else addresses in a loop are computed one by one, where an instruction could add them.
    "-mllvm",
    "-disable-lsr",
    # A table would lie at a fixed address, in the midst of Python's memory.
    "-fno-jump-tables",
    "-nostdlib",
    "-Wl,--no-entry",
    "-Wl,--import-memory",
    "-Wl,--export=__stack_pointer",
    "-Wl,--strip-all",
]
# Without the second, gcc computes number by number what the page's compiler does four at a time.
_NATIVE = ["-O1", "-ftree-vectorize", "-fno-math-errno", "-shared", "-fPIC", "-fvisibility=hidden"]
# With this it takes five times as long to build, and a training step 4 to 9 % less.
_OPTIMISED = ["-O3"]
# What is optimised takes ten times as long to build, and touches no more memory.
_SANITIZED = ["-O0", "-fsanitize=address,undefined", "-fno-sanitize-recover=undefined", "-g"]


class NoCompiler(Exception):
    r"""There is nothing to build with."""


def sources() -> list[Path]:
    r"""All that the kernels are made of."""
    return [*SOURCES, *sorted(HERE.glob("*.h"))]


def fingerprint() -> str:
    r"""What `kernels.wasm` depends on, as one number."""
    parts = [path.read_bytes() for path in sources()]
    return hashlib.sha256(b"\0".join([*parts, " ".join([*_WASM, *_COMMON]).encode()])).hexdigest()


def has_zig() -> bool:
    r"""Whether zig is installed."""
    return find_spec("ziglang") is not None


def wasm(target: Path) -> None:
    r"""Builds `kernels.wasm`, byte for byte the same everywhere."""
    if not has_zig():
        raise NoCompiler("kernels.wasm is built by zig: python -m pip install ziglang==0.17.1")
    # Relative paths: nothing of this machine may enter the file.
    names = [path.name for path in SOURCES]
    command = [sys.executable, "-m", "ziglang", "cc", *_WASM, *_COMMON, "-o", str(target), *names]
    subprocess.run(command, cwd=HERE, check=True)
    if target == WASM:
        WASM_SOURCES.write_text(f"{fingerprint()}  sources of kernels.wasm\n")


def native(cache: Path, sanitized: bool = False, optimised: bool = False) -> Path:
    r"""
    Builds a library for this machine, unless the cache has that of these sources.

    Tests need one soon, and who measures needs an optimised one.
    """
    flags = [*_NATIVE, *_COMMON]
    flags += _SANITIZED if sanitized else []
    flags += _OPTIMISED if optimised else []
    if has_avx2():
        # No page computes with more than 128 bits at a time.
        flags += ["-march=x86-64-v3", "-mprefer-vector-width=128"]
    compiler = _native_compiler(sanitized)
    texts = [path.read_bytes() for path in sources()]
    key = hashlib.sha256(b"\0".join([*texts, " ".join([*compiler, *flags]).encode()]))
    library = cache / f"kernels-{key.hexdigest()[:16]}.so"
    if not library.exists():
        cache.mkdir(parents=True, exist_ok=True)
        # Another process may be building it, too: the last one to rename wins.
        made = cache / f"{library.name}.{os.getpid()}"
        files = [str(path) for path in SOURCES]
        subprocess.run([*compiler, *flags, "-o", str(made), *files, "-lm"], check=True)
        made.rename(library)
    return library


def has_avx2() -> bool:
    r"""Whether the processor is one of the last ten years, as far as Linux tells."""
    try:
        return " avx2 " in Path("/proc/cpuinfo").read_text()
    except OSError:
        return False


def _native_compiler(sanitized: bool) -> list[str]:
    for name in ("gcc", "cc", "clang"):
        if shutil.which(name):
            return [name]
    if has_zig() and not sanitized:
        return [sys.executable, "-m", "ziglang", "cc"]
    raise NoCompiler(
        "the tests of the kernels need a C compiler: install gcc, or "
        "python -m pip install ziglang==0.17.1"
    )
