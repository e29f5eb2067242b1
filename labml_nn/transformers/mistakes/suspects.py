r"""
---
title: Name the Mistake
summary: An attention with the usual mistakes as switches, to find out which ones made an output.
---

“Differs by 0.3” helps nobody. But published attentions share a few mistakes, so we can make each of
them on purpose, with the same weights. If the output is then the same, we know the mistake. And if
two at once give that output, we know both: a narrow self-attention that is often copied divides by
the root of the whole width *and* has no mask.

**In:** an input, the output of an attention, and its four matrices. **Out:** the mistakes that it
has, in words, or none.

[The printed loss of each exhibit, beside the right
one](../../../results/mistakes.json#figures.losses)
"""

from collections.abc import Callable, Iterator, Sequence
from itertools import permutations, product

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from labml_nn.transformers.mistakes.comparison import NEAR, Matrix, find_weights, off, roughen


def look(scores: Tensor, allowed: Tensor) -> Tensor:
    r"""
    ## Weights of what may be seen
    """
    # A query that sees nothing takes nothing.
    return scores.masked_fill(~allowed, -1e9).softmax(-1) * allowed


# From scores and the causal mask to weights: the right way, then those that were published.
WEIGHTS: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "": look,
    # Mistakes in the mask.
    "there is no causal mask": lambda s, m: s.softmax(-1),
    "the mask shows the next position too": lambda s, m: look(s, ~(~m).triu(2)),
    "a position doesn't see itself": lambda s, m: look(s, m.tril(-1)),
    "the mask is upside down": lambda s, m: look(s, ~m),
    "the mask comes after the softmax": lambda s, m: s.softmax(-1) * m,
    "hidden scores are zero": lambda s, m: s.masked_fill(~m, 0).softmax(-1),
    # Mistakes in the axis of the softmax.
    "the softmax is over the queries": lambda s, m: s.masked_fill(~m, -1e9).softmax(-2),
    "the softmax is over the heads": lambda s, m: s.masked_fill(~m, -1e9).softmax(1),
}

# A head's width $d_k$ and the whole $d$ give the factor of the scores.
SCALES: dict[str, Callable[[int, int], float]] = {
    # The root of a head's width, as in the paper.
    "": lambda d_k, d: d_k**-0.5,
    "the scores are divided by the root of the whole width": lambda d_k, d: d**-0.5,
    # No factor, or the wrong way round.
    "the scores are not scaled": lambda d_k, d: 1.0,
    "the scores are multiplied by the root": lambda d_k, d: d_k**0.5,
    "the scores are divided by the width, not by its root": lambda d_k, d: 1 / d_k,
}

# Heads get an axis of their own, and lose it again: by the order of axes, or by a view alone.
SPLIT: dict[str, Callable[[Tensor, int], Tensor]] = {
    # The features become heads and features, and the heads go before the positions.
    "": lambda z, heads: z.unflatten(-1, (heads, -1)).transpose(1, 2),
    # The same shape, cut from memory without moving an axis.
    "heads are split by a view": lambda z, heads: z.reshape(len(z), heads, z.shape[1], -1),
}
MERGE: dict[str, Callable[[Tensor], Tensor]] = {
    # Back again: positions first, then the heads side by side.
    "": lambda z: z.transpose(1, 2).flatten(2),
    "heads are merged by a view": lambda z: z.reshape(len(z), z.shape[2], -1),
}

# Which of the four matrices serves as query, key, value and output.
ROLES = {"": (0, 1, 2, 3), "one projection is used for query, key and value": (0, 0, 0, 3)}


