r"""
---
title: Name the Mistake
summary: An attention with the usual mistakes as switches, to find out which ones made an output.
---

“Differs by 0.3” helps nobody. But published attentions share a few mistakes, so we can make each of
them on purpose, with the same weights. If the output is then the same, we know the mistake. And if
two at once give that output, we know both: a narrow self-attention that is often copied divides by
the root of the whole width *and* has no mask.

**In:** an input, the output of an attention, and its matrices. **Out:** the mistakes that it has,
in words, or none.

The steps of an attention, right and wrong, are on three pages of their own: [the
first](switches.py), [positions](position_switches.py) and [the last](weight_switches.py). This page
goes through them as through a tree. What is right is tried first, then single mistakes, then pairs:
the simplest explanation wins. Nobody says which of four matrices is the query's, so there are 49
orders. They are [stacked](orders.py#stack_orders) and tried side by side: one product of large
tensors instead of 49 of small ones.

[The printed loss of each exhibit, beside the right
one](../results/mistakes.json#figures.losses)
"""

from collections.abc import Iterator, Sequence

import torch
from torch import Tensor, nn

from wrongline.comparison import NEAR, find_weights, roughen
from wrongline.orders import Matrices, orders, stack_orders
from wrongline.position_switches import POSITIONS
from wrongline.switches import (
    PROJECTIONS,
    SHARES,
    State,
    Switch,
    split,
)
from wrongline.weight_switches import (
    MERGES,
    OTHER_WEIGHTS,
    SCALES,
    UNMASKED,
    WEIGHTS,
    scale,
)


def steps(heads: int, d_model: int, shared: bool, positions: Switch, rules: Switch) -> list[Switch]:
    r"""
    ## All steps, with what is possible in each
    """
    # Another number of heads, as in code that takes it from elsewhere.
    views: Switch = [("", split(heads, False)), ("heads are split by a view", split(heads, True))]

    # Any number that divides the width.
    for n in range(1, d_model + 1):
        if d_model % n == 0 and n != heads and not shared:
            views.append((f"there are {n} heads, not {heads}", split(n, False)))

    # Such code can still have the right scale.
    # The heads are then split in one way, and the scale is that of another.
    own = (f"the scale is that of {heads} heads", scale(lambda d_k, d: (heads / d) ** 0.5))

    # With a key for each head, there is nothing to share.
    shares = SHARES if shared else SHARES[:1]
    return [PROJECTIONS, views, shares, positions, [*SCALES, own], rules, MERGES]


def explore(
    state: State, ways: Sequence[Switch], most: int, names: Sequence[str] = ()
) -> Iterator[tuple[Sequence[str], State]]:
    r"""
    ## Go through the steps

    A tree: what two attentions have in common is computed once. At most `most` steps are wrong.
    """
    # All steps are done.
    if not ways:
        yield names, state
        return

    # Each way of doing the next step, the right ones first.
    for name, step in ways[0]:
        said = [*names, name] if name else names

        # A branch with too many mistakes is not followed.
        if len(said) > most:
            continue

        # A step can be impossible: not every number of heads divides what is there.
        # Then there is nothing to follow, and no reason to stop.
        try:
            after = step(state)
        except (RuntimeError, ValueError):
            continue
        # All that follows begins with what was computed so far.
        yield from explore(after, ways[1:], most, said)


def agrees(found: Tensor, expected: Tensor) -> bool:
    r"""
    ## Is one of them the same?

    `found` is `[batch_size, seq_len, d_model]`, and `expected` may have more axes in front. Where
    NaN is expected, anything may be.
    """
    # Those are the queries that see nothing at all. (From here on, all numbers of an output are in
    # one row.)
    expected = expected.flatten(-found.dim())
    known = expected.isfinite()

    # Something must be left to compare.
    enough = known.sum(-1) * 8 >= found.numel()

    # The largest difference of each, and its largest number. 1e-12 is for outputs of zeros.
    worst = (found.flatten() - expected).abs().masked_fill(~known, 0.0).amax(-1)
    largest = expected.masked_fill(~known, 0.0).abs().amax(-1) + 1e-12

    # A number that is NaN in yours, and isn't here, is a difference: NaN is not below anything.
    return bool((enough & (worst < NEAR * largest)).any())


