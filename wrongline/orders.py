r"""
---
title: Which Matrix Is Which
summary: Four matrices of an attention, found by their sizes, in all orders that are possible.
---

An attention has matrices for queries, keys, values and the output. Nobody says which is which, and
they come in many shapes: four of the same size, one for all three projections, smaller ones where
heads share keys, and each of them perhaps the other way round. With random weights only the right
order gives the right output, so all of them can be tried.

**In:** the matrices that were [found](comparison.py#find_weights). **Out:** lists of four, in the
order of query, key, value and output.

[The printed loss of each exhibit, beside the right
one](../results/mistakes.json#figures.losses)
"""

import re
from collections.abc import Iterable, Sequence
from itertools import permutations

import torch
from torch import Tensor, nn

from wrongline.comparison import Matrix, find_weights

Matrices = Sequence[Matrix]

# What the matrices of queries, keys and values are called: “w_q”, “to_queries”, “k_proj”.
ROLES = (r"quer|\b(w|to)?_?q", r"key|\b(w|to)?_?k", r"val|\b(w|to)?_?v")


def named_weights(attention: nn.Module, d_model: int) -> list[Matrix]:
    r"""
    ## The matrices in the order of their names

    Queries, keys, values, and what is left. All orders are tried, so a wrong name costs time only.
    """
    found = find_weights(attention, d_model)

    # Of a list of heads, names differ in a number.
    weights = [name for name, one in attention.named_parameters() if one.dim() > 1]
    names = list(dict.fromkeys(re.sub(r"\.\d+\b", "", name).lower() for name in weights))

    # Where one matrix is cut into several, their order is known.
    if len(names) != len(found):
        return found

    # The last of them is the place of what has none of the three names.
    def place(name: str) -> int:
        return next((at for at, role in enumerate(ROLES) if re.search(role, name)), len(ROLES))

    return [found[at] for at in sorted(range(len(names)), key=lambda at: place(names[at]))]


def orders(matrices: Matrices, heads: int, d_model: int) -> list[Matrices]:
    r"""
    ## Which matrix is which

    Nobody says it, so all orders of query, key, value and output are possible. What is not four
    matrices of the right sizes has none.
    """
    square = [one for one in matrices if one[0].shape == (d_model, d_model)]
    others = [one for one in matrices if one[0].shape != (d_model, d_model)]

    # Four of the same size, in any order. They may also be the other way round, as in `x @ w`.
    if len(square) == 4 and not others:
        turned = [(weight.t(), bias) for weight, bias in square]

        # One matrix for all three may have the parts of a head side by side, as in GPT-NeoX.
        # The first axis is cut into heads, and each head into its three parts.
        mixed = [torch.cat([one[i] for one in square[:3]]) for i in (0, 1)]
        by_head = [z.unflatten(0, (heads, 3, -1)).movedim(1, 0).flatten(1, 2) for z in mixed]

        # One more order, beside those of whole matrices.
        together = [*zip(*by_head, strict=True), square[3]]
        return [*permutations(square), together, *permutations(turned)]

    # Where heads share keys, the matrices of keys and values are smaller, or one for both.
    # The one for both may happen to be as large as the others. But three may also be all there is,
    # as in BERT's self-attention: then the output is what the heads give, side by side.
    if len(square) == 3 and not others:
        nothing = (torch.eye(d_model), torch.zeros(d_model))
        return [
            *([*three, nothing] for three in permutations(square)),
            *([one, *halves(two), three] for one, two, three in permutations(square)),
        ]

    # It is smaller. (Of an odd number of rows, none are for both.)
    if len(square) == 2 and len(others) == 1 and len(others[0][0]) % 2 == 0:
        return [[one, *halves(others[0]), two] for one, two in permutations(square)]

    # There is one for keys, and one for values.
    if len(square) == 2 and len(others) == 2 and others[0][0].shape == others[1][0].shape:
        pairs = [others, others[::-1]]
        return [[one, *pair, two] for one, two in permutations(square) for pair in pairs]

    # Or all three are in one matrix.
    if len(square) == len(others) == 1:
        weight, bias = others[0]
        # Queries first; keys and values share what is left.
        rest = (weight[d_model:], bias[d_model:])
        return [[(weight[:d_model], bias[:d_model]), *halves(rest), square[0]]]

    # Something else, such as a fifth matrix.
    return []


def halves(matrix: Matrix) -> Iterable[Matrix]:
    r"""
    ## Keys and values from one matrix
    """
    # The first half is the keys', the second the values'.
    weight, bias = matrix
    return zip(weight.chunk(2), bias.chunk(2), strict=True)


def stack_orders(possible: Sequence[Matrices]) -> list[Matrices]:
    r"""
    ## Orders side by side

    Those with the same shapes, stacked, so that all can be tried at once: one weight and one bias
    for each role, whose first axis is that of the orders. The axes of length one after it are for
    the sequences of a batch, and for the positions of a bias.
    """
    # Where heads may share keys, there are two kinds of orders.
    groups: dict[tuple[torch.Size, ...], list[Matrices]] = {}
    for order in possible:
        groups.setdefault(tuple(weight.shape for weight, _ in order), []).append(order)

    # The first order that is possible is in the first group.
    # (From here on, an order is an index into the first axis.)
    return [
        [
            (
                torch.stack([weight for weight, _ in role]).unsqueeze(1),
                torch.stack([bias for _, bias in role])[:, None, None],
            )
            # From a list for each order to one for each role.
            for role in zip(*group, strict=True)
        ]
        for group in groups.values()
    ]


def example(heads: int = 2, d_k: int = 5) -> tuple[int, int, Tensor, Tensor]:
    r"""
    ## Example

    Four matrices of one size have 49 orders, and those of shared keys have one or a few.

    ### Exercises

    ??? question "Why may a wrong order never pass?"
        The weights are random. Another order gives another output, unless two matrices are equal.

    ??? question "Why is it impossible to tell a query from a key by the scores alone?"
        It isn't: the causal mask has a direction. Without a mask, exchanged queries and keys give
        the same scores, transposed.
    """
    d_model = heads * d_k

    # A weight and a bias for each.
    square = [(torch.randn(d_model, d_model), torch.randn(d_model)) for _ in range(4)]
    shared = (torch.randn(2 * d_k, d_model), torch.randn(2 * d_k))

    # Queries, keys and values of shared heads: the second of two squares is the output.
    few = orders([square[0], shared, square[1]], heads, d_model)
    every = orders(square, heads, d_model)

    # All 49 have the same shapes, so they are one group. In all of them the query comes first.
    (stacked,) = stack_orders(every)
    query = stacked[0][0]
    return len(every), len(few), few[0][1][0], query
