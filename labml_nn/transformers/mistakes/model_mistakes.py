r"""
---
title: "Mistakes: Positions, Data and Training"
summary: Seven wrong lines around a right attention, in the model and in what trains it.
---

The attention is right, and the model is not, or its targets, or its loss. Take the targets, for a
window of “First”:

```
inputs                     F i r s
targets                    i r s t
targets not shifted        F i r s
targets shifted twice      r s t
```

A model that is given the third line learns to copy, and with the fourth it learns to predict the
letter after next. [Tests of the whole](../../../wrongline/model_tests.py) find these mistakes: they
look at the model, at a batch as the training gets it, and at a training step.

[Printed and honest loss of these mistakes; the line is the right
model](../../../results/mistakes.json#figures.model)

The right model's printed loss is
[2.117](../../../results/mistakes.json#tables.mistakes.RightAttention.printed), its honest loss
[2.072](../../../results/mistakes.json#tables.mistakes.RightAttention.honest).
"""

import torch
from torch import Tensor

from labml_nn.transformers.mistakes.one_line import Mistake
from labml_nn.transformers.mistakes.right_attention import RightAttention
from labml_nn.transformers.mistakes.right_model import RightLayer, RightModel, RightTraining


class PositionsOfTheBatch(Mistake):
    r"""
    ## Positions on the wrong axis

    Code for data with the sequence first, given data with the batch first: descendants of PyTorch's
    first tutorial on language models have this line, and a [university
    course](https://github.com/cmu-l3/anlp-fall2025-code/issues/1) had it. All positions of a
    sequence get the same vector, that of the sequence's place *in the batch*.

    A test that looks at the first sequence only may pass. So [the
    test](../../../wrongline/model_tests.py#each_sequence_alone) looks at them all.
    """

    of = RightModel
    # Axis 0 is that of the batch.
    right = "self.positions[: tokens.shape[1]]"

    # One vector for each sequence, added to all of its positions.
    wrong = "self.positions[: tokens.shape[0]].unsqueeze(1)"


class NoResidual(Mistake):
    r"""
    ## No residual

    A part's result takes the place of what went in, and is not added to it, as in
    [BitNet](https://github.com/kyegomez/BitNet/issues/32), where the result was added to itself.
    Four layers deep, the model hardly learns more than how often each character comes. In the test
    of [a single batch](../../../wrongline/training_tests.py#learns) it doesn't learn that one by
    heart.
    """

    of = RightLayer
    # What went in is kept, and the part's result added to it.
    right = "x = x + part(norm(x))"

    # Each part has to pass on all that the layers after it need.
    wrong = "x = part(norm(x))"


class DropoutInEvaluation(Mistake):
    r"""
    ## Dropout left on in evaluation

    A function can't know whether the model trains. `F.dropout` assumes that it does, and
    `scaled_dot_product_attention` always drops what it is told to drop. nanoGPT [had
    it](https://github.com/karpathy/nanoGPT/pull/240), “an actual bug” to its author, then
    [timm](https://github.com/huggingface/pytorch-image-models/pull/1978) in many models. PyTorch's
    tutorial on [building blocks of
    transformers](https://docs.pytorch.org/tutorials/intermediate/transformer_building_blocks.html)
    still has it.

    The right model with dropout has a printed loss of
    [2.144](../../../results/mistakes.json#tables.mistakes.RightAttention%20with%20dropout.printed).
    """

    # Without dropout, there is nothing to leave on.
    dropout_prob = 0.1

    # The function is told whether the model trains.
    right = "self.dropout_prob, self.training)"

    # The third argument is true unless one says otherwise.
    wrong = "self.dropout_prob)"


class TargetsNotShifted(Mistake):
    r"""
    ## Targets not shifted

    The model gets each character as its input and as its target. It learns to copy, perfectly: a
    model of [images and captions](https://github.com/KempnerInstitute/KempnerForge/issues/154) came
    to a loss of 0.0000. No test of a model can see it, because the model is right. Look [at a
    batch](../../../wrongline/training_tests.py#targets_follow_inputs).
    """

    of = RightTraining
    # The target of a character is the one after it.
    right = "return text[:, :-1], text[:, 1:]"

    # The answer stands in the input at the same place.
    wrong = "return text[:, :-1], text[:, :-1]"


