r"""
---
title: Which Features Are a Pair
summary: Neighbours or two halves make two kinds of rotary positions; weights converted both ways.
paper:
  title: "RoFormer: Enhanced Transformer with Rotary Position Embedding"
  authors: Su et al.
  year: 2021
  link: https://arxiv.org/abs/2104.09864
---

[Rotary positions](../rotary.py) turn pairs of features. Which features are a pair is a matter of
taste, and there are two. With six features, letters for pairs:

* **neighbours**, or interleaved, as in the paper: `a a b b c c`. In memory each pair is a complex
  number.
* **halves**: `a b c a b c`. The turning works on two whole halves, and no feature has to be picked
  out from between others. Most models of today have these.

Where a model is trained from the start, the one is the other with the features in another order,
and the order of features means nothing before there is training. But weights that were trained
with neighbours and are used with halves give nonsense, and no error: all shapes are right. They
have to be converted, and this page does that.

A score is a sum over features. So it is the same in any order, if queries and keys have the same
one. The order is put into the *projections* that make them, once; values are never turned, and stay
as they are. The page leaves out nothing of the paper that the page before has.
"""

import torch
import torch.nn.functional as F
from torch import Tensor

from labml_nn.transformers.rotary import RotaryPositions, pair_speeds


def order_of_halves(d_k: int, width: int | None = None) -> Tensor:
    r"""
    ## The order

    For each feature of a head with halves, which one it is with neighbours, `[d_k]`: first the
    first ones of all pairs, then the second ones. If only the first `width` features are turned,
    the others stay where they are. An odd width is a `ValueError`.
    """
    width = d_k if width is None else width
    if width % 2 or not 0 < width <= d_k:
        raise ValueError(f"width must be even, and from 2 to d_k={d_k}, got {width}")
    features = torch.arange(d_k)
    return torch.cat([features[0:width:2], features[1:width:2], features[width:]])


def neighbours_to_halves(weight: Tensor, heads: int, width: int | None = None) -> Tensor:
    r"""
    ## From neighbours to halves

    `weight` is that of a linear layer that makes the queries or the keys of all heads, one head
    after the other, or its bias. Its rows are brought into another order, each head's on their own.
    """
    rows = weight.unflatten(0, (heads, -1))
    order = order_of_halves(rows.shape[1], width).to(weight.device)
    return rows[:, order].flatten(end_dim=1)


def halves_to_neighbours(weight: Tensor, heads: int, width: int | None = None) -> Tensor:
    r"""
    ## From halves to neighbours

    The way back.
    """
    rows = weight.unflatten(0, (heads, -1))

    # Sorting an order says where each number of it stands.
    order = order_of_halves(rows.shape[1], width).argsort().to(weight.device)
    return rows[:, order].flatten(end_dim=1)


def turn_neighbours(x: Tensor, speeds: Tensor) -> Tensor:
    r"""
    ## Neighbours are complex numbers

    `x` and the result are `[seq_len, batch_size, heads, d_k]`, and `speeds` is `[n_pairs]`. In
    memory, neighbours are a real and an imaginary part. So this is the formula of the paper as it
    stands there, and the shortest way to see that the longer one is right.
    """
    positions = torch.arange(len(x), dtype=torch.float64, device=x.device)
    turns = positions[:, None, None, None] * speeds

    # Complex numbers of length one, and the features as what they are in memory, if they lie side
    # by side there.
    factors = torch.polar(torch.ones_like(turns), turns)
    pairs = torch.view_as_complex(x.double().unflatten(-1, (-1, 2)).contiguous())
    return torch.view_as_real(pairs * factors).flatten(start_dim=-2).to(x.dtype)


def scores_both_ways(seq_len: int = 7, heads: int = 3, d_k: int = 10) -> tuple[Tensor, ...]:
    r"""
    ## Scores are equal

    Those of projections that were made for neighbours, of the same ones converted to halves, and,
    to see the mistake, of the same ones *not* converted: `[seq_len, seq_len, heads]` each. The
    first two are equal.
    """
    generator = torch.Generator().manual_seed(1)
    d_model = heads * d_k
    x = torch.randn(seq_len, d_model, generator=generator)
    query, key = torch.randn(2, d_model, d_model, generator=generator) / d_model

    def scores(query: Tensor, key: Tensor, interleaved: bool) -> Tensor:
        turn = RotaryPositions(d_k, seq_len, interleaved=interleaved)
        q, k = (turn(F.linear(x, w).view(seq_len, 1, heads, d_k)) for w in (query, key))
        return torch.einsum("ibhd,jbhd->ijh", q, k)

    converted = [neighbours_to_halves(weight, heads) for weight in (query, key)]
    return scores(query, key, True), scores(*converted, False), scores(query, key, False)


def example(
    seq_len: int = 7, batch_size: int = 3, heads: int = 5, n_pairs: int = 2
) -> tuple[Tensor, ...]:
    r"""
    ## Example

    There and back again, and the complex numbers.
    """
    d_k = 2 * n_pairs
    d_model = heads * d_k
    weight = torch.randn(d_model, d_model)
    halves = neighbours_to_halves(weight, heads)
    again = halves_to_neighbours(halves, heads)
    query = torch.randn(seq_len, batch_size, heads, d_k)
    turned = turn_neighbours(query, pair_speeds(d_k))
    return halves, again, turned, *scores_both_ways(seq_len, heads, d_k)
