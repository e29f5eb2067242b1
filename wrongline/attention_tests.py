r"""
---
title: Test Your Attention
summary: One call that finds the usual mistakes in your own attention, and names them.
---

```python
check_attention(MyAttention(24, 3), heads=3, d_model=24)
```

**In:** a causal self-attention. **Out:** nothing, if nothing wrong is found; else an
`AssertionError` that names the mistake, or two at once. A mistake that isn't among the known ones
is a warning if no property shows it, since another result can be meant. With other weights than the
four matrices, only properties are tested: a wrong scale passes then. It passes the attention of
nanoGPT and of PyTorch. It is for you if your loss looks *too* good, or not good enough: with a
wrong view the printed loss is
[1.199](../results/mistakes.json#tables.mistakes.ViewForSplit.printed), and the model writes
gibberish.

[The printed loss of each exhibit, beside the right
one](../results/mistakes.json#figures.losses)

If your attention is called in another way, say how:

```python
call = lambda attention, x: attention(x, mask=causal_mask(x.shape[1]))
call = lambda attention, x: attention(x, x, x, attn_mask=hidden(x.shape[1]))[0]
call = lambda attention, x: attention(x.transpose(0, 1)).transpose(0, 1)
```

The second one is for PyTorch's own, where true hides: `hidden(n)` is
`torch.ones(n, n, dtype=torch.bool).triu(1)`. The last one is for an attention with the sequence
first. The [tests](properties.py) and the [comparison](suspects.py) have pages of their own, and so
have tests of a [whole model](model_tests.py).
"""

import warnings
from collections.abc import Callable, Collection
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from wrongline.cache_tests import CACHE_TESTS
from wrongline.comparison import Matrix, roughen
from wrongline.in_place import borrowed
from wrongline.orders import named_weights, orders
from wrongline.properties import (
    NO_NUMBERS,
    PROPERTIES,
    nothing_from_the_future,
    padding_hides,
    same_twice,
)
from wrongline.suspects import name_mistakes
from wrongline.undisturbed import undisturbed
from wrongline.verdicts import (
    Findings,
    NotTried,
    SaidError,
    Unusual,
    complain,
    place_in,
    run_all,
)
from wrongline.ways_to_call import output_in
from wrongline.whole import Whole

# Scores that are divided by the width: muP does so.
MEANT = "the scores are divided by the width, not by its root"


# Why nothing is said about later inputs.
MAY = "it may see everything: nobody has said that it mustn't"


def compared(x: Tensor, output: Tensor, matrices: list[Matrix], heads: int, **sees: Any) -> str:
    r"""
    ## Compare, and say it
    """
    # NaN is told alone.
    if not output.isfinite().any():
        return NotTried(NO_NUMBERS)
    # Names of what is wrong, found by making the same mistakes.
    names = name_mistakes(x, output, matrices, heads, **sees)

    # An empty list means that nothing is wrong, None that nothing we know gives this output.
    if names is None and not output.isfinite().all():
        return NotTried(NO_NUMBERS)
    if names is None:
        return Unusual(
            "another result than the formula's, and by none of the usual mistakes or pairs: turned "
            "features, normalised queries, a sink or another scale can be meant"
        )

    # Copied code often has two mistakes at once, and each hides the other. So both are named.
    said = ", and ".join(names)
    # What can be meant is no mistake by itself.
    if len(names) == 1 and said.startswith(MEANT):
        return Unusual(f"{said}, unless it is meant so, as in muP")
    return said


def called(run: Callable[[Tensor], Any], x: Tensor) -> str:
    r"""
    ## Can it be called?
    """
    # An error of yours is told with its line.
    x = x.detach().requires_grad_()
    try:
        result = run(x)
    except Exception as error:
        # There is a line at least: the call itself.
        _, number, line = place_in(error) or ("", 0, "")
        # It goes on as the model's error, with all that one needs to mend the call.
        raise SaidError(
            f"the call fails with {type(error).__name__}: {error} (line {number}: {line}); it gets "
            "`float32`; say by `call` how to call it"
        ) from error

    # Many modules give their weights, or a cache, beside the output.
    # They need to say which of it is the output.
    if isinstance(result, (tuple, list)):
        raise SaidError(
            f"the result is a {type(result).__name__} of {len(result)}, not an output; say which "
            "one is, for example call=lambda attention, x: attention(x)[0]"
        )

    # If the shape is wrong, no other test makes sense.
    shape = list(result.shape) if isinstance(result, Tensor) else type(result).__name__
    if shape != list(x.shape):
        raise SaidError(f"an input of {list(x.shape)} gives {shape}; say by `call` what to do")

    # It gives what an attention gives. But nothing learns without a gradient.
    said = "no gradient comes back from the output: is it detached, or made under `no_grad`?"
    return "" if result.requires_grad else said


