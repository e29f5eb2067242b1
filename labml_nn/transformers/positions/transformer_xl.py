r"""
---
title: Relative Positions of Transformer-XL
summary: Scores from sines of the distance, and biases that stand in for the query's own position.
paper:
  title: "Transformer-XL: Attentive Language Models Beyond a Fixed-Length Context"
  authors: Dai et al.
  year: 2019
  link: https://arxiv.org/abs/1901.02860
---

If [sines of the position](../positional_encoding.py) are added to tokens, a score has four parts:
content with content, content with position, position with content, and position with position.
Transformer-XL keeps the four and takes every trace of a *place* out of them (section 3.3 of the
paper):

$$
S_{ij} \sqrt{d_k} = q_i \cdot k_j + q_i \cdot r_{i-j} + u \cdot k_j + v \cdot r_{i-j}
$$

* The position of the key becomes the distance, $r_{i-j} = W_R \, PE_{i-j}$: sines of it, with a
  projection of their own. There is one for any distance, and no table that could end.
* The position of the query becomes two learned vectors for each head, because wherever a query
  stands, it should look for the same things: $u$ says which keys are worth seeing anyway, and $v$
  which distances are.

The paper needs this for its *memory*: states of the text before are more keys, and what was
position 3 then must not be taken for position 3 now.

The page leaves out the memory itself; give it as the first of the keys. It departs from the
paper in two things: all layers have a $u$ and a $v$ of their own, and distances into the future
are computed as well, so that no score is wrong without a mask.
"""

import math
from collections.abc import Callable

import torch
from torch import Tensor, nn

from labml_nn.transformers.mha import (
    MultiHeadAttention,
    PrepareForMultiHeadAttention,
    causal_mask,
)
from labml_nn.transformers.positional_encoding import frequencies


