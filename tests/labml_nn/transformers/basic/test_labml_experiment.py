import json
from pathlib import Path

from tests.labml_nn.offline import offline

PROGRAM = r"""
import sys
from pathlib import Path
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


def logged(run: Path) -> dict[str, list[tuple[int, float]]]:
    r"""The mean of each number at each step where it was written."""
    track: dict[str, list[tuple[int, float]]] = {}
    for line in (run / "log.jsonl").read_text().splitlines():
        for name, points in json.loads(line)["track"].items():
            found = [(step, sum(values) / len(values)) for step, values in points]
            track.setdefault(name, []).extend(found)
    return track


def test_two_runs_are_trained_recorded_and_shown_and_nothing_else_is_written(
    tmp_path: Path,
) -> None:
    done = offline(PROGRAM, tmp_path)
    assert (done.returncode, done.stderr) == (0, "AdamW\nSGD\n")
    for number in (0, 1):
        (run,) = (tmp_path / f"runs{number}" / "labml_experiment").iterdir()
        track = logged(run)
        assert [step for step, _ in track["loss.validation"]] == [20, 40, 60]
        assert [step for step, _ in track["loss.train"]] == list(range(10, 61, 10))
        assert track["loss.validation"][-1][1] < track["loss.validation"][0][1] < 3
        assert 0 < track["accuracy.train"][0][1] < track["accuracy.train"][-1][1] < 1
        assert '"status": "completed"' in (run / "run_log.jsonl").read_text()
        configs = (run / "configs.yaml").read_text()
        assert "value: 60" in configs
        # What was computed is in the file, and isn't printed.
        assert "device:\n  computed: " in configs
        # The file has the loss of each step, and not only their mean.
        first = json.loads((run / "log.jsonl").read_text().splitlines()[0])
        assert len(first["track"]["loss.train"][0][1]) == 10
    assert "d_model" not in done.stdout
    shown = ("labml_experiment", "Prepare model", "loss.validation", "accuracy.train")
    assert all(part in done.stdout for part in shown)
    # The prompt in a colour of its own, and nine letters after it.
    assert len(done.stdout.rstrip().rpartition("to \x1b[0m")[2]) == 9
    assert {one.name for one in tmp_path.iterdir()} == {"text", "runs0", "runs1"}
    # labml's list of projects, that of the process.
    assert [(tmp_path / name / ".labml").is_dir() for name in ("runs0", "runs1")] == [True, False]
