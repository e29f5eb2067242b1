r"""
---
title: Compilation
summary: torch.compile joins many small operations into a few large ones.
paper:
  title: "PyTorch 2: Faster Machine Learning Through Dynamic Python Bytecode Transformation
    and Graph Compilation"
  authors: Ansel et al.
  year: 2024
  link: https://doi.org/10.1145/3620665.3640366
terms:
  compilation: Small operations are joined into few kernels before the model runs.
---

Between its matrix products a transformer does many small things: add a bias, apply GELU, add to
the residual stream, normalise. Take a number of 1, a bias of 2 and a stream of 10. In *eager* code,
each operation runs by itself. The first one reads the 1 from memory and writes 3. GELU reads 3 and
writes 2.996. The sum reads 2.996 and 10 and writes 12.996. The normalisation reads 12.996 and
writes its result. For whole tensors these are five reads and four writes. If the processor keeps
the results in between, only the 1 and the 10 have to be read, and one result written.

At the first call, `torch.compile` follows the model's Python code, notes the operations on tensors
as a graph, and writes new code in which neighbouring small operations share a loop. Most results in
between are then never written to memory. That helps if reading and writing is what takes the time.
Compilation [saved less than a twentieth](__init__.py) of a whole training step of the small
transformer.

**In:** a model, or any function of tensors. **Out:** a function with the same results up to
rounding. You can give it to the [training loop](../loop.py#train) in place of the model.
"""

import torch
import torch.nn.functional as F
from torch import Tensor, nn


def between_products(x: Tensor, bias: Tensor, stream: Tensor) -> Tensor:
    r"""
    ## Small operations

    The small operations around a feed-forward network, one after the other. (In a model a matrix
    product comes between GELU and the sum, and the sum is kept for the next residual connection.)
    Eagerly these are four calls. Compiled on a CPU they are one, with three loops over the features
    of each token: for the mean, for the variance and for the result. Each of the three reads the
    inputs, and computes GELU.

    [These operations alone, for batches of different
    sizes](../../../results/fast_parts.json#figures.small_operations)

    With up to 12,288 tokens compiled code is slower, by 9 to 36 %, because it computes GELU three
    times. When we put ReLU in its place, which is a mere comparison, compiled code took as long as
    eager code at 192 tokens, and little more than half as long at 768.

    With 49,152 tokens compiled code is more than three times as fast. The reason is not that
    tensors of 25 MB each no longer fit into the processor's cache. Eager code writes four of them,
    and asks the system for new memory for two in each call. The first use of each page of new
    memory takes time, and we counted 12,256 pages in a call. When we told the allocator to keep its
    memory, there were none, and compiled code was hardly faster on two cores and slower on one.
    """
    # Add the bias, and the activation.
    x = F.gelu(x + bias)

    # Into the residual stream, and a normalised copy for the next sublayer.
    return F.layer_norm(stream + x, x.shape[-1:])


def compiled(model: nn.Module) -> nn.Module:
    r"""
    ## Compile a model

    Both have the same parameters: if you train the compiled model, you train the model. What can't
    be put into a graph, such as printing a number, runs eagerly between two graphs.
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

    ??? question "Where are small operations more of the work: in a wide model or in a narrow one?"
        In a narrow one. The work of the matrix products grows with the square of the width, that of
        the small operations between them with the width alone.

    ??? question "The last batch of an epoch is smaller than the others. What happens?"
        It has another shape, so the model is compiled once more, now for batches of any size but 1,
        for which there would be a third time. If that takes too long, leave such a batch out, or
        fill it up.

    ??? question "You print `x.mean()` inside of `forward`. Does the compiled model still print?"
        Yes, but the graph is cut there: the two halves are compiled, and the print runs between
        them, at every step.
    """
    # What a matrix product has given, and the residual stream.
    x, stream = torch.randn(2, seq_len, batch_size, d_model)
    return between_products(x, torch.randn(d_model), stream)
