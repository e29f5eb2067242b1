r"""
---
title: Counting Letters
summary: How low the loss gets without a neural network, and where counting ends.
paper:
  title: The Zero-Frequency Problem
  authors: Witten and Bell
  year: 1991
  link: https://doi.org/10.1109/18.87000
terms:
  bigram: A pair of neighbouring tokens.
  cross entropy: The mean of −ln p of the right tokens; the loss of a language model.
  n-gram: A run of n neighbouring tokens.
  nat: The unit of a loss with natural logarithms; one nat is 1.44 bits.
  perplexity: e to the cross entropy; a model that guesses among so many tokens has the same loss.
---

In “abracadabra”, the letter “a” is followed by “b” twice, by “c” once and by “d” once. Count, and
you have a language model: after “a” comes “b” with a probability of 2/4. Where “b” comes, the loss
is $-\ln \frac{2}{4} = 0.69$ nats.

Two letters of *context* tell more. “ca” was followed by “d” alone, “da” by “b” alone, “ra” by “c”
alone. No two letters were ever followed by different ones, so from its third letter on the loss on
“abracadabra” is 0. The table knows this text by heart. On “abrada” it fails: after “ra” it has seen
“c” and nothing else, “d” has the probability 0, and the loss is infinite.

A long context predicts more, and comes up less often. This page counts contexts of all lengths and
mixes them, the longer ones as far as they can be trusted.

**In:** a training text. **Out:** a probability for each letter that may come next. A *letter* is
any character here, spaces and line ends too.

Before you train a network on a text, find out what counting can do. On Tiny Shakespeare four
letters of context give a loss of [1.688](../../results/counting.json#values.best). The [classic
transformer](../transformers/basic/autoregressive_experiment.py) reaches
[1.684](../../results/recipes.json#tables.losses.classic.loss) after 2,000 steps. Keep that in mind
when a small network is praised for the words that it spells.

[The loss against the letters of context](../../results/counting.json#figures.contexts)
"""

import math
import random
from collections import Counter

import torch
from torch import Tensor


def count_letters(tokens: Tensor, n_vocab: int) -> Tensor:
    r"""
    ## Letter frequencies

    The probability of each letter, `[n_vocab]`, whatever came before it.
    """
    # One more for each token. Otherwise a letter that never came up would have the probability 0,
    # and a single one of those in the validation text would make the loss infinite.
    counts = tokens.bincount(minlength=n_vocab) + 1

    # The shares of all counts sum to one.
    return counts / counts.sum()


def count_pairs(tokens: Tensor, n_vocab: int) -> Tensor:
    r"""
    ## Letter pairs

    A table, `[n_vocab, n_vocab]`: the row of a letter has the probabilities of the letter after
    it. Their loss is [2.482](../../results/counting.json#values.pairs). A network can [learn this
    table](loop.py), and reaches nearly that.
    """
    # Each pair gets a number, so that one pass counts all of them: first letter times the size of
    # the vocabulary, plus second letter.
    pairs = tokens[:-1] * n_vocab + tokens[1:]

    # Counted and cut into rows: row $i$, column $j$ is how often $j$ came after $i$.
    counts = pairs.bincount(minlength=n_vocab**2).view(n_vocab, n_vocab) + 1

    # Each row sums to one.
    return counts / counts.sum(dim=1, keepdim=True)


class BackOff:
    r"""
    ## Longer contexts

    There are $66^4$, or 19 million, contexts of four letters, and a text of a million letters can't
    fill such a table. Most contexts never come up, and many come up once: in “abracadabra”, “brac”
    is followed by “a”. Is “a” certain, then?

    Witten and Bell answer: a context that was followed by many *different* letters will be followed
    by yet another one. A context $c$ was followed $N(c)$ times, by $T(c)$ different letters,
    and the letter $x$ came after it $N(c\,x)$ times. The counts of $c$ get $N / (N + T)$ of the
    probability. The rest, $T / (N + T)$, goes to the prediction of $c'$, the context without its
    first letter:

    $$
    p(x \mid c) = \frac{N(c\,x) + T(c) \, p(x \mid c')}{N(c) + T(c)}
    $$

    The context “ca” was followed once, so “d” gets half of the probability for that, and its share
    of the other half, which goes to what follows “a”. The shortest context is empty; below it there
    is only guessing. The paper takes the shorter context only for letters that never followed the
    longer one. That is the *back-off* of the name. Language models usually mix the two, as here.
    There are better mixtures, such as that of [Kneser and Ney](counting.py#example).
    """

    def __init__(self, text: str, n_letters: int, symbols: str) -> None:
        r"""
        * `text` is the training text
        * `n_letters` is the greatest number of letters of context
        * `symbols` are all the letters that there are
        """
        # What is needed again for predicting.
        self.n_letters = n_letters
        self.symbols = symbols

        # $N(c\,x)$: how often each piece of the text comes up. A context of up to four letters
        # and the letter after it make pieces of up to five.
        lengths = range(1, n_letters + 2)
        self.count = Counter(
            text[start : start + length]
            for length in lengths
            for start in range(len(text) - length + 1)
        )

        # $N(c)$ and $T(c)$: how often anything followed a context, and how many different letters.
        self.total: Counter[str] = Counter()
        self.different: Counter[str] = Counter()
        for piece, count in self.count.items():
            self.total[piece[:-1]] += count
            self.different[piece[:-1]] += 1

    def probability(self, letter: str, context: str) -> float:
        r"""
        ### The probability of a letter

        The formula, from the shortest context to the longest. In “abracadabra”, “a” is followed
        by “b” twice, by “c” and by “d”. So $N = 4$ and $T = 3$, and after “a” the probability of
        “b” is $(2 + 3 \cdot 0.177) / 7 = 0.362$, where 0.177 is its probability anywhere.
        """
        # Guessing comes first.
        p = 1 / len(self.symbols)
        for length in range(len(context) + 1):
            shorter = context[len(context) - length :]

            # If a context never came up, then no longer one did.
            if not self.total[shorter]:
                break

            # Its own counts get at least half of the probability, as $T$ is never more than $N$:
            # half if the context came up once, and nearly all if it came up thousands of times.
            different = self.different[shorter]
            p = (self.count[shorter + letter] + different * p) / (self.total[shorter] + different)
        return p

    def loss(self, text: str, seq_len: int) -> float:
        r"""
        ### The loss over a text

        In [windows](data.py#fixed_windows) of `seq_len` letters, as for every other model. What
        came before the window is out of sight, as it is for a model that sees `seq_len` letters.

        Papers often give $e$ to the loss instead, the *perplexity*: with 1.688 nats it is 5.4, as
        if there were 5.4 letters to guess among.
        """
        total = 0.0
        for place in range(1, len(text)):
            # Where the window begins. The context doesn't reach back beyond that.
            window = (place - 1) // seq_len * seq_len
            context = text[max(window, place - self.n_letters) : place]

            # The cross entropy: $-\ln p$ of the letter that came.
            total -= math.log(self.probability(text[place], context))

        # The first letter of the text was never predicted.
        return total / (len(text) - 1)

    def write(self, prompt: str, n_letters: int, seed: int) -> str:
        r"""
        ### Write

        Draw a letter, append it, and go on.
        """
        # The same seed gives the same text.
        text = prompt
        generator = random.Random(seed)
        for _ in range(n_letters):
            # The last letters. `text[-self.n_letters:]` would be the whole text for a context of
            # zero.
            context = text[max(0, len(text) - self.n_letters) :]

            # A probability for each letter, and a draw from them.
            weights = [self.probability(symbol, context) for symbol in self.symbols]
            text += generator.choices(self.symbols, weights)[0]
        return text


