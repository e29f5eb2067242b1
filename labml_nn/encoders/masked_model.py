r"""
---
title: Masked Language Model
summary: BERT's encoder sees both sides of a hidden letter, and guesses it.
know: ../transformers/positional_encoding.py
paper:
  title: "BERT: Pre-training of Deep Bidirectional Transformers for Language Understanding"
  authors: Devlin et al.
  year: 2018
  link: https://arxiv.org/abs/1810.04805
terms:
  bidirectional encoder: A transformer without a causal mask, whose positions see both sides.
  masked language model: A model that guesses hidden tokens of a text from what is left of it.
---

Some letters of a text are [hidden](masked_tokens.py). Which model can guess them? A [language
model](../transformers/basic/autoregressive_model.py) looks at the left side alone. An *encoder* is
a transformer without the causal mask, so it looks at both:

```text
                        t  h  e  ␣  ▒  i  n  g
seen from ▒, left side  ■  ■  ■  ■  ■  .  .  .
seen from ▒, encoder    ■  ■  ■  ■  ■  ■  ■  ■
```

After “the ␣” many letters are likely. With “ing” to the right as well, few words are left: “king”,
“ring”, “wing”. If a single letter of Shakespeare is hidden, the right side takes the loss from
[1.916](../../results/encoders.json#tables.objectives.left%20side.single) nats to
[1.666](../../results/encoders.json#tables.objectives.both%20sides.single): the probability of the
right letter rises from 0.15 to 0.19 in the geometric mean.

**In:** tokens, `[seq_len, batch_size]`, some of them replaced. **Out:** at each position, logits
for the token that was there, `[seq_len, batch_size, n_vocab]`.
"""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from labml_nn.encoders.masked_tokens import MaskTokenizer, corrupt
from labml_nn.training.data import CharTokenizer
from labml_nn.transformers.feed_forward import FeedForward
from labml_nn.transformers.mha import MultiHeadAttention
from labml_nn.transformers.models import TransformerLayer


class PostNormLayer(TransformerLayer):
    r"""
    ## Layer with post-norm

    The parts of [a layer](../transformers/models.py#TransformerLayer), in the order of BERT: $x
    \leftarrow \operatorname{LayerNorm}(x + \operatorname{Sublayer}(x))$.
    """

    def forward(self, *, x: Tensor, mask: Tensor | None = None) -> Tensor:
        r"""
        `x` and the result are `[seq_len, batch_size, d_model]`.
        """
        # The sum is normalised. With pre-norm, only what goes into the sublayer is.
        z = self.self_attn(query=x, key=x, value=x, mask=mask)
        x = self.norm_self_attn(x + self.dropout(z))

        # The same for the feed-forward network. What leaves the layer is normalised as well.
        z = self.feed_forward(x)
        return self.norm_ff(x + self.dropout(z))


class BertEncoder(nn.Module):
    r"""
    ## Encoder
    """

    def __init__(
        self,
        n_vocab: int,
        d_model: int,
        heads: int,
        n_layers: int,
        d_ff: int,
        seq_len: int,
        dropout_prob: float = 0.1,
        attention: Callable[[int, int, float], nn.Module] = MultiHeadAttention,
    ) -> None:
        r"""
        * `n_vocab` is the number of tokens, the special ones included
        * `d_model` is the number of features of a position
        * `heads` is the number of heads of each attention
        * `n_layers` is the number of layers
        * `d_ff` is the number of features inside a feed-forward network
        * `seq_len` is the greatest length of a text
        * `dropout_prob` is the probability that a feature or an attention weight is dropped
        * `attention` makes the attention of a layer
        """
        super().__init__()
        # A learned vector for each token, and one for each position. BERT adds a third, for the
        # first or second of two sentences; it is left out here.
        self.tokens = nn.Embedding(n_vocab, d_model)
        self.positions = nn.Embedding(seq_len, d_model)

        # The table of the tokens makes the logits, too. With a standard deviation of 1, they
        # would be around $\sqrt{d_{model}}$, and the first loss far above guessing.
        for table in (self.tokens, self.positions):
            nn.init.normal_(table.weight, std=0.02)

        # The sum gets the size that layers expect: mean 0 and variance 1 for each position.
        self.norm = nn.LayerNorm(d_model)
        self.dropout = nn.Dropout(dropout_prob)

        # Each layer by a call of its own, so that each has its own weights. The network has GELU, a
        # smooth form of ReLU, which BERT took over from GPT.
        self.layers = nn.ModuleList(
            PostNormLayer(
                d_model=d_model,
                # Without a mask, an attention sees both sides, unless it is one-sided by itself, as
                # a [sliding window](../transformers/memory/sliding_window.py) is.
                self_attn=attention(heads, d_model, dropout_prob),
                feed_forward=FeedForward(d_model, d_ff, dropout_prob, nn.GELU),
                dropout_prob=dropout_prob,
            )
            for _ in range(n_layers)
        )

    def forward(self, tokens: Tensor, mask: Tensor | None = None) -> Tensor:
        r"""
        From `[seq_len, batch_size]` to the features of each position, `[seq_len, batch_size,
        d_model]`.
        """
        # The vectors of token and position are added. The same positions serve all texts of the
        # batch.
        x = self.tokens(tokens) + self.positions.weight[: len(tokens), None]
        x = self.dropout(self.norm(x))

        # A mask hides [padding](classifier.py), and no future. Each layer gets the same one.
        for layer in self.layers:
            x = layer(x=x, mask=mask)
        return x


