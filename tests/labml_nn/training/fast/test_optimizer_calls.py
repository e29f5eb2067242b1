from collections.abc import Callable
from functools import partial
from inspect import signature

import torch

from labml_nn.training.fast.optimizer_calls import step_fused, step_in_a_loop, step_with_lists
from tests.labml_nn.transformers.seam import equals
from tests.oracles.compare import largest


def from_pytorch(step: Callable[..., None], rate: float) -> float:
    r"""How far a step is from the first one of PyTorch's optimizer."""
    torch.manual_seed(1)
    start = [torch.randn(5, 3, dtype=torch.float64), torch.randn(7, dtype=torch.float64)]
    # The first gradient of all is zero, where without `eps` zero would be divided by zero.
    gradients = [torch.arange(15.0).double().view(5, 3), torch.randn(7).double()]
    expected = [one.clone().requires_grad_() for one in start]
    for parameter, gradient in zip(expected, gradients, strict=True):
        parameter.grad = gradient
    torch.optim.AdamW(expected, rate, betas=(0.9, 0.99), weight_decay=0.0, foreach=False).step()
    moved = [one.clone() for one in start]
    # Of the usual rate nothing is said.
    given = {} if rate == 1e-3 else {"rate": rate}
    step(moved, gradients, **given)
    return largest(moved, [one.detach() for one in expected])


ORACLES = {
    f"torch.optim.AdamW, {way.__name__}, rate {rate:g}": partial(from_pytorch, way, rate)
    for rate in (1e-3, 0.01)
    for way in (step_in_a_loop, step_with_lists, step_fused)
}
test_each_way_is_the_first_step_of_pytorchs_optimizer = equals(ORACLES)


def test_what_is_usual_is_what_the_loop_takes() -> None:
    # In a first step the averages cancel, so no result shows these.
    for way in (step_in_a_loop, step_with_lists):
        usual = {name: one.default for name, one in signature(way).parameters.items()}
        assert (usual["beta1"], usual["beta2"]) == (0.9, 0.99)
