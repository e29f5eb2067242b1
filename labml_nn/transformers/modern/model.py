r"""
---
title: A Modern Transformer
summary: The small transformer again, with what has replaced its parts since 2017.
---

This model has as many layers, heads and features as the [classic
one](../basic/autoregressive_experiment.py), slightly fewer weights, and nearly every part is
different:

| Part | Classic | Here | Why |
| --- | --- | --- | --- |
| Positions | sines, added to tokens | [rotary](../rotary.py) | scores depend on the distance |
| Norms | [layer](../layer_norm.py) | [RMSNorm](../rms_norm.py), no gains | as good and shorter |
| Queries and keys | as projected | normalised | scores stay bounded as weights grow |
| Feed-forward | two layers, GELU | [SwiGLU](../swiglu.py) | hidden features are products |
| First weights | random | zero in the last matrix of each part | layers start by doing nothing |
| Previous token | found by attention | mixed into each token | neighbours are known at once |
| Values | of each layer | mixed with those of the first layer | what a token is isn't lost |
| Biases | in all linear layers | none | fewer weights |

Two of the parts have no page of their own. Follow “the”, with one feature for each letter: t = 1,
h = 2, e = 4. *Mixing in the previous token* with a share of 0.5 makes 1, 2.5 and 5 of them: after
“t”, the letter “h” is another number than after “s”. And with *zeros in the last matrix*, a layer
adds 0 before training. “the” leaves four layers as it came.

[The ablation](ablation.py) leaves out one part at a time and measures what each is worth.

**In:** tokens, `[seq_len, batch_size]`. **Out:** logits, `[seq_len, batch_size, n_vocab]`.

[The size of a feature after each layer, before training: the modern layers add nothing
yet](../../../results/model_drawings.json#figures.streams)
"""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from labml_nn.transformers.modern.attention import ModernAttention
from labml_nn.transformers.rms_norm import rms_norm
from labml_nn.transformers.rotary import RotaryPositions, inverse_frequencies
from labml_nn.transformers.swiglu import SwiGLU


class Smear(nn.Module):
    r"""
    ## Mix in the previous token

    Attention can find the previous token, but that takes a head and a layer. Here it is there at
    once: in “th”, the letter “h” becomes another vector than in “sh”.
    """

    def __init__(self, d_model: int) -> None:
        r"""
        * `d_model` is the number of features
        """
        super().__init__()

        # How much is mixed in is learned for each feature. At the start, nothing is.
        self.share = nn.Parameter(torch.zeros(d_model))

    def forward(self, x: Tensor) -> Tensor:
        r"""
        `x` and the result are `[seq_len, batch_size, d_model]`.
        """
        # The last token goes, and a row of zeros comes before the first: “the” becomes 0, “t”, “h”.
        # Without the *first* token and with zeros at the end it would be “h”, “e”, 0, and the model
        # would see the future.
        previous = F.pad(x[:-1], (0, 0, 0, 0, 1, 0))

        # The token itself is kept whole.
        return x + self.share * previous


