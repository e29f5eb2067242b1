r"""
---
title: Mistakes in Scales, Masks and Merging
summary: The last three steps of an attention, and what people have written for each of them.
---

The [first steps](switches.py) have made queries, keys and values, which may be [turned by their
positions](position_switches.py). Now come the scale, the mask with its softmax, and the merging of
heads. These have the most mistakes.

**How the hidden scores were hidden doesn't matter.** People write minus infinity, $-10^9$,
$-10^{20}$, $-10^4$ or the smallest number that there is. A query that sees something gets the same
weights by all of them. Only a query that sees *nothing* doesn't: by one it gets NaN, by another the
mean of all values, by our own code nothing. Such queries are left out of the comparison. Here they
have weights that are NaN, which means: anything is possible.

[The printed loss of each exhibit, beside the right
one](../results/mistakes.json#figures.losses)
"""

import math
from collections.abc import Callable

import torch
from torch import Tensor

from wrongline.switches import State, Step, Switch, linear

Rule = Callable[[Tensor, Tensor], Tensor]


def scale(factor: Callable[[int, int], float]) -> Step:
    r"""
    ## Scores

    The factor is computed from a head's width $d_k$ and the whole width $d$.
    """

    def step(s: State) -> State:
        # One score for each pair of a query and a key.
        query, key, _ = s["heads"]
        # One number for all of them.
        times = factor(s["d_k"], s["x"].shape[-1])
        return s | {"scores": query @ key.transpose(-2, -1) * times}

    return step


SCALES: Switch = [
    # The root of a head's width, as in the paper.
    ("", scale(lambda d_k, d: d_k**-0.5)),
    ("the scores are divided by the root of the whole width", scale(lambda d_k, d: d**-0.5)),
    # No factor, or the wrong way round.
    ("the scores are not scaled", scale(lambda d_k, d: 1.0)),
    ("the scores are multiplied by the root", scale(lambda d_k, d: d_k**0.5)),
    # The kernel of PyTorch scales too, and both together give the width.
    (
        "the scores are divided by the width, not by its root: the scale is applied twice",
        scale(lambda d_k, d: 1 / d_k),
    ),
    # The same twice with the root of the whole width, or once each.
    ("the scores are divided by the whole width, not by a root", scale(lambda d_k, d: 1 / d)),
    (
        "the scale is applied twice, by the root of the whole width and by that of a head's",
        scale(lambda d_k, d: (d_k * d) ** -0.5),
    ),
]


def look(scores: Tensor, allowed: Tensor) -> Tensor:
    r"""
    ## Weights of what may be seen

    In a row where nothing may be seen they are NaN.
    """
    # Minus infinity minus minus infinity: the softmax of such a row has no value.
    return scores.masked_fill(~allowed, -math.inf).softmax(-1)


def by_distance(scores: Tensor, allowed: Tensor) -> Tensor:
    r"""
    ## Far keys get lower scores

    [ALiBi](../labml_nn/transformers/positions/alibi.py), with the slopes of its paper for powers of
    two.
    """
    # The last axes are heads, queries and keys.
    heads = scores.shape[-3]

    # A slope for each head, from steep to nearly flat.
    slopes = 2.0 ** (-8.0 * torch.arange(1, heads + 1) / heads)

    # How many keys a query sees up to this one: one more for each step towards the query. That is
    # the distance but for one number in a row, which no softmax notices.
    nearness = allowed.cumsum(-1)
    return look(scores + slopes.view(-1, 1, 1) * nearness, allowed)


def first_only(scores: Tensor, allowed: Tensor) -> Tensor:
    r"""
    ## The mask in the first sequence only
    """
    # The others see everything, so a test of the first sequence passes.
    first, others = scores.split([1, scores.shape[-4] - 1], dim=-4)
    return torch.cat([look(first, allowed), others.softmax(-1)], dim=-4)


def hide(scores: Tensor, allowed: Tensor) -> Tensor:
    r"""
    ## Hidden by a number, for a softmax along another axis
    """
    # Minus infinity could fill a whole row there.
    return scores.masked_fill(~allowed, -1e9)


