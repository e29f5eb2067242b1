r"""
---
title: Attention with Linear Biases
summary: A penalty on scores that grows with the distance, at another rate for each head.
paper:
  title: "Train Short, Test Long: Attention with Linear Biases Enables Input Length Extrapolation"
  authors: Press, Smith and Lewis
  year: 2021
  link: https://arxiv.org/abs/2108.12409
---

The simplest thing that [scores](../mha.py#MultiHeadAttention.get_scores) can be told about a
distance is that far is worse than near. ALiBi takes from each score the distance, times a slope
$m_h$ that belongs to the head and is not learned:

$$
S_{ijh} = \frac{q_i \cdot k_j}{\sqrt{d_k}} - m_h \, |i - j|
$$

A head with a steep slope sees a few neighbours, one with a gentle slope nearly everything. No
vector and no angle is ever new at a distance that never came up in training: the penalty just goes
on growing. So a model that was trained on short texts can be given long ones
([measured](extrapolation.py)). What it sees of them is mostly the near past.

The page departs from the paper in the future, which the paper never sees: here a key *after* the
query is as far as one before it. Nothing is left out.
"""

import math
from collections.abc import Callable

import torch
from torch import Tensor, nn

from labml_nn.transformers.fast_attention import is_causal, mean_of_values
from labml_nn.transformers.mha import MultiHeadAttention, causal_mask, check_shapes


def slopes(heads: int) -> list[float]:
    r"""
    ## Slopes

    For $n$ heads they are $2^{-8/n}, 2^{-16/n}, \ldots, 2^{-8}$: each is the one before it, times
    the same factor. That is for a power of two. For any other number the paper's authors take the
    slopes of the power of two below, and fill up with every other one of the power of two above,
    which lie between them.
    """
    if heads < 1:
        raise ValueError(f"heads must be at least 1, got {heads}")
    below = 2 ** int(math.log2(heads))
    main = [2 ** (-8 * (h + 1) / below) for h in range(below)]
    between = [2 ** (-4 * (h + 1) / below) for h in range(0, 2 * below, 2)]
    return main + between[: heads - below]


class AlibiAttention(MultiHeadAttention):
    r"""
    ## Attention with linear biases

    PyTorch's kernel adds what it is given, so the [fast way](../fast_attention.py) stays open. A
    penalty for each score would take more memory than all else, though. Under a causal mask none
    is [written down](alibi.py#AlibiAttention.penalties).
    """

    def __init__(
        self, heads: int, d_model: int, dropout_prob: float = 0.1, bias: bool = True
    ) -> None:
        r"""
        They are those of [attention](../mha.py#MultiHeadAttention).
        """
        super().__init__(heads, d_model, dropout_prob, bias)

        # Not learned and not saved, `[heads]`.
        self.register_buffer("slopes", torch.tensor(slopes(heads)), persistent=False)

    def penalties(
        self, seq_len_q: int, seq_len_k: int, dtype: torch.dtype, future: bool = True
    ) -> Tensor:
        r"""
        ### Penalties, the last query first

        A penalty depends on $i - j$ alone. If the queries stand in reverse order, and $r$ is the
        place of a query there, it depends on $r + j$. So each row is the one above it, moved by
        one place: every row is a window onto the *same* numbers, one for each distance. Three
        queries, the last of four positions, see these distances:

            3  2  1  0
               2  1  0 -1
                  1  0 -1 -2

        The result is a view with the shape `[heads, seq_len_q, seq_len_k]`. It is made for the
        lengths at hand and never kept: what was right for one batch is wrong for the next. The
        queries are the last positions of the keys' sequence. Without the `future`, keys that are
        later than a query are hidden.
        """
        # Whole numbers of 16 bits end early, so the product is made in at least 32.
        wide = torch.promote_types(dtype, torch.float32)
        far = torch.arange(seq_len_k - 1, -seq_len_q, -1, device=self.slopes.device)
        numbers = far.abs() * -self.slopes.to(wide)[:, None]
        if not future:
            numbers = numbers.masked_fill(far < 0, -math.inf)
        return numbers.unfold(1, seq_len_k, 1)

    def get_bias(self, query: Tensor, key: Tensor) -> Tensor:
        r"""
        ### Penalties for any mask

        All of them, for queries in their own order. All sequences have the same, so the axis of
        the batch has length one.
        """
        # The heads come first in memory, as the kernel reads them, and last on the page:
        # `[seq_len_q, seq_len_k, 1, heads]`
        penalties = self.penalties(len(query), len(key), query.dtype).flip(1)
        return penalties.permute(1, 2, 0).unsqueeze(2)

    def forward(
        self, *, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None
    ) -> Tensor:
        r"""
        ### Attend

        As [elsewhere](../mha.py#MultiHeadAttention.forward), to
        `[seq_len_q, batch_size, d_model]`. Under a causal mask, if it can be
        [recognised](../fast_attention.py#is_causal), queries go to the kernel in reverse order.
        """
        check_shapes(query.shape, key.shape, value.shape, self.d_model)
        causal = False
        if mask is not None and self.fused and not self.keep_attn and len(query) == len(key):
            seen = self.prepare_mask(mask, query.shape, key.shape)
            causal = is_causal(seen.permute(2, 3, 0, 1))
        if not causal:
            return super().forward(query=query, key=key, value=value, mask=mask)

        # No query is idle here: each sees itself.
        self.attn = None
        added = self.penalties(len(query), len(key), query.dtype, future=False)
        query, key, value = self.project(query, key, value)
        q, k, v = (t.permute(1, 2, 0, 3) for t in (query.flip(0), key, value))
        p = self.dropout.p if self.training else 0.0
        x = mean_of_values(q, k, v, added[None], p, self.kernel)

        # The order is put right at the very end, where no copy has to be kept for the way back.
        x = self.output(x.permute(2, 0, 1, 3).flatten(start_dim=2))
        return x.flip(0)


def moved_penalties(shift: int, seq_len_k: int = 7, heads: int = 5) -> Tensor:
    r"""
    ## Penalties see distance alone

    Those of the last `seq_len_k` positions of a text that has `shift` more before them. They are
    `[seq_len_k, seq_len_k, 1, heads]`, and always the same.
    """
    attention = AlibiAttention(heads, heads)
    text = torch.empty(shift + seq_len_k)
    return attention.get_bias(text, text)[shift:, shift:]


def in_transformer(
    *, d_model: int, heads: int, dropout_prob: float, **_: float
) -> dict[str, Callable[[], nn.Module]]:
    r"""
    ## In a transformer

    In the place of attention. Nothing is added to tokens any more.
    """
    return {
        "self_attn": lambda: AlibiAttention(heads, d_model, dropout_prob),
        "positions": nn.Identity,
    }


def example(
    seq_len_k: int = 7, seq_len_q: int = 2, batch_size: int = 3, heads: int = 5, d_k: int = 11
) -> tuple[Tensor, ...]:
    r"""
    ## Example

    A text under a causal mask, and its end alone, with the keys of all of it.
    """
    d_model = heads * d_k
    attention = AlibiAttention(heads, d_model)
    x = torch.randn(seq_len_k, batch_size, d_model)
    mask = causal_mask(seq_len_k)
    whole = attention(query=x, key=x, value=x, mask=mask)
    end = attention(query=x[-seq_len_q:], key=x, value=x, mask=mask[-seq_len_q:])
    return whole, end, moved_penalties(2, seq_len_k, heads)
