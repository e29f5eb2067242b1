r"""
---
title: LoRA on Quantised Weights
summary: The frozen weights are in eight bits, the adapter is not; the idea of QLoRA.
paper:
  title: "QLoRA: Efficient Finetuning of Quantized LLMs"
  authors: Dettmers et al.
  year: 2023
  link: https://arxiv.org/abs/2305.14314
know: ../training/trained.py
terms:
  QLoRA: LoRA on a base whose frozen weights are stored in a few bits.
---

[LoRA](lora.py) trains few weights, but the frozen ones are in memory as well, at four bytes each.
They can be [whole numbers of eight bits](../training/trained.py) instead, with one scale for each
row. Here is a row of two weights:

| | first weight | second weight |
| --- | ---: | ---: |
| stored | 127 | −64 |
| times the scale, 0.01 | 1.27 | −0.64 |

Such weights lose small *steps*. Say that −0.642 is better for the new text. A step of 0.002 leads
to −64.2 units, which is rounded to −64: the step is lost, and so is each later one below half a
unit, 0.005. The frozen weights take no steps. They are rounded once, and the loss of our model
hardly shows it. The adapter beside them stays in 32 bits, and can hold the 0.002.

**In:** a model with adapters. **Out:** the same model with its frozen matrices in eight bits, a
quarter of the bytes. Each layer still takes `[seq_len, batch_size, d_in]` to `[seq_len, batch_size,
d_out]`.

$$
y = \operatorname{restore}(q, s)\, x + \frac{\alpha}{r} B A x
$$

$q$ are the whole numbers, `[d_out, d_in]`, and $s$ the scales of the rows; the rest is LoRA's.
"""

import torch
from torch import Tensor, nn
from torch.autograd.function import FunctionCtx, once_differentiable

from labml_nn.fine_tuning.lora import LoRALinear
from labml_nn.training.trained import quantise, restore


class Product(torch.autograd.Function):
    r"""
    ## A product that restores its weights twice

    The gradient of $x$ is that of $y$ times the weights, so PyTorch keeps the weights for the
    backward pass. With `F.linear(x, restore(...))`, every layer would keep a matrix of 32 bits
    until then, and in training nothing would be saved.

    Written with `F.linear`, a step of our model keeps
    [31.81](../../results/lora.json#values.backward.restored) MB for its backward pass; with this
    function, [28.81](../../results/lora.json#values.backward.again) MB.
    """

    @staticmethod
    def forward(ctx: FunctionCtx, x: Tensor, whole: Tensor, scale: Tensor) -> Tensor:
        r"""
        From `x`, `[seq_len, batch_size, d_in]`, to `[seq_len, batch_size, d_out]`.
        """
        # Kept are the eight bits and the scales, which are there anyway.
        ctx.save_for_backward(whole, scale)

        # The restored matrix lives until the end of this line.
        return x @ restore(whole, scale).t()

    @staticmethod
    @once_differentiable
    def backward(ctx: FunctionCtx, grad: Tensor) -> tuple[Tensor, None, None]:
        # Restored a second time. The whole numbers and the scales are frozen, and get no gradient.
        return grad @ restore(*ctx.saved_tensors), None, None


class QuantisedLinear(nn.Module):
    r"""
    ## A frozen layer in eight bits

    Takes the place of the base of a [layer with an adapter](lora.py#LoRALinear).
    """

    def __init__(self, layer: nn.Linear) -> None:
        r"""
        * `layer` is the trained layer
        """
        super().__init__()
        # The trained weights, rounded. PyTorch has no gradients for whole numbers.
        whole, scale = quantise(layer.weight.detach())

        # Buffers are saved and moved with the model, and are nothing to train.
        self.register_buffer("whole", whole)
        self.register_buffer("scale", scale)

        # A bias has one number for a whole row of weights, so it stays as it is.
        self.bias = layer.bias

        # The sides of the matrix, for merging.
        self.in_features = layer.in_features
        self.out_features = layer.out_features

    @property
    def weight(self) -> Tensor:
        # Made anew each time, for merging and for [DoRA](dora.py).
        return restore(self.whole, self.scale)

    def forward(self, x: Tensor) -> Tensor:
        r"""
        From `[seq_len, batch_size, d_in]` to `[seq_len, batch_size, d_out]`.
        """
        # The product with the weights, which keeps nothing in 32 bits.
        x = Product.apply(x, self.whole, self.scale)

        # A linear layer may have no bias.
        return x if self.bias is None else x + self.bias


