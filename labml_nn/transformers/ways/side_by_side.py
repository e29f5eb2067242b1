r"""
---
title: The Four Ways, Side by Side
summary: One set of weights for all four, equal results and gradients, and what each costs.
paper:
  title: Attention Is All You Need
  authors: Vaswani et al.
  year: 2017
  link: https://arxiv.org/abs/1706.03762
---

| Way | Positions are | While scores are computed, heads are | Product |
| --- | --- | --- | --- |
| [Sequence first](../mha.py) | the first axis | the last axis of the scores | einsum |
| [Batch first](batch_first.py) | the second axis | an axis before the positions | matmul |
| [Folded heads](folded_heads.py) | the second axis | a part of the batch | bmm |
| [One head at a time](one_head_at_a_time.py) | the second axis | modules in a list | matmul |

Only the layout differs. This page shows it: it hands the weights of the first way to the others,
under their names, and compares what comes out, and the gradients of every weight.

Two of the ways make a causal mask themselves, so all are compared under that one. Dropout is
left out, because each way would throw dice of its own.

## What they cost

For one sequence, forward and backward, by its number of positions. With the four stands PyTorch's
own kernel, between the same projections. It computes the same numbers, and never holds all of the
weights.

[Time of each way](../../../results/ways.json#figures.time)

[Memory of each way](../../../results/ways.json#figures.memory)

Memory was counted, and is exact. Times are medians of rounds in which each way has its turn.

Where sequences are short it is the number of calls that counts, and one head at a time has the
most. Where they are long it is the order of the axes: with the sequence first, the softmax runs
along an axis whose entries are far apart in memory.

Memory grows with the square of the length in all four, because each keeps its weights for the way
back. One head at a time needs about half as much as the others: what is needed only in between is
there for one head and not for all.
"""

from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.func import functional_call

from labml_nn.transformers.mha import MultiHeadAttention, causal_mask
from labml_nn.transformers.ways.batch_first import BatchFirstAtTheSeam
from labml_nn.transformers.ways.batch_first import MultiHeadAttention as BatchFirstAttention
from labml_nn.transformers.ways.folded_heads import NarrowSelfAttention
from labml_nn.transformers.ways.one_head_at_a_time import OneHeadAtATime
from labml_nn.transformers.ways.seam import CausalAtTheSeam

# Weights by their names, as `state_dict` has them.
Weights = dict[str, Tensor]


def for_batch_first(weights: Weights, heads: int) -> Weights:
    r"""
    ## The weights, batch first

    From “query.linear.weight” to “W_q.weight”, and likewise for all eight.
    """
    layers = {"query.linear": "W_q", "key.linear": "W_k", "value.linear": "W_v", "output": "W_o"}
    renamed = {}
    for name, tensor in weights.items():
        layer, _, kind = name.rpartition(".")
        renamed[f"attention.{layers[layer]}.{kind}"] = tensor
    return renamed


def for_folded_heads(weights: Weights, heads: int) -> Weights:
    r"""
    ## The weights for folded heads

    From “query.linear.weight” to “query.weight”. Both cut the width into heads in the same way:
    the features of a head are neighbours.
    """
    return {f"attention.{name.replace('.linear', '')}": tensor for name, tensor in weights.items()}


def for_single_heads(weights: Weights, heads: int) -> Weights:
    r"""
    ## The weights for one head at a time

    A layer keeps a row of weights for each feature that goes out. The rows of a projection belong
    to one head after the other, so they are dealt out in as many chunks. The output layer is for
    all heads, and stays whole.
    """
    dealt = {}
    for name, tensor in weights.items():
        layer, _, kind = name.rpartition(".")
        if layer == "output":
            dealt[f"attention.projection.{kind}"] = tensor
            continue
        projection = layer.removesuffix(".linear")
        for head, chunk in enumerate(tensor.chunk(heads)):
            dealt[f"attention.heads.{head}.{projection}.{kind}"] = chunk
    return dealt


