r"""
---
title: Multi-Head Latent Attention
summary: All heads make their keys and values of one short vector, the latent of a token.
paper:
  title: "DeepSeek-V2: A Strong, Economical, and Efficient Mixture-of-Experts Language Model"
  authors: DeepSeek-AI
  year: 2024
  link: https://arxiv.org/abs/2405.04434
terms:
  latent attention (MLA): Caches one short vector a token, which gives keys and values.
---

[Sharing heads of keys](grouped_query.py) makes the [cache](../kv_cache.py) of a model that writes
smaller, but in the paper's comparison (appendix D) models that share are worse. Here every head
keeps keys and values of its own. They are made of a *latent* $c_j$, a vector of a few features that
all heads share:

$$
c_j = \operatorname{RMSNorm}(W^C x_j) \qquad K_{jh} = W^K_h c_j \qquad V_{jh} = W^V_h c_j
$$

Cached are the latent and one small rotated key, see below. The paper's model has 128 heads of 128
features, so their keys and values would be 2 · 128 · 128 = 32,768 numbers for each token and layer.
The latent has 512 features and the rotated key 64: 576 numbers, as many as 2.25 heads of keys and
values.

[Rotary positions](../rotary.py) would rotate the keys of each head, and then latents couldn't take
the place of keys. So positions get features of their own. Some features of each query are rotated,
and so is *one* more key for each token, which all heads share (section 2.1.3). A score is the sum
of two products: query with key of the head, and rotated query with shared key.

[Numbers kept of each token in a layer with four heads of 32
features](../../../results/memory_drawings.json#figures.cache)

**In** and **out** are those of [multi-head attention](../mha.py), for self-attention only. Here all
keys and values are written out, as in training. [On the next page](absorbed_attention.py) they
never are: that is what makes the small cache useful. Both pages leave out that the paper's queries
have a latent, too, which saves memory in training and none in writing.
"""

import math
from collections.abc import Callable

import torch
from torch import Tensor, nn

from labml_nn.transformers.mha import MultiHeadAttention, PrepareForMultiHeadAttention, causal_mask
from labml_nn.transformers.rotary import RotaryPositions, inverse_frequencies


class LatentAttention(MultiHeadAttention):
    r"""
    ## Latent attention
    """

    def __init__(
        self,
        heads: int,
        d_model: int,
        dropout_prob: float = 0.1,
        *,
        d_latent: int,
        d_rotary: int,
        max_len: int,
    ) -> None:
        r"""
        * `heads`, `d_model` and `dropout_prob` are those of multi-head attention
        * `d_latent` is the number of features of a latent
        * `d_rotary` is the number of features that are rotated, an even one
        * `max_len` is the number of positions
        """
        super().__init__(heads, d_model, dropout_prob, bias=False)

        # The widths of the two parts of what a cache would keep of each token.
        self.d_latent = d_latent
        self.d_rotary = d_rotary

        # From a token to its latent and its shared key, side by side: all that a cache needs.
        self.compress = nn.Linear(d_model, d_latent + d_rotary, bias=False)

        # The paper normalises the narrow latent to keep training stable.
        self.norm = nn.RMSNorm(d_latent, eps=1e-6)

        # One table of angles for queries and shared keys: rotated by different ones, they would not
        # see distances.
        self.rotate = RotaryPositions(inverse_frequencies(d_rotary), max_len)

        # A query has the rotated features besides, so it is wider.
        self.query = PrepareForMultiHeadAttention(d_model, heads, self.d_k + d_rotary, False)

        # Keys and values are made of the latent, for each head with a matrix of its own. Nothing
        # has a bias, as in the paper. (One of the keys would change nothing: it adds the same to
        # all scores of a query. One of the values would come out as it is: the weights sum to one.)
        self.key = PrepareForMultiHeadAttention(d_latent, heads, self.d_k, False)
        self.value = PrepareForMultiHeadAttention(d_latent, heads, self.d_k, False)

    def get_latents(self, x: Tensor, offset: int = 0) -> tuple[Tensor, Tensor]:
        r"""
        ### Latents and shared keys
        """
        # From `offset` on: `[seq_len, batch_size, d_latent]` and `[seq_len, batch_size, d_rotary]`.
        latent, shared = self.compress(x).split([self.d_latent, self.d_rotary], dim=-1)

        # The key is rotated once, by the angle of its position, with an axis for its one head.
        shared = self.rotate(shared.unsqueeze(2), offset).squeeze(2)
        return self.norm(latent.to(self.norm.weight.dtype)), shared

    def get_queries(self, x: Tensor, offset: int = 0) -> tuple[Tensor, Tensor]:
        r"""
        ### Queries
        """
        # A score is the sum over so many features, and is divided by their root.
        query = self.query(x) / math.sqrt(self.d_k + self.d_rotary)

        # The first features of each head are for its keys, `[seq_len, batch_size, heads, d_k]`. The
        # others know positions, for the shared key: `[seq_len, batch_size, heads, d_rotary]`.
        query, rotated = query.split([self.d_k, self.d_rotary], dim=-1)
        return query, self.rotate(rotated, offset)

    def get_weights(self, scores: Tensor, mask: Tensor | None) -> Tensor:
        r"""
        ### Weights
        """
        # As in [multi-head attention](../mha.py): a hidden key gets the lowest finite score ...
        if mask is not None:
            scores = scores.masked_fill(~mask, torch.finfo(scores.dtype).min)
        attn = scores.softmax(dim=1)

        # ... and a query that may look at nothing gets no weights.
        if mask is not None:
            attn = attn.masked_fill(~mask, 0)

        # Kept for looking at them, as they are before dropout.
        self.attn = attn.detach()
        return self.dropout(attn)

    def forward(
        self, *, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None
    ) -> Tensor:
        r"""
        The shapes are those of [multi-head attention](../mha.py#MultiHeadAttention.forward).
        """
        # `value` is the same tensor as `key`, and has the same latents.
        if mask is not None:
            mask = self.prepare_mask(mask, query.shape, key.shape)
        query, rotated = self.get_queries(query)
        latent, shared = self.get_latents(key)

        # By content: keys of all positions from latents. `[seq_len, seq_len, batch_size, heads]`
        scores = self.get_scores(query, self.key(latent))

        # And by position. The shared key has no letter for the head: all heads look at the same
        # one, each with a query of its own.
        scores = scores + torch.einsum("ibhd,jbd->ijbh", rotated, shared)

        # The average of the values, which are made of the latents, too.
        attn = self.get_weights(scores, mask)

        # A vector for each head: `[seq_len, batch_size, heads, d_k]`.
        x = torch.einsum("ijbh,jbhd->ibhd", attn, self.value(latent))
        return self.output(x.flatten(start_dim=2))


