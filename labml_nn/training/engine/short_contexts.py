r"""
---
title: Attention in 16 Bits on a CPU
summary: Plain matrix products where they take less time than the fused kernel.
---

On a CPU, PyTorch's [fused kernel](../../transformers/fused_attention.py) is made for long
sequences. In 32 bits it is the fastest for short ones, too. In `bfloat16` it isn't: with 64
positions its backward pass takes several times as long as in 32 bits. The two matrix products and
the softmax that [multi-head attention](../../transformers/mha.py) is made of take less time then,
though they write all scores to memory: with 4 heads, $4 \cdot 64^2 = 16384$ numbers for each
sequence. So the function below chooses by device, type and length, and two classes call it. Their
parameters and, up to rounding, their results are those of the attentions that they extend.

**In** and **out** are those of these attentions, and the mask is always the causal one.
"""

import math

import torch
import torch.nn.functional as F
from torch import Tensor

from labml_nn.transformers.fused_attention import FusedAttention
from labml_nn.transformers.modern.attention import ModernAttention

# From about this length on the kernel won where we measured. On another processor it won at 256
# already.
LONG = 512


def causal_attention(
    q: Tensor, k: Tensor, v: Tensor, scale: float | None = None, dropout_prob: float = 0.0
) -> Tensor:
    r"""
    ## Causal attention

    * `q`, `k`, `v` and the result are `[batch_size, heads, seq_len, d_k]`
    * `scale` is what scores are multiplied by; by default $1 / \sqrt{d_k}$
    * `dropout_prob` is the probability of dropping a weight
    """
    # Inside [autocast](../device.py#autocast) all three are 16-bit numbers, as the projections made
    # them.
    seq_len, d_k = q.shape[-2:]
    if v.device.type != "cpu" or v.dtype is not torch.bfloat16 or seq_len >= LONG:
        return F.scaled_dot_product_attention(q, k, v, None, dropout_prob, True, scale=scale)

    # All scores at once, `[batch_size, heads, seq_len, seq_len]`, in 32 bits, as in the kernel: of
    # a score of 5, 16 bits keep steps of 0.03. The query is scaled, not the scores: where the
    # sequence is longer than $d_k$, it has fewer numbers.
    with torch.autocast("cpu", enabled=False):
        scores = (q.float() * (scale or 1 / math.sqrt(d_k))) @ k.float().mT

        # A query sees the keys up to its own position. Above the diagonal there is the future.
        future = torch.ones(seq_len, seq_len, dtype=torch.bool).triu(1)
        weights = scores.masked_fill(future, -math.inf).softmax(dim=-1)

        # The weighted mean of the values may be rough, so the weights go back to 16 bits.
        return F.dropout(weights, dropout_prob).to(v.dtype) @ v


class CausalAttention(FusedAttention):
    r"""
    ## For the classic transformer
    """

    def forward(
        self, *, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None
    ) -> Tensor:
        # The model's mask is causal, too, and isn't read.
        # The batch and the heads go first, as in [fused
        # attention](../../transformers/fused_attention.py#FusedAttention.forward).
        q = self.query(query).permute(1, 2, 0, 3)
        k = self.key(key).permute(1, 2, 0, 3)
        v = self.value(value).permute(1, 2, 0, 3)

        # Outside training no weights are dropped.
        dropout_prob = self.dropout.p if self.training else 0.0
        x = causal_attention(q, k, v, dropout_prob=dropout_prob)

        # Back: the sequence first, the heads side by side, and mixed.
        return self.output(x.permute(2, 0, 1, 3).flatten(start_dim=2))


class CausalModernAttention(ModernAttention):
    r"""
    ## For the modern transformer
    """

    def forward(self, x: Tensor, first_value: Tensor | None) -> tuple[Tensor, Tensor]:
        # The steps before and after are explained [on its
        # page](../../transformers/modern/attention.py#ModernAttention.forward).
        query = self.query(x)
        key = self.key(x)
        value = self.value(x)
        if self.mix is not None and first_value is not None:
            value = torch.lerp(first_value, value, self.mix.sigmoid().to(value.dtype))

        # Only this call differs.
        query = query.permute(1, 2, 0, 3)
        key = key.permute(1, 2, 0, 3)
        # (The value is returned as it was.)
        by_head = value.permute(1, 2, 0, 3)
        x = causal_attention(query, key, by_head, self.scale)
        return self.output(x.permute(2, 0, 1, 3).flatten(start_dim=2)), value


def example(
    batch_size: int = 3, heads: int = 5, seq_len: int = 7, d_k: int = 2
) -> tuple[Tensor, Tensor]:
    r"""
    ## Example

    By the kernel and, in 16 bits, by products.

    ### Exercises

    ??? question "The context is 64, on a GPU, in `bfloat16`. Which of the two computes?"
        The kernel. On a GPU the function calls it for every length: what is slow is the kernel for
        CPUs.

    ??? question "Twice the context: how many more scores do the products write, and the kernel?"
        The products four times as many. The kernel keeps a block of them, of a bounded size.

    ??? question "What happens to a mask for padding that is passed to `CausalAttention`?"
        It is ignored: the future is hidden and nothing else. The models are trained on windows of a
        text, which have no padding.
    """
    # With the same numbers, the results agree to about two digits.
    q, k, v = torch.randn(3, batch_size, heads, seq_len, d_k)
    return causal_attention(q, k, v), causal_attention(*(t.bfloat16() for t in (q, k, v)))