class ModernLayer(nn.Module):
    r"""
    ## Layer
    """

    def __init__(self, attention: nn.Module, d_model: int, d_ff: int, dropout_prob: float) -> None:
        r"""
        * `attention` is [that of this layer](attention.py#ModernAttention)
        * `d_model` is the number of features
        * `d_ff` is the number of features inside the feed-forward network
        * `dropout_prob` is the probability that a feature is dropped before it is added
        """
        super().__init__()
        self.attention = attention

        # No dropout inside; what it adds is dropped out below.
        self.feed_forward = SwiGLU(d_model, d_ff)

        # Each part has shares of the previous token of its own.
        self.smear_attention = Smear(d_model)
        self.smear_feed_forward = Smear(d_model)
        self.dropout = nn.Dropout(dropout_prob)

        # PyTorch's random weights bring the variance of features down to a third. These keep it:
        # [He et al. 2015](https://arxiv.org/abs/1502.01852), for layers without an activation.
        for parameter in self.parameters():
            if parameter.dim() == 2:
                nn.init.kaiming_uniform_(parameter, nonlinearity="linear")

        # Zeros where a part adds its result: at the start, the layer passes on what it gets. Then a
        # deep stack begins as if it had no layers.
        nn.init.zeros_(attention.output.weight)
        nn.init.zeros_(self.feed_forward.output.weight)

    def forward(self, x: Tensor, first_value: Tensor | None) -> tuple[Tensor, Tensor]:
        r"""
        `x` and the first result are `[seq_len, batch_size, d_model]`; `first_value` and the second
        are values, `[seq_len, batch_size, heads, d_k]`.
        """
        # As in the [classic layer](../models.py#TransformerLayer), each part reads a normalised
        # copy of the stream and adds its result to it.
        z = self.smear_attention(rms_norm(x))
        z, value = self.attention(z, first_value)
        x = x + self.dropout(z)

        # What attention has gathered is worked on, with a share of what the previous token has.
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
        * `d_ff` is the number of features inside the feed-forward networks: here two thirds of four
          times `d_model`, rounded to a multiple of 16
        * `seq_len` is the greatest length of a sequence, the *context*
        * `dropout_prob` is the probability of dropping a feature
        """
        super().__init__()
        # A head of an odd width has a feature without a partner to be rotated with.
        if d_model % (2 * heads):
            raise ValueError(
                "d_model must be a multiple of twice the heads, to have pairs of features in each, "
                f"got d_model={d_model} and heads={heads}"
            )
        # The features of a token start with variance 1, and are normalised at once.
        self.embedding = nn.Embedding(n_vocab, d_model)
        self.smear = Smear(d_model)
        self.dropout = nn.Dropout(dropout_prob)

        # One table of cosines and sines for all layers.
        rotate = RotaryPositions(inverse_frequencies(d_model // heads), seq_len)

        # The first layer is the only one without values to mix in. Each is made by a call of its
        # own, so that each starts with weights of its own.
        self.layers = nn.ModuleList()
        for index in range(n_layers):
            attention = ModernAttention(heads, d_model, rotate, first=index == 0)
            self.layers.append(ModernLayer(attention, d_model, d_ff, dropout_prob))

        # With zeros in the head, all tokens are equally likely, and the first loss is the logarithm
        # of their number. The paper of 2017 uses the weights of the embedding for the head as well;
        # those can't be zero, or no token would differ from another.
        self.head = nn.Linear(d_model, n_vocab, bias=False)
        nn.init.zeros_(self.head.weight)

    def forward(self, tokens: Tensor) -> Tensor:
        r"""
        From tokens, `[seq_len, batch_size]`, to logits, `[seq_len, batch_size, n_vocab]`.
        """
        # Vectors of one length for all tokens, `[seq_len, batch_size, d_model]`.
        x = rms_norm(self.embedding(tokens))

        # Each gets a share of the previous one. In training some features are dropped, so that the
        # layers can't rely on a single one.
        x = self.dropout(self.smear(x))

        # The values of the first layer go to all others.
        first_value = None
        for layer in self.layers:
            x, value = layer(x, first_value)

            # The values of the first layer are kept, and those of later layers are not.
            first_value = value if first_value is None else first_value

        # All layers have added to the stream, so it is normalised once more before the head.
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

    ### Where the parts come from

    Rotary positions, RMSNorm (with gains), SwiGLU and no biases are in large language models such
    as Llama. The three above the last row come from
    [modded-nanogpt](https://github.com/KellerJordan/modded-nanogpt), a public contest to reach a
    given loss in the shortest time, with any model. There the feed-forward network has the square
    of ReLU and not SwiGLU. Left out is a cache for writing: [that page](../kv_cache.py) has the
    classic model.

    Not every part helps at our size: zeros at the start are worth
    [0.008](../../../results/ablation.json#tables.changes.random%20numbers%20at%20the%20start%2C%20no%20zeros.worth)
    nats, no more than seeds differ. [The ablation](ablation.py) has all parts.

    ### Exercises

    ??? question "Why does the last matrix of each part begin with zeros?"
        - [ ] Zeros get no gradient, so these matrices are trained last.
            - They get one as soon as the head isn't zero, in the second step. It is the matrices
              before them that wait for the third.
        - [x] Each layer then passes on what it gets, so a deep stack begins as if it had no layers.
            - Yes. The figure at the top shows it: before training, the modern layers add nothing.
        - [ ] Weight decay would bring them to zero anyway.
            - It pulls a little in every step, against the gradient. This is about where they start.

    ??? question "Which parameters get a gradient other than zero in the very first step?"
        Those of the head alone. Everything before it is multiplied by the head's zeros. In the
        second step the head isn't zero any more, and the embedding, its `Smear` and the last matrix
        of each part begin to learn. The matrices before those follow in the third.

    ??? question "Write `F.pad(x[1:], (0, 0, 0, 0, 0, 1))` in `Smear`. How do you notice?"
        Every shape is right, and the loss becomes wonderful: each token sees the next one. Change
        the last token, and the output before it moves. But a fresh model passes: its shares are
        zero, and so is its head, which makes zeros of everything. Give all parameters random
        numbers first.

    ??? question "Why can the head start at zero, but not the embedding as well?"
        With both at zero, the gradient of each is a product with the other one: zero for ever.
    """
    d_k = 2 * n_pairs
    d_model = heads * d_k

    # The result is nothing but zeros, because the head is: see the second exercise.
    model = ModernTransformer(n_vocab, d_model, heads, 2, d_ff, seq_len, dropout_prob=0.1)
    return model(torch.randint(n_vocab, (seq_len, batch_size)))