def encode_distances(d_model: int, seq_len_q: int, seq_len_k: int, like: Tensor) -> Tensor:
    r"""
    ## Sines of all distances

    From the longest one, that of the last query to the first key, to one beyond that of the first
    query to the last key, which is in the future: `[n_distances, d_model]`. They are computed for
    the lengths at hand, in double precision, and have the device and the type of `like`.
    """
    far = torch.arange(seq_len_k - 1, -seq_len_q - 1, -1, dtype=torch.float64, device=like.device)
    turns = far[:, None] * frequencies(d_model).to(like.device)

    # First all the sines, then the cosines, of which an odd width has one less.
    return torch.cat([turns.sin(), turns.cos()[:, : d_model // 2]], dim=-1).to(like.dtype)


def shift_rows(x: Tensor, seq_len_k: int) -> Tensor:
    r"""
    ## The relative shift

    `x` is `[..., seq_len_q, n_distances]`: each query has its scores with all distances, the
    longest one first, and needs `seq_len_k` of them, which begin one place further left in each
    row. With three queries, the last of four positions, these are the numbers in brackets:

         3   2 [ 1   0  -1  -2] -3
         3 [ 2   1   0  -1] -2  -3
        [3   2   1   0] -1  -2  -3

    Nothing has to be copied for that. Read on without the first two numbers, in rows that are
    shorter by one, and what is needed stands at the left:

        [1   0  -1  -2] -3   3
        [2   1   0  -1] -2  -3
        [3   2   1   0] -1  -2

    The last distance is not used. Without it the rows of a single query would be too short.
    """
    seq_len_q, n_distances = x.shape[-2:]
    numbers = x.flatten(start_dim=-2)[..., seq_len_q - 1 : -1]
    return numbers.unflatten(-1, (seq_len_q, n_distances - 1))[..., :seq_len_k]


class TransformerXLAttention(MultiHeadAttention):
    r"""
    ## Attention with relative positions

    Two of the four parts are a product of queries and keys, the other two are added to it, so
    PyTorch's [kernel](../fast_attention.py) can do this.
    """

    def __init__(
        self, heads: int, d_model: int, dropout_prob: float = 0.1, bias: bool = True
    ) -> None:
        r"""
        They are those of [attention](../mha.py#MultiHeadAttention).
        """
        super().__init__(heads, d_model, dropout_prob, bias)
        self.distance = PrepareForMultiHeadAttention(d_model, heads, self.d_k, bias=False)

        # The paper's $u$ and $v$, `[heads, d_k]`. As in its authors' code, they start small.
        self.content_bias = nn.Parameter(0.02 * torch.randn(heads, self.d_k))
        self.distance_bias = nn.Parameter(0.02 * torch.randn(heads, self.d_k))

    def project(self, query: Tensor, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        r"""
        ### Queries, keys and values of the heads

        With $u$ in the queries, the product with the keys is the first and the third part.
        """
        query, key, value = super().project(query, key, value)
        content = self.content_bias / math.sqrt(self.d_k)
        return query + content.to(query.dtype), key, value

    def get_bias(self, query: Tensor, key: Tensor) -> Tensor:
        r"""
        ### Scores of the distances

        The second and the fourth part, `[seq_len_q, seq_len_k, batch_size, heads]`.
        """
        seq_len_k, weight = len(key), self.distance.linear.weight
        r = self.distance(encode_distances(weight.shape[1], len(query), seq_len_k, weight))

        # Here it is $v$ that belongs to the queries, and not $u$, which they have already.
        instead = (self.distance_bias - self.content_bias) / math.sqrt(self.d_k)
        query = query + instead.to(query.dtype)

        # The few scores that there are, `[batch_size, heads, seq_len_q, n_distances]`, and where
        # they belong.
        scores = torch.einsum("ibhd,rhd->bhir", query, r)
        return shift_rows(scores, seq_len_k).permute(2, 3, 0, 1)


def moved_distance_scores(shift: int, seq_len_q: int = 7) -> Tensor:
    r"""
    ## Scores see distance alone

    What the distances add to the scores of the last `seq_len_q` positions of a text that has
    `shift` more before them: `[seq_len_q, seq_len_q]`, and always the same. There is no greatest
    length.
    """
    generator = torch.Generator().manual_seed(1)
    attention = TransformerXLAttention(1, 4)
    for parameter in attention.parameters():
        nn.init.normal_(parameter, generator=generator)
    query, key = torch.randn(2, seq_len_q, 1, 1, 4, generator=generator)
    query, key = (torch.cat([torch.zeros(shift, 1, 1, 4), t]) for t in (query, key))
    return attention.get_bias(query, key)[shift:, shift:, 0, 0]


def in_transformer(
    *, d_model: int, heads: int, dropout_prob: float, **_: float
) -> dict[str, Callable[[], nn.Module]]:
    r"""
    ## In a transformer

    In the place of attention. Nothing is added to tokens any more.
    """
    return {
        "self_attn": lambda: TransformerXLAttention(heads, d_model, dropout_prob),
        "positions": nn.Identity,
    }


def example(
    seq_len_q: int = 7, n_memory: int = 2, batch_size: int = 3, heads: int = 5, d_k: int = 11
) -> tuple[Tensor, ...]:
    r"""
    ## Example

    A text, with a memory of what came before it.
    """
    d_model = heads * d_k
    seq_len_k = n_memory + seq_len_q
    n_distances = seq_len_k + seq_len_q
    attention = TransformerXLAttention(heads, d_model)
    x, memory = (
        torch.randn(seq_len_q, batch_size, d_model),
        torch.randn(n_memory, batch_size, d_model),
    )

    # The last rows of the mask: all of the memory may be seen.
    keys = torch.cat([memory, x])
    mask = causal_mask(seq_len_k)[n_memory:]
    output = attention(query=x, key=keys, value=keys, mask=mask)
    rows = torch.arange(n_distances).expand(seq_len_q, -1)
    return output, shift_rows(rows, seq_len_k), moved_distance_scores(2, seq_len_q)
