r"""
---
title: Other Ways at the Seam
summary: An attention with the batch first, and without a mask, in a transformer that has neither.
---

The layers of this site call [attention](../mha.py#MultiHeadAttention.forward) with a query, a key,
a value and a mask, and have positions on the first axis. The other ways to write it take one
sequence, with the batch first, and some make their mask themselves. These few lines stand between:
they turn the axes, and refuse what the attention behind them can't do.
"""

import torch
from torch import Tensor, nn

from labml_nn.transformers.mha import causal_mask


class SelfAttentionAtTheSeam(nn.Module):
    r"""
    ## Self-attention with the batch first

    Turns the axes, there and back. Neither turn moves a number. What is done with the mask is left
    to a subclass.
    """

    def __init__(self, attention: nn.Module) -> None:
        r"""
        * `attention` is what stands behind the seam
        """
        super().__init__()
        self.attention = attention

    def attend(self, x: Tensor, mask: Tensor | None) -> Tensor:
        r"""
        ### Call what stands behind

        `x` and the result have the batch first. The mask is still as it came.
        """
        raise NotImplementedError

    def forward(
        self, *, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None
    ) -> Tensor:
        r"""
        ### Attend

        `query` and the result are `[seq_len, batch_size, d_model]`. `key` and `value` must be the
        query itself: anything else is a `ValueError`, because it would not be looked at.
        """
        if query is not key or query is not value or query.dim() != 3:
            raise ValueError(
                "self-attention takes one tensor [seq_len, batch_size, d_model] as query, key "
                f"and value, got query {list(query.shape)}, key {list(key.shape)} and value "
                f"{list(value.shape)}{', three tensors' if query.shape == key.shape else ''}"
            )
        return self.attend(query.transpose(0, 1), mask).transpose(0, 1)


class CausalAtTheSeam(SelfAttentionAtTheSeam):
    r"""
    ## Self-attention that is causal by itself

    For an attention that takes a sequence and nothing else. To be given a mask and never look at it
    is a classic mistake. So it is compared with the only one that this attention can do.
    """

    def attend(self, x: Tensor, mask: Tensor | None) -> Tensor:
        r"""
        ### Compare the mask

        It must be the [causal mask](../mha.py#causal_mask), `[seq_len, seq_len, 1]`, and any other
        is a `ValueError`. On a graphics card the comparison waits for the card: a price for safety
        that a way that is made for reading can pay.
        """
        seq_len = x.shape[1]
        if mask is None or not torch.equal(mask, causal_mask(seq_len, x.device)):
            got = "none" if mask is None else f"another one, {mask.dtype} {list(mask.shape)}"
            raise ValueError(
                f"this attention has a causal mask of its own, [{seq_len}, {seq_len}, 1], and "
                f"can do no other: pass causal_mask({seq_len}), got {got}"
            )
        return self.attention(x)


def example(seq_len: int = 7, batch_size: int = 3, d_model: int = 5) -> Tensor:
    r"""
    ## Example

    What stands behind the seam is no attention here, but it gets what one would get.
    """
    attention = CausalAtTheSeam(nn.Linear(d_model, d_model))
    x = torch.randn(seq_len, batch_size, d_model)
    return attention(query=x, key=x, value=x, mask=causal_mask(seq_len))
