r"""
---
title: Test a Function
summary: A bare `attention(q, k, v, mask)` gets four matrices around it, and is tested as a module.
know: ways_to_call.py
---

Many people write the formula as a function: `attention(q, k, v, mask=None)`. It has no weights, so
a [comparison](comparison.py) had nothing to compare with, and no test could ask for gradients of
matrices. So it is put into a module: queries, keys and values are projected before it, and the
result after it. What is wrong in the function is then wrong in the module.

**In:** a function that somebody else has written. **Out:** a module with four matrices, which calls
it, in one of the layouts that such functions have.
"""

import inspect
import re
from collections.abc import Callable, Iterator, Mapping
from types import FunctionType
from typing import Any

from torch import Tensor, nn

from wrongline.guesses import guess_arguments
from wrongline.sizes import SIZES, meaning
from wrongline.verdicts import SaidError

# What published code calls queries, keys and values, and their matrices.
ROLES = (
    r"(?i)^(q|xq|query|queries|q_\w|query_states|query_layer)$",
    r"(?i)^(k|xk|key|keys|k_\w|key_states|key_layer)$",
    r"(?i)^(v|xv|value|values|v_\w|value_states|value_layer)$",
)
MATRICES = (
    r"(?i)^(w_?q\w*|q_?w|w_?query|query_w\w*)$",
    r"(?i)^(w_?k\w*|k_?w|w_?key|key_w\w*)$",
    r"(?i)^(w_?v\w*|v_?w|w_?value|value_w\w*)$",
    r"(?i)^(w_?o\w*|o_?w|w_?out\w*|w_?proj)$",
)

# Where a function has the heads: before the positions, nowhere (they are as many sequences), or
# between the positions and the features.
HEADS = ("heads before positions", "no heads", "heads after positions")


def roles_of(function: Callable[..., Any], patterns: tuple[str, ...]) -> list[str]:
    r"""
    ## Which arguments are queries, keys and values

    Empty, if one of the first three isn't there.
    """
    names = [*inspect.signature(function).parameters]
    found = [next((one for one in names if re.search(role, one)), "") for role in patterns]
    return [one for one in found if one] if all(found[:3]) else []


def attentions_in(names: Mapping[str, Any]) -> list[str]:
    r"""
    ## The functions of a text that are attentions

    The last one first.
    """
    found = [
        name
        for name, one in names.items()
        if isinstance(one, FunctionType)
        and one.__module__ == "pasted"
        # With inputs, or with matrices.
        and (roles_of(one, ROLES) or roles_of(one, MATRICES))
    ]
    # What needs more than that comes last.
    return sorted(found[::-1], key=lambda name: len(left_over(names[name])))


def left_over(function: Callable[..., Any]) -> list[str]:
    r"""
    ## What else must be given
    """
    _, unknown = guess_arguments(function, "")
    used = {*roles_of(function, ROLES), *roles_of(function, MATRICES)}
    return [one for one in unknown if one not in used and "mask" not in one.lower()]


class OfFunction(nn.Module):
    r"""
    ## The function between four matrices
    """

    has_biases = True

    def __init__(self, function: Callable[..., Any], heads: str, others: dict[str, Any]) -> None:
        r"""
        * `function` is what is tested
        * `heads` says where it has them
        * `others` are more arguments of it
        """
        super().__init__()
        d_model = SIZES["d_model"]
        self.function, self.heads, self.others = function, heads, others
        # A module without weights, such as one with dropout alone, trains with it.
        self.inner = getattr(function, "__self__", None)
        self.query, self.key, self.value = (
            nn.Linear(d_model, d_model, bias=self.has_biases) for _ in range(3)
        )
        # One that is given its matrices may have none for the output.
        if self.has_biases or len(roles_of(function, MATRICES)) > 3:
            self.output = nn.Linear(d_model, d_model, bias=self.has_biases)

    def cut(self, x: Tensor) -> Tensor:
        r"""
        ### Heads, as the function has them
        """
        if self.heads == "no heads":
            return x
        x = x.unflatten(-1, (SIZES["heads"], -1))
        return x.transpose(1, 2) if self.heads == HEADS[0] else x

    def merged(self, y: Tensor) -> Tensor:
        r"""
        ### And side by side again
        """
        if self.heads == "no heads":
            return y
        return (y.transpose(1, 2) if self.heads == HEADS[0] else y).flatten(2)

    def called(self, x: Tensor, **given: Any) -> Tensor:
        r"""
        ### Call it
        """
        # It may give its weights, too.
        roles = roles_of(self.function, ROLES)
        # Queries, keys and values, whatever their order is.
        parts = [self.cut(one(x)) for one in (self.query, self.key, self.value)]
        result = self.function(**dict(zip(roles, parts, strict=True)), **self.others, **given)
        results = result if isinstance(result, tuple | list) else [result]
        fits = [one for one in results if isinstance(one, Tensor) and one.shape == parts[0].shape]
        if not fits:
            shapes = [list(one.shape) if isinstance(one, Tensor) else one for one in results]
            raise SaidError(f"queries of {list(parts[0].shape)} give {shapes}")
        return self.output(self.merged(fits[0]))

    def forward(self, x: Tensor) -> Tensor:
        r"""
        Self-attention of `x`.
        """
        return self.called(x)