def attend(x: Tensor, matrices: Sequence[Matrix], heads: int, *switches: Callable) -> Tensor:
    r"""
    ## An attention with switches

    `matrices` are those of query, key, value and output.
    """
    weigh, scale, split, merge = switches

    # Each switch is one line of an attention: split, scale, weigh, merge.
    query, key, value = (split(F.linear(x, *matrix), heads) for matrix in matrices[:3])
    scores = query @ key.transpose(-2, -1) * scale(x.shape[-1] // heads, x.shape[-1])

    # True from the diagonal down.
    seq_len = x.shape[1]
    weights = weigh(scores, x.new_ones(seq_len, seq_len, dtype=torch.bool).tril())
    return F.linear(merge(weights @ value), *matrices[3])


def combinations(heads: int, d_model: int) -> Iterator[tuple[list[str], tuple, tuple]]:
    r"""
    ## At most two mistakes

    What is right first, then single mistakes, then pairs.
    """
    # Any number of heads that divides the width.
    others = [n for n in range(1, d_model + 1) if d_model % n == 0 and n != heads]
    counts = {"": heads} | {f"there are {n} heads, not {heads}": n for n in others}

    # Code that takes the number of heads from elsewhere can still have the right scale.
    scales = SCALES | {f"the scale is that of {heads} heads": lambda d_k, d: (heads / d) ** 0.5}
    switches = (ROLES, counts, WEIGHTS, scales, SPLIT, MERGE)

    # Every choice of every switch, if no more than two are wrong.
    found = []
    for picks in product(*(switch.items() for switch in switches)):
        # A switch in its right position has no name.
        names = [name for name, _ in picks if name]
        if len(names) <= 2:
            roles, *rest = (value for _, value in picks)
            found.append((names, roles, tuple(rest)))

    # Fewest mistakes first.
    yield from sorted(found, key=lambda one: len(one[0]))


def name_mistakes(
    x: Tensor, output: Tensor, matrices: Sequence[Matrix], heads: int
) -> list[str] | None:
    r"""
    ## Name the mistakes

    Of an `output` for `x`. Nothing wrong is an empty list,
    and nothing that we know is None.
    """
    # Nobody says which matrix is which. They may also be the other way round, as in `x @ w`. So
    # there are 24 orders, and 24 of the transposes; most often the first is right.
    turned = [(weight.t(), bias) for weight, bias in matrices]
    known = list(combinations(heads, x.shape[-1]))
    for order in [*permutations(matrices), *permutations(turned)]:
        # The first that gives the same numbers is the explanation.
        for names, roles, switches in known:
            found = attend(x, [order[role] for role in roles], *switches)
            if off(output, found) < NEAR:
                return names

    # Something else is wrong.
    return None


def example(
    batch_size: int = 3, seq_len: int = 7, heads: int = 2, d_k: int = 5
) -> dict[str, Tensor | list[str] | None]:
    r"""
    ## Example

    PyTorch's attention is right. Without a mask, and with another number of heads, its two mistakes
    are named.

    ### Exercises

    ??? question "Why are single mistakes tried before pairs?"
        Two mistakes can cancel: a missing scale, for instance, can look like the scale of another
        number of heads. The simplest explanation should win.

    ??? question "With one head, which two switches make no difference?"
        Splitting and merging: with a single head there is nothing to mix up. Test with more.

    ??? question "Which mistakes can't be named here?"
        Those that are wrong in training only, or for other masks, or don't run. There are [other
        tests](properties.py).
    """
    d_model = heads * d_k

    # Code that nobody here wrote.
    theirs = roughen(nn.MultiheadAttention(d_model, heads, batch_first=True))
    matrices = find_weights(theirs, d_model)

    # One input for all calls.
    x = torch.randn(batch_size, seq_len, d_model)

    # True hides here, so the causal mask is the triangle above the diagonal.
    hidden = torch.ones(seq_len, seq_len, dtype=torch.bool).triu(1)

    # With the mask, then without it.
    with torch.no_grad():
        causal, plain = theirs(x, x, x, attn_mask=hidden)[0], theirs(x, x, x)[0]
    return {
        "output": causal,
        # An empty list.
        "right": name_mistakes(x, causal, matrices, heads),
        "two mistakes": name_mistakes(x, plain, matrices, 1),
    }
