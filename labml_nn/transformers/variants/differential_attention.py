r"""
---
title: Differential Attention
summary: Two maps of attention, one taken off the other, so that what both share cancels out.
paper:
  title: Differential Transformer
  authors: Ye et al.
  year: 2024
  link: https://arxiv.org/abs/2410.05258
---

A softmax gives every visible key some weight, and over a long text the many small weights of what
doesn't matter add up. An amplifier has a trick against noise: it takes in the signal twice
and puts out the *difference*, in which the noise that both have is gone. Here a head has two
queries and two keys, hence two maps of weights over the same values, and subtracts one from the
other:

$$
\text{head} = (1 - \lambda_{init}) \operatorname{RMSNorm}\!\left(
\left( \operatorname{softmax}\frac{Q_1 K_1^\top}{\sqrt{d}} -
\lambda \operatorname{softmax}\frac{Q_2 K_2^\top}{\sqrt{d}} \right) V \right)
$$

$d$ is half the width of a head's values. So a head costs as much as *two* heads of plain
[attention](../mha.py), and a model has half as many. The rows of the difference sum to
$1 - \lambda$, weights can be negative, and the size of what comes out depends on how much the
maps cancel. That is why each head is [normalised](../rms_norm.py) by itself.

The page departs from the paper in two small things. The normalisation has no gains, which the
output layer can learn as well, and the layers can have biases. The paper says nothing of dropping
weights; here each map drops its own. [Rotary positions](../rotary.py) are left out.
"""

import itertools
import math
from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from labml_nn.transformers.fast_attention import mean_of_values
from labml_nn.transformers.mha import MultiHeadAttention, causal_mask, check_shapes
from labml_nn.transformers.rms_norm import rms_norm


def first_lambda(depth: int) -> float:
    r"""
    ## How much is subtracted at first

    $$
    \lambda_{init} = 0.8 - 0.6\, e^{-0.3 (l - 1)}
    $$

    in layer $l$, counted from 1: 0.2 in the first layer, towards 0.8 in deep ones.
    """
    if depth < 1:
        raise ValueError(f"layers are counted from 1, got depth={depth}")
    return 0.8 - 0.6 * math.exp(-0.3 * (depth - 1))


