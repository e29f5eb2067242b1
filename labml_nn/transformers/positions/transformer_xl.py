r"""
---
title: Relative Positions of Transformer-XL
summary: Scores from sines of the distance, with two learned vectors for the position of the query.
paper:
  title: "Transformer-XL: Attentive Language Models Beyond a Fixed-Length Context"
  authors: Dai et al.
  year: 2019
  link: https://arxiv.org/abs/1901.02860
terms:
  Transformer-XL: Keeps the activations of the last segment as memory, with relative positions.
---

Add [sines of the position](../positional_encoding.py) to tokens, and a score has four parts:
content with content, content with position, position with content, and position with position.
Transformer-XL keeps the four and takes every *place* out of them (section 3.3). What is left is the
distance:

$$
S_{ij} \sqrt{d_k} = q_i \cdot k_j + q_i \cdot r_{i-j} + u \cdot k_j + v \cdot r_{i-j}
$$

For example, $q_i = (1, 2)$ and $k_j = (3, 0)$ are the query at position $i$ and the key at position
$j$, of width $d_k = 2$. Their distance has $r_{i-j} = (0, 1)$, and the head has $u = (1, 0)$ and $v
= (0, 1)$. The four parts are 3, 2, 3 and 1, and the score is $9 / \sqrt{2} = 6.4$.

* $r_{i-j} = W_R \, PE_{i-j}$ takes the place of the position of the key: sines of the distance,
  with a projection of their own. They can be computed for any distance.
* $u$ and $v$ take the place of the position of the query, one of each for each head. They don't
  depend on $i$. $u$ can say which keys are worth seeing anyway, and $v$ which distances are.

A model that was trained on 64 characters reads 512 with a loss of
[2.785](../../../results/extrapolation.json#tables.losses.sines.at512) if it has sines of the
position, and of
[1.915](../../../results/extrapolation.json#tables.losses.Transformer-XL.at512) with those of the
distance.

**In** and **out** are those of [attention](../mha.py).
"""

import math

import torch
from torch import Tensor, nn

from labml_nn.transformers.mha import (
    MultiHeadAttention,
    PrepareForMultiHeadAttention,
    causal_mask,
)
from labml_nn.transformers.positional_encoding import frequencies
from labml_nn.transformers.positions.shaw_relative import distances


def encode_distances(distances: Tensor, d_model: int) -> Tensor:
    r"""
    ## Sines of distances

    From `[seq_len_q, seq_len_k]` to `[seq_len_q, seq_len_k, d_model]`, for an even `d_model`.

    [The sines (left half) and cosines of 24 distances: blue is 1, white 0 and red
    −1](../../../results/family_drawings.json#figures.waves)
    """
    # One angle for each distance and frequency, in double precision as the frequencies are.
    angles = distances[..., None] * frequencies(d_model)

    # First all sines, then all cosines, as in the authors' code. The order doesn't matter to the
    # projection that comes next.
    return torch.cat([angles.sin(), angles.cos()], dim=-1)


class TransformerXLAttention(MultiHeadAttention):
    r"""
    ## Attention with relative positions
    """

    def __init__(
        self, heads: int, d_model: int, dropout_prob: float = 0.1, bias: bool = True
    ) -> None:
        r"""
        The arguments are those of [attention](../mha.py#MultiHeadAttention).
        """
        super().__init__(heads, d_model, dropout_prob, bias)

        # $W_R$, for all heads. The paper gives the sines another matrix than the tokens, $W_{k,R}$
        # beside $W_{k,E}$, so that a score by distance and one by content are learned apart.
        self.distance = PrepareForMultiHeadAttention(d_model, heads, self.d_k, bias=False)

        # $u$ and $v$, `[heads, d_k]`. As in the authors' code, they start small.
        self.content_bias = nn.Parameter(0.02 * torch.randn(heads, self.d_k))
        self.distance_bias = nn.Parameter(0.02 * torch.randn(heads, self.d_k))

    def get_scores(self, query: Tensor, key: Tensor) -> Tensor:
        r"""
        ### Scores

        `[seq_len_q, seq_len_k, batch_size, heads]`.
        """
        # The sines of the distance of each query from each key.
        weight = self.distance.linear.weight
        waves = encode_distances(distances(len(query), len(key)), weight.shape[1])

        # $r_{i-j}$ for each pair of positions, `[seq_len_q, seq_len_k, heads, d_k]`, in the type of
        # the weights and on their device.
        r = self.distance(waves.to(weight))

        # The query comes divided by $\sqrt{d_k}$, so the two vectors have to be divided too.
        root = math.sqrt(self.d_k)

        # The first and the third part are products with the key: $(q_i + u) \cdot k_j$.
        content = super().get_scores(query + self.content_bias / root, key)

        # The second and the fourth are products with the distance: $(q_i + v) \cdot r_{i-j}$.
        position = torch.einsum("ibhd,ijhd->ijbh", query + self.distance_bias / root, r)

        # Together they take the place of $q_i \cdot k_j$.
        return content + position


