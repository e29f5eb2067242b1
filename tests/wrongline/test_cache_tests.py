from collections.abc import Callable
from dataclasses import replace

import pytest
import torch
from torch import Tensor, nn
from transformers import GPT2LMHeadModel

from labml_nn.transformers.mistakes import caches, position_mistakes
from labml_nn.transformers.mistakes.decoding import CausalFromTheTop, NewestForgotten, RightDecoding
from wrongline.attention_tests import find_mistakes
from wrongline.cache_tests import cache_agrees, shift_changes_nothing
from wrongline.read_parts import Counts, read_by, read_parts
from wrongline.tiny import tiny
from wrongline.verdicts import NotTried
from wrongline.whole import Whole

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


def reading(change: Callable[[list[Tensor]], Tensor], length: int = SEQ_LEN) -> Whole:
    r"""A model that says what it is given, and is to read parts so."""
    torch.manual_seed(1)
    x = torch.randn(BATCH_SIZE, length, D_MODEL)
    return Whole(
        nn.Identity(),
        x,
        x,
        predict=lambda model, x: model(x),
        read=lambda model, parts: change(parts),
    )


@pytest.mark.parametrize("length", [1, 2, 3])
def test_no_part_of_a_short_text_is_empty(length: int) -> None:
    def read(parts: list[Tensor]) -> Tensor:
        assert isinstance(parts, list)
        assert all(part.shape[1] for part in parts)
        return torch.cat(parts, dim=1)

    assert cache_agrees(reading(read, length)) == ""


def test_a_position_that_is_no_number_is_told() -> None:
    def read(parts: list[Tensor]) -> Tensor:
        whole = torch.cat(parts, dim=1)
        whole[1, 6] = torch.nan
        return whole

    assert cache_agrees(reading(read)) == (
        "token by token, the logits at position 6 are others than without a cache: look at the "
        "mask of a new token, at its position, and at whether it is in the cache itself"
    )


@pytest.mark.parametrize(("by_one", "passes"), [(2.9e-6, True), (3.05e-6, False)])
def test_a_shift_of_a_thousand_positions_may_change_three_thousandths(
    by_one: float, passes: bool
) -> None:
    shifts = []

    def shifted(model: nn.Module, x: Tensor, by: int) -> Tensor:
        shifts.append(by)
        return x * (1 + by_one * by)

    said = shift_changes_nothing(replace(reading(torch.cat), shifted=shifted))
    assert sorted(shifts) == [0, 1000]
    assert (said == "") == passes


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
    assert find_mistakes(mixed, HEADS, D_MODEL)["comparison"].startswith("rotary pairs are mixed")


def test_a_cache_and_positions_are_tried_if_one_says_how() -> None:
    options = {
        "read": lambda attention, parts: attention.read(parts) + 1,
        "shifted": lambda attention, x, by: attention(x) * (by + 1),
    }
    asked = {"read": "cache_agrees", "shifted": "shift_changes_nothing"}
    right = caches.RightCache(HEADS, D_MODEL)
    assert list(find_mistakes(right, HEADS, D_MODEL, **options)) == [*asked.values()]
    for way, test in asked.items():
        assert list(find_mistakes(right, HEADS, D_MODEL, **{way: options[way]})) == [test]


def test_shared_keys_in_turns_are_named() -> None:
    wrong = caches.KeysInTurns.make()(6, D_MODEL)
    assert find_mistakes(wrong, 6, D_MODEL) == {
        "comparison": "heads share keys in turns (`repeat` for `repeat_interleave`)"
    }


def pieces(attention: nn.Module, parts: list[Tensor]) -> Tensor:
    r"""The older exhibits read equal parts only, so each part is one position here."""
    return attention.decode(torch.cat(parts, dim=1), max(part.shape[1] for part in parts))


@pytest.mark.parametrize("exhibit", [CausalFromTheTop, NewestForgotten])
def test_older_exhibits_with_a_cache_are_found(exhibit: type) -> None:
    def said(kind: type) -> dict[str, str]:
        return find_mistakes(kind(HEADS, D_MODEL), HEADS, D_MODEL, read=pieces)

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


def test_a_cache_is_asked_for_and_goes_by_its_name_into_the_next_call() -> None:
    class Asked(Counts):
        r"""Gives its sums only if they are asked for, beside a cache that it doesn't have."""

        def forward(
            self, tokens: Tensor, use_cache: bool = False, state: Tensor | None = None
        ) -> Counts.Output:
            output = super().forward(tokens, use_cache, state)
            output.past_key_values = None
            output.state = output.state if use_cache else None
            return output

    tokens = torch.randint(11, (3, 5))
    model = Asked(11, 11)
    found = read_by(Whole(model, tokens, tokens), model, [2, 1, 2])
    torch.testing.assert_close(found, model.weight[tokens].cumsum(dim=1))