def as_they_are(weights: Weights, heads: int) -> Weights:
    r"""
    ## The weights of the first way

    It is the one that the others get theirs from.
    """
    return weights


# What each way calls the weights.
NAMES_IN: dict[str, Callable[[Weights, int], Weights]] = {
    "sequence first": as_they_are,
    "batch first": for_batch_first,
    "folded heads": for_folded_heads,
    "one head at a time": for_single_heads,
}


def four_ways(heads: int, d_model: int, max_len: int) -> dict[str, nn.Module]:
    r"""
    ## The four ways

    All with the same weights, at the [seam](seam.py): they are called alike. The first one takes
    its [readable way](../mha.py#MultiHeadAttention).
    """
    first = MultiHeadAttention(heads, d_model, dropout_prob=0.0)
    first.fused = False
    ways = {
        "sequence first": first,
        "batch first": BatchFirstAtTheSeam(BatchFirstAttention(d_model, heads, dropout=0.0)),
        "folded heads": CausalAtTheSeam(NarrowSelfAttention(heads, d_model, 0.0, causal=True)),
        "one head at a time": CausalAtTheSeam(OneHeadAtATime(heads, d_model, 0.0, max_len=max_len)),
    }

    # Loading is strict: a name too many or too few is an error.
    for name, way in ways.items():
        way.load_state_dict(NAMES_IN[name](first.state_dict(), heads))
    return ways


def outputs_and_gradients(
    ways: dict[str, nn.Module], heads: int, x: Tensor
) -> dict[str, tuple[Tensor, ...]]:
    r"""
    ## What comes out, and what comes back

    For each way its output, `[seq_len, batch_size, d_model]`, then the gradient of what came
    in, then those of the weights. They are the gradients of the *first* way's weights in each case,
    so that there is one of each and nothing has to be put in order: a way is called with these
    weights under its names, and the way back goes through the renaming, too.
    """
    # What `state_dict` gives shares its numbers with the module, but has gradients of its own.
    x = x.detach().requires_grad_()
    shared = ways["sequence first"].state_dict()
    for weight in shared.values():
        weight.requires_grad_()

    sequence = {"query": x, "key": x, "value": x, "mask": causal_mask(len(x), x.device)}
    found = {}
    for name, way in ways.items():
        output = functional_call(way, NAMES_IN[name](shared, heads), (), sequence)

        # A sum would not notice if positions or features were mixed up, so each number counts
        # differently.
        count = torch.linspace(-1, 1, output.numel()).to(output)
        loss = (output.flatten() * count).sum()
        found[name] = (output.detach(), *torch.autograd.grad(loss, [x, *shared.values()]))
    return found


def largest_difference(one: Tensor, other: Tensor) -> Tensor:
    r"""
    ## How far apart two tensors are

    At the place where they are furthest.
    """
    return (one - other).abs().max()


def largest_differences(
    ways: dict[str, nn.Module], heads: int, x: Tensor
) -> dict[str, dict[str, Tensor]]:
    r"""
    ## The proof

    For each way the largest difference from the first one, in the outputs and in the gradients. In
    `float64` nothing is left of them but rounding.
    """
    found = outputs_and_gradients(ways, heads, x)
    first = found["sequence first"]
    differences = {}
    for name, tensors in found.items():
        output, *back = map(largest_difference, tensors, first)
        differences[name] = {"output": output, "gradients": torch.stack(back).max()}
    return differences


def example(
    seq_len: int = 7, batch_size: int = 3, heads: int = 5, d_k: int = 2
) -> dict[str, dict[str, Tensor]]:
    r"""
    ## Example

    The proof, in double precision.
    """
    d_model = heads * d_k
    ways = four_ways(heads, d_model, seq_len)
    for way in ways.values():
        way.double()
    x = torch.randn(seq_len, batch_size, d_model, dtype=torch.float64)
    return largest_differences(ways, heads, x)
