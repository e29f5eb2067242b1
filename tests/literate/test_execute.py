r"""Notebooks are executed once, and one that fails is named with its cell and its line."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from literate.execute import execute, unused
from literate.executed import Shelf
from literate.notebook import build
from literate.problems import LiterateError
from literate.source import Source
from tests.literate.packages import package

ROOT = Path(__file__).resolve().parents[2]
FRONT = '''r"""
---
title: A Page
summary: It does what it says.
---
"""
'''
GOOD = f'''{FRONT}

def notebook(n: int = 30) -> None:
    r"""
    ## Try it
    """
    # One line
    # of text.
    print(n)
'''
FAILS = f'''{FRONT}

def half(n: int) -> int:
    r"""
    ## Halve
    """
    assert n % 2 == 0, "odd"
    return n // 2


def notebook(n: int = 30) -> None:
    r"""
    ## Try it
    """
    # Once
    print("before")

    # more.
    print(half(n))
'''
NEVER = GOOD.replace("    print(n)", "    import time\n\n    time.sleep(60)")
DIES = GOOD.replace("    print(n)", "    import os\n\n    os.abort()")


def texts(sources: dict[str, Source], *names: str) -> dict[str, str]:
    r"""The notebooks of the pages, by module."""
    return {f"pkg.{name}": build(sources, f"pkg.{name}") for name in names}


@pytest.fixture
def pages() -> dict[str, Source]:
    made = {"good": GOOD, "fails": FAILS, "never": NEVER, "dies": DIES}
    return package({"pkg/__init__.py": "", **{f"pkg/{name}.py": made[name] for name in made}})


def test_a_notebook_is_executed_once(pages: dict[str, Source], tmp_path: Path) -> None:
    shelf, lines = Shelf(tmp_path, {"n": 5}), []
    found = texts(pages, "good")
    assert execute(pages, found, shelf, lines.append) == 1
    assert [line.partition(",")[0] for line in lines] == ["executed the notebook of pkg/good.py"]
    shown, outcome = shelf.look_up("pkg.good", found["pkg.good"])
    assert [one.text for one in outcome.parts] == ["5"]
    assert '"5\\n"' in shown
    assert execute(pages, found, shelf, lines.append) == 0
    assert len(lines) == 1


def test_what_fails_is_named_and_the_others_are_kept(
    pages: dict[str, Source], tmp_path: Path
) -> None:
    shelf = Shelf(tmp_path, {"n": 5})
    found = texts(pages, "fails", "never", "dies", "good")
    with pytest.raises(LiterateError) as caught:
        execute(pages, found, shelf, lambda line: None, seconds=8)
    line = FAILS.splitlines().index('    assert n % 2 == 0, "odd"') + 1
    begins = GOOD.splitlines().index("    print(n)") + 1
    cell = "of the notebook of pkg/{0}.py, which begins with `{1}`,"
    assert str(caught.value).splitlines() == [
        f"pkg/dies.py:{begins}: cell 3 {cell.format('dies', 'import os')} ends the process.",
        f"pkg/fails.py:{line}: cell 5 {cell.format('fails', 'print(half(n))')} raises "
        "AssertionError: odd.",
        f"pkg/never.py:{begins}: cell 3 {cell.format('never', 'import time')} takes longer than "
        "8 s.",
    ]
    assert [name for name, text in found.items() if shelf.has(name, text)] == ["pkg.good"]


def test_a_value_that_no_form_takes_is_named(pages: dict[str, Source]) -> None:
    (problem,) = unused(texts(pages, "good").values(), {"n": 5, "steps": 7}, "pyproject.toml")
    assert str(problem) == (
        "pyproject.toml:1: `form` of `tool.literate` sets `steps`, which no notebook's form has."
    )


@pytest.fixture
def project(tmp_path: Path) -> Path:
    r"""A project with a notebook that takes its time."""
    (tmp_path / "pkg").mkdir()
    (tmp_path / "pkg" / "__init__.py").write_text("")
    (tmp_path / "pkg" / "never.py").write_text(NEVER)
    (tmp_path / "pyproject.toml").write_text('[tool.literate]\nsources = { pkg = "" }\n')
    return tmp_path


def command(*arguments: str) -> list[str]:
    r"""The command, as it is typed."""
    return [sys.executable, "-m", "literate", "execute", *arguments]


def test_the_command_executes_what_is_chosen_and_the_site_has_it(tmp_path: Path) -> None:
    (tmp_path / "pkg").mkdir()
    (tmp_path / "pkg" / "__init__.py").write_text("")
    (tmp_path / "pkg" / "good.py").write_text(GOOD)
    (tmp_path / "pkg" / "fails.py").write_text(FAILS)
    (tmp_path / "pyproject.toml").write_text(
        '[tool.literate]\nsources = { pkg = "" }\nform = { n = 5 }\n'
        f'katex = "{ROOT / "node_modules" / "katex"}"\n'
    )
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            arguments, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
        )

    done = run(*command("pkg/good.py"))
    assert (done.returncode, done.stdout) == (
        0,
        "Notebooks: 1 executed, 0 kept from before.\n",
    )
    failed = run(*command())
    assert failed.returncode == 1
    assert "cell 5 of the notebook of pkg/fails.py" in failed.stderr
    assert "Traceback" not in failed.stderr
    written = run(sys.executable, "-m", "literate", "write", "out")
    assert written.returncode == 0, written.stderr
    served = (tmp_path / "out" / "notebooks" / "good.ipynb").read_text()
    assert "with `n = 5`." in served
    assert '"5\\n"' in served
    page = (tmp_path / "out" / "good.md").read_text()
    assert "What the notebook gave" in page
    assert "<code>n = 5</code>" in page
    assert "What the notebook gave" not in (tmp_path / "out" / "fails.md").read_text()


def test_an_interrupted_command_leaves_no_process(project: Path) -> None:
    running = subprocess.Popen(
        command(),
        cwd=project,
        env={**os.environ, "PYTHONPATH": str(ROOT), "TMPDIR": str(project)},
        stderr=subprocess.PIPE,
        text=True,
    )
    while not kernels(project):
        assert running.poll() is None
        time.sleep(0.1)
    running.send_signal(signal.SIGINT)
    # A kernel that is just starting may take its minute first, on a busy machine.
    assert running.wait(100) == 130
    assert kernels(project) == []
    assert "Traceback" not in running.stderr.read()
    running.stderr.close()


def kernels(project: Path) -> list[str]:
    r"""The processes that were started with a file below the folder."""
    listed = subprocess.run(
        ["ps", "-ww", "-eo", "args"], capture_output=True, text=True, check=True
    )
    lines = listed.stdout.splitlines()
    return [line for line in lines if "ipykernel_launcher" in line and str(project) in line]
