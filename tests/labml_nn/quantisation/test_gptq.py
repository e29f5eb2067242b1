r"""GPTQ rounds as the step of the paper does when each correction is solved for anew."""

import copy
from functools import partial

import pytest
import torch
from torch import Tensor, nn

from labml_nn.quantisation.gptq import gptq, gptq_weights, inputs_of
from labml_nn.quantisation.groups import restore
from tests.labml_nn.transformers.seam import equals
from tests.oracles.compare import largest


def inputs(n_inputs: int, d_in: int) -> Tensor:
    r"""Some that go together."""
    return torch.randn(n_inputs, 3) @ torch.randn(3, d_in) + 0.1 * torch.randn(n_inputs, d_in)


def solved(weights: Tensor, h: Tensor, n_bits: int, group_len: int) -> Tensor:
    r"""
    After each column, the best columns to its right: those with which the derivative of the error
    of *all* columns so far is zero.
    """
    done, n = torch.empty_like(weights), weights.shape[1]
    left, most = weights, 2 ** (n_bits - 1) - 1
    for j in range(n):
        if j % group_len == 0:
            scale = (left[:, :group_len].abs().amax(1) / most).bfloat16()
        done[:, j] = (left[:, 0] / scale).round().clamp(-most, most) * scale
        k = j + 1
        errors = (weights[:, :k] - done[:, :k]) @ h[:k, k:]
        left = weights[:, k:] + torch.linalg.solve(h[k:, k:], errors, left=False)
    return done


def from_least_squares(n_bits: int, group_len: int) -> float:
    r"""How far the rounded weights are from those with corrections that are solved for anew."""
    torch.manual_seed(1)
    weights, x = torch.randn(11, 35).double(), inputs(53, 35).double()
    h = x.t() @ x
    damped = h + 0.02 * h.diagonal().mean() * torch.eye(35)
    whole, scale = gptq(weights, h, n_bits, group_len, damping=0.02)
    assert (whole.dtype, scale.shape) == (torch.int8, (11, 35 // group_len))
    own = whole.view(11, -1, group_len) * scale.double()[:, :, None]
    return largest([own.flatten(1)], [solved(weights, damped, n_bits, group_len)])


ORACLES = {
    f"least squares, {n_bits} bits in groups of {group_len}": partial(
        from_least_squares, n_bits, group_len
    )
    for n_bits, group_len in ((2, 5), (3, 35), (4, 7))
}
test_each_step_is_the_solution_of_least_squares = equals(ORACLES)


def test_an_input_that_is_always_zero_is_no_problem() -> None:
    x = inputs(53, 7)
    x[:, 3] = 0
    whole, _ = gptq(torch.randn(5, 7), x.t() @ x, 4, 7)
    assert whole.abs().max() == 7
    # What is added to the diagonal, if nothing else is said.
    weights, products = torch.randn(211, 7), x.t() @ x
    for one, other in zip(
        gptq(weights, products, 4, 7), gptq(weights, products, 4, 7, 0.01), strict=True
    ):
        assert torch.equal(one, other)
    assert not torch.equal(*(gptq(weights, products, 4, 7, share)[0] for share in (0.01, 0.02)))


def test_calibration_sees_all_that_a_layer_gets_and_leaves_no_hook() -> None:
    layer = nn.Linear(3, 3)
    model = nn.Sequential(layer, layer)
    x = torch.randn(7, 2, 3)
    seen = inputs_of(layer, model, x)
    assert torch.equal(seen, torch.cat([x.flatten(0, 1), layer(x).flatten(0, 1)]))
    assert not layer._forward_hooks


@pytest.mark.parametrize("group", [{}, {"group_len": 0}, {"group_len": 2}])
def test_layers_see_what_the_rounded_layers_before_them_give(group: dict[str, int]) -> None:
    torch.manual_seed(1)
    model = nn.Sequential(nn.Sequential(nn.Linear(6, 14), nn.ReLU()), nn.Linear(14, 4))
    x, before = inputs(53, 6), copy.deepcopy(model)
    gptq_weights(model, x, 2, **group)
    length = group.get("group_len") or 0
    first = restore(*gptq(before[0][0].weight.detach(), x.t() @ x, 2, length or 6))
    assert torch.equal(model[0][0].weight, first)
    hidden = model[0](x).detach()
    last = gptq(before[1].weight.detach(), hidden.t() @ hidden, 2, length or 14)
    assert torch.equal(model[1].weight, restore(*last))