def example(n_vocab: int = 5, n_letters: int = 2) -> tuple[Tensor, Tensor]:
    r"""
    ## Example

    ### Measured here

    The text is Tiny Shakespeare, and guessing has a loss of
    [4.190](../../results/counting.json#values.guessing):

    [Counting letters, by the length of the context](../../results/counting.json#tables.contexts)

    One letter of context has a slightly higher loss than [pairs](counting.py#count_pairs): here it
    is mixed with shorter contexts, and there each count is one higher.

    With more than four letters the validation loss goes *up*, while the training loss goes on
    falling. Contexts that were never seen can't be the reason: the table answers with the shorter
    context, and that costs exactly nothing. The rise from four letters to five, by how often the
    context of five came up:

    [What each kind of context adds](../../results/mixtures.json#tables.rise)

    Half of it comes from contexts that are no rarity. The reason is the mixture. It leaves $T$
    parts to the shorter context, and that is too little on this text. Multiply `different` by 2 in
    `probability`, and five letters are better than four; multiply it by 5, and six are better than
    five:

    [The loss of other mixtures of the same counts](../../results/mixtures.json#tables.mixtures)

    So counting isn't at its end with 1.688. The mixture of Kneser and Ney, which takes
    [0.9](../../results/mixtures.json#values.discount) from each count, reaches
    [1.576](../../results/mixtures.json#tables.mixtures.6.kneser_ney). (We chose the factors with
    this validation text in view, so their losses are a little too good.) What no such table does is
    treat similar contexts alike: “brac” and “brad” share nothing but the frequencies of letters.

    [A sample of each](../../results/counting.json#tables.samples)

    ### Exercises

    ??? question "Why does the validation loss rise with more than four letters of context?"
        - [ ] The counts of rare contexts are wrong.
            - They are exact. A count of one just says little about what comes next time.
        - [ ] More and more contexts were never seen.
            - Of six letters, every fifth was never seen. Such a context costs nothing: the table
              answers with the shorter one.
        - [x] The mixture trusts a long context too much, even one that came up several times.
            - Yes. Let it trust each context less, with $3T$ in the place of $T$, and the loss with
              five letters is lower than with four.
        - [ ] The validation text is harder than the training text.
            - It is the same text for each length of context, and up to four letters its loss falls.

    ??? question "What is the training loss with a context as long as the whole text?"
        Nearly 0, if contexts may go beyond the start of a window. Every long context came up once,
        so $N = T = 1$ and $p = (1 + p') / 2$: each further letter of context halves the distance to
        1.

    ??? question "Use $p = N(c\,x) / N(c)$ and guess only where $N(c) = 0$. What is the loss?"
        Infinite. In the validation text some letter follows a context that it never followed
        in training, and $-\ln 0$ spoils the mean.

    ??? question "“abracadabra”: what is the probability of “c” after “a”?"
        “a” is followed by four letters, three different ones, and “c” is one of them. Anywhere,
        “c” has $(1 + 5/6)/16 = 0.115$. So $(1 + 3 \cdot 0.115) / 7 = 0.192$.

    ??? question "Let `loss` look back beyond the start of a window. What changes?"
        The loss with four letters falls to
        [1.669](../../results/counting.json#values.best_unlimited), below that of the classic
        transformer, and the comparison isn't fair any more.
    """
    text = "abracadabra"
    model = BackOff(text, n_letters, "abcdr\N{REPLACEMENT CHARACTER}")

    # The loss on its own text, in nats a letter, and a few more letters.
    model.loss(text, seq_len=7)
    model.write("ab", n_letters=3, seed=1)

    # The two tables, of the text as numbers.
    tokens = torch.tensor(["abcdr".index(letter) for letter in text])
    return count_letters(tokens, n_vocab), count_pairs(tokens, n_vocab)
