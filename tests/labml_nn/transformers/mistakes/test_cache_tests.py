import pytest
import torch
from torch import Tensor, nn

from labml_nn.transformers.mistakes import caches, position_mistakes
from labml_nn.transformers.mistakes.attention_tests import find_mistakes
from labml_nn.transformers.mistakes.cache_tests import cache_agrees, shift_changes_nothing
from labml_nn.transformers.mistakes.decoding import CausalFromTheTop, NewestForgotten, RightDecoding
from labml_nn.transformers.mistakes.read_parts import Counts, read_by
from labml_nn.transformers.mistakes.whole import Whole

BATCH_SIZE, SEQ_LEN, D_MODEL, HEADS = 3, 9, 24, 3


def whole(attention: nn.Module) -> Whole:
    torch.manual_seed(1)
    x = torch.randn(BATCH_SIZE, SEQ_LEN, D_MODEL)
    return Whole(
        attention,
        x,
        x,
        predict=lambda attention, x: attention(x),
        read=lambda attention, parts: attention.read(parts),
        shifted=lambda attention, x, by: attention(x, by),
    )


SAID = {
    caches.PrefillUnmasked: "a prompt of 4 tokens are others",
    caches.OffsetJumps: "after a prompt of 4 tokens the logits at position 5",
    caches.NoPositionForOne: "token by token, the logits at position 1",
}


@pytest.mark.parametrize("exhibit", SAID)
def test_a_wrong_cache_is_named(exhibit: type) -> None:
    said = cache_agrees(whole(exhibit.make()(HEADS, D_MODEL)))
    assert SAID[exhibit] in said


def test_the_right_cache_is_right_and_mixed_pairs_are_not_relative() -> None:
    right = whole(caches.RightCache(HEADS, D_MODEL))
    assert cache_agrees(right) == shift_changes_nothing(right) == ""
    mixed = position_mistakes.PairsMixed.make()(HEADS, D_MODEL)
    assert "larger by 1000" in shift_changes_nothing(whole(mixed))
    assert find_mistakes(mixed, D_MODEL, HEADS)["comparison"].startswith("rotary pairs are mixed")


def test_shared_keys_in_turns_are_named() -> None:
    wrong = caches.KeysInTurns.make()(6, D_MODEL)
    assert find_mistakes(wrong, D_MODEL, 6) == {
        "comparison": "heads share keys in turns (`repeat` for `repeat_interleave`)"
    }


def pieces(attention: nn.Module, parts: list[Tensor]) -> Tensor:
    r"""The older exhibits read equal parts only, so each part is one position here."""
    return attention.decode(torch.cat(parts, dim=1), max(part.shape[1] for part in parts))


@pytest.mark.parametrize("exhibit", [CausalFromTheTop, NewestForgotten])
def test_older_exhibits_with_a_cache_are_found(exhibit: type) -> None:
    def said(kind: type) -> dict[str, str]:
        return find_mistakes(kind(HEADS, D_MODEL), D_MODEL, HEADS, read=pieces)

    assert said(RightDecoding) == {}
    assert "token by token" in said(exhibit.make())["cache_agrees"]


def test_several_at_once_are_told_apart() -> None:
    class Forgets(Counts):
        r"""Of several new tokens, each sees what was before the first of them only."""

        def forward(
            self, tokens: Tensor, use_cache: bool = False, state: Tensor | None = None
        ) -> Counts.Output:
            output = super().forward(tokens, use_cache, state)
            if state is not None and tokens.shape[1] > 1:
                output.logits = output.logits - super().forward(tokens).logits
            return output

    tokens = torch.randint(11, (3, 8))
    said = cache_agrees(Whole(Forgets(11, 11), tokens, tokens))
    assert said.startswith("with a cache and several new tokens, the logits at position 4")
    assert cache_agrees(Whole(Counts(11, 11), tokens, tokens)) == ""


def test_a_model_without_a_cache_has_nothing_to_agree_with() -> None:
    tokens = torch.randint(11, (3, 5))
    assert (
        read_by(Whole(nn.Embedding(11, 11), tokens, tokens), nn.Embedding(11, 11), [2, 3]) is None
    )
    assert cache_agrees(Whole(nn.Embedding(11, 11), tokens, tokens)) == ""
    assert shift_changes_nothing(Whole(nn.Embedding(11, 11), tokens, tokens)) == ""
