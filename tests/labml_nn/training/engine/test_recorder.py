r"""labml beside a run: in a process of its own, because labml keeps one experiment for each."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from labml_nn.training.engine.errors import InputError
from labml_nn.training.engine.recorder import labml_tracker

# Whoever opens a connection fails.
PROGRAM = """
import socket
from pathlib import Path

def refuse(*args, **kwargs):
    raise AssertionError("a connection")

socket.socket.connect = socket.socket.connect_ex = socket.getaddrinfo = refuse

from labml_nn.training.engine.recorder import labml_tracker

with labml_tracker(Path("run").resolve(), "toy", {"steps": 2, "learning_rate": 0.003}) as track:
    track(1, {"loss.train": 1.5})
    track(2, {"loss.train": 1.25})
"""


def test_each_part_of_a_run_is_a_run_of_labml(tmp_path: Path, repository: Path) -> None:
    (tmp_path / "run").mkdir()
    for _ in range(2):
        subprocess.run(
            [sys.executable, "-c", PROGRAM],
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": str(repository), "HOME": str(tmp_path / "home")},
            check=True,
            timeout=120,
            capture_output=True,
        )
    parts = list((tmp_path / "run" / "labml" / "toy").iterdir())
    assert len(parts) == 2
    for part in parts:
        lines = (part / "log.jsonl").read_text().splitlines()
        points = [point for one in lines for point in json.loads(one)["track"]["loss.train"]]
        assert points == [[1, [1.5]], [2, [1.25]]]
        assert "value: 0.003" in (part / "configs.yaml").read_text()
        assert '"status": "completed"' in (part / "run_log.jsonl").read_text()
    assert {path.name for path in tmp_path.iterdir()} == {"run", "home"}


def test_without_labml_a_sentence_says_how_to_get_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "labml", None)
    with pytest.raises(InputError, match="python -m pip install labml"):
        with labml_tracker(tmp_path, "toy", {}):
            pass
