r"""
---
title: Drafts Without a Second Model
summary: "Two drafts that cost next to nothing: letters that were counted, and the text itself."
know: speculative.py, ../training/counting.py
paper:
  title: Prompt Lookup Decoding
  authors: Apoorv Saxena
  year: 2023
  link: https://github.com/apoorvumang/prompt-lookup-decoding
terms:
  prompt look-up: The draft is what followed the last few tokens when they came up earlier.
---

TODO
"""

import torch
import torch.nn.functional as F
from torch import Tensor

from labml_nn.training.counting import BackOff


class CountedLetters:
    r"""
    ## Counted letters

    What [predicts](speculative.py#Draft) is a table: the logits, `[n_vocab]`, of the letter after
    the last few.
    """

    def __init__(self, counted: BackOff) -> None:
        r"""
        * `counted` has [counted](../training/counting.py#BackOff) the training text
        """
        # The rows that were computed once.
        self.counted = counted
        self.rows: dict[str, Tensor] = {}

    def __call__(self, text: Tensor) -> Tensor:
        # The context as letters, because these were counted.
        symbols, n_letters = self.counted.symbols, self.counted.n_letters
        context = "".join(symbols[token] for token in text[max(0, len(text) - n_letters) :])

        # A row takes a product for each letter of the vocabulary and of the context, so each is
        # computed when it is first needed. Then it's a look-up.
        if context not in self.rows:
            row = [self.counted.probability(symbol, context) for symbol in symbols]

            # The softmax of logarithms gives the probabilities again.
            self.rows[context] = torch.tensor(row).log()
        return self.rows[context]


class PromptLookup:
    r"""
    ## Prompt look-up

    Have the last few letters come up before? Then guess that what followed them follows again.
    """

    def __init__(self, n_vocab: int, n_letters: int = 3) -> None:
        r"""
        * `n_vocab` is the size of the vocabulary
        * `n_letters` is the greatest number of letters that must be the same
        """
        self.n_vocab, self.n_letters = n_vocab, n_letters

    def __call__(self, text: Tensor, n_draft: int) -> tuple[Tensor, Tensor]:
        # The longest run first: the more letters are the same, the likelier is what follows. If
        # nothing is found, there are no guesses, and the target writes one letter as ever.
        draft = text[:0]
        for length in range(min(self.n_letters, len(text) - 1), 0, -1):
            # All runs of this length, `[n_runs, length]`, but the one at the end: that is the one
            # we are looking for.
            runs = text.unfold(0, length, 1)[:-1]
            found = (runs == text[-length:]).all(dim=1).nonzero()

            # What followed the run when it first came up.
            if len(found):
                start = int(found[0]) + length
                draft = text[start : start + n_draft]
                break

        # Nothing is drawn, so each guess has all of the probability. Then $\min(1, p/q)$ is $p$: a
        # guess is kept as often as the target would have written it.
        return draft, F.one_hot(draft, self.n_vocab).double()


def example(n_text: int = 7, n_draft: int = 3, n_letters: int = 2, n_vocab: int = 5) -> Tensor:
    text = torch.arange(n_text + n_vocab) % n_vocab
    draft, q = PromptLookup(n_vocab, n_letters)(text, n_draft)
    counted = BackOff("abracadabra", n_letters, "abcdr")
    row = CountedLetters(counted)(text)
    return q
