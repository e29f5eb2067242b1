r"""
---
title: Averaging Predictions
summary: A network and counted letters are wrong in different places, so an average is better.
know: rules.py
paper:
  title: Adaptive Weighing of Context Models for Lossless Data Compression
  authors: Mahoney
  year: 2005
  link: https://cs.fit.edu/~mmahoney/compression/cs200516.pdf
terms:
  bits per character: The loss in nats a character, divided by ln 2.
  ensemble: Several models whose predictions are averaged.
---

A network knows what its training text is like. Let it read another text, with an unknown name on
every page. The name is news each time, as soon as the page before is beyond the context. A table
that [counts letters](counting.py) while it reads has seen the name forty times, and knows little
else. So predict with both, and learn while you read which of them to trust.

In the middle of the name, one of three letters comes next:

| | a | b | c |
| --- | ---: | ---: | ---: |
| network | 0.500 | 0.300 | 0.200 |
| table | 0.010 | 0.010 | 0.980 |
| mean | 0.255 | 0.155 | 0.590 |
| product, divided by its sum | 0.025 | 0.015 | 0.961 |

The table is sure, and the product follows it. In the mean, half of the network's doubt is left. A
product adds up *logarithms*. With a weight $w_k$ for each model (in the last row, 1 and 1) it is

$$
p(x) \propto \exp \Big( \sum_k w_k \log p_k(x) \Big)
$$

The paper, too, moves its weights along the gradient of the loss, after each bit of a file. (What it
averages are counts of zeros and ones; logarithms came with later versions of its program.)

**In:** the predictions of several models for each token of a text. **Out:** one prediction for
each token, made before the token is seen, as the [rules of a measurement](rules.py) ask.
"""

import torch
from torch import Tensor, nn

from labml_nn.training.counting import BackOff


@torch.no_grad()
def sliding(model: nn.Module, tokens: Tensor, seq_len: int, stride: int) -> Tensor:
    r"""
    ## A network on a long text

    The logarithms of its probabilities for each token after the first, `[n - 1, n_vocab]`.

    The [usual windows](data.py#fixed_windows) lie side by side, so the first token of each has
    hardly any context. Here a window moves on by `stride` tokens, and only its last `stride`
    predictions are taken. All others were made before, with at least as much context.
    """
    # Dropout is for training.
    model.eval()
    rows = []

    # Nothing comes before the first token, so nothing predicts it.
    n_predictions = len(tokens) - 1
    for start in range(0, n_predictions, stride):
        # A whole window, whose last `stride` predictions are new. (Where it begins must not depend
        # on where the text ends: that would be a look ahead.)
        begin = max(0, start + stride - seq_len)
        end = min(start + stride, n_predictions)
        logits = model(tokens[begin:end].unsqueeze(1)).squeeze(1)

        # What came before `start` has its prediction.
        rows.append(logits[start - begin :].log_softmax(dim=-1))
    return torch.cat(rows)


class Reader(BackOff):
    r"""
    ## Counting what is read

    The [counts](counting.py#BackOff) of a text, to which those of another one are added, letter by
    letter.
    """

    def read(self, context: str, letter: str) -> None:
        r"""
        ### Add one letter

        To all contexts before it, the empty one first.
        """
        for length in range(len(context) + 1):
            shorter = context[len(context) - length :]

            # A letter that never followed this context is one more different letter.
            if not self.count[shorter + letter]:
                self.different[shorter] += 1

            # It came up once more, and so did its context.
            self.count[shorter + letter] += 1
            self.total[shorter] += 1

    def log_probabilities(self, text: str, learns: bool) -> Tensor:
        r"""
        ### Predict each letter of a text

        `[n - 1, n_vocab]`, as from a network. If it `learns`, it counts each letter after it has
        predicted it.
        """
        rows = []
        for place in range(1, len(text)):
            # The last letters before it, as many as are counted.
            context = text[max(0, place - self.n_letters) : place]

            # All that could come, not only what comes: a distribution has to be handed in.
            rows.append([self.probability(symbol, context) for symbol in self.symbols])

            # Only now may it be looked at.
            if learns:
                self.read(context, text[place])
        return torch.tensor(rows).log()


