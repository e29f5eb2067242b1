r"""The published leaks, each with the length of text that shows it."""

import pytest
import torch
from torch import Tensor, nn

from labml_nn.transformers.mistakes.published_leaks import ChunkMeans, Model, Waves, example
from wrongline import find_in_language_model


@pytest.mark.parametrize("mixing", [ChunkMeans(64), ChunkMeans(16), Waves()])
def test_the_default_call_finds_each_of_the_three(mixing: nn.Module) -> None:
    torch.manual_seed(1)
    tokens = torch.randint(11, (2, 12))
    found = find_in_language_model(Model(11, 8, mixing), tokens)
    assert "sees the future" in found["model_prefix"]
    assert list(found) == ["model_prefix"]


class ChunkBefore(ChunkMeans):
    r"""The mean of the chunk before, as a short memory should have it."""

    def forward(self, x: Tensor) -> Tensor:
        mean = super().forward(x) - x
        return x + torch.cat([torch.zeros_like(mean[:, : self.size]), mean[:, : -self.size]], dim=1)


def test_a_memory_of_the_chunk_before_is_right() -> None:
    torch.manual_seed(1)
    model = Model(11, 8, ChunkBefore(16))
    assert find_in_language_model(model, torch.randint(11, (2, 64))) == {}


def test_a_text_shorter_than_a_chunk_shows_nothing() -> None:
    every = [*range(12)]
    assert example() == {"a complete chunk": every, "a longer chunk": [], "waves": every}
