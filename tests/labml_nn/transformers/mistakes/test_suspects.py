r"""A matrix of attentions in other people's styles; each mistake must get its own name."""

import pytest
import torch
from torch import Tensor, nn

from labml_nn.transformers.mistakes.attention_tests import find_mistakes
from labml_nn.transformers.mistakes.comparison import find_weights, roughen
from labml_nn.transformers.mistakes.suspects import agrees, name_mistakes
from tests.labml_nn.transformers.mistakes.styles import (
    D_MODEL,
    RIGHT,
    SAID,
    WRONG,
    Style,
    Styled,
)


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
    assert find_mistakes(made(style), D_MODEL, made(style).heads, call=call) == {}


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
    assert find_mistakes(made(style), D_MODEL, made(style).heads, call=call) == {}


def test_what_is_not_known_is_not_compared_and_the_rest_must_agree() -> None:
    nan = float("nan")
    expected = torch.tensor([nan, 1.0, 2.0])
    assert agrees(torch.tensor([5.0, 1.0, 2.0]), expected)
    assert not agrees(torch.tensor([nan, nan, 2.0]), expected)
    assert not agrees(torch.tensor([5.0, 1.0, 2.1]), expected)
    assert not agrees(torch.zeros(100), torch.tensor([0.0] + [nan] * 99))


def test_the_sequence_first_is_named() -> None:
    attention = roughen(nn.MultiheadAttention(D_MODEL, 3))
    x = torch.randn(5, 7, D_MODEL)
    hidden = torch.ones(5, 5, dtype=torch.bool).triu(1)
    with torch.no_grad():
        output = attention(x, x, x, attn_mask=hidden)[0]
        names = name_mistakes(x, output, find_weights(attention, D_MODEL), 3)
    assert names == ["the batch is taken for the sequence: it wants the sequence first"]
