r"""A model that reads single tokens, at a position that it is told, and refuses a text."""

from typing import Any

import pytest
import torch
from torch import Tensor, nn

from tests.wrongline.others import N_VOCAB, WIDTH, Mixing, Small, texts
from wrongline import find_in_language_model
from wrongline.single_token_tests import UNSEEN
from wrongline.whole import texts_for


class Single(nn.Module):
    r"""Keys of a text lie in a table of the module; a `mistake` is planted by its name."""

    mistake = ""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(2)
        self.tokens, self.head = nn.Embedding(N_VOCAB, WIDTH), nn.Linear(WIDTH, N_VOCAB)
        self.mixing, self.cache = Mixing(), torch.zeros(4, 24, WIDTH)
        self.cos = torch.randn(24, WIDTH).cos()

    def forward(self, tokens: Tensor, start_pos: int) -> Tensor:
        rows, length = tokens.shape
        if length != 1:
            raise ValueError("one token at a time")
        at = 0 if self.mistake == "position" else start_pos
        x = self.tokens(tokens) * self.cos[at : at + 1]
        slot = 0 if self.mistake == "slot" else start_pos
        self.cache[:rows, slot : slot + 1] = x
        end = slot + (3 if self.mistake == "mask" else 1)
        x = x + self.mixing(self.cache[:rows, :end], new=1)
        x = x + x.mean(0, keepdim=True) if self.mistake == "batch" else x
        return self.head(x)


def test_a_model_that_reads_single_tokens_is_tried_token_by_token() -> None:
    model = Single()
    found = find_in_language_model(model, texts())
    assert found == {} and "; a token at a time" in found.tried_on
    assert [one.sentence for one in found.verdicts if one.test == "cache_agrees"] == [UNSEEN]
    # Gradients come through what is written in place, and the cache is as it was.
    assert [one.kind for one in found.verdicts if one.test == "every_weight_is_used"] == ["right"]
    assert not model.cache.any() and texts_for(model).shape == (3, 12)


@pytest.mark.parametrize(
    "mistake, test, said",
    [
        ("position", "cache_agrees", "the same row of `cos` is read for each token"),
        ("slot", "cache_agrees", "what was read before changes nothing"),
        ("mask", "cache_agrees", "it sees what the other one has left in the cache"),
        ("batch", "each_sequence_alone", "the sequences of a batch are mixed"),
    ],
)
def test_its_mistakes_are_found_without_a_whole_text(mistake: str, test: str, said: str) -> None:
    model = Single()
    model.mistake = mistake
    assert said in find_in_language_model(model, texts())[test]


class Fails(Small):
    r"""A text fails, since a shape is wrong: that is no refusal."""

    def forward(self, tokens: Tensor, start_pos: Any = 0) -> Tensor:
        return super().forward(tokens) + torch.zeros(1, 2, 1)[:, : tokens.shape[1]]


def test_an_error_of_another_kind_is_told_as_it_is() -> None:
    assert "RuntimeError: The size of tensor a" in find_in_language_model(Fails(), texts())["runs"]
