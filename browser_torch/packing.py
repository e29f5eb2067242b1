r"""The files that a page loads: the stand-in as a zip, the kernels, and what puts them together."""

import shutil
import zipfile
from pathlib import Path

from browser_torch.kernels.build import WASM

HERE = Path(__file__).resolve().parent
# The same bytes from the same sources, whenever they are packed.
_TIME = (1980, 1, 1, 0, 0, 0)


def pack(target: Path) -> list[Path]:
    r"""Writes `torch.zip`, `kernels.wasm` and `kernels.mjs` into a folder."""
    target.mkdir(parents=True, exist_ok=True)
    archive = target / "torch.zip"
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as packed:
        for path in sorted((HERE / "torch").rglob("*.py")):
            entry = zipfile.ZipInfo(path.relative_to(HERE).as_posix(), _TIME)
            entry.compress_type = zipfile.ZIP_DEFLATED
            packed.writestr(entry, path.read_bytes())
    files = [archive, target / WASM.name, target / "kernels.mjs"]
    shutil.copyfile(WASM, files[1])
    shutil.copyfile(HERE / "kernels" / "load.mjs", files[2])
    return files
