r"""The code as it was: commits of the repository, and the files that they had."""

import json
import subprocess
import tarfile
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path


def brought(path: str, sources: Mapping[str, str], root: Path) -> str:
    r"""The commit that gave a result the sources that it has; the last one, if none did."""
    found = _said(root, "rev-parse", "HEAD")
    for commit in _said(root, "log", "--format=%H", "--", path).split():
        content = _git(root, "show", f"{commit}:{path}")
        if not content or json.loads(content)["sources"] != sources:
            break
        found = commit
    return found


def before_changes(paths: Iterable[str], root: Path) -> Iterator[str]:
    r"""The last commit, and those before each change of one of these files, the newest first."""
    yield _said(root, "rev-parse", "HEAD")
    for commit in _said(root, "log", "--format=%H", "--", *paths).split():
        if before := _said(root, "rev-parse", "--verify", "--quiet", f"{commit}^"):
            yield before


def unpack(commit: str, folder: Path, root: Path, *paths: str) -> None:
    r"""Write the files of a commit into a folder: all of them, or those below `paths`."""
    packed = folder / "files.tar"
    command = ["git", "archive", f"--output={packed}", commit, *paths]
    subprocess.run(command, cwd=root, check=True)
    with tarfile.open(packed) as members:
        members.extractall(folder, filter="data")
    packed.unlink()


def _git(root: Path, *arguments: str) -> bytes:
    r"""What a command of git prints: nothing if it fails, as for a file that a commit lacks."""
    return subprocess.run(["git", *arguments], cwd=root, capture_output=True).stdout


def _said(root: Path, *arguments: str) -> str:
    return _git(root, *arguments).decode().strip()