class DifferentialAttention(MultiHeadAttention):
    r"""
    ## Differential attention

    The projections are those of plain attention. Each head's queries and keys are cut in two.
    """

    def __init__(
        self,
        heads: int,
        d_model: int,
        dropout_prob: float = 0.1,
        bias: bool = True,
        depth: int = 1,
        eps: float = 1e-5,
    ) -> None:
        r"""
        * `heads` is the number of differences; twice this number must divide `d_model`
        * `depth` is the number of the layer in its model, the first being 1
        * `eps` is that of the normalisation

        The others are those of [MultiHeadAttention](../mha.py#MultiHeadAttention.__init__).
        """
        super().__init__(heads, d_model, dropout_prob, bias)
        if self.d_k % 2:
            raise ValueError(
                "d_model must be a multiple of twice the heads, "
                f"got d_model={d_model} and heads={heads}"
            )
        self.eps = eps
        self.lambda_init = first_lambda(depth)

        # The paper makes $\lambda$ of exponentials of products, as the weights of a map are made,
        # so that it learns at their pace. The second rows belong to the second map.
        self.lambda_query = nn.Parameter(0.1 * torch.randn(2, self.d_k // 2))
        self.lambda_key = nn.Parameter(0.1 * torch.randn(2, self.d_k // 2))

    def subtracted_share(self) -> Tensor:
        r"""
        ### Lambda

        $$
        \lambda = e^{\lambda_{q1} \cdot \lambda_{k1}} - e^{\lambda_{q2} \cdot \lambda_{k2}} +
        \lambda_{init}
        $$

        One number for all heads of the layer.
        """
        first, second = (self.lambda_query * self.lambda_key).sum(dim=-1).exp()
        return first - second + self.lambda_init

    def forward(
        self, *, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None
    ) -> Tensor:
        r"""
        ### Attend twice

        `query` and the result are `[seq_len_q, batch_size, d_model]`, `key` and `value` are
        `[seq_len_k, batch_size, d_model]`, and `mask` is as for
        [MultiHeadAttention](../mha.py#MultiHeadAttention.prepare_mask). A query that may attend to
        nothing gets zero from every head.
        """
        check_shapes(query.shape, key.shape, value.shape, self.d_model)
        if mask is not None:
            mask = self.prepare_mask(mask, query.shape, key.shape)

        # A half has $d$ features, so that is what its scores are scaled by.
        query = self.query(query) / math.sqrt(self.d_k // 2)
        key = self.key(key)
        value = self.value(value)

        # As in plain attention, an idle query becomes zero, sees all, and gets nothing.
        has_key = None
        if mask is not None:
            has_key = mask.any(dim=1, keepdim=True)
            query = query * has_key.transpose(1, 2)
            mask = mask | ~has_key

        # The means are as wide as the values: `[seq_len_q, batch_size, heads, d_k]`.
        self.attn = None
        halves = zip(query.chunk(2, dim=-1), key.chunk(2, dim=-1), strict=True)
        way = self.fused_mean if self.fused and not self.keep_attn else self.readable_mean
        first, second = (way(q, k, value, mask) for q, k in halves)
        x = first - self.subtracted_share() * second

        # The factor is what a head is left with on average at the start; it stays fixed, so that
        # gradients have the sizes that plain attention would give them.
        x = (1 - self.lambda_init) * rms_norm(x, self.eps)
        if has_key is not None:
            x = x * has_key.transpose(1, 2)
            self.attn = None if self.attn is None else self.attn * has_key
        return self.output(x.flatten(start_dim=2))

    def fused_mean(self, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None) -> Tensor:
        r"""
        ### One map, fast

        `[seq_len_q, batch_size, heads, d_k]`, from halves and whole values. The quick kernels want
        queries and keys as wide as values. So they get zeros, which are in no product.
        """
        query, key = (F.pad(half, (0, half.shape[-1])) for half in (query, key))
        q, k, v = (t.permute(1, 2, 0, 3) for t in (query, key, value))
        allowed = None if mask is None else mask.permute(2, 3, 0, 1)
        p = self.dropout.p if self.training else 0.0
        return mean_of_values(q, k, v, allowed, p, self.kernel).permute(2, 0, 1, 3)

    def readable_mean(
        self, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None
    ) -> Tensor:
        r"""
        ### One map, written out

        The same. With `keep_attn` set, `attn` becomes the *difference* of the two maps.
        """
        scores = self.get_scores(query, key)
        if mask is not None:
            scores = scores.masked_fill(~mask, -math.inf)
        attn = scores.softmax(dim=1)

        # The first map comes first, and the second is taken off it.
        if self.keep_attn and self.attn is None:
            self.attn = attn.detach()
        elif self.keep_attn:
            self.attn = self.attn - (self.subtracted_share() * attn).detach()
        return torch.einsum("ijbh,jbhd->ibhd", self.dropout(attn), value)


def in_transformer(
    *, d_model: int, heads: int, dropout_prob: float, **_: float
) -> dict[str, Callable[[], nn.Module]]:
    r"""
    ## In a transformer

    With half as many heads as the [transformer that
    writes](../basic/autoregressive_experiment.py) has. Its layers are made from the first to the
    last, so counting tells each its depth.
    """
    depths = itertools.count(1)
    return {
        "self_attn": lambda: DifferentialAttention(
            max(1, heads // 2), d_model, dropout_prob, depth=next(depths)
        )
    }


def example(
    seq_len_q: int = 7, seq_len_k: int = 11, batch_size: int = 3, heads: int = 5, d_half: int = 2
) -> tuple[Tensor, ...]:
    r"""
    ## Example

    Both ways, over a memory of which the last position is hidden. Rows of the
    difference sum to $1 - \lambda$.
    """
    d_k = 2 * d_half
    d_model = heads * d_k
    attention = DifferentialAttention(heads, d_model, depth=3)
    x = torch.randn(seq_len_q, batch_size, d_model)
    memory = torch.randn(seq_len_k, batch_size, d_model)
    mask = causal_mask(seq_len_k)[-2:-1]
    fused = attention(query=x, key=memory, value=memory, mask=mask)

    attention.keep_attn = True
    readable = attention(query=x, key=memory, value=memory, mask=mask)
    row_sums = attention.attn.sum(dim=1)
    return fused, readable, row_sums
