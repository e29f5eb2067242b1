r"""Classes of a text, the line that a sentence or an error is about, and values as texts."""

from typing import Any

import pytest

from wrongline.configurations import Config
from wrongline.pasted_text import (
    classes_in,
    failed_line,
    line_of,
    shown,
    unread_mask,
    value_of,
)
from wrongline.run_pasted import run_text

# Two attentions, modules beside them, and what is none.
SEVERAL = """
from torch.nn import Linear, Transformer


class Norm(nn.Module):
    def forward(self, x):
        return x


class MyAttention(Norm):
    pass


class Plain:
    pass


class WideATTENTION(MyAttention):
    pass


class Block(Norm):
    pass


# Nobody can call it.
class Open(nn.Module):
    pass


attention = MyAttention()
"""


def test_attentions_come_first_then_what_holds_the_others_and_later_classes_before_earlier() -> (
    None
):
    def found(text: str) -> list[str]:
        return classes_in(run_text(text), text)

    assert found(SEVERAL) == ["WideATTENTION", "MyAttention", "Block", "Norm"]
    # A model that is written above its parts is no part of itself.
    model = "class Model(nn.Module):\n    def forward(self, x):\n        return Model, Norm\n"
    assert found(model + SEVERAL)[2:] == ["Block", "Model", "Norm"]


LINES = """self.key = nn.Linear(3, 3)  # self.query = none
self.query = nn.Linear(3, 3)
self.scale = 3
scores = q @ k / math.sqrt(3)
scores = scores / d ** 0.5  # masked_fill
scores = scores + mask
weights = scores.softmax(-1)
weights = F.dropout(weights, 0.1)
x = self.dropout(x)
"""


@pytest.mark.parametrize(
    ("sentence", "line"),
    [
        ("no gradient comes to key.weight", 1),
        ("no gradient comes to layers.0.query.weight", 2),
        ("no gradient comes to value.weight", None),
        # Of the first pattern that fits, the last line. Words in a comment are no code.
        ("the scores are divided by the width", 5),
        ("the mask comes after the softmax", None),
        ("there is no causal mask", 6),
        ("the output is NaN", 7),
        # The function, and not the layer, which knows whether the model trains.
        ("two calls in evaluation differ: dropout is on", 8),
        ("nobody knows", None),
    ],
)
def test_a_line_is_found_by_the_words_of_a_sentence(sentence: str, line: int | None) -> None:
    assert line_of(sentence, LINES) == line


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("x = scores.masked_fill(hidden, 0)\ny = x.softmax(-1)", 1),
        ("x = torch.where(seen, scores, least)\ny = x.softmax(-1)", 1),
        ("y = scores.softmax(-1)\nz = y @ v", 1),
    ],
)
def test_the_line_of_a_mask_is_where_scores_are_hidden(text: str, line: int) -> None:
    assert line_of("the model sees the future", text) == line


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("x = 1\nclass (", 2),
        ("x = 1\nx.nothing\n", 2),
        # The innermost line of the text, though the error is one of PyTorch's own.
        ("def f():\n    return torch.zeros(2).view(3)\n\nf()\n", 2),
    ],
)
def test_an_error_has_the_innermost_line_of_the_text(text: str, line: int) -> None:
    with pytest.raises((SyntaxError, AttributeError, RuntimeError)) as caught:
        run_text(text)
    assert failed_line(caught.value) == line


def test_an_error_of_somebody_else_has_no_line() -> None:
    with pytest.raises(ZeroDivisionError) as caught:
        1 / 0  # noqa: B018
    assert failed_line(caught.value) is None


@pytest.mark.parametrize(
    ("text", "value"),
    [("3", 3), ("0.5", 0.5), ("True", True), ("gelu", "gelu"), ("two words", "two words")],
)
def test_what_is_typed_is_a_value_or_a_word(text: str, value: Any) -> None:
    assert value_of(text) == value
    assert type(value_of(text)) is type(value)


def test_a_configuration_can_be_typed_again() -> None:
    config = Config(n_embd=24, bias=True, activation="gelu", rope=None)
    assert shown(config) == "n_embd=24, bias=True, activation='gelu', rope=None"
    assert value_of(shown(config)) == config
    assert value_of("n_head = 3") == Config(n_head=3)
    # Nothing is run.
    assert value_of("n_head=exit()") == "n_head=exit()"


def test_arguments_are_shown_as_they_would_be_typed() -> None:
    assert [shown(value) for value in (3, 0.5, "gelu")] == ["3", "0.5", "'gelu'"]


def test_a_root_is_written_in_many_ways_and_a_default_is_no_mask() -> None:
    text = "def __init__(self, k, scale=3, mask=False):\n    s = q / k ** (1/2)\n"
    text += "    w = s.softmax(-1)\n"
    assert line_of("the scores are divided by the root", text) == 2
    assert line_of("there is no causal mask", text) == 3
    assert unread_mask(text) == ("mask", 1)
    assert unread_mask(text + "    return mask\n") is None
