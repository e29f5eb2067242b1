r"""Models as strangers write them: each kind was accused, or passed, or couldn't be called."""

from typing import Any

import pytest
import torch
from torch import Tensor, nn

from tests.wrongline.others import N_VOCAB, WIDTH, Mixing, Small, texts
from wrongline.cache_tests import cache_agrees
from wrongline.guesses import guess_arguments
from wrongline.language_model import find_in_language_model
from wrongline.verdicts import NotTried
from wrongline.whole import Whole

# A cache beside the whole text


class CutsInside(Small):
    r"""Is given the whole text each time, and cuts off all but the last token."""

    def places_of(self, tokens: Tensor) -> Tensor:
        return self.places(torch.arange(tokens.shape[1]))

    def forward(self, tokens: Tensor, past: Tensor | None = None, use_cache: bool = False) -> Any:
        x = self.tokens(tokens) + self.places_of(tokens)
        if past is not None:
            x = x[:, -1:]
        new = x.shape[1]
        x = x if past is None else torch.cat([past, x], dim=1)
        return self.head(x[:, -new:] + self.mixing(x, new=new)), x


class KeepsTooLittle(CutsInside):
    r"""The first token falls out of the cache."""

    def forward(self, tokens: Tensor, past: Tensor | None = None, use_cache: bool = False) -> Any:
        logits, x = super().forward(tokens, past, use_cache)
        return logits, x[:, 1:]


class NeverReads(Small):
    r"""Gives a cache, takes it, and computes everything again; then gives the last logits."""

    def forward(self, tokens: Tensor, past: Tensor | None = None, use_cache: bool = False) -> Any:
        logits, x = self.logits(tokens)
        return logits if past is None else logits[:, -1:], x


def test_a_model_may_be_given_the_whole_text_and_cut_it_itself() -> None:
    said = cache_agrees(Whole(CutsInside(), texts(), texts()))
    assert isinstance(said, NotTried)
    assert said.startswith("several new tokens at once")
    assert "cache_agrees" not in find_in_language_model(CutsInside(), texts())
    assert "token by token" in cache_agrees(Whole(KeepsTooLittle(), texts(), texts()))


def test_a_cache_that_is_never_read_does_not_pass() -> None:
    said = cache_agrees(Whole(NeverReads(), texts(), texts()))
    assert said
    assert not said.startswith("several new tokens at once")


# Weights that only a loss needs


class HeadForALoss(Small):
    def __init__(self) -> None:
        super().__init__()
        self.second = nn.Linear(WIDTH, N_VOCAB)

    def forward(self, tokens: Tensor, labels: Tensor | None = None) -> Any:
        x = self.embed(tokens)
        logits = self.head(x + self.mixing(x))
        if labels is None:
            return logits
        loss = nn.functional.cross_entropy(self.second(x).flatten(0, 1), labels.flatten())
        return loss, logits


class AsksForALoss(HeadForALoss):
    def forward(self, tokens: Tensor, return_loss: bool = False) -> Any:
        return super().forward(tokens, tokens if return_loss else None)


class Forgotten(HeadForALoss):
    def forward(self, tokens: Tensor, labels: Tensor | None = None) -> Any:
        return super().forward(tokens)


@pytest.mark.parametrize("kind", [HeadForALoss, AsksForALoss])
def test_a_weight_may_be_for_a_loss_only(kind: type) -> None:
    found = find_in_language_model(kind(), texts())
    assert found == {}
    assert "second.weight" in found.unusual["every_weight_is_used"]


def test_a_weight_that_no_loss_uses_either_is_named() -> None:
    said = find_in_language_model(Forgotten(), texts())["every_weight_is_used"]
    assert "no gradient comes to second.weight" in said


# Two texts


class Translates(Small):
    def forward(self, src: Tensor, tgt: Tensor, src_mask: Tensor, pad: int = 0) -> Tensor:
        return super().forward(tgt) + self.head(self.embed(src)).mean(1, keepdim=True)


