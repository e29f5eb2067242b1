import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

# Two small runs in one process. A connection to anywhere would be an error.
PROGRAM = r"""
import socket
import sys
from pathlib import Path

def refuse(*args, **kwargs):
    raise AssertionError("a connection")

socket.socket.connect = socket.socket.connect_ex = socket.getaddrinfo = refuse

from labml_nn.transformers.basic.labml_experiment import run

Path("text").write_text("to be, or not to be: that is the question. " * 60)
small = dict(
    text="text", loop_count=60, log_new_line_interval=20, d_model=16, heads=2, n_layers=1,
    d_ff=32, seq_len=16, prompt="to ", n_tokens=9,
)
for number, settings in enumerate([{}, {"optimizer": "sgd_optimizer", "highest_rate": 0.1}]):
    conf = run(Path(f"runs{number}"), small | settings)
    print(type(conf.optimizer).__name__, file=sys.stderr)
"""


@pytest.fixture(scope="module")
def folder(
    tmp_path_factory: pytest.TempPathFactory, repository: Path
) -> tuple[Path, "subprocess.CompletedProcess[str]"]:
    r"""The folder in which both runs were, and what they said."""
    folder = tmp_path_factory.mktemp("labml")
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", PROGRAM],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(repository), "HOME": str(folder / "home")},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    return folder, done


def logged(run: Path) -> dict[str, list[tuple[int, float]]]:
    r"""The mean of each number at each step where it was written."""
    track: dict[str, list[tuple[int, float]]] = {}
    for line in (run / "log.jsonl").read_text().splitlines():
        for name, points in json.loads(line)["track"].items():
            found = [(step, sum(values) / len(values)) for step, values in points]
            track.setdefault(name, []).extend(found)
    return track


def test_both_runs_are_trained_recorded_and_completed(
    folder: tuple[Path, "subprocess.CompletedProcess[str]"],
) -> None:
    path, done = folder
    assert (done.returncode, done.stderr) == (0, "AdamW\nSGD\n")
    for number in (0, 1):
        (run,) = (path / f"runs{number}" / "labml_experiment").iterdir()
        track = logged(run)
        assert [step for step, _ in track["loss.validation"]] == [20, 40, 60]
        assert [step for step, _ in track["loss.train"]] == list(range(10, 61, 10))
        assert track["loss.validation"][-1][1] < track["loss.validation"][0][1] < 3
        assert 0 < track["accuracy.train"][0][1] < track["accuracy.train"][-1][1] < 1
        assert '"status": "completed"' in (run / "run_log.jsonl").read_text()
        assert "value: 60" in (run / "configs.yaml").read_text()


def test_the_terminal_shows_what_labml_prints_and_a_sample(
    folder: tuple[Path, "subprocess.CompletedProcess[str]"],
) -> None:
    out = folder[1].stdout
    assert "labml_experiment" in out
    assert "Prepare model" in out
    assert "loss.validation" in out
    assert "accuracy.train" in out
    # The prompt in a colour of its own, and nine letters after it.
    assert len(out.rstrip().rpartition("to \x1b[0m")[2]) == 9


def test_nothing_is_written_beside_the_folder(
    folder: tuple[Path, "subprocess.CompletedProcess[str]"],
) -> None:
    path, _ = folder
    assert {one.name for one in path.iterdir()} == {"text", "runs0", "runs1"}
