import json
import logging
import os
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

from labml_nn.training.history import read_history
from labml_nn.training.recorder import recording
from labml_nn.training.runs import new_run

CONFIG = {"steps": 3, "learning_rate": 0.003, "device": "auto"}

# Records three steps of two runs, and prints where they are. Whoever opens a connection fails.
PROGRAM = r"""
import socket
from pathlib import Path

def refuse(*args, **kwargs):
    raise AssertionError("a connection")

socket.socket.connect = socket.socket.connect_ex = socket.getaddrinfo = refuse

from labml_nn.training.recorder import recording
from labml_nn.training.runs import new_run

paths = []
for number in (1, 2):
    path = new_run(Path("runs"), "name")
    with recording(path, {"steps": 3, "learning_rate": 0.003, "device": "auto"}) as record:
        record(1, {"loss.train": 1.5, "learning_rate": 0.1})
        record(2, {"loss.train": 1.25})
        record(3, {"loss.train": 1.125, "loss.validation": 1.0625})
    paths.append(path)
"""

EXPECTED = {
    "loss.train": [[1, [1.5]], [2, [1.25]], [3, [1.125]]],
    "learning_rate": [[1, [0.1]]],
    "loss.validation": [[3, [1.0625]]],
}


def read_log(path: Path) -> dict[str, list[list[int | list[float]]]]:
    track: dict[str, list[list[int | list[float]]]] = {}
    for line in (path / "log.jsonl").read_text().splitlines():
        for name, points in json.loads(line)["track"].items():
            track.setdefault(name, []).extend(points)
    return track


def run_program(program: str, folder: Path, repository: Path) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-W", "error", "-c", program],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(repository), "HOME": str(folder / "home")},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


# What labml keeps for others in this process is as it was.
SINGLETONS = """
import labml.internal.computer.configs
import labml.internal.logger
assert labml.internal.logger._internal is None
assert labml.internal.computer.configs._internal is None
"""


def test_labml_records_in_silence_without_a_network_and_only_into_the_run(
    tmp_path: Path, repository: Path
) -> None:
    # Settings that labml would obey, and a repository that it would describe.
    (tmp_path / ".labml.yaml").write_text(
        "app_url: http://127.0.0.1:9/api/v1/\ncheck_repo_dirty: true\nexperiments_path: elsewhere\n"
    )
    git = ["git", "-c", "user.name=n", "-c", "user.email=e"]
    subprocess.run([*git, "init", "-q", "runs"], cwd=tmp_path, check=True)
    subprocess.run(
        [*git, "commit", "-q", "--allow-empty", "-m", "m"], cwd=tmp_path / "runs", check=True
    )
    before = set(tmp_path.iterdir())

    done = run_program(f"{PROGRAM}{SINGLETONS}print(*paths, sep='\\n')", tmp_path, repository)
    assert (done.returncode, done.stderr) == (0, "")
    paths = [Path(line) for line in done.stdout.splitlines()]
    assert len(set(paths)) == 2
    for path in paths:
        assert path.parent == tmp_path / "runs" / "name"
        assert read_log(path) == EXPECTED
        # Only labml writes this one.
        assert '"status": "completed"' in (path / "run_log.jsonl").read_text()
        assert "value: 0.003" in (path / "configs.yaml").read_text()
        assert "commit: unknown" in (path / "run.yaml").read_text()
        assert (path / "source.diff").read_text() == ""
    assert set(tmp_path.iterdir()) == before
    assert {path.name for path in (tmp_path / "runs").iterdir()} == {".git", "name"}