class TargetsShiftedTwice(Mistake):
    r"""
    ## Targets shifted twice

    The data is shifted, and the loss shifts it once more: the model learns to predict the character
    after next. The transformers library shifts inside its models, which many of its users [don't
    expect](https://github.com/huggingface/transformers/issues/32944). Several of its own models did
    it twice, [one of them](https://github.com/huggingface/transformers/issues/47394) from version
    4.49 to the summer of 2026.

    The batch is right, and so is the model. But the printed loss is not [the honest
    one](../../../wrongline/training_tests.py#honest).
    """

    of = RightTraining
    # `cut` has shifted them already.
    right = "F.cross_entropy(logits.flatten(0, 1), targets.flatten())"

    # One more token is cut off at each end.
    wrong = "F.cross_entropy(logits[:, :-1].flatten(0, 1), targets[:, 1:].flatten())"


class SoftmaxTwice(Mistake):
    r"""
    ## A softmax before the loss

    `cross_entropy` has a softmax of its own. The softmax of numbers between 0 and 1 is nearly even.
    If the model is right and quite sure, one of 66 numbers is 1 and the others are 0, and the loss
    is $\ln(e + 65) - 1 = 3.22$, where guessing has 4.19. [Llama from
    scratch](https://github.com/bkitano/llama-from-scratch/issues/5) had it.
    """

    of = RightTraining
    # `cross_entropy` expects logits.
    right = "F.cross_entropy(logits.flatten(0, 1), targets.flatten())"

    # Of 66 scores between 0 and 1, none can be far above the others.
    wrong = "F.cross_entropy(logits.softmax(dim=-1).flatten(0, 1), targets.flatten())"


class GradientsKept(Mistake):
    r"""
    ## Gradients never cleared

    Each step follows the sum of all gradients so far, shortened each time by the clipping. The
    model still learns, only worse. [torchforge](https://github.com/meta-pytorch/torchforge/pull/71)
    did so at first.
    """

    of = RightTraining
    # The gradients of the step before go first.
    right = "self.optimizer.zero_grad()"

    # `backward` adds, so the gradients of all steps pile up.
    wrong = "pass"


MODEL_EXHIBITS = (
    PositionsOfTheBatch,
    NoResidual,
    DropoutInEvaluation,
    TargetsNotShifted,
    TargetsShiftedTwice,
    SoftmaxTwice,
    GradientsKept,
)


def example(
    batch_size: int = 3, heads: int = 5, d_k: int = 2, seq_len: int = 7, n_vocab: int = 11
) -> dict[str, Tensor]:
    r"""
    ## Example

    The loss of an untrained model, by each training. An even guess has $\ln 11 = 2.398$, and all
    come near it: an untrained model guesses evenly, and its loss shows no mistake yet.

    ### Find the bug

    ??? question "`loss = F.nll_loss(logits, targets)`. What is missing?"
        The logarithm of the softmax: `nll_loss` takes logarithms of probabilities. The loss can
        fall without end, since nothing makes the outputs sum to one.

    ??? question "A training prints “nan” once, and the code skips that step. Is it harmless?"
        Not if gradients are cleared after a good step only: the bad ones stay for the next.

    ??? question "Loss 0.000 after 100 steps. What do you look at first?"
        At a batch, as the training gets it: are the targets the inputs?
    """
    # A batch of random tokens: nothing can be learned from it, only computed.
    d_model = heads * d_k
    text = torch.randint(n_vocab, (batch_size, seq_len + 1))
    found = {}

    # The right training, and the four with a wrong line.
    for kind in (RightTraining, *(one.make() for one in MODEL_EXHIBITS if one.of is RightTraining)):
        # A new model for each, with two layers.
        model = RightModel(n_vocab, d_model, 2, seq_len, lambda: RightAttention(heads, d_model))
        training = kind(model, 1)

        # The loss before the step.
        found[kind.__name__] = training.step(*training.cut(text))
    return found
