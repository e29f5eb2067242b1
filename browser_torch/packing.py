r"""The files that a page loads: the stand-in's modules, and the kernels."""

import shutil
from pathlib import Path

from browser_torch.kernels.build import WASM

HERE = Path(__file__).resolve().parent


def pack(target: Path) -> list[Path]:
    r"""Writes `torch/…` and `kernels.wasm` into a folder, for the build of the site."""
    files = [target / WASM.name]
    target.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(WASM, files[0])
    for path in sorted((HERE / "torch").rglob("*.py")):
        copy = target / path.relative_to(HERE)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, copy)
        files.append(copy)
    return files
