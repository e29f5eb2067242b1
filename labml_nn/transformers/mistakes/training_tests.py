r"""
---
title: Tests of a Training
summary: Are the targets right, is the loss honest, are gradients cleared, does it learn?
---

A model can be right and its training wrong: targets that are not the next tokens, a softmax before
the loss, gradients that are never cleared. These tests look at a batch and at a step. Together with
the [tests of a model](model_tests.py) they find every mistake of the
[museum's training](model_mistakes.py).

**In:** [what is tested](whole.py#Whole). **Out:** for each test a sentence that says what is
wrong, or nothing.
"""

import torch
from torch import Tensor

from labml_nn.transformers.mistakes.comparison import NEAR, off
from labml_nn.transformers.mistakes.loss_names import name_loss
from labml_nn.transformers.mistakes.model_tests import MODEL_TESTS
from labml_nn.transformers.mistakes.step_tests import same_step
from labml_nn.transformers.mistakes.undisturbed import copied
from labml_nn.transformers.mistakes.whole import Whole, cross_entropy, run_tests


def targets_follow_inputs(whole: Whole) -> str:
    r"""
    ## Is the target the next token?

    The one test that needs no model.
    """
    # The batch as the training gets it: everything it learns is in here.
    inputs = whole.inputs
    targets = whole.targets
    if targets[:, :-1].equal(inputs[:, 1:]):
        return ""

    # The two mistakes that are in print have names.
    if targets.equal(inputs):
        return "the targets are the inputs: the model learns to copy. Shift them by one"
    if targets[:, :-2].equal(inputs[:, 2:]):
        return "each target is the token after next: the targets are shifted twice"

    # Any other.
    return "targets[:, :-1] is not inputs[:, 1:]: the target of a token must be the next one"


def honest(whole: Whole) -> str:
    r"""
    ## Is the loss the honest one?

    Each token is predicted from what comes before it, and *nothing else is there*. The mean of
    these losses must be the one that the training computes of the same batch.
    """
    # With weights of some size: a fresh bias may be zero, and would hide what is wrong with it.
    model = whole.rough()
    inputs = whole.inputs

    # The inputs and the one token after them.
    text = torch.cat([inputs, whole.targets[:, -1:]], dim=1)
    # The longest prefix is all of the input.
    ends = range(1, inputs.shape[1] + 1)

    # Prefix by prefix: the model gets $n$ tokens, and says what it expects of the next.
    alone = torch.stack([whole.predict(model, inputs[:, :n])[:, -1] for n in ends], dim=1)

    # The mean over sequences and positions, as that of the training is.
    expected = cross_entropy(alone, text[:, 1:])

    # The loss of the training, in one call for all positions.
    logits = whole.predict(model, inputs)
    found = whole.loss(logits, whole.targets)

    # Both numbers are told, so that one can see how far they are apart.
    # The loss itself is looked at first. If it is the usual one, the logits are to blame.
    differ = f"the loss of the batch is {found:.4f}, from prefixes alone it is {expected:.4f}: "
    name = name_loss(whole.loss, logits, text[:, 1:])
    if name:
        return differ + name

    # A loss that is wrong on purpose, such as one with smoothed labels, isn't a mistake.
    if off(cross_entropy(logits, text[:, 1:]), expected) < NEAR:
        return ""

    # The same loss of the same tokens: only what the model is shown differs.
    return differ + "the logits change with what comes after a token (see model_prefix)"


def weights_after(whole: Whole, leftover: float) -> Tensor:
    r"""
    ## One step, and where it leads

    All weights, as one long vector, after a step that found gradients of `leftover`.
    """
    # A copy, because a step changes the weights.
    model = copied(whole.model)
    step = whole.make_step(model)

    # What a step before this one might have left there.
    for weight in model.parameters():
        weight.grad = torch.full_like(weight, leftover)

    # Dropout would be another reason for a difference.
    torch.manual_seed(1)
    step(whole.inputs, whole.targets)
    return torch.cat([weight.detach().flatten() for weight in model.parameters()])


def forgets(whole: Whole) -> str:
    r"""
    ## Are gradients cleared?

    A step must not depend on the gradients that it finds.
    """
    # The same step, from the same weights: after gradients of zero, and after gradients of one.
    clear = weights_after(whole, 0.0)
    found = weights_after(whole, 1.0)
    if clear.equal(found):
        return ""

    # Some kernels of a GPU add up in a different order each time, so even the same step differs.
    # Gradients that are left over make far more of a difference than that. (A step that draws from
    # a generator of its own can't be judged here.)
    again = weights_after(whole, 0.0)
    if (found - clear).norm() < 10 * (again - clear).norm():
        return ""
    return "a step depends on the gradients of the one before: `zero_grad` is missing, or late"


def learns(whole: Whole, bar: float = 0.3) -> str:
    r"""
    ## Can it learn one batch by heart?

    The memory of any model that works is good enough for a few short sequences, if they differ
    from the first token on.
    """
    # A copy again, and a fresh optimizer for it.
    model = copied(whole.model)
    step = whole.make_step(model)
    # The same batch again and again.
    for _ in range(whole.n_steps):
        step(whole.inputs, whole.targets)

    # Measured with the usual loss: that of the training may be the mistake.
    loss = cross_entropy(whole.predict(model.eval(), whole.inputs), whole.targets).item()
    if loss < bar:
        return ""

    # Random text can be remembered, and not understood; so this asks for memory alone.
    return (
        f"after {whole.n_steps} steps on one batch its loss is {loss:.2f}, not below {bar}: is "
        "there a residual, are the targets right, does the loss get logits, is the rate right?"
    )


# The batch first: if it is wrong, nothing that comes after it can be right.
TRAINING_TESTS = (targets_follow_inputs, honest, forgets, same_step, learns)
WHOLE_TESTS = (targets_follow_inputs, honest, *MODEL_TESTS, forgets, same_step, learns)


def find_in_whole(whole: Whole) -> dict[str, str]:
    r"""
    ## All of these

    Of a model and of its training, from the names of the tests that fail to what is wrong.
    """
    return run_tests(WHOLE_TESTS, whole)


def example(batch_size: int = 3, seq_len: int = 5, n_vocab: int = 11) -> dict[str, str]:
    r"""
    ## Example

    A table of what follows what, trained on targets that are not shifted.

    ### Exercises

    ??? question "The loss is not the honest one, and `model_prefix` passes. What do you look at?"
        At the targets and the loss: the model doesn't see the future.

    ??? question "Why must the sequences differ from the first token on?"
        After equal beginnings with different ends nobody can know which end comes. The loss would
        stay above zero with the best of memories.

    ??? question "The mask lets each token see the next one, too. Which of these tests fail?"
        `honest` and `model_prefix`. `learns` can pass: it is easy to copy what one sees.
    """
    # The inputs twice, where the second should be one token later.
    text = torch.randint(n_vocab, (batch_size, seq_len + 1))
    table = torch.nn.Embedding(n_vocab, n_vocab)

    # Few steps: the first test fails anyway, and the last one does for want of time.
    return find_in_whole(Whole(table, text[:, :-1], text[:, :-1], n_steps=20))
