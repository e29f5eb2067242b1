import math
from collections.abc import Callable

import pytest
import torch

from labml_nn.transformers.swiglu import SwiGLU
from tests.labml_nn.transformers.seam import equals
from tests.oracles import hugging_face
from tests.oracles.compare import difference


def test_it_is_the_formula_number_by_number() -> None:
    network = SwiGLU(5, 11).double()
    x = torch.randn(7, 3, 5, dtype=torch.float64)
    found = network(x)
    gates, values, out = (
        layer.weight.tolist() for layer in (network.gate, network.value, network.output)
    )
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


def distance_to_llama() -> float:
    r"""From the network of Llama's layers, with the gradients of all weights."""
    theirs = hugging_face.llama_network(5, 11)
    network = SwiGLU(5, 11).double()
    mine = [network.gate.weight, network.value.weight, network.output.weight]
    other = [theirs.gate_proj.weight, theirs.up_proj.weight, theirs.down_proj.weight]
    for one, weight in zip(mine, other, strict=True):
        one.data.copy_(weight.data)
    x = torch.randn(7, 3, 5, dtype=torch.float64, requires_grad=True)
    return difference(network(x), theirs(x), [x, *mine], [x, *other])


ORACLES: dict[str, Callable[[], float]] = {"Hugging Face Llama": distance_to_llama}


test_it_is_what_others_compute = equals(ORACLES)
