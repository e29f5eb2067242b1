r"""Tiles against all scores at once, forward and backward, and what they hold in memory."""

from collections.abc import Callable
from functools import partial

import pytest
import torch
import torch.nn.functional as F

from labml_nn.transformers.memory import flash
from labml_nn.transformers.memory.flash import FlashAttention, Tiled, blocks, visible_tiles
from labml_nn.transformers.mha import MultiHeadAttention, causal_mask
from tests.labml_nn.transformers import seam
from tests.labml_nn.transformers.seam import D_MODEL, HEADS, SEQ_LEN_K, at_the_seam, equals
from tests.oracles.compare import difference

BATCH_SIZE, N_HEADS, QUERIES, KEYS, D_K = 3, 2, 7, 11, 5


attention = partial(FlashAttention, HEADS, D_MODEL)


def from_kernel(size: int, factor: float) -> float:
    r"""Cross-attention; with a large factor some scores are far too large for an exponential."""
    generator = torch.Generator().manual_seed(1)
    parts = [
        (
            torch.randn(BATCH_SIZE, N_HEADS, n, D_K, generator=generator).double() * factor
        ).requires_grad_()
        for n in (QUERIES, KEYS, KEYS)
    ]
    shape = (BATCH_SIZE, N_HEADS, QUERIES, KEYS)
    mask = torch.rand(shape, generator=generator) < 0.5
    mask[..., 1] = True
    mask[1, 0, 2] = False
    theirs = F.scaled_dot_product_attention(*parts, mask, scale=1.0)
    return difference(Tiled.apply(*parts, mask, size), theirs, parts, parts)


ORACLES: dict[str, Callable[[], float]] = {
    "a loop over heads, positions and sequences": lambda: seam.from_loops(
        seam.randomised(attention(size=3)), seam.some_mask(idle=True)
    ),
    "F.scaled_dot_product_attention": lambda: max(
        from_kernel(size, factor) for size in (1, 2, 3, 4, 7, 11, 99) for factor in (1.0, 30.0)
    ),
    "multi-head attention": lambda: max(
        seam.from_module(
            seam.randomised(attention(size=size)),
            MultiHeadAttention(HEADS, D_MODEL).double().eval(),
            mask,
        )
        for size in (1, 3, 7, 64)
        for mask in (
            None,
            causal_mask(SEQ_LEN_K),
            seam.some_mask(SEQ_LEN_K, idle=True),
            seam.some_mask(SEQ_LEN_K)[:1],
        )
    ),
}
test_it_equals_what_others_compute = equals(ORACLES)
test_at_the_seam = at_the_seam(
    partial(attention, size=3), {}, but=(seam.check_device, seam.check_dropout)
)


def test_blocks_follow_each_other() -> None:
    assert blocks(7, 3) == [slice(0, 3), slice(3, 6), slice(6, 7)]


def test_tiles_in_the_future_are_skipped() -> None:
    x, mask = torch.randn(1, 1, 7, 5), causal_mask(7)[None, None, ..., 0]
    found = [list(visible_tiles(rows, x, x, mask, 3)) for rows in blocks(7, 3)]
    assert [len(one) for one in found] == [1, 2, 3]
    assert found[2][1][2].shape == (1, 1, 1, 3)


def test_memory_grows_with_the_length_and_not_with_its_square() -> None:
    r"""All that is kept for the backward pass, but the mask, and the largest tensor on the way."""
    kept = []
    for length in (64, 128):
        x = torch.randn(1, 1, length, 5, requires_grad=True)
        saved: list[int] = []
        with torch.autograd.graph.saved_tensors_hooks(
            lambda t, saved=saved: saved.append(0 if t.dtype == torch.bool else t.numel()) or t,
            lambda t: t,
        ):
            Tiled.apply(x, x, x, causal_mask(length)[None, None, ..., 0], 8)
        kept.append(sum(saved))
    assert kept[1] == 2 * kept[0]


def test_gradients_of_gradients_are_refused() -> None:
    x = torch.randn(1, 1, 7, 5, requires_grad=True)
    output = Tiled.apply(x, x, x, causal_mask(7)[None, None, ..., 0], 3)
    (gradient,) = torch.autograd.grad(output.square().sum(), x, create_graph=True)
    with pytest.raises(RuntimeError, match="once_differentiable"):
        gradient.sum().backward()


@pytest.mark.parametrize(("dropout_prob", "size"), [(0.1, 3), (0.0, 0), (0.0, -1)])
def test_what_it_cannot_do_is_refused(dropout_prob: float, size: int) -> None:
    with pytest.raises(ValueError, match=f"got dropout_prob={dropout_prob}, size={size}$"):
        FlashAttention(HEADS, D_MODEL, dropout_prob, size=size)


def test_a_block_has_64_positions_and_half_of_a_short_text_in_a_transformer() -> None:
    assert attention().size == 64
    made = flash.in_transformer(d_model=D_MODEL, heads=HEADS, seq_len=7, dropout_prob=0.5)
    assert made["self_attn"]().size == 4
    assert seam.attend(made["self_attn"](), seam.text(torch.float32)).isfinite().all()
