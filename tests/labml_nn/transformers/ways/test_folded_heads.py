r"""Attention with folded heads against PyTorch's, and against its claims."""

from collections.abc import Callable
from functools import partial

import pytest
import torch

from labml_nn.transformers.ways.folded_heads import NarrowSelfAttention, fold, unfold
from tests.labml_nn.transformers import seam
from tests.labml_nn.transformers.seam import BATCH_SIZE, D_K, D_MODEL, HEADS, SEQ_LEN_K, equals
from tests.labml_nn.transformers.ways.oracles import CAUSAL, SequenceFirst, by_pytorch, sequences
from tests.oracles.compare import difference


def from_pytorch(is_causal: bool) -> float:
    r"""Outputs and gradients of PyTorch's module."""
    module = NarrowSelfAttention(HEADS, D_MODEL, 0.0, causal=is_causal).double()
    layers = [module.query, module.key, module.value, module.output]
    x = sequences()
    theirs, _ = by_pytorch(x, layers, CAUSAL if is_causal else torch.ones_like(CAUSAL))
    variables = [x, *module.parameters()]
    return difference(module(x), theirs, variables, variables)


ORACLES: dict[str, Callable[[], float]] = {
    "torch.nn.MultiheadAttention": lambda: from_pytorch(True),
    "torch.nn.MultiheadAttention, without a mask": lambda: from_pytorch(False),
}
test_equals_its_oracle_with_gradients = equals(ORACLES)


def test_a_folded_sequence_is_one_head_of_one_sequence() -> None:
    x = torch.randn(BATCH_SIZE, SEQ_LEN_K, HEADS, D_K)
    for n, one in enumerate(fold(x)):
        assert torch.equal(one, x[n // HEADS, :, n % HEADS])
    assert torch.equal(unfold(fold(x), HEADS), x.flatten(start_dim=2))


def made(dropout_prob: float = 0.1) -> SequenceFirst:
    way = NarrowSelfAttention(HEADS, D_MODEL, dropout_prob, causal=True)
    return SequenceFirst(way, output="output")


test_at_the_seam = seam.at_the_seam(partial(made), but=(seam.check_hidden_keys, seam.check_idle))


def test_the_parameters_are_these_and_a_tenth_of_the_weights_is_dropped() -> None:
    module = NarrowSelfAttention(HEADS, D_MODEL)
    parts, shapes = ("query", "key", "value", "output"), {"weight": (60, 60), "bias": (60,)}
    expected = {f"{part}.{kind}": shape for part in parts for kind, shape in shapes.items()}
    assert seam.shapes(module) == expected
    assert module.dropout.p == 0.1


def test_a_width_that_heads_do_not_divide_is_refused() -> None:
    with pytest.raises(ValueError, match="got heads=4, d_model=30$"):
        NarrowSelfAttention(4, 30)
