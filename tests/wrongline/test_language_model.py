import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from transformers import GPT2LMHeadModel, RoFormerConfig, RoFormerForCausalLM

from wrongline.language_model import (
    check_language_model,
    check_training_step,
    find_in_language_model,
)
from wrongline.model_tests import each_sequence_alone
from wrongline.read_parts import Counts
from wrongline.tiny import known_names, tiny
from wrongline.whole import Whole, logits_of

N_VOCAB = 11
TOKENS = torch.tensor([[1, 5, 2, 9, 10, 3], [4, 6, 7, 8, 0, 5], [2, 3, 1, 10, 8, 7]])


class Table(nn.Embedding):
    r"""A right model: what follows what. It is called as nanoGPT is."""

    def __init__(self) -> None:
        super().__init__(N_VOCAB, N_VOCAB)

    def forward(self, tokens: Tensor, targets: Tensor | None = None) -> tuple[Tensor, None]:
        logits = super().forward(tokens)
        return (logits if targets is not None else logits[:, -1:]), None


@dataclass
class Fields:
    r"""A result with fields."""

    logits: Tensor


def test_logits_are_found_in_four_kinds_of_results() -> None:
    torch.manual_seed(1)
    check_language_model(Table(), TOKENS)
    table = nn.Embedding(N_VOCAB, N_VOCAB)
    check_language_model(table, TOKENS)

    class InFields(nn.Embedding):
        def forward(self, tokens: Tensor) -> Fields:
            return Fields(super().forward(tokens))

    class InDictionary(nn.Embedding):
        def forward(self, tokens: Tensor) -> dict[str, Tensor]:
            return {"logits": super().forward(tokens)}

    check_language_model(InFields(N_VOCAB, N_VOCAB), TOKENS)
    check_language_model(InDictionary(N_VOCAB, N_VOCAB), TOKENS)


# What a model may give in place of `[3, 6, 11]`, and how it is told.
OTHERS = {
    "[6, 3, 11]": lambda z: z.transpose(0, 1),
    "[3, 6]": lambda z: z[..., 0],
    "[]": lambda z: z.sum(),
    "NoneType": lambda z: None,
}


@pytest.mark.parametrize("given", OTHERS)
def test_other_results_are_told(given: str) -> None:
    model = nn.Embedding(N_VOCAB, N_VOCAB)
    call = lambda tokens: OTHERS[given](nn.Embedding.forward(model, tokens))  # noqa: E731
    model.forward = call
    with pytest.raises(ValueError, match=re.escape(f"are {given}, not [3, 6, n_vocab]: say by")):
        logits_of(model, TOKENS)


def test_a_model_of_the_transformers_library_goes_in_as_it_is() -> None:
    torch.manual_seed(1)
    tokens = torch.randint(3, 60, (3, 8))
    check_language_model(GPT2LMHeadModel(tiny(GPT2LMHeadModel.config_class)), tokens)
    # What RoFormer was from 5.9.0 to 5.12.0: a decoder with the mask of an encoder.
    seeing = RoFormerForCausalLM(tiny(RoFormerConfig))
    check_language_model(seeing, tokens)
    with pytest.raises(AssertionError, match="the model sees the future"):
        check_language_model(
            seeing,
            tokens,
            predict=lambda model, x: (
                model(
                    x,
                    attention_mask=torch.ones(3, 1, 8, 8)[: len(x), :, : x.shape[1], : x.shape[1]],
                ).logits
            ),
        )


def wrong(change: object) -> dict[str, str]:
    torch.manual_seed(1)
    table = nn.Embedding(N_VOCAB, N_VOCAB)
    return find_in_language_model(table, TOKENS, predict=lambda model, x: change(model(x)))


def test_the_future_and_the_length_are_told_apart_in_all_rows() -> None:
    assert "sequence 0 at position 0" in wrong(lambda z: z + z.roll(-1, 1))["model_prefix"]
    last = torch.tensor([0.0, 0.0, 1.0]).view(3, 1, 1)
    leak = wrong(lambda z: z + last[-len(z) :] * z.roll(-1, 1))
    assert "sequence 2 at position 0" in leak["model_prefix"]
    assert (
        "depend on the length of the text (1 tokens or 6)"
        in wrong(lambda z: z / z.shape[1])["model_prefix"]
    )
    for n in (2, 3):
        short = wrong(lambda z, n=n: z + z.roll(-1, 1) if n <= z.shape[1] < 4 else z)
        assert short["model_prefix"].startswith(f"in a text of {n} tokens, the last one changes")


def test_each_place_and_each_length_is_tried() -> None:
    # The last token changes the one before it, in the whole text alone.
    last = torch.tensor([0.0, 0.0, 0.0, 0.0, 1.0, 0.0]).view(6, 1)
    leak = wrong(lambda z: z + last * z.roll(-1, 1) if z.shape[1] == 6 else z)["model_prefix"]
    assert "sequence 0 at position 4 change when the tokens from position 5 on" in leak
    for n in (3, 5):
        said = wrong(lambda z, n=n: z * 2 if z.shape[1] == n else z)["model_prefix"]
        assert f"depend on the length of the text ({n} tokens or 6)" in said


