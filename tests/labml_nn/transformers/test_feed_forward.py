r"""The feed-forward network against its formula, and against what its page claims."""

import math

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from labml_nn.transformers.feed_forward import FeedForward
from labml_nn.transformers.mha import MultiHeadAttention
from tests.oracles.compare import difference

SEQ_LEN, BATCH_SIZE, D_MODEL, D_FF = 5, 3, 7, 11


def network(**options: float) -> FeedForward:
    r"""A network in double precision, without dropout unless the options say otherwise."""
    torch.manual_seed(1)
    return FeedForward(D_MODEL, D_FF, **{"dropout_prob": 0.0, **options}).double()


def sequence() -> Tensor:
    r"""A sequence for it."""
    torch.manual_seed(2)
    return torch.randn(SEQ_LEN, BATCH_SIZE, D_MODEL, dtype=torch.float64, requires_grad=True)


def test_it_is_the_formula_with_its_gradients() -> None:
    module, x = network(), sequence()
    formula = (x @ module.layer1.weight.T + module.layer1.bias).clamp(min=0)
    formula = formula @ module.layer2.weight.T + module.layer2.bias
    variables = [x, *module.parameters()]
    assert difference(module(x), formula, variables, variables) < 1e-12


def test_any_number_of_axes_comes_before_the_features() -> None:
    module, x = network(), sequence()
    torch.testing.assert_close(module(x[2, 1]), module(x)[2, 1], rtol=1e-12, atol=1e-12)
    torch.testing.assert_close(module(x[None])[0], module(x), rtol=1e-12, atol=1e-12)


def test_the_activation_can_be_chosen() -> None:
    module, x = network(activation=nn.GELU), sequence()
    expected = module.layer2(F.gelu(module.layer1(x)))
    torch.testing.assert_close(module(x), expected, rtol=1e-12, atol=1e-12)


def test_no_two_networks_share_an_activation() -> None:
    one, other = network(activation=nn.PReLU), network(activation=nn.PReLU)
    assert one.activation.weight is not other.activation.weight


def test_dropout_drops_hidden_features_in_training_only() -> None:
    module, x = network(dropout_prob=1.0), sequence()
    assert torch.equal(module(x), module.layer2.bias.expand_as(x))
    assert torch.equal(module.eval()(x), network()(x))


def test_a_tenth_of_the_hidden_features_is_dropped_unless_asked_otherwise() -> None:
    assert FeedForward(D_MODEL, D_FF).dropout.p == 0.1


def test_the_parameters_are_these() -> None:
    shapes = {name: tuple(p.shape) for name, p in network().state_dict().items()}
    assert shapes == {
        "layer1.weight": (D_FF, D_MODEL),
        "layer1.bias": (D_FF,),
        "layer2.weight": (D_MODEL, D_FF),
        "layer2.bias": (D_MODEL,),
    }
    assert list(network(bias=False).state_dict()) == ["layer1.weight", "layer2.weight"]


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16])
def test_results_have_the_type_of_the_input(dtype: torch.dtype) -> None:
    module, x = network().to(dtype), sequence().to(dtype)
    assert module(x).dtype == dtype


def test_it_holds_two_thirds_of_the_weights_of_a_layer() -> None:
    attention = sum(p.numel() for p in MultiHeadAttention(4, 128, bias=False).parameters())
    network = sum(p.numel() for p in FeedForward(128, 4 * 128, bias=False).parameters())
    assert math.isclose(network / (attention + network), 2 / 3)
