r"""Models that want the sequence first, and models that mix the two axes."""

import pytest
import torch
from torch import Tensor, nn

from tests.wrongline.others import N_VOCAB, WIDTH, texts
from wrongline import find_in_language_model


class Tutorial(nn.Module):
    r"""As PyTorch's tutorial has it; a `mistake` is planted by its name."""

    def __init__(self, mistake: str = "") -> None:
        super().__init__()
        torch.manual_seed(4)
        self.tokens, self.head = nn.Embedding(N_VOCAB, WIDTH), nn.Linear(WIDTH, N_VOCAB)
        self.places = nn.Embedding(64, WIDTH)
        self.layer = nn.TransformerEncoderLayer(WIDTH, 2, 20)
        self.mistake = mistake

    def forward(self, src: Tensor) -> Tensor:
        length, rows = src.shape
        places = self.places(torch.arange(length)).unsqueeze(1)
        if self.mistake == "positions along the batch":
            places = self.places(torch.arange(rows))
        mask = nn.Transformer.generate_square_subsequent_mask(length)
        mask = mask.mT if self.mistake == "mask upside down" else mask
        return self.head(self.layer(self.tokens(src) + places, mask))


def test_a_model_that_wants_the_sequence_first_is_called_so() -> None:
    found = find_in_language_model(Tutorial(), texts())
    assert found == {} and found.tried_on.endswith("on 2 of 64; the sequence first")
    assert "it wants the sequence first" in found.unusual["each_sequence_alone"]


@pytest.mark.parametrize(
    "mistake, test, said",
    [
        ("mask upside down", "model_prefix", "the model sees the future"),
        ("positions along the batch", "each_sequence_alone", "a sequence is read across"),
    ],
)
def test_its_mistakes_are_found_in_that_layout(mistake: str, test: str, said: str) -> None:
    assert said in find_in_language_model(Tutorial(mistake), texts())[test]


class Recurrent(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.tokens, self.head = nn.Embedding(N_VOCAB, WIDTH), nn.Linear(WIDTH, N_VOCAB)
        self.rnn = nn.GRU(WIDTH, WIDTH)

    def forward(self, tokens: Tensor) -> Tensor:
        return self.head(self.rnn(self.tokens(tokens))[0])


def test_a_recurrent_layer_whose_author_forgot_the_layout_is_wrong() -> None:
    said = find_in_language_model(Recurrent(), texts())["each_sequence_alone"]
    assert said.startswith(
        "a sequence is read across the batch: the model wants the sequence first"
    )
