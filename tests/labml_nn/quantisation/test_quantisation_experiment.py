r"""The bytes of a model are those of what is saved."""

import torch
from torch import nn

from labml_nn.quantisation import quantisation_experiment as page
from labml_nn.quantisation.groups import to_four_bits
from labml_nn.quantisation.quantisation_experiment import n_bytes


def test_weights_whole_numbers_and_scales_are_counted() -> None:
    model = nn.Sequential(nn.Embedding(3, 64), nn.Linear(64, 11))
    assert n_bytes(model) == 4 * (3 * 64 + 64 * 11 + 11)
    to_four_bits(model)
    assert n_bytes(model) == 4 * 3 * 64 + 64 * 11 // 2 + 2 * 2 * 11 + 4 * 11


def test_buffers_that_are_not_saved_are_not_counted() -> None:
    model = nn.Linear(3, 5)
    model.register_buffer("mask", torch.ones(7), persistent=False)
    assert n_bytes(model) == page.example()[0] == 80
