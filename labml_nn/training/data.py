r"""
---
title: Text as Training Data
summary: Characters become numbers, and windows of the text become inputs and targets.
terms:
  batch: Several sequences that go through the model at once.
  context window: The stretch of text that a model sees at once.
  token: The unit that a model reads and writes; on most pages of this site a character.
  tokenizer: Turns text into token numbers and back.
  validation set: Text that the model never trains on, to measure what it has learned.
---

A language model predicts what comes next. A text for it needs no labels: the target of each
character is the character after it. Here is a window of eight characters, with its targets below:

```
inputs   F i r s t _ C i
targets  i r s t _ C i t
```

This one window holds eight examples. After “F” comes “i”, after “Fi” comes “r”, and so on, up to
eight characters of context. The unit that a model reads and writes is called a *token*.
On most pages of this site a token is a character.

**In:** a text. **Out:** a tokenizer, and batches of inputs and targets, `[seq_len, batch_size]`
each. The sequence is the first axis, as on nearly all pages of this site, so one column is one
window.

## Cross entropy

How good is a prediction? The model gives each possible character a probability $p$, and its loss
is $-\ln p$ of the character that really came. Say it gives the three letters of “the” 0.5, 0.25 and
1. The losses are 0.69, 1.39 and 0, and their mean, 0.69, is the *cross entropy* of this text. The
unit is called *nat*.

If a model gives all 66 tokens of Tiny Shakespeare the same probability, its loss is
$\ln 66 \approx 4.190$. That is *guessing*, about where an untrained model starts. [Counting
letters](counting.py) shows how low the loss gets without a neural network.
"""

from importlib.resources import files

import torch
from torch import Tensor


def tiny_shakespeare() -> str:
    r"""
    ## Tiny Shakespeare

    Scenes from Shakespeare's plays, 1,115,394 characters. Small language models have been
    compared on this text for a decade. It comes with the package, so no network is needed. A
    notebook has no package: there, [another
    function](../transformers/basic/autoregressive_experiment.py#read_text) fetches it.
    """
    return files("labml_nn.training").joinpath("tiny_shakespeare.txt").read_text("utf-8")


class CharTokenizer:
    r"""
    ## Character tokenizer

    A model computes with numbers. The simplest tokenizer numbers the characters of the training
    text. One more token stands for any other character; without it, the first “é” in a new text
    would stop the program.
    """

    def __init__(self, text: str) -> None:
        r"""
        * `text` is the training text
        """
        # Sorted, so that the same text always gives the same numbers. Unicode has a character that
        # stands for an unknown one, “�”.
        unknown = "\N{REPLACEMENT CHARACTER}"
        self.symbols = "".join(sorted(set(text) - {unknown})) + unknown
        # For encoding: from a character to its number.
        self.index = {symbol: token for token, symbol in enumerate(self.symbols)}

    def __len__(self) -> int:
        # The size of the vocabulary, unknown included: 66 for Tiny Shakespeare.
        return len(self.symbols)

    def encode(self, text: str) -> Tensor:
        r"""
        ### Encode

        One number for each character.
        """
        unknown = len(self) - 1
        return torch.tensor([self.index.get(symbol, unknown) for symbol in text], dtype=torch.long)

    def decode(self, tokens: Tensor) -> str:
        r"""
        ### Decode

        The text of a sequence of tokens.
        """
        return "".join(self.symbols[token] for token in tokens.tolist())


def prepare(text: str, seq_len: int) -> tuple[CharTokenizer, Tensor, Tensor]:
    r"""
    ## Training and validation split

    A model could learn its training text by heart. So the last tenth of the text is not trained on:
    the loss on this *validation* text tells what the model has learned about the language. The
    result is a tokenizer, the training tokens and the validation tokens.
    """
    # In one piece. With every tenth line for validation, the lines before and after it are trained
    # on, with the same names and words: the loss gets lower, and the model no better.
    n_train = len(text) * 9 // 10
    train = text[:n_train]
    validation = text[n_train:]

    # At least one window with its last target to train on, and one prediction to measure.
    if len(train) <= seq_len or len(validation) < 2:
        raise ValueError(f"{len(text):,} characters are too few for a context of {seq_len:,}")

    # The vocabulary comes from the training text alone. That of the whole text would tell the
    # model which characters it is going to see.
    tokenizer = CharTokenizer(train)
    return tokenizer, tokenizer.encode(train), tokenizer.encode(validation)


class RandomWindows:
    r"""
    ## Training batches

    Windows at random places of the training text. You could also cut the text into windows, and
    take each of them once before you take one again. Random windows need no such list.
    """

    def __init__(self, tokens: Tensor, seq_len: int, batch_size: int, seed: int) -> None:
        r"""
        * `tokens` is the training text as numbers
        * `seq_len` is the length of a window, the *context* of the model
        * `batch_size` is the number of windows in a batch
        * `seed` decides which windows are drawn
        """
        self.tokens = tokens
        self.seq_len = seq_len
        self.batch_size = batch_size
        self.seed = seed

    def at(self, step: int) -> tuple[Tensor, Tensor]:
        r"""
        ### The batch of a step

        Inputs and targets, `[seq_len, batch_size]` each.
        """
        # The batch depends on the seed and the step alone, so a run that was interrupted goes on
        # with the batches that it would have had. The factor keeps seeds apart: with a plain sum,
        # seed 2 would draw at step 0 what seed 1 draws at step 1.
        generator = torch.Generator().manual_seed(self.seed * 1_000_003 + step)

        # The last possible start leaves one more character for the last target.
        last = len(self.tokens) - self.seq_len
        starts = torch.randint(last, (self.batch_size,), generator=generator)

        # A column of offsets plus a row of starts: the places of all characters of the batch,
        # `[seq_len, batch_size]`.
        places = torch.arange(self.seq_len).unsqueeze(1) + starts

        # The targets are the same windows, one character later. With `places` for both, the
        # model would only learn to copy, and its loss would look wonderful.
        return self.tokens[places], self.tokens[places + 1]


