r"""Sequences of different lengths."""

from typing import Any

from torch._making import full
from torch._tensor import Tensor


def pad_sequence(
    sequences: Any,
    batch_first: bool = False,
    padding_value: float = 0.0,
    padding_side: str = "right",
) -> Tensor:
    r"""All as long as the longest, in one tensor."""
    if padding_side not in ("left", "right"):
        raise RuntimeError(
            f"Expected padding_side to be one of left or right, but got {padding_side}."
        )
    given = list(sequences)
    if not given:
        raise RuntimeError("received an empty list of sequences")
    longest = max(len(one) for one in given)
    lead = (len(given), longest) if batch_first else (longest, len(given))
    out = full((*lead, *given[0].shape[1:]), padding_value, dtype=given[0].dtype)
    for place, one in enumerate(given):
        start = 0 if padding_side == "right" else longest - len(one)
        inside = slice(start, start + len(one))
        out[(place, inside) if batch_first else (inside, place)] = one
    return out
