r"""Commands of the Makefile that have an environment of their own, or take minutes."""

import os
import subprocess
import sys
from contextlib import suppress

import pytest

from tests.literate.projects import ROOT

pytestmark = pytest.mark.whole
# What pytest and an outer `make` tell the programs that they start.
TOLD = ("PYTEST", "MAKE", "MFLAGS")


def make(*arguments: str, **variables: str) -> None:
    r"""Type a command as somebody would who has typed nothing before."""
    kept = {name: one for name, one in os.environ.items() if not name.startswith(TOLD)}
    done = subprocess.run(
        ["make", *arguments],
        cwd=ROOT,
        env=kept | variables,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert done.returncode == 0, done.stdout[-20_000:]


def need_packages() -> None:
    r"""Without them there is no other environment."""
    asked = ["install", "--dry-run", "--ignore-installed", "--no-deps", "packaging"]
    asked = [sys.executable, "-m", "pip", *asked]
    if subprocess.run(asked, capture_output=True).returncode != 0:
        pytest.skip("not run: the packages of another environment can't be fetched here")


def need_python(name: str) -> dict[str, str]:
    r"""What makes this interpreter start: pyenv has several, and is told by a variable which."""
    ways = {}, {"PYENV_VERSION": name.removeprefix("python")}
    for way in ways:
        asked = [name, "-c", "import ensurepip, venv"]
        with suppress(OSError):
            if subprocess.run(asked, env=os.environ | way, capture_output=True).returncode == 0:
                return way
    pytest.skip(f"not run: no {name} starts here")


# The browser is the same one for each Python.
@pytest.mark.parametrize("python", ["python3.12", "python3.13"])
def test_another_python(python: str) -> None:
    way = need_python(python)
    need_packages()
    make("test", f"PYTHON={python}", f"VENV=.{python}", "ARGS=--ignore=tests/browser", **way)


def test_the_oldest_torch() -> None:
    need_packages()
    make("oldest")


def test_colab() -> None:
    way = need_python("python3.13")
    need_packages()
    make("colab", **way)


def test_lint() -> None:
    make("lint")


def test_soak() -> None:
    make("soak", "ARGS=kills --kills=12")
