r"""
---
title: FlexAttention
summary: A kernel made to order, from a function for a score and a function for the mask.
paper:
  title: "Flex Attention: A Programming Model for Generating Optimized Attention Kernels"
  authors: Dong et al.
  year: 2024
  link: https://arxiv.org/abs/2412.05496
terms:
  FlexAttention: PyTorch's kernel that takes the change of a score as a function.
---

A *kernel* is a program that a GPU runs at one go. One that computes attention [in tiles](flash.py),
a block of queries against a block of keys at a time, never holds all scores, so Python can't change
them on the way. A variant of attention that bends scores, such as a [soft
cap](../variants/soft_cap.py), would need a kernel of its own, and few people can write one.
FlexAttention writes it, from [two functions](score_functions.py) that say what a variant does with
a single score.

Tiles in which the mask hides every score are not computed at all. Take 4,096 tokens and a
[window](sliding_window.py) of 128, in which each query sees the nearest keys alone. In tiles of 128
by 128 there are $32 \cdot 32 = 1024$ tiles. A row of them needs two, and the first row one: 63 are
computed, a sixteenth.

**In** and **out** are those of [multi-head attention](../mha.py).
"""

from collections.abc import Callable

import torch
from torch import Tensor, nn

from labml_nn.transformers.memory.score_functions import (
    MaskFunction,
    ScoreFunction,
    alibi,
    attend,
    indices,
    sliding_window,
    soft_cap,
)
from labml_nn.transformers.mha import MultiHeadAttention


def flex(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    score_mod: ScoreFunction | None,
    mask_mod: MaskFunction | None,
    compiled: bool = True,
) -> Tensor:
    r"""
    ## FlexAttention

    Takes and returns what [attend](score_functions.py#attend) does, without the attention weights.
    `score_mod` changes a score, and `mask_mod` says whether it counts. Without `torch.compile` it
    computes all scores: slow, but you can try out your functions.

    [64 positions in tiles of 8 under a window of 12: empty tiles are
    skipped](../../../results/memory_drawings.json#figures.block_mask)
    """
    # Imported here, because PyTorch 2.4 doesn't have it. All else on this page works without it.
    from torch.nn.attention.flex_attention import create_block_mask, flex_attention

    # First we find out which tiles have anything visible, so that the kernel can skip the others.
    # Without a mask function, every tile has something visible.
    block_mask = None
    if mask_mod is not None:
        # A mask that is the same for all sequences, or all heads, gives a tensor without that axis.
        # Then one map of tiles serves them all.
        visible = mask_mod(*indices(query[:, :, :1], key[:, :, :1]))

        # Missing axes have the length one: the causal mask looks at `i` and `j` alone, and one map
        # of tiles is enough for all heads of all sequences.
        n_sequences, n_heads = ([1] * (4 - visible.dim()) + list(visible.shape))[:2]
        sizes = n_sequences, n_heads, query.shape[2], key.shape[2]

        # For each tile: is all of it visible, a part, or nothing? Only in tiles that are visible in
        # part does the kernel call the mask function again.
        block_mask = create_block_mask(mask_mod, *sizes, device=query.device)

    # The kernel is made at the first call, which takes seconds, or minutes on a slow machine, and
    # again for other functions.
    if compiled:
        flex_attention = torch.compile(flex_attention)
    return flex_attention(query, key, value, score_mod=score_mod, block_mask=block_mask)