class OfMatrices(OfFunction):
    r"""
    ## A function that is given its matrices

    As “self_attention(x, w_q, w_k, w_v)”.
    """

    has_biases = False

    def called(self, x: Tensor, **given: Any) -> Tensor:
        r"""
        ### Call it
        """
        # Written as `x @ w`, so a matrix has a row for each feature that goes in.
        roles = roles_of(self.function, MATRICES)
        layers = (self.query, self.key, self.value, getattr(self, "output", None))
        matrices = {role: one.weight.t() for role, one in zip(roles, layers, strict=False) if one}
        first = next(one for one in inspect.signature(self.function).parameters)
        result = self.function(**{first: x}, **matrices, **self.others, **given)
        return result[0] if isinstance(result, tuple | list) else result


def modules_of(function: Callable[..., Any], text: str) -> Iterator[nn.Module]:
    r"""
    ## The function as a module, in all layouts

    With its mask, if it has one.
    """
    named = inspect.signature(function).parameters
    others, unknown = guess_arguments(function, text)
    inputs = roles_of(function, ROLES)
    matrices = [] if inputs else roles_of(function, MATRICES)
    used = {*inputs, *matrices, *([] if inputs else [next(iter(named))])}
    masks = [name for name in named if "mask" in name.lower()]
    # Dropout of a function may be a layer, a number or None.
    kept = {
        name: None if "drop" in name.lower() and named[name].default is None else value
        for name, value in others.items()
        if name not in used and name not in masks and meaning(name) != "causal"
    }
    left = [name for name in unknown if name not in used and name not in masks]
    if left:
        raise TypeError(f"{function.__name__} wants {', '.join(left)}, and nobody can guess it")

    kind = OfFunction if inputs else OfMatrices
    for heads in HEADS if inputs else HEADS[1:2]:
        # Without a head there is one: the same width, and the formula's with a single head.
        module = kind(function, heads, kept)
        switches = [name for name in named if meaning(name) == "causal" and name not in masks]
        vars(module)["forward"] = with_arguments(module, [*masks, *switches], named)
        yield module


def tries_of(one: Any, text: str) -> Iterator[nn.Module]:
    r"""
    ## As what something is tested

    A function is put between matrices, and so is a class without weights that takes queries, keys
    and values. If such a class can't be called there, it is tried as it is: some, such as FNet's,
    want the same tensor three times.
    """
    if isinstance(one, FunctionType):
        yield from modules_of(one, text)
        return
    is_bare = isinstance(one, nn.Module) and not [*one.parameters()]
    if is_bare and roles_of(one.forward, ROLES) and not left_over(one.forward):
        yield from modules_of(one.forward, text)
    yield one


def with_arguments(module: OfFunction, names: list[str], known: Mapping[str, Any]) -> Any:
    r"""
    ## A `forward` with the function's own masks and switches

    They are found by their names.
    """

    def forward(x: Tensor, **given: Any) -> Tensor:
        return module.called(x, **given)

    first = inspect.Parameter("x", inspect.Parameter.POSITIONAL_OR_KEYWORD)
    more = [
        inspect.Parameter(one, inspect.Parameter.KEYWORD_ONLY, default=known[one].default)
        for one in names
    ]
    forward.__signature__ = inspect.Signature([first, *more])  # type: ignore[attr-defined]
    return forward


def example(batch_size: int = 3, seq_len: int = 7) -> Tensor:
    r"""
    ## Example

    Three lines that many blogs have.

    ### Exercises

    ??? question "The function has no weights. Why does its module have four matrices?"
        Queries and keys must differ, and each test asks what an output depends on.
    """
    import torch

    def attention(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        scores = q @ k.transpose(-2, -1) / q.shape[-1] ** 0.5
        return scores.softmax(-1) @ v

    first = next(modules_of(attention, ""))
    return first(torch.randn(batch_size, seq_len, SIZES["d_model"]))
