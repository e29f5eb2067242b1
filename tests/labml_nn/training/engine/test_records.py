import json
import sys
from pathlib import Path

import pytest

from labml_nn.training.engine import records
from labml_nn.training.engine.errors import InputError
from labml_nn.training.engine.records import labml_tracker, read_history, recording
from tests.labml_nn.offline import offline

POINTS = [(step, {"loss.train": 1 / step, "seconds": 0.1 * step}) for step in (3, 6, 9, 12)]


def write(run: Path, points: list[tuple[int, dict[str, float]]], step: int = 99) -> None:
    with recording(run, step) as record:
        for point in points:
            record(*point)


def test_a_point_is_on_the_disk_when_it_is_recorded_with_the_same_bits(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match="cannot write .*history.jsonl: "):
        write(tmp_path / "file", POINTS)
    for number, point in enumerate(POINTS):
        assert read_history(tmp_path) == POINTS[:number]
        with recording(tmp_path, 99) as record:
            record(*point)
            assert read_history(tmp_path) == POINTS[: number + 1]


@pytest.mark.parametrize(("step", "left"), [(0, 0), (2, 0), (3, 1), (8, 2), (9, 3), (99, 4)])
def test_what_came_later_goes_when_a_run_goes_on(tmp_path: Path, step: int, left: int) -> None:
    write(tmp_path, POINTS)
    write(tmp_path, [], step)
    assert read_history(tmp_path) == POINTS[:left]
    write(tmp_path, POINTS[left:])
    assert read_history(tmp_path) == POINTS


@pytest.mark.parametrize("cut", [1, 5, 30])
def test_half_a_line_is_none(tmp_path: Path, cut: int) -> None:
    write(tmp_path, POINTS)
    path = tmp_path / "history.jsonl"
    path.write_bytes(path.read_bytes()[:-cut])
    assert read_history(tmp_path) == POINTS[:3]
    write(tmp_path, POINTS[3:], 12)
    assert read_history(tmp_path) == POINTS


PROGRAM = """
from pathlib import Path
from labml_nn.training.engine.records import labml_tracker

with labml_tracker(Path("run").resolve(), "toy", {"steps": 2, "learning_rate": 0.003}) as track:
    track(1, {"loss.train": 1.5})
    track(2, {"loss.train": 1.25})
"""


def test_each_part_of_a_run_is_a_run_of_labml(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    for _ in range(2):
        done = offline(PROGRAM, tmp_path)
        assert done.returncode == 0, done.stderr
    parts = list((tmp_path / "run" / "labml" / "toy").iterdir())
    assert len(parts) == 2
    for part in parts:
        lines = (part / "log.jsonl").read_text().splitlines()
        points = [point for one in lines for point in json.loads(one)["track"]["loss.train"]]
        assert points == [[1, [1.5]], [2, [1.25]]]
        assert "value: 0.003" in (part / "configs.yaml").read_text()
        assert '"status": "completed"' in (part / "run_log.jsonl").read_text()
    assert {path.name for path in tmp_path.iterdir()} <= {"run", "home"}


def test_without_labml_a_sentence_says_how_to_get_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "labml", None)
    with pytest.raises(InputError, match="python -m pip install labml"):
        with labml_tracker(tmp_path, "toy", {}):
            pass


def make_run(folder: Path, losses: list[float], **config: object) -> Path:
    folder.mkdir(parents=True)
    about = {"preset": "toy", "config": config, "text": {}, "symbols": ""}
    (folder / "run.json").write_text(json.dumps(about))
    with recording(folder) as record:
        for step, loss in enumerate(losses, 1):
            record(step, {"loss.train": loss, "tokens_per_second": 10.0 * step})
            record(step, {"loss.validation": loss + 0.5, "tokens_per_second": 10.0 * step})
    return folder


def test_runs_stand_in_a_table_with_what_they_differ_in(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    one = make_run(tmp_path / "one", [3.0, 1.0, 2.0], seed=1, steps=3)
    two = make_run(tmp_path / "number-two", [], seed=2, steps=5)
    result = {"parameters": 1234, "seconds": 1.25, "honest": False}
    (one / "result.json").write_text(json.dumps(result))
    assert records.main([str(one), str(two), f"--figure={tmp_path / 'a.svg'}"]) == 0
    assert (tmp_path / "a.svg").read_bytes().startswith(b"<?xml")
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    names = ["run", "preset", "seed", "steps", "parameters", "step", "loss", "lowest", "honest"]
    assert lines[0] == [*names, "tokens/s", "seconds"]
    assert lines[1] == ["one", "toy", "1", "3", "1,234", "3", "2.5000", "1.5000", "NO", "20", "1.2"]
    assert lines[2] == ["number-two", "toy", "2", "5", "0"]


def test_what_cannot_be_compared_is_told_in_a_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    one = str(make_run(tmp_path / "one", [1.0]))
    mistakes = {
        "the following arguments are required: RUN": [],
        f"{tmp_path}/no is not the folder of a run": [f"{tmp_path}/no"],
        f"cannot draw {tmp_path}/a.xyz: Format 'xyz' is not": [one, f"--figure={tmp_path}/a.xyz"],
        f"cannot write {tmp_path}/no/a.svg: No such": [one, f"--figure={tmp_path}/no/a.svg"],
    }
    for sentence, arguments in mistakes.items():
        assert records.main(arguments) == 2
        assert capsys.readouterr().err.startswith(f"error: {sentence}")
