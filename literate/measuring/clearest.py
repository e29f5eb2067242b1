r"""
---
title: The clearest call
summary: A function that was called several times is shown in the call that tells its axes apart.
---

An example may call attention twice: with one sequence that looks at itself, and with one that looks
at another. In letters, the scores of the first call are “i i b h”, and those of the second “i j b
h”. Only the second tells which axis is which, as the code of the page does. So that call is the one
a reader should see, although it came later; and in all lines of the function, because shapes of
different calls don't fit together.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any, Protocol, TypeVar

from literate.reading.source import Source

_NAME = re.compile(r"[^\W\d]\w*")


class Seen(Protocol):
    r"""
    ## What was seen

    A [tensor](measure.py#Tensor) with the names of its axes, and the numbers of its calls.
    """

    @property
    def name(self) -> str:
        r"""
        ### The name of the value
        """

    @property
    def axes(self) -> tuple[str, ...]:
        r"""
        ### The names of its axes
        """

    @property
    def calls(self) -> tuple[int, ...]:
        r"""
        ### The calls in which it was seen
        """


Tensor = TypeVar("Tensor", bound=Seen)


def first(
    source: Source, lines: Mapping[int, Mapping[Any, Tensor]]
) -> dict[int, tuple[Tensor, ...]]:
    r"""
    ## The clearest call comes first

    Of the tensors of a line with one name, those seen in the clearest call of the function go
    before the others. All else stays in its order.
    """
    functions: dict[str, list[int]] = {}
    for line in sorted(lines):
        definition = source.definition_at(line)
        functions.setdefault(definition.name if definition else "", []).append(line)
    ordered = {}
    for inside in functions.values():
        call = clearest([tensor for line in inside for tensor in lines[line].values()])
        for line in inside:
            tensors = list(lines[line].values())
            names = list(dict.fromkeys(tensor.name for tensor in tensors))
            ordered[line] = tuple(
                sorted(
                    tensors, key=lambda tensor: (names.index(tensor.name), call not in tensor.calls)
                )
            )
    return dict(sorted(ordered.items()))


def clearest(tensors: Sequence[Seen]) -> int:
    r"""
    ## Which call is the clearest?

    The one whose tensors have the most different names of axes; of several, the first. It is 0
    where nothing was called.
    """
    names: dict[int, set[str]] = {}
    for tensor in tensors:
        for call in tensor.calls:
            names.setdefault(call, set()).update(_NAME.findall(" ".join(tensor.axes)))
    return max(sorted(names), key=lambda call: len(names[call]), default=0)