def find_mistakes(
    attention: nn.Module,
    heads: int,
    d_model: int,
    call: Callable[[nn.Module, Tensor], Tensor] = lambda attention, x: output_in(attention(x), x),
    masked: Callable[[nn.Module, Tensor, Tensor], Tensor] | None = None,
    weights: Callable[[nn.Module, int], list[Matrix]] | None = named_weights,
    read: Callable[[nn.Module, list[Tensor]], Tensor] | None = None,
    shifted: Callable[[nn.Module, Tensor, int], Tensor] | None = None,
    skip: Collection[str] = (),
    only: Collection[str] = (),
    sees_all: bool = False,
    context: Tensor | None = None,
) -> Findings:
    r"""
    ## Find what is wrong

    From the names of the tests that fail to sentences; its `table` has [all
    verdicts](verdicts.py).

    * `attention` should have the dropout that you train with, and more heads than one
    * `call` gives the output for `x`, with axes for the batch, positions and features; without it,
      the output is what has the shape of `x`, if weights or a cache stand beside it
    * `masked` is told a mask as well, true where a position may look, with axes for
      the batch, queries and keys; without it, no padding is tried
    * `weights` gives four matrices with their biases, if [they can't be
      found](orders.py#named_weights); with None nothing is compared
    * `read` gives the output for parts of `x` that are read one after the other with a cache
    * `shifted` gives the output if all positions are larger by a number
    * `skip` and `only` are names of tests
    * `sees_all` is for an encoder: then no mask is missing
    * `context` is what `call` gives beside `x`, for keys and values of another text
    """
    # Everything of yours is put back at the end, and so is all of the caller's. The numbers that
    # are compared have 32 bits. Fresh biases may be zero, and a mistake in one would not show: all
    # become random.
    attention = getattr(attention, "_orig_mod", attention)
    with undisturbed(attention) as device, device, borrowed(attention):
        rough = roughen(attention).eval()
        # 5 sequences of 7 tokens: axes of different lengths can't change places unseen.
        x = torch.randn(5, 7, d_model)

        # The tests needn't know how yours is called.
        def run(x: Tensor) -> Tensor:
            return call(rough, x)

        # The comparison names the mistake. An attention with other weights has no formula here,
        # unless you say which of them are the four.
        def comparison() -> str:
            # All four, or none.
            matrices = weights(rough.eval(), d_model) if weights else []
            if not orders(matrices, heads, d_model) and (not weights or weights is named_weights):
                return NotTried("the formula has four matrices, and they weren't found")
            # Numbers are compared, so nothing is kept for a backward pass.
            with torch.no_grad():
                return compared(x, run(x), matrices, heads, sees_all=sees_all, context=context)

        # Each attention takes its mask in its own way, so only you can say how.
        def padding() -> str:
            if masked is None:
                return NotTried("nobody has said by `masked` how a mask is given")
            return padding_hides(lambda x, mask: masked(rough.eval(), x, mask), x)

        # A cache and positions are those of any other model, with vectors for tokens.
        whole = Whole(rough, x, x, predict=call, read=read, shifted=shifted)

        def without_gradient(test: Callable[[Whole], str]) -> str:
            with torch.no_grad():
                return test(whole)

        # The test before may have left it in training: each begins in evaluation.
        def in_evaluation(test: Callable[..., str]) -> str:
            return test(rough.eval(), run, x)

        def without_looking(test: Callable[..., str]) -> str:
            return NotTried(MAY) if sees_all else in_evaluation(test)

        # A leak is seen although calls differ, since its gradient is never zero. Everything else
        # would fail in its own words, so it comes after the test of that.
        first = (nothing_from_the_future, same_twice)
        others = [one for one in PROPERTIES if one not in first]
        tests = [("runs", lambda: called(run, x))]
        tests += [(first[0].__name__, partial(without_looking, first[0]))]
        tests += [(first[1].__name__, partial(in_evaluation, first[1]))]
        tests += [("comparison", comparison)]
        tests += [(one.__name__, partial(in_evaluation, one)) for one in others]
        tests += [("padding_hides", padding)]
        tests += [(one.__name__, partial(without_gradient, one)) for one in CACHE_TESTS]
        found = run_all(tests, ("runs", "same_twice"), skip, only)

    # The name of a mistake is what one wants to read first.
    names = ("comparison", "same_twice")
    return Findings(sorted(found.verdicts, key=lambda one: one.test not in names))


def check_attention(attention: nn.Module, heads: int, d_model: int, **options: Any) -> None:
    r"""
    ## Check your attention

    The arguments are those of [find_mistakes](attention_tests.py#find_mistakes). Another result
    than the formula's is a warning: it may be meant, or be a mistake that nobody knows.
    """
    found = find_mistakes(attention, heads, d_model, **options)
    complain(found)
    if said := found.unusual.get("comparison"):
        warnings.warn(f"unusual: {said}", stacklevel=2)


def example(heads: int = 2, d_k: int = 5) -> dict[str, str]:
    r"""
    ## Example

    The right attention passes. Then one that divides by too much.

    ### Exercises

    ??? question "Your attention passes with 4 heads of width 4. What may still be wrong?"
        Heads and features can be exchanged without a difference. Take 3 heads of width 8.

    ??? question "Which test finds dropout that is never turned off, and what does it need?"
        `same_twice`. The attention must have some dropout.

    ??? question "Both the comparison and the future fail. Where do you begin?"
        With the comparison: it names the mistake, and the leak is what it does.
    """
    # Two heads of width 5: the right root is $\sqrt{5}$, and the wrong one $\sqrt{10}$.
    d_model = heads * d_k
    hidden = torch.ones(7, 7, dtype=torch.bool).triu(1)

    def call(attention: nn.Module, x: Tensor, times: float = 1.0) -> Tensor:
        n = x.shape[1]
        # A query that is smaller has smaller scores.
        return attention(times * x, x, x, attn_mask=hidden[:n, :n], need_weights=False)[0]

    # No error: all tests pass.
    attention = nn.MultiheadAttention(d_model, heads, bias=False, batch_first=True)
    check_attention(attention, heads, d_model, call=call)

    # The comparison finds it, and names it. All properties hold: no other test fails.
    wrong = partial(call, times=heads**-0.5)
    return find_mistakes(attention, heads, d_model, call=wrong)