def in_transformer(
    *, d_model: int, heads: int, seq_len: int, dropout_prob: float, **_: float
) -> dict[str, Callable[[], nn.Module]]:
    r"""
    ## In a transformer
    """
    # Latents have a quarter of the features of the model.
    sizes = {"d_latent": max(1, d_model // 4), "d_rotary": 8, "max_len": seq_len}

    # Scores know positions, so none are added to the tokens.
    return {
        "self_attn": lambda: LatentAttention(heads, d_model, dropout_prob, **sizes),
        "positions": nn.Identity,
    }


def example(
    seq_len: int = 7,
    batch_size: int = 3,
    heads: int = 5,
    d_k: int = 11,
    d_latent: int = 13,
    n_pairs: int = 2,
) -> Tensor:
    r"""
    ## Example

    Self-attention under the causal mask.

    ### Measured here

    A model of two layers, trained for 500 steps, reaches
    [2.117](../../../results/families.json#tables.losses.latents.loss) with latents of 16 features
    and [2.213](../../../results/families.json#tables.losses.multi-head%20attention.loss) with
    multi-head attention (means of three seeds). That isn't to the latents' credit: [rotary
    positions](../positions/extrapolation.py) come with them. Take the rotation away and add sines
    again, and it is 2.24 (one seed). Leave the latents out, and keep rotary positions for all
    features of plain heads, and it is 2.04 (three seeds).

    ### Exercises

    ??? question "How many heads of 128 features would take as much memory as the paper's cache?"
        Each has a key and a value: (512 + 64) / (2 · 128) = 2.25.

    ??? question "The small transformer has 128 features. How many numbers are cached of a token?"
        32 of the latent and 8 of the shared key, in each layer, for 256 with multi-head attention.

    ??? question "Leave the rotation out. What can a score no longer know?"
        Where the two tokens stand. Of the order it then sees only what the mask tells.
    """
    # Features are rotated in pairs, so their number is even.
    d_model = heads * d_k
    d_rotary = 2 * n_pairs
    sizes = {"d_latent": d_latent, "d_rotary": d_rotary, "max_len": seq_len}
    attention = LatentAttention(heads, d_model, **sizes)

    # The whole text at once, as in training: all keys and values of all heads are there.
    x = torch.randn(seq_len, batch_size, d_model)

    # Nothing is added to `x` for its positions: the scores know them.
    return attention(query=x, key=x, value=x, mask=causal_mask(seq_len))
