r"""
---
title: Name the Wrong Loss
summary: A loss that isn't the mean of the next token's, by the line that makes it so.
---

“The loss isn't the honest one” is true of many lines: a sum in place of a mean, a softmax before
the loss, classes on the wrong axis, a token that is left out. Each of them gives another number, so
we compute all of these numbers and look which one it is. This is the [naming of
attentions](suspects.py) once more, for losses.

**In:** a loss, and logits and targets. **Out:** nothing, if it is the usual loss or one that is
meant to be so (label smoothing, or a small penalty for large logits); else a sentence.

[What mistakes in the model and in its training do to the
loss](../results/mistakes.json#figures.model)
"""

import math
from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor

from wrongline.comparison import NEAR, off
from wrongline.whole import cross_entropy

Loss = Callable[[Tensor, Tensor], Tensor]


def negative(log_probabilities: Tensor, targets: Tensor) -> Tensor:
    r"""
    ## What `nll_loss` makes of something that should be logarithms
    """
    # All positions of all sequences in one list.
    return F.nll_loss(log_probabilities.flatten(0, 1), targets.flatten())


# Of logits `z` and targets `y`, the batch first. Each is in somebody's code.
LOSSES: dict[str, Loss] = {
    "it is the sum over all tokens, not the mean": lambda z, y: (
        cross_entropy(z, y) * (y >= 0).sum()
    ),
    "it is summed over the positions": lambda z, y: cross_entropy(z, y) * y.shape[1],
    "it is summed over the sequences": lambda z, y: cross_entropy(z, y) * len(y),
    # What goes into the loss isn't logits.
    "a softmax comes before it": lambda z, y: cross_entropy(z.softmax(-1), y),
    "`nll_loss` gets logits, not their log_softmax": negative,
    "`nll_loss` gets probabilities, not logarithms": lambda z, y: negative(z.softmax(-1), y),
    # Another axis.
    "its softmax is over the positions": lambda z, y: negative(z.log_softmax(1), y),
    "its softmax is over the batch": lambda z, y: negative(z.log_softmax(0), y),
    # Classes belong on axis 1. A transpose moves them there. A reshape gives the same shape, and
    # reads the numbers in their old order.
    "the classes are put on axis 1 by a reshape, not by a transpose": lambda z, y: F.cross_entropy(
        z.reshape(len(z), z.shape[2], -1), y
    ),
    "logits are flattened in another order than targets": lambda z, y: cross_entropy(
        z.transpose(0, 1), y
    ),
    # Other targets.
    "its targets are shifted once more": lambda z, y: cross_entropy(z[:, :-1], y[:, 1:]),
    "its targets are the tokens of the input": lambda z, y: cross_entropy(z[:, 1:], y[:, :-1]),
    "it is of the last position only": lambda z, y: cross_entropy(z[:, -1:], y[:, -1:]),
    # Another unit.
    # Nats are divided by this to give bits.
    "it is in bits": lambda z, y: cross_entropy(z, y) / math.log(2),
    # What two to the power of bits is, too.
    "it is the perplexity": lambda z, y: cross_entropy(z, y).exp(),
}

# What may be added on purpose: smoothed labels, or a penalty for large logits.
MEANT: tuple[Loss, ...] = (
    lambda z, y: -z.log_softmax(-1).mean() - cross_entropy(z, y),
    lambda z, y: z.logsumexp(-1).square().mean(),
)


def other_losses(targets: Tensor) -> dict[str, Loss]:
    r"""
    ## All of them, for some targets
    """
    # A token that stands for padding elsewhere is a real one here. (What is below zero is left out
    # on purpose.)
    ignoring = {
        f"token {token} is left out of it (`ignore_index`)": lambda z, y, token=token: (
            cross_entropy(z, y.masked_fill(y == token, -100))
        )
        for token in targets[targets >= 0].unique().tolist()
    }
    return LOSSES | ignoring


def name_loss(loss: Loss, logits: Tensor, targets: Tensor) -> str:
    r"""
    ## Name it
    """
    # The loss is a black box, so we look at what it gives.
    # Two sets of logits: one number can be hit by chance.
    both = (logits, 0.5 * logits.flip(-1))

    # What the loss is, and what it should be.
    found = torch.stack([loss(z, targets) for z in both])
    right = torch.stack([cross_entropy(z, targets) for z in both])
    # Nothing to name.
    if off(found, right) < NEAR:
        return ""

    # The first that gives the same numbers is the explanation.
    for name, wrong in other_losses(targets).items():
        if off(found, torch.stack([wrong(z, targets) for z in both])) < NEAR:
            return name

    # Something on purpose: a term in the same proportion both times.
    for extra in MEANT:
        # What is too much, in units of the term.
        first, second = ((found - right) / torch.stack([extra(z, targets) for z in both])).tolist()
        # A part of the loss at most, and the same part.
        if first <= 0.5 and abs(first - second) < 1e-3 * first:
            return ""

    # The same number of times, whatever the logits are.
    first, second = (found / right).tolist()
    if abs(first - second) < NEAR * abs(first):
        return f"it is {first:.4g} times the mean"

    # Something that isn't on our list.
    return "it is of other targets, or of something else than logits"


def example(batch_size: int = 3, seq_len: int = 5, n_vocab: int = 11) -> dict[str, str]:
    r"""
    ## Example

    The usual loss, a sum, and labels that are smoothed on purpose.

    ### Exercises

    ??? question "A sum in place of the mean: what does it do to a training with Adam?"
        To Adam alone almost nothing, since it divides by the size of the gradients. But gradients
        are clipped at another place, and the printed loss grows with the batch.

    ??? question "Why are two sets of logits tried?"
        Some other loss could happen to be 3.21 too. Twice in a row is no accident.

    ??? question "`log_softmax`, then `cross_entropy`. Which name is said?"
        None, because nothing is wrong: the softmax of logarithms of probabilities gives the
        probabilities again.
    """
    # Random logits will do: a loss is a function like any other.
    logits = torch.randn(batch_size, seq_len, n_vocab)
    targets = torch.randint(n_vocab, (batch_size, seq_len))

    # Classes go to axis 1 by a transpose here, which is right.
    losses: dict[str, Loss] = {
        "right": lambda z, y: F.cross_entropy(z.transpose(1, 2), y),
        "sum": lambda z, y: F.cross_entropy(z.flatten(0, 1), y.flatten(), reduction="sum"),
        "smooth": lambda z, y: F.cross_entropy(z.transpose(1, 2), y, label_smoothing=0.1),
    }
    # Smoothing is no mistake: only the second one has a name.
    return {name: name_loss(loss, logits, targets) for name, loss in losses.items()}
