r"""
---
title: Masked Tokens
summary: Hide some letters of a text, so that a model that sees both sides has something to guess.
know: ../training/loop.py
paper:
  title: "BERT: Pre-training of Deep Bidirectional Transformers for Language Understanding"
  authors: Devlin et al.
  year: 2018
  link: https://arxiv.org/abs/1810.04805
terms:
  mask token: Stands in a model's input for a token that the model has to guess.
---

Which letter is missing in “the k_ng”? You look at both sides. A [language
model](../transformers/basic/autoregressive_model.py) can't: its causal mask hides the right side,
or it would see the letter that it has to predict. Without that mask, it would copy the next letter
from its input, and its loss would fall to nearly zero without any guessing.

*Masked language modelling* hides the letters themselves, so no causal mask is needed. Some letters
are replaced in the input, and the model guesses what they were:

```text
text     t  h  e  ␣  k  i  n  g
input    t  ▒  e  ␣  x  i  n  g
targets  .  h  .  .  k  .  n  .
```

Three of eight letters were chosen (␣ is a space): “h” is hidden by a *mask token* ▒, “k” is
replaced by a random letter, and “n” stays. Only they count in the loss. In the paper 15 % of the
tokens are chosen, and of 100 chosen ones 80 are hidden, 10 are replaced and 10 stay. So of a text
of 64 letters about ten are targets. The other 54 are there to guess them from.

**In:** tokens, `[seq_len, batch_size]`. **Out:** an input in which some of them are replaced, and
targets, both of the same shape. A [model](masked_model.py) learns from the two.
"""

import torch
import torch.nn.functional as F
from torch import Tensor

from labml_nn.training.data import CharTokenizer

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

    # Only the chosen places count. With a target for every place, most targets stand in the input,
    # and the model learns to believe what it sees.
    targets = tokens.masked_fill(~chosen, IGNORED)

    # A second random number decides what becomes of a chosen letter. Most are hidden.
    fate = torch.rand(tokens.shape, generator=generator)
    inputs = tokens.masked_fill(chosen & (fate < masked), tokenizer.mask)

    # Some become any letter, and the last ones stay. So the model has to guess at every place, not
    # at masks alone: texts that will be classified have no masks. (That is the paper's reason.)
    letters = torch.randint(n_letters, tokens.shape, generator=generator)
    other = chosen & (masked <= fate) & (fate < masked + replaced)
    return letters.where(other, inputs), targets


def example(seq_len: int = 7, batch_size: int = 3, n_letters: int = 13) -> tuple[Tensor, ...]:
    r"""
    ## Example

    Half of the letters of three texts are chosen, and one text has a gap of its own.

    ### Measured here

    [The loss in gaps: mean and range of three seeds](../../results/encoders.json#figures.sides)

    Each number is the mean of three seeds after 600 steps. There is [a
    list](../../docs/what_did_not_help.md) of more things that did not help.

    Seeing both sides hardly helps if 15 % of all letters are hidden at once: the loss in gaps is
    [1.886](../../results/encoders.json#tables.objectives.both%20sides.loss), and that of the
    language model, which sees its whole side,
    [1.903](../../results/encoders.json#tables.objectives.left%20side.loss). Nor is 15 % the best
    share: with 40 % in training it is
    [1.821](../../results/encoders.json#tables.objectives.40%20percent.loss); large models can gain
    from more, too ([Wettig et al. 2022](https://arxiv.org/abs/2202.08005)). Replacing and keeping
    some may help: with all of the 15 % hidden it is
    [1.946](../../results/encoders.json#tables.objectives.all%20hidden.loss), but seeds overlap.

    The runs have the [modern encoder](modern_encoder.py), as BERT's learns too slowly here.

    ### Exercises

    ??? question "A window has 63 letters. How many targets has it on average?"
        At a rate of 0.15, 9.45.

    ??? question "Give every place a target: `targets = tokens`. What does the model learn first?"
        To copy: in 86.5 % of all places the right answer is the letter that it sees. When we tried
        it, the model learned to fill gaps as well, nearly as fast as with the right line. What it
        lacked was doubt: it believed in a letter that was replaced several times as often.

    ??? question "The gaps of each text are chosen once, before training. What is lost?"
        Most of its letters are never a target. With other gaps each time, a text teaches something
        new whenever it comes up.

    ??? question "Why do a few of the chosen letters stay as they are?"
        - [x] So that the model also relies on the letter that it sees.
            - Yes. The paper wants to “bias the representation towards the actual observed word”. If
              none stays, a letter that stands at a chosen place is nearly always wrong. When we
              tried it (90 % hidden, 10 % replaced, two seeds), the model believed far less in
              letters that nobody had changed, and filled gaps worse.
        - [ ] So that it doubts every letter, and not the mask tokens alone.
            - That is what replaced letters are for. With 10 % kept and none replaced, a letter that
              stands at a chosen place is always right, and our model believed far more in wrong
              letters.
        - [ ] The loss would be infinite if all of them were hidden.
            - It is finite, and the loss in gaps is measured so.
    """
    # The alphabet is one letter short, because one number stands for unknown letters. The three
    # special tokens come after all letters.
    alphabet = "".join(chr(97 + index) for index in range(n_letters - 1))
    tokenizer = MaskTokenizer(CharTokenizer(alphabet))

    # Half of the letters, so that some are chosen for sure.
    tokens = torch.randint(n_letters, (seq_len, batch_size))
    inputs, targets = corrupt(tokens, tokenizer, torch.Generator().manual_seed(1), rate=0.5)

    # A gap can also be written, to ask a trained model what fits.
    asked = tokenizer.encode("a" * (seq_len - 2) + "_", gap="_")
    return inputs, targets, asked