class FlexAttention(MultiHeadAttention):
    r"""
    ## Multi-head attention with two functions

    **Where it runs.** FlexAttention came with PyTorch 2.5, and it has to be compiled to be a
    kernel. On a CPU it has *no backward pass*, compiled or not. So the attention here computes [all
    scores at once](score_functions.py#attend), unless you ask for the kernel. The tests of this
    page compare FlexAttention without compiling it. (If you compile it on a CPU with PyTorch 2.13,
    a second kernel in the same process, for other functions, can fail to compile. Call
    `torch._dynamo.reset()` before it.) The page leaves out heads that share their keys, and how to
    keep a block mask for the next call.
    """

    def __init__(
        self,
        heads: int,
        d_model: int,
        dropout_prob: float = 0.0,
        bias: bool = True,
        score_mod: ScoreFunction | None = None,
        mask_mod: MaskFunction | None = None,
        kernel: bool = False,
    ) -> None:
        r"""
        * `dropout_prob` must be 0: no weights are dropped here
        * `score_mod` and `mask_mod` are the two functions
        * `kernel` is whether FlexAttention makes a kernel of them

        The other arguments are those of multi-head attention.
        """
        # PyTorch's FlexAttention has no argument for it. The numbers that decide what is dropped
        # would have to be drawn for each score, and again in the backward pass.
        if dropout_prob:
            raise ValueError(f"FlexAttention drops no weights, got {dropout_prob=}")
        # Projections and output layer are the usual ones, so trained weights fit.
        super().__init__(heads, d_model, 0.0, bias)

        # They have no weights: there is nothing to learn here and nothing to save.
        self.score_mod = score_mod
        self.mask_mod = mask_mod

        # Whether `forward` makes a kernel of them, or computes all scores at once.
        self.kernel = kernel

    def forward(
        self, *, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None
    ) -> Tensor:
        r"""
        The shapes are those of [multi-head attention](../mha.py#MultiHeadAttention.forward).
        """
        # A mask that is given becomes a function too: it looks into the tensor,
        # `[seq_len_q, seq_len_k, batch_size]`. If there is a mask function already, both must allow
        # a key.
        mask_mod = self.mask_mod
        if mask is not None:
            given = self.prepare_mask(mask, query.shape, key.shape).squeeze(-1)
            given = given.expand(len(query), len(key), query.shape[1])

            # A module without a mask function hides nothing by itself.
            own = self.mask_mod or (lambda b, h, i, j: True)
            mask_mod = lambda b, h, i, j: given[i, j, b] & own(b, h, i, j)  # noqa: E731

        # Batch and heads first: `[batch_size, heads, seq_len_q, d_k]`. These are views, so that no
        # number moves.
        q = self.query(query).permute(1, 2, 0, 3)
        k = self.key(key).permute(1, 2, 0, 3)
        v = self.value(value).permute(1, 2, 0, 3)

        # The same function in two ways. Both divide by $\sqrt{d_k}$. The kernel is for GPUs, where
        # it has a backward pass, too.
        if self.kernel:
            x = flex(q, k, v, self.score_mod, mask_mod)
        else:
            x, attn = attend(q, k, v, self.score_mod, mask_mod)

            # Here we have all weights and can keep them. The kernel never holds them.
            self.attn = attn.detach().permute(2, 3, 0, 1)

        # Back to the sequence first, and the heads side by side.
        return self.output(x.permute(2, 0, 1, 3).flatten(start_dim=2))


def in_transformer(*, d_model: int, heads: int, **_: float) -> dict[str, Callable[[], nn.Module]]:
    r"""
    ## In a transformer

    With ALiBi in the place of added positions.
    """
    # One function serves all layers: it has no weights.
    score_mod = alibi(heads)
    return {
        "self_attn": lambda: FlexAttention(heads, d_model, score_mod=score_mod),
        "positions": nn.Identity,
    }


def example(
    seq_len_q: int = 7, seq_len_k: int = 11, batch_size: int = 3, heads: int = 5, d_k: int = 2
) -> tuple[Tensor, Tensor | None]:
    r"""
    ## Example

    A [soft cap](../variants/soft_cap.py) (no score goes beyond it) and a window, and a mask
    besides. Without the kernel, which takes long to make.

    ### Exercises

    ??? question "Which of the two functions makes the kernel faster, and why?"
        The mask function: tiles that it hides as a whole are skipped. A score function has to be
        computed for every score of the others.

    ??? question "A window of 256 in a text of 4,096, tiles of 128: how many tiles are computed?"
        Three in each row, but one in the first and two in the second: 93 of 1,024.

    ??? question "Why does the given mask have to be a function for the kernel?"
        The kernel computes a tile of scores at a time, and asks whether each may be seen. A
        function can answer from the positions alone. Ours reads the tensor that was given, which
        costs memory traffic again.
    """
    # More keys than queries, as in cross-attention.
    d_model = heads * d_k
    query = torch.randn(seq_len_q, batch_size, d_model)
    memory = torch.randn(seq_len_k, batch_size, d_model)

    # Half of the keys are hidden at random, and of the others the window leaves at most three. A
    # query that sees none gets no value: only the bias of the output layer.
    mask = torch.rand(seq_len_q, seq_len_k, batch_size) < 0.5
    functions = {"score_mod": soft_cap(2.0), "mask_mod": sliding_window(3)}
    attention = FlexAttention(heads, d_model, **functions)
    return attention(query=query, key=memory, value=memory, mask=mask), attention.attn
