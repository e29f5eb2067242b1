r"""
---
title: Transformer Models
summary: The parts between attention and a whole model, from embeddings to logits.
paper:
  title: Attention Is All You Need
  authors: Vaswani et al.
  year: 2017
  link: https://arxiv.org/abs/1706.03762
---

A transformer turns tokens, `[seq_len, batch_size]`, into vectors,
`[seq_len, batch_size, d_model]`, lets a stack of layers work on them, and reads a guess
about a token out of each. This page has those parts: embeddings, a layer, the stack and
the last step. They take [attention](mha.py) and the
[feed-forward network](feed_forward.py) as they are given, so that another kind can take
their place.

The page leaves out the decoder that attends to an encoder, and the sharing of weights
between the embedding and the last step (section 3.4 of the paper). It departs from the
paper where [layers are normalised](models.py#TransformerLayer).
"""

import math
from collections.abc import Iterable

import torch
from torch import Tensor, nn

from labml_nn.transformers.feed_forward import FeedForward
from labml_nn.transformers.mha import MultiHeadAttention, causal_mask
from labml_nn.transformers.positional_encoding import (
    LearnedPositionalEncoding,
    PositionalEncoding,
    sinusoidal_positions,
)


class TokenEmbedding(nn.Module):
    r"""
    ## Token embedding

    A vector for each token of the vocabulary, multiplied by $\sqrt{d_{model}}$ (section
    3.4). The paper doesn't say how the vectors start out, and it matters.
    """

    def __init__(self, n_vocab: int, d_model: int) -> None:
        r"""
        * `n_vocab` is the number of different tokens
        * `d_model` is the number of features
        """
        super().__init__()
        self.scale = math.sqrt(d_model)

        # Small enough that features have variance 1 *after* the scaling. PyTorch would
        # start with variance 1 before it.
        self.embedding = nn.Embedding(n_vocab, d_model)
        nn.init.normal_(self.embedding.weight, std=1 / self.scale)

    def forward(self, tokens: Tensor) -> Tensor:
        r"""
        ### Look up

        From `[seq_len, batch_size]` to `[seq_len, batch_size, d_model]`.
        """
        return self.embedding(tokens) * self.scale


def tokens_over_positions(embedding: TokenEmbedding) -> Tensor:
    r"""
    ## Why embeddings start small

    How loud tokens are beside the [positions](positional_encoding.py) added to them:
    the ratio of their root mean squares. It is about $\sqrt 2$, whatever the width.
    With the variance 1 that PyTorch gives an embedding, and 256 features, it is more
    than 22: the tokens drown the positions, and the model is slow to find out about
    order.
    """
    tokens = embedding.embedding.weight * embedding.scale
    positions = sinusoidal_positions(tokens.shape[1], max_len=1000)
    return (tokens.square().mean() / positions.square().mean()).sqrt()


class EmbeddingsWithPositionalEncoding(nn.Module):
    r"""
    ## Tokens with fixed positions

    The sum of both is what the first layer gets. The paper drops out some of it
    (section 5.4); here that is off unless asked for.
    """

    def __init__(
        self, d_model: int, n_vocab: int, max_len: int = 5000, dropout_prob: float = 0.0
    ) -> None:
        r"""
        * `d_model` is the number of features
        * `n_vocab` is the number of different tokens
        * `max_len` is the greatest length of a sequence
        * `dropout_prob` is the probability that a feature of the sum is dropped
        """
        super().__init__()
        self.tokens = TokenEmbedding(n_vocab, d_model)
        self.positions = PositionalEncoding(d_model, dropout_prob, max_len)

    def forward(self, tokens: Tensor) -> Tensor:
        r"""
        ### Embed

        From `[seq_len, batch_size]` to `[seq_len, batch_size, d_model]`.
        """
        return self.positions(self.tokens(tokens))


class EmbeddingsWithLearnedPositionalEncoding(nn.Module):
    r"""
    ## Tokens with learned positions

    Takes the place of [fixed positions](models.py#EmbeddingsWithPositionalEncoding).
    """

    def __init__(
        self, d_model: int, n_vocab: int, max_len: int = 5000, dropout_prob: float = 0.0
    ) -> None:
        r"""
        * `d_model` is the number of features
        * `n_vocab` is the number of different tokens
        * `max_len` is the greatest length of a sequence
        * `dropout_prob` is the probability that a feature of the sum is dropped
        """
        super().__init__()
        self.tokens = TokenEmbedding(n_vocab, d_model)
        self.positions = LearnedPositionalEncoding(d_model, max_len)
        self.dropout = nn.Dropout(dropout_prob)

    def forward(self, tokens: Tensor) -> Tensor:
        r"""
        ### Embed

        From `[seq_len, batch_size]` to `[seq_len, batch_size, d_model]`.
        """
        return self.dropout(self.positions(self.tokens(tokens)))


