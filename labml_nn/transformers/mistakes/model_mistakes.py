r"""
---
title: "Mistakes: Positions, Data and Training"
summary: Seven wrong lines around a right attention, in the model and in what trains it.
---

The attention is right, and the model is not, or its targets, or its loss. What finds these are
[tests of the whole](model_tests.py): they look at the model, at a batch as the training gets it,
and at a training step.
"""

import torch
import torch.nn.functional as F
from torch import Tensor

from labml_nn.transformers.mistakes.right_attention import RightAttention
from labml_nn.transformers.mistakes.right_model import RightLayer, RightModel, RightTraining


class PositionsOfTheBatch(RightModel):
    r"""
    ## Positions on the wrong axis

    Code for data with the sequence first, given data with the batch first: the line is found in
    descendants of PyTorch's first tutorial on language models. All positions of a sequence get the
    same vector, that of the sequence's place *in the batch*.

    The first sequence is right even so, if the test has one sequence only or looks at no other.
    So [the test](model_tests.py#each_sequence_alone) looks at them all.

    Printed loss:
    [2.360](../../../results/mistakes.json#tables.mistakes.PositionsOfTheBatch.printed);
    honest loss:
    [2.362](../../../results/mistakes.json#tables.mistakes.PositionsOfTheBatch.honest).
    """

    def add_positions(self, x: Tensor) -> Tensor:
        # **Right:** `return x + self.positions[: x.shape[1]]`
        return x + self.positions[: x.shape[0]].unsqueeze(1)


class LayerWithoutResidual(RightLayer):
    r"""
    ## No residual

    A part's result takes the place of what went in, and is not added to it. Four layers deep,
    the model hardly learns more than how often each character comes. It can't learn
    [a single batch](model_tests.py#learns) by heart.
    """

    def add(self, x: Tensor, z: Tensor) -> Tensor:
        # **Right:** `return x + z`
        return z


class NoResidual(RightModel):
    r"""
    A model that consists of such layers.

    Printed loss:
    [3.349](../../../results/mistakes.json#tables.mistakes.NoResidual.printed);
    honest loss:
    [3.314](../../../results/mistakes.json#tables.mistakes.NoResidual.honest).
    """

    layer = LayerWithoutResidual


class DropoutInEvaluation(RightAttention):
    r"""
    ## Dropout left on in evaluation

    A function can't know whether the model trains. That of dropout assumes that it does, and
    `scaled_dot_product_attention` drops what it is told to, always. nanoGPT [had
    it](https://github.com/karpathy/nanoGPT/pull/240), “an actual bug” to its author, then
    [timm](https://github.com/huggingface/pytorch-image-models/pull/1978) in many models, and
    PyTorch's tutorial on [building blocks of
    transformers](https://docs.pytorch.org/tutorials/intermediate/transformer_building_blocks.html)
    still does.

    Printed loss:
    [2.165](../../../results/mistakes.json#tables.mistakes.DropoutInEvaluation.printed);
    honest loss:
    [2.137](../../../results/mistakes.json#tables.mistakes.DropoutInEvaluation.honest).
    """

    def drop(self, weights: Tensor) -> Tensor:
        # **Right:** `return F.dropout(weights, self.dropout_prob, self.training)`
        return F.dropout(weights, self.dropout_prob)


class TargetsNotShifted(RightTraining):
    r"""
    ## Targets not shifted

    The model is asked for the character that it is given. It learns to copy, perfectly. No
    test of a model can see it: the model is right. It takes a look
    [at a batch](model_tests.py#targets_follow_inputs).

    Printed loss:
    [0.000](../../../results/mistakes.json#tables.mistakes.TargetsNotShifted.printed);
    honest loss:
    [11.529](../../../results/mistakes.json#tables.mistakes.TargetsNotShifted.honest).
    """

    def cut(self, text: Tensor) -> tuple[Tensor, Tensor]:
        # **Right:** `return text[:, :-1], text[:, 1:]`
        return text[:, :-1], text[:, :-1]


class TargetsShiftedTwice(RightTraining):
    r"""
    ## Targets shifted twice

    The data is shifted, and the loss shifts it once more: the model learns to predict the
    character after next. The transformers library shifts inside its models, which many of its
    users [don't expect](https://github.com/huggingface/transformers/issues/32944), and one of its
    own models [did it twice](https://github.com/huggingface/transformers/issues/47394), from
    version 4.49 to the summer of 2026.

    The batch is as it should be, and so is the model. What shows it is that the printed loss is
    not [the honest one](model_tests.py#honest).

    Printed loss:
    [2.770](../../../results/mistakes.json#tables.mistakes.TargetsShiftedTwice.printed);
    honest loss:
    [3.592](../../../results/mistakes.json#tables.mistakes.TargetsShiftedTwice.honest).
    """

    def loss(self, logits: Tensor, targets: Tensor) -> Tensor:
        # **Right:** `return super().loss(logits, targets)`
        return super().loss(logits[:, :-1], targets[:, 1:])


class SoftmaxTwice(RightTraining):
    r"""
    ## A softmax before the loss

    `cross_entropy` has a softmax of its own. The softmax of numbers between 0 and 1 is nearly even,
    so the loss can't fall far, and the gradient that is left is small.

    Printed loss:
    [4.036](../../../results/mistakes.json#tables.mistakes.SoftmaxTwice.printed);
    honest loss:
    [11.083](../../../results/mistakes.json#tables.mistakes.SoftmaxTwice.honest).
    """

    def loss(self, logits: Tensor, targets: Tensor) -> Tensor:
        # **Right:** `return super().loss(logits, targets)`
        return super().loss(logits.softmax(dim=-1), targets)


class GradientsKept(RightTraining):
    r"""
    ## Gradients never cleared

    Each step follows the sum of all gradients so far. That is a very long memory, and the model
    still learns: only worse.

    Printed loss:
    [2.563](../../../results/mistakes.json#tables.mistakes.GradientsKept.printed);
    honest loss:
    [2.568](../../../results/mistakes.json#tables.mistakes.GradientsKept.honest).
    """

    def forget(self) -> None:
        # **Right:** `self.optimizer.zero_grad()`
        pass


def example(
    batch_size: int = 3, heads: int = 5, d_k: int = 2, seq_len: int = 7, n_vocab: int = 11
) -> dict[str, Tensor]:
    r"""
    ## Example

    One step with each training, and one call of each model.
    """
    d_model = heads * d_k
    text = torch.randint(n_vocab, (batch_size, seq_len + 1))
    found = {}
    for kind in (PositionsOfTheBatch, NoResidual):
        model = kind(n_vocab, d_model, heads, 2, seq_len, DropoutInEvaluation, 0.5)
        found[kind.__name__] = model(text[:, 1:])
    for kind in (TargetsNotShifted, TargetsShiftedTwice, SoftmaxTwice, GradientsKept):
        training = kind(RightModel(n_vocab, d_model, heads, 2, seq_len), 1)
        found[kind.__name__] = training.step(*training.cut(text))
    return found
