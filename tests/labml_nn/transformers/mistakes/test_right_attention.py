r"""The right attention against PyTorch's."""

import torch
from torch import Tensor, nn

from labml_nn.transformers.mistakes.right_attention import RightAttention
from tests.labml_nn.transformers.seam import equals, joined, refuses
from tests.oracles.compare import difference

BATCH_SIZE, SEQ_LEN, HEADS, D_MODEL = 3, 7, 5, 20


def text() -> Tensor:
    generator = torch.Generator().manual_seed(1)
    return torch.randn(BATCH_SIZE, SEQ_LEN, D_MODEL, generator=generator).double().requires_grad_()


def some_mask() -> Tensor:
    r"""Another one for each sequence; nobody sees the last position but itself."""
    shape = (BATCH_SIZE, SEQ_LEN, SEQ_LEN)
    mask = torch.rand(shape, generator=torch.Generator().manual_seed(2)) < 0.5
    mask[..., -1] = False
    return mask | torch.eye(SEQ_LEN, dtype=torch.bool)


def from_pytorch(mask: Tensor | None) -> float:
    torch.manual_seed(1)
    ours = RightAttention(D_MODEL, HEADS).double()
    theirs = joined(ours, nn.MultiheadAttention(D_MODEL, HEADS, batch_first=True))
    causal = torch.ones(1, SEQ_LEN, SEQ_LEN, dtype=torch.bool).tril()
    visible = (causal if mask is None else mask).expand(BATCH_SIZE, -1, -1)
    x = text()
    expected, _ = theirs(x, x, x, attn_mask=~visible.repeat_interleave(HEADS, dim=0))
    return difference(ours(x, mask), expected, [x], [x])


ORACLES = {
    "PyTorch": lambda: from_pytorch(None),
    "PyTorch, with a mask": lambda: from_pytorch(some_mask()),
}
test_it_is_what_others_compute = equals(ORACLES, 1e-12)
test_a_width_that_does_not_fit_is_refused = refuses(
    RightAttention, "{heads=}, {d_model=}", [{"heads": 3, "d_model": 10}]
)


def test_a_position_that_sees_nothing_takes_nothing() -> None:
    ours, x, mask = RightAttention(D_MODEL, HEADS).double(), text(), some_mask()
    mask[1, 2] = False
    output = ours(x, mask)
    assert output[1, 2].equal(ours.output.bias)
    assert torch.autograd.grad(output.sum(), x)[0].isfinite().all()


def test_all_weights_can_be_dropped_in_training_only() -> None:
    ours, x = RightAttention(D_MODEL, HEADS, 1.0).double(), text()
    assert ours(x).equal(ours.output.bias.expand_as(x))
    kept = ours.eval()(x)
    ours.dropout_prob = 0.0
    assert kept.equal(ours.train()(x))
