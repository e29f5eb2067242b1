r"""
---
title: Masked Language Model
summary: Hide some letters of a text, and guess each from both sides (BERT).
know: ../training/loop.py, ../transformers/positional_encoding.py
paper:
  title: "BERT: Pre-training of Deep Bidirectional Transformers for Language Understanding"
  authors: Devlin et al.
  year: 2018
  link: https://arxiv.org/abs/1810.04805
terms:
  bidirectional encoder: A transformer without a causal mask, whose positions see both sides.
  masked language model: A model that guesses hidden tokens of a text from what is left of it.
---

Which letter is missing in “the k_ng”? You look at both sides. A [language
model](../transformers/basic/autoregressive_model.py) can't: its causal mask hides the right side,
or it would see the letter that it has to predict. Hide one letter of Shakespeare: after 600 steps,
a small language model has a loss of
[1.916](../../results/encoders.json#tables.objectives.left%20side.single) nats there, an equally
large encoder, which sees both sides,
[1.666](../../results/encoders.json#tables.objectives.both%20sides.single) (means of three seeds).

A *masked language model* needs no causal mask, since the letters themselves are hidden. Some are
replaced in the input, and the model guesses what they were:

```text
text     t  h  e  ␣  k  i  n  g
input    t  ▒  e  ␣  x  i  n  g
targets  .  h  .  .  k  .  n  .
```

Three of eight letters were chosen (␣ is a space): “h” is hidden by a *mask token* ▒, “k” is
replaced by a random letter, and “n” stays. Only they count in the loss.

[The loss in gaps: mean and range of three seeds](../../results/encoders.json#figures.sides)

**In:** tokens, `[seq_len, batch_size]`, some of them replaced. **Out:** at each position, logits
for the token that was there, `[seq_len, batch_size, n_vocab]`.
"""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from labml_nn.training.data import CharTokenizer
from labml_nn.transformers.feed_forward import FeedForward
from labml_nn.transformers.mha import MultiHeadAttention
from labml_nn.transformers.models import TransformerLayer

# A target of this number doesn't count: `cross_entropy` leaves it out of its mean.
IGNORED = -100


class MaskTokenizer:
    r"""
    ## Letters and three special tokens
    """

    def __init__(self, letters: CharTokenizer) -> None:
        r"""
        * `letters` are the [tokens of characters](../training/data.py#CharTokenizer)
        """
        self.letters = letters

        # They are numbered after the letters: what hides a letter, what each text begins with, and
        # what pads the shorter texts of a [batch](classifier.py): “[MASK]”, “[CLS]” and “[PAD]” in
        # BERT.
        self.mask, self.first, self.pad = range(len(letters), len(letters) + 3)

    def __len__(self) -> int:
        # The vocabulary size.
        return len(self.letters) + 3

    def encode(self, text: str, gap: str = "") -> Tensor:
        # One number for each letter, behind the token of the beginning.
        tokens = F.pad(self.letters.encode(text), (1, 0), value=self.first)

        # Where the text has the letter `gap`, a letter is missing.
        hidden = torch.tensor([False] + [letter == gap for letter in text])

        # The mark of the beginning is never hidden.
        return tokens.masked_fill(hidden, self.mask)


def corrupt(
    tokens: Tensor,
    tokenizer: MaskTokenizer,
    generator: torch.Generator,
    rate: float = 0.15,
    masked: float = 0.8,
    replaced: float = 0.1,
) -> tuple[Tensor, Tensor]:
    r"""
    ## Hide letters

    The share `rate` has to be guessed. Of that, `masked` is hidden, `replaced` becomes random
    letters, and the rest is kept. Returns inputs and targets, `[seq_len, batch_size]` each.

    The loss is the mean of $-\ln p(x_i \mid \tilde x)$ over the chosen places $i$. $x$ is the text,
    $\tilde x$ the input with replaced letters, and $p$ the probability that the model gives.
    """
    # Each letter on its own, by a random number from 0 to 1. Marks are never chosen: there is
    # nothing to learn from guessing that a text has a beginning.
    n_letters = len(tokenizer.letters)
    chosen = (torch.rand(tokens.shape, generator=generator) < rate) & (tokens < n_letters)

    # Only the chosen places count. A target for every place would mostly teach the model to copy.
    targets = tokens.masked_fill(~chosen, IGNORED)

    # A second random number decides what becomes of a chosen letter. Most are hidden.
    fate = torch.rand(tokens.shape, generator=generator)
    inputs = tokens.masked_fill(chosen & (fate < masked), tokenizer.mask)

    # Some become any letter, and the last ones stay. So the model has to guess at every place, not
    # at masks alone: texts that will be classified have no masks. (That is the paper's reason.)
    letters = torch.randint(n_letters, tokens.shape, generator=generator)
    other = chosen & (masked <= fate) & (fate < masked + replaced)
    return letters.where(other, inputs), targets


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

        # Each layer by a call of its own, with GELU in its network.
        self.layers = nn.ModuleList(
            PostNormLayer(
                d_model=d_model,
                # Without a causal mask, any attention becomes one that sees both sides.
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

        # One more layer, which a classifier throws away: features needn't look like a letter's.
        self.dense = nn.Linear(d_model, d_model, bias=bias)
        self.norm = nn.LayerNorm(d_model, bias=bias)
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

    ### What did not help here

    These are entries of [a list](../../docs/what_did_not_help.md) of such things.

    Both sides, if 15 % of all letters are hidden at once: the loss in gaps is then
    [1.886](../../results/encoders.json#tables.objectives.both%20sides.loss), and that of the
    language model, which sees its whole side,
    [1.903](../../results/encoders.json#tables.objectives.left%20side.loss). Nor is 15 % the best
    share: with 40 % in training it is
    [1.821](../../results/encoders.json#tables.objectives.40%20percent.loss); large models can gain
    from more, too ([Wettig et al. 2022](https://arxiv.org/abs/2202.08005)). Replacing and keeping
    some may help: with all of the 15 % hidden it is
    [1.946](../../results/encoders.json#tables.objectives.all%20hidden.loss), but seeds overlap.

    The runs have the [modern encoder](modern_encoder.py), as BERT's learns too slowly here. Left
    out is BERT's task about pairs of sentences (next sentence prediction).

    ### Exercises

    ??? question "A window has 63 letters. How many targets has it on average?"
        At a rate of 0.15, 9.45.

    ??? question "Give every place a target: `targets = tokens`. What does the model learn first?"
        To copy: in 86.5 % of all places the right answer is the letter that it sees.

    ??? question "Initialise the table of tokens with PyTorch's variance of 1. The first loss?"
        Far above that of guessing, because the same table makes the logits. A test notices.
    """
    # The alphabet is one letter short, because one number stands for unknown letters. The three
    # special tokens come after all letters.
    alphabet = "".join(chr(97 + index) for index in range(n_letters - 1))
    tokenizer = MaskTokenizer(CharTokenizer(alphabet))
    n_vocab = len(tokenizer)
    d_model = heads * d_k
    tokens = torch.randint(n_letters, (seq_len, batch_size))

    # Half of the letters, so that some are chosen for sure.
    inputs, targets = corrupt(tokens, tokenizer, torch.Generator().manual_seed(1), rate=0.5)
    model = MaskedModel(BertEncoder(n_vocab, d_model, heads, 2, d_ff, seq_len))

    # As in the training loop: the loss leaves out what isn't counted.
    logits = model(inputs)
    return targets, logits, F.cross_entropy(logits.flatten(0, 1), targets.flatten())
