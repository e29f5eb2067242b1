r"""
---
title: Angles That Turn Nothing
summary: An attention that is given a table of rotary angles is given one in which all are 0.
know: ../labml_nn/transformers/rotary.py
---

In the family of Llama, the caller makes the table of [rotary
positions](../labml_nn/transformers/rotary.py) and gives it to each attention, as `freqs_cis`, or as
`cos` and `sin`. With an angle of 0 the cosine is 1, the sine is 0, and nothing is turned. Then the
attention must give what the formula without positions gives.

No name says what form the table has: complex numbers, a pair of tensors, a number for each feature
or for each pair of them. So all are tried.

**In:** the arguments of an attention. **Out:** what those for angles are given.
"""

import re
from collections.abc import Iterable
from typing import Any

import torch
from torch import Tensor, nn

from wrongline.sizes import GROUPED, SIZES, meaning

# What published code calls a table of angles, and the position of a text's first token.
ANGLES = r"(?i)freqs|rope|rotary|(^|_)(cos|sin)(_|$)|sincos|cos_?sin|^pos(ition)?_(emb\w*|cis)$"
FIRST = r"^(start_pos|start_position|cur_pos|curr_pos)$"

# For complex numbers, pairs of features, all features, and cosine and sine in the last axis. In
# some tables there is an axis for the batch before the positions.
FORMS = ("complex", "pairs", "features", "last axis")
BATCHES = ("", ", with a batch")


def angles_among(names: Iterable[str]) -> list[str]:
    r"""
    ## The arguments that are about positions
    """
    return [name for name in names if re.search(ANGLES, name) or re.search(FIRST, name)]


def head_widths(module: nn.Module) -> list[int]:
    r"""
    ## How wide a head may be

    By the module's own sizes, and then as the tests would have it.
    """
    # The module's attributes that are whole numbers, such as `head_dim`.
    said = {meaning(name): one for name, one in vars(module).items() if type(one) is int}
    # If it doesn't keep the width of a head, it is that of the input, divided by the heads.
    width = said.get("d_model", SIZES["d_model"])
    by_heads = [width // said["heads"]] if said.get("heads") else []
    own = [said["d_k"]] if "d_k" in said else []
    # Each once, the likeliest first.
    return [*dict.fromkeys([*own, *by_heads, SIZES["d_k"], GROUPED["d_k"]])]


def forms_for(names: Iterable[str], module: nn.Module) -> list[tuple[str, int]]:
    r"""
    ## All forms of a table, and widths of a head

    One of them, if there is no table among these names.
    """
    # The position of the first token is a number, whatever the form.
    if not any(re.search(ANGLES, name) for name in names):
        return [("", 0)]
    # Without a batch first, for the likeliest width.
    return [
        (form + batch, width)
        for width in head_widths(module)
        for batch in BATCHES
        for form in FORMS
    ]


def unturned(names: Iterable[str], form: str, d_k: int, length: int) -> dict[str, Any]:
    r"""
    ## What these arguments are given

    Tables for so many positions, `length`, of a text that begins at 0.
    """
    given: dict[str, Any] = {}
    # A row for each position, with a number for each feature of a head, or for each pair of them.
    kind = form.removesuffix(BATCHES[1])
    shape = [length, d_k if kind == "features" else d_k // 2]
    cosine = torch.ones([1, *shape] if form != kind else shape)
    sine = torch.zeros_like(cosine)

    # `cos` and `sin` are two arguments, or both are in one.
    for name in names:
        is_cosine = "cos" in name.lower()
        is_sine = "sin" in name.lower()
        if re.search(FIRST, name):
            given[name] = 0
        elif is_cosine != is_sine:
            given[name] = cosine if is_cosine else sine
        # One table for both: its real part is the cosine, and its imaginary part the sine.
        elif kind == "complex":
            given[name] = torch.complex(cosine, sine)
        elif kind == "last axis":
            given[name] = torch.stack([cosine, sine], dim=-1)
        else:
            given[name] = cosine, sine
    return given


def example(seq_len: int = 7, n_pairs: int = 3) -> tuple[list[str], Tensor]:
    r"""
    ## Example

    The arguments of Llama's attention, and a table for it.

    ### Exercises

    ??? question "An attention turns its queries and not its keys. Is it found by this?"
        No: with angles of 0 there is nothing to turn. In a whole model, with its own table, [moving
        the positions](cache_tests.py) changes what comes out.
    """
    names = angles_among(["x", "start_pos", "freqs_cis", "mask"])
    return names, unturned(names, "complex", 2 * n_pairs, seq_len)["freqs_cis"]
