from functools import partial
from unittest.mock import patch

import pytest
import torch
from torch import Tensor, nn

from labml_nn.optimizers.muon import Muon, orthogonalize, singular_values
from tests.labml_nn.optimizers.steps import apart, draw, goes_on_with_its_state, step
from tests.labml_nn.transformers.seam import equals
from tests.oracles.compare import largest

# Wide, tall, square, and a second wide one, so that something is stacked.
SHAPES = [(3, 11), (13, 5), (7, 7), (3, 11), (11, 3)]


def from_pytorch(weight_decay: float, momentum: float) -> float:
    r"""How far the steps are from PyTorch's, both with all digits."""
    settings = (0.05, weight_decay, momentum)
    ours = partial(Muon, dtype=torch.float64)
    both = (lambda p, make=make: make(p, *settings) for make in (ours, torch.optim.Muon))
    # PyTorch's goes to 16 bits by this method, which is kept from it here.
    with patch.object(Tensor, "bfloat16", Tensor.clone):
        return apart(SHAPES, *both, 10)


ORACLES = {"torch.optim.Muon": lambda: max(from_pytorch(0.0, 0.9), from_pytorch(0.3, 0.95))}
test_with_more_digits_steps_are_those_of_pytorch = equals(ORACLES)


def test_what_is_usual() -> None:
    usual = Muon(draw(SHAPES, 1)).defaults
    assert (usual["lr"], usual["weight_decay"], usual["momentum"]) == (0.02, 0.1, 0.95)


def test_16_bits_are_nearly_as_good() -> None:
    ours, exact = (draw(SHAPES, 1, torch.float32) for _ in range(2))
    for optimizer in (Muon(ours, 0.05), Muon(exact, 0.05, dtype=torch.float32)):
        step(optimizer, draw(SHAPES, 101, torch.float32))
    assert {p.dtype for p in ours} == {torch.float32}
    assert 0 < largest(ours, exact) < 0.05 / 8


def test_singular_values_that_were_far_apart_are_near_one() -> None:
    torch.manual_seed(1)
    before, after = singular_values()
    assert len(before) == len(after) == 16
    assert before[0] / before[-1] == pytest.approx(100, rel=1e-3)
    assert 0.6 < after.min() and after.max() < 1.3


def test_of_a_vector_only_the_length_changes() -> None:
    for shape in ([1, 1, 7], [1, 7, 1]):
        row = torch.randn(shape, dtype=torch.float64)
        torch.testing.assert_close(orthogonalize(row), 0.6964 * row / row.norm(), rtol=1e-4, atol=0)


@pytest.mark.parametrize(("tall", "change"), [(1, 1.0), (4, 0.5)])
def test_the_longer_step_changes_features_of_a_tall_matrix_as_much(
    tall: int, change: float
) -> None:
    weight = nn.Parameter(torch.zeros(32 * tall, 32, dtype=torch.float64))
    weight.grad = torch.randn_like(weight)
    x = torch.randn(1000, 32, dtype=torch.float64)
    plain = orthogonalize(weight.grad[None])[0]
    assert (x @ plain.T).square().mean().sqrt().item() == pytest.approx(change, rel=0.2)
    Muon([weight], lr=1.0, momentum=0.0, dtype=torch.float64).step()
    assert (x @ weight.T).square().mean().sqrt().item() == pytest.approx(1, rel=0.2)


def test_a_gradient_of_zero_moves_nothing_and_what_has_none_stays() -> None:
    first, second, third = (nn.Parameter(torch.ones(3, 5)) for _ in range(3))
    first.grad, second.grad = torch.randn(3, 5), torch.zeros(3, 5)
    Muon([first, second, third], weight_decay=0.0).step()
    assert [one.equal(torch.ones(3, 5)) for one in (first, second, third)] == [False, True, True]


@pytest.mark.parametrize("shape", [[7], [2, 3, 5]])
def test_what_is_no_matrix_is_refused(shape: list[int]) -> None:
    with pytest.raises(ValueError, match="not a matrix: .*; give it to AdamW"):
        Muon([nn.Parameter(torch.ones(shape))])


def test_state_goes_into_a_new_optimizer_and_on() -> None:
    goes_on_with_its_state(Muon, SHAPES)
