r"""CONTRIBUTING.md is followed, word for word, by somebody who has just cloned the repository."""

import os
import re
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.error import URLError
from urllib.request import urlopen

import pytest

ROOT = Path(__file__).resolve().parents[1]
TEXT = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
WALK, _, REFERENCE = TEXT.partition("## The commands")
# What `make` would install is there already: it is the environment of this test run.
INSTALLED = [".venv/made/site", ".venv/made/train", ".venv/made/test", "node_modules/.made"]
# A walk that goes on and on is worse than one that fails; no test is measured by this.
PATIENCE = 240


def commands(text: str) -> list[str]:
    r"""The lines of the code blocks for a shell, without their comments."""
    blocks = re.findall(r"^```sh\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    lines = [line.partition(" #")[0].strip() for block in blocks for line in block.splitlines()]
    return [line for line in lines if line]


def git(folder: Path, *arguments: str) -> None:
    identity = ["-c", "user.name=A", "-c", "user.email=a@example.org", "-c", "safe.directory=*"]
    subprocess.run(["git", *identity, *arguments], cwd=folder, check=True, capture_output=True)


@pytest.fixture(scope="module")
def fork(tmp_path_factory: pytest.TempPathFactory) -> Path:
    r"""A repository to clone, with the files of this one as they are now."""
    listed = subprocess.run(
        ["git", "-c", "safe.directory=*", "ls-files", "-z", "-co", "--exclude-standard"],
        cwd=ROOT,
        check=True,
        capture_output=True,
    ).stdout.decode()
    folder = tmp_path_factory.mktemp("fork")
    for name in filter(None, listed.split("\0")):
        if (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, folder / name)
    git(folder, "init", "--initial-branch=main")
    git(folder, "add", "--all")
    git(folder, "commit", "--message=All")
    bare = tmp_path_factory.mktemp("bare")
    git(folder, "clone", "--bare", str(folder), str(bare))
    return bare


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    r"""That of a contributor: with a name, and a `make` that has nothing left to install."""
    tools = tmp_path_factory.mktemp("tools")
    old = " ".join(f"-o {name}" for name in INSTALLED)
    make = tools / "make"
    make.write_text(f'#!/bin/sh\nexec {shlex.quote(shutil.which("make"))} {old} "$@"\n')
    make.chmod(0o755)
    people = {
        f"GIT_{role}_{key}": value
        for role in ("AUTHOR", "COMMITTER")
        for key, value in (("NAME", "A"), ("EMAIL", "a@example.org"))
    }
    kept = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}
    return {**kept, **people, "PATH": f"{tools}{os.pathsep}{kept['PATH']}"}


def free_port() -> int:
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        return bound.getsockname()[1]


@contextmanager
def started(command: str, folder: Path, environment: dict[str, str]) -> Iterator[str]:
    r"""`make serve` at a free port, until it is no longer needed; gives the address."""
    address = f"127.0.0.1:{free_port()}"
    process = subprocess.Popen(
        [*shlex.split(command), f"ARGS=--dev-addr {address}"],
        cwd=folder,
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        yield f"http://{address}/"
    finally:
        os.killpg(process.pid, signal.SIGTERM)
        process.wait()


def asked(address: str) -> str:
    r"""The page at an address, as soon as there is one."""
    until = time.monotonic() + PATIENCE
    while True:
        try:
            with urlopen(address, timeout=PATIENCE) as answer:
                return answer.read().decode()
        except URLError:
            assert time.monotonic() < until, f"nothing at {address}"
            time.sleep(0.2)


def typed(lines: list[str], folder: Path, environment: dict[str, str]) -> str:
    r"""What a shell prints that stops at the first command that fails."""
    done = subprocess.run(
        ["sh", "-e"],
        input="\n".join(lines),
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_the_way_from_a_clone_to_a_page_can_be_gone(
    fork: Path, environment: dict[str, str], tmp_path: Path, site: Path
) -> None:
    lines = [line.replace("ADDRESS", shlex.quote(str(fork))) for line in commands(WALK)]
    at = lines.index("make serve")
    typed(lines[:at], tmp_path, environment)
    clone = tmp_path / "annotated"
    # What `make` would set up, and what was measured when the site was built.
    assert site.is_dir()
    (clone / ".venv").symlink_to(sys.prefix)
    (clone / "node_modules").symlink_to(ROOT / "node_modules")
    shutil.copytree(ROOT / ".cache/literate", clone / ".cache/literate")
    with started(lines[at], clone, environment) as address:
        assert "<title>Annotated Transformers" in asked(address)
        printed = typed(lines[at + 1 :], tmp_path, environment)
        shown = asked(f"{address}transformers/my_idea/")
    assert 'id="MyIdea.forward"' in shown
    assert "wrote labml_nn/transformers/my_idea.py" in printed
    assert "1 pages checked, no problems." in printed
    assert "class MyIdea(nn.Module):" in printed
    assert "1 passed" in printed
    handed_in = subprocess.run(
        ["git", "-c", "safe.directory=*", "show", "--name-only", "--format=%s", "my-idea"],
        cwd=fork,
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert handed_in.split("\n\n") == [
        "A page about my idea",
        "labml_nn/transformers/my_idea.py\nnotebooks/transformers/my_idea.ipynb\n"
        "tests/labml_nn/transformers/test_my_idea.py\n",
    ]


@pytest.mark.parametrize("line", [one for one in commands(REFERENCE) if one.startswith("make ")])
def test_a_make_command_has_something_to_do(line: str, environment: dict[str, str]) -> None:
    done = subprocess.run(
        [*shlex.split(line), "-n"],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip()


def test_the_commands_of_the_tool_run(environment: dict[str, str]) -> None:
    (python,) = {one.split()[0] for one in commands(REFERENCE) if not one.startswith("make ")}
    assert python == ".venv/bin/python"
    lines = [
        one.replace(python, shlex.quote(sys.executable), 1)
        for one in commands(REFERENCE)
        if not one.startswith("make ")
    ]
    assert "pages checked, no problems." in typed(lines, ROOT, environment)
