r"""The code as it was: commits of the repository, and the files that they had."""

import subprocess
import tarfile
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from literate.results.fingerprints import fingerprint


@dataclass(frozen=True)
class Version:
    r"""
    A file as it was.

    * `text` is what it said
    * `commit` is the last one at which it said that
    """

    text: str
    commit: str


def versions(path: str, root: Path) -> Iterator[Version]:
    r"""All versions of a file, the newest first."""
    for changed, last in _commits([path], root):
        content = _git(root, "show", f"{changed}:{path}")
        if content:
            yield Version(content.decode(), last)


def version_with(path: str, known: str, root: Path) -> Version | None:
    r"""The version of a file that has this fingerprint; None if the history has none."""
    return next(
        (one for one in versions(path, root) if _print(path, one.text.encode()) == known), None
    )


def commit_with(sources: Mapping[str, str], root: Path) -> str | None:
    r"""The last commit at which all files had these fingerprints; None if there is none."""
    prints: dict[tuple[str, str], str] = {}

    def fits(commit: str, path: str) -> bool:
        # Most files are the same in many commits: each text is read once.
        blob = _said(root, "rev-parse", f"{commit}:{path}")
        if (path, blob) not in prints:
            prints[path, blob] = _print(path, _git(root, "show", f"{commit}:{path}"))
        return prints[path, blob] == sources[path]

    for _, commit in _commits(sources, root):
        if all(fits(commit, path) for path in sources):
            return commit
    return None


def unpack(commit: str, folder: Path, root: Path, *paths: str) -> None:
    r"""Write the files of a commit into a folder: all of them, or those below `paths`."""
    packed = folder / "files.tar"
    command = ["git", "archive", f"--output={packed}", commit, *paths]
    subprocess.run(command, cwd=root, check=True)
    with tarfile.open(packed) as members:
        members.extractall(folder, filter="data")
    packed.unlink()


def _commits(paths: Iterable[str], root: Path) -> Iterator[tuple[str, str]]:
    r"""
    Commits that change one of the files, the newest first. With each comes the last commit before
    the next change: there, all other files were nearest to today's.
    """
    changed = _said(root, "log", "--format=%H", "--", *paths).split()
    last = _said(root, "rev-parse", "HEAD")
    for commit in changed:
        yield commit, last
        last = _said(root, "rev-parse", f"{commit}^")


def _print(path: str, content: bytes) -> str:
    r"""The fingerprint of a file with this content."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, Path(path).name)
        file.write_bytes(content)
        return fingerprint(file)


def _git(root: Path, *arguments: str) -> bytes:
    r"""What a command of git prints: nothing if it fails, as for a file that a commit lacks."""
    return subprocess.run(["git", *arguments], cwd=root, capture_output=True).stdout


def _said(root: Path, *arguments: str) -> str:
    return _git(root, *arguments).decode().strip()
