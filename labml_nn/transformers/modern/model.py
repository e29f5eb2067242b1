r"""
---
title: A Modern Transformer
summary: The small transformer with the parts that ten years of training many of them found better.
---

What is here is what people who try to train a given model to a given loss in the shortest time
have kept ([modded-nanogpt](https://github.com/KellerJordan/modded-nanogpt) is the public record of
one such race). Compared with the [classic](../basic/autoregressive_experiment.py):

* **Positions** turn queries and keys, [rotary](../rotary.py), and are not added to tokens.
* **Normalisation** is [RMSNorm](../rms_norm.py), without gains: before each part, and after the
  embedding.
* **Queries and keys** are normalised, too, so that scores stay small however large the weights
  get (Henry et al. 2020, [Query-Key Normalization](https://arxiv.org/abs/2010.04245)); too
  small, so they are scaled up by half.
* **The feed-forward network** is [SwiGLU](../swiglu.py).
* **The last layer of each part starts at zero**, and so does the one that gives the logits. At the
  start each layer passes on what it got, and all tokens are equally likely.
* **The previous token** is mixed into each token, as much of each feature as is learned: after the
  embedding, and again before each part of a layer. What stands side by side is known without
  attention.
* **Values of the first layer** are mixed into those of the others (Zhou et al. 2024,
  [Value Residual Learning](https://arxiv.org/abs/2410.17897)), so that what a token *is* isn't
  lost on the way up.
* **Nothing has a bias.**

What each is worth at this size, [another page](ablation.py) measures.
"""

import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from labml_nn.transformers.fast_attention import causal_mean, mean_of_values
from labml_nn.transformers.kv_cache import CachedModel, KeyValueCache
from labml_nn.transformers.mha import causal_mask
from labml_nn.transformers.rms_norm import rms_norm
from labml_nn.transformers.rotary import RotaryPositions
from labml_nn.transformers.stacked_linear import StackedLinear
from labml_nn.transformers.swiglu import SwiGLU

# Normalised, a query and a key have a product of at most the root of $d_k$ after the usual scaling,
# and a softmax over so small scores can't be sharp. Half as much again came out better.
SHARPNESS = 1.5


class Smear(nn.Module):
    r"""
    ## Mix in the previous token

    In each feature, as much as is learned; at the start nothing. The first token has none before
    it.
    """

    def __init__(self, d_model: int) -> None:
        r"""
        * `d_model` is the number of features
        """
        super().__init__()
        self.share = nn.Parameter(torch.zeros(d_model))

    def forward(self, x: Tensor, before: Tensor | None = None) -> Tensor:
        r"""
        ### Mix

        `x` and the result are `[seq_len, batch_size, d_model]`. Who writes a text token by token
        keeps the last one in `before`, where it is read and put.
        """
        if before is None:
            return x + self.share * F.pad(x[:-1], (0, 0, 0, 0, 1, 0))
        mixed = x + self.share * torch.cat([before, x[:-1]])
        before.copy_(x[-1:])
        return mixed


class ModernAttention(nn.Module):
    r"""
    ## Attention

    With rotary positions, normalised queries and keys, and the values of the first layer.
    """

    def __init__(self, d_model: int, heads: int, seq_len: int, first: bool) -> None:
        r"""
        * `d_model` is the number of features
        * `heads` is the number of heads, which must divide `d_model`
        * `seq_len` is the number of positions
        * `first` says whether it is in the first layer
        """
        super().__init__()
        if heads < 1 or d_model % heads:
            raise ValueError(
                f"d_model must be a positive multiple of heads, got d_model={d_model} and "
                f"heads={heads}"
            )
        self.heads, self.d_k = heads, d_model // heads
        self.project = StackedLinear(3, d_model, d_model)
        self.turn = RotaryPositions(self.d_k, seq_len)
        self.output = nn.Linear(d_model, d_model, bias=False)
        nn.init.zeros_(self.output.weight)

        # The sigmoid of this is the share of the layer's own values.
        self.mix = None if first else nn.Parameter(torch.zeros(()))

        # Which [way](../fast_attention.py) is faster, who trains it finds out.
        self.kernel = True

    def forward(
        self,
        x: Tensor,
        mask: Tensor | None,
        first_value: Tensor | None,
        offset: int,
        room: tuple[Tensor, Tensor, Tensor] | None = None,
    ) -> tuple[Tensor, Tensor]:
        r"""
        ### Attend

        `x` is `[seq_len, batch_size, d_model]`, and so is the first result. The second are the
        values, `[seq_len, batch_size, heads, d_k]`, for the layers above. `mask` is `[1, 1,
        seq_len, seq_len]`, and `offset` the position of the first token. `room` is what
        [a cache](../kv_cache.py#KeyValueCache.extend) has for this layer.
        """
        # Queries and keys are treated alike, so they stay together for a while.
        projected = self.project(x).unflatten(-1, (3 * self.heads, self.d_k))
        query_key, value = projected.split([2 * self.heads, self.heads], dim=2)
        query, key = self.turn(rms_norm(query_key), offset).chunk(2, dim=2)
        if first_value is not None and self.mix is not None:
            value = torch.lerp(first_value, value, self.mix.sigmoid().to(value.dtype))

        # Heads to the front, for the products: `[batch_size, heads, seq_len, d_k]`.
        scale = SHARPNESS / math.sqrt(self.d_k)
        q, k, v = (t.permute(1, 2, 0, 3) for t in (query * scale, key, value))

        # What is remembered of earlier positions comes before these.
        if room is not None:
            place, keys, values = room
            place[0], place[1] = k, v
            k, v = keys, values
        if room is None and mask is not None:
            mean = causal_mean(q, k, v, mask, self.kernel)
        else:
            mean = mean_of_values(q, k, v, mask, kernel=self.kernel)
        return self.output(mean.permute(2, 0, 1, 3).flatten(start_dim=2)), value


