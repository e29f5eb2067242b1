r"""The museum's mistakes as the browser trains them, each below its exhibit."""

import json
import math
import re
import tomllib
from pathlib import Path

import pytest
import torch
from torch.testing import assert_close

from labml_nn.training.data import prepare, tiny_shakespeare
from labml_nn.transformers.mistakes import train_here
from labml_nn.transformers.mistakes.caches import KeysInTurns, RightGrouped
from labml_nn.transformers.mistakes.experiment import MISTAKES, Sizes, train_mistake
from labml_nn.transformers.mistakes.masks import MaskUnused
from labml_nn.transformers.mistakes.position_mistakes import POSITION_EXHIBITS, PairsMixed
from labml_nn.transformers.mistakes.right_attention import RightAttention
from labml_nn.transformers.mistakes.right_model import RightModel, RightTraining
from labml_nn.transformers.mistakes.step_mistakes import (
    STEP_EXHIBITS,
    ClearedBetweenParts,
    RightParts,
    WeightsLeftOut,
)

SMALL = Sizes(16, 2, 2, 8, 6, n_steps=5, n_places=3)
TEXT = "".join(chr(97 + index * index % 11) for index in range(1200))


def losses(name: str, steps: int, **given: object) -> list[float]:
    told = train_here.train_here(name, steps, samples=1, **given)
    return [one["loss"] for one in told if "loss" in one]


def test_every_mistake_that_is_trained_has_a_button_below_it(repository: Path) -> None:
    settings = tomllib.loads((repository / "pyproject.toml").read_text("utf-8"))
    forms = settings["tool"]["literate"]["edit"]["forms"]
    below = {
        (path, name) for path, form in forms.items() for name in form.get("beside", "").split()
    }
    later = (*POSITION_EXHIBITS, KeysInTurns, *STEP_EXHIBITS)
    trained = (*MISTAKES, *later)
    expected = {(f"{one.__module__.replace('.', '/')}.py", one.__name__) for one in trained}
    assert below == expected


def test_guessing_evenly_costs_what_the_page_says() -> None:
    tokenizer, _, _ = prepare(tiny_shakespeare()[: train_here.CHARACTERS], 32)
    assert f"than guessing evenly, {math.log(len(tokenizer)):.2f}?" in train_here.example.__doc__


def test_it_is_the_training_of_the_experiment() -> None:
    told = list(train_here.train_here("MaskUnused", 5, samples=1, text=TEXT, sizes=SMALL))
    # The held-out part is shorter than what the page looks at, so it is the same text.
    expected = train_mistake(MaskUnused, TEXT, SMALL)
    found = told[-1]
    assert_close(found["validation"], expected["printed"], atol=1e-5, rtol=0)
    assert_close(found["honest"], expected["honest"], atol=1e-5, rtol=0)
    # The text has no capitals: each of the seven letters of the prompt is unknown.
    (sample,) = [one["sample"] for one in told if "sample" in one]
    assert sample.startswith("\N{REPLACEMENT CHARACTER}" * 7) and len(sample) == 7 + 80


def test_the_recorded_curve_is_that_of_the_page(repository: Path) -> None:
    record = json.loads((repository / "results/train_mistakes.json").read_text("utf-8"))
    figures = record["figures"].values()
    lines = {one["name"]: dict(one["points"]) for figure in figures for one in figure["lines"]}
    choices = next(train_here.choices())["choices"]
    assert {one["beside"] for one in choices} <= {*lines}
    assert [one["name"] for one in choices] == [*train_here.EXHIBITS]
    # In the words of the museum, the right model as well.
    titles = [one["title"] for one in choices]
    assert titles[:2] == [
        "Causal self-attention (RightAttention)",
        "The query's projection for all three (QueryForAll)",
    ]
    assert all(re.fullmatch(r"[A-Z`].* \(\w+\)", title) for title in titles)
    found = losses("RightAttention", 4)
    known = lines["RightAttention"]
    # A shorter run would have another schedule; its first steps rise alike only from the same end.
    assert_close(found[0], known[1], atol=1e-3, rtol=0)
    assert max(known) == train_here.SIZES.n_steps


# The attention and the training of some of the later rooms.
PARTS = {
    "PairsMixed": (PairsMixed.make(), RightTraining),
    "RightGrouped": (RightGrouped, RightTraining),
    "KeysInTurns": (KeysInTurns.make(), RightTraining),
    "RightParts": (RightAttention, RightParts),
    "ClearedBetweenParts": (RightAttention, ClearedBetweenParts.make()),
    "WeightsLeftOut": (RightAttention, WeightsLeftOut.make()),
}


@pytest.mark.parametrize("name", PARTS)
def test_a_mistake_takes_its_place_in_the_model(name: str) -> None:
    attention, kind = PARTS[name]
    torch.manual_seed(1)
    tokenizer, train, _ = prepare(TEXT, SMALL.seq_len)
    model = RightModel(len(tokenizer), 16, 2, 8, lambda: attention(2, 16))
    training = kind(model, 5)
    generator = torch.Generator().manual_seed(1)
    windows = train.unfold(0, 9, 1)
    expected = []
    for _ in range(5):
        chosen = windows[torch.randint(len(windows), (6,), generator=generator)]
        expected.append(training.step(chosen[:, :-1], chosen[:, 1:]).item())
    assert losses(name, 5, text=TEXT, sizes=SMALL) == expected


def test_a_mistake_is_compared_with_what_it_is_a_mistake_of() -> None:
    beside = {one["name"]: one["beside"] for one in next(train_here.choices())["choices"]}
    assert {name: beside[name] for name in (*PARTS, "MaskUnused", "GradientsKept")} == {
        "PairsMixed": "RightRotary",
        "RightGrouped": "RightGrouped",
        "KeysInTurns": "RightGrouped",
        "RightParts": "RightParts",
        "ClearedBetweenParts": "RightParts",
        "WeightsLeftOut": "RightAttention",
        "MaskUnused": "RightAttention",
        "GradientsKept": "RightAttention",
    }


@pytest.mark.parametrize("name", ["MaskOffByOne", "SoftmaxTwice"])
def test_a_mistake_parts_from_the_right_model(name: str) -> None:
    right = losses("RightAttention", 5, text=TEXT, sizes=SMALL)
    wrong = losses(name, 5, text=TEXT, sizes=SMALL)
    assert wrong != right


def test_more_than_the_usual_rate_moves_farther() -> None:
    usual, high = (
        losses("RightAttention", 3, text=TEXT, sizes=SMALL, times=times) for times in (1.0, 10.0)
    )
    assert usual[0] == high[0]
    assert usual[2] != high[2]


def test_the_callers_random_numbers_decide_nothing() -> None:
    first = losses("MaskInverted", 3, text=TEXT, sizes=SMALL)
    torch.rand(3)
    assert losses("MaskInverted", 3, text=TEXT, sizes=SMALL) == first
