r"""
---
title: Test Your Attention
summary: One call that finds the mistakes of this museum in your own attention, and names them.
---

```python
check_attention(MyAttention(24, 3), heads=3, d_model=24)
```

**In:** a causal self-attention. **Out:** nothing, if all is right; else an `AssertionError` that
names the mistake, or two at once. With other weights than the four matrices, only properties are
tested: a wrong scale passes then. It passes the attention of nanoGPT and of PyTorch. It is for you
if your loss looks *too* good, or not good enough: with a wrong view the printed loss is
[1.199](../../../results/mistakes.json#tables.mistakes.ViewForSplit.printed), and the model writes
gibberish.

[The printed loss of each exhibit, beside the right
one](../../../results/mistakes.json#figures.losses)

It needs PyTorch and nothing else; the button above `check_attention` copies all that belongs to it.
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

import os
import traceback
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from labml_nn.transformers.mistakes.cache_tests import CACHE_TESTS
from labml_nn.transformers.mistakes.comparison import Matrix, roughen
from labml_nn.transformers.mistakes.one_line import Mistake
from labml_nn.transformers.mistakes.orders import named_weights, orders
from labml_nn.transformers.mistakes.projections import ScaledByModelWidth
from labml_nn.transformers.mistakes.properties import (
    PROPERTIES,
    nothing_from_the_future,
    padding_hides,
    same_twice,
)
from labml_nn.transformers.mistakes.suspects import name_mistakes
from labml_nn.transformers.mistakes.undisturbed import copied, undisturbed
from labml_nn.transformers.mistakes.whole import Whole, run_tests


def compared(x: Tensor, output: Tensor, matrices: list[Matrix], heads: int) -> str:
    r"""
    ## Compare, and say it
    """
    # Names of what is wrong, found by making the same mistakes.
    names = name_mistakes(x, output, matrices, heads)

    # An empty list means that nothing is wrong, None that nothing we know gives this output.
    if names is None:
        return (
            "another result than the formula's, and by none of the usual mistakes or pairs. If "
            "yours is meant to be of another kind, that is no mistake"
        )

    # Copied code often has two mistakes at once, and each hides the other. So both are named.
    return ", and ".join(names)


def is_inside(line: traceback.FrameSummary) -> bool:
    r"""
    ## Is a line one of PyTorch's?
    """
    # Or one that PyTorch calls for [every function](undisturbed.py#No16Bits).
    return f"{os.sep}torch{os.sep}" in line.filename or line.name == "__torch_function__"


def runs(run: Callable[[Tensor], Any], x: Tensor) -> str:
    r"""
    ## Can it be called?
    """
    # An error of yours is told with its line.
    x = x.detach().requires_grad_()
    try:
        result = run(x)
    except Exception as error:
        # The innermost line that isn't PyTorch's is most often yours.
        lines = [one for one in traceback.extract_tb(error.__traceback__) if not is_inside(one)]
        # There is one at least: the call itself.
        place = lines[-1]
        return (
            f"the call fails with {type(error).__name__}: {error} (line {place.lineno}: "
            f"{place.line}); it gets `float32`; say by `call` how to call it"
        )

    # Many modules give their weights, or a cache, beside the output.
    # They need to say which of it is the output.
    if isinstance(result, (tuple, list)):
        return (
            f"the result is a {type(result).__name__} of {len(result)}, not an output; say which "
            "one is, for example call=lambda attention, x: attention(x)[0]"
        )

    # If the shape is wrong, no other test makes sense.
    shape = list(result.shape) if isinstance(result, Tensor) else type(result).__name__
    if shape != list(x.shape):
        return f"an input of {list(x.shape)} gives {shape}; say by `call` what to do"

    # It gives what an attention gives. But nothing learns without a gradient.
    said = "no gradient comes back from the output: is it detached, or made under `no_grad`?"
    return "" if result.requires_grad else said


def find_mistakes(
    attention: nn.Module,
    heads: int,
    d_model: int,
    call: Callable[[nn.Module, Tensor], Tensor] = lambda attention, x: attention(x),
    masked: Callable[[nn.Module, Tensor, Tensor], Tensor] | None = None,
    weights: Callable[[nn.Module, int], list[Matrix]] | None = named_weights,
    read: Callable[[nn.Module, list[Tensor]], Tensor] | None = None,
    shifted: Callable[[nn.Module, Tensor, int], Tensor] | None = None,
) -> dict[str, str]:
    r"""
    ## Find what is wrong

    From the names of the tests that fail to sentences.

    * `attention` should have the dropout that you train with, and more heads than one
    * `call` gives the output for `x`, with axes for the batch, positions and features
    * `masked` is told a mask as well, true where a position may look, with axes for
      the batch, queries and keys; without it, no padding is tried
    * `weights` gives four matrices with their biases, if [they can't be
      found](orders.py#named_weights); with None nothing is compared
    * `read` gives the output for parts of `x` that are read one after the other with a cache
    * `shifted` gives the output if all positions are larger by a number
    """
    # Yours stays as it is, and so does everything else of the caller. The numbers that are compared
    # have 32 bits. Fresh biases may be zero, and a mistake in one would not show: all become
    # random.
    rough = roughen(copied(attention)).eval()
    with undisturbed(rough) as device, device:
        # 5 sequences of 7 tokens: axes of different lengths can't change places unseen.
        x = torch.randn(5, 7, d_model)

        # The tests needn't know how yours is called.
        def run(x: Tensor) -> Tensor:
            return call(rough, x)

        # What can't be called can't be tested.
        # (That includes a call that fails.)
        said = runs(run, x)
        if said:
            return {"runs": said}

        # What differs from call to call can't be compared with anything: each test would fail in
        # its own words. A leak is seen all the same, since its gradient is never zero.
        tests = PROPERTIES
        if same_twice(rough, run, x):
            # Nothing else is asked, whatever was said of masks and caches.
            tests = (same_twice, nothing_from_the_future)
            weights = masked = read = shifted = None

        # Then the comparison: it names the mistake. An attention with other weights has no
        # formula here, unless you say which of them are the four.
        found = {}

        # All four, or none.
        matrices = weights(rough, d_model) if weights else []
        if orders(matrices, heads, d_model) or (weights and weights is not named_weights):
            # Numbers are compared, so nothing is kept for a backward pass.
            with torch.no_grad():
                found["comparison"] = compared(x, run(x), matrices, heads)

        # The test before may have left it in training: each begins in evaluation.
        for test in tests:
            found[test.__name__] = test(rough.eval(), run, x)

        # Each attention takes its mask in its own way, so only you can say how.
        if masked:
            padded = padding_hides(lambda x, mask: masked(rough, x, mask), x)
            found["padding_hides"] = padded

        # A cache and positions are those of any other model, with vectors for tokens.
        if read or shifted:
            whole = Whole(copied(attention), x, x, predict=call, read=read, shifted=shifted)
            # Without a cache, or without such positions, one of the two has nothing to say.
            with torch.no_grad():
                found |= run_tests(CACHE_TESTS, whole)

    # An empty sentence is a test that has passed.
    return {name: sentence for name, sentence in found.items() if sentence}


def check_attention(attention: nn.Module, heads: int, d_model: int, **options: Any) -> None:
    r"""
    ## Check your attention

    The arguments are those of [find_mistakes](attention_tests.py#find_mistakes).
    """
    found = find_mistakes(attention, heads, d_model, **options)
    if found:
        # An assertion is a test for any framework as it stands.
        lines = [f"* {name}: {sentence}" for name, sentence in found.items()]
        raise AssertionError("\n".join([f"{len(found)} of the tests fail:", *lines]))


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

    # `Mistake` itself has no wrong line, so this is the right attention.
    right = Mistake.make()(heads, d_model)

    # No error: all tests pass. This attention takes a mask, so padding is tried as well.
    check_attention(right, heads, d_model, masked=lambda attention, x, mask: attention(x, mask))

    # The comparison finds it, and names it. All properties hold: no other test fails.
    return find_mistakes(ScaledByModelWidth.make()(heads, d_model), heads, d_model)