class TransformerLayer(nn.Module):
    r"""
    ## Transformer layer

    Attention, then the feed-forward network, each added to what came in:

    $$
    x \leftarrow x + \operatorname{Sublayer}(\operatorname{LayerNorm}(x))
    $$

    The paper normalises the sum instead, so that everything passes through every
    normalisation. Normalising what goes *into* a sublayer leaves a path through the
    stack on which nothing changes $x$ or its gradient, and such layers train without
    the slow start that the paper's need
    ([Xiong et al. 2020](https://arxiv.org/abs/2002.04745)).
    """

    def __init__(
        self,
        *,
        d_model: int,
        self_attn: nn.Module,
        feed_forward: nn.Module,
        dropout_prob: float,
    ) -> None:
        r"""
        * `d_model` is the number of features
        * `self_attn` is the attention, called as
          [MultiHeadAttention](mha.py#MultiHeadAttention.forward) is
        * `feed_forward` is the network that follows it
        * `dropout_prob` is the probability that a feature is dropped before it is added
        """
        super().__init__()
        self.d_model = d_model
        self.norm_self_attn = nn.LayerNorm(d_model)
        self.self_attn = self_attn
        self.norm_ff = nn.LayerNorm(d_model)
        self.feed_forward = feed_forward
        self.dropout = nn.Dropout(dropout_prob)

    def forward(self, *, x: Tensor, mask: Tensor | None = None) -> Tensor:
        r"""
        ### Apply the layer

        `x` and the result are `[seq_len, batch_size, d_model]`, and `mask` is as for
        the attention, here `[seq_len, seq_len, 1]`.
        """
        # In self-attention, queries, keys and values come from the same sequence.
        z = self.norm_self_attn(x)
        z = self.self_attn(query=z, key=z, value=z, mask=mask)
        x = x + self.dropout(z)

        z = self.norm_ff(x)
        z = self.feed_forward(z)
        return x + self.dropout(z)


class Encoder(nn.Module):
    r"""
    ## Encoder

    The layers, one after the other. With a causal mask this is also the decoder of a
    language model.
    """

    def __init__(self, layers: Iterable[TransformerLayer]) -> None:
        r"""
        * `layers` are the layers, each made by a call of its own. Copies of one layer
          would all start with the same weights.
        """
        super().__init__()
        self.layers = nn.ModuleList(layers)
        if not self.layers:
            raise ValueError("an encoder needs at least one layer, got none")

        # Nothing normalises the sum that leaves the last layer, so this does.
        self.norm = nn.LayerNorm(self.layers[0].d_model)

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        r"""
        ### Encode

        `x` and the result are `[seq_len, batch_size, d_model]`; `mask` goes to each
        layer.
        """
        for layer in self.layers:
            x = layer(x=x, mask=mask)
        return self.norm(x)


class Generator(nn.Module):
    r"""
    ## Generator

    A score for each token of the vocabulary. These are *logits*: the softmax that makes
    probabilities of them is left to the loss, which does it with less rounding.
    """

    def __init__(self, n_vocab: int, d_model: int) -> None:
        r"""
        * `n_vocab` is the number of different tokens
        * `d_model` is the number of features
        """
        super().__init__()
        self.projection = nn.Linear(d_model, n_vocab)

    def forward(self, x: Tensor) -> Tensor:
        r"""
        ### Score the tokens

        From `[seq_len, batch_size, d_model]` to `[seq_len, batch_size, n_vocab]`.
        """
        return self.projection(x)


def example(
    seq_len: int = 7,
    batch_size: int = 3,
    heads: int = 5,
    d_k: int = 2,
    d_ff: int = 11,
    n_vocab: int = 13,
) -> tuple[Tensor, ...]:
    r"""
    ## Example

    A small language model, in which each position guesses without seeing what follows.
    """
    d_model = heads * d_k
    embed = EmbeddingsWithPositionalEncoding(d_model, n_vocab)
    layers = [
        TransformerLayer(
            d_model=d_model,
            self_attn=MultiHeadAttention(heads, d_model),
            feed_forward=FeedForward(d_model, d_ff),
            dropout_prob=0.1,
        )
        for _ in range(2)
    ]
    encoder = Encoder(layers)
    generator = Generator(n_vocab, d_model)

    tokens = torch.randint(n_vocab, (seq_len, batch_size))
    logits = generator(encoder(embed(tokens), causal_mask(seq_len)))

    # The other kind of positions, and the claim about loudness.
    embed = EmbeddingsWithLearnedPositionalEncoding(d_model, n_vocab)
    return logits, embed(tokens), tokens_over_positions(embed.tokens)
