r"""The same sources, built in two folders: not a byte may differ."""

import shutil
import subprocess
import sys
from hashlib import sha256
from pathlib import Path

from benchmarks.figures.figure import Figure, none_of


def twice(repository: Path, site: Path, out: Path) -> Figure:
    r"""Compare the site with one whose sources lie elsewhere and are measured anew."""
    copy = out / "a folder elsewhere" / "sources"
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=repository,
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    for name in filter(None, listed.split("\0")):
        source = repository / name
        if source.is_file() and not source.is_symlink():
            (copy / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, copy / name)
    (copy / "node_modules").symlink_to(repository / "node_modules")
    build(copy, copy / "site")
    one, other = hashes(site), hashes(copy / "site")
    different = sorted(name for name in {*one, *other} if one.get(name) != other.get(name))
    return none_of(f"files of {len(one)} that differ, built in two folders", different)


def build(repository: Path, folder: Path) -> None:
    r"""Build the site as `make site` does."""
    subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", folder],
        cwd=repository,
        check=True,
    )
    subprocess.run(["make", "purge", f"SITE={folder}"], cwd=repository, check=True)


def hashes(folder: Path) -> dict[str, str]:
    r"""A checksum of each file, by its path."""
    files = (path for path in folder.rglob("*") if path.is_file())
    return {
        path.relative_to(folder).as_posix(): sha256(path.read_bytes()).hexdigest() for path in files
    }
