r"""The kernels that are checked in, and what the page loads."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from browser_torch.kernels import build
from browser_torch.packing import pack
from tests.browser_torch.worlds import ROOT, STAND_IN, environment

LIMIT = 250_000


@pytest.mark.whole
@pytest.mark.skipif(not build.has_zig(), reason="zig is not installed")
def test_the_kernels_that_are_checked_in_are_those_of_the_sources(tmp_path: Path) -> None:
    build.wasm(tmp_path / "kernels.wasm")
    assert (tmp_path / "kernels.wasm").read_bytes() == build.WASM.read_bytes()


def test_the_kernels_are_small() -> None:
    assert 0 < build.WASM.stat().st_size <= LIMIT


def sections(module: bytes) -> set[int]:
    r"""The kinds of sections of a WebAssembly module: after eight bytes, each has its kind, its
    length in groups of seven bits, and its content."""
    found, at = set(), 8
    while at < len(module):
        kind, length, shift = module[at], 0, 0
        while True:
            at += 1
            length |= (module[at] & 127) << shift
            shift += 7
            if module[at] < 128:
                break
        found.add(kind)
        at += 1 + length
    assert at == len(module)
    return found


def test_the_kernels_write_nothing_to_a_memory_that_is_not_theirs() -> None:
    r"""Data of a module is written to fixed addresses, which in the page are in Python's memory."""
    code, data = 10, 11
    found = sections(build.WASM.read_bytes())
    assert code in found
    assert data not in found


def test_the_kernels_were_built_after_their_sources_changed() -> None:
    r"""Without zig, too, a change of the sources alone is noticed."""
    assert build.WASM_SOURCES.read_text().split()[0] == build.fingerprint()


def enumeration(path: str, name: str) -> list[str]:
    r"""The names of a `typedef enum {…} NAME;` in C."""
    text = (build.HERE / path).read_text()
    body = re.search(rf"typedef enum \{{([^{{}}]*)\}} {name};", text)
    assert body, f"no enumeration {name} in {path}"
    return [one.strip() for one in body.group(1).split(",") if one.strip()]


@pytest.mark.parametrize(
    ("path", "name", "module"),
    [
        ("kernels.h", "Operation", "torch._memory"),
        ("elementwise.c", "Unary", "torch._raw"),
        ("elementwise.c", "Binary", "torch._raw"),
        ("reduce.c", "Reduction", "torch._raw"),
    ],
)
def test_python_and_c_number_the_operations_alike(path: str, name: str, module: str) -> None:
    program = f"import {module} as m; print(*[one.name for one in m.{name}])"
    said = subprocess.run(
        [sys.executable, "-c", program],
        env=environment(STAND_IN),
        capture_output=True,
        text=True,
        check=True,
    )
    assert said.stdout.split() == enumeration(path, name)


def test_the_page_gets_the_stand_in_and_the_kernels(tmp_path: Path) -> None:
    files = {path.relative_to(tmp_path).as_posix() for path in pack(tmp_path)}
    assert {"kernels.wasm", "torch/__init__.py", "torch/nn/functional.py"} <= files
    assert {path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*.*")} == files
    assert not [one for one in files if "__pycache__" in one]


def test_every_name_of_pytorch_that_a_lesson_uses_is_there() -> None:
    said = subprocess.run(
        [sys.executable, "-m", "browser_torch", "missing"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    assert said.stdout.splitlines() == ["0 names are missing."]
