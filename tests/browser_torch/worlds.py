r"""One program in two worlds: with PyTorch, and with the stand-in under its name.

Each runs in a process of its own, whose `import torch` is the one or the other.
"""

import os
import pickle
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from browser_torch.kernels import build

ROOT = Path(__file__).resolve().parents[2]
PROGRAMS = Path(__file__).resolve().parent / "programs"
CACHE = ROOT / ".cache" / "browser_torch"

PYTORCH, STAND_IN = "pytorch", "stand-in"


@cache
def library(sanitized: bool = False) -> Path:
    r"""The kernels for this machine."""
    return build.native(CACHE, sanitized)


def environment(world: str, sanitized: bool = False) -> dict[str, str]:
    r"""What a process needs so that `import torch` gets the one or the other."""
    paths = [str(ROOT)]
    variables = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1", "PYTHONHASHSEED": "0"}
    variables |= {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
    if world == STAND_IN:
        paths.insert(0, str(ROOT / "browser_torch"))
        variables["BROWSER_TORCH_KERNELS"] = str(library(sanitized))
    if sanitized:
        found = subprocess.run(
            ["gcc", "-print-file-name=libasan.so"], check=True, capture_output=True, text=True
        )
        variables["LD_PRELOAD"] = found.stdout.strip()
        variables["ASAN_OPTIONS"] = "detect_leaks=0"
        # Python's own allocator would put arrays beside each other, without a gap to watch.
        variables["PYTHONMALLOC"] = "malloc"
    variables["PYTHONPATH"] = os.pathsep.join(paths)
    return variables


def run(
    world: str,
    program: str,
    *args: str,
    sanitized: bool = False,
    seconds: int = 540,
    variables: Mapping[str, str] | None = None,
) -> Any:
    r"""
    Runs `programs/PROGRAM.py` and gives what it wrote to the file of its first argument.

    `variables` are those of its environment, beside the usual ones.
    """
    with tempfile.TemporaryDirectory() as folder:
        answer = Path(folder) / "answer"
        command = [sys.executable, str(PROGRAMS / f"{program}.py"), str(answer), *args]
        done = subprocess.run(
            command,
            env=environment(world, sanitized) | dict(variables or {}),
            cwd=folder,
            capture_output=True,
            text=True,
            timeout=seconds,
        )
        assert done.returncode == 0, done.stderr[-4000:]
        return pickle.loads(answer.read_bytes())
