r"""Classes of a text, the line that a sentence or an error is about, and values as texts."""

import inspect
import math
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from labml_nn.transformers.mistakes.pasted_text import (
    classes_in,
    failed_line,
    line_of,
    run_text,
    shown,
    value_of,
)

# Two attentions, modules beside them, and what is none.
SEVERAL = """
from torch.nn import Linear, Transformer


class Norm(nn.Module):
    pass


class MyAttention(nn.Module):
    pass


class Plain:
    pass


class WideATTENTION(MyAttention):
    pass


class Block(nn.Module):
    pass


attention = MyAttention()
"""


def test_what_most_texts_import_is_there_and_errors_know_the_lines() -> None:
    names = run_text("seen = torch, nn, F, math, Tensor\n\ndef f():\n    return 3\n")
    assert names["seen"] == (torch, nn, nn.functional, math, Tensor)
    assert inspect.getsourcelines(names["f"]) == (["def f():\n", "    return 3\n"], 3)


def test_no_flags_of_the_page_hold_for_the_text() -> None:
    # Annotations are evaluated, as they are in a file of one's own.
    assert run_text("def f(x: Tensor): pass")["f"].__annotations__ == {"x": Tensor}


def test_attentions_come_first_and_later_classes_before_earlier_ones() -> None:
    assert classes_in(run_text(SEVERAL)) == ["WideATTENTION", "MyAttention", "Block", "Norm"]


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


def test_arguments_are_shown_as_they_would_be_typed() -> None:
    assert shown(SimpleNamespace(n_embd=24, bias=True)) == "n_embd=24, bias=True"
    assert [shown(value) for value in (3, 0.5, "gelu")] == ["3", "0.5", "'gelu'"]
