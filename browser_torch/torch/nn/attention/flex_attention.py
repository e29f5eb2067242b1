r"""Attention whose mask and scores are functions."""

import math
from collections.abc import Callable
from typing import Any

from torch._making import arange
from torch._tensor import Tensor


class BlockMask:
    r"""Which queries see which keys, as a whole mask."""

    def __init__(self, mask: Tensor, mask_mod: Callable[..., Tensor]) -> None:
        self.mask, self.mask_mod = mask, mask_mod
        self.shape = tuple(mask.shape)


def _places(*sizes: int) -> list[Tensor]:
    r"""Each axis's numbers, so that together they broadcast to all places."""
    return [
        arange(size).view([-1 if axis == place else 1 for axis in range(len(sizes))])
        for place, size in enumerate(sizes)
    ]


def create_block_mask(
    mask_mod: Callable[..., Tensor],
    B: int | None,
    H: int | None,
    Q_LEN: int,
    KV_LEN: int,
    device: Any = "cpu",
    BLOCK_SIZE: Any = 128,
    _compile: bool = False,
) -> BlockMask:
    r"""The mask that a function of batch, head, query and key tells."""
    sizes = (B or 1, H or 1, Q_LEN, KV_LEN)
    return BlockMask(mask_mod(*_places(*sizes)).expand(sizes), mask_mod)


def flex_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    score_mod: Callable[..., Tensor] | None = None,
    block_mask: BlockMask | None = None,
    scale: float | None = None,
    enable_gqa: bool = False,
    return_lse: bool = False,
    **options: Any,
) -> Any:
    r"""Attention, with scores changed by a function and hidden by a mask."""
    if enable_gqa:
        count = query.shape[1] // key.shape[1]
        key, value = key.repeat_interleave(count, 1), value.repeat_interleave(count, 1)
    factor = 1 / math.sqrt(query.shape[-1]) if scale is None else scale
    scores = query @ key.transpose(-2, -1) * factor
    if score_mod is not None:
        scores = score_mod(scores, *_places(*scores.shape))
    if block_mask is not None:
        scores = scores.masked_fill(~block_mask.mask, -math.inf)
    blind = (scores.detach() == -math.inf).all(-1, keepdim=True)
    out = scores.softmax(-1).masked_fill(blind, 0) @ value
    return (out, scores.logsumexp(-1)) if return_lse else out
