r"""
---
title: The Transformer Layer and the Model
summary: Embeddings, residual layers with normalisation, the stack, and logits.
paper:
  title: Attention Is All You Need
  authors: Vaswani et al.
  year: 2017
  link: https://arxiv.org/abs/1706.03762
terms:
  embedding: The vector of a token, looked up in a learned table.
  logits: Scores before the softmax, one for each token of the vocabulary.
  pre-norm: Normalises the input of each sublayer, and leaves the residual stream as it is.
  residual connection: The path around a sublayer, on which its input is added to its output.
  residual stream: The vector of a token, to which each sublayer adds its output.
---

A transformer turns each token into a vector, lets a stack of layers change these vectors, and reads
from each a score for every token that may come next.

```text
tokens ── embedding ──┬───────────────(+)──┬────────────────(+)── … ── norm ── logits
                      └ norm ─ attention ┘ └ norm ─ feed-forward ┘
                      └────────────── one layer ─────────────────┘
```

Follow one token of two features, 1 and 2. [Attention](mha.py) reads a
[normalised](models.py#TransformerLayer) copy of it, looks at other positions, and adds 0.5 and
−1. Now it is 1.5 and 1. The [feed-forward network](feed_forward.py) reads a normalised copy of
that, and adds −1 and 0: the token leaves the layer as 0.5 and 1, and the next layer adds to it
again. The line that runs through is the *residual stream*, `[seq_len, batch_size, d_model]`.

Each addition is a *residual connection*. Without them, the output of each part would *replace* the
stream: 0.5 and −1 after attention, and nothing left of 1 and 2. Then the small transformer of four
layers stays at a loss of
[3.348](../../results/without.json#tables.without.No%20residual%20connections.loss), which is what
[counting single letters](../training/counting.py) gives. With them it reaches
[1.846](../../results/without.json#tables.without.The%20whole%20model.loss).

**In:** tokens, `[seq_len, batch_size]`. **Out:** logits, `[seq_len, batch_size, n_vocab]`.

The paper calls the stack of layers an encoder. With a causal mask it is the decoder of a language
model.

[The training loss without each of the parts](../../results/without.json#figures.curves)
"""

import math
from collections.abc import Iterable

import torch
from torch import Tensor, nn

from labml_nn.transformers.feed_forward import FeedForward
from labml_nn.transformers.mha import MultiHeadAttention, causal_mask
from labml_nn.transformers.positional_encoding import PositionalEncoding


class TokenEmbedding(nn.Module):
    r"""
    ## Token embedding

    A table with one row of features for each token, times $\sqrt{d_{model}}$ (section 3.4).
    """

    def __init__(self, n_vocab: int, d_model: int) -> None:
        r"""
        * `n_vocab` is the number of different tokens
        * `d_model` is the number of features of a token
        """
        super().__init__()
        # The paper gives no reason for this factor. It has an effect: a step of Adam moves every
        # weight by about the learning rate, and the vector of a token by 11 times as much, if
        # `d_model` is 128.
        self.scale = math.sqrt(d_model)

        # Variance 1 *after* the scaling. PyTorch's own weights have variance 1 before it: with 128
        # features, tokens would be 16 times as large as positions.
        self.embedding = nn.Embedding(n_vocab, d_model)
        nn.init.normal_(self.embedding.weight, std=1 / self.scale)

    def forward(self, tokens: Tensor) -> Tensor:
        r"""
        From `[seq_len, batch_size]` to `[seq_len, batch_size, d_model]`.
        """
        # Row 5 of the table for token 5. Equal tokens get equal vectors, wherever they stand.
        return self.embedding(tokens) * self.scale


class Embeddings(nn.Module):
    r"""
    ## Tokens and positions
    """

    def __init__(self, n_vocab: int, d_model: int, positions: nn.Module) -> None:
        r"""
        * `n_vocab` is the number of different tokens
        * `d_model` is the number of features of a token
        * `positions` adds [where each token stands](positional_encoding.py)
        """
        super().__init__()
        # What a token is comes from the first part, and where it stands from the second alone.
        self.tokens = TokenEmbedding(n_vocab, d_model)
        self.positions = positions

    def forward(self, tokens: Tensor) -> Tensor:
        r"""
        From `[seq_len, batch_size]` to `[seq_len, batch_size, d_model]`.
        """
        # The sum of both is what the first layer gets.
        return self.positions(self.tokens(tokens))


