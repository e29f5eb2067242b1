r"""
---
title: Fused Attention
summary: The same attention by one call of PyTorch's kernel, which needn't hold all scores.
paper:
  title: "FlashAttention: Fast and Memory-Efficient Exact Attention with IO-Awareness"
  authors: Dao et al.
  year: 2022
  link: https://arxiv.org/abs/2205.14135
terms:
  fused attention: Scores, softmax and weighted mean in one kernel.
---

[Multi-head attention](mha.py) makes a tensor of all scores, a number for each pair of positions and
each head, and another one of all weights. At 4,096 positions and 8 heads that is
$8 \cdot 4096^2 = 134$ million scores of 4 bytes: half a gigabyte for each of the two tensors and
each sequence, written to memory and read again several times.

PyTorch's “F.scaled_dot_product_attention” does scores, mask, softmax and average in one *kernel*, a
single program for the GPU or the CPU. It works block by block, and each of its workers holds one
block of scores at a time: with blocks of 64 by 64, 16 KB. How the result can still be exact is the
subject of [flash attention](memory/flash.py); here the kernel is only called.

[The memory of a training step, for multi-head attention (“sequence first”), three other ways to
write it, and the kernel](../../results/ways.json#figures.memory)

**In** and **out** are those of multi-head attention, and so are the parameters: load the weights of
one into the other, and the results are equal up to rounding.
"""

import torch
import torch.nn.functional as F
from torch import Tensor

from labml_nn.transformers.mha import MultiHeadAttention, causal_mask


class FusedAttention(MultiHeadAttention):
    r"""
    ## Fused attention

    Takes the place of [multi-head attention](mha.py#MultiHeadAttention).
    """

    def __init__(
        self,
        heads: int,
        d_model: int,
        dropout_prob: float = 0.1,
        bias: bool = True,
        is_causal: bool = False,
    ) -> None:
        r"""
        * `is_causal` hides the future without a mask. The kernel then skips the half of the scores
          that a mask would hide

        The other arguments are those of multi-head attention.
        """
        super().__init__(heads, d_model, dropout_prob, bias)

        # Only for self-attention: the flag puts the first query at the first key.
        self.is_causal = is_causal

    def forward(
        self, *, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None
    ) -> Tensor:
        r"""
        ### Attend

        With `is_causal`, a mask as well is a `ValueError`. On a CPU, PyTorch combines the two if no
        weights are dropped, and refuses them otherwise.

        The arguments and the result are `[seq_len, batch_size, ...]`, as in multi-head attention.
        """
        # If one of the two were ignored, a mask for padding might be lost and nobody would notice.
        if self.is_causal and mask is not None:
            raise ValueError("is_causal=True hides the future already: pass no mask")

        # The kernel wants the batch and the heads first, `[batch_size, heads, seq_len, d_k]`. A
        # permuted tensor is a view: no number moves.
        q = self.query(query).permute(1, 2, 0, 3)
        k = self.key(key).permute(1, 2, 0, 3)
        v = self.value(value).permute(1, 2, 0, 3)

        # Its mask has that order, too, `[1, 1, seq_len, seq_len]`: one for the whole batch and all
        # heads. True means visible there as here.
        if mask is not None:
            mask = self.prepare_mask(mask, query.shape, key.shape).permute(2, 3, 0, 1)

        # The kernel divides by $\sqrt{d_k}$ itself, so the query isn't scaled here. It knows no
        # modules, so it has to be told that outside training no weights are dropped. Where they
        # are, a CPU takes PyTorch's plain kernel, which holds all scores.
        dropout = self.dropout.p if self.training else 0.0
        x = F.scaled_dot_product_attention(q, k, v, mask, dropout, self.is_causal)

        # Back to the sequence first, and the heads side by side. The last projection mixes what
        # the heads have found.
        return self.output(x.permute(2, 0, 1, 3).flatten(start_dim=2))


def example(
    seq_len: int = 7, batch_size: int = 3, heads: int = 5, d_k: int = 2
) -> tuple[Tensor, Tensor]:
    r"""
    ## Example

    The causal mask as a mask, and as a flag.

    ### What you lose

    There are no weights to look at (`attn` stays empty), [scores of a variant's
    own](mha.py#MultiHeadAttention.get_scores) are never computed, and shapes aren't checked. Keys
    and values of one sequence are broadcast to a batch. And on a CPU, the kernel takes the number
    of keys from the *values*. Five keys and three values: two keys are left out. Three keys and
    five values: it reads two more keys from memory, whatever is there, and says nothing.

    In training on a CPU, dropout costs what the kernel saves: with 1,024 positions, 8 heads and 64
    features, the largest tensor that is kept for the backward pass has 8.4 million numbers, all
    scores. With `dropout_prob=0` it has 65,536, as many as the input.

    ### Exercises

    ??? question "Mask and flag give the same. Which is faster on a long sequence, and why?"
        The one with the flag. To the kernel a mask is a tensor like any other, and it computes a
        score before it hides it. From the flag it knows which blocks of scores it can skip.

    ??? question "A mask hides every key from one query. What does the kernel return for it?"
        Zero, as multi-head attention does: the output is then the bias of the last projection.

    ??? question "Which variants of attention can't use this kernel?"
        Those that bend scores, as a soft cap does. The kernel can scale scores, and add a mask of
        numbers to them, though this class takes only true and false. For the rest there is
        [FlexAttention](memory/flex.py).
    """
    # Self-attention: one tensor is query, key and value.
    x = torch.randn(seq_len, batch_size, heads * d_k)
    # One gets a mask, the other one has the flag. Their weights are different, and dropout is on:
    # only the shapes can be compared here.
    masked = FusedAttention(heads, heads * d_k)
    causal = FusedAttention(heads, heads * d_k, is_causal=True)
    return masked(query=x, key=x, value=x, mask=causal_mask(seq_len)), causal(
        query=x, key=x, value=x
    )
