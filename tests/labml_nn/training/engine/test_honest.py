import json
import re
from pathlib import Path
from typing import Any

import pytest
import torch

from labml_nn.training.engine import command_line, honest
from tests.labml_nn.careless import with_mask
from tests.labml_nn.training.engine.models import TEXT

TINY = {"steps": 4, "d_model": 8, "d_ff": 8, "heads": 2, "n_layers": 1, "seq_len": 8}


@pytest.fixture
def run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Path:
    r"""A run of the first preset."""
    (tmp_path / "text").write_text(TEXT)
    options = [f"--{name.replace('_', '-')}={value}" for name, value in TINY.items()]
    options += [f"--text={tmp_path / 'text'}", f"--runs={tmp_path / 'runs'}", "--device=cpu"]
    assert command_line.main([*options, "--json", "--evaluate-every=2"]) == 0
    return Path(json.loads(capsys.readouterr().out.splitlines()[-1])["run"])


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
