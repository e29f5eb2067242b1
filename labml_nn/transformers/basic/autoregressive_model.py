r"""
---
title: The Autoregressive Model
summary: The parts put together into a model that gives logits for the next token.
paper:
  title: Attention Is All You Need
  authors: Vaswani et al.
  year: 2017
  link: https://arxiv.org/abs/1706.03762
---

A model is *autoregressive* if it predicts each token of a text from those before it. Say that it
gives “t” a probability of 0.1 as the first letter, “h” 0.4 after “t”, and “e” 0.6 after “th”. Then
“the” has the probability $0.1 \cdot 0.4 \cdot 0.6 = 0.024$. The loss is the mean of the three
$-\ln p$: 2.30, 0.92 and 0.51, together 3.73, and 1.24 a letter. For a text of $n$ tokens $x_t$,

$$
p(x_1, \dots, x_n) = \prod_t p(x_t \mid x_1, \dots, x_{t-1}).
$$

To write with such a model, draw a token, append it, and go on.

The model of this page makes all these predictions in one call. Given “the”, position 0 predicts
what follows “t”, position 1 what follows “th”, and position 2 what follows “the”. The [causal
mask](../mha.py#causal_mask) hides later letters from each of them. Without it, position 0 could
read the “h” that it has to predict.

**In:** tokens, `[seq_len, batch_size]`. **Out:** at each position, logits for the token after it,
`[seq_len, batch_size, n_vocab]`.

[How strongly each output depends on each input, before training: on none that comes
later](../../../results/model_drawings.json#figures.influence)
"""

from collections.abc import Callable

import torch
from torch import Tensor, nn

from labml_nn.transformers.feed_forward import FeedForward
from labml_nn.transformers.mha import MultiHeadAttention, causal_mask
from labml_nn.transformers.models import Embeddings, Encoder, Generator, TransformerLayer
from labml_nn.transformers.positional_encoding import PositionalEncoding


class AutoregressiveTransformer(nn.Module):
    r"""
    ## The model

    [Embeddings](../models.py#Embeddings), a [stack](../models.py#Encoder), and logits.
    """

    def __init__(
        self,
        n_vocab: int,
        d_model: int = 128,
        heads: int = 4,
        n_layers: int = 4,
        d_ff: int = 512,
        seq_len: int = 64,
        dropout_prob: float = 0.0,
        attention: Callable[[int, int, float], nn.Module] = MultiHeadAttention,
    ) -> None:
        r"""
        * `n_vocab` is the number of different tokens
        * `d_model` is the number of features of a position
        * `heads` is the number of heads of each attention
        * `n_layers` is the number of layers
        * `d_ff` is the number of features inside a feed-forward network
        * `seq_len` is the *context*, the greatest length of a sequence
        * `dropout_prob` is the probability that a feature or an attention weight is dropped
        * `attention` makes the attention of a layer: [the readable one](../mha.py), or [the
          fused](../fused_attention.py), which is faster
        """
        super().__init__()
        # Each token becomes a vector, to which the vector of its position is added. Otherwise the
        # first layer sees a set of tokens without an order.
        positions = PositionalEncoding(d_model, dropout_prob, seq_len)
        self.embed = Embeddings(n_vocab, d_model, positions)

        # Each layer is made by a call of its own, so that each starts with weights of its own:
        # attention, which gathers, and a network, which works on what was gathered.
        self.encoder = Encoder(
            (
                TransformerLayer(
                    d_model=d_model,
                    # Most variants of attention begin with the same three arguments, and any of
                    # these can take the place of the plain one.
                    self_attn=attention(heads, d_model, dropout_prob),
                    feed_forward=FeedForward(d_model, d_ff, dropout_prob, nn.GELU),
                    dropout_prob=dropout_prob,
                )
                for _ in range(n_layers)
            ),
            d_model,
        )

        # From the features at each position to a score for every token that may come next. The
        # softmax is left to the loss.
        self.generator = Generator(n_vocab, d_model)

        # Made once, for the longest sequence. A buffer moves to the GPU with the model and is no
        # parameter. It isn't saved with the weights, because it can be made again.
        self.register_buffer("mask", causal_mask(seq_len), persistent=False)

    def forward(self, tokens: Tensor) -> Tensor:
        r"""
        From tokens, `[seq_len, batch_size]`, to logits, `[seq_len, batch_size, n_vocab]`.
        """
        # A shorter sequence than the context sees the upper left corner of the mask; a longer one
        # has no positions, and fails.
        length = len(tokens)

        # Every position gathers from those before it, layer by layer. In the second layer, “e” can
        # read at “h” what “h” has gathered from “t” in the first.
        x = self.encoder(self.embed(tokens), self.mask[:length, :length])

        # All positions predict at once. In training the model learns from each prediction; in
        # writing, only the last one is new.
        return self.generator(x)


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

    A text that is shorter than the context.

    ### Where it differs from the paper

    The decoder of the paper is such a model. With nothing to translate from, it needs no attention
    to an encoder, and what is left is the kind of model that large language models are. It differs
    from the paper in the place of the [normalisation](../models.py#TransformerLayer), in GELU for
    ReLU, in the biases of the projections, and in a matrix of its own for the logits, which the
    paper shares with the embedding; among other things.

    ### Exercises

    ??? question "Training predicts 64 tokens in one call. Why does writing need a call for each?"
        - [ ] In writing, the causal mask is off.
            - It is the same model with the same mask.
        - [x] Each new token depends on the one before it, which isn't there until it is drawn.
            - Yes. In training all true tokens are there, and the mask hides from each position what
              it must not see.
        - [ ] Dropout is off, so the predictions have to be made one by one.
            - Dropout changes each prediction a little. It has nothing to do with their order.

    ??? question "How many parameters does a model of 66 tokens have? Which part has most of them?"
        810,306. The four layers have 198,272 each: 66,048 in attention, 131,712 in the feed-forward
        network, 512 in the two normalisations. The embedding has 8,448, the logits 8,514, the last
        normalisation 256. So the four feed-forward networks have most: 526,848, or 65 %.

    ??? question "What is the loss before training, roughly?"
        About 4.36. If all tokens were equally likely, it would be $\ln 66 \approx 4.19$. Random
        logits are not all equal. Here they have a variance of 1/3, and about half of that is added.

    ??? question "Train it on windows of a single character. Which loss can it reach at best?"
        About that of [counting pairs](../../training/counting.py): the one character it sees is
        all that it can use.
    """
    # A small model, two layers high, with a context of twice the text: only the first rows of its
    # positions and of its mask are used.
    model = AutoregressiveTransformer(
        n_vocab, heads * 2 * n_pairs, heads, 2, d_ff, seq_len=2 * seq_len
    )

    # Random tokens: the shapes are right before anything is learned.
    return model(torch.randint(n_vocab, (seq_len, batch_size)))
