r"""
---
title: A Decoder That Remembers
summary: The autoregressive transformer for writing, each token computed once and with few calls.
---

To write, the [autoregressive transformer](autoregressive_experiment.py) computes the whole window
for each new token, only to look at the last position. With a [cache](../kv_cache.py) of keys and
values it computes one position.

Then the arithmetic is so little that the calls count: in a small model most of the time passes
between two of PyTorch's functions. So this page takes the weights out of a trained model and lays
them out for writing. The three projections of [attention](../mha.py) become one. Matrices are
transposed once, not at each call. There are no masks, and no dropout. The result is the same, as
a function below shows.

The page is for this one model. One with other parts writes with the whole window, as
[before](../../training/sampling.py#generate).
"""

from collections.abc import Iterable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from labml_nn.transformers.basic.causal_attention import CausalSelfAttention
from labml_nn.transformers.feed_forward import FeedForward
from labml_nn.transformers.kv_cache import KeyValueCache, attend, check_batch
from labml_nn.transformers.mha import MultiHeadAttention
from labml_nn.transformers.models import (
    EmbeddingsWithLearnedPositionalEncoding,
    EmbeddingsWithPositionalEncoding,
    Encoder,
    Generator,
    TransformerLayer,
)
from labml_nn.transformers.positional_encoding import (
    LearnedPositionalEncoding,
    PositionalEncoding,
)


class Affine:
    r"""
    ## A linear layer, laid out for writing

    Some linear layers with the same input, side by side in one matrix.
    """

    def __init__(self, *layers: nn.Linear) -> None:
        r"""
        * `layers` are the layers, all with a bias or all without
        """
        # The features that come in are the rows now, as the product reads them.
        self.weight = torch.cat([layer.weight for layer in layers]).detach().t().contiguous()
        self.bias = self.weight.new_zeros(self.weight.shape[1])
        if layers[0].bias is not None:
            self.bias = torch.cat([layer.bias for layer in layers]).detach()

    def __call__(self, x: Tensor) -> Tensor:
        r"""
        ### Apply to rows

        One call for the product and the sum.
        """
        return torch.addmm(self.bias, x, self.weight)


class Normalisation:
    r"""
    ## A normalisation, without the call of a module
    """

    def __init__(self, layer: nn.LayerNorm) -> None:
        r"""
        * `layer` is the layer
        """
        self.arguments = (layer.normalized_shape, layer.weight, layer.bias, layer.eps)

    def __call__(self, x: Tensor) -> Tensor:
        r"""
        ### Apply to rows
        """
        return torch.layer_norm(x, *self.arguments)


class DecoderLayer:
    r"""
    ## A layer

    What a [TransformerLayer](../models.py#TransformerLayer) computes, with keys and values of
    earlier positions from the cache.
    """

    def __init__(self, layer: TransformerLayer) -> None:
        r"""
        * `layer` is the layer whose weights are taken
        """
        attention, network = layer.self_attn, layer.feed_forward
        self.heads = attention.query.heads
        self.norm_self_attn = Normalisation(layer.norm_self_attn)
        self.projection = Affine(
            attention.query.linear, attention.key.linear, attention.value.linear
        )
        self.output = Affine(attention.output)
        self.norm_ff = Normalisation(layer.norm_ff)
        self.layer1 = Affine(network.layer1)
        self.activation = network.activation
        self.layer2 = Affine(network.layer2)

    def __call__(self, x: Tensor, place: Tensor, keys: Tensor, values: Tensor) -> Tensor:
        r"""
        ### Apply to new positions

        `x` and the result are `[n_rows, d_model]`, a row for each new position of each sequence.
        `place`, `keys` and `values` are from [the cache](../kv_cache.py#KeyValueCache.extend).
        """
        # One product for all three: `[3, batch_size, heads, n_new, d_k]`.
        _, batch_size, heads, n_new, d_k = place.shape
        projected = self.projection(self.norm_self_attn(x))
        projected = projected.view(batch_size, n_new, 3, heads, d_k).permute(2, 0, 3, 1, 4)
        place.copy_(projected[1:])

        # `[batch_size, heads, n_new, d_k]`, and then rows again.
        attended = attend(projected[0], keys, values)
        x = x + self.output(attended.transpose(1, 2).reshape(x.shape))
        hidden = self.activation(self.layer1(self.norm_ff(x)))
        return x + self.layer2(hidden)


