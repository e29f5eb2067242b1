r"""
---
title: "Mistakes: Measuring"
summary: Three wrong ways to measure a model, and a sum that shows two of them.
---

The model is right, and so is its training. What is wrong is how it is measured. In the spring of
2026 a contest asked for the best model in 16 megabytes. Scores fell below half of what any model
had reached. Then somebody [added the probabilities
up](https://github.com/openai/parameter-golf/pull/886): they came to 277, not to 1. (Lower scores
of the same kind [were still handed in](https://github.com/openai/parameter-golf/pull/1056).)

A model that predicts must spread one unit of probability over all tokens that *could* come: 0.5,
0.3 and 0.2, say. Mix it half and half with a table that says 1 to each, and it is 0.75, 0.65 and
0.6. The loss of the first falls from 0.69 to 0.29, and the sum is 2. So put each token in the last
place in turn, and add up what the score says of it. If the [sum](measuring.py#sum_of_all) isn't
one, the score is no loss of a model. You needn't look into the program.

[Printed and honest loss, means of three seeds; the line is the right
measurement](../../../results/rooms.json#figures.measuring)

The honest loss is the right measurement of a text that nobody has seen:
[2.459](../../../results/rooms.json#tables.rooms.RightScore.honest) for the last two mistakes as
well, because the model is the same. What is printed with probabilities that sum to more than one is
[0.539](../../../results/rooms.json#tables.rooms.MoreThanOne.printed).
"""

import copy
from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from labml_nn.transformers.mistakes.one_line import Mistake


class RightScore:
    r"""
    ## The right way to measure

    A model may also learn from the text that it is measured on, as long as it has said first what
    it expected.
    """

    def __init__(self, model: nn.Module, learning_rate: float = 0.1) -> None:
        r"""
        * `model` gives logits, the batch first, and is not changed
        * `learning_rate` is that of the steps that it makes while it is measured
        """
        # A copy, which learns; the model itself may be measured again.
        self.model = copy.deepcopy(model).eval()
        self.optimizer = torch.optim.SGD(self.model.parameters(), learning_rate)

    def training_text(self, train: Tensor, held_out: Tensor) -> Tensor:
        # Nothing of what is held out.
        return train

    def probabilities(self, inputs: Tensor) -> Tensor:
        # What the model says about each next token: numbers that sum to one.
        return self.model(inputs).softmax(dim=-1)

    def look(self, window: Tensor) -> None:
        # How likely each token of the window was, told from those before it.
        inputs = window[:, :-1]
        targets = window[:, 1:]
        likely = self.probabilities(inputs).gather(-1, targets.unsqueeze(-1))
        self.losses.append(-likely.detach().log().squeeze(-1))

    def learn(self, window: Tensor) -> None:
        # One step on what was just scored.
        self.optimizer.zero_grad()

        # The usual loss, and plain gradient descent.
        logits = self.model(window[:, :-1])
        F.cross_entropy(logits.flatten(0, 1), window[:, 1:].flatten()).backward()
        self.optimizer.step()

    def score(self, windows: Tensor) -> Tensor:
        r"""
        ### The loss of each token

        Each of `windows` has one token more than the result has losses.
        """
        # A list that grows, window by window.
        self.losses: list[Tensor] = []
        for window in windows.split(1):
            # First say what comes, then look at it.
            for act in (self.look, self.learn):
                act(window)
        return torch.cat(self.losses)


class SeenTwice(Mistake):
    r"""
    ## A text that was in the training

    Texts of the web come in copies, and held-out text is often in the training text as well, once
    [all of it](https://github.com/ai-forever/ru-gpts/issues/23). A model that knows it by heart
    needs no understanding. Here it doesn't show: the loss is
    [2.425](../../../results/rooms.json#tables.rooms.SeenTwice.printed) and the right one
    [2.432](../../../results/rooms.json#tables.rooms.RightScore.printed), no difference. The whole
    text is there to be drawn, but 400 steps of 16 windows of 32 letters draw 204,800 letters, and
    there are 1.06 million. So most of the text was never seen, and the rest mostly once. Seen much
    more often, it shows: trained on nothing but the 9,216 letters that are scored, 22 times each,
    a model is clearly better on them than on other text.

    No sum finds it, because the model predicts as it should. [Look for long pieces that are in
    both](measuring.py#shared).
    """

    of = RightScore
    # What is held out is held out.
    right = "return train"

    # The held-out text stands at the end of it.
    wrong = "return torch.cat([train, held_out])"


