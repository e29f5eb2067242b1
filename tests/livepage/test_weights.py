r"""Weights in eight bits, and their file."""

import torch
from torch.testing import assert_close

from labml_nn.training import trained
from livepage.weights import from_file, quantise, to_file

TENSORS = {
    "matrix": torch.randn(7, 11, generator=torch.Generator().manual_seed(1)),
    "cube": torch.randn(2, 3, 5, generator=torch.Generator().manual_seed(2)),
    "vector": torch.linspace(-1, 1, 13),
    "number": torch.tensor(0.3),
    "mask": torch.ones(5, 5, dtype=torch.bool).tril(),
    "zeros": torch.zeros(3, 2),
}


def test_matrices_are_whole_numbers_with_a_scale_for_each_row() -> None:
    found = quantise(TENSORS)
    assert found["matrix"].dtype == found["cube"].dtype == torch.int8
    assert found["matrix.scale"].shape == (7,) and found["cube.scale"].shape == (2, 3)
    assert {name for name in found if "scale" not in name} == TENSORS.keys()


def test_a_file_has_all_tensors_again() -> None:
    found = from_file(to_file(quantise(TENSORS)))
    assert found.keys() == TENSORS.keys()
    for name, tensor in TENSORS.items():
        bound = 0.5001 / 127 * float(tensor.abs().amax()) if name in ("matrix", "cube") else 0
        assert_close(found[name], tensor, rtol=0, atol=bound)


def test_the_lesson_says_the_same() -> None:
    whole, scale = trained.quantise(TENSORS["matrix"])
    found = quantise(TENSORS)
    assert_close(found["matrix"], whole, rtol=0, atol=0)
    assert_close(found["matrix.scale"], scale, rtol=0, atol=0)
