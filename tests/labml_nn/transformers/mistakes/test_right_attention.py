import torch
from torch import Tensor

from labml_nn.transformers.mistakes.right_attention import RightAttention
from tests.labml_nn.transformers.seam import D_MODEL, HEADS, SEQ_LEN_K, equals, refuses, some_mask
from tests.labml_nn.transformers.ways.oracles import CAUSAL, by_pytorch, sequences
from tests.oracles.compare import difference


def mask_of_each(idle: bool = False) -> Tensor:
    r"""Batch first."""
    return some_mask(SEQ_LEN_K, idle).permute(2, 0, 1)


def from_pytorch(mask: Tensor | None) -> float:
    ours, x = RightAttention(HEADS, D_MODEL).double(), sequences()
    layers = [ours.query, ours.key, ours.value, ours.output]
    expected, _ = by_pytorch(x, layers, CAUSAL if mask is None else mask.unsqueeze(1))
    return difference(ours(x, mask), expected, [x], [x])


ORACLES = {
    "PyTorch": lambda: from_pytorch(None),
    "PyTorch, with a mask": lambda: from_pytorch(mask_of_each()),
}
test_it_is_what_others_compute = equals(ORACLES, 1e-12)
test_a_width_that_does_not_fit_is_refused = refuses(
    RightAttention, "{heads=}, {d_model=}", [{"heads": 3, "d_model": 10}]
)


def test_a_position_that_sees_nothing_takes_nothing() -> None:
    ours, x = RightAttention(HEADS, D_MODEL).double(), sequences()
    output = ours(x, mask_of_each(idle=True))
    assert output[1, 2].equal(ours.output.bias)
    assert torch.autograd.grad(output.sum(), x)[0].isfinite().all()


def test_all_weights_can_be_dropped_in_training_only() -> None:
    ours, x = RightAttention(HEADS, D_MODEL, 1.0).double(), sequences()
    assert ours(x).equal(ours.output.bias.expand_as(x))
    kept = ours.eval()(x)
    ours.dropout_prob = 0.0
    assert kept.equal(ours.train()(x))
