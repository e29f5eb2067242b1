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

Four programs with hardly a line in common: are they the same function? This page copies one set of
weights into all four, under the names that each has for them, and compares their outputs and the
gradients of every weight. You can use the same translation to load weights that were trained in one
layout into another.

All are compared under the causal mask, since two of them have no other, and without dropout, which
one head at a time doesn't have.
"""

import torch
from torch import Tensor, nn

from labml_nn.transformers.mha import MultiHeadAttention, causal_mask
from labml_nn.transformers.ways.batch_first import BatchFirstAttention
from labml_nn.transformers.ways.folded_heads import NarrowSelfAttention
from labml_nn.transformers.ways.one_head_at_a_time import OneHeadAtATime


def translate(weights: dict[str, Tensor], heads: int) -> dict[str, dict[str, Tensor]]:
    r"""
    ## Translating the weights

    `weights` is the `state_dict` of [multi-head attention](../mha.py#MultiHeadAttention). The
    result has one such table for each way, by its name.
    """
    # Courses abbreviate the names of the layers.
    batch_first = {}
    folded = {}
    single = {}
    letters = {"query": "q", "key": "k", "value": "v", "output": "o"}
    for name, tensor in weights.items():
        # From `query.linear.weight` the layer, `query`, and whether it is the weight or the bias.
        layer = name.split(".")[0]
        kind = name.split(".")[-1]

        # Both cut the width into heads as multi-head attention does, so only the names change.
        batch_first[f"W_{letters[layer]}.{kind}"] = tensor
        folded[f"{layer}.{kind}"] = tensor

        # The output layer mixes all heads, so it stays whole. Its columns are in the order in which
        # the heads' results stand side by side, and that order is the same in all four.
        if layer == "output":
            single[f"projection.{kind}"] = tensor
            continue

        # A layer has a row of weights for each feature of its output, and the rows of one head
        # follow one another. So each head gets a chunk of rows.
        for head, rows in enumerate(tensor.chunk(heads)):
            single[f"heads.{head}.{layer}.{kind}"] = rows

    # In the order of the table above.
    return {
        "sequence first": weights,
        "batch first": batch_first,
        "folded heads": folded,
        "one head at a time": single,
    }


def four_ways(heads: int, d_model: int) -> dict[str, nn.Module]:
    r"""
    ## The four ways

    All with the same weights.
    """
    # Each is as its page has it: names, order of arguments and defaults differ.
    # Without dropout, and causal where that is a choice.
    first = MultiHeadAttention(heads, d_model, dropout_prob=0.0)
    ways = {
        "sequence first": first,
        "batch first": BatchFirstAttention(d_model, heads, dropout=0.0),
        "folded heads": NarrowSelfAttention(heads, d_model, dropout_prob=0.0, causal=True),
        "one head at a time": OneHeadAtATime(heads, d_model),
    }

    # Loading is strict: a name too many or too few is an error.
    for name, weights in translate(first.state_dict(), heads).items():
        ways[name].load_state_dict(weights)
    return ways


def attend(name: str, way: nn.Module, x: Tensor) -> Tensor:
    r"""
    ## Calling each way

    `x` and the result are `[batch_size, seq_len, d_model]`, under the causal mask.
    """
    # `[seq_len, seq_len, 1]`, with a last axis for the batch.
    mask = causal_mask(x.shape[1]).to(x.device)
    if name == "sequence first":
        # The sequence becomes the first axis for the call, and the second again after it.
        x = x.transpose(0, 1)
        return way(query=x, key=x, value=x, mask=mask).transpose(0, 1)
    if name == "batch first":
        # Its mask has no axis for the batch. The weights aren't needed here.
        return way(x, mask.squeeze(-1))[0]

    # The others have the mask inside.
    return way(x)


def largest_differences(ways: dict[str, nn.Module], heads: int, x: Tensor) -> dict[str, Tensor]:
    r"""
    ## Comparing outputs and gradients

    For each way the largest difference from the first, in its output and in the gradients of all
    weights. In float64 nothing is left but rounding.
    """
    outputs = {}
    gradients = {}
    for name, way in ways.items():
        # The four layouts give the same function, so these should be equal.
        outputs[name] = attend(name, way, x)

        # Each number of the output has a factor of its own. With a plain sum, the gradients would
        # be the same if positions or features of the output changed places.
        factors = torch.linspace(-1, 1, x.numel(), dtype=x.dtype).view(x.shape)
        (outputs[name] * factors).sum().backward()
        # Two programs can have equal outputs and other gradients, and would train apart.
        gradients[name] = {one: weight.grad for one, weight in way.named_parameters()}

    # Gradients have the names of their weights, so the same translation makes them comparable.
    largest = {}
    for name, expected in translate(gradients["sequence first"], heads).items():
        # All gradients of this way, and those that it should have, each in one long vector.
        found = torch.cat([gradients[name][one].flatten() for one in expected])
        wanted = torch.cat([tensor.flatten() for tensor in expected.values()])

        # Where are they, or the outputs, furthest apart?
        difference = (outputs[name] - outputs["sequence first"]).abs().max()

        # The larger of the two, so that one number speaks for the way.
        largest[name] = torch.maximum((found - wanted).abs().max(), difference)
    return largest


def example(
    seq_len: int = 7, batch_size: int = 3, heads: int = 5, d_k: int = 2
) -> dict[str, Tensor]:
    r"""
    ## Example

    The proof, in double precision.

    ### Time and memory

    For one sequence, forward and backward, by its number of positions. PyTorch's own kernel between
    the same projections is there for comparison: see [fused attention](../fused_attention.py).

    [Time of each way](../../../results/ways.json#figures.time)

    [Memory of each way](../../../results/ways.json#figures.memory)

    * With short sequences the number of calls decides, and one head at a time has the most.
    * With longer sequences, sequence first falls behind. A product leaves the scores of one query
      side by side in memory. `masked_fill` writes its result in the order of the axes, with
      sequences and heads innermost, and so does a softmax along another axis than the last. The
      next product needs the weights side by side again, and so does each product of the backward
      pass: more copies. If both leave them side by side, this way takes hardly longer than batch
      first; if only one of the two does, most of the difference remains.
    * Memory grows with the square of the length in all four, because each writes out its scores.
      From 1,024 positions on one head at a time needs about half, or less. The backward pass needs
      the weights of all heads, but other intermediate results are those of one head.

    ### Exercises

    ??? question "3 sequences, 7 positions, 5 heads: what shape have the scores in each way?"
        In the order of the table: 7, 7, 3, 5; then 3, 5, 7, 7; then 15, 7, 7; and five times 3, 7,
        7.

    ??? question "Deal the rows out by `tensor[head::heads]` instead of by `chunk`. What happens?"
        The shapes fit, and loading succeeds. But heads get rows of other heads, and the outputs of
        the ways differ.

    ??? question "Why is a comparison of outputs alone not enough?"
        Two functions can agree in their values and not in their gradients: with a `detach` in the
        wrong place the outputs are equal and some weights are never trained.
    """
    # In float32 the differences would be of the order of $10^{-6}$, and small mistakes could hide.
    d_model = heads * d_k
    ways = {name: way.double() for name, way in four_ways(heads, d_model).items()}
    x = torch.randn(batch_size, seq_len, d_model, dtype=torch.float64)
    return largest_differences(ways, heads, x)
