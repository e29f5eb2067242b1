r"""
---
title: Beginning
summary: The recorded run begins with the first numbers of the page, not with a mask.
---

The [record](recording.py) begins in the first function that was given a tensor. That is often the
one that makes a mask ready, which no reader came for. The page begins behind it.
"""

from collections.abc import Mapping
from typing import Any


def past_masks(record: Mapping[str, Any]) -> Mapping[str, Any]:
    r"""
    ## A record that begins behind its masks

    Where nothing but masks follow, it begins as it did.
    """
    if not record:
        return record
    steps, tensors, start = record["steps"], record["tensors"], record["start"]

    def is_mask(at: int) -> bool:
        return {tensors[index][2] for _, _, index in steps[at][1]} == {"bool"}

    behind = (at for at in range(start, len(steps)) if not is_mask(at))
    return {**record, "start": next(behind, start)}
