import math
from collections.abc import Callable

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from labml_nn.transformers.feed_forward import FeedForward
from labml_nn.transformers.mha import MultiHeadAttention
from tests.labml_nn.transformers.seam import D_MODEL, shapes, text
from tests.oracles.compare import difference, largest

D_FF = 11


def network(dropout_prob: float = 0.0, **options: object) -> FeedForward:
    return FeedForward(D_MODEL, D_FF, dropout_prob, **options).double()


@pytest.mark.parametrize(
    ("options", "activation"), [({}, F.relu), ({"activation": nn.GELU}, F.gelu)]
)
def test_it_is_the_formula_for_any_number_of_axes_before_the_features(
    options: dict[str, type[nn.Module]], activation: Callable[[Tensor], Tensor]
) -> None:
    module, x = network(**options), text()
    hidden = activation(x @ module.layer1.weight.T + module.layer1.bias)
    formula = hidden @ module.layer2.weight.T + module.layer2.bias
    variables = [x, *module.parameters()]
    assert difference(module(x), formula, variables, variables) < 1e-12
    assert largest([module(x[2, 1]), module(x[None])[0]], [formula[2, 1], formula]) < 1e-12


def test_no_two_networks_share_an_activation() -> None:
    one, other = network(activation=nn.PReLU), network(activation=nn.PReLU)
    assert one.activation.weight is not other.activation.weight


def test_hidden_features_are_dropped_in_training_only_and_a_tenth_of_them_as_a_rule() -> None:
    module, x = network(dropout_prob=1.0), text()
    assert torch.equal(module(x), module.layer2.bias.expand_as(x))
    kept = module.eval()(x)
    module.dropout.p = 0.0
    assert torch.equal(module.train()(x), kept)
    assert FeedForward(D_MODEL, D_FF).dropout.p == 0.1


def test_the_parameters_are_these() -> None:
    assert shapes(network()) == {
        "layer1.weight": (D_FF, D_MODEL),
        "layer1.bias": (D_FF,),
        "layer2.weight": (D_MODEL, D_FF),
        "layer2.bias": (D_MODEL,),
    }
    assert list(network(bias=False).state_dict()) == ["layer1.weight", "layer2.weight"]


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16])
def test_results_have_the_type_of_the_input(dtype: torch.dtype) -> None:
    assert network().to(dtype)(text(dtype)).dtype == dtype


def test_it_holds_two_thirds_of_the_weights_of_a_layer() -> None:
    attention = sum(p.numel() for p in MultiHeadAttention(4, 128, bias=False).parameters())
    network = sum(p.numel() for p in FeedForward(128, 4 * 128, bias=False).parameters())
    assert math.isclose(network / (attention + network), 2 / 3)
