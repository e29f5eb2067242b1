r"""
---
title: "Mistakes: The Training Step"
summary: Four wrong lines in a step that still lowers the loss, so that nobody looks.
---

The model, the data and the loss are right, and the step isn't. The loss still falls, and nobody
looks further. Large batches are cut into parts, whose gradients are summed, and half of these
mistakes are made there. Take a batch of four in two parts, and one weight with gradients of 1, 3, 5
and 7. Their mean is 4. The means of the parts are 2 and 6. Divided by two and added up, they are 4
again. Without the division they are 8. Cleared between the parts, what is left is 3.

[Printed and honest loss, means of three seeds; the line is the right
step](../../../results/rooms.json#figures.steps)

Two of the four mistakes change the loss by less than seeds do. Gradients that are cleared between
the parts cost [0.100](../../../results/rooms.json#tables.rooms.ClearedBetweenParts.change): each
step learns from half of its batch. Weights that are left out cost
[1.426](../../../results/rooms.json#tables.rooms.WeightsLeftOut.change).

To find them, [compare one step with the plain one](../../../wrongline/step_tests.py), on the same
batch.
"""

import torch
from torch import Tensor, nn

from labml_nn.transformers.mistakes.one_line import Mistake
from labml_nn.transformers.mistakes.right_attention import RightAttention
from labml_nn.transformers.mistakes.right_model import RightModel, RightTraining


class RightParts(RightTraining):
    r"""
    ## The right step in parts
    """

    def clip(self) -> None:
        # One bad batch must not throw the weights far away.
        nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)

    def step(self, inputs: Tensor, targets: Tensor, n: int = 2) -> Tensor:
        r"""
        ### One step

        In `n` parts of the batch. Returns the loss before it.
        """
        # Gradients of the last step go first.
        self.model.train()
        self.optimizer.zero_grad()
        total = torch.zeros(())

        # `backward` adds. The mean over parts is the sum of each part's mean, divided by `n`.
        for x, y in zip(inputs.chunk(n), targets.chunk(n), strict=True):
            loss = self.loss(self.model(x).float(), y) / n
            loss.backward()
            total += loss.detach()

        # First the clipping, then the optimizer, which uses what is left.
        # Both change things in place.
        for act in (self.clip, self.optimizer.step):
            act()

        # The loss of the whole batch, as the sum of its parts.
        self.schedule.step()
        return total


class PartsAddedUp(Mistake):
    r"""
    ## Parts that are added up

    Without the division, the gradient is that of a sum of means. Plain gradient descent would take
    steps that are too large. Adam divides by the size of the gradients, so it hides the mistake,
    all but the clipping. Sums in place of means were in
    [torchtune](https://github.com/pytorch/torchtune/issues/1875) and in
    [mlx-lm](https://github.com/ml-explore/mlx-lm/issues/1413).
    """

    of = RightParts
    # Each part's loss is a mean already.
    right = "self.loss(self.model(x).float(), y) / n"

    # The loss that the step returns is twice too large, too.
    wrong = "self.loss(self.model(x).float(), y)"


class ClearedBetweenParts(Mistake):
    r"""
    ## Cleared between the parts

    If you have learned that gradients must be cleared, you may clear them before each `backward`.
    Then the last part alone counts, and the others only cost time. So it was in
    [torchtitan](https://github.com/pytorch/torchtitan/pull/3575) and in
    [AlpacaFarm](https://github.com/tatsu-lab/alpaca_farm/issues/57).
    """

    of = RightParts
    # Gradients of a step's parts belong together.
    right = "loss.backward()"

    # All parts but the last are forgotten.
    wrong = "self.optimizer.zero_grad(); loss.backward()"


class ClipAfterStep(Mistake):
    r"""
    ## Clipping after the step

    The optimizer has used the gradients when they are clipped, and the next step clears them. All
    five trainers of [GraphStorm](https://github.com/awslabs/graphstorm/issues/1366) did so, and the
    option for it did nothing.
    """

    of = RightParts
    # The order of the two is all that matters.
    right = "(self.clip, self.optimizer.step)"

    # Nobody uses what is clipped here.
    wrong = "(self.optimizer.step, self.clip)"


class WeightsLeftOut(Mistake):
    r"""
    ## Weights that no optimizer knows

    Weights are put into groups, for instance by name, and some are in none. They have gradients, so
    everything looks alive, and they stay as they were drawn. It happened to [the last layers of a
    model](https://github.com/zjunlp/HVPNeT/issues/5). Here it is all that lies outside of the
    layers: the tables for tokens and positions, the last norm and the generator.
    """

    of = RightTraining
    # All weights of the model.
    right = "model.parameters(), learning_rate"

    # Those of the layers.
    wrong = "model.layers.parameters(), learning_rate"


STEP_EXHIBITS = (PartsAddedUp, ClearedBetweenParts, ClipAfterStep, WeightsLeftOut)


def example(
    batch_size: int = 2, heads: int = 5, d_k: int = 3, seq_len: int = 7, n_vocab: int = 11
) -> dict[str, Tensor]:
    r"""
    ## Example

    How far the weights have moved after one step, each time from the same weights. All five moved
    equally far: Adam's first step is about as long as the learning rate, however large the
    gradient. So this number shows none of the mistakes.

    ### Measured here

    The right step prints [2.299](../../../results/rooms.json#tables.rooms.RightParts.printed) after
    [400](../../../results/rooms.json#values.n_steps) steps, and its seeds lie between
    [2.287](../../../results/rooms.json#tables.rooms.RightParts.lowest) and
    [2.315](../../../results/rooms.json#tables.rooms.RightParts.highest). Parts that are added up
    print [2.301](../../../results/rooms.json#tables.rooms.PartsAddedUp.printed), and clipping after
    the step [2.308](../../../results/rooms.json#tables.rooms.ClipAfterStep.printed).

    ### Find the bug

    ??? question "`loss = loss / n` stands after `loss.backward()`. What does it do?"
        It divides the number that is printed, and nothing else: the gradients are there already.

    ??? question "Parts with 30 and 70 tokens, each with its mean, divided by two. What is wrong?"
        A token of the short part counts more than twice as much. Sum the losses, and divide by all
        tokens.

    ??? question "`Adam(model.parameters())` comes before `model.head = nn.Linear(...)`. And then?"
        The new head is in no group: it gets gradients, and never moves.
    """
    # A small batch, of two parts with one sequence each.
    d_model = heads * d_k
    text = torch.randint(n_vocab, (batch_size, seq_len + 1))
    # One number for each kind of step.
    moved = {}
    for kind in (RightParts, *(one.make() for one in STEP_EXHIBITS)):
        # The same weights for each.
        torch.manual_seed(1)
        model = RightModel(n_vocab, d_model, 2, seq_len, lambda: RightAttention(heads, d_model))
        before = [weight.detach().clone() for weight in model.parameters()]

        # One step of the schedule is all there is.
        training = kind(model, 1)
        training.step(*training.cut(text))

        # The largest change of any weight.
        pairs = zip(before, model.parameters(), strict=True)
        moved[kind.__name__] = torch.stack([(b - w.detach()).abs().max() for b, w in pairs]).max()
    return moved
