r"""Habits of right models that were accused, or never tried, each beside one with a mistake."""

from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from tests.wrongline.others import N_VOCAB, WIDTH, Small, texts
from wrongline import find_in_language_model
from wrongline.undisturbed import stable_topk
from wrongline.verdicts import NOT_TRIED, RIGHT, UNUSUAL, WRONG


def kind_of(model: nn.Module, test: str) -> tuple[str, str]:
    r"""The verdict of a test, and its sentence."""
    found = find_in_language_model(model, texts())
    (one,) = [one for one in found.verdicts if one.test == test]
    return one.kind, one.sentence


class NearlyNothing(Small):
    r"""Divides by what rounding leaves over of two large numbers; `forgets` what it has read."""

    forgets = False

    def forward(self, tokens: Tensor, past_key_values: Any = None, use_cache: bool = False) -> Any:
        z, past = self.logits(tokens, None if self.forgets else past_key_values)
        # Half of the numbers come in another order with a cache.
        large = 1e6 + z if past_key_values is None else z + 3e6 - 2e6
        z = z + (large - 1e6) * 0.1
        return SimpleNamespace(logits=z, past_key_values=past if use_cache else None)


def test_what_shows_with_32_bits_only_is_rounding() -> None:
    kind, sentence = kind_of(NearlyNothing(), "cache_agrees")
    assert kind == UNUSUAL
    assert sentence.startswith("with 64 bits it doesn't show, so it is rounding: token by token")
    model = NearlyNothing()
    model.forgets = True
    assert "token by token" in find_in_language_model(model, texts())["cache_agrees"]


class ChoosesKeys(Small):
    r"""Three keys with the largest scores are seen; a ReLU makes most scores zero."""

    sees_all = False

    def forward(self, tokens: Tensor) -> Tensor:
        x = self.embed(tokens)
        scores = (x @ x.mT).relu() * 0
        t = tokens.shape[1]
        future = torch.ones(t, t).triu(1).bool()
        if not self.sees_all:
            scores = scores.masked_fill(future, -torch.inf)
        chosen = scores.topk(min(3, t), dim=-1)[1]
        seen = torch.zeros(len(tokens), t, t).scatter(-1, chosen, 1.0)
        seen = seen if self.sees_all else seen.masked_fill(future, 0.0)
        return super().forward(tokens) + self.head(seen @ x)


def test_of_equal_scores_any_may_be_chosen() -> None:
    # As PyTorch chooses, a text of another length has others.
    short = torch.zeros(6).topk(3)[1].tolist()
    assert any(torch.zeros(n).topk(3)[1].tolist() != short for n in range(7, 300))
    assert find_in_language_model(ChoosesKeys(), texts()) == {}
    model = ChoosesKeys()
    model.sees_all = True
    assert "sees the future" in find_in_language_model(model, texts())["model_prefix"]


def test_the_largest_of_equals_come_in_order() -> None:
    x = torch.tensor([[2.0, 5.0, 5.0, 1.0, 5.0], [0.0, 0.0, 0.0, 0.0, 0.0]])
    values, places = stable_topk(x, 2)
    assert values.equal(x.topk(2).values) and places.tolist() == [[1, 2], [0, 1]]
    values, places = stable_topk(x, 1, dim=0, largest=False)
    assert values.tolist() == [[0.0] * 5] and places.tolist() == [[1] * 5]
    assert stable_topk(x, k=3).indices.shape == (2, 3)
    with pytest.raises(RuntimeError, match="out of range"):
        stable_topk(x, 6)
    # Their numbers lie in memory as those of PyTorch do, so a model may call `view` on them.
    for dim in (0, 1):
        ours, theirs = stable_topk(x, 2, dim), x.topk(2, dim)
        for one, other in zip(ours, theirs, strict=True):
            assert one.stride() == other.stride()


