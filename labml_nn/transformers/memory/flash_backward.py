r"""
---
title: Flash Attention, Backward
summary: The gradients of attention a tile at a time, from scores that are computed a second time.
paper:
  title: "FlashAttention-2: Faster Attention with Better Parallelism and Work Partitioning"
  authors: Tri Dao
  year: 2023
  link: https://arxiv.org/abs/2307.08691
---

[Tiles](flash.py) never hold all scores in the forward pass. But the backward pass needs the weights
of every tile, so PyTorch keeps them until then, and hardly anything is saved in training.

The way out is to compute them *again*. Keep one number for each query: say that its scores were 1,
3 and 5, then $L = \ln(e^1 + e^3 + e^5) = 5.143$. When a tile comes back in the backward pass with
the score 3, its weight is $e^{3 - 5.143} = 0.117$, without a look at the other tiles.

Also kept are the queries, keys, values and results, and the mask that was given. All but the mask
grow with the length of the text and not with its square. Of 2,048 positions with four heads,
multi-head attention keeps
[144.70](../../../results/family_drawings.json#tables.backward.2048.plain) MB for its backward pass,
and this page [2.13](../../../results/family_drawings.json#tables.backward.2048.tiles) MB.

[What is kept of so many positions for the backward
pass](../../../results/family_drawings.json#figures.kept)

**In** and **out** are those of [attention in tiles](flash.py#online_softmax). Scores that are
computed twice cost multiplications, and still the kernels are faster than attention that writes its
scores to memory (section 4 of the paper).
"""

from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.autograd.function import FunctionCtx, once_differentiable

from labml_nn.transformers.memory.flash import TiledAttention, blocks, online_softmax, visible_tiles
from labml_nn.transformers.mha import causal_mask


class Tiled(torch.autograd.Function):
    r"""
    ## A function with a backward pass of its own
    """

    @staticmethod
    def forward(
        ctx: FunctionCtx, query: Tensor, key: Tensor, value: Tensor, mask: Tensor, size: int
    ) -> Tensor:
        r"""
        The result is `[batch_size, heads, seq_len, d_k]`, as `query`, `key` and `value` are.
        """
        # In here PyTorch records no operations for its own backward pass, so no tile is kept.
        out, log_sums = online_softmax(query, key, value, mask, size)

        # These grow with the length of the text and not with its square, but for the mask.
        ctx.save_for_backward(query, key, value, mask, out, log_sums)
        ctx.size = size
        return out

    @staticmethod
    @once_differentiable
    def backward(ctx: FunctionCtx, grad: Tensor) -> tuple[Tensor | None, ...]:
        r"""
        ### Backward pass

        $$
        \partial S_{ij} = P_{ij} \left( \partial P_{ij} - D_i \right) \qquad
        D_i = \sum_j P_{ij} \, \partial P_{ij} = \sum_d O_{id} \, \partial O_{id}
        $$

        $S_{ij}$ is the score of query $i$ and key $j$, $P_{ij}$ its weight, $O$ the result, and
        $\partial$ marks the gradient of the loss by each. $L_i = \ln \sum_j e^{S_{ij}}$ is the
        number that is kept of each query.
        """
        # The gradients of query, key and value, which grow tile by tile.
        query, key, value, mask, out, log_sums = ctx.saved_tensors
        d_query, d_key, d_value = map(torch.zeros_like, (query, key, value))

        # The gradient of a softmax has a sum over all keys in it, $D$, one number for each query.
        # It needs no tiles: it equals the dot product of the output with its gradient.
        product = (out * grad).sum(dim=-1, keepdim=True)
        for rows in blocks(query.shape[2], ctx.size):
            for columns, visible, scores in visible_tiles(rows, query, key, mask, ctx.size):
                # The scores once more, and from them the final weights, $P = e^{S - L}$.
                weights = (scores - log_sums[:, :, rows]).exp().masked_fill(~visible, 0)

                # Backward through the average of the values.
                d_value[:, :, columns] += weights.mT @ grad[:, :, rows]
                d_weights = grad[:, :, rows] @ value[:, :, columns].mT

                # Backward through the softmax: the formula above.
                d_scores = weights * (d_weights - product[:, :, rows])

                # Backward through the scores. Each block of keys gets a part from each block of
                # queries that sees it.
                d_query[:, :, rows] += d_scores @ key[:, :, columns]
                d_key[:, :, columns] += d_scores.mT @ query[:, :, rows]

        # Mask and size get none.
        return d_query, d_key, d_value, None, None


class FlashAttention(TiledAttention):
    r"""
    ## Flash attention
    """

    def attend(self, query: Tensor, key: Tensor, value: Tensor, mask: Tensor) -> Tensor:
        # What [attention in tiles](flash.py#TiledAttention) does here with PyTorch's backward pass.
        # `apply` calls `forward` now, and `backward` as soon as gradients are wanted.
        return Tiled.apply(query, key, value, mask, self.size)


def in_transformer(
    *, d_model: int, heads: int, seq_len: int, **_: float
) -> dict[str, Callable[[], nn.Module]]:
    r"""
    ## In a transformer

    In two by two tiles, of which one lies in the future and is skipped. There is no dropout.
    """
    # Half of the positions in a block, rounded up.
    return {"self_attn": lambda: FlashAttention(heads, d_model, size=(seq_len + 1) // 2)}


def example(seq_len: int = 7, batch_size: int = 3, heads: int = 5, d_k: int = 2) -> Tensor:
    r"""
    ## Example

    Forward and backward, in tiles of three positions.

    ### How it was counted

    The mask that is given counts for neither of the two numbers above. The first has 8 MB of masks
    that are made of it. The page follows Algorithm 2 of the paper, but its outer loop is over
    queries; the paper's is over keys.

    ### Exercises

    ??? question "Which tensors of the backward pass are as large as the text is long, squared?"
        None but the mask. Weights, their gradients and those of the scores exist for one tile at a
        time.

    ??? question "Forget the factor $P_{ij}$ in the formula. Which keys get a wrong gradient?"
        Nearly all. A hidden key has the weight zero, and would get a gradient all the same.

    ??? question "The forward pass has a maximum $m$ and a sum $l$ of each query. Why is $L$ kept?"
        $e^{S - m} / l = e^{S - (m + \ln l)} = e^{S - L}$, so one number does the work of two.
    """
    # Blocks of 3, 3 and 1 positions.
    d_model = heads * d_k
    attention = FlashAttention(heads, d_model, size=3)

    # The gradients of the input are wanted, too.
    x = torch.randn(seq_len, batch_size, d_model, requires_grad=True)
    out = attention(query=x, key=x, value=x, mask=causal_mask(seq_len))

    # Computes every score a second time.
    out.sum().backward()
    return out
