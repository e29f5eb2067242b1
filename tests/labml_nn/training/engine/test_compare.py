import json
import re
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import torch

from labml_nn.training import __main__ as command
from labml_nn.training import compare, honest
from labml_nn.training.history import appending
from labml_nn.training.presets import PRESETS
from tests.labml_nn.careless import with_mask

TEXT = "the quick brown fox jumps over the lazy dog\n" * 50
TINY = {"steps": 4, "d_model": 8, "d_ff": 8, "heads": 2, "n_layers": 1, "seq_len": 8}


@pytest.fixture
def run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Path:
    r"""A run of the first preset."""
    (tmp_path / "text").write_text(TEXT)
    options = [f"--{name.replace('_', '-')}={value}" for name, value in TINY.items()]
    options += [f"--text={tmp_path / 'text'}", f"--runs={tmp_path / 'runs'}", "--device=cpu"]
    assert command.main([*options, "--preset=classic", "--json", "--evaluate-every=2"]) == 0
    return Path(json.loads(capsys.readouterr().out.splitlines()[-1])["run"])


def test_a_run_of_a_preset_keeps_its_whole_configuration(run: Path) -> None:
    config = json.loads((run / "run.json").read_text())["config"]
    assert config.keys() == vars(PRESETS["classic"].config_class()).keys()
    assert config | TINY == config


def test_a_run_brings_its_preset(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main([f"--resume={run}"]) == 0
    assert "from step 4\n" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--preset=great"], "argument --preset: invalid choice: 'great'"),
        (["--resume={tmp}"], "{tmp} is not the folder of a run: cannot read {tmp}/run.json"),
        (["--resume={tmp}/foreign"], "no preset belongs to the experiment 'os.system'"),
    ],
)
def test_what_cannot_be_is_told_in_a_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], sentence: str
) -> None:
    (tmp_path / "foreign").mkdir()
    about = {"experiment": "os.system", "config": {}, "text": {}, "symbols": ""}
    (tmp_path / "foreign" / "run.json").write_text(json.dumps(about))
    assert command.main([one.format(tmp=tmp_path) for one in arguments]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("error: " + sentence.format(tmp=tmp_path))


@pytest.mark.parametrize(
    ("module", "name"), [(command, ""), (honest, ".honest"), (compare, ".compare")]
)
def test_help_is_short_and_names_the_command(
    capsys: pytest.CaptureFixture[str], module: ModuleType, name: str
) -> None:
    with pytest.raises(SystemExit) as left:
        module.main(["--help"])
    out, err = capsys.readouterr()
    assert (left.value.code, err) == (0, "")
    assert out.startswith(f"usage: python -m labml_nn.training{name} ")
    assert len(out.splitlines()) < 120


def test_the_honest_loss_of_a_run_is_that_of_its_result(
    run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    result = json.loads((run / "result.json").read_text())
    assert honest.main([str(run)]) == 0
    found = re.fullmatch(
        r"honest loss (.*), teacher-forced (.*), at the same predictions\n", capsys.readouterr().out
    )
    assert found[1] == found[2] == f"{result['honest_loss']:.4f}"


def test_a_run_whose_model_looks_ahead_fails(
    run: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    load_run = honest.load_run

    def load_leaking(path: Path) -> tuple[Any, Any]:
        trainer, tokenizer = load_run(path)
        with_mask(trainer.model, torch.ones_like(trainer.model.mask))
        return trainer, tokenizer

    monkeypatch.setattr(honest, "load_run", load_leaking)
    assert honest.main([str(run)]) == 1
    assert "its losses mean nothing" in capsys.readouterr().out


def test_a_run_without_a_good_checkpoint_has_no_honest_loss(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for path in (run / "checkpoints").iterdir():
        path.unlink()
    for folder, sentence in ((run, "has no checkpoint yet"), (tmp_path, "is not the folder of a")):
        assert honest.main([str(folder)]) == 2
        assert capsys.readouterr().err.startswith(f"error: {folder} {sentence}")


def make_run(folder: Path, losses: list[float], **config: object) -> Path:
    folder.mkdir(parents=True)
    about = {"experiment": "package.toy", "config": config, "text": {}, "symbols": ""}
    (folder / "run.json").write_text(json.dumps(about))
    with appending(folder) as append:
        for step, loss in enumerate(losses, 1):
            append(step, {"loss.train": loss, "tokens_per_second": 10.0 * step})
            append(step, {"loss.validation": loss + 0.5, "tokens_per_second": 10.0 * step})
    return folder


def test_runs_stand_in_a_table_with_what_they_differ_in(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    one = make_run(tmp_path / "one", [3.0, 1.0, 2.0], seed=1, steps=3)
    two = make_run(tmp_path / "number-two", [], seed=2, steps=3)
    result = {"parameters": 1234, "seconds": 1.25, "honest": False}
    (one / "result.json").write_text(json.dumps(result))
    assert compare.main([str(one), str(two)]) == 0
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    names = ["run", "experiment", "seed", "parameters", "steps", "loss", "lowest", "honest"]
    assert lines[0] == [*names, "tokens/s", "seconds"]
    assert lines[1] == ["one", "toy", "1", "1,234", "3", "2.5000", "1.5000", "NO", "20", "1.2"]
    assert lines[2] == ["number-two", "toy", "2", "0"]


@pytest.mark.parametrize(("name", "start"), [("a.svg", b"<?xml"), ("a.png", b"\x89PNG")])
def test_the_curves_are_drawn_into_a_file(tmp_path: Path, name: str, start: bytes) -> None:
    runs = [make_run(tmp_path / name, [3.0, 2.0, 1.0]) for name in ("one", "two")]
    assert compare.main([*map(str, runs), f"--figure={tmp_path / name}"]) == 0
    assert (tmp_path / name).read_bytes().startswith(start)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ([], "the following arguments are required: RUN"),
        (["{tmp}/no"], "{tmp}/no is not the folder of a run"),
        (["{tmp}/one", "--figure={tmp}/a.xyz"], "cannot draw {tmp}/a.xyz: Format 'xyz' is not"),
        (["{tmp}/one", "--figure={tmp}/no/a.svg"], "cannot write {tmp}/no/a.svg: No such file"),
    ],
)
def test_what_cannot_be_compared_is_told_in_a_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], sentence: str
) -> None:
    make_run(tmp_path / "one", [1.0])
    assert compare.main([one.format(tmp=tmp_path) for one in arguments]) == 2
    assert capsys.readouterr().err.startswith("error: " + sentence.format(tmp=tmp_path))
