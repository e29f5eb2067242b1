r"""No false pass: each mistake that breaks what must hold of a whole model, in each of three."""

import pytest
import torch

from tests.wrongline.planted import MODELS, PLANTED
from wrongline import find_in_language_model
from wrongline.verdicts import NOT_TRIED, RIGHT

TOKENS = torch.randint(3, 60, (3, 12), generator=torch.Generator().manual_seed(1))
# One of each kind, each in another model.
SAMPLES = {
    ("blocks of four", "llama"),
    ("chunks of 16", "gpt2"),
    ("a mean over the batch", "mixtral"),
    ("no mask in training", "llama"),
    ("positions are one too far", "gpt2"),
    ("several new tokens without a mask", "mixtral"),
    ("padding is ignored", "llama"),
}


# Each in each; those that aren't samples are among the slow tests.
ALL = [
    pytest.param(name, kind, marks=() if (name, kind) in SAMPLES else pytest.mark.whole)
    for name in PLANTED
    for kind in MODELS
]


def test_the_samples_are_planted_ones_of_each_kind() -> None:
    assert {(name, kind) for name in PLANTED for kind in MODELS} >= SAMPLES
    assert {PLANTED[name][0] for name, _ in SAMPLES} >= {
        "model_prefix",
        "each_sequence_alone",
        "cache_agrees",
        "padding_is_hidden",
    }


@pytest.mark.parametrize("kind", MODELS)
def test_nothing_is_wrong_with_them_as_they_are(kind: str) -> None:
    found = find_in_language_model(MODELS[kind](), TOKENS)
    assert found == {}, found.table
    verdicts = {one.test: one.kind for one in found.verdicts}
    # Two things nobody has said how to ask.
    left = [test for test, verdict in verdicts.items() if verdict == NOT_TRIED]
    assert left == ["documents_are_apart", "shift_changes_nothing"]
    assert {verdicts[test] for test in ("cache_agrees", "padding_is_hidden")} == {RIGHT}


@pytest.mark.parametrize(("name", "kind"), ALL)
def test_what_is_planted_is_found_by_the_default_call(
    name: str, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    test, words, plant = PLANTED[name]
    model = MODELS[kind]()
    plant(model, monkeypatch.setattr)
    found = find_in_language_model(model, TOKENS)
    assert words in found.get(test, ""), found.table
