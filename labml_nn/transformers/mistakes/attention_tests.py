r"""
---
title: Test Your Attention
summary: One call that finds all the mistakes of this museum in an attention of your own.
---

```python
check_attention(lambda d_model, heads: MyAttention(d_model, heads, dropout=0.1))
```

It needs PyTorch and nothing else; the button above `check_attention` copies all that belongs to it.
The tests ask for a causal self-attention with the batch first, and know nothing of how it is
written. If yours is called in another way, a function says how:

```python
call = lambda attention, x: attention(x, mask=causal_mask(x.shape[1]))
call = lambda attention, x: attention(x, x, x, is_causal=True)[0]
call = lambda attention, x: attention(x.transpose(0, 1)).transpose(0, 1)
```

The last one is for an attention with the sequence first. With a `whole` model, its batches and its
training step, [more tests](model_tests.py) join in. What the tests are, one by one, is on
[a page of their own](single_tests.py), and which of them finds what is on [another](verdicts.py).
"""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from labml_nn.transformers.mistakes.comparison import Find, find_weights, roughen
from labml_nn.transformers.mistakes.model_tests import Whole, find_in_whole
from labml_nn.transformers.mistakes.projections import ScaledByModelWidth
from labml_nn.transformers.mistakes.right_attention import RightAttention
from labml_nn.transformers.mistakes.single_tests import ATTENTION_TESTS, Call, Subject

Make = Callable[[int, int], nn.Module]

# Widths and heads to try, the last ones to be refused. A mistake may be right at *one* size.
TRIED = ((24, 3), (20, 2))
UNFIT = (10, 3)


def by_itself(attention: nn.Module, x: Tensor) -> Tensor:
    r"""
    ## The usual way to call it
    """
    return attention(x)


def sizes(make: Make, call: Call) -> str:
    r"""
    ## Does it run, at more than one size?

    And does it refuse a width that the heads don't divide, when it is made and not when it is
    called?
    """
    for d_model, heads in TRIED:
        x = torch.randn(3, 7, d_model)
        try:
            output = call(make(d_model, heads), x)
        except Exception as error:
            return f"with d_model={d_model}, heads={heads} came {type(error).__name__}: {error}"
        if not isinstance(output, Tensor) or output.shape != x.shape:
            got = list(output.shape) if isinstance(output, Tensor) else type(output).__name__
            return (
                f"from an input of {list(x.shape)} came {got}, expected a tensor of the same "
                "shape; say by `call` how to get it"
            )
    try:
        make(*UNFIT)
    except Exception:
        return ""
    return (
        f"an attention of {UNFIT[0]} features and {UNFIT[1]} heads could be made: one is no "
        "multiple of the other, and `//` rounds down in silence. Raise a ValueError"
    )


def find_mistakes(
    make: Make,
    call: Call = by_itself,
    *,
    masked: Callable[[nn.Module, Tensor, Tensor], Tensor] | None = None,
    decode: Call | None = None,
    weights: Find | None = find_weights,
    whole: Whole | None = None,
) -> dict[str, str]:
    r"""
    ## Find what is wrong

    From the names of the tests that fail to sentences.

    * `make` makes an attention of a width and a number of heads, for contexts up to 16. Give it
      the dropout that you train with, or dropout that is never turned off can't be seen.
    * `call` is told the attention and an input, and gives the output
    * `masked` is told a mask as well, true where a position may look, with axes for the batch, the
      queries and the keys; without it, no padding is tried
    * `decode` gives the output too, but computed a few positions at a time, with your cache
    * `weights` is told the attention and its width, and gives four matrices with their biases, if
      [they can't be found](comparison.py#find_weights); it is None for an attention that isn't the
      plain one, and then the scale is not tested
    * `whole` is a [model with its training](model_tests.py#Whole)
    """
    found: dict[str, str] = {}
    with torch.random.fork_rng():
        torch.manual_seed(1)
        wrong = sizes(make, call)
        if wrong:
            found["sizes"] = wrong

        # What doesn't even run is not asked any more.
        runs = not wrong or "could be made" in wrong
        for d_model, heads in TRIED if runs else ():
            x = torch.randn(5, 7, d_model)
            for test in ATTENTION_TESTS:
                attention = roughen(make(d_model, heads)).eval()
                subject = Subject(attention, x, heads, call, masked, decode, weights)
                try:
                    sentence = test(subject)
                except Exception as error:
                    sentence = f"{type(error).__name__}: {error}"
                if sentence:
                    found.setdefault(test.__name__, sentence)
                if "evaluation" in found:
                    break
        return found | (find_in_whole(whole) if whole else {})


def check_attention(make: Make, call: Call = by_itself, **options: Any) -> None:
    r"""
    ## Check your attention

    The arguments are those of [find_mistakes](attention_tests.py#find_mistakes). If any test
    fails, an `AssertionError` says which, what was seen, and what it usually comes from; so this
    is a test for any framework as it stands.
    """
    found = find_mistakes(make, call, **options)
    if found:
        lines = [f"{len(found)} of the tests fail:"]
        raise AssertionError("\n".join(lines + [f"* {name}: {one}" for name, one in found.items()]))


def example(heads: int = 2, d_k: int = 5) -> dict[str, str]:
    r"""
    ## Example

    The right attention passes. Then the fault is with an attention that divides by too much.
    """
    check_attention(RightAttention, masked=RightAttention.forward)
    assert ScaledByModelWidth(heads * d_k, heads).d_k == d_k
    return find_mistakes(ScaledByModelWidth)