class Decoder:
    r"""
    ## Decoder

    It takes the weights as they are now, so it is made anew when the model has learned more.
    """

    def __init__(
        self,
        embed: EmbeddingsWithPositionalEncoding | EmbeddingsWithLearnedPositionalEncoding,
        encoder: Encoder,
        generator: Generator,
        batch_size: int,
        max_len: int,
    ) -> None:
        r"""
        * `embed`, `encoder` and `generator` are the parts of the model
        * `batch_size` is the number of texts that are written at once
        * `max_len` is the greatest length of a text, at most the context of the model
        """
        self.embedding = embed.tokens.embedding.weight.detach() * embed.tokens.scale
        self.positions = embed.positions.encodings.detach().squeeze(1)
        if max_len > len(self.positions):
            raise ValueError(
                f"max_len is {max_len}, but the model has {len(self.positions)} positions"
            )
        self.layers = [DecoderLayer(layer) for layer in encoder.layers]
        self.norm = Normalisation(encoder.norm)
        self.scores = Affine(generator.projection)

        heads, d_model = self.layers[0].heads, self.embedding.shape[1]
        self.cache = KeyValueCache(
            len(self.layers),
            batch_size,
            heads,
            max_len,
            d_model // heads,
            self.embedding.dtype,
            self.embedding.device,
        )

    def __call__(self, tokens: Tensor) -> Tensor:
        r"""
        ### Read new tokens

        From `[n_new, batch_size]`, the tokens after those that it has read already, to logits for
        the token after each of them, `[n_new, batch_size, n_vocab]`. Another number of texts than
        the cache was made for is a `ValueError`.
        """
        n_new, batch_size = tokens.shape
        check_batch(tokens, self.cache)
        first = self.cache.filled
        room = self.cache.extend(n_new)

        # Rows of one text stand together: `[batch_size, n_new, d_model]`, then `[n_rows, d_model]`.
        x = F.embedding(tokens.t(), self.embedding) + self.positions[first : first + n_new]
        x = x.flatten(end_dim=1)
        for layer, views in zip(self.layers, room, strict=True):
            x = layer(x, *views)
        logits = self.scores(self.norm(x))
        return logits.view(batch_size, n_new, -1).transpose(0, 1)


def can_decode(embed: nn.Module, encoder: nn.Module, generator: nn.Module) -> bool:
    r"""
    ## Does this page know the parts?

    A subclass may compute something else, so the classes must be these very ones. All layers have
    the same number of heads, because the cache has one shape.
    """
    known = {
        "self_attn": (CausalSelfAttention, MultiHeadAttention),
        "feed_forward": (FeedForward,),
        "norm_self_attn": (nn.LayerNorm,),
        "norm_ff": (nn.LayerNorm,),
    }
    return (
        type(embed) in (EmbeddingsWithPositionalEncoding, EmbeddingsWithLearnedPositionalEncoding)
        and type(embed.positions) in (PositionalEncoding, LearnedPositionalEncoding)
        and type(encoder) is Encoder
        and type(encoder.norm) is nn.LayerNorm
        and type(generator) is Generator
        and all(type(layer) is TransformerLayer for layer in encoder.layers)
        and all(
            type(getattr(layer, name)) in kinds
            for layer in encoder.layers
            for name, kinds in known.items()
        )
        and len({layer.self_attn.query.heads for layer in encoder.layers}) == 1
    )


def greatest_difference(
    whole: Tensor, decoder: Decoder, tokens: Tensor, lengths: Iterable[int]
) -> Tensor:
    r"""
    ## It computes the same

    The text, `[seq_len, batch_size]`, is read in pieces of the given `lengths`. The result is how
    far the logits are from `whole`, `[seq_len, batch_size, n_vocab]`, those of the model that read
    all at once. In double precision that is rounding alone.
    """
    decoder.cache.clear()
    pieces = torch.split(tokens, list(lengths))
    return (torch.cat([decoder(piece) for piece in pieces]) - whole).abs().max()


def example(
    n_read: int = 7,
    n_new: int = 3,
    batch_size: int = 5,
    heads: int = 2,
    d_k: int = 11,
    d_ff: int = 13,
    n_vocab: int = 17,
) -> tuple[Tensor, ...]:
    r"""
    ## Example

    A text in one piece, and in two.
    """
    d_model = heads * d_k
    seq_len = n_read + n_new
    n_rows = batch_size * n_new
    embed = EmbeddingsWithPositionalEncoding(d_model, n_vocab)
    layer = TransformerLayer(
        d_model=d_model,
        self_attn=MultiHeadAttention(heads, d_model),
        feed_forward=FeedForward(d_model, d_ff),
        dropout_prob=0.0,
    )
    parts = (embed, Encoder([layer]), Generator(n_vocab, d_model))
    assert can_decode(*parts)
    decoder = Decoder(*parts, batch_size, seq_len)

    tokens = torch.randint(n_vocab, (seq_len, batch_size))
    with torch.no_grad():
        whole = decoder(tokens)
        difference = greatest_difference(whole, decoder, tokens, [n_read, n_new])
    assert n_rows == whole[n_read:].shape[:2].numel()
    return whole, difference