class MaskedModel(nn.Module):
    r"""
    ## The model

    An encoder, BERT's or [a modern one](modern_encoder.py), and logits for the token that was at
    each position.
    """

    def __init__(self, encoder: nn.Module, bias: bool = True) -> None:
        r"""
        * `encoder` gives features for each position
        * `bias` is whether the layer before the logits adds learned numbers
        """
        super().__init__()
        # Both sides of a gap are seen in here.
        self.encoder = encoder
        n_vocab, d_model = encoder.tokens.weight.shape

        # One more layer, which a classifier throws away. Our guess at its purpose: without it, the
        # features themselves would have to look like a letter's vector.
        self.dense = nn.Linear(d_model, d_model, bias=bias)
        self.norm = nn.LayerNorm(d_model, bias=bias)

        # A number for each token, zero at first. “e” is frequent wherever a letter is missing, and
        # its number can say so, whatever the features are.
        self.bias = nn.Parameter(torch.zeros(n_vocab))

    def forward(self, tokens: Tensor, mask: Tensor | None = None) -> Tensor:
        r"""
        From `[seq_len, batch_size]` to logits, `[seq_len, batch_size, n_vocab]`.
        """
        # Features of each position, which have seen both sides, are prepared for a guess. GELU is
        # BERT's choice.
        x = self.norm(F.gelu(self.dense(self.encoder(tokens, mask))))

        # *Tied weights*: the table of the tokens is used a second time, so a letter has one vector,
        # whether it is read or guessed. A token's score is the dot product with its vector, plus a
        # number.
        return F.linear(x, self.encoder.tokens.weight, self.bias)


def example(
    seq_len: int = 7,
    batch_size: int = 3,
    heads: int = 5,
    d_k: int = 2,
    d_ff: int = 11,
    n_letters: int = 13,
) -> tuple[Tensor, ...]:
    r"""
    ## Example

    Half of the letters are chosen, and a model with random weights guesses them.

    ### Measured here

    The two losses of the first screen are of [modern encoders](modern_encoder.py), which descend
    from BERT's: one size, 600 steps, means of three seeds. BERT's own, on this page, hardly learns
    in so few steps: [3.309](../../results/encoders.json#tables.encoders.BERT.loss) nats, if 15 % of
    all letters are hidden at once. The next page looks for the part that is to blame.

    ### What is left out

    BERT's task about pairs of sentences (next sentence prediction), and the vector that tells the
    first of two sentences from the second one.

    ### Exercises

    ??? question "Leave out the vectors of positions. Which texts are the same for the model then?"
        Those with the same letters in any order. Without a causal mask nothing else tells the model
        what comes first, so it would guess the same for “the k_ng” and for “gn_k eht”.

    ??? question "Change the last letter of a text. Which outputs may change?"
        - [x] All of them.
            - Yes. Each position sees all others. In a language model, no output before the last one
              may move; that is how its causal mask is tested.
        - [ ] The last one alone.
            - So it is in a language model: only the last position sees the last letter. Here all
              positions see it.
        - [ ] Those of gaps alone.
            - The layers don't know which positions are gaps. A mask token is a token like others.

    ??? question "Initialise the table of tokens with PyTorch's variance of 1. The first loss?"
        Far above that of guessing, because the same table makes the logits: of 64 features with
        variance 1 each, a logit has a standard deviation of about 8.
    """
    # The alphabet is one letter short, because one number stands for unknown letters. The three
    # special tokens come after all letters.
    alphabet = "".join(chr(97 + index) for index in range(n_letters - 1))
    tokenizer = MaskTokenizer(CharTokenizer(alphabet))
    n_vocab = len(tokenizer)
    tokens = torch.randint(n_letters, (seq_len, batch_size))

    # Half of the letters, so that some are chosen for sure.
    inputs, targets = corrupt(tokens, tokenizer, torch.Generator().manual_seed(1), rate=0.5)

    # Two layers. The features are those of all heads, side by side.
    d_model = heads * d_k
    model = MaskedModel(BertEncoder(n_vocab, d_model, heads, 2, d_ff, seq_len))

    # As in the training loop: the loss leaves out what isn't counted.
    logits = model(inputs)
    return targets, logits, F.cross_entropy(logits.flatten(0, 1), targets.flatten())