def search(
    state: State,
    output: Tensor,
    possible: Sequence[Matrices],
    heads: int,
    limit: int,
    plain: bool,
) -> list[str] | None:
    r"""
    ## The simplest explanation

    With at most `limit` mistakes, in one of the `possible` orders of the matrices. `state` has the
    input, and what else is known at the beginning.
    """
    weights = UNMASKED if state["sees_all"] else WEIGHTS
    width = state["x"].shape[-1]
    # Plain attentions first. Then those that use positions or other weights, or both. There are
    # many of them, so they may have a single mistake.
    kinds = [(POSITIONS[:1], weights, limit)]
    if not plain:
        kinds += [(POSITIONS, weights, 1), (POSITIONS, OTHER_WEIGHTS, 1)]

    # The fewest mistakes first, each in all orders.
    for positions, rules, highest in kinds:
        for stacked in stack_orders(possible):
            # Smaller matrices for keys mean that heads share them.
            shared = stacked[1][0].shape[-2] < stacked[0][0].shape[-2]
            # All that can be done in each step, right or wrong.
            ways = steps(heads, width, shared, positions, rules)
            for most in range(highest + 1):
                # The first that gives the same numbers is the explanation.
                # Those with fewer mistakes were tried before.
                for names, after in explore(state | {"matrices": stacked}, ways, most):
                    if len(names) == most and agrees(output, after["result"]):
                        return list(names)

    # Something else is wrong.
    return None


def name_mistakes(
    x: Tensor,
    output: Tensor,
    matrices: Matrices,
    heads: int,
    sees_all: bool = False,
    context: Tensor | None = None,
) -> list[str] | None:
    r"""
    ## Name the mistakes

    Of an `output` for `x`. Nothing wrong is an empty list, and nothing that we know is None. An
    encoder's attention `sees_all`, and cross-attention has its keys and values from a `context`,
    where everything may be seen.
    """
    state: State = {"x": x, "sees_all": sees_all or context is not None}
    turned_state = state | {"x": x.transpose(0, 1)}
    if context is not None:
        state |= {"context": context}
        turned_state |= {"context": context.transpose(0, 1)}

    # What is right in any order is right, and that is soon found out.
    possible = orders(matrices, heads, x.shape[-1])
    if search(state, output, possible, heads, 0, True) is not None:
        return []

    # The likely orders first: as found, and with the key before the query. With three mistakes,
    # another explanation would often fit as well, so two are the limit.
    likely = [order for number, order in enumerate(possible) if number in (0, 6)]
    others = [order for number, order in enumerate(possible) if number not in (0, 6)]
    for some, plain in ((likely, False), (others, True)):
        # As it should be, with the batch first.
        names = search(state, output, some, heads, 2, plain)
        if names is not None:
            return names

        # A module that wants the sequence first, and gets the batch first, takes one for the other.
        # So the axes are exchanged on the way in and on the way out.
        turned = search(turned_state, output.transpose(0, 1), some, heads, 1, plain)
        if turned is not None:
            return ["the batch is taken for the sequence: it wants the sequence first", *turned]

    # By none that we know.
    return None


def example(
    batch_size: int = 3, seq_len: int = 7, heads: int = 2, d_k: int = 5
) -> dict[str, Tensor | list[str] | None]:
    r"""
    ## Example

    PyTorch's attention is right. Without a mask, the mistake is named.

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
        causal = theirs(x, x, x, attn_mask=hidden)[0]
        plain = theirs(x, x, x)[0]
    return {
        "output": causal,
        # An empty list.
        "right": name_mistakes(x, causal, matrices, heads),
        "wrong": name_mistakes(x, plain, matrices, heads),
    }