def in_transformer(*, d_model: int, heads: int, dropout_prob: float, **_: float) -> dict:
    r"""
    ## In a transformer

    In the place of attention.
    """
    # Scores know the distances now, so nothing is added to the tokens.
    return {
        "self_attn": lambda: TransformerXLAttention(heads, d_model, dropout_prob),
        "positions": nn.Identity,
    }


def example(
    seq_len_q: int = 7, n_memory: int = 2, batch_size: int = 3, heads: int = 5, n_pairs: int = 11
) -> Tensor:
    r"""
    ## Example

    A text, with a memory of what came before it.

    ### Measured here

    From 64 to 512 characters the loss goes from
    [2.187](../../../results/extrapolation.json#tables.losses.sines.at64) up to the one above with
    sines of the position, and with sines of the distance from
    [1.938](../../../results/extrapolation.json#tables.losses.Transformer-XL.at64) *down* ([the
    measurement](extrapolation.py)). In a longer window fewer characters stand at its beginning,
    where there is little to read. That is the gain, and not what is far away: from position 64 on,
    a character costs 1.916 nats with the whole window before it, and 1.913 with the nearest 33 to
    64 characters alone (one seed). A smaller model, of two layers and 32 features, says the same
    with three seeds.

    ### What is left out

    The paper needs all this for its *memory*: hidden states of the text before are additional keys,
    and position 3 of that text must not look like position 3 of this one. The page leaves the
    memory out; put it before the text, in keys and values, as below. In the paper's formula all
    layers share $u$ and $v$; here each layer has its own. The paper projects each distance once,
    multiplies, and shifts the rows of the product into place (appendix B). That gives the same
    numbers. Here a distance is projected for each pair of positions, which costs [twelve times the
    FLOPs](../../../docs/compare.md) of plain attention at 64 positions.

    ### Exercises

    ??? question "Which of the four parts can the softmax not see?"
        None of them: all four depend on the key $j$. A part with $q_i$ alone would be the same for
        all keys of a query, and the softmax ignores what all scores have in common.

    ??? question "Set $u$, $v$ and all $r$ to zero. What is left?"
        $q_i \cdot k_j$: attention without positions.

    ??? question "The memory has 2 positions. How far from the first query is the oldest key?"
        2. The queries are the last positions of the keys.

    ??? question "Replace the distance $i - j$ by $|i - j|$. What changes under a causal mask?"
        Nothing: keys in the future are hidden. Without the mask, a model could no longer tell the
        token before from the token after.
    """
    # Sines and cosines come in pairs, so the width is even.
    d_k = 2 * n_pairs
    d_model = heads * d_k
    seq_len_k = n_memory + seq_len_q
    attention = TransformerXLAttention(heads, d_model)

    # Hidden states of the text before, and of this text.
    x = torch.randn(seq_len_q, batch_size, d_model)
    memory = torch.randn(n_memory, batch_size, d_model)

    # The last rows of the mask: every query may look at the whole memory.
    keys = torch.cat([memory, x])
    mask = causal_mask(seq_len_k)[n_memory:]
    return attention(query=x, key=keys, value=keys, mask=mask)
