import json
from pathlib import Path

import pytest

from labml_nn.training.engine import compare
from labml_nn.training.engine.history import recording


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
    two = make_run(tmp_path / "number-two", [], seed=2, steps=3)
    result = {"parameters": 1234, "seconds": 1.25, "honest": False}
    (one / "result.json").write_text(json.dumps(result))
    assert compare.main([str(one), str(two), f"--figure={tmp_path / 'a.svg'}"]) == 0
    assert (tmp_path / "a.svg").read_bytes().startswith(b"<?xml")
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    names = ["run", "preset", "seed", "parameters", "steps", "loss", "lowest", "honest"]
    assert lines[0] == [*names, "tokens/s", "seconds"]
    assert lines[1] == ["one", "toy", "1", "1,234", "3", "2.5000", "1.5000", "NO", "20", "1.2"]
    assert lines[2] == ["number-two", "toy", "2", "0"]


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
        assert compare.main(arguments) == 2
        assert capsys.readouterr().err.startswith(f"error: {sentence}")