class TransformerLayer(nn.Module):
    r"""
    ## Transformer layer

    Attention, then the feed-forward network, each added to the residual stream. What they read has
    gone through [layer normalisation](layer_norm.py). Take a token with the features 1, 2, 3, 4:

    | features | 1 | 2 | 3 | 4 |
    | --- | --- | --- | --- | --- |
    | minus their mean, 2.5 | −1.5 | −0.5 | 0.5 | 1.5 |
    | divided by 1.12 | −1.34 | −0.45 | 0.45 | 1.34 |

    1.12 is the standard deviation: the squares of the second row are 2.25, 0.25, 0.25 and 2.25,
    their mean, the *variance*, is 1.25, and its root 1.12. The result has mean 0 and variance 1.
    From 10, 20, 30, 40 comes the same, so the size of the stream is gone. Each token is normalised
    by itself; other positions and other sequences of the batch have no part in it.

    Then each feature is multiplied by a learned number $g$, 1 at first, and a learned $b$ is added,
    0 at first:

    $$
    \operatorname{LayerNorm}(x) = g \odot \frac{x - \mu}{\sqrt{\sigma^2 + \epsilon}} + b
    $$

    $\mu$ and $\sigma^2$ are mean and variance of the token's features, $\odot$ multiplies feature
    by feature, and $\epsilon$, 0.00001 in PyTorch, keeps a token of equal features from 0/0. That
    is what `nn.LayerNorm` does:

    ```python
    mean = x.mean(dim=-1, keepdim=True)
    variance = (x - mean).square().mean(dim=-1, keepdim=True)
    result = g * (x - mean) / torch.sqrt(variance + 1e-5) + b
    ```
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
        * `self_attn` and `feed_forward` are the two sublayers
        * `dropout_prob` is the probability that a feature of their results is dropped
        """
        super().__init__()
        # [Attention](mha.py#MultiHeadAttention.forward), which moves information between positions.
        # It reads a normalised copy of the stream.
        self.norm_self_attn = nn.LayerNorm(d_model)
        self.self_attn = self_attn

        # The [network](feed_forward.py) that works on each position, with a normalisation of its
        # own: the stream has changed since the first.
        self.norm_ff = nn.LayerNorm(d_model)
        self.feed_forward = feed_forward

        # What is added to the stream loses some of its features in training, not the stream itself.
        self.dropout = nn.Dropout(dropout_prob)

    def forward(self, *, x: Tensor, mask: Tensor | None = None) -> Tensor:
        r"""
        `x` and the result are `[seq_len, batch_size, d_model]`.
        """
        # In self-attention, queries, keys and values come from the same sequence. The mask says
        # which keys each query may look at.
        z = self.norm_self_attn(x)
        z = self.self_attn(query=z, key=z, value=z, mask=mask)

        # Added to the stream: the token that was there is still part of the sum.
        x = x + self.dropout(z)

        # What attention has gathered is now worked on, position by position.
        z = self.norm_ff(x)
        z = self.feed_forward(z)
        return x + self.dropout(z)


class Encoder(nn.Module):
    r"""
    ## The stack of layers
    """

    def __init__(self, layers: Iterable[TransformerLayer], d_model: int) -> None:
        r"""
        * `layers` are applied one after the other
        * `d_model` is the number of features, for the last normalisation
        """
        super().__init__()
        # Each layer comes from its own call. Copies of one layer would start with the same weights.
        self.layers = nn.ModuleList(layers)

        # The layers normalise copies of the stream. This one normalises the stream itself, once, at
        # its end.
        self.norm = nn.LayerNorm(d_model)

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        r"""
        `x` and the result are `[seq_len, batch_size, d_model]`.
        """
        # The stream passes from layer to layer, and its shape never changes.
        for layer in self.layers:
            x = layer(x=x, mask=mask)

        # Otherwise a stream of three times the size would give scores three times as far apart.
        return self.norm(x)


class Generator(nn.Module):
    r"""
    ## Logits

    A score for each token of the vocabulary. There is no softmax here: the loss computes its
    logarithm in one go, which rounds less.
    """

    def __init__(self, n_vocab: int, d_model: int) -> None:
        r"""
        * `n_vocab` is the number of different tokens
        * `d_model` is the number of features
        """
        super().__init__()
        # A row of weights for each token. Its dot product with the stream is the token's score.
        self.projection = nn.Linear(d_model, n_vocab)

    def forward(self, x: Tensor) -> Tensor:
        r"""
        From `[seq_len, batch_size, d_model]` to `[seq_len, batch_size, n_vocab]`.
        """
        # Each position scores the whole vocabulary for the token after it.
        return self.projection(x)