class Renamed(nn.Embedding):
    r"""Its result has one cache under two names, as in the transformers library since 5.24."""

    def read(self, tokens: Tensor, state: Tensor | None) -> Counts.Output:
        sums = super().forward(tokens).cumsum(dim=1)
        output = Counts.Output(sums if state is None else sums + state, None)
        output.cache = output.past_key_values = output.logits[:, -1:]
        return output


class TakesTheNewName(Renamed):
    def forward(
        self, tokens: Tensor, use_cache: bool = False, cache: Tensor | None = None
    ) -> Counts.Output:
        return self.read(tokens, cache)


class TakesTheOldName(Renamed):
    def forward(
        self, tokens: Tensor, use_cache: bool = False, past_key_values: Tensor | None = None
    ) -> Counts.Output:
        return self.read(tokens, past_key_values)


class TakesAnything(Renamed):
    r"""A model around another one, which passes on what it is given."""

    def forward(self, *args: Tensor, **options: object) -> Counts.Output:
        assert {*options} <= {"use_cache", "cache"}
        return self.read(*args, options.get("cache"))


@pytest.mark.parametrize("kind", [TakesTheNewName, TakesTheOldName, TakesAnything])
def test_of_two_names_for_one_cache_the_model_is_given_the_one_that_it_takes(kind: type) -> None:
    torch.manual_seed(1)
    tokens = torch.randint(11, (3, 5))
    model = kind(11, 11)
    found = read_by(Whole(model, tokens, tokens), model, [2, 1, 2])
    torch.testing.assert_close(found, model.weight[tokens].cumsum(dim=1))


def test_a_cache_of_the_transformers_library_is_found_in_any_of_its_releases() -> None:
    torch.manual_seed(1)
    tokens = torch.randint(3, 60, (3, 5))
    model = GPT2LMHeadModel(tiny(GPT2LMHeadModel.config_class)).eval()
    with torch.no_grad():
        found = read_by(Whole(model, tokens, tokens), model, [2, 1, 2])
        torch.testing.assert_close(found, model(tokens).logits)


def test_a_model_without_a_cache_has_nothing_to_agree_with() -> None:
    tokens = torch.randint(11, (3, 5))
    assert (
        read_by(Whole(nn.Embedding(11, 11), tokens, tokens), nn.Embedding(11, 11), [2, 3]) is None
    )
    for test in (cache_agrees, shift_changes_nothing):
        assert isinstance(test(Whole(nn.Embedding(11, 11), tokens, tokens)), NotTried)


def test_a_model_that_gives_no_cache_is_read_no_further() -> None:
    class GivesNone(nn.Embedding):
        r"""It takes the arguments that others have, and remembers nothing."""

        def forward(self, tokens: Tensor, use_cache: bool = False) -> Counts.Output:
            return Counts.Output(super().forward(tokens), None)

    assert read_parts(GivesNone(11, 11), [torch.randint(11, (3, 2))]) is None


class TwoNames(nn.Embedding):
    r"""One cache by two names. By the names in `spoilt`, it is kept upside down."""

    spoilt: tuple[str, ...] = ()

    def forward(
        self,
        tokens: Tensor,
        past_key_value: Tensor | None = None,
        cache: Tensor | None = None,
        **options: Tensor,
    ) -> Counts.Output:
        past = past_key_value if cache is None else cache
        sums = super().forward(tokens).cumsum(dim=1) + (0 if past is None else past)
        output = Counts.Output(sums, None)
        for name in ("past_key_value", "cache", "past_key_values"):
            setattr(output, name, -sums[:, -1:] if name in self.spoilt else sums[:, -1:])
        return output


def test_a_cache_is_read_by_each_of_its_names() -> None:
    torch.manual_seed(1)
    tokens = torch.randint(11, (3, 6))
    model = TwoNames(11, 11)
    # The last of the names goes in unread: nothing can be said about it.
    for spoilt in ((), ("past_key_values",)):
        model.spoilt = spoilt
        assert cache_agrees(Whole(model, tokens, tokens)) == ""
    for name in ("past_key_value", "cache"):
        model.spoilt = (name,)
        said = f"with its cache as `{name}`, token by token"
        assert cache_agrees(Whole(model, tokens, tokens)).startswith(said)
    # It goes in by one name, and comes back by another one.
    model.forward = lambda tokens, cache=None: TwoNames.forward(model, tokens, cache=cache)
    model.spoilt = ("cache",)
    assert cache_agrees(Whole(model, tokens, tokens)).startswith("token by token")


def test_a_cache_that_no_call_reads_is_none() -> None:
    class GivesAnother(nn.Embedding):
        def forward(self, tokens: Tensor, **options: Tensor) -> Counts.Output:
            output = Counts.Output(super().forward(tokens).cumsum(dim=1), None)
            output.past_key_value = output.logits[:, -1:]
            return output

    tokens = torch.randint(11, (3, 6))
    said = cache_agrees(Whole(GivesAnother(11, 11), tokens, tokens))
    assert isinstance(said, NotTried)
    assert "`past_key_value` changes nothing" in said
