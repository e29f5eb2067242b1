r"""Weights in eight bits, and their file."""

import torch
from torch.testing import assert_close

from labml_nn.training import trained
from page_runner.weights import from_file, quantise, to_file

TENSORS = {
    "matrix": torch.randn(80, 110, generator=torch.Generator().manual_seed(1)),
    "cube": torch.randn(2, 80, 60, generator=torch.Generator().manual_seed(2)),
    "small": torch.randn(80, 102, generator=torch.Generator().manual_seed(3)),
    "vector": torch.linspace(-1, 1, 13),
    "number": torch.tensor(0.3),
    "mask": torch.ones(5, 5, dtype=torch.bool).tril(),
    "zeros": torch.zeros(100, 100),
}


def test_a_file_has_all_tensors_again() -> None:
    found = from_file(to_file(quantise(TENSORS)))
    assert found.keys() == TENSORS.keys()
    for name, tensor in TENSORS.items():
        bound = 0.5001 / 127 * float(tensor.abs().amax()) if name in ("matrix", "cube") else 0
        assert_close(found[name], tensor, rtol=0, atol=bound)


def test_matrices_are_whole_numbers_as_in_the_lesson() -> None:
    found = quantise(TENSORS)
    whole, scale = trained.quantise(TENSORS["matrix"])
    assert_close(found["matrix"], whole, rtol=0, atol=0)
    assert_close(found["matrix.scale"], scale, rtol=0, atol=0)
    assert found["cube"].dtype == torch.int8 and found["cube.scale"].shape == (2, 80)
    assert {name for name in found if "scale" not in name} == TENSORS.keys()
