r"""
---
title: FlexAttention
summary: A kernel made to order, from a function for a score and one for what is seen.
paper:
  title: "Flex Attention: A Programming Model for Generating Optimized Attention Kernels"
  authors: Dong et al.
  year: 2024
  link: https://arxiv.org/abs/2412.05496
---

A [kernel in tiles](flash.py) never holds all scores, so nobody can change them on the way, and
each variant of attention would need a kernel of its own. FlexAttention writes that kernel, from
[two functions](score_functions.py) that say what a variant does with a single score. Tiles in
which no score counts are not computed at all: that is what makes a
[window](sliding_window.py) fast.

**Where it runs.** FlexAttention came with PyTorch 2.5. It has to be compiled to be a kernel; as it
is, it holds all scores, and is for trying things out. On a CPU it has *no backward pass*,
compiled or not. So there the gradients are found [by hand](score_functions.py#by_hand), and so
is everything unless one asks for FlexAttention. The tests of this page run on CPUs: what is
verified is the forward pass of FlexAttention, and the whole of the way by hand.

Numbers have the layout of the kernel, `[batch_size, heads, seq_len_q, d_k]`. The page leaves out
groups of heads, and the keeping of a block mask for the next call.
"""

import warnings
from collections.abc import Callable
from typing import Literal

import torch
from torch import Tensor, nn
from torch.autograd.function import FunctionCtx, once_differentiable

from labml_nn.transformers.memory.score_functions import (
    MaskFunction,
    ScoreFunction,
    add_distance,
    by_hand,
    cap_softly,
    everywhere,
    see_a_window,
    see_everything,
)
from labml_nn.transformers.mha import MultiHeadAttention


def by_flex(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    score_mod: ScoreFunction | None,
    mask_mod: MaskFunction | None,
    compiled: bool,
) -> Tensor:
    r"""
    ## By FlexAttention

    Queries come scaled, so it doesn't divide.
    """
    if torch.__version__ < (2, 5):
        raise RuntimeError(f"FlexAttention came with PyTorch 2.5, and this is {torch.__version__}")
    from torch.nn.attention.flex_attention import create_block_mask, flex_attention

    # Which tiles count. What a mask function gives for one query and one key has an axis for the
    # texts, or the heads, if it looks at them; if not, one block mask serves all.
    block_mask = None
    if mask_mod is not None:
        seen = mask_mod(*everywhere(query[:, :, :1], key[:, :, :1]))
        n_texts, n_heads = ([1] * (4 - seen.dim()) + list(seen.shape))[:2]
        block_mask = create_block_mask(
            mask_mod, n_texts, n_heads, query.shape[2], key.shape[2], device=query.device
        )
    if compiled:
        flex_attention = torch.compile(flex_attention)

    # Where it isn't compiled it warns that it holds all scores.
    with warnings.catch_warnings(action="ignore"):
        return flex_attention(
            query, key, value, score_mod=score_mod, block_mask=block_mask, scale=1.0
        )


class ForwardByFlex(torch.autograd.Function):
    r"""
    ## Forward by FlexAttention, backward by hand

    For CPUs. What a score function has learned gets no gradient this way.
    """

    @staticmethod
    def forward(
        ctx: FunctionCtx,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        score_mod: ScoreFunction | None,
        mask_mod: MaskFunction | None,
        compiled: bool,
    ) -> Tensor:
        r"""
        ### Forward

        FlexAttention refuses what wants gradients, so it gets something that doesn't.
        """
        ctx.save_for_backward(query, key, value)
        ctx.functions = score_mod, mask_mod
        parts = (part.detach() for part in (query, key, value))
        return by_flex(*parts, score_mod, mask_mod, compiled)

    @staticmethod
    @once_differentiable
    def backward(ctx: FunctionCtx, grad: Tensor) -> tuple[Tensor | None, ...]:
        r"""
        ### Backward

        All of it is computed again, this time recorded.
        """
        with torch.enable_grad():
            parts = [part.detach().requires_grad_() for part in ctx.saved_tensors]
            mean, _ = by_hand(*parts, *ctx.functions)
        return *torch.autograd.grad(mean, parts, grad), None, None, None


