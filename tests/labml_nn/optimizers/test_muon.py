import math

import pytest
import torch
from torch import Tensor, nn

from labml_nn.optimizers.muon import Muon, orthogonalize, singular_values

# Wide, tall, square, and a second wide one, so that something is stacked.
SHAPES = [(3, 11), (13, 5), (7, 7), (3, 11), (11, 3)]

# From the authors' page.
A, B, C = 3.4445, -4.7750, 2.0315


def parameters(dtype: torch.dtype = torch.float32) -> list[nn.Parameter]:
    generator = torch.Generator().manual_seed(1)
    return [nn.Parameter(torch.randn(shape, generator=generator).to(dtype)) for shape in SHAPES]


def gradients(step: int, dtype: torch.dtype = torch.float32) -> list[Tensor]:
    generator = torch.Generator().manual_seed(100 + step)
    return [torch.randn(shape, generator=generator).to(dtype) for shape in SHAPES]


def through_singular_values(gradient: Tensor, turns: int = 5) -> Tensor:
    r"""The iteration where it is defined: on each singular value."""
    u, values, v = torch.linalg.svd(gradient, full_matrices=False)
    values = values / values.norm()
    for _ in range(turns):
        values = A * values + B * values**3 + C * values**5
    return u @ torch.diag(values) @ v


def test_the_iteration_changes_singular_values_and_nothing_else() -> None:
    matrices = torch.randn(3, 5, 7, dtype=torch.float64)
    found = orthogonalize(matrices)
    for matrix, result in zip(matrices, found, strict=True):
        torch.testing.assert_close(result, through_singular_values(matrix), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("weight_decay", [0.0, 0.3])
def test_steps_are_those_of_the_formulas(weight_decay: float) -> None:
    ours, expected = parameters(torch.float64), parameters(torch.float64)
    optimizer = Muon(ours, 0.05, weight_decay, 0.9, torch.float64)
    means = [torch.zeros_like(p) for p in expected]
    for step in range(5):
        for index, gradient in enumerate(gradients(step, torch.float64)):
            ours[index].grad = gradient
            means[index] = 0.9 * means[index] + 0.1 * gradient
            ahead = 0.9 * means[index] + 0.1 * gradient
            rows, columns = gradient.shape
            length = 0.05 * math.sqrt(max(1, rows / columns))
            with torch.no_grad():
                expected[index] *= 1 - 0.05 * weight_decay
                expected[index] -= length * through_singular_values(ahead)
        optimizer.step()
    for found, right in zip(ours, expected, strict=True):
        torch.testing.assert_close(found, right, rtol=1e-8, atol=1e-8)


def test_with_more_digits_steps_are_those_of_pytorch(monkeypatch: pytest.MonkeyPatch) -> None:
    r"""PyTorch's goes to 16 bits by this method, which is kept from it here."""
    monkeypatch.setattr(Tensor, "bfloat16", Tensor.clone)
    ours, theirs = parameters(torch.float64), parameters(torch.float64)
    optimizers = [
        Muon(ours, 0.05, 0.1, 0.95, torch.float64),
        torch.optim.Muon(theirs, 0.05, 0.1, 0.95),
    ]
    for step in range(10):
        for made, group in zip(optimizers, (ours, theirs), strict=True):
            for parameter, gradient in zip(group, gradients(step, torch.float64), strict=True):
                parameter.grad = gradient.clone()
            made.step()
        for found, expected in zip(ours, theirs, strict=True):
            torch.testing.assert_close(found, expected, rtol=0, atol=1e-10)


def test_16_bits_are_nearly_as_good() -> None:
    ours, exact = parameters(), parameters()
    optimizers = [Muon(ours, 0.05), Muon(exact, 0.05, dtype=torch.float32)]
    for optimizer, group in zip(optimizers, (ours, exact), strict=True):
        for parameter, gradient in zip(group, gradients(1), strict=True):
            parameter.grad = gradient
        optimizer.step()
    for found, expected in zip(ours, exact, strict=True):
        assert found.dtype is torch.float32
        torch.testing.assert_close(found, expected, rtol=0, atol=0.05 / 8)


def test_singular_values_that_were_far_apart_are_near_one() -> None:
    torch.manual_seed(1)
    before, after = singular_values()
    assert before[0] / before[-1] == pytest.approx(100, rel=1e-3)
    assert 0.6 < after.min() and after.max() < 1.3


def test_a_gradient_of_zero_moves_nothing() -> None:
    matrix = nn.Parameter(torch.ones(3, 5))
    matrix.grad = torch.zeros(3, 5)
    Muon([matrix], weight_decay=0.0).step()
    assert matrix.equal(torch.ones(3, 5))


def test_what_has_no_gradient_stays() -> None:
    first, second = nn.Parameter(torch.ones(3, 5)), nn.Parameter(torch.ones(3, 5))
    first.grad = torch.randn(3, 5)
    Muon([first, second]).step()
    assert second.equal(torch.ones(3, 5))
    assert not first.equal(torch.ones(3, 5))


@pytest.mark.parametrize("shape", [[7], [2, 3, 5]])
def test_what_is_no_matrix_is_refused(shape: list[int]) -> None:
    with pytest.raises(ValueError, match="not a matrix: .*; give it to AdamW"):
        Muon([nn.Parameter(torch.ones(shape))])


def test_state_goes_into_a_new_optimizer_and_on() -> None:
    straight, stopped = parameters(), parameters()
    first, second = Muon(straight), Muon(stopped)
    for step in range(4):
        for group in (straight, stopped):
            for parameter, gradient in zip(group, gradients(step), strict=True):
                parameter.grad = gradient
        first.step()
        second.step()
        state = second.state_dict()
        second = Muon(stopped)
        second.load_state_dict(state)
    for found, expected in zip(stopped, straight, strict=True):
        assert found.equal(expected)
