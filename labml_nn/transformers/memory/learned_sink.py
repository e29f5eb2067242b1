r"""
---
title: A Sink That Is No Token
summary: One more score in the softmax of each head, so that a head may take nothing home.
paper:
  title: gpt-oss-120b and gpt-oss-20b Model Card
  authors: OpenAI
  year: 2025
  link: https://arxiv.org/abs/2508.10925
---

The weights of a softmax sum to one, so a head can't say that there is nothing for it. It puts its
weight on the first tokens instead, which then [must stay](sliding_window.py) in a window. If each
head has a sink of its own, which is no token, all tokens can go.

Head $h$ learns a score $s_h$, which takes part in the softmax and has no value:

$$
a_{ij} = \frac{e^{S_{ij}}}{e^{s_h} + \sum_k e^{S_{ik}}}
$$

The weights of the tokens sum to something between zero and one. At the start $s_h$ is zero, which
puts a one into the denominator, as Miller had proposed
([Attention Is Off By One](https://www.evanmiller.org/attention-is-off-by-one.html), 2023).

The page adds nothing but that to attention with a window. It leaves out the rest of the model: in
the paper every second layer has no window, and positions are rotary.
"""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from labml_nn.transformers.memory.sliding_window import RollingCache, SlidingWindowAttention


class LearnedSinkAttention(SlidingWindowAttention):
    r"""
    ## Attention with a window and a learned sink

    Its cache holds the window and nothing else. Sinks that are tokens can be had, too.
    """

    def __init__(self, heads: int, d_model: int, *options: float, **named: int) -> None:
        r"""
        * `heads`, `d_model`, `options` and `named` are as for
          [the window](sliding_window.py#SlidingWindowAttention)
        """
        super().__init__(heads, d_model, *options, **named)
        self.sinks = nn.Parameter(torch.zeros(heads))

    def weighted_mean(
        self, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None
    ) -> Tensor:
        r"""
        ### Scores, softmax and mean

        No kernel has to know of this. Queries get one more feature, $s_h$, and there is one more
        key, which has nothing but that feature:

        $$
        (Q_{ibh}, s_h) \cdot (0, 1) = s_h
        $$
        """
        # `[seq_len_q, batch_size, heads, d_k + 1]`
        score = self.sinks[:, None].to(query.dtype).expand(*query.shape[:-1], 1)
        query = torch.cat([query, score], dim=-1)

        # The other keys have zero there, and the value of the sink is zero everywhere.
        sink = F.pad(torch.zeros_like(key[:1]), (0, 1), value=1.0)
        key = torch.cat([F.pad(key, (0, 1)), sink])
        value = F.pad(value, (0, 1, 0, 0, 0, 0, 0, 1))

        # Everybody may see the sink: `[seq_len_q, seq_len_k + 1, batch_size, 1]`.
        if mask is not None:
            mask = F.pad(mask, (0, 0, 0, 0, 0, 1), value=True)
        mean = super().weighted_mean(query, key, value, mask)
        if self.attn is not None:
            self.attn = self.attn[:, :-1]
        return mean[..., :-1]


def in_transformer(
    *, d_model: int, heads: int, seq_len: int, dropout_prob: float, **_: float
) -> dict[str, Callable[[], nn.Module]]:
    r"""
    ## In a transformer

    A quarter of the context is the window, and no token stays.
    """
    window = max(1, seq_len // 4)
    return {
        "self_attn": lambda: LearnedSinkAttention(
            heads, d_model, dropout_prob, key_heads=heads, window=window
        )
    }


def example(
    seq_len: int = 7, batch_size: int = 3, key_heads: int = 5, d_k: int = 11
) -> tuple[Tensor, ...]:
    r"""
    ## Example

    A text at once, in both ways, and token by token.
    """
    heads, window = 2 * key_heads, 3
    d_model = heads * d_k
    seq_len_q = seq_len_k = seq_len
    attention = LearnedSinkAttention(heads, d_model, 0.0, key_heads=key_heads, window=window)
    x = torch.randn(seq_len_q, batch_size, d_model)
    mask = torch.ones(1, seq_len_k, batch_size, dtype=torch.bool)
    fused = attention(query=x, key=x, value=x, mask=mask)
    attention.keep_attn = True
    readable = attention(query=x, key=x, value=x, mask=mask)
    attention.keep_attn = False

    cache = RollingCache(batch_size, key_heads, window, 0, d_k)
    return fused, readable, torch.cat([attention.decode(token, cache) for token in x.split(1)])
