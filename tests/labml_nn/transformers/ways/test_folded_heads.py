r"""Attention with folded heads against PyTorch's, against loops, and against its claims."""

from collections.abc import Callable

import pytest
import torch

from labml_nn.transformers.ways import folded_heads
from labml_nn.transformers.ways.folded_heads import NarrowSelfAttention, fold, unfold
from tests.labml_nn.transformers.seam import equals
from tests.labml_nn.transformers.ways.oracles import (
    BATCH_SIZE,
    D_K,
    D_MODEL,
    HEADS,
    SEQ_LEN,
    Layer,
    by_loops,
    by_pytorch,
    causal,
    check_device,
    check_dropout,
    check_nothing_leaks,
    check_saved,
    difference,
    sequences,
)


def attention(is_causal: bool = True) -> NarrowSelfAttention:
    r"""Without dropout, in double precision."""
    torch.manual_seed(1)
    return NarrowSelfAttention(HEADS, D_MODEL, 0.0, causal=is_causal).double()


def layers(module: NarrowSelfAttention) -> list[Layer]:
    r"""The four projections."""
    parts = (module.query, module.key, module.value, module.output)
    return [(one.weight, one.bias) for one in parts]


def from_pytorch(is_causal: bool) -> float:
    r"""Outputs and gradients of PyTorch's module."""
    module, x = attention(is_causal), sequences()
    visible = causal() if is_causal else torch.ones_like(causal())
    theirs, _ = by_pytorch(x, layers(module), visible)
    return difference(module(x), theirs, [x, *module.parameters()])


def from_loops() -> float:
    r"""Outputs and gradients of loops over numbers."""
    module, x = attention(), sequences()
    theirs = by_loops(x, layers(module), causal())
    return difference(module(x), theirs, [x, *module.parameters()])


ORACLES: dict[str, Callable[[], float]] = {
    "torch.nn.MultiheadAttention": lambda: from_pytorch(True),
    "torch.nn.MultiheadAttention, without a mask": lambda: from_pytorch(False),
    "a loop over numbers": from_loops,
}
test_equals_its_oracle_with_gradients = equals(ORACLES)


def test_a_folded_sequence_is_one_head_of_one_sequence() -> None:
    x = torch.randn(BATCH_SIZE, SEQ_LEN, HEADS, D_K)
    for n, one in enumerate(fold(x)):
        assert torch.equal(one, x[n // HEADS, :, n % HEADS])
    assert torch.equal(unfold(fold(x), HEADS), x.flatten(start_dim=2))


def test_no_output_depends_on_a_later_position() -> None:
    check_nothing_leaks(attention())


def test_dropout_acts_in_training_only() -> None:
    check_dropout(lambda p: NarrowSelfAttention(HEADS, D_MODEL, p))
    assert NarrowSelfAttention(HEADS, D_MODEL).dropout.p == 0.1


def test_it_works_on_another_device() -> None:
    check_device(attention())


def test_saved_weights_give_the_same() -> None:
    check_saved(lambda: NarrowSelfAttention(HEADS, D_MODEL, 0.0))


def test_the_parameters_are_these() -> None:
    shapes = {name: tuple(p.shape) for name, p in attention().state_dict().items()}
    assert shapes == {
        f"{layer}.{kind}": shape
        for layer in ("query", "key", "value", "output")
        for kind, shape in {"weight": (14, 14), "bias": (14,)}.items()
    }


def test_a_width_that_heads_do_not_divide_is_refused() -> None:
    with pytest.raises(ValueError, match="got heads=4, d_model=30$"):
        NarrowSelfAttention(4, 30)


def test_the_example_is_causal() -> None:
    assert folded_heads.example(2, 3, 5, 7).shape == (2, 3, 35)
