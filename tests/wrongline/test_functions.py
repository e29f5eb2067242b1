r"""A function of queries, keys and values is tested as a module, whatever its layout."""

from typing import Any

import pytest
import torch

from wrongline.functions import attentions_in, example
from wrongline.pasted import check

FUNCTION = """
def attention(key, query, values, mask=None, dropout=None):
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
    if mask is not None:
        scores = scores.masked_fill(mask == 0, -1e9)
    weights = scores.softmax(dim=-1)
    if dropout is not None:
        weights = dropout(weights)
    return weights @ values, weights
"""
HEADS_LAST = """
def attend(q, k, v, causal=False):
    s = torch.einsum("bqhd,bkhd->bhqk", q, k) / q.shape[-1] ** 0.5
    if causal:
        s = s + torch.full(s.shape[-2:], -torch.inf).triu(1)
    return torch.einsum("bhqk,bkhd->bqhd", s.softmax(-1), v)
"""
MATRICES = """
def self_attention(x, W_q, W_k, W_v):
    q, k, v = x @ W_q, x @ W_k, x @ W_v
    scores = q @ k.mT / k.shape[-1] ** 0.5
    hidden = torch.ones(x.shape[1], x.shape[1]).triu(1).bool()
    return scores.masked_fill(hidden, -1e9).softmax(-1) @ v
"""


def checked(text: str) -> dict[str, Any]:
    return {key: one for told in check(text, {}) for key, one in told.items()}


@pytest.mark.parametrize("text", [FUNCTION, HEADS_LAST, MATRICES], ids=["any", "last", "matrices"])
def test_right_functions_are_the_formulas(text: str) -> None:
    told = checked(text)
    assert (told["found"], told["compared"]) == ([], "yes")
    assert told["assumed"]["function"]


@pytest.mark.parametrize(
    ("text", "right", "wrong", "sentence"),
    [
        (FUNCTION, " / math.sqrt(query.shape[-1])", "", "not scaled"),
        (FUNCTION, "dim=-1", "dim=-2", "softmax is over the queries"),
        (HEADS_LAST, "(1)\n", "(2)\n", "the next position too"),
        (MATRICES, "x @ W_k, x @ W_v", "x @ W_q, x @ W_v", "used twice"),
    ],
)
def test_wrong_functions_are_named(text: str, right: str, wrong: str, sentence: str) -> None:
    assert right in text
    found = checked(text.replace(right, wrong))["found"]
    assert any(sentence in one["sentence"] for one in found)


def test_other_functions_are_none_and_classes_come_before() -> None:
    names = {"f": example, "g": torch.relu}
    assert attentions_in(names) == []
    text = FUNCTION + "class Layer(nn.Module):\n    def forward(self, x): return x\n"
    assert checked(text)["assumed"]["classes"] == ["Layer", "attention"]


def test_an_argument_that_nobody_knows_is_told() -> None:
    text = FUNCTION.replace("mask=None", "wobble, mask=None")
    assert "wants wobble" in checked(text)["failed"]
