r"""
---
title: A Modern Transformer
summary: The small transformer again, with what has replaced its parts since 2017.
---

**In:** tokens, `[seq_len, batch_size]`. **Out:** logits, `[seq_len, batch_size, n_vocab]`, as from
the [classic model](../basic/autoregressive_experiment.py). It has as many layers, heads and
features, slightly fewer weights, and nearly every part is another one:

| Part | Classic | Here | Why |
| --- | --- | --- | --- |
| Positions | sines, added to tokens | [rotary](../rotary.py) | scores depend on the distance |
| Normalisation | layer norm | [RMSNorm](../rms_norm.py) without gains | as good and shorter |
| Queries and keys | as projected | normalised | scores stay bounded as weights grow |
| Feed-forward | two layers, GELU | [SwiGLU](../swiglu.py) | hidden features are products |
| First weights | random | zero in the last matrix of each part | layers start by doing nothing |
| Previous token | found by attention | mixed into each token | neighbours are known at once |
| Values | of each layer | mixed with those of the first layer | what a token is isn't lost |
| Biases | in all linear layers | none | not missed |

[The ablation](ablation.py) leaves out one at a time and measures what each is worth.

Most of these are in the large language models of today, such as Llama. The last three before the
biases come from [modded-nanogpt](https://github.com/KellerJordan/modded-nanogpt), a public contest
to train a given model in the shortest time. There the feed-forward network has the square of ReLU
and not SwiGLU. Left out is a cache for writing: [that page](../kv_cache.py) has the classic model.
"""

import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from labml_nn.transformers.mha import PrepareForMultiHeadAttention
from labml_nn.transformers.rms_norm import rms_norm
from labml_nn.transformers.rotary import RotaryPositions, inverse_frequencies
from labml_nn.transformers.swiglu import SwiGLU


class Smear(nn.Module):
    r"""
    ## Mix in the previous token

    Attention can find the previous token, but it takes a head and a layer to do so. Here it is
    there at once: with *th*, the letter *h* becomes another vector than with *sh*.
    """

    def __init__(self, d_model: int) -> None:
        r"""
        * `d_model` is the number of features
        """
        super().__init__()

        # How much is mixed in is learned for each feature. At the start, nothing is.
        self.share = nn.Parameter(torch.zeros(d_model))

    def forward(self, x: Tensor) -> Tensor:
        # Everything one position later, with zeros before the first token:
        # `[seq_len, batch_size, d_model]`. Shifted the other way, the model would see the future.
        previous = F.pad(x[:-1], (0, 0, 0, 0, 1, 0))
        return x + self.share * previous


