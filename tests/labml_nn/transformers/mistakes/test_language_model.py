from dataclasses import dataclass

import pytest
import torch
from torch import Tensor, nn
from transformers import GPT2LMHeadModel, RoFormerConfig, RoFormerForCausalLM

from labml_nn.transformers.mistakes.language_model import (
    check_language_model,
    find_in_language_model,
)
from labml_nn.transformers.mistakes.tiny import known_names, tiny

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
    said = find_in_language_model(nn.Linear(6, 6).double(), TOKENS.double())
    assert "say by `predict`" in said["model_prefix"]


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
    short = wrong(lambda z: z + z.roll(-1, 1) if 1 < z.shape[1] < 4 else z)["model_prefix"]
    assert short.startswith("in a text of 2 tokens, the last one changes")


def test_company_is_told_apart() -> None:
    assert "the others change" in wrong(lambda z: z + z.roll(1, 0))["each_sequence_alone"]
    place = torch.arange(3.0).view(-1, 1, 1)
    assert "another place" in wrong(lambda z: z + place[: len(z)])["each_sequence_alone"]
    assert "it is alone" in wrong(lambda z: z / len(z))["each_sequence_alone"]
    sums = wrong(lambda z: z.cumsum(0))["each_sequence_alone"]
    assert "wants the sequence first" in sums


def test_numbers_and_chance() -> None:
    assert set(wrong(lambda z: z / 0)) >= {"model_finite"}
    assert "model_twice" not in wrong(lambda z: z / 0)
    assert set(wrong(lambda z: z + torch.rand(1))) >= {"model_twice"}


def test_the_model_and_random_numbers_are_left_alone() -> None:
    table = nn.Embedding(N_VOCAB, N_VOCAB)
    before, state = table.weight.detach().clone(), torch.get_rng_state()
    find_in_language_model(table, TOKENS)
    assert table.weight.equal(before)
    assert torch.get_rng_state().equal(state)
    assert {"hidden_size", "num_attention_heads"} <= known_names(RoFormerConfig)