def average(
    log_probabilities: Tensor, targets: Tensor, rate: float = 0.002
) -> tuple[Tensor, Tensor]:
    r"""
    ## The average

    * `log_probabilities` are those of all models, with an axis for the models before the others
    * `targets` are the tokens that came, `[n - 1]`
    * `rate` is the learning rate of the weights

    It gives the probabilities, `[n - 1, n_vocab]`, and the weights of the models after each token.

    Say that “c” comes in the table above. The product expects a logarithm of −0.20 of the table,
    $0.025 \ln 0.01 + 0.015 \ln 0.01 + 0.961 \ln 0.98$, and gets $\ln 0.98 = -0.02$. That is more
    than expected, so the table's weight rises. The network's falls a little: $\ln 0.2 = -1.61$,
    where −1.58 was expected.
    """
    # At first the first model is trusted alone.
    weights = torch.zeros(len(log_probabilities))
    weights[0] = 1.0

    # One prediction after the other.
    predicted = []
    history = []
    for now, target in zip(log_probabilities.unbind(1), targets, strict=True):
        # The softmax divides by the sum: it is a distribution again.
        p = (weights @ now).softmax(dim=-1)

        # It is written down before the weights have seen the target.
        predicted.append(p)

        # The gradient of $-\ln p(x)$: what the average expects of a model's logarithm, less the
        # logarithm of what came. A model that did better than expected gets more weight.
        gradient = now @ p - now[:, target]

        # A step of gradient descent after each token. The rate is small: one token says little.
        weights = weights - rate * gradient
        history.append(weights)
    return torch.stack(predicted), torch.stack(history)


def example(n_vocab: int = 3, n: int = 13) -> tuple[Tensor, Tensor]:
    r"""
    ## Example

    “abcabc…”, predicted by a network that only guesses and by a table that counts what it reads.
    About the first letters the table is wrong, and its weight falls from 0 to −0.5. After thirteen
    letters it is 1.6. That of the network stays 1: all of its logarithms are equal, so no weight
    for them changes the average.

    ### Measured here

    The text is the validation text of Tiny Shakespeare, and the network that of [the long
    run](../../docs/long_run.md). The table that goes on counting has a loss of
    [1.511](../../results/averaging.json#values.reading), the network one of
    [1.401](../../results/averaging.json#values.sliding), and their average one of
    [1.288](../../results/averaging.json#values.average_reading).

    Not all of that is due to the table. Even alone the network gets to
    [1.360](../../results/averaging.json#values.alone) by a weight of its own, which falls from 1 to
    [0.73](../../results/averaging.json#values.weight_alone): it was too sure of what it predicts. A
    table that has counted the training text, and counts no further, takes it to
    [1.346](../../results/averaging.json#values.average). The rest, 0.058, is what the table learns
    while it reads.

    [The losses on the validation text of Tiny
    Shakespeare](../../results/averaging.json#tables.losses)

    ### Exercises

    ??? question "Why is the average that of logarithms?"
        - [ ] It is faster.
            - Both take one pass over the vocabulary.
        - [x] A model that is sure can then overrule one that isn't.
            - Yes. Logarithms add up: where one model guesses, its logarithms are all equal, and
              the softmax takes them out again.
        - [ ] Probabilities can't be averaged.
            - They can, and the result sums to one. But then half of a guess remains in it.

    ??? question "Why may the table learn from the text that it is scored on?"
        It predicts each letter before it counts it. That breaks none of [the rules](rules.py).

    ??? question "The weights sum to more than one. Is that a mistake?"
        No. The softmax divides by the sum, so the result is a distribution for any weights. Double
        all of them, and it is bolder.
    """
    # What follows what is certain here.
    symbols = "".join(chr(ord("a") + at) for at in range(n_vocab))
    text = (symbols * n)[:n]

    # All letters are equally likely, says a network whose logits are zero. It learns nothing.
    network = nn.Embedding.from_pretrained(torch.zeros(n_vocab, n_vocab))
    tokens = torch.tensor([symbols.index(letter) for letter in text])
    guessing = sliding(network, tokens, seq_len=5, stride=2)
    counted = Reader("", 1, symbols).log_probabilities(text, learns=True)
    return average(torch.stack([guessing, counted]), tokens[1:], rate=0.5)