def fixed_windows(tokens: Tensor, seq_len: int) -> list[tuple[Tensor, Tensor]]:
    r"""
    ## Validation windows

    Measuring is different from training: nothing about it should be random. The windows lie side
    by side over the *whole* text, and every character but the first is predicted once, from at
    most `seq_len` characters before it. In windows of 4, “First Citizen” is

    ```
    inputs   F i r s   t _ C i   t i z e
    targets  i r s t   _ C i t   i z e n
    ```

    The first characters of a window have few characters before them, and short windows have more
    such characters. Compare only losses that were measured with the same `seq_len`.
    """
    n_windows, rest = divmod(len(tokens) - 1, seq_len)
    end = n_windows * seq_len
    windows = []

    # Cut into rows, each row is a window. Transposed, each column is: `[seq_len, n_windows]`.
    if n_windows:
        inputs = tokens[:end].view(n_windows, seq_len).t()
        targets = tokens[1 : end + 1].view(n_windows, seq_len).t()
        windows.append((inputs, targets))

    # What is left at the end is a shorter window, a batch of one: `[rest, 1]`.
    if rest:
        windows.append((tokens[end:-1].unsqueeze(1), tokens[end + 1 :].unsqueeze(1)))
    return windows


def example(
    rest: int = 3, batch_size: int = 5, seq_len: int = 7, n_windows: int = 11
) -> tuple[Tensor, Tensor]:
    r"""
    ## Example

    The alphabet, over and over. Targets that aren't shifted, or shifted twice, are
    [mistakes](../transformers/mistakes/model_mistakes.py#TargetsNotShifted) that are in print. If
    the batch has them, [a test](../../wrongline/training_tests.py#targets_follow_inputs) of the
    batch finds both. But the second shift is often [inside the
    loss](../transformers/mistakes/model_mistakes.py#TargetsShiftedTwice), and then the batch is
    right: compare the loss with [one computed by
    hand](../../wrongline/training_tests.py#honest).

    [The loss of one prediction](../../results/model_drawings.json#figures.loss)

    ### Measured here

    **The split.** We split the plays into tenths and predicted the lines of each by [counting four
    letters](counting.py#BackOff) in the other nine, every line after a line break alone. The mean
    loss is 1.549. With every tenth line in the place of whole tenths it is 1.462, though the same
    lines are predicted, each of them once. Nothing was learned better: the neighbours of the lines
    were there to be counted. (As one text, every tenth line is hard to predict where two lines meet
    that don't belong together, and hides most of it: 1.547 against 1.559.) The last tenth, on which
    our pages measure, is the hardest: 1.69 here, and 1.47 to 1.62 in the other nine.

    **Random estimates.** Some scripts, such as that of
    [nanoGPT](https://github.com/karpathy/nanoGPT) for a CPU, average 20 random batches of 12
    windows of the validation text. For [counted letter pairs](counting.py#count_pairs), the
    standard deviation of such an estimate is
    [0.010](../../results/counting.json#values.estimate_deviation) nats. Two models can differ by
    less.

    ### Exercises

    ??? question "Why is the validation text the last tenth of the plays, and not every tenth line?"
        - [ ] The end of the plays is harder, so the loss is more honest.
            - It is the hardest of the ten tenths, for counted letters by 0.07 nats or more. That is
              luck. What counts is what the model has seen of it.
        - [x] Neighbouring lines share names and words, and a model would know them from training.
            - Yes. Even for counted letters such lines are easier, by 0.09 nats. The split in one
              piece cuts no more than one scene in two.
        - [ ] Windows would be cut at the ends of lines.
            - Windows begin and end anywhere, in the middle of lines too.
        - [ ] A split by lines takes more memory.
            - It takes the same: each character is in one of the two parts either way.

    ??? question "The tokens are 0, 1, 2, … 9 and `seq_len` is 4. Which window starts at 3?"
        Inputs 3, 4, 5, 6 and targets 4, 5, 6, 7.

    ??? question "How many predictions are in a batch of 12 windows of 64 characters?"
        768, one for each position: 12 of them from one character, 12 from two, and so on.

    ??? question "Use `places` for the targets too. What happens to the loss?"
        Each target is then the last character that the model has seen, and copying it is easy: the
        loss falls to nearly 0. A model that learned to copy writes one letter over and over.

    ??? question "Each time a model gives the right character 1/4. What is its loss?"
        $\ln 4 \approx 1.386$ nats: it is as unsure as somebody who chooses among 4 characters.
    """
    # Long enough for all windows and the last target.
    text = "".join(chr(97 + index % 26) for index in range(n_windows * seq_len + rest + 1))
    tokenizer, train, validation = prepare(text, seq_len)
    tokens = torch.cat([train, validation])
    assert tokenizer.decode(train) + tokenizer.decode(validation) == text

    # All windows to measure with: eleven whole ones and a rest of three. Then the first batch to
    # train on.
    fixed_windows(tokens, seq_len)
    return RandomWindows(tokens, seq_len, batch_size, seed=1).at(0)