def test_company_is_told_apart() -> None:
    assert "the others change" in wrong(lambda z: z + z.roll(1, 0))["each_sequence_alone"]
    place = torch.arange(3.0).view(-1, 1, 1)
    assert "another place" in wrong(lambda z: z + place[: len(z)])["each_sequence_alone"]
    assert "it is alone" in wrong(lambda z: z / len(z))["each_sequence_alone"]
    sums = wrong(lambda z: z.cumsum(0))["each_sequence_alone"]
    assert "wants the sequence first" in sums


def test_the_last_sequence_is_looked_at_too_and_no_text_is_longer_or_shorter() -> None:
    def said(predict: Callable[[Tensor, Tensor], Tensor]) -> str:
        def call(model: nn.Module, tokens: Tensor) -> Tensor:
            assert tokens.shape[1] == 6
            return predict(model(tokens), tokens)

        torch.manual_seed(1)
        table = nn.Embedding(N_VOCAB, N_VOCAB)
        return each_sequence_alone(Whole(table, TOKENS, TOKENS, predict=call))

    last = torch.tensor([0.0, 0.0, 1.0]).view(3, 1, 1)
    # It needs its own past, so the sequence isn't first.
    mixed = said(lambda z, x: (z + last[-len(z) :] * z.roll(1, 0)).cumsum(1))
    assert mixed.startswith("sequence 2 of 3 gets other logits when the others change: ")
    assert "wants the sequence first" in said(lambda z, x: z.cumsum(0))
    # Alone, the last of them is another.
    alone = said(lambda z, x: z * 2 if len(z) == 1 and x.equal(TOKENS[2:]) else z)
    assert alone.startswith("sequence 2 of 3 gets other logits when it is alone")


def test_texts_of_one_token_pass_and_of_one_kind_of_token_are_too_little() -> None:
    torch.manual_seed(1)
    check_language_model(Counts(N_VOCAB, N_VOCAB), TOKENS[:, :1])
    found = find_in_language_model(nn.Embedding(N_VOCAB, N_VOCAB), TOKENS[:, :1].expand(-1, 3) * 0)
    assert list(found) == ["model_prefix"]
    assert "all tokens are the same" in found["model_prefix"]


def test_numbers_and_chance() -> None:
    none = torch.zeros(3, 6, 11)
    none[1, 2, 3] = float("nan")
    for spoil in (lambda z: z / 0, lambda z: z + none[: len(z), : z.shape[1]]):
        found = wrong(spoil)
        assert "model_finite" in found
        assert "model_twice" not in found
    assert set(wrong(lambda z: z + torch.rand(1))) >= {"model_twice"}


def test_an_error_is_told_once_and_all_other_tests_are_not_tried() -> None:
    found = wrong(lambda z: {}["z"])
    assert list(found) == ["runs"]
    assert found["runs"].startswith("KeyError: 'z' (test_language_model.py, line ")
    assert {one.kind for one in found.verdicts} == {"error", "not tried"}
    assert found.status() == 2


def test_the_same_numbers_are_drawn_whatever_the_callers_are() -> None:
    drawn: list[float] = []

    def predict(model: nn.Module, tokens: Tensor) -> Tensor:
        drawn.append(torch.rand(1).item())
        return nn.Embedding.forward(model, tokens)

    def check(table: nn.Module, seed: int) -> tuple[list[float], list[float]]:
        torch.manual_seed(seed)
        drawn.clear()
        find_in_language_model(table, TOKENS, predict=predict)
        first = drawn.copy()
        drawn.clear()
        # A single step is not enough.
        with pytest.raises(AssertionError, match=r"1 of the tests fail:\n\* wrong: learns: "):
            check_training_step(table, TOKENS[:, :-1], TOKENS[:, 1:], predict=predict, n_steps=1)
        assert torch.initial_seed() == seed
        return first, drawn.copy()

    table = nn.Embedding(N_VOCAB, N_VOCAB)
    assert check(table, 3) == check(table, 5)


def test_the_model_and_random_numbers_are_left_alone() -> None:
    table = nn.Embedding(N_VOCAB, N_VOCAB)
    before, state = table.weight.detach().clone(), torch.get_rng_state()
    find_in_language_model(table, TOKENS)
    assert table.weight.equal(before)
    assert torch.get_rng_state().equal(state)
    assert {"hidden_size", "num_attention_heads"} <= known_names(RoFormerConfig)


def test_a_batch_goes_where_the_weights_are() -> None:
    there = nn.Embedding(N_VOCAB, N_VOCAB, device="meta")
    seen: list[str] = []

    def predict(model: nn.Module, tokens: Tensor) -> Tensor:
        seen.append(tokens.device.type)
        return model(tokens)

    # Without numbers nothing can be compared.
    assert "meta tensors" in find_in_language_model(there, TOKENS, predict=predict)["runs"]
    assert set(seen) == {"meta"}

    def make_step(model: nn.Module) -> Callable[[Tensor, Tensor], None]:
        return lambda *batch: seen.extend(one.device.type for one in batch)

    seen.clear()
    with pytest.raises(AssertionError, match="learns: "):
        check_training_step(there, TOKENS[:, :-1], TOKENS[:, 1:], make_step=make_step)
    assert seen.count("meta") == len(seen) > 1


@pytest.mark.parametrize("tokens", ["hello", TOKENS[0], TOKENS.float()])
def test_tokens_that_are_no_texts_in_rows_are_refused(tokens: Any) -> None:
    with pytest.raises(ValueError, match=r"^`tokens` must be whole numbers, a text in each row"):
        check_language_model(Table(), tokens)
