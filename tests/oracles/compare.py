r"""How far two ways of computing the same are apart, in outputs and in gradients."""

from collections.abc import Sequence

import torch
from torch import Tensor


def weighted_sum(output: Tensor) -> Tensor:
    r"""A sum in which every number of the output counts differently."""
    generator = torch.Generator().manual_seed(4)
    weights = torch.randn(output.shape, generator=generator, dtype=torch.float64)
    return (output * weights.to(output.dtype)).sum()


def gradients(output: Tensor, variables: Sequence[Tensor]) -> list[Tensor]:
    r"""The gradients of that sum."""
    return list(torch.autograd.grad(weighted_sum(output), variables))


def largest(mine: Sequence[Tensor], theirs: Sequence[Tensor]) -> float:
    r"""The largest absolute difference between two lists of tensors of the same shapes."""
    found = 0.0
    for one, other in zip(mine, theirs, strict=True):
        assert one.shape == other.shape, f"{list(one.shape)} is compared with {list(other.shape)}"
        assert one.dtype == other.dtype, f"{one.dtype} is compared with {other.dtype}"
        # NaN is further away than anything, and so are two different infinities.
        difference = (one - other).detach().double().abs().masked_fill(one == other, 0.0)
        found = max(found, difference.nan_to_num(nan=torch.inf).max().item() if one.numel() else 0)
    return found


def difference(
    mine: Tensor, theirs: Tensor, my_variables: Sequence[Tensor], their_variables: Sequence[Tensor]
) -> float:
    r"""The largest difference of two results, and of their gradients with respect to these."""
    return largest(
        [mine, *gradients(mine, my_variables)], [theirs, *gradients(theirs, their_variables)]
    )