def quantise_bases(model: nn.Module) -> None:
    r"""
    ## Quantise the base of a model

    After [adapt](lora.py#adapt). Embeddings, which have no adapter, stay in 32 bits.
    """
    # The matrix of 32 bits is freed with the layer that is replaced, unless something else still
    # refers to it.
    for one in model.modules():
        if isinstance(one, LoRALinear):
            one.base = QuantisedLinear(one.base)


def example(
    seq_len: int = 7, batch_size: int = 3, d_in: int = 11, d_out: int = 5, rank: int = 2
) -> tuple[Tensor, Tensor]:
    r"""
    ## Example

    A layer with an adapter, before and after its base is put in eight bits.

    ### Measured here

    The frozen matrices of our model go from [3.20](../../results/lora.json#values.layers.float) MB
    to [0.82](../../results/lora.json#values.layers.eight_bits) MB. Before anything is adapted, the
    loss on Shakespeare is [1.852](../../results/lora.json#values.quantised_base) with eight bits
    and [1.852](../../results/lora.json#tables.methods.Before.shakespeare) with 32. After adapting
    to Python at rank 8, the loss on Python is
    [1.606](../../results/lora.json#tables.methods.LoRA%20rank%208%20on%20eight%20bits.python), and
    on a base in 32 bits [1.606](../../results/lora.json#tables.methods.LoRA%20rank%208.python): the
    same, as far as three seeds can tell.

    In a model of this size the weights don't fill the memory. A step keeps
    [28.81](../../results/lora.json#values.backward.float) MB for its backward pass. And a step on
    eight bits takes [1.17](../../results/lora.json#values.eight_bits_time) times as long. In
    a try with a layer of 128 inputs and 512 outputs, about a third of the difference was for
    weights that are restored twice, and nearly half for the bias, which is added apart from the
    product. There is [a list](../../docs/what_did_not_help.md) of more things that did not help.

    We expected harm from merging, and there was none. To merge an adapter into such a base, you
    have to round once more, with new scales, and each weight is off by up to half a unit. (Nearly
    all changes by the adapter are larger, in a try with one seed.) The loss is
    [1.606](../../results/lora.json#values.rounded.before) before and
    [1.606](../../results/lora.json#values.rounded.after) after.

    ### The paper

    The paper stores the base in *four* bits, with values that suit normally distributed weights,
    and the scales in eight; and moves the averages of the optimizer out of the GPU when memory is
    short. It adapts a model of 65 billion weights on one GPU of 48 GB. All that is left out here;
    the idea is the same.

    ### Exercises

    ??? question "A layer of 512 × 128 has rank 8. How many bytes are its base and its adapter?"
        65,536 whole numbers and 512 scales of four bytes: 67,584. The adapter has 5,120 numbers of
        four bytes: 20,480. In 32 bits the base was 262,144.

    ??? question "Could the adapter be trained in eight bits?"
        Here it could. Let the largest number of a row be 0.1. Then its scale is 0.0008, and a step
        of less than 0.0004 is rounded away. At the end of training nearly all steps are, but the
        longer ones before them are not. In a try with one seed, an adapter that was rounded after
        each step learned as much as one in 32 bits.

    ??? question "Save only `scale` for the backward pass. What would be missing?"
        The weights: the gradient of $x$ is a product with them. Only their own gradients could be
        computed from $x$, and they are frozen.

    ??? question "In `backward`, transpose the restored matrix. What happens?"
        An error, as the shapes don't fit, unless the matrix is square. Then the gradients are
        wrong, and no shape tells. That is why the layers of a test have sides of different lengths.
    """
    # A model of a single layer, whose adapter hasn't learned yet.
    model = nn.Sequential(LoRALinear(nn.Linear(d_in, d_out), rank, alpha=2 * rank))

    # It stands for the result of other layers, which have adapters too and need gradients.
    x = torch.randn(seq_len, batch_size, d_in, requires_grad=True)
    exact = model(x)

    # Nearly the same, from whole numbers of eight bits.
    quantise_bases(model)
    rounded = model(x)

    # Gradients pass through the frozen layer to those before it.
    rounded.sum().backward()
    return exact, rounded
