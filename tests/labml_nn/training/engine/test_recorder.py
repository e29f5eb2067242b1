import json
import sys
from pathlib import Path

import pytest

from labml_nn.training.engine.errors import InputError
from labml_nn.training.engine.recorder import labml_tracker
from tests.labml_nn.offline import offline

PROGRAM = """
from pathlib import Path
from labml_nn.training.engine.recorder import labml_tracker

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
