r"""
---
title: Compilation
summary: torch.compile turns many small operations into few large ones.
paper:
  title: "PyTorch 2: Faster Machine Learning Through Dynamic Python Bytecode Transformation"
  authors: Ansel et al.
  year: 2024
  link: https://doi.org/10.1145/3620665.3640366
terms:
  compilation: Small operations are joined into few kernels before the model runs.
---

Between two matrix products a transformer does many small things: add a bias, apply GELU, add to the
residual stream, normalise. Run as they are written, *eagerly*, each of them reads a tensor from
memory, does a little arithmetic with each number, and writes a tensor back. These four read five
tensors and write four. The result of the product and the stream are two, and what comes out is one:
two reads and one write would do.

At the first call, `torch.compile` follows the model's Python code, notes the operations on tensors
as a graph, and writes new code in which neighbouring small operations are one loop: each number is
read once and written once. That helps if reading and writing is what takes the time. Of a whole
training step of the small transformer, it saved less than a twentieth
[here](__init__.py).

**In:** a model, or any function of tensors. **Out:** a function with the same results up to
rounding. The lessons' loop takes it in the place of the model.
"""

import torch
import torch.nn.functional as F
from torch import Tensor, nn


def between_products(x: Tensor, bias: Tensor, stream: Tensor) -> Tensor:
    r"""
    ## Small operations

    What happens to the result of a matrix product on its way to the next. Eagerly these are four
    calls. Compiled on a CPU they are one, with a few loops in it, since a mean has to be known
    before it can be subtracted.

    [These operations alone, for batches of different
    sizes](../../../results/fast_parts.json#figures.small_operations)

    With smaller batches compiled code gains nothing: here it is even slower, by 9 to 36 %. With
    49,152 tokens it is more than three times as fast. Our guess is the processor's cache: as long
    as the tensors fit, reading them again is cheap, and then they don't fit any more.
    """
    # Add the bias, and the activation.
    x = F.gelu(x + bias)

    # Into the residual stream, and a normalised copy for the next sublayer.
    return F.layer_norm(stream + x, x.shape[-1:])


def compiled(model: nn.Module) -> nn.Module:
    r"""
    ## Compile a model

    The parameters are those of the model: training the one trains the other. What can't be put into
    a graph, such as printing a number, runs eagerly in between.
    """
    # Nothing happens yet: the first call compiles.
    return torch.compile(model)


def example(seq_len: int = 7, batch_size: int = 3, d_model: int = 5) -> Tensor:
    r"""
    ## Example

    The operations, eagerly. Nothing is compiled here, since on a CPU that takes a C++ compiler.

    ### The price

    The first call compiles, which takes from seconds to a minute, and a later call with other
    shapes may compile once more. So compilation pays for long runs and not for short ones.

    ### Exercises

    ??? question "Which of the two gains more by compiling: a wide model or a narrow one?"
        A narrow one. Matrix products grow with the square of the width and are as fast as they can
        be; the small operations between them grow with the width alone.

    ??? question "The last batch of an epoch is smaller than the others. What happens?"
        It has another shape, so the model is compiled once more, now for batches of any size. If
        that takes too long, leave such a batch out, or fill it up.

    ??? question "You print `x.mean()` inside of `forward`. Does the compiled model still print?"
        Yes, but the graph is cut there: the two halves are compiled, and the print runs between
        them, at every step.
    """
    # The result of a matrix product, and the stream that it is added to.
    x, stream = torch.randn(2, seq_len, batch_size, d_model)
    return between_products(x, torch.randn(d_model), stream)
