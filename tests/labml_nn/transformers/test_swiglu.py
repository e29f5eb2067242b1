import math
from collections.abc import Callable

import pytest
import torch

from labml_nn.transformers.stacked_linear import StackedLinear
from labml_nn.transformers.swiglu import SwiGLU
from tests.oracles import hugging_face
from tests.oracles.compare import gradients, largest


def test_it_is_the_formula_number_by_number() -> None:
    network = SwiGLU(5, 11).double()
    x = torch.randn(7, 3, 5, dtype=torch.float64)
    found = network(x)
    gates, values = network.widen.weight.tolist()
    out = network.narrow.weight.tolist()
    for s in range(7):
        for b in range(3):
            token = x[s, b].tolist()
            hidden = []
            for w, v in zip(gates, values, strict=True):
                z = sum(a * c for a, c in zip(w, token, strict=True))
                hidden.append(
                    z / (1 + math.exp(-z)) * sum(a * c for a, c in zip(v, token, strict=True))
                )
            expected = [sum(a * c for a, c in zip(row, hidden, strict=True)) for row in out]
            assert found[s, b].tolist() == pytest.approx(expected)


def test_the_hidden_features_are_dropped_out_in_training_alone() -> None:
    network, x = SwiGLU(5, 11, dropout_prob=0.5), torch.randn(7, 3, 5)
    assert not network(x).equal(network(x))
    network.eval()
    assert network(x).equal(network(x))


def test_a_stack_is_its_layers_side_by_side() -> None:
    layers = StackedLinear(3, 5, 11)
    x = torch.randn(7, 2, 5)
    expected = torch.cat([x @ weight.t() for weight in layers.weight], dim=-1)
    torch.testing.assert_close(layers(x), expected)


def test_a_stack_keeps_the_variance_of_what_comes_in() -> None:
    layers = StackedLinear(2, 211, 307)
    assert layers(torch.randn(997, 1, 211)).var().item() == pytest.approx(1, abs=0.05)


def distance_to_llama() -> float:
    r"""From the network of Llama's layers, with the gradients of all weights."""
    theirs = hugging_face.llama_network(5, 11)
    network = SwiGLU(5, 11).double()
    network.widen.weight.data[0] = theirs.gate_proj.weight.data
    network.widen.weight.data[1] = theirs.up_proj.weight.data
    network.narrow.weight.data.copy_(theirs.down_proj.weight.data)
    x = torch.randn(7, 3, 5, dtype=torch.float64, requires_grad=True)
    mine, expected = network(x), theirs(x)
    both = [theirs.gate_proj.weight, theirs.up_proj.weight]
    x_, gate, up, down = gradients(expected, [x, *both, theirs.down_proj.weight])
    found = gradients(mine, [x, network.widen.weight, network.narrow.weight])
    return largest([mine, *found], [expected, x_, torch.stack([gate, up]), down])


ORACLES: dict[str, Callable[[], float]] = {"Hugging Face Llama": distance_to_llama}


@pytest.mark.parametrize("oracle", ORACLES)
def test_it_is_what_others_compute(oracle: str) -> None:
    assert ORACLES[oracle]() < 1e-10
