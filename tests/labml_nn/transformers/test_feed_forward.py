from collections.abc import Callable
from functools import partial

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from labml_nn.transformers.feed_forward import FeedForward
from tests.labml_nn.transformers.seam import D_MODEL, equals, shapes, text
from tests.oracles.compare import difference, largest

D_FF = 11


def from_formula(
    options: dict[str, type[nn.Module]], activation: Callable[[Tensor], Tensor]
) -> float:
    r"""How far it is from the formula, with gradients, for any axes before the features."""
    module, x = FeedForward(D_MODEL, D_FF, 0.0, **options).double(), text()
    hidden = activation(x @ module.layer1.weight.T + module.layer1.bias)
    formula = hidden @ module.layer2.weight.T + module.layer2.bias
    variables = [x, *module.parameters()]
    far = difference(module(x), formula, variables, variables)
    return max(far, largest([module(x[2, 1]), module(x[None])[0]], [formula[2, 1], formula]))


ORACLES = {
    "the formula, with ReLU": partial(from_formula, {}, F.relu),
    "the formula, with GELU": partial(from_formula, {"activation": nn.GELU}, F.gelu),
}
test_it_is_the_formula_for_any_number_of_axes_before_the_features = equals(ORACLES, 1e-12)


def test_hidden_features_are_dropped_in_training_only_and_a_tenth_of_them_as_a_rule() -> None:
    module, x = FeedForward(D_MODEL, D_FF, 1.0).double(), text()
    assert torch.equal(module(x), module.layer2.bias.expand_as(x))
    kept = module.eval()(x)
    module.dropout.p = 0.0
    assert torch.equal(module.train()(x), kept)
    assert FeedForward(D_MODEL, D_FF).dropout.p == 0.1


def test_there_are_biases_unless_none_are_wanted() -> None:
    expected = {"layer1.weight": (D_FF, D_MODEL), "layer2.weight": (D_MODEL, D_FF)}
    assert shapes(FeedForward(D_MODEL, D_FF, bias=False)) == expected


def test_two_hidden_features_give_how_far_two_numbers_differ() -> None:
    module = FeedForward(2, 2, 0.0, bias=False)
    module.layer1.weight.data = torch.tensor([[1.0, -1], [-1, 1]])
    module.layer2.weight.data = torch.ones(2, 2)
    assert module(torch.tensor([[1.0, 0], [0, 1], [0.5, 0.5]]))[:, 0].tolist() == [1, 1, 0]
