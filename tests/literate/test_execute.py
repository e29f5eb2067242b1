r"""Notebooks run where their package is not, and one that fails is named with cell and line."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from literate.execute import Kernels, execute, fill_in
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


def test_a_field_takes_its_value_and_a_text_of_any_kind_stays_a_text() -> None:
    page = GOOD.replace("n: int = 30", "n: int = 30, m: str = 'b'").replace("(n)", "(n, m)")
    notebook = fill_in(build(package({"pkg/a.py": page}), "pkg.a"), {"m": "\"'é\n", "other": 1})
    names: dict[str, object] = {}
    exec(notebook.cells[-3].source, names)
    assert (names["n"], names["m"]) == (30, "\"'é\n")
    assert "other" not in names


def test_what_fails_is_named_and_the_others_are_executed(pages: dict[str, Source]) -> None:
    lines: list[str] = []
    found = texts(pages, "fails", "never", "dies", "good")
    with pytest.raises(LiterateError) as caught:
        execute(pages, found, {"n": 5}, lines.append, seconds=8)
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
    assert [line.partition(",")[0] for line in lines] == ["executed the notebook of pkg/good.py"]


def test_a_kernel_is_as_one_that_was_started_for_it_alone(tmp_path: Path) -> None:
    # What one of them defines the next one doesn't have, and each has its own empty folder.
    body = """
    import os
    import subprocess
    import sys

    print(globals().get("seen"), os.listdir(), "torch.optim" in sys.modules)
    seen = open("file", "w").close()
    print(subprocess.run([sys.executable, "-c", "exit(3)"]).returncode)
"""
    page = GOOD.replace("    print(n)\n", body)
    text = build(package({"pkg/a.py": page}), "pkg.a")
    with Kernels(tmp_path) as kernels:
        for _ in range(2):
            notebook = fill_in(text, {})
            assert kernels.run(notebook) is None
            (output,) = notebook.cells[-1].outputs
            assert output.text == "None [] True\n3\n"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    r"""A project of some pages."""
    (tmp_path / "pkg").mkdir()
    (tmp_path / "pkg" / "__init__.py").write_text("")
    (tmp_path / "pyproject.toml").write_text(
        '[tool.literate]\nsources = { pkg = "" }\nform = { n = 5 }\n'
    )
    return tmp_path


def command(*arguments: str) -> list[str]:
    r"""The command, as it is typed."""
    return [sys.executable, "-m", "literate", "execute", *arguments]


def test_the_command_executes_what_is_chosen(project: Path) -> None:
    (project / "pkg" / "good.py").write_text(GOOD)
    (project / "pkg" / "fails.py").write_text(FAILS)

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        return subprocess.run(
            arguments, cwd=project, env=environment, capture_output=True, text=True, check=False
        )

    done = run(*command("pkg/good.py"))
    assert (done.returncode, done.stdout) == (0, "Notebooks executed: 1, no problems.\n")
    failed = run(*command())
    assert failed.returncode == 1
    assert "cell 5 of the notebook of pkg/fails.py" in failed.stderr
    assert "Traceback" not in failed.stderr


def test_an_interrupted_command_leaves_no_process(project: Path) -> None:
    page = NEVER.replace("    import time", '    open("begun", "w").close()\n    import time')
    (project / "pkg" / "never.py").write_text(page)
    running = subprocess.Popen(
        command(),
        cwd=project,
        env={**os.environ, "PYTHONPATH": str(ROOT), "TMPDIR": str(project)},
        stderr=subprocess.PIPE,
        text=True,
    )
    while not list(project.rglob("begun")):
        assert running.poll() is None
        time.sleep(0.1)
    assert kernels(project) != []
    running.send_signal(signal.SIGINT)
    assert running.wait(100) == 130
    assert kernels(project) == []
    assert "Traceback" not in running.stderr.read()
    running.stderr.close()


def kernels(project: Path) -> list[str]:
    r"""The processes that were started with a Python below the folder."""
    listed = subprocess.run(
        ["ps", "-ww", "-eo", "args"], capture_output=True, text=True, check=True
    )
    lines = listed.stdout.splitlines()
    return [line for line in lines if "kernel_server" in line and str(project) in line]
