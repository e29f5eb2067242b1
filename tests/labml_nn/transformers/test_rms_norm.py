import pytest
import torch
from torch import nn

from labml_nn.transformers.rms_norm import RMSNorm, rms_norm


@pytest.mark.parametrize("eps", [1e-6, 0.1])
def test_it_is_that_of_pytorch_and_so_are_its_gradients(eps: float) -> None:
    ours, theirs = RMSNorm(5, eps).double(), nn.RMSNorm(5, eps).double()
    gain = torch.randn(5, dtype=torch.float64)
    x = torch.randn(7, 3, 5, dtype=torch.float64)
    results = []
    for module in (ours, theirs):
        next(module.parameters()).data.copy_(gain)
        given = x.clone().requires_grad_()
        result = module(given)
        result.pow(3).sum().backward()
        results.append((result, given.grad, next(module.parameters()).grad))
    for found, expected in zip(*results, strict=True):
        torch.testing.assert_close(found, expected, rtol=1e-10, atol=1e-10)


def test_the_length_is_the_root_of_the_width_and_the_direction_stays() -> None:
    x = torch.randn(7, 3, 5)
    y = rms_norm(x)
    torch.testing.assert_close(y.norm(dim=-1), torch.full((7, 3), 5**0.5), rtol=1e-4, atol=0)
    torch.testing.assert_close(torch.cosine_similarity(x, y, dim=-1), torch.ones(7, 3))


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize("scale", [1e-2, 1e4])
def test_squares_of_16_bit_numbers_neither_overflow_nor_vanish(
    dtype: torch.dtype, scale: float
) -> None:
    x = (scale * torch.ones(3, 8)).to(dtype)
    found = rms_norm(x)
    assert found.dtype is dtype
    torch.testing.assert_close(found, torch.ones(3, 8).to(dtype), rtol=0.01, atol=0)


def test_zeros_stay_zeros() -> None:
    assert rms_norm(torch.zeros(3, 5)).equal(torch.zeros(3, 5))
