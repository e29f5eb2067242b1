r"""
---
title: A page & its <rows>
summary: Every kind of note and of code, "once".
paper:
  title: A paper
  authors: A & B
  year: 2026
  link: https://example.org/paper
---

The first paragraph, with *emphasis* and a [link](rows.py#Scale.forward).

* a list with `code`
* and [a line](#L31)
"""

import math


class Scale:
    r"""
    ## Scaled by a root

    The class's own note.
    """

    def __init__(self, d_k: int) -> None:
        # Kept, because it is used
        # more than once.
        self.scale = 1 / math.sqrt(d_k)

    @property
    def forward(self) -> float:
        r"""
        ### What comes out
        """
        return self.scale


def plain(x: int) -> int:
    total = [
        # A note inside brackets.
        x,

        2 * x,
    ]
    return sum(total)
