r"""Weights in eight bits, and the file that they are in."""

import torch
from safetensors.torch import save
from torch import nn
from torch.testing import assert_close

from labml_nn.training.trained import example, load, quantise, read, restore


def test_each_number_is_the_nearest_multiple_of_the_scale_of_its_row() -> None:
    weights = [[0.5, -0.25, 0.1, 0.0], [3.0, 12.7, -12.7, 0.06]]
    whole, scale = quantise(torch.tensor(weights))
    for row, numbers, unit in zip(weights, whole.tolist(), scale.tolist(), strict=True):
        assert max(map(abs, numbers)) == 127
        for weight, number in zip(row, numbers, strict=True):
            nearest = min(range(-127, 128), key=lambda n: abs(n * unit - weight))
            assert number == nearest
    assert whole.dtype == torch.int8
    assert scale.tolist() == [torch.tensor(0.5 / 127).item(), torch.tensor(0.1).item()]


def test_a_row_of_zeros_stays_zero() -> None:
    whole, scale = quantise(torch.zeros(3, 5))
    assert_close(restore(whole, scale), torch.zeros(3, 5), rtol=0, atol=0)


def test_a_file_is_read_as_its_makers_read_it() -> None:
    written = {
        "weight": torch.randn(3, 5),
        "whole": torch.randint(-127, 128, (7, 2), dtype=torch.int8),
        "mask": torch.rand(11) > 0.5,
        "numbers": torch.arange(13),
        "one": torch.tensor(2.5),
    }
    tensors = read(save(written, metadata={"format": "pt"}))
    assert tensors.keys() == written.keys()
    for name, tensor in written.items():
        assert_close(tensors[name], tensor, rtol=0, atol=0)


def test_a_model_is_loaded_from_matrices_with_scales_and_vectors_without() -> None:
    layer, other = nn.Linear(5, 3), nn.Linear(5, 3)
    whole, scale = quantise(layer.weight.detach())
    load(other, save({"weight": whole, "weight.scale": scale, "bias": layer.bias.detach()}))
    assert_close(other.weight, restore(whole, scale), rtol=0, atol=0)
    assert_close(other.bias, layer.bias, rtol=0, atol=0)


def test_the_small_rows_of_the_example_keep_their_small_errors() -> None:
    whole, scale, error = example()
    assert scale[0] > 100 * scale[1:].max()
    assert (error <= 0.5001 * scale).all()
    assert whole.abs().amax(dim=1).tolist() == [127] * 5