class ModernLayer(nn.Module):
    r"""
    ## A layer

    Attention and a feed-forward network, each added to what came in.
    """

    def __init__(
        self, d_model: int, heads: int, d_ff: int, seq_len: int, dropout_prob: float, first: bool
    ) -> None:
        r"""
        * `d_ff` is the number of features inside the feed-forward network
        * `dropout_prob` is the probability that a feature of a result is dropped

        The others are those of [attention](model.py#ModernAttention).
        """
        super().__init__()
        self.attention = ModernAttention(d_model, heads, seq_len, first)
        self.feed_forward = SwiGLU(d_model, d_ff)
        self.smear_attention, self.smear_feed_forward = Smear(d_model), Smear(d_model)
        self.dropout = nn.Dropout(dropout_prob)
        nn.init.zeros_(self.feed_forward.narrow.weight)

    def forward(
        self,
        x: Tensor,
        mask: Tensor | None,
        first_value: Tensor | None,
        offset: int,
        room: tuple[Tensor, Tensor, Tensor] | None = None,
        before: Tensor | None = None,
    ) -> tuple[Tensor, Tensor]:
        r"""
        ### Pass on, with something added

        As [attention](model.py#ModernAttention.forward). `before` has what the two parts had of the
        token before the first, one row each.
        """
        first, second = (None, None) if before is None else before
        smeared = self.smear_attention(rms_norm(x), first)
        attended, value = self.attention(smeared, mask, first_value, offset, room)
        x = x + self.dropout(attended)
        smeared = self.smear_feed_forward(rms_norm(x), second)
        x = x + self.dropout(self.feed_forward(smeared))
        return x, value


class ModernTransformer(nn.Module):
    r"""
    ## A modern transformer
    """

    def __init__(
        self,
        n_vocab: int,
        d_model: int,
        heads: int,
        n_layers: int,
        d_ff: int,
        seq_len: int,
        dropout_prob: float,
    ) -> None:
        r"""
        * `n_vocab` is the number of different tokens
        * `d_model` is the number of features
        * `heads` is the number of heads of each attention
        * `n_layers` is the number of layers
        * `d_ff` is the number of features inside the feed-forward networks
        * `seq_len` is the greatest length of a sequence, the *context*
        * `dropout_prob` is the probability of dropping a feature
        """
        super().__init__()
        # PyTorch starts it with features of variance 1, and they are kept so.
        self.embedding = nn.Embedding(n_vocab, d_model)
        self.smear = Smear(d_model)
        self.dropout = nn.Dropout(dropout_prob)
        self.layers = nn.ModuleList(
            ModernLayer(d_model, heads, d_ff, seq_len, dropout_prob, first=index == 0)
            for index in range(n_layers)
        )
        self.head = nn.Linear(d_model, n_vocab, bias=False)
        nn.init.zeros_(self.head.weight)

        # Made once, and on whatever device the model is. It is no weight, so it is not saved.
        mask = causal_mask(seq_len).permute(2, 0, 1).unsqueeze(0)
        self.register_buffer("mask", mask, persistent=False)

    def forward(
        self, tokens: Tensor, offset: int = 0, cache: KeyValueCache | None = None
    ) -> Tensor:
        r"""
        ### Predict the next token at each position

        From tokens, `[seq_len, batch_size]`, to logits, `[seq_len, batch_size, n_vocab]`. Shorter
        sequences than the context may be given, and at another `offset` than 0 nothing changes:
        distances are all that is seen.

        With a [cache](../kv_cache.py), `tokens` are the new ones only, and what was computed of
        those before them is remembered.
        """
        x = rms_norm(self.embedding(tokens))
        length, start = len(tokens), 0
        room, before = [None] * len(self.layers), [None] * (len(self.layers) + 1)
        if cache is not None:
            start, room = cache.filled, cache.extend(length)
            if cache.last is None:
                # Before the first token there is nothing.
                cache.last = x.new_zeros(2 * len(before), 1, *x.shape[1:])
            before = list(cache.last.unflatten(0, (-1, 2)))

        # Each token, and a little of the one before it.
        x = self.smear(x, before[-1] if cache is None else before[-1][0])
        x = self.dropout(x)

        # The last rows of the mask. A single token may see everything.
        end = start + length
        mask = self.mask[:, :, start:end, :end] if length > 1 else None
        first_value = None
        for layer, views, last in zip(self.layers, room, before[:-1], strict=True):
            x, value = layer(x, mask, first_value, offset + start, views, last)
            first_value = value if first_value is None else first_value
        return self.head(rms_norm(x))

    def decoder(self, batch_size: int) -> CachedModel:
        r"""
        ### Prepare to write

        The model with an empty [cache](../kv_cache.py) for that many texts.
        """
        attention, weight = self.layers[0].attention, self.embedding.weight
        cache = KeyValueCache(
            len(self.layers),
            batch_size,
            attention.heads,
            self.mask.shape[-1],
            attention.d_k,
            weight.dtype,
            weight.device,
        )
        return CachedModel(self, cache)


def example(
    n_pairs: int = 2,
    batch_size: int = 3,
    heads: int = 5,
    seq_len: int = 7,
    d_ff: int = 11,
    n_vocab: int = 13,
) -> Tensor:
    r"""
    ## Example

    Two layers, so that there is one with values of the first.
    """
    d_k = 2 * n_pairs
    d_model = heads * d_k
    model = ModernTransformer(n_vocab, d_model, heads, 2, d_ff, seq_len, dropout_prob=0.1)
    return model(torch.randint(n_vocab, (seq_len, batch_size)))
