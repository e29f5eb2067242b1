r"""
---
title: The Rules of a Measurement
summary: Four rules make a loss comparable, and each of them can be tested from outside.
know: leaks.py
---

A loss says how good a model is only if nobody has helped it. In the spring of 2026
a contest for small models closed entries that had: some [learned a token before they predicted
it](../transformers/mistakes/measuring.py), and the probabilities of others summed to more than one.
One of its participants wrote down [what makes a score
valid](https://github.com/openai/parameter-golf/issues/1017).

So let a measurement hand in no loss at all. It hands in what it predicted, a *distribution* for
each token, and the loss is computed here. That leaves four rules:

* **One distribution for each token** after the first. No token is left out, none is scored twice.
* **It sums to one**, over all tokens that could come. If the shares of three letters are not 0.5,
  0.3 and 0.2 but 0.55, 0.33 and 0.22, every loss is lower by $\ln 1.1 = 0.095$, and nothing was
  learned.
* **It is causal:** change a token, and no prediction about it or an earlier token changes.
* **One pass from left to right:** a prediction is the same if the text ends behind it. So nothing
  waits for the end of the text, and no second round corrects the first.

**In:** a function that measures, and a text. **Out:** the rules that it breaks. A model may learn
while it reads: that breaks none of them, as long as it predicts first.
"""

from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor

from labml_nn.training.leaks import spread

# A measurement: from tokens to a row of probabilities for each of them but the first.
Measurement = Callable[[Tensor], Tensor]

# Rounding makes a hundredth of this.
NEAR = 1e-4


def score(measure: Measurement, tokens: Tensor) -> float:
    r"""
    ## The loss

    In nats a token: the mean of $-\ln p$ of the tokens that came.
    """
    # Row $i$ predicts token $i + 1$.
    probabilities = measure(tokens)
    came = probabilities.gather(1, tokens[1:].unsqueeze(1))

    # Only here is the answer looked up, by code that the measurement has no part in.
    return -came.log().mean().item()


def broken_rules(
    measure: Measurement, tokens: Tensor, n_vocab: int, n_places: int = 5
) -> list[str]:
    r"""
    ## The rules that a measurement breaks

    `tokens` can be a short piece of the text, `[n_tokens]`: it is measured twice for each of
    `n_places`, which are evenly spaced. What is wrong between two of them can stay hidden.
    """
    # More or fewer rows than tokens: nothing else can be compared then. The first token has no row,
    # because nothing comes before it.
    probabilities = measure(tokens)
    wanted = [len(tokens) - 1, n_vocab]
    if list(probabilities.shape) != wanted:
        return [f"one distribution for each token: {list(probabilities.shape)}, not {wanted}"]

    broken = []

    # If the shares summed to 1.1, all losses would be lower by $\ln 1.1$, for nothing. Negative
    # numbers could make up for too large ones, so they are refused, too.
    sums = probabilities.sum(dim=1)
    if (probabilities < 0).any() or not torch.allclose(sums, torch.ones_like(sums), atol=NEAR):
        broken.append(f"it sums to one: one of the sums is {sums[(sums - 1).abs().argmax()]:.3f}")

    # Other tokens from a place on. What was predicted up to that place can't know of them.
    for place in spread(len(tokens) - 1, n_places):
        before = probabilities[: place + 1]

        # Each of them becomes another one, so a prediction up to here that looks at one of them
        # usually changes. (One that only asks whether two later tokens are equal doesn't.)
        other = tokens.clone()
        other[place + 1 :] = (other[place + 1 :] + 1) % n_vocab
        if not torch.allclose(measure(other)[: place + 1], before, atol=NEAR):
            broken.append(f"it is causal: token {place + 1} or a later one changes its prediction")
            break

        # The same text, which ends behind that place. If what a measurement found further on went
        # into its predictions, they differ here.
        if not torch.allclose(measure(tokens[: place + 2]), before, atol=NEAR):
            broken.append(f"one pass: where the text ends changes the prediction of {place + 1}")
            break
    return broken


def counting(tokens: Tensor, n_vocab: int) -> Tensor:
    r"""
    ## An honest measurement

    It learns while it reads: a token is as likely as it was frequent so far.
    """
    # All begin at one.
    counts = torch.ones(n_vocab)
    rows = []
    for token in tokens[:-1]:
        # The token that was read is counted, and then the next one is predicted.
        counts[token] += 1
        rows.append(counts / counts.sum())
    return torch.stack(rows)


def too_early(tokens: Tensor, n_vocab: int) -> Tensor:
    r"""
    ## One that isn't causal

    Each prediction has counted what it is about.
    """
    # One token further. (The first one is no longer counted.)
    return counting(torch.cat([tokens[1:], tokens[-1:]]), n_vocab)


def knows_the_length(tokens: Tensor, n_vocab: int) -> Tensor:
    r"""
    ## One that knows where the text ends

    No token of the future is looked at, and yet the predictions are bolder in a longer text.
    """
    # The length of the whole text decides how sure each prediction is.
    return (counting(tokens, n_vocab) * len(tokens)).softmax(dim=1)


def example(n_tokens: int = 13, n_vocab: int = 7) -> dict[str, list[str]]:
    r"""
    ## Example

    An honest measurement that learns while it reads, and four that aren't honest.

    ### Exercises

    ??? question "The best of ten learning rates is chosen by this loss. Which rule is broken?"
        - [ ] It is causal.
            - Each of the ten measurements is causal, and the best one is, too.
        - [ ] One pass from left to right.
            - Each of them reads the text once, and no prediction depends on where the text ends.
        - [x] None of the four, and the loss is still a little too low.
            - Yes. Which rate is best was learned from the whole text, before the measurement that
              you hand in. No test of that one can see it: choose the rate on another text, or while
              you read.

    ??? question "Why are distributions handed in, and not losses?"
        A loss is about the token that came. Whether the others have their share can't be seen in
        it.

    ??? question "A model skips the tokens that it is unsure of. Which rule stops it?"
        The first: it has fewer distributions than there are tokens.
    """
    # In the order of the rules, the honest one before them. The second and the third are changed
    # from outside, the last two are wrong inside.
    measurements = {
        "honest": counting,
        "leaves one out": lambda tokens, n_vocab: counting(tokens, n_vocab)[1:],
        "too much": lambda tokens, n_vocab: 1.1 * counting(tokens, n_vocab),
        "too early": too_early,
        "knows the length": knows_the_length,
    }

    # Random tokens will do: the rules are about who is told what, not about a low loss.
    tokens = torch.randint(n_vocab, (n_tokens,))
    broken = {}
    for name, one in measurements.items():
        # A measurement gets a text, and nothing else: the number of different tokens is fixed
        # before.
        broken[name] = broken_rules(partial(one, n_vocab=n_vocab), tokens, n_vocab)
    return broken
