r"""A matrix of attentions in other people's styles; each mistake must get its own name."""

import math
from collections.abc import Callable
from itertools import permutations
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from tests.wrongline.styles import (
    D_MODEL,
    RIGHT,
    SAID,
    WRONG,
    Style,
    Styled,
)
from wrongline import suspects as page
from wrongline.attention_tests import find_mistakes
from wrongline.comparison import find_weights, roughen
from wrongline.position_switches import POSITIONS
from wrongline.suspects import (
    agrees,
    explore,
    name_mistakes,
    search,
    steps,
)
from wrongline.switches import SHARES
from wrongline.weight_switches import WEIGHTS


def test_a_tree_is_gone_through_with_what_is_right_first_and_without_what_is_impossible() -> None:
    def append(letter: str) -> Callable[[dict[str, Any]], dict[str, Any]]:
        return lambda state: {"text": state["text"] + letter}

    def impossible(error: type[Exception]) -> Callable[[dict[str, Any]], dict[str, Any]]:
        def step(state: dict[str, Any]) -> dict[str, Any]:
            raise error

        return step

    ways = [
        [("", append("a")), ("A", append("A")), ("never", impossible(ValueError))],
        [("", append("b")), ("never", impossible(RuntimeError)), ("B", append("B"))],
    ]
    leaves = [([], "ab"), (["B"], "aB"), (["A"], "Ab"), (["A", "B"], "AB")]
    for most in (0, 1, 2):
        found = [(list(names), s["text"]) for names, s in explore({"text": ""}, ways, most)]
        assert found == [leaf for leaf in leaves if len(leaf[0]) <= most]


def test_each_step_begins_with_what_is_right_and_heads_may_have_other_numbers() -> None:
    for shared in (False, True):
        ways = steps(3, 24, shared, POSITIONS, WEIGHTS)
        assert [way[0][0] for way in ways] == [""] * 7
        assert ways[2] == (SHARES if shared else SHARES[:1])
        others = [] if shared else [1, 2, 4, 6, 8, 12, 24]
        views = [f"there are {n} heads, not 3" for n in others]
        assert [name for name, _ in ways[1]] == ["", "heads are split by a view", *views]


class Formula:
    r"""The formula of 2017 with an input and matrices, and with parts of it replaced."""

    def __init__(self, heads: int = 2, d_k: int = 3) -> None:
        torch.manual_seed(1)
        self.heads, self.d = heads, heads * d_k
        self.x = torch.randn(3, 7, self.d)
        self.matrices = [(torch.randn(self.d, self.d), torch.randn(self.d)) for _ in range(4)]

    def output(
        self,
        heads: int | None = None,
        scale: float | None = None,
        hidden: Callable[[Tensor], Tensor] = lambda distance: distance < 0,
        turn: Callable[[Tensor], Tensor] = lambda z: z,
    ) -> Tensor:
        heads = heads or self.heads
        cut = [F.linear(self.x, *matrix).unflatten(-1, (heads, -1)) for matrix in self.matrices[:3]]
        query, key, value = (z.transpose(1, 2) for z in cut)
        factor = scale or query.shape[-1] ** -0.5
        scores = turn(query) @ turn(key).mT * factor
        distance = torch.arange(7)[:, None] - torch.arange(7)
        weights = scores.masked_fill(hidden(distance), -math.inf).softmax(-1)
        return F.linear((weights @ value).transpose(1, 2).flatten(2), *self.matrices[3])

    def names(self, plain: bool = False, limit: int = 2, **parts: Any) -> list[str] | None:
        return search(
            {"x": self.x, "sees_all": False},
            self.output(**parts),
            [self.matrices],
            self.heads,
            limit,
            plain,
        )


def rotated(z: Tensor) -> Tensor:
    r"""Two halves as the parts of complex numbers, turned by a position."""
    half = z.shape[-1] // 2
    angles = torch.arange(z.shape[2])[:, None] * 1e4 ** -(torch.arange(half) / half)
    turned = torch.complex(*z.chunk(2, dim=-1)) * torch.polar(torch.ones_like(angles), angles)
    return torch.cat([turned.real, turned.imag], dim=-1)


def test_what_is_right_has_no_names() -> None:
    assert Formula().names() == Formula().names(plain=True) == []