class FlexAttention(MultiHeadAttention):
    r"""
    ## Multi-head attention with functions for scores and masks
    """

    def __init__(
        self,
        heads: int,
        d_model: int,
        dropout_prob: float = 0.1,
        bias: bool = True,
        score_mod: ScoreFunction | None = None,
        mask_mod: MaskFunction | None = None,
        way: Literal["by hand", "flex", "compiled"] = "by hand",
    ) -> None:
        r"""
        * `heads`, `d_model`, `dropout_prob` and `bias` are as usual
        * `score_mod` and `mask_mod` are the two functions
        * `way` is that of the everyday; where weights are dropped or kept it is always by hand
        """
        super().__init__(heads, d_model, dropout_prob, bias)
        if way not in ("by hand", "flex", "compiled"):
            raise ValueError(f"way must be 'by hand', 'flex' or 'compiled', got {way!r}")
        self.score_mod, self.mask_mod, self.way = score_mod, mask_mod, way

    def weighted_mean(
        self, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None
    ) -> Tensor:
        r"""
        ### Scores, softmax and mean

        To `[seq_len_q, batch_size, heads, d_k]`.
        """
        parts = [part.permute(1, 2, 0, 3) for part in (query, key, value)]
        mask_mod = self.mask_mod
        if mask is not None:
            mask_mod = and_given(mask, len(query), mask_mod or see_everything)
        self.attn = None
        drop = self.dropout.p if self.training else 0.0
        if self.keep_attn or drop > 0 or self.way == "by hand":
            mean, weights = by_hand(*parts, self.score_mod, mask_mod, drop)
            if self.keep_attn:
                self.attn = weights.detach().permute(2, 3, 0, 1)
        else:
            run = ForwardByFlex.apply if query.device.type == "cpu" else by_flex
            mean = run(*parts, self.score_mod, mask_mod, self.way == "compiled")
        return mean.permute(2, 0, 1, 3)


def and_given(mask: Tensor, seq_len_q: int, mask_mod: MaskFunction) -> MaskFunction:
    r"""
    ## A mask that is given

    A tensor becomes a function that looks into it: `[seq_len_q, seq_len_k, batch_size, 1]`.
    """
    mask = mask.expand(seq_len_q, -1, -1, -1).squeeze(-1)

    # If one mask is for all texts, the function doesn't look at the text.
    if mask.shape[2] == 1:
        return lambda b, h, i, j: mask[i, j, 0] & mask_mod(b, h, i, j)
    return lambda b, h, i, j: mask[i, j, b] & mask_mod(b, h, i, j)


def in_transformer(
    *, d_model: int, heads: int, dropout_prob: float, **_: float
) -> dict[str, Callable[[], nn.Module]]:
    r"""
    ## In a transformer

    With ALiBi in the place of added positions.
    """
    score_mod = add_distance(heads)
    return {
        "self_attn": lambda: FlexAttention(heads, d_model, dropout_prob, score_mod=score_mod),
        "positions": nn.Identity,
    }


def example(
    seq_len_q: int = 7, seq_len_k: int = 11, batch_size: int = 3, heads: int = 5, d_k: int = 2
) -> tuple[Tensor, ...]:
    r"""
    ## Example

    By hand, because the first call of FlexAttention takes seconds. A mask is given besides.
    """
    d_model = heads * d_k
    query = torch.randn(seq_len_q, batch_size, d_model)
    memory = torch.randn(seq_len_k, batch_size, d_model)
    mask = torch.rand(seq_len_q, seq_len_k, batch_size) < 0.5
    attention = FlexAttention(heads, d_model, score_mod=cap_softly(2.0), mask_mod=see_a_window(3))
    attention.keep_attn = True
    return attention(query=query, key=memory, value=memory, mask=mask), attention.attn
