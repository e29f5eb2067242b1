import math
from collections.abc import Callable
from pathlib import Path

import matplotlib.pyplot as plt
import pytest
import torch
from torch import Tensor, nn

from labml_nn.training.data import InputError
from labml_nn.training.loop import TrainConfig
from labml_nn.transformers import feed_forward, mha, positional_encoding
from labml_nn.transformers.basic import comparison_experiment
from labml_nn.transformers.basic.autoregressive_experiment import Config, make_trainer
from labml_nn.transformers.basic.comparison_experiment import (
    SIZES,
    example,
    last_heads,
    make_both,
    notebook,
    put_in_place,
    recipe,
)

TEXT = "the quick brown fox jumps over the lazy dog; " * 40
PAGES = [feed_forward.in_transformer, mha.in_transformer, positional_encoding.in_transformer]
CONFIG = Config(
    steps=3,
    batch_size=2,
    seq_len=11,
    device="cpu",
    precision="float32",
    d_model=10,
    heads=5,
    n_layers=2,
    d_ff=17,
)
SIZES_OF_CONFIG = {"d_model": 10, "heads": 5, "d_ff": 17, "seq_len": 11, "dropout_prob": 0.0}


class Doubled(nn.Module):
    r"""A part that is like no other."""

    def forward(self, x: Tensor) -> Tensor:
        return 2 * x


def test_a_part_takes_every_place_of_its_name_each_time_a_new_one() -> None:
    model = make_trainer(CONFIG, TEXT)[0].model
    put_in_place(model, {"feed_forward": Doubled, "norm": nn.Identity})
    parts = [layer.feed_forward for layer in model.encoder.layers]
    assert [type(part) for part in parts] == [Doubled, Doubled]
    assert parts[0] is not parts[1]
    assert type(model.encoder.norm) is nn.Identity
    assert all(type(layer.norm_ff) is nn.LayerNorm for layer in model.encoder.layers)
    assert sum(type(module) is Doubled for module in model.modules()) == 2


def test_a_place_that_the_model_does_not_have_is_named() -> None:
    model = make_trainer(CONFIG, TEXT)[0].model
    with pytest.raises(ValueError, match="no part 'attention'"):
        put_in_place(model, {"attention": Doubled})


def test_the_plain_one_of_two_trains_as_if_it_were_alone() -> None:
    alone, _ = make_trainer(CONFIG, TEXT)
    trainers, _ = make_both(CONFIG, TEXT, {"feed_forward": Doubled})
    for _ in range(3):
        assert trainers["plain"].train_step() == alone.train_step()


def test_what_is_put_in_place_learns_on_the_same_batches() -> None:
    same = {"feed_forward": lambda: nn.Sequential(nn.Linear(10, 17), nn.Linear(17, 10))}
    trainers, _ = make_both(CONFIG, TEXT, same)
    changed = trainers["changed"]
    weight = changed.model.encoder.layers[0].feed_forward[0].weight
    before = weight.detach().clone()
    changed.train_step()
    assert not torch.equal(weight, before)
    trainers["plain"].train_step()
    states = [trainer.batches.at(trainer.step)[0] for trainer in trainers.values()]
    assert torch.equal(*states)


@pytest.mark.parametrize("in_transformer", PAGES, ids=lambda page: page.__module__)
def test_each_page_fits_in_its_place(
    in_transformer: Callable[..., comparison_experiment.Parts],
) -> None:
    trainers, tokenizer = make_both(CONFIG, TEXT, in_transformer(**SIZES_OF_CONFIG))
    tokens = tokenizer.encode(TEXT[:11]).unsqueeze(1)
    plain, changed = (trainer.model(tokens) for trainer in trainers.values())
    assert plain.shape == changed.shape
    assert not torch.equal(plain, changed)
    assert math.isfinite(trainers["changed"].train_step().item())
    # No position sees what comes after it.
    later = torch.cat([tokens[:7], tokens[7:].flip(0)])
    torch.testing.assert_close(
        trainers["plain"].model(later)[:7], trainers["plain"].model(tokens)[:7]
    )
    torch.testing.assert_close(
        trainers["changed"].model(later)[:7], trainers["changed"].model(tokens)[:7]
    )


