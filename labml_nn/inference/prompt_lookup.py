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

[Speculative decoding](speculative.py) needs guesses that cost little. A small transformer isn't
cheap enough for a small target: one guess takes
[0.33](../../results/speculative.json#tables.passes.1.draft) milliseconds, four take 1.3, and the
pass of the target that checks four letters takes
[1.38](../../results/speculative.json#tables.passes.4.target).

Two drafts on this page need no network. **In:** the text so far. **Out:** guesses, and the
[distributions](speculative.py#accept) that they were drawn from.

* **Counted letters** know the training text. After “the” they look up in a table which letters
  followed “the” there, and how often.
* **Prompt look-up** knows only the text so far. It finds the last few letters earlier in it, and
  guesses that what followed them follows again:

```
the cat, the c
  ^^^      ^^^     the last three letters came up before,
     at,_          and these four followed
```
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
        symbols = self.counted.symbols
        n_letters = self.counted.n_letters
        context = "".join(symbols[token] for token in text[max(0, len(text) - n_letters) :])

        # A row is computed when it is first needed, a product for each letter of the vocabulary
        # and of the context. From then on it's a look-up.
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
        self.n_vocab = n_vocab
        self.n_letters = n_letters

    def __call__(self, text: Tensor, n_draft: int) -> tuple[Tensor, Tensor]:
        # The longest run first: the more letters are the same, the likelier is what follows. (In
        # short pieces that our classic model wrote, the next letter was right at 0.12 of the places
        # where one letter was found, at 0.20 with two and at 0.25 with three.) If nothing is found,
        # there are no guesses, and the target writes one letter as ever.
        draft = text[:0]
        for length in range(min(self.n_letters, len(text) - 1), 0, -1):
            # All runs of this length, a row for each, but not the one at the end: that is the one
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


def example(
    n_text: int = 7, n_draft: int = 3, n_letters: int = 2, n_vocab: int = 5
) -> tuple[Tensor, ...]:
    r"""
    ## Example

    An alphabet of five letters, over and over.

    ### Measured here

    [How often the first guess is kept, and what a draft of four
    adds](../../results/speculative.json#tables.drafts)

    With counted letters the text comes
    [2.6](../../results/speculative.json#tables.drafts.counted,%203%20letters.times) times as fast
    as without a draft, with the small transformer only
    [1.3](../../results/speculative.json#tables.drafts.transformer,%2064%20features.times) times.
    With prompt look-up it comes more slowly than without,
    [0.96](../../results/speculative.json#tables.drafts.prompt%20look-up.times) times as fast: the
    guesses cost nothing, but a pass that checks four letters takes longer than a pass for one, and
    here it adds hardly more.

    Prompt look-up is meant for text that repeats itself: a summary of what stands in the prompt, a
    program that is changed in one place. A short piece of a play repeats little. In pieces of up to
    55 letters that the classic model writes, a first guess is kept at
    [0.09](../../results/speculative.json#tables.drafts.prompt%20look-up.overlap) of all places. At
    about three in ten not even the last letter came up before, so there is no guess. At half of
    them it is all that is found, and three letters in a row hardly ever are.

    We trained small models on Shakespeare and on the source code of PyTorch. At the temperature 1,
    a pass adds
    [1.17](../../results/prompt_lookup.json#tables.texts.a%20play,%20temperature%201.lookup) letters
    and
    [1.30](../../results/prompt_lookup.json#tables.texts.source%20code,%20temperature%201.lookup).
    The temperature matters more than the text. Greedy text goes round in circles, and a circle is
    easy to look up:
    [2.73](../../results/prompt_lookup.json#tables.texts.a%20play,%20temperature%200.lookup) and
    [3.20](../../results/prompt_lookup.json#tables.texts.source%20code,%20temperature%200.lookup)
    letters. In greedy source code, and nowhere else here, looking up adds more than counting.

    [Letters that a pass adds, for each text and
    temperature](../../results/prompt_lookup.json#tables.texts)

    ### What did not help here

    There is [a list](../../docs/what_did_not_help.md) of more such things.

    Looking for more than two or three equal letters didn't help: the differences are no larger than
    those between three seeds. The newest place in place of the oldest gained up to 0.06 letters a
    pass in five of six runs, and lost 0.17 in the sixth.

    [Letters that a pass adds at the temperature 0.5, by how many letters must be
    equal](../../results/prompt_lookup.json#tables.letters)

    Left out: a store of many texts to look things up in, and drafts that the target makes with
    heads of its own.

    ### Exercises

    ??? question "The text is “banana”, and up to two letters must be the same. What is guessed?"
        The last two are “na”. They came up at the third letter, and “na” followed: two guesses,
        though four may have been asked for.

    ??? question "Which draft profits from a longer prompt, and which doesn't?"
        Prompt look-up does: there is more to look things up in. Counted letters know the training
        text, and look at the last three letters only.

    ??? question "Why does `q` of prompt look-up have ones, though most of its guesses are wrong?"
        It is the distribution from which the guess was drawn, not how sure we are of it. If you
        write smaller numbers there, you must also draw the guess with them, or the text isn't the
        target's any more.

    ??? question "Leave out `[:-1]`. What is found?"
        The run at the end itself, if it comes up nowhere else. Nothing follows it, so no shorter
        run is looked for, and there are no guesses.
    """
    # A period more than is asked for, so that each run has come up before.
    text = torch.arange(n_text + n_vocab) % n_vocab
    draft, q = PromptLookup(n_vocab, n_letters)(text, n_draft)

    # Each letter of a draft of counted letters is drawn from such a row.
    counted = BackOff("abracadabra", n_letters, "".join(chr(97 + at) for at in range(n_vocab)))
    row = CountedLetters(counted)(text)
    return draft, q, row
