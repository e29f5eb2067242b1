r"""Each exhibit differs from the lesson in its line alone, and the tests for readers name it."""

import math

import pytest
import torch
from torch import Tensor, nn

from labml_nn.transformers.mistakes.experiment import FAMILIES, MISTAKES, Sizes, train_mistake
from labml_nn.transformers.mistakes.masks import MaskUnused
from labml_nn.transformers.mistakes.one_line import Mistake
from labml_nn.transformers.mistakes.right_attention import RightAttention
from wrongline.attention_tests import check_attention, find_mistakes
from wrongline.properties import nothing_from_the_future, sequences_apart

EXHIBITS = {one.__name__: one for of in FAMILIES.values() for one in of}
TEXT = "".join(chr(97 + index * index % 11) for index in range(400))

# What the comparison says; nothing where another test has to find it.
SAID = {
    "QueryForAll": "one projection is used",
    "ScaledByModelWidth": "divided by the root of the whole width",
    "Unscaled": "not scaled",
    "ScaledUp": "multiplied by the root",
    "MaskUnused": "no causal mask",
    "MaskOnlyInTraining": "no causal mask",
    "MaskOffByOne": "shows the next position",
    "MaskInverted": "upside down",
    "MaskAfterSoftmax": "after the softmax",
    "MaskAsZeros": "hidden scores are zero",
    "SoftmaxOverQueries": "over the queries",
    "SoftmaxOverHeads": "over the heads",
    "ViewForSplit": "split by a view",
    "ViewForMerge": "merged by a view",
    "SizeFromGlobal": "4 heads, not 3",
    "StrictMask": "doesn't see itself",
}


def with_mask(attention: nn.Module, x: Tensor, mask: Tensor) -> Tensor:
    return attention(x, mask)


@pytest.mark.parametrize("name", EXHIBITS)
def test_a_mistake_is_one_line_of_the_lesson(name: str) -> None:
    exhibit = EXHIBITS[name]
    assert exhibit.wrong != exhibit.right
    assert "\n" not in exhibit.right + exhibit.wrong
    assert issubclass(exhibit.make(), exhibit.of.__base__)
    # A model trains with dropout only where that is the mistake.
    assert exhibit.dropout_prob == (0.1 if name == "DropoutInEvaluation" else 0.0)


@pytest.mark.parametrize("name", SAID)
def test_the_mistake_is_named(name: str) -> None:
    found = find_mistakes(EXHIBITS[name].make()(3, 24), 3, 24)
    assert SAID[name] in found["comparison"]
    leaks = name.startswith(("Mask", "Softmax", "View"))
    assert ("nothing_from_the_future" in found) == leaks


def unmasked(attention: nn.Module, x: Tensor) -> Tensor:
    r"""Every position may see every other."""
    return attention(x, torch.ones(1, x.shape[1], x.shape[1], dtype=torch.bool))


def test_two_mistakes_are_named() -> None:
    narrow = EXHIBITS["ScaledByModelWidth"].make()(3, 24)
    assert find_mistakes(narrow, 3, 24, call=unmasked)["comparison"] == (
        "the scores are divided by the root of the whole width, and there is no causal mask"
    )


@pytest.mark.parametrize(("axis", "said"), [(1, "later inputs"), (0, "of other sequences")])
def test_a_leak_is_found_whatever_its_sign(axis: int, said: str) -> None:
    r"""Each output falls as the input after it rises, or that of the next sequence."""

    def falls(x: Tensor) -> Tensor:
        return (-x.roll(-1, dims=axis)).sigmoid()

    test = (sequences_apart, nothing_from_the_future)[axis]
    assert said in test(nn.Identity(), falls, torch.randn(5, 7, 11))


def test_other_tests_find_what_the_comparison_does_not() -> None:
    padded = find_mistakes(EXHIBITS["EmptyRows"].make()(3, 24), 3, 24, masked=with_mask)
    assert list(padded) == ["padding_hides"]


def test_what_is_random_is_called_random_and_a_leak_is_seen_all_the_same() -> None:
    r"""Nothing else is, which would be said of the dropout once more."""
    dropped = EXHIBITS["DropoutInEvaluation"].make()(3, 24, 0.5)
    options = {"masked": with_mask, "read": lambda attention, parts: attention(torch.cat(parts, 1))}
    assert list(find_mistakes(dropped, 3, 24, **options)) == ["same_twice"]
    found = find_mistakes(dropped, 3, 24, call=unmasked, **options)
    assert list(found) == ["same_twice", "nothing_from_the_future"]
    assert "dropout is on" in found["same_twice"]
    assert "later inputs" in found["nothing_from_the_future"]


def test_right_ones_pass() -> None:
    check_attention(RightAttention(3, 24, 0.1), 3, 24, masked=with_mask)

    def call(attention: nn.Module, x: Tensor) -> Tensor:
        hidden = torch.ones(x.shape[1], x.shape[1], dtype=torch.bool).triu(1)
        return attention(x, x, x, attn_mask=hidden, need_weights=False)[0]

    check_attention(nn.MultiheadAttention(24, 3, 0.1, batch_first=True), 3, 24, call=call)


def test_a_failure_is_an_assertion_and_yours_stays_as_it_is() -> None:
    attention = MaskUnused.make()(3, 24)
    before = attention.query.weight.clone()
    said = "2 of the tests fail:\n.* comparison: there is no causal mask\n.* nothing_from_the"
    with pytest.raises(AssertionError, match=said):
        check_attention(attention, 3, 24)
    assert attention.query.weight.equal(before)
    with pytest.raises(ValueError, match="once, not 2"):
        type("Twice", (Mistake,), {"right": "dim=-1", "wrong": "dim=1"}).make()


def test_all_train_and_the_right_one_has_no_gap() -> None:
    sizes = Sizes(8, 4, 1, 5, 3, n_steps=2, n_places=2)
    assert len(MISTAKES) == 22
    assert abs(train_mistake(Mistake, TEXT, sizes)["gap"]) < 1e-5
    for exhibit in MISTAKES:
        assert all(map(math.isfinite, train_mistake(exhibit, TEXT, sizes).values()))
