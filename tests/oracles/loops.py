r"""Attention without a single operation that sees more than one score."""

import math
from collections.abc import Callable, Mapping
from itertools import product

import torch
from torch import Tensor, nn

# What a score is made of: a query, a key, the places of both, and the head.
Score = Callable[[Tensor, Tensor, int, int, int], Tensor]


def dot(q: Tensor, k: Tensor, i: int, j: int, h: int) -> Tensor:
    r"""The score of plain attention."""
    return q @ k / math.sqrt(len(q))


def by_loops(
    module: nn.Module, given: Mapping[str, Tensor], mask: Tensor | None, score: Score = dot
) -> Tensor:
    r"""One position, sequence and head after the other; the last query stands at the last key."""
    query, key, value = (
        getattr(module, name).linear(x).unflatten(-1, (module.query.heads, -1))
        for name, x in given.items()
    )
    (n_queries, batch_size, heads, _), n_keys = query.shape, len(key)
    visible = torch.ones(n_queries, n_keys, batch_size, dtype=torch.bool)
    visible = (visible if mask is None else visible & mask).tolist()
    rows = []
    for i, b, h in product(range(n_queries), range(batch_size), range(heads)):
        total, summed = torch.zeros(()), torch.zeros_like(value[0, b, h])
        for j in range(n_keys):
            if visible[i][j][b]:
                one = score(query[i, b, h], key[j, b, h], i + n_keys - n_queries, j, h).exp()
                total, summed = total + one, summed + one * value[j, b, h]
        rows.append(summed / total if total > 0 else summed)
    return module.output(torch.stack(rows).view(n_queries, batch_size, -1))