@pytest.mark.parametrize("n", [1, 3, 6])
def test_another_number_of_heads_is_named_and_so_is_a_scale_that_is_right(n: int) -> None:
    formula = Formula()
    there = f"there are {n} heads, not 2"
    assert formula.names(heads=n) == [there]
    assert formula.names(heads=n, scale=3**-0.5) == [there, "the scale is that of 2 heads"]


def test_no_more_mistakes_are_named_than_the_limit() -> None:
    two = {"scale": 1.0, "hidden": lambda distance: distance == 99}
    names = ["the scores are not scaled", "there is no causal mask"]
    formula = Formula()
    assert formula.names(**two) == names
    assert formula.names(**two, limit=1) is None
    assert formula.names(**two, heads=1) is None


def test_positions_and_windows_may_come_together_and_have_one_mistake() -> None:
    formula = Formula(heads=2, d_k=4)
    window = {"hidden": lambda distance: (distance < 0) | (distance >= 3), "turn": rotated}
    assert formula.names(**window) == formula.names(turn=rotated) == []
    assert formula.names(**window, scale=1.0) == ["the scores are not scaled"]
    assert formula.names(turn=rotated, scale=1.0) == ["the scores are not scaled"]
    # All that may be plain is plain in orders that are less likely.
    assert formula.names(turn=rotated, plain=True) is None
    # Two mistakes are too many, with positions or with a window.
    two = {"scale": 1.0, "heads": 1}
    assert formula.names(turn=rotated, **two) is None
    assert formula.names(hidden=window["hidden"], **two) is None