# From scores and the causal mask to weights. What has no name is right.
RULES: list[tuple[str, Rule]] = [
    ("", look),
    # Mistakes in the mask.
    ("there is no causal mask", lambda s, m: s.softmax(-1)),
    ("the mask shows the next position too", lambda s, m: look(s, ~(~m).triu(2))),
    ("a position doesn't see itself", lambda s, m: look(s, m.tril(-1))),
    # Upside down without the diagonal, or with it.
    ("the mask is upside down", lambda s, m: look(s, ~m)),
    ("the mask is upside down", lambda s, m: look(s, m.t())),
    ("the mask is in the first sequence only", first_only),
    # The weights don't sum to one, or hidden keys get one.
    ("the mask comes after the softmax", lambda s, m: s.softmax(-1) * m),
    ("hidden scores are zero", lambda s, m: s.masked_fill(~m, 0).softmax(-1)),
    # Where true and false are taken for one and zero:
    # A kernel adds a mask that has numbers.
    ("a mask of ones is added to the scores", lambda s, m: (s + m).softmax(-1)),
    ("a mask of ones is added to the hidden scores", lambda s, m: (s + ~m).softmax(-1)),
    # Mistakes in the axis of the softmax. Where all that is summed over is hidden, a large number
    # and minus infinity differ, so both are here.
    ("the softmax is over the queries", lambda s, m: hide(s, m).softmax(-2)),
    ("the softmax is over the heads", lambda s, m: hide(s, m).softmax(-3)),
    ("the softmax is over the heads", lambda s, m: s.masked_fill(~m, -math.inf).softmax(-3)),
    ("the softmax is over the batch", lambda s, m: hide(s, m).softmax(-4)),
    ("the softmax is over the batch", lambda s, m: s.masked_fill(~m, -math.inf).softmax(-4)),
]


# Right as well: some keep to a window, cap their scores, or lower those of far keys.
OTHER_RULES: list[Rule] = [
    *[lambda s, m, width=width: look(s, m & ~m.tril(-width)) for width in range(1, 7)],
    *[lambda s, m, cap=cap: look(cap * (s / cap).tanh(), m) for cap in (30.0, 50.0)],
    by_distance,
]


def all_others(scores: Tensor, allowed: Tensor) -> Tensor:
    r"""
    ## All of these, side by side

    On a new first axis.
    """
    return torch.stack([rule(scores, allowed) for rule in OTHER_RULES])


def weigh(rule: Rule) -> Step:
    r"""
    ## Weights, by a rule
    """

    def step(s: State) -> State:
        # True from the diagonal down, or everywhere for an encoder.
        mask = torch.ones(s["scores"].shape[-2:], dtype=torch.bool)
        mask = mask if s.get("sees_all") else mask.tril()
        return s | {"weights": rule(s["scores"], mask)}

    return step


# As steps, by the same names: first what is wrong (the first of them is right, and has no name).
# Then what is right in another way.
WEIGHTS: Switch = [(name, weigh(rule)) for name, rule in RULES]
OTHER_WEIGHTS: Switch = [("", weigh(all_others))]

# Where everything may be seen, the mistakes of masks are none.
AXES = "the softmax is over"
UNMASKED: Switch = [one for one in WEIGHTS if not one[0] or one[0].startswith(AXES)]


def merge(by_view: bool) -> Step:
    r"""
    ## Heads side by side, and the last projection
    """

    def step(s: State) -> State:
        # A mean of the values for each query.
        # Positions first, then the heads; or a view of what is there.
        z = s["weights"] @ s["heads"][2]
        if by_view:
            z = z.reshape(*z.shape[:-3], z.shape[-2], -1)
        else:
            z = z.transpose(-3, -2).flatten(-2)

        # Some forget the last projection.
        return s | {"result": linear(z, *s["output"]) if s["output"] else z}

    return step


MERGES: Switch = [("", merge(by_view=False)), ("heads are merged by a view", merge(by_view=True))]


def example(
    batch_size: int = 3, heads: int = 2, seq_len: int = 7
) -> tuple[dict[str, Tensor], Tensor]:
    r"""
    ## Example

    How much weight each rule gives to what comes later: for the first query, all but itself.

    ### Exercises

    ??? question "Two models hide by -inf and by -1e9. When do they differ?"
        Only in a row where all is hidden: one gives NaN there, the other the mean of all values.

    ??? question "`softmax(q / math.sqrt(d_k) @ k.mT * scale)`. What is the scale now?"
        If `scale` is the root's inverse as well, scores are divided by $d_k$: applied twice.
    """
    # Scores as they come out of random queries and keys.
    scores = torch.randn(batch_size, heads, seq_len, seq_len)
    mask = torch.ones(seq_len, seq_len, dtype=torch.bool).tril()

    # The first query may see the first key alone.
    later = {name: rule(scores, mask)[:, :, 0, 1:].sum(-1) for name, rule in RULES}
    return later, by_distance(scores, mask)