class RotaryProjection(PrepareForMultiHeadAttention):
    r"""
    ## Queries and keys

    Normalised ([Henry et al. 2020](https://arxiv.org/abs/2010.04245)), so that scores stay bounded
    however large the weights become, and then rotated.
    """

    def __init__(self, d_model: int, heads: int, rotate: nn.Module) -> None:
        r"""
        * `d_model` is the number of features
        * `heads` is the number of heads
        * `rotate` are the [rotary positions](../rotary.py#RotaryPositions)
        """
        super().__init__(d_model, heads, d_model // heads, bias=False)
        self.rotate = rotate

    def forward(self, x: Tensor) -> Tensor:
        # `[seq_len, batch_size, heads, d_k]`. Each head is normalised on its own.
        return self.rotate(rms_norm(super().forward(x)))


class ModernAttention(nn.Module):
    r"""
    ## Attention
    """

    def __init__(self, d_model: int, heads: int, rotate: nn.Module, first: bool) -> None:
        r"""
        * `d_model` is the number of features
        * `heads` is the number of heads
        * `rotate` are the [rotary positions](../rotary.py#RotaryPositions)
        * `first` says whether this is the first layer
        """
        super().__init__()
        d_k = d_model // heads
        self.query = RotaryProjection(d_model, heads, rotate)
        self.key = RotaryProjection(d_model, heads, rotate)
        self.value = PrepareForMultiHeadAttention(d_model, heads, d_k, bias=False)
        self.output = nn.Linear(d_model, d_model, bias=False)

        # The share of the layer's own values, before a sigmoid: one half at the start.
        self.mix = None if first else nn.Parameter(torch.zeros(()))

        # A query and a key have length $\sqrt{d_k}$, so after the usual scaling no score is above
        # $\sqrt{d_k}$, or 5.7 here. With half as much again, the softmax can be sharper.
        self.scale = 1.5 / math.sqrt(d_k)

    def forward(self, x: Tensor, first_value: Tensor | None) -> tuple[Tensor, Tensor]:
        r"""
        ### Attend

        `x` is `[seq_len, batch_size, d_model]`. `first_value` are the values of the first layer,
        `[seq_len, batch_size, heads, d_k]`, which has none to mix in. Returns what is added to `x`,
        and the values.
        """
        query, key, value = self.query(x), self.key(x), self.value(x)

        # In later layers, tokens have gathered so much from others that it is hard to say what they
        # are themselves. The first layer's values still can
        # ([Zhou et al. 2024](https://arxiv.org/abs/2410.17897)).
        if self.mix is not None and first_value is not None:
            value = torch.lerp(first_value, value, self.mix.sigmoid().to(value.dtype))

        # The [fused kernel](../fused_attention.py) wants `[batch_size, heads, seq_len, d_k]`.
        q, k, v = (t.permute(1, 2, 0, 3) for t in (query, key, value))
        x = F.scaled_dot_product_attention(q, k, v, is_causal=True, scale=self.scale)
        return self.output(x.permute(2, 0, 1, 3).flatten(start_dim=2)), value


class ModernLayer(nn.Module):
    r"""
    ## Layer
    """

    def __init__(
        self,
        d_model: int,
        heads: int,
        d_ff: int,
        dropout_prob: float,
        rotate: nn.Module,
        first: bool,
    ) -> None:
        r"""
        * `d_ff` is the number of features inside the feed-forward network
        * `dropout_prob` is the probability that a feature is dropped before it is added

        The others are those of [attention](model.py#ModernAttention).
        """
        super().__init__()
        self.attention = ModernAttention(d_model, heads, rotate, first)
        self.feed_forward = SwiGLU(d_model, d_ff)
        self.smear_attention = Smear(d_model)
        self.smear_feed_forward = Smear(d_model)
        self.dropout = nn.Dropout(dropout_prob)

    def forward(self, x: Tensor, first_value: Tensor | None) -> tuple[Tensor, Tensor]:
        # As in the classic layer, each part reads a normalised copy and adds its result to `x`.
        z = self.smear_attention(rms_norm(x))
        z, value = self.attention(z, first_value)
        x = x + self.dropout(z)

        # The feed-forward network also gets a share of the previous token.
        z = self.smear_feed_forward(rms_norm(x))
        return x + self.dropout(self.feed_forward(z)), value


class ModernTransformer(nn.Module):
    r"""
    ## The model
    """

    def __init__(
        self,
        n_vocab: int,
        d_model: int = 128,
        heads: int = 4,
        n_layers: int = 4,
        d_ff: int = 336,
        seq_len: int = 64,
        dropout_prob: float = 0.0,
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
        if d_model % (2 * heads):
            raise ValueError(
                "d_model must be a multiple of twice the heads, to have pairs of features in each, "
                f"got d_model={d_model} and heads={heads}"
            )
        self.embedding = nn.Embedding(n_vocab, d_model)
        self.smear = Smear(d_model)
        self.dropout = nn.Dropout(dropout_prob)

        # One table of cosines and sines for all layers.
        rotate = RotaryPositions(inverse_frequencies(d_model // heads), seq_len)
        self.layers = nn.ModuleList(
            ModernLayer(d_model, heads, d_ff, dropout_prob, rotate, first=index == 0)
            for index in range(n_layers)
        )
        self.head = nn.Linear(d_model, n_vocab, bias=False)

        # Zeros where a part adds its result: at the start, each layer passes on what it got. With
        # zeros in the head, too, all tokens are equally likely, and the first loss is $\ln 66$.
        for layer in self.layers:
            nn.init.zeros_(layer.attention.output.weight)
            nn.init.zeros_(layer.feed_forward.output.weight)
        nn.init.zeros_(self.head.weight)

    def forward(self, tokens: Tensor) -> Tensor:
        # Normalised at once, each token begins with the same length.
        x = self.dropout(self.smear(rms_norm(self.embedding(tokens))))

        # The first layer gets no values, and its own go to all others.
        first_value = None
        for layer in self.layers:
            x, value = layer(x, first_value)
            first_value = value if first_value is None else first_value

        # Many layers have added to the features, so they are normalised before the head, too.
        return self.head(rms_norm(x))


def example(
    n_pairs: int = 2,
    batch_size: int = 3,
    heads: int = 5,
    seq_len: int = 7,
    d_ff: int = 11,
    n_vocab: int = 13,
) -> Tensor:
    r"""
    ## Try it

    Two layers, so that one of them gets the values of the first.

    ### Exercises

    ??? question "Which parameters get a gradient other than zero in the very first step?"
        Those of the head alone. Everything before it is multiplied by the head's zeros. In the
        second step the head isn't zero any more, and the last matrices of the parts begin to learn.

    ??? question "Write `F.pad(x[1:], (0, 0, 0, 0, 0, 1))` in `Smear`. Which test notices?"
        Every shape is right, and the loss becomes wonderful: each token sees the next one. Change
        the last token, and the output before it moves.

    ??? question "Why can the head start at zero, but not the embedding as well?"
        With both at zero, the gradient of each is a product with the other one: zero for ever.
    """
    d_k = 2 * n_pairs
    d_model = heads * d_k
    model = ModernTransformer(n_vocab, d_model, heads, 2, d_ff, seq_len, dropout_prob=0.1)
    return model(torch.randint(n_vocab, (seq_len, batch_size)))
