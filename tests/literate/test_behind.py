r"""A process that can be left: what it answers then, to whom, and that it ends."""

import os
import signal
import subprocess
import textwrap
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from literate import child
from literate.behind import Behind, Left
from literate.child import Died, NotStarted

# It is ready when there is a file `ready`, and answers when there is a file of the name it is told.
PROGRAM = """
    import json, os, pathlib, sys, time

    def wait_for(name):
        while not pathlib.Path(name).exists():
            time.sleep(0.01)

    pathlib.Path("pid").write_text(str(os.getpid()))
    wait_for("ready")
    print("{}", flush=True)
    for line in sys.stdin:
        request = json.loads(line)
        pathlib.Path(f"{request['name']}.asked").touch()
        wait_for(request["name"])
        print(json.dumps({"pid": os.getpid(), **request}), flush=True)
"""


@pytest.fixture
def behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Behind]:
    program = tmp_path / "program.py"
    program.write_text(textwrap.dedent(PROGRAM))
    monkeypatch.setattr(child, "PROGRAM", program)
    behind = Behind(tmp_path)
    behind.start()
    yield behind
    behind.stop()


def leave(root: Path, behind: Behind, name: str, sign: str) -> None:
    r"""Ask, and go as soon as a file is there."""
    behind.is_urgent = (root / sign).exists
    with pytest.raises(Left):
        behind.ask({"name": name}, 60)
    behind.is_urgent = lambda: False


def test_who_stays_gets_the_answer(tmp_path: Path, behind: Behind) -> None:
    for name in ("ready", "one", "two"):
        (tmp_path / name).touch()
    one, two = behind.ask({"name": "one"}, 60), behind.ask({"name": "two"}, 60)
    assert (one["name"], two["name"]) == ("one", "two")
    assert one["pid"] == two["pid"]


def test_an_answer_that_was_left_is_not_taken_for_that_of_the_next_question(
    tmp_path: Path,
    behind: Behind,
) -> None:
    (tmp_path / "ready").touch()
    leave(tmp_path, behind, "one", "one.asked")
    # It is busy still, so who asks now can go at once, too.
    behind.is_urgent = lambda: True
    with pytest.raises(Left):
        behind.ask({"name": "two"}, 60)
    behind.is_urgent = lambda: False
    assert not (tmp_path / "two.asked").exists()
    (tmp_path / "one").touch()
    (tmp_path / "three").touch()
    told = behind.ask({"name": "three"}, 60)
    assert told == {"name": "three", "pid": int((tmp_path / "pid").read_text())}


def test_its_start_can_be_left_and_is_not_made_twice(tmp_path: Path, behind: Behind) -> None:
    leave(tmp_path, behind, "one", "pid")
    started = (tmp_path / "pid").read_text()
    for name in ("ready", "one", "two"):
        (tmp_path / name).touch()
    assert behind.ask({"name": "two"}, 60)["pid"] == int(started)


def test_one_that_takes_too_long_ends_and_another_is_started(
    tmp_path: Path, behind: Behind
) -> None:
    (tmp_path / "ready").touch()
    with pytest.raises(Died, match=r"takes longer than 0\.5 s"):
        behind.ask({"name": "one"}, 0.5)
    before = (tmp_path / "pid").read_text()
    (tmp_path / "two").touch()
    assert behind.ask({"name": "two"}, 60)["pid"] != int(before)


@pytest.mark.parametrize("sign", ["pid", "one.asked"])
def test_it_ends_while_it_starts_and_while_it_is_asked(
    tmp_path: Path, behind: Behind, sign: str
) -> None:
    if sign != "pid":
        (tmp_path / "ready").touch()
    leave(tmp_path, behind, "one", sign)
    behind.stop()
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "pid").read_text()), 0)


def test_it_ends_even_before_there_is_a_process(
    behind: Behind, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[subprocess.Popen[str]] = []
    popen = subprocess.Popen

    def slowly(*arguments: Any, **more: Any) -> subprocess.Popen[str]:
        time.sleep(0.3)
        started.append(popen(*arguments, **more))
        return started[0]

    monkeypatch.setattr(child.subprocess, "Popen", slowly)
    behind.is_urgent = lambda: True
    with pytest.raises(Left):
        behind.ask({"name": "one"}, 60)
    behind.stop()
    assert [process.returncode for process in started] == [-signal.SIGKILL]


def test_one_that_cannot_be_started_says_so(behind: Behind) -> None:
    child.PROGRAM.write_text("raise SystemExit(1)")
    with pytest.raises(NotStarted):
        behind.ask({"name": "one"}, 60)