def test_all_orders_are_tried_both_ways_round_and_the_likely_ones_first(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[tuple] = []
    monkeypatch.setattr(page, "search", lambda *given: asked.append(given))
    formula = Formula()
    x, output = formula.x, formula.output()
    assert name_mistakes(x, output, formula.matrices, 2) is None
    query, key, value, last = formula.matrices
    likely = [(query, key, value, last), (key, query, value, last)]
    # What is right in one of them is right.
    every, *asked = asked
    assert len(every[2]) == 49
    assert every[0]["x"] is x
    assert every[1] is output
    assert every[3:] == (2, 0, True)
    for (around, some, limit, plain), given in zip(
        [(one, *two) for two in ((likely, 2, False), (None, 2, True)) for one in (False, True)],
        asked,
        strict=True,
    ):
        swap = (lambda z: z.transpose(0, 1)) if around else (lambda z: z)
        assert given[0]["x"].equal(swap(x))
        assert given[1].equal(swap(output))
        ids = [[id(weight) for weight, _ in order] for order in given[2]]
        known = [[id(weight) for weight, _ in order] for order in permutations(formula.matrices)]
        wanted = [[id(weight) for weight, _ in order] for order in likely]
        if some is None:
            assert len(ids) == 47
            assert ids[:22] == [order for order in known if order not in wanted]
        else:
            assert ids == wanted
        assert given[3:] == (2, 1 if around else limit, plain)

    monkeypatch.setattr(
        page, "search", lambda state, *_: None if state["x"] is x else ["it is wrong"]
    )
    assert name_mistakes(x, output, formula.matrices, 2) == [
        "the batch is taken for the sequence: it wants the sequence first",
        "it is wrong",
    ]


def made(style: Style) -> Styled:
    torch.manual_seed(0)
    return Styled(style)


def call(attention: nn.Module, x: Tensor) -> Tensor:
    if attention.style.first:
        return attention(x.transpose(0, 1)).transpose(0, 1)
    return attention(x)


def said(style: Style) -> str:
    r"""What the comparison alone says."""
    attention = roughen(made(style)).eval()
    torch.manual_seed(1)
    x = torch.randn(5, 7, D_MODEL)
    with torch.no_grad():
        output = call(attention, x)
        names = name_mistakes(x, output, find_weights(attention, D_MODEL), attention.heads)
    return "unnamed" if names is None else ", and ".join(names)


# One of each mistake, in changing styles.
SAMPLE = [
    next(s for s in WRONG[7 * at % len(WRONG) :] + WRONG if s.mistake == mistake)
    for at, mistake in enumerate(SAID)
]


@pytest.mark.parametrize("style", SAMPLE, ids=str)
def test_a_mistake_has_its_name_in_other_styles(style: Style) -> None:
    assert said(style).startswith(SAID[style.mistake])


@pytest.mark.parametrize("style", RIGHT[::5], ids=str)
def test_right_ones_in_other_styles_pass(style: Style) -> None:
    assert find_mistakes(made(style), made(style).heads, D_MODEL, call=call) == {}


@pytest.mark.whole
def test_of_all_styles_95_in_100_are_named_and_none_wrongly() -> None:
    found = {style: said(style) for style in WRONG}
    assert len(found) >= 300
    named = [style for style, names in found.items() if names.startswith(SAID[style.mistake])]
    wrongly = {
        str(style): names
        for style, names in found.items()
        if style not in named and names != "unnamed"
    }
    assert wrongly == {}
    assert len(named) >= 0.95 * len(found)


@pytest.mark.whole
@pytest.mark.parametrize("style", RIGHT, ids=str)
def test_all_right_styles_pass(style: Style) -> None:
    assert find_mistakes(made(style), made(style).heads, D_MODEL, call=call) == {}


def test_what_is_not_known_is_not_compared_and_the_rest_must_agree() -> None:
    nan = float("nan")
    expected = torch.tensor([nan, 1.0, 2.0])
    assert agrees(torch.tensor([5.0, 1.0, 2.0]), expected)
    assert not agrees(torch.tensor([nan, nan, 2.0]), expected)
    assert not agrees(torch.tensor([5.0, 1.0, 2.1]), expected)
    assert not agrees(torch.zeros(100), torch.tensor([0.0] + [nan] * 99))
    # An eighth is enough.
    assert agrees(torch.zeros(16), torch.tensor([0.0] * 2 + [nan] * 14))
    assert not agrees(torch.zeros(17), torch.tensor([0.0] * 2 + [nan] * 15))


@pytest.mark.parametrize("size", [1e-3, 1.0, 1e3])
def test_a_difference_is_relative_to_the_largest_known_number(size: float) -> None:
    expected = torch.tensor([float("nan"), -5.0, 1.0, 2.0]) * size
    far = torch.tensor([0.0, 0.0, 0.0, 1e-3])
    assert agrees((expected + 0.3 * far * size).nan_to_num(), expected) is True
    assert agrees((expected + far * size).nan_to_num(), expected) is False


def test_of_several_outputs_side_by_side_one_must_agree_in_all_of_its_numbers() -> None:
    torch.manual_seed(1)
    output = torch.randn(2, 3, 5)
    others = torch.randn(7, 11, 2, 3, 5)
    assert not agrees(output, others)
    # Each number of the output is somewhere, and never all of them in one place.
    scattered = others.clone()
    scattered[2, 3, 0] = output[0]
    scattered[2, 4, 1] = output[1]
    assert not agrees(output, scattered)
    others[2, 3] = output
    assert agrees(output, others)
    # An output of large numbers beside it is no reason to be less exact.
    others[2, 3, 0, 0, 0] += 1e-3
    others[2, 4] *= 1e6
    assert not agrees(output, others)


def test_the_sequence_first_is_named() -> None:
    attention = roughen(nn.MultiheadAttention(D_MODEL, 3))
    x = torch.randn(5, 7, D_MODEL)
    hidden = torch.ones(5, 5, dtype=torch.bool).triu(1)
    with torch.no_grad():
        output = attention(x, x, x, attn_mask=hidden)[0]
        names = name_mistakes(x, output, find_weights(attention, D_MODEL), 3)
    assert names == ["the batch is taken for the sequence: it wants the sequence first"]


@pytest.mark.parametrize(("own", "names"), [(True, ["the scores are not scaled"]), (False, [])])
def test_an_encoder_and_cross_attention_need_no_mask(own: bool, names: list[str]) -> None:
    formula = Formula()
    context = torch.randn(len(formula.x), 11, formula.x.shape[-1])
    inputs = (formula.x, formula.x if own else context, formula.x if own else context)
    cut = [
        F.linear(one, *matrix).unflatten(-1, (2, -1)).transpose(1, 2)
        for one, matrix in zip(inputs, formula.matrices[:3], strict=True)
    ]
    factor = 1.0 if own else cut[0].shape[-1] ** -0.5
    weights = (cut[0] @ cut[1].mT * factor).softmax(-1)
    output = F.linear((weights @ cut[2]).transpose(1, 2).flatten(2), *formula.matrices[3])
    how = {"sees_all": True} if own else {"context": context}
    assert name_mistakes(formula.x, output, formula.matrices, 2, **how) == names
