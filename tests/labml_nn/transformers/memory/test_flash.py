r"""Tiles against all scores at once; PyTorch's own backward pass goes through them."""

from collections.abc import Callable
from functools import partial
from itertools import product

import torch
import torch.nn.functional as F
from torch import Tensor

from labml_nn.transformers.memory.flash import TiledAttention, blocks, online_softmax, visible_tiles
from labml_nn.transformers.mha import causal_mask
from tests.labml_nn.transformers import seam
from tests.labml_nn.transformers.memory.test_sdpa import vectors, visible
from tests.labml_nn.transformers.seam import D_MODEL, HEADS, at_the_seam, equals, refuses
from tests.oracles.compare import difference

attention = partial(TiledAttention, HEADS, D_MODEL)


def from_kernel(tiled: Callable[..., Tensor]) -> float:
    r"""Cross-attention; with a large factor some scores are far too large for an exponential."""
    worst, mask = 0.0, visible()
    for size, factor in product((1, 2, 3, 4, 7, 11, 99), (1.0, 30.0)):
        parts = [(factor * x.detach()).requires_grad_() for x in vectors(d_v=5)]
        theirs = F.scaled_dot_product_attention(*parts, mask, scale=1.0)
        worst = max(worst, difference(tiled(*parts, mask, size), theirs, parts, parts))
    return worst


ORACLES = {
    "F.scaled_dot_product_attention": lambda: from_kernel(lambda *given: online_softmax(*given)[0]),
    "multi-head attention": lambda: max(
        seam.from_module(seam.randomised(attention(size=size)), mask)
        for size in (1, 3, 7, 64)
        for mask in seam.MASKS
    ),
}
test_it_equals_what_others_compute = equals(ORACLES)
test_at_the_seam = at_the_seam(
    partial(attention, size=3), {}, but=(seam.check_device, seam.check_dropout)
)


def test_blocks_follow_each_other_and_have_64_positions() -> None:
    assert blocks(7, 3) == [slice(0, 3), slice(3, 6), slice(6, 7)]
    assert attention().size == 64 and attention().dropout.p == 0


def test_tiles_in_the_future_are_skipped() -> None:
    x, mask = torch.randn(1, 1, 7, 5), causal_mask(7)[None, None, ..., 0]
    found = [list(visible_tiles(rows, x, x, mask, 3)) for rows in blocks(7, 3)]
    assert [len(one) for one in found] == [1, 2, 3]
    assert found[2][1][2].shape == (1, 1, 1, 3)


test_what_it_cannot_do_is_refused = refuses(
    attention,
    "got {dropout_prob=}, {size=}$",
    [{"dropout_prob": p, "size": size} for p, size in ((0.1, 3), (0.0, 0), (0.0, -1))],
)


def test_the_sum_of_each_query_is_that_of_its_visible_scores() -> None:
    (query, key, _), mask = vectors(), visible(idle=False)
    expected = (query @ key.mT).masked_fill(~mask, -torch.inf).logsumexp(-1, keepdim=True)
    torch.testing.assert_close(online_softmax(query, key, key, mask, 3)[1], expected)
