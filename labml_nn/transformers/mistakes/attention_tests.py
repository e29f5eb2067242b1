r"""
---
title: Name a Mistake by Making It
summary: Each known mistake is made on purpose, until one gives the numbers that you get.
know: projections.py
---

An attention gives wrong numbers, and you don't know why. So give the formula the same weights, and
make known mistakes in it, one at a time and two at a time: divide by the width of the model, leave
out the mask, take the softmax along another axis. The one that gives *your* numbers is your
mistake. No loss tells it: with a wrong view the printed loss is
[1.199](../../../results/mistakes.json#tables.mistakes.ViewForSplit.printed), which looks like a
success.

```python
check_attention(MyAttention(24, 3), heads=3, d_model=24)
```

**In:** a causal self-attention. **Out:** nothing, or a sentence with the mistake's name. Nothing is
no proof: a mistake that isn't among the known ones, such as an output that is twice as large,
passes if no [property](../../../wrongline/properties.py) shows it. How your weights are found is on
a [page of its own](../../../wrongline/comparison.py), as are the [mistakes that are
tried](../../../wrongline/suspects.py) and [the call](../../../wrongline/attention_tests.py).
"""

import torch

from labml_nn.transformers.mistakes.projections import ScaledByModelWidth
from labml_nn.transformers.mistakes.right_attention import RightAttention
from wrongline import check_attention, find_mistakes

# What this page hands on, by the names that the museum has given it.
__all__ = ["check_attention", "find_mistakes"]


def example(heads: int = 2, d_k: int = 5) -> tuple[dict[str, str], dict[str, str]]:
    r"""
    ## Example

    The right attention, and one whose scores are divided by the root of the whole width.

    ### Exercises

    ??? question "With one head only, this mistake isn't found. Why?"
        The width of the head is then the width of the model: there is no mistake.

    ??? question "Two mistakes at once cancel in training. Are they found?"
        Yes: the outputs are compared before anything is trained. If they cancel in the output, as
        queries twice as large and keys half as large, there is nothing to find.

    ??? question "Your attention divides by the root of the model's width on purpose. What now?"
        The test says that it isn't the formula, which you know. It doesn't say that it trains
        worse. In the museum it does, a little:
        [2.194](../../../results/mistakes.json#tables.mistakes.ScaledByModelWidth.printed) and not
        [2.117](../../../results/mistakes.json#tables.mistakes.RightAttention.printed).
    """
    torch.manual_seed(1)
    right = RightAttention(heads, heads * d_k)
    wrong = ScaledByModelWidth.make()(heads, heads * d_k)

    # From the names of the tests that fail to sentences.
    return find_mistakes(right, heads, heads * d_k), find_mistakes(wrong, heads, heads * d_k)