def example(
    seq_len: int = 7,
    batch_size: int = 3,
    heads: int = 5,
    n_pairs: int = 2,
    d_ff: int = 11,
    n_vocab: int = 13,
) -> Tensor:
    r"""
    ## Example

    A language model of two layers.

    ### The residual stream grows

    Each layer adds something. In the trained model the stream after four layers is two to three
    times as large as the embeddings that it began with. The last normalisation undoes that for the
    logits:

    [The residual stream in the trained model](../../results/without.json#figures.stream)

    ### Normalisation

    Each of the two sublayers reads a [normalised](layer_norm.py) copy of the stream:

    $$
    x \leftarrow x + \operatorname{Sublayer}(\operatorname{LayerNorm}(x))
    $$

    That is *pre-norm*. The paper normalises the sum of a sublayer and the stream instead, which is
    called *post-norm*. Then every normalisation of the stack stands between the loss and the first
    layer. With pre-norm only the last one does: from there a path of plain additions leads back to
    every layer, and training needs no warm-up ([Xiong et al.
    2020](https://arxiv.org/abs/2002.04745)).

    The usual reason for normalisations is that without them deep stacks, or high learning rates,
    don't learn. Four layers at the usual rate don't show it: the model without any normalisation
    is *better*, [1.763](../../results/without.json#tables.without.No%20normalisation.loss). More
    layers and a higher rate break it, and so do many more layers:

    [Narrow stacks before and after 100 steps, without normalisations and with them; means of three
    seeds](../../results/depth.json#tables.stacks)

    With 24 layers and ten times the usual rate, the loss is soon no number any more. With 64 layers
    at the usual rate, the stream is more than a hundred times as large at its end as at its
    beginning, before any training; the first loss is in the hundreds, and 100 steps don't mend it.
    With normalisations both learn.

    ### Exercises

    ??? question "Every sublayer normalises its input. Why one more normalisation at the end?"
        - [ ] The last layer has no residual connection.
            - It has two, as every layer.
        - [ ] Logits must lie between −1 and 1.
            - They may be any numbers. The softmax makes probabilities of them.
        - [x] The sublayers normalise copies, and the stream has grown with everything they added.
            - Yes. In the trained model it is two to three times as large at the end.

    ??? question "`x = ___ + self.dropout(z)`: what belongs there? What is the loss without it?"
        `x`. Without it there is no residual connection, and the model of four layers learns how
        frequent each letter is and no more: 3.348.

    ??? question "What does LayerNorm make of 1, 2 and 6, before the gain? And of 5, 5 and 5?"
        The mean is 3, which leaves −2, −1 and 3. The variance is (4 + 1 + 9)/3 = 4.67, its root
        2.16: −0.93, −0.46 and 1.39. Of equal features only zeros are left; without $\epsilon$ it
        would be 0/0.

    ??? question "Which of the parts can move information from one position to another?"
        Attention alone. Embeddings, normalisations, the feed-forward network and the logits treat
        each position on its own.

    ??? question "Build all layers with `[layer] * 4`. What goes wrong?"
        All four are the same module, so they share their weights. The shapes are right, and the
        model trains, but with a quarter of the parameters in its layers.
    """
    # The sines and cosines need an even number of features.
    d_model = heads * 2 * n_pairs
    embed = Embeddings(n_vocab, d_model, PositionalEncoding(d_model, 0.1))

    # Two layers, each with weights of its own: the list is made by two calls, and every part in it,
    # too.
    layers = [
        TransformerLayer(
            d_model=d_model,
            self_attn=MultiHeadAttention(heads, d_model),
            feed_forward=FeedForward(d_model, d_ff),
            dropout_prob=0.1,
        )
        for _ in range(2)
    ]

    # Random tokens are enough for the shapes.
    tokens = torch.randint(n_vocab, (seq_len, batch_size))

    # From tokens to logits. The mask hides later tokens from each position.
    x = Encoder(layers, d_model)(embed(tokens), causal_mask(seq_len))
    return Generator(n_vocab, d_model)(x)
