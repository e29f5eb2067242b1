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
  encoder: A transformer without a causal mask, whose positions see both sides.
  masked language model: A model that guesses hidden tokens of a text from what is left of it.
  mask token: A token that takes the place of a hidden one.
  tied weights: One matrix that is used twice, as the embedding of tokens and for their logits.
---

Which letter is missing in “the k_ng”? You look at both sides of the gap. A [language
model](../transformers/basic/autoregressive_model.py) can't: its causal mask hides everything to the
right, since it would otherwise see the letter that it has to predict. Hide one letter in a line of
Shakespeare: a small language model has a loss of
[1.916](../../results/encoders.json#tables.objectives.the%20left%20side%2C%20next%20letter.single)
nats there, and an encoder of the same size that sees both sides
[1.666](../../results/encoders.json#tables.objectives.both%20sides%2C%2015%20%25%20chosen.single)
(means of three seeds, 600 steps each).

A *masked language model* needs no causal mask, because the letters themselves are hidden. Some
letters of the input are replaced, and the model guesses what they were:

```text
text     t  h  e  _  k  i  n  g
input    t  ▒  e  _  x  i  n  g
targets  .  h  .  .  k  .  n  .
```

Three of these eight letters were chosen. “h” is hidden by a *mask token* ▒, “k” is replaced by a
random letter, and “n” stays. Only the chosen letters count in the loss; a dot is a place without a
target.

Think of a worn inscription. You read a lost letter from the ones around it, and where the stone
isn't worn, a letter can still be a mistake of the mason.

[The loss in gaps of held-out text, mean and range of three
seeds](../../results/encoders.json#figures.sides)

**In:** tokens, `[seq_len, batch_size]`, some of them replaced. **Out:** at each position, logits
for the token that was there, `[seq_len, batch_size, n_vocab]`.

$$
L = -\frac{1}{|C|} \sum_{i \in C} \ln p(x_i \mid \tilde x)
$$

$x$ is the text, $\tilde x$ the input with replaced letters, $C$ the set of chosen places, $|C|$
their number, and $p$ the probability that the model gives.

**What did not help here:**

* *Both sides, if many letters are hidden at once.* With 15 % of all letters hidden, the loss in
  gaps is
  [1.886](../../results/encoders.json#tables.objectives.both%20sides%2C%2015%20%25%20chosen.loss).
  The language model, which sees all letters on its side, has
  [1.903](../../results/encoders.json#tables.objectives.the%20left%20side%2C%20next%20letter.loss)
  at the same places. And it learned from every letter, the masked model from 15 % of them.
* *BERT's 15 %.* With 40 % chosen in training, the loss at the same places is
  [1.821](../../results/encoders.json#tables.objectives.40%20%25%20chosen.loss), and
  [1.639](../../results/encoders.json#tables.objectives.40%20%25%20chosen.single) in single gaps. In
  large models, too, 40 % can be better ([Wettig et al. 2022](https://arxiv.org/abs/2202.08005)).

In these runs the encoder is the [modern one](modern_encoder.py), because BERT's learned too little
in 600 steps. This page's model can't write: it has no probability for the next letter of a
beginning.

Left out are BERT's second task (does one sentence follow another?), which later models dropped, and
the types of the two sentences. BERT's tokens are pieces of words; ours are letters, of which
neighbours tell more.
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
    ## Letters and three marks

    The marks are numbered after the letters.
    """

    def __init__(self, letters: CharTokenizer) -> None:
        self.letters = letters

        # What hides a letter, what each text begins with (BERT's “[CLS]”), and what fills up the
        # shorter texts of a batch. A [classifier](classifier.py) needs the last two.
        self.mask, self.first, self.pad = range(len(letters), len(letters) + 3)

    def __len__(self) -> int:
        # The vocabulary size.
        return len(self.letters) + 3

    def encode(self, text: str, gap: str = "") -> Tensor:
        # One number for each letter, behind the mark of the beginning.
        tokens = F.pad(self.letters.encode(text), (1, 0), value=self.first)

        # Where the text has the letter `gap`, a letter is missing.
        hidden = torch.tensor([False] + [letter == gap for letter in text])
        return tokens.masked_fill(hidden, self.mask)


def corrupt(
    tokens: Tensor, tokenizer: MaskTokenizer, generator: torch.Generator, rate: float = 0.15,
    masked: float = 0.8, replaced: float = 0.1,
) -> tuple[Tensor, Tensor]:
    r"""
    ## Hide letters

    `rate` is the share of letters that have to be guessed. Of those, the share `masked` is hidden,
    the share `replaced` is replaced by random letters, and the rest is kept. Returns inputs and
    targets, `[seq_len, batch_size]` each.

    Why not hide all of them? If all are hidden in training, the loss in gaps is
    [1.946](../../results/encoders.json#tables.objectives.all%20chosen%20letters%20hidden.loss)
    (from [1.889](../../results/encoders.json#tables.objectives.all%20chosen%20letters%20hidden.low)
    to [1.974](../../results/encoders.json#tables.objectives.all%20chosen%20letters%20hidden.high)
    in three seeds), and as on this page
    [1.886](../../results/encoders.json#tables.objectives.both%20sides%2C%2015%20%25%20chosen.loss)
    (from
    [1.866](../../results/encoders.json#tables.objectives.both%20sides%2C%2015%20%25%20chosen.low)
    to
    [1.897](../../results/encoders.json#tables.objectives.both%20sides%2C%2015%20%25%20chosen.high)).
    The paper has another reason: a text to be classified has no mask tokens, so a model shouldn't
    be used to making guesses at masks alone.
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

    # Some become any letter, and the last ones stay. So a letter that is there may be wrong, and
    # the model can't know which: it has to make a guess for every place, not for masks alone.
    letters = torch.randint(n_letters, tokens.shape, generator=generator)
    other = chosen & (masked <= fate) & (fate < masked + replaced)
    return letters.where(other, inputs), targets


class PostNormLayer(TransformerLayer):
    r"""
    ## Layer with post-norm

    The parts of [a layer](../transformers/models.py#TransformerLayer), in the order of the first
    transformer, which BERT has, too:

    $$
    x \leftarrow \operatorname{LayerNorm}(x + \operatorname{Sublayer}(x))
    $$
    """

    def forward(self, *, x: Tensor, mask: Tensor | None = None) -> Tensor:
        # The sum is normalised. With pre-norm, only what goes into the sublayer is.
        z = self.self_attn(query=x, key=x, value=x, mask=mask)
        x = self.norm_self_attn(x + self.dropout(z))

        # The same for the feed-forward network.
        z = self.feed_forward(x)
        return self.norm_ff(x + self.dropout(z))


class BertEncoder(nn.Module):
    r"""
    ## Encoder
    """

    def __init__(
        self, n_vocab: int, d_model: int, heads: int, n_layers: int, d_ff: int, seq_len: int,
        dropout_prob: float = 0.1,
        attention: Callable[[int, int, float], nn.Module] = MultiHeadAttention,
    ) -> None:
        super().__init__()
        # A learned vector for each token, and one for each of `seq_len` positions. BERT adds a
        # third, for the first or second of two sentences; it is left out here.
        self.tokens = nn.Embedding(n_vocab, d_model)
        self.positions = nn.Embedding(seq_len, d_model)

        # Small numbers, as in BERT, because the matrix of the tokens makes the logits, too. With
        # PyTorch's 1 for 0.02, logits would be around $\sqrt{d_{model}}$, and the first loss far
        # above that of guessing.
        for table in (self.tokens, self.positions):
            nn.init.normal_(table.weight, std=0.02)

        # The sum gets the size that layers expect.
        self.norm = nn.LayerNorm(d_model)
        self.dropout = nn.Dropout(dropout_prob)

        # Each layer by a call of its own, with GELU in its network.
        self.layers = nn.ModuleList(
            PostNormLayer(
                d_model=d_model,
                self_attn=attention(heads, d_model, dropout_prob),
                feed_forward=FeedForward(d_model, d_ff, dropout_prob, nn.GELU),
                dropout_prob=dropout_prob,
            )
            for _ in range(n_layers)
        )

    def forward(self, tokens: Tensor, mask: Tensor | None = None) -> Tensor:
        # The features of each position, `[seq_len, batch_size, d_model]`.
        x = self.tokens(tokens) + self.positions.weight[: len(tokens), None]
        x = self.dropout(self.norm(x))

        # No causal mask. If there is a mask, it hides [padding](classifier.py).
        for layer in self.layers:
            x = layer(x=x, mask=mask)
        return x


class MaskedModel(nn.Module):
    r"""
    ## The model

    An encoder, and logits for the token that was at each position.
    """

    def __init__(self, encoder: nn.Module, bias: bool = True) -> None:
        r"""
        * `encoder` is BERT's, or [a modern one](modern_encoder.py)
        * `bias` says whether the layer before the logits has biases
        """
        super().__init__()
        self.encoder = encoder
        n_vocab, d_model = encoder.tokens.weight.shape

        # One more layer, which a classifier throws away. So the encoder's features needn't be those
        # of a letter.
        self.dense = nn.Linear(d_model, d_model, bias=bias)
        self.norm = nn.LayerNorm(d_model, bias=bias)
        self.bias = nn.Parameter(torch.zeros(n_vocab))

    def forward(self, tokens: Tensor, mask: Tensor | None = None) -> Tensor:
        # Features of each position, which have seen both sides, are prepared for a guess.
        x = self.norm(F.gelu(self.dense(self.encoder(tokens, mask))))

        # Tied weights: the score of a token is the dot product with the vector that the token has
        # as an input, plus a number of its own.
        return F.linear(x, self.encoder.tokens.weight, self.bias)


def example(
    seq_len: int = 7, batch_size: int = 3, heads: int = 5, d_k: int = 2, d_ff: int = 11,
    n_letters: int = 13,
) -> tuple[Tensor, ...]:
    r"""
    ## Example

    Random letters, some of them hidden, and the loss of guessing them.

    ### Exercises

    ??? question "A window has 63 letters. How many targets has it on average?"
        At a rate of 0.15, 9.45. A language model has a target at every position.

    ??? question "Give every place a target: `targets = tokens`. What does the model learn first?"
        To copy: the right answer to 87 % of all questions is the letter that it sees (85 % that
        are not chosen, and another 1.5 % that are kept). The loss falls fast, and hardly any of
        it is about gaps.

    ??? question "The model fills “_” in “the k_ng” and “the kn_ght” at once. What can go wrong?"
        Nothing here, because the two gaps are far apart. In “the k__g” each gap is filled without
        knowing what the other one gets: “i” and “n” fit together, “o” and “n” don't.

    ??? question "Initialise the table of tokens with PyTorch's variance of 1. The first loss?"
        Far above $\ln 69 \approx 4.2$. The same table makes the logits, which are then sums of
        `d_model` products of numbers around 1. A test looks at it.
    """
    # The alphabet is one letter short, because one number stands for unknown letters.
    alphabet = "".join(chr(97 + index) for index in range(n_letters - 1))
    tokenizer = MaskTokenizer(CharTokenizer(alphabet))
    n_vocab, d_model = len(tokenizer), heads * d_k
    tokens = torch.randint(n_letters, (seq_len, batch_size))

    # Half of the letters, so that some are chosen for sure.
    inputs, targets = corrupt(tokens, tokenizer, torch.Generator().manual_seed(1), rate=0.5)
    model = MaskedModel(BertEncoder(n_vocab, d_model, heads, 2, d_ff, seq_len))

    # The loss of the training loop leaves out what isn't counted.
    logits = model(inputs)
    return targets, logits, F.cross_entropy(logits.flatten(0, 1), targets.flatten())
