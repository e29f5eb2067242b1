from collections.abc import Callable
from functools import partial

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from labml_nn.basics.autograd import Variable, cross_entropy
from labml_nn.basics.autograd_experiment import CONTEXT, parameters, predict, update
from tests.labml_nn.transformers.seam import equals
from tests.oracles.compare import largest

ROWS = torch.tensor([2, 0, 2, 4, 4, 2, 1])


def logits(a: Tensor | Variable, b: Tensor | Variable, c: Tensor | Variable, sums: dict) -> Tensor:
    r"""Every operation, some results used twice, a bias, and a column that broadcasts."""
    rows = a[ROWS].tanh()
    x = rows @ b + c
    x = x * x + (rows * rows).sum(**sums) * c
    return (x.exp() + x * x).log() * x


def cross_entropy_of_pytorch(x: Tensor) -> Tensor:
    return F.cross_entropy(x, ROWS[: len(x)] % 3)


LOSSES: dict[str, tuple[Callable[[Variable], Variable], Callable[[Tensor], Tensor]]] = {
    "a sum over both axes": (lambda x: x.sum(dim=1).sum(dim=0), torch.sum),
    "the cross entropy": (lambda x: cross_entropy(x, ROWS % 3), cross_entropy_of_pytorch),
}


def drawn() -> list[Tensor]:
    torch.manual_seed(1)
    return [torch.randn(size, dtype=torch.double) for size in ((5, 2), (2, 3), (3,))]


def from_pytorch(name: str) -> float:
    r"""How far a loss and its derivatives are from PyTorch's."""
    ours, theirs = LOSSES[name]
    wanted = [one.requires_grad_() for one in drawn()]
    loss = theirs(logits(*wanted, {"dim": 1, "keepdim": True}))
    expected = torch.autograd.grad(loss, wanted)
    found = [Variable(one) for one in drawn()]
    result = ours(logits(*found, {"dim": 1}))
    result.backward()
    mine = [result.value.squeeze(), *(one.grad for one in found)]
    return largest(mine, [loss.detach(), *expected])


ORACLES = {f"PyTorch, {name}": partial(from_pytorch, name) for name in LOSSES}
test_losses_and_derivatives_are_those_of_pytorch = equals(ORACLES)


def test_a_result_that_is_used_twice_passes_on_all_of_its_derivative() -> None:
    x, y, b = (Variable(torch.tensor(value)) for value in (0.5, 1.5, 3.0))
    a = x + y
    (a * b + a).backward()
    assert (a.grad, x.grad, y.grad) == (4, 4, 4)
    # A second call adds to what is there.
    (a * b).backward()
    assert x.grad == 4 + 4 + 3


@pytest.mark.parametrize(("value", "derivative", "after_two"), [(3.0, 4, 11), (-0.6, 0.4, 0.2)])
def test_a_second_call_on_the_same_loss_counts_the_path_through_the_product_three_times(
    value: float, derivative: float, after_two: float
) -> None:
    a, b = Variable(torch.tensor(2.0)), Variable(torch.tensor(value))
    loss = a * b + a
    loss.backward()
    assert a.grad == pytest.approx(derivative)
    loss.backward()
    assert a.grad == pytest.approx(after_two)


def test_large_logits_do_not_overflow() -> None:
    loss = cross_entropy(Variable(torch.tensor([[1000.0, 0.0]])), torch.tensor([1]))
    assert loss.value == 1000


def test_the_network_of_the_notebook_is_that_of_pytorch_and_a_step_lowers_its_loss() -> None:
    weights = parameters(11, 1, d_model=2, d_ff=7)
    table, first, first_bias, second, second_bias = (one.value for one in weights)
    contexts = torch.randint(11, (5, CONTEXT))
    hidden = table[contexts].flatten(1) @ first.flatten(0, 1) + first_bias
    expected = hidden.tanh() @ second + second_bias
    assert largest([predict(weights, contexts).value], [expected]) < 1e-5
    before, after = (update(weights, contexts, contexts[:, 0], 0.1) for _ in range(2))
    assert after.value < before.value
