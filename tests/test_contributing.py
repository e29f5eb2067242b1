r"""CONTRIBUTING.md is followed, word for word, by somebody who has just cloned the repository, and
the commands of RULES.md do something.
"""

import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.error import URLError
from urllib.request import urlopen

import pytest

from tests.literate.projects import free_address
from tests.test_repository import commands, copied

ROOT = Path(__file__).resolve().parents[1]
WALK, RULES = (
    (ROOT / name).read_text(encoding="utf-8") for name in ("CONTRIBUTING.md", "RULES.md")
)
# What `make` would install is there already: it is the environment of this test run.
INSTALLED = [".venv/made/site", ".venv/made/train", ".venv/made/test", "node_modules/.made"]
ROLES = ("AUTHOR_NAME", "AUTHOR_EMAIL", "COMMITTER_NAME", "COMMITTER_EMAIL")
# After so long nothing will come any more, however busy the machine is.
PATIENCE = 1800


@pytest.fixture(scope="module")
def fork(environment: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    r"""A repository to clone, with the files of this one as they are now."""
    folder = tmp_path_factory.mktemp("fork")
    copied(folder)
    bare = tmp_path_factory.mktemp("bare")
    lines = ["init --initial-branch=main", "add --all", "commit --message=All"]
    lines += [f"clone --bare . {shlex.quote(str(bare))}"]
    typed([f"git {line}" for line in lines], folder, environment)
    return bare


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    r"""That of a contributor: with a name, and a `make` that has nothing left to install."""
    tools = tmp_path_factory.mktemp("tools")
    old = " ".join(f"-o {name}" for name in INSTALLED)
    make = tools / "make"
    make.write_text(f'#!/bin/sh\nexec {shlex.quote(shutil.which("make"))} {old} "$@"\n')
    make.chmod(0o755)
    people = {f"GIT_{role}": "a@example.org" for role in ROLES}
    kept = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}
    return {**kept, **people, "PATH": f"{tools}{os.pathsep}{kept['PATH']}"}


@contextmanager
def started(command: str, folder: Path, environment: dict[str, str]) -> Iterator[str]:
    r"""`make serve` at a free port, until it is no longer needed; gives the address."""
    address = free_address()
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
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def put_in_place(navigation: Path, printed: str) -> None:
    r"""The line that was printed for the navigation goes below the page about attention."""
    (line,) = re.findall("TO DO: add the line `(.*)` to `nav` in mkdocs.yml", printed)
    text = navigation.read_text(encoding="utf-8")
    (neighbour,) = re.findall(r"(?m)^ *- transformers/mha\.md$", text)
    new = neighbour.partition("-")[0] + line
    navigation.write_text(text.replace(neighbour, f"{neighbour}\n{new}"), encoding="utf-8")


# What builds, checks or tests all pages; `whole` types these, too.
OF_ALL_PAGES = ("make serve", "make notebooks", "make lint", "make test")
# All tests are what runs this one. These look at every page, and are fast.
OF_EVERY_PAGE = (
    "test_repository.py test_architecture.py labml_nn/test_notes.py mutants/test_proof.py"
)


def test_the_way_from_a_clone_to_a_page_can_be_gone(
    fork: Path, environment: dict[str, str], tmp_path: Path
) -> None:
    lines = [line.replace("ADDRESS", shlex.quote(str(fork))) for line in commands(WALK)]
    lines = [line for line in lines if line not in OF_ALL_PAGES]
    cloned = next(index for index, line in enumerate(lines) if line.startswith("cd "))
    typed(lines[: cloned + 1], tmp_path, environment)
    clone = set_up(tmp_path / "annotated")
    begun = next(index for index, line in enumerate(lines) if " new " in line) + 1
    done = next(index for index, line in enumerate(lines) if line.startswith("git add"))
    printed = begin(lines[cloned + 1 : begun], clone, environment)
    check(printed + typed(lines[begun:done], clone, environment))
    hand_in(lines[done:], clone, fork, environment, "")


@pytest.mark.whole
def test_the_whole_way_from_a_clone_to_a_page_can_be_gone(
    fork: Path, environment: dict[str, str], tmp_path: Path, site: Path
) -> None:
    lines = [line.replace("ADDRESS", shlex.quote(str(fork))) for line in commands(WALK)]
    at = lines.index("make serve")
    typed(lines[:at], tmp_path, environment)
    # What was measured when the site was built.
    assert site.is_dir()
    clone = set_up(tmp_path / "annotated")
    tests = " ".join(f"tests/{name}" for name in OF_EVERY_PAGE.split())
    lines[lines.index("make test")] = f'make test ARGS="{tests}"'
    with started(lines[at], clone, environment) as address:
        assert "<title>Annotated Transformers" in asked(address)
        begun = next(index for index, line in enumerate(lines) if " new " in line) + 1
        done = next(index for index, line in enumerate(lines) if line.startswith("git add"))
        printed = begin(lines[at + 1 : begun], clone, environment)
        printed += typed(lines[begun:done], clone, environment)
        shown = asked(f"{address}transformers/my_idea/")
    assert 'id="MyIdea.forward"' in shown
    check(printed)
    # `make lint` checks all of them.
    assert re.search(r"(?m)^\d{3} pages checked, no problems\.$", printed)
    notebook = "notebooks/transformers/my_idea.ipynb\n"
    hand_in(lines[done:], clone, fork, environment, notebook)


def set_up(clone: Path) -> Path:
    r"""A clone with what `make` would set up, and with what was measured."""
    (clone / ".venv").symlink_to(sys.prefix)
    (clone / "node_modules").symlink_to(ROOT / "node_modules")
    if (ROOT / ".cache/literate").is_dir():
        shutil.copytree(ROOT / ".cache/literate", clone / ".cache/literate")
    return clone


def begin(lines: list[str], clone: Path, environment: dict[str, str]) -> str:
    r"""Write the page, and put the line that is printed into the navigation."""
    printed = typed(lines, clone.parent, environment)
    put_in_place(clone / "mkdocs.yml", printed)
    return printed


def check(printed: str) -> None:
    r"""What the commands about the page have said."""
    for said in [
        "wrote labml_nn/transformers/my_idea.py",
        "1 pages checked, no problems.",
        "class MyIdea(nn.Module):",
        "1 passed",
    ]:
        assert said in printed


def hand_in(
    lines: list[str], clone: Path, fork: Path, environment: dict[str, str], notebook: str
) -> None:
    r"""What is pushed are the page, its test and its line."""
    typed(lines, clone, environment)
    show = "git -c 'safe.directory=*' show --name-only --format=%s my-idea"
    assert typed([show], fork, environment).split("\n\n") == [
        "A page about my idea",
        f"labml_nn/transformers/my_idea.py\nmkdocs.yml\n{notebook}"
        "tests/labml_nn/transformers/test_my_idea.py\n",
    ]


def test_the_commands_do_something(environment: dict[str, str]) -> None:
    # Who follows the walk types `make lint`: what it runs need not run twice.
    assert "make lint" in commands(WALK)
    run_there = typed(["make -n lint"], ROOT, environment).splitlines()
    for line in commands(RULES):
        program, rest = line.split(maxsplit=1)
        known = {"make": f"make -n {rest}", ".venv/bin/python": f"{sys.executable} {rest}"}
        if line not in run_there:
            assert typed([known[program]], ROOT, environment).strip(), line