def test_a_single_head_costs_what_many_do() -> None:
    trainers, _ = make_both(CONFIG, TEXT, mha.in_transformer(**SIZES_OF_CONFIG))
    plain, changed = (
        sum(one.numel() for one in trainer.model.parameters()) for trainer in trainers.values()
    )
    assert plain == changed
    tokens = torch.zeros(11, 1, dtype=torch.long)
    shapes = {name: last_heads(one.model, tokens).shape for name, one in trainers.items()}
    assert shapes == {"plain": (11, 11, 5), "changed": (11, 11, 1)}


class Mean(nn.Module):
    r"""An attention without weights."""

    def forward(self, *, query: Tensor, key: Tensor, value: Tensor, mask: Tensor) -> Tensor:
        return (mask.float() @ value.transpose(0, 1)).transpose(0, 1)[: len(query)]


def test_an_attention_that_keeps_no_weights_has_no_picture() -> None:
    model = make_trainer(CONFIG, TEXT)[0].model
    put_in_place(model, {"self_attn": Mean})
    assert last_heads(model, torch.zeros(11, 1, dtype=torch.long)) is None


@pytest.mark.parametrize(("cuda", "size"), [(False, "small"), (True, "large")])
def test_the_size_suits_the_machine(cuda: bool, size: str, monkeypatch: pytest.MonkeyPatch) -> None:
    device = torch.device("cuda" if cuda else "cpu")
    monkeypatch.setattr(comparison_experiment, "choose_device", lambda name: device)
    assert recipe("auto", 0, 3e-3, 1) == recipe(size, 0, 3e-3, 1)
    assert recipe(size, 0, 3e-3, 1).steps == SIZES[size]["steps"]
    assert recipe(size, 7, 3e-3, 1).steps == 7


def test_the_numbers_that_are_given_are_those_of_the_recipe() -> None:
    config = recipe("tiny", 80, 0.01, 5)
    assert (config.steps, config.learning_rate, config.seed) == (80, 0.01, 5)
    assert (config.record_every, config.evaluate_every) == (2, 20)
    assert isinstance(config, TrainConfig)


def test_an_unknown_size_is_named_with_those_there_are() -> None:
    with pytest.raises(InputError, match="unknown size 'huge': there are auto, tiny, small, large"):
        recipe("huge", 0, 3e-3, 1)


def test_the_notebook_trains_both_shows_and_checks(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    shown: list[list[tuple[int, int]]] = []

    def show() -> None:
        shown.append([(len(axes.lines), len(axes.images)) for axes in plt.gcf().axes])

    monkeypatch.setattr(plt, "show", show)
    (tmp_path / "text").write_text(TEXT)
    notebook(size="tiny", text_file=str(tmp_path / "text"), sample_length=20)
    out, err = capsys.readouterr()
    # Two curves of each and the line of counting; then a head of each.
    assert shown == [[(5, 0)], [(0, 1), (0, 1)]]
    assert err.count("60/60") >= 2
    assert "changed: feed_forward\n" in out
    assert out.count("counting alone reaches") == 2
    plt.close("all")


def test_the_notebook_notices_that_nothing_was_learned(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(plt, "show", lambda: None)
    (tmp_path / "text").write_text(TEXT)
    with pytest.raises(AssertionError, match="plain: validation loss"):
        notebook(size="tiny", text_file=str(tmp_path / "text"), steps=1, sample_length=1)
    plt.close("all")


def test_the_example_runs_with_other_primes() -> None:
    values = example(d_k=7, batch_size=11, heads=13, seq_len=17, d_ff=19, n_vocab=23)
    assert values["attention"].shape == (17, 17, 13)
    assert math.isfinite(values["plain"].item())
    assert math.isfinite(values["changed"].item())
