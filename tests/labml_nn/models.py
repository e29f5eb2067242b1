r"""What models of any page must do."""

from collections.abc import Callable

import torch
from torch import Tensor, nn


def sees_only_the_past(
    run: Callable[[Tensor], Tensor], given: Tensor, change: Callable[[Tensor], Tensor]
) -> None:
    r"""What stands elsewhere moves its own output, no earlier one, and none of another sequence."""
    before = run(given)
    for position in range(len(given)):
        other = given.clone()
        other[position, 1] = change(other[position, 1])
        apart = (run(other) - before).abs().amax(dim=2)
        assert apart[position, 1] > 1e-6
        assert not (apart[:position] > 1e-12).any()
        assert apart[:, [0, 2]].max() < 1e-12


def drops_out_in_training_only(model: nn.Module, given: Tensor) -> None:
    r"""Two calls differ in training, and are equal in evaluation."""
    for training in (True, False):
        model.train(training)
        assert torch.equal(model(given), model(given)) != training