class LearnsFirst(Mistake):
    r"""
    ## Learning before looking

    The model takes a step on a window and *then* says how likely the window was. It was told the
    answers. An entry of the contest [took such a step
    out](https://github.com/openai/parameter-golf/pull/806) as against the rules. The order of two
    lines decides whether a score is honest.
    """

    of = RightScore
    # The order of the two is all that matters.
    right = "(self.look, self.learn)"

    # What is looked at was learned a moment ago.
    wrong = "(self.learn, self.look)"


class MoreThanOne(Mistake):
    r"""
    ## Probabilities that sum to more than one

    The model is mixed with a table of counts, in which every token has a share of its own, found by
    a hash. With few places in the table these shares are near 1 for *all* tokens. With one place,
    each is exactly 1, as here. [At first nobody
    noticed](https://github.com/openai/parameter-golf/pull/886), because only the token that came
    was looked up.
    """

    of = RightScore
    # A softmax sums to one.
    right = "return self.model(inputs).softmax(dim=-1)"

    # Half of the model, and half of a table that says 1 to everything.
    wrong = "return 0.5 * self.model(inputs).softmax(dim=-1) + 0.5"


MEASURING_EXHIBITS = (SeenTwice, LearnsFirst, MoreThanOne)


def sum_of_all(score: Callable[[Tensor], Tensor], window: Tensor, n_vocab: int) -> float:
    r"""
    ## The sum over all that could come

    `score` measures from the beginning each time it is called, and gives the loss of each token. In
    a right measurement the sum is one.
    """
    # It needs the losses alone, and not the model.
    total = 0.0
    for token in range(n_vocab):
        # The same window with this token at its end.
        other = window.clone()
        other[:, -1] = token

        # A loss is the negative logarithm of a probability.
        total += score(other)[0, -1].neg().exp().item()
    return total


def shared(train: Tensor, held_out: Tensor, length: int = 32) -> float:
    r"""
    ## How much of a text is in another one

    The share of the held-out pieces of some length that are, letter by letter, in the training
    text too.
    """
    # A piece is found by its tokens.
    # (Copies in other words are not found.)
    seen = {tuple(piece) for piece in train.unfold(0, length, 1).tolist()}

    # The pieces of the held-out text lie side by side.
    pieces = held_out.unfold(0, length, length).tolist()
    return sum(tuple(piece) in seen for piece in pieces) / len(pieces)


def example(batch_size: int = 3, seq_len: int = 5, n_vocab: int = 11) -> dict[str, float]:
    r"""
    ## Example

    The sum of each measurement. Only those that tell the future, or tell too much, are off.

    ### Measured here

    A model that learns before it looks prints
    [1.937](../../../results/rooms.json#tables.rooms.LearnsFirst.printed).

    ### Find the bug

    ??? question "`loss = -torch.sigmoid(logits).log()` of the right token. Is it a loss of text?"
        No: the sigmoids of all tokens don't sum to one. The sum over all tokens shows it.

    ??? question "The best of five checkpoints, chosen on the text it is scored on. Is it honest?"
        Its sum is one, and still the score is a little too good: the choice has seen the text.

    ??? question "Why is `SeenTwice` not found by the sum?"
        The model spreads one unit of probability. It is only better informed than it should be.
    """
    # A model that knows what follows what, at random.
    table = nn.Embedding(n_vocab, n_vocab)
    windows = torch.randint(n_vocab, (batch_size, seq_len + 1))
    found = {}
    for kind in (RightScore, *(one.make() for one in MEASURING_EXHIBITS)):
        # A new measurement for each window.
        score = lambda window, kind=kind: kind(table).score(window)  # noqa: E731
        found[kind.__name__] = sum_of_all(score, windows[:1], n_vocab)
    return found | {"shared": shared(windows.flatten(), windows.flatten(), seq_len)}
