from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from labml_nn.training.engine.checkpoint import (
    FORMAT,
    checksum,
    load_checkpoint,
    restore,
    save_checkpoint,
    state_of,
)
from labml_nn.training.engine.config import TrainConfig
from labml_nn.training.engine.errors import InputError
from labml_nn.training.engine.trainer import Trainer, adamw_for_all
from tests.labml_nn.training.engine.models import CONFIG, make_model, make_text, run
from tests.soak import flat


def two(model: nn.Module, config: TrainConfig) -> list[torch.optim.Optimizer]:
    r"""One for the last layer, with a state of another kind, and AdamW for the rest."""
    last = torch.optim.SGD(model[-1].parameters(), 0.1, momentum=0.9)
    return [last, *adamw_for_all(model[:-1], config)]


def make_trainer(d_model: int = 11) -> Trainer:
    model = make_model(dropout_prob=0.5, d_model=d_model)
    trainer = Trainer(model, make_text(997), make_text(101), CONFIG, two)
    # As for float16, with a scale that grows in the first steps.
    trainer.mixed.scaler = torch.amp.GradScaler("cpu", init_scale=2.0**10, growth_interval=1)
    return trainer


def everything(trainer: Trainer) -> dict[str, Any]:
    r"""All that the next step depends on, in a form that can be compared."""
    return flat(state_of(trainer))


@pytest.mark.parametrize("stop", [1, 4, 5, 7, 12])
def test_a_run_that_was_stopped_and_resumed_ends_with_the_same_bits(
    tmp_path: Path, stop: int
) -> None:
    straight = make_trainer()
    expected_points = run(straight)

    first = make_trainer()
    points = run(first, until=stop)
    about = {"config": {"d_model": 11, "compile": None}, "symbols": "\n aä"}
    path = save_checkpoint(tmp_path, first, about)
    state = load_checkpoint(path)
    assert state["about"] == about
    # By the names of the weights, whatever the model is wrapped in.
    names = [{"3.weight", "3.bias"}, {"0.weight", "1.weight", "1.bias"}]
    assert [one["state"].keys() for one in state["optimizers"]] == names

    # Another start: nothing of it may be left.
    second = make_trainer()
    nn.init.normal_(second.model[0].weight)
    torch.manual_seed(99)
    restore(second, state, path)
    assert (second.seconds, second.interval) == (first.seconds, first.interval)
    assert everything(second) == everything(first)
    points += run(second)
    assert everything(second) == everything(straight)
    assert points == expected_points


class Unigrams(nn.Module):
    r"""A model with vectors alone: AdamW's group of matrices has no weights."""

    def __init__(self) -> None:
        super().__init__()
        self.logits = nn.Parameter(torch.zeros(5))

    def forward(self, tokens: Tensor) -> Tensor:
        return self.logits.expand(*tokens.shape, 5)


@pytest.mark.parametrize("model", [Unigrams, lambda: nn.Embedding(5, 5)], ids=["vectors", "matrix"])
def test_a_run_goes_on_if_all_weights_are_of_one_group(
    tmp_path: Path, model: Callable[[], nn.Module]
) -> None:
    torch.manual_seed(3)
    first = Trainer(model(), make_text(997), make_text(101), CONFIG)
    run(first, until=5)
    path = save_checkpoint(tmp_path, first, {})

    second = Trainer(model(), make_text(997), make_text(101), CONFIG)
    restore(second, load_checkpoint(path), path)
    assert run(second) == run(first)
    assert flat(second.model.state_dict()) == flat(first.model.state_dict())


def test_a_checkpoint_of_another_shape_changes_nothing(tmp_path: Path) -> None:
    other = make_trainer(d_model=13)
    run(other)
    path = save_checkpoint(tmp_path, other, {})

    trainer = make_trainer()
    run(trainer, until=1)
    before = everything(trainer)
    sentence = (
        r"another shape: 0.weight is \[5, 13\] there and \[5, 11\] here; use the sizes it was"
    )
    with pytest.raises(InputError, match=f"{path} holds a model of {sentence}"):
        restore(trainer, load_checkpoint(path), path)
    assert everything(trainer) == before

    fewer = Trainer(make_model(d_model=13)[:2], make_text(99), make_text(99), CONFIG)
    with pytest.raises(InputError, match=r"3.weight is \[5, 13\] there and missing here"):
        restore(fewer, load_checkpoint(path), path)


def test_a_truncated_or_altered_file_is_refused(tmp_path: Path) -> None:
    path = save_checkpoint(tmp_path, make_trainer(), {})
    whole = path.read_bytes()
    one_bit = whole[:1000] + bytes([whole[1000] ^ 1]) + whole[1001:]
    for damaged in (whole[:-1], whole + b"x", b"", one_bit):
        path.write_bytes(damaged)
        with pytest.raises(InputError, match=f"{path} is damaged, or was altered after it was"):
            load_checkpoint(path)


class Touch:
    r"""What a pickle can do to who reads it."""

    def __reduce__(self) -> tuple[Any, ...]:
        return Path.touch, (Path("touched"),)


def test_a_file_that_is_no_checkpoint_is_refused_and_runs_no_code(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)

    def refused(content: bytes, sentence: str) -> None:
        path = tmp_path / f"step-000001-{checksum(content)}.pt"
        path.write_bytes(content)
        with pytest.raises(InputError, match=sentence):
            load_checkpoint(path)

    def saved(value: object) -> bytes:
        torch.save(value, "saved")
        return Path("saved").read_bytes()

    refused(saved({"format": FORMAT, "model": Touch()}), "is not a checkpoint")
    assert not Path("touched").exists()
    refused(b"hello", "is not a checkpoint")
    for other in ({}, {"format": "labml_nn checkpoint 4"}, [1, 2], None):
        refused(saved(other), "was not saved by this version of the program")
    with pytest.raises(InputError, match=r"cannot read .*/nowhere: No such file"):
        load_checkpoint(tmp_path / "nowhere")


def test_a_model_with_shared_weights_is_saved_and_restored(tmp_path: Path) -> None:
    def tied() -> Trainer:
        embedding, last = nn.Embedding(5, 7), nn.Linear(7, 5, bias=False)
        last.weight = nn.init.eye_(embedding.weight)
        text = make_text(997)
        return Trainer(nn.Sequential(embedding, last), text, text[:99], replace(CONFIG, steps=6))

    straight, first, second = tied(), tied(), tied()
    run(straight)
    run(first, until=3)
    path = save_checkpoint(tmp_path, first, {})
    restore(second, load_checkpoint(path), path)
    run(second)
    assert second.model[1].weight.equal(straight.model[0].weight)