class ToldPositions(Small):
    r"""Its positions begin at 0 in each call that isn't told them; `off` is a mistake."""

    off = 0

    def forward(
        self, tokens: Tensor, position_ids: Tensor | None = None, past: Any = None
    ) -> tuple[Tensor, Tensor]:
        if position_ids is None:
            position_ids = torch.arange(tokens.shape[1])[None]
        elif past is not None:
            position_ids = position_ids + self.off
        x = self.tokens(tokens) + self.places(position_ids)
        x = x if past is None else torch.cat([past, x], dim=1)
        new = tokens.shape[1]
        return self.head(x[:, -new:] + self.mixing(x, new=new)), x


def test_positions_that_must_be_told_are_named() -> None:
    kind, sentence = kind_of(ToldPositions(), "cache_agrees")
    assert kind == WRONG
    assert sentence.endswith("so what is wrong are the positions that the model takes by default")
    model = ToldPositions()
    model.off = 1
    kind, sentence = kind_of(model, "cache_agrees")
    assert kind == WRONG and "by default" not in sentence


class Room(Small):
    r"""A cache in the module, which needs room first, and the positions of a part."""

    off = 0

    def set_kv_cache(self, batch_size: int, max_seq_length: int, dtype: Any = None) -> None:
        self.kept = torch.zeros(batch_size, max_seq_length, WIDTH)

    def forward(self, tokens: Tensor, input_pos: Tensor | None = None) -> Tensor:
        if input_pos is None:
            return super().forward(tokens)
        assert input_pos.dim() == 1
        new, end = tokens.shape[1], int(input_pos[-1]) + 1
        x = self.tokens(tokens) + self.places(input_pos + self.off)
        self.kept = self.kept.index_copy(1, input_pos, x)
        x = self.kept[:, :end]
        return self.head(x[:, -new:] + self.mixing(x, new=new))


def test_a_module_is_given_room_for_its_cache() -> None:
    model = Room()
    assert kind_of(model, "cache_agrees") == (RIGHT, "")
    assert not hasattr(model, "kept")
    model.off = 1
    assert "cache_agrees" in find_in_language_model(model, texts())


class Intermediates:
    def __init__(self, past: Tensor) -> None:
        self.past = past


class LastAlone(Small):
    r"""With a cache it reads the last token alone; `memories` is another argument like a cache."""

    off = 0

    def forward(
        self,
        tokens: Tensor,
        return_intermediates: bool = False,
        mems: Any = None,
        cache: Any = None,
        cache_age: int = 1,
    ) -> Any:
        if mems is not None:
            mems = mems.copy()
        if cache is not None:
            tokens = tokens[:, -cache_age:]
        z, past = self.logits(tokens, None if cache is None else cache.past + self.off)
        return (z, Intermediates(past)) if return_intermediates else z


def test_a_model_that_reads_the_last_token_alone_refuses_several() -> None:
    kind, sentence = kind_of(LastAlone(), "cache_agrees")
    assert kind == NOT_TRIED
    assert sentence.startswith("several new tokens at once: of several new ones, the model gives")
    model = LastAlone()
    model.off = 1
    assert "token by token" in find_in_language_model(model, texts())["cache_agrees"]
    model.can_cache_kv = False
    kind, sentence = kind_of(model, "cache_agrees")
    assert kind == NOT_TRIED and "`can_cache_kv` of the model says" in sentence


class Summarises(Small):
    r"""A chunk of 300 tokens is summarised when it is complete."""

    def __init__(self) -> None:
        super().__init__(longest=600)
        self.summary = nn.Linear(WIDTH, N_VOCAB)
        self.config = {"block_size": 600}

    def forward(self, tokens: Tensor) -> Tensor:
        z = super().forward(tokens)
        if tokens.shape[1] <= 300:
            return z
        said = self.summary(self.embed(tokens)[:, :300].mean(1, keepdim=True))
        return z + torch.cat([torch.zeros_like(z[:, :300]), said.expand_as(z[:, 300:])], dim=1)


def test_a_weight_may_be_for_long_texts_only() -> None:
    model = Summarises()
    assert find_in_language_model(model, texts()) == {}
    model.forgotten = nn.Linear(3, 3)
    found = find_in_language_model(model, texts())
    assert "forgotten.weight" in found["every_weight_is_used"]
    assert "summary" not in found["every_weight_is_used"]
