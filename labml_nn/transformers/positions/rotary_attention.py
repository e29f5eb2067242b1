r"""
---
title: Attention with Rotary Positions
summary: Multi-head attention that turns its queries and keys, with one table for all layers.
paper:
  title: "RoFormer: Enhanced Transformer with Rotary Position Embedding"
  authors: Su et al.
  year: 2021
  link: https://arxiv.org/abs/2104.09864
---

[Rotary positions](../rotary.py) have nothing to do with scores or softmax: queries and keys are
turned, and what follows is [attention](../mha.py) as it was, with its fast way. Values are not
turned. So what is handed over doesn't depend on the place, and what is looked for does.

There is *one* table of cosines and sines. Queries and keys need the same one, or else there would
be no distances, and all layers of a model can share it, because nothing in it is learned.

The place of a query is counted from the *end* of the keys. A text that is written token by token
has one new query and the keys of all tokens. If it were turned as position 0, everything would
seem to lie in its future.

The page leaves out the cache of keys. Keys go in there after they have been turned: their place
doesn't change any more.
"""

from collections.abc import Callable

import torch
from torch import Tensor, nn

from labml_nn.transformers.mha import MultiHeadAttention, causal_mask
from labml_nn.transformers.rotary import RotaryPositions


class RotaryAttention(MultiHeadAttention):
    r"""
    ## Attention with rotary positions
    """

    def __init__(
        self,
        heads: int,
        d_model: int,
        dropout_prob: float = 0.1,
        bias: bool = True,
        *,
        turn: RotaryPositions,
    ) -> None:
        r"""
        * `turn` is the table, for heads of this width; give the same one to all layers

        The others are those of [attention](../mha.py#MultiHeadAttention).
        """
        super().__init__(heads, d_model, dropout_prob, bias)
        if turn.d_k != self.d_k:
            raise ValueError(f"the heads have d_k={self.d_k}, the table is for d_k={turn.d_k}")
        self.turn = turn

    def project(self, query: Tensor, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        r"""
        ### Queries, keys and values of the heads

        The last query stands where the last key does. Should there be more queries than keys, it
        is the keys that begin later.
        """
        query, key, value = super().project(query, key, value)
        later = len(key) - len(query)
        return self.turn(query, max(later, 0)), self.turn(key, max(-later, 0)), value


def moved_output(shift: int, seq_len: int = 7, d_model: int = 6) -> Tensor:
    r"""
    ## The output sees distance alone

    That of the last `seq_len` positions of a text which has `shift` more before them that nobody
    may attend to: `[seq_len, 1, d_model]`, and always the same.
    """
    generator = torch.Generator().manual_seed(1)
    turn = RotaryPositions(d_model, shift + seq_len)
    attention = RotaryAttention(1, d_model, dropout_prob=0.0, turn=turn)
    for parameter in attention.parameters():
        nn.init.normal_(parameter, generator=generator)
    text = torch.randn(seq_len, 1, d_model, generator=generator)
    x = torch.cat([torch.zeros(shift, 1, d_model), text])
    hidden = torch.arange(shift + seq_len) < shift
    mask = causal_mask(shift + seq_len) & ~hidden[:, None]
    return attention(query=x, key=x, value=x, mask=mask)[shift:]


def in_transformer(
    *, d_model: int, heads: int, seq_len: int, dropout_prob: float, **_: float
) -> dict[str, Callable[[], nn.Module]]:
    r"""
    ## In a transformer

    In the place of attention, with a table for all layers. Nothing is added to tokens any more.
    """
    turn = RotaryPositions(d_model // heads, seq_len)
    return {
        "self_attn": lambda: RotaryAttention(heads, d_model, dropout_prob, turn=turn),
        "positions": nn.Identity,
    }


def example(
    seq_len: int = 7, n_new: int = 2, batch_size: int = 3, heads: int = 5, n_pairs: int = 11
) -> tuple[Tensor, ...]:
    r"""
    ## Example

    A text under a causal mask, and its end alone, with the keys of all of it.
    """
    d_k = 2 * n_pairs
    d_model = heads * d_k
    attention = RotaryAttention(heads, d_model, turn=RotaryPositions(d_k, seq_len))
    x = torch.randn(seq_len, batch_size, d_model)
    mask = causal_mask(seq_len)
    whole = attention(query=x, key=x, value=x, mask=mask)
    end = attention(query=x[-n_new:], key=x, value=x, mask=mask[-n_new:])
    return whole, end, moved_output(3, seq_len, d_model)