def test_labml_records_in_a_kernel_of_the_current_ipython(tmp_path: Path, repository: Path) -> None:
    notebook = nbformat.v4.new_notebook(
        cells=[
            nbformat.v4.new_code_cell(f"import sys\nsys.path.insert(0, {str(repository)!r})"),
            nbformat.v4.new_code_cell(PROGRAM.replace("socket.socket.connect =", "_ =")),
            nbformat.v4.new_code_cell(
                "import IPython\n"
                "print(IPython.version_info[0], 'labml' in sys.modules)\n"
                "print((paths[1] / 'log.jsonl').read_text())"
            ),
        ]
    )
    client = NotebookClient(notebook, timeout=120, resources={"metadata": {"path": str(tmp_path)}})
    client.execute()
    silent, printed = notebook.cells[1].outputs, notebook.cells[2].outputs[0].text
    assert silent == []
    version, log = printed.split("\n", 1)
    assert int(version.split()[0]) >= 9
    assert version.split()[1] == "True"
    assert json.loads(log)["track"] == EXPECTED
    assert [path.name for path in tmp_path.iterdir()] == ["runs"]


def test_a_crash_and_an_interruption_are_recorded_as_such(tmp_path: Path, repository: Path) -> None:
    # A slow disk: the log must be whole when the block has ended, not a second later.
    program = """
import time
from pathlib import Path
from labml.internal.tracker.writers.file import FileWriterThread
from labml_nn.training.recorder import recording
from labml_nn.training.runs import new_run

send = FileWriterThread._send
FileWriterThread._send = lambda self, data: time.sleep(0.5) or send(self, data)

for error in (KeyboardInterrupt, RuntimeError("why")):
    path = new_run(Path("runs"), "name")
    print(path)
    try:
        with recording(path, {}) as record:
            record(1, {"loss.train": 1.5})
            raise error
    except BaseException as caught:
        assert type(caught) is error or caught is error
    assert '"loss.train": [[1, [1.5]]]' in (path / "log.jsonl").read_text()
"""
    done = run_program(program, tmp_path, repository)
    assert (done.returncode, done.stderr) == (0, "")
    interrupted, crashed = (Path(line) for line in done.stdout.splitlines())
    for path, status in ((interrupted, "interrupted"), (crashed, "crashed")):
        assert f'"status": "{status}"' in (path / "run_log.jsonl").read_text()
        assert read_log(path) == {"loss.train": [[1, [1.5]]]}


def test_without_labml_the_record_of_the_run_is_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    # Python's way to say that a module is not there.
    for name in [name for name in sys.modules if name.partition(".")[0] == "labml"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "labml", None)
    path = new_run(tmp_path, "name")
    points = [(1, {"loss.train": 1.5, "learning_rate": 0.1}), (2, {"loss.train": 1.25})]
    with caplog.at_level(logging.WARNING), recording(path, CONFIG) as record:
        for step, values in points:
            record(step, values)
            assert read_history(path) == points[:step]
    assert read_history(path) == points
    assert len(caplog.records) == 1
    assert caplog.records[0].getMessage().startswith("labml is not used for this run (")


# A run dies after step 9: what labml had not written yet is lost. It goes on from step 6, and is
# done; then it is asked for once more.
KILLED = """
import os
import sys
from pathlib import Path
from labml_nn.training.recorder import recording

path = Path("runs/name/run")
path.mkdir(parents=True, exist_ok=True)
first, last = map(int, sys.argv[1:3])
with recording(path, {}, first) as record:
    for step in range(first + 1, last + 1):
        record(step, {"loss.train": 1 / step})
    if last == 9:
        os._exit(9)
"""


def test_a_run_that_was_killed_has_every_step_once_in_both_records(
    tmp_path: Path, repository: Path
) -> None:
    for first, last in ((0, 9), (6, 14), (14, 14)):
        done = subprocess.run(
            [sys.executable, "-W", "error", "-c", KILLED, str(first), str(last)],
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": str(repository)},
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert (done.returncode, done.stderr) == (9 * (last == 9), "")
    path = tmp_path / "runs" / "name" / "run"
    points = [(step, {"loss.train": 1 / step}) for step in range(1, 15)]
    assert read_history(path) == points
    assert read_log(path)["loss.train"] == [[step, [1 / step]] for step in range(1, 15)]