class TargetFirst(Small):
    def forward(self, tgt: Tensor, memory: Tensor) -> Tensor:
        return super().forward(tgt)


def said_of(model: nn.Module) -> str:
    return find_in_language_model(model, texts())["runs"]


def test_how_two_texts_are_given_is_said_with_all_that_is_needed() -> None:
    source = "source[:1].expand(len(tokens), -1)"
    said = said_of(Translates())
    assert f"model({source}, tgt=tokens, src_mask=...)" in said
    assert ".logits" not in said
    assert f"model(tgt=tokens, memory={source})" in said_of(TargetFirst())


def test_what_is_said_of_two_texts_runs() -> None:
    said = said_of(Translates()).partition("predict=")[2].partition(", which")[0]
    names = {"source": texts(1, 5), "model": None}
    predict = eval(said.replace("=...", "=None"), names)
    assert find_in_language_model(Translates(), texts(), predict=predict) == {}


# Two masks


class TwoMasks(Small):
    r"""With padding, one mask is built, and without it another one."""

    def forward(self, tokens: Tensor, attention_mask: Tensor | None = None) -> Tensor:
        if attention_mask is None:
            return super().forward(tokens)
        x = self.embed(tokens)
        hidden = (attention_mask == 0)[:, None].expand(-1, tokens.shape[1], -1)
        return self.head(x + self.mixing(x, hidden))


class NotCausalWithPadding(TwoMasks):
    def __init__(self) -> None:
        super().__init__()
        self.all = Mixing()
        self.all.sees = lambda t, n: torch.ones(t, n, dtype=torch.bool)

    def forward(self, tokens: Tensor, attention_mask: Tensor | None = None) -> Tensor:
        mixing = self.mixing
        self.mixing = self.mixing if attention_mask is None else self.all
        logits = super().forward(tokens, attention_mask)
        self.mixing = mixing
        return logits


class NotCausalIfNothingIsHidden(NotCausalWithPadding):
    def forward(self, tokens: Tensor, attention_mask: Tensor | None = None) -> Tensor:
        full = attention_mask is not None and bool((attention_mask != 0).all())
        kind = NotCausalWithPadding if full else TwoMasks
        return kind.forward(self, tokens, attention_mask)


def test_the_future_is_hidden_with_padding_as_without() -> None:
    assert find_in_language_model(TwoMasks(), texts()) == {}
    said = find_in_language_model(NotCausalWithPadding(), texts())["padding_is_hidden"]
    assert said.startswith("with padding hidden by `attention_mask`, the logits of sequence")
    assert said.endswith("the model sees the future")
    said = find_in_language_model(NotCausalIfNothingIsHidden(), texts())["padding_is_hidden"]
    assert said.startswith("with a `attention_mask` that hides nothing, the logits")


# Windows


class Windowed(nn.Module):
    def __init__(self, n_embd: int, window_size: int = 1024, chunk_size: int = 2) -> None:
        super().__init__()


class Off(nn.Module):
    def __init__(self, cfg: Any, window: Any = None, sliding_window: int = -1) -> None:
        super().__init__()


def test_a_window_is_shorter_than_the_texts_and_one_that_is_off_stays_off() -> None:
    assert guess_arguments(Windowed, "")[0] == {"n_embd": 24, "window_size": 4, "chunk_size": 2}
    found, _ = guess_arguments(Off, "cfg.sliding_window")
    assert vars(found.pop("cfg")) == {"sliding_window": 4}
    assert found == {"window": None, "sliding_window": -1}


@pytest.mark.parametrize(("size", "kind"), [(64, "not tried"), (8, "right"), (4096, "right")])
def test_what_is_beyond_a_window_that_no_text_fills_was_not_tried(size: int, kind: str) -> None:
    model = Small()
    model.window_size = size
    model.block_size = 48 if kind == "right" else 128
    found = {one.test: one for one in find_in_language_model(model, texts()).verdicts}
    assert found["model_prefix"].kind == kind
    assert (kind == "right") or "`window_size` is 64" in found["model_prefix"].sentence
