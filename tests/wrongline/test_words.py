r"""Models that are causal only if a word says so."""

from enum import Enum
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from tests.wrongline.others import Mixing, Small, texts
from wrongline import find_in_language_model
from wrongline.command import main
from wrongline.words import causal_word


class Kind(Enum):
    FULL = "all"
    CAUSAL = "past"


class Asked(Mixing):
    r"""Sees everything unless its `kind` is causal; `late` is a mistake in that mask."""

    late = 0

    def forward(self, x: Tensor, mode: Any = "full", new: int = 0) -> Tensor:
        self.is_causal = mode in ("causal", Kind.CAUSAL)
        return super().forward(x, new=new)

    def sees(self, t: int, n: int) -> Tensor:
        shown = torch.ones(t, n, dtype=torch.bool)
        return shown.tril(self.late) if self.is_causal else shown


class ByWord(Small):
    def forward(self, tokens: Tensor, mode: str = "full") -> Tensor:
        x = self.embed(tokens)
        return self.head(self.mixing(x, mode))


class ByMember(ByWord):
    def forward(self, tokens: Tensor, mode: Any = Kind.FULL) -> Tensor:
        return super().forward(tokens, mode)


class ByTable(ByWord):
    r"""The word is compared with nothing that one could read."""

    def forward(self, tokens: Tensor, attn_mode: str = "f") -> Tensor:
        return super().forward(tokens, {102: "full", 99: "causal"}[ord(attn_mode)])


class WithKeywords(Small):
    r"""Always causal; a switch among its keywords is no word of theirs."""

    def forward(self, tokens: Tensor, **kwargs: Any) -> Tensor:
        assert "causal" in kwargs or not kwargs
        return self.head(self.mixing(self.embed(tokens), "causal"))


class Reversed(ByWord):
    r"""Sees everything by default, by a switch."""

    def forward(self, tokens: Tensor, bidirectional: bool = True) -> Tensor:  # type: ignore[override]
        return super().forward(tokens, "full" if bidirectional else "causal")


@pytest.mark.parametrize("kind", [ByWord, ByMember, Reversed])
def test_a_word_that_makes_it_causal_is_said(kind: Any) -> None:
    found = find_in_language_model(kind(Asked), texts())
    assert found == {} and "; called with " in found.tried_on
    model = kind(Asked)
    model.mixing.late = 1
    assert "sees the future" in find_in_language_model(model, texts())["model_prefix"]


def test_a_word_that_nobody_can_read_is_named() -> None:
    found = find_in_language_model(ByTable(Asked), texts())
    (said,) = [one for one in found.verdicts if one.test == "model_prefix"]
    assert said.kind == "not tried"
    assert said.sentence.startswith('with attn_mode="f", as it is by default, later tokens')
    assert said.sentence.endswith("model(tokens, attn_mode=...)")


class Remembers(Small):
    def __init__(self, kind: str = "full") -> None:
        super().__init__(Asked)
        self.kind = mode = kind
        assert mode in ("full", "causal")

    def forward(self, tokens: Tensor) -> Tensor:
        return self.head(self.mixing(self.embed(tokens), self.kind))


def test_an_attribute_that_lets_it_see_everything_is_named() -> None:
    assert find_in_language_model(Remembers("causal"), texts()) == {}
    model = Remembers()
    said = find_in_language_model(model, texts())["model_prefix"]
    assert said.endswith("; its `kind` is 'full', and with 'causal' it doesn't")
    assert model.kind == "full"


LAYER = """
import torch
from torch import nn

class Attention(nn.Module):
    def __init__(self, dim, which):
        super().__init__()
        self.which, self.qkv = which, nn.Linear(dim, 3 * dim)

    def forward(self, x):
        q, k, v = self.qkv(x).chunk(3, -1)
        scores = q @ k.mT / q.shape[-1] ** 0.5
        match self.which:
            case "autoregressive":
                scores = scores + torch.full(scores.shape[1:], -torch.inf).triu(1)
        return scores.softmax(-1) @ v
"""
MODEL = """
from torch import nn
from layer_of_words import Attention

class Model(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.table = nn.Embedding(config.vocab_size, config.n_embd)
        self.attn = Attention(config.n_embd, config.attn_type)
        self.head = nn.Linear(config.n_embd, config.vocab_size)

    def forward(self, idx):
        return self.head(self.attn(self.table(idx)))
"""


def test_a_word_may_be_passed_on_by_another_name_to_another_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "layer_of_words.py").write_text(LAYER)
    (tmp_path / "model.py").write_text(MODEL)
    assert main([f"{tmp_path}/model.py:Model"]) == 0
    assert "attn_type='autoregressive'" in capsys.readouterr().out
    # An attention by itself, whose argument has no default.
    assert main([f"{tmp_path}/layer_of_words.py:Attention", "--heads", "1"]) == 0
    assert "which='autoregressive'" in capsys.readouterr().out


@pytest.mark.parametrize(
    "default, text, word",
    [
        ("full", 'f(x["mode"] == "causal")', "causal"),
        ("full", 'config.get("mode", "full").lower() == "causal"', "causal"),
        ("full", 'getattr(config, "mode", "").startswith("causal")', "causal"),
        ("full", '{"full": 1, "left-to-right": 2}[mode]', "left-to-right"),
        (None, 'def f(mode: Literal["bi", "causal"] = "bi"): ...', "causal"),
        # It is causal already, or may be, or the word says the contrary.
        ("autoregressive", 'mode == "causal"', None),
        ("sliding", 'mode == "causal"', None),
        ("full", 'mode == "non-causal"', None),
        ("full", 'mode == "anti-causal"', None),
        # Another name is compared.
        ("full", 'norm == "causal"', None),
        (7, 'mode == "causal"', None),
    ],
)
def test_code_says_which_word_it_is(default: Any, text: str, word: str | None) -> None:
    assert causal_word("mode", default, text, {}) == word


def test_keywords_are_given_no_word() -> None:
    assert find_in_language_model(WithKeywords(Asked), texts()) == {}
