r"""
---
title: On demand
summary: A mapping whose values are made when they are first asked for.
---

To check one page takes a few of the others: those that it links to and imports. All of them are
there to be asked for, and what nobody asks for is never read.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TypeVar

Value = TypeVar("Value")


class OnDemand(Mapping[str, Value]):
    r"""
    ## Values by names

    `make` makes the value of a name. Each is made once, and an error of `make` goes to the one who
    asked.
    """

    def __init__(self, names: Iterable[str], make: Callable[[str], Value]) -> None:
        self.make = make
        self.names = dict.fromkeys(names)
        self.made: dict[str, Value] = {}

    def __getitem__(self, name: str) -> Value:
        if name not in self.made:
            if name not in self.names:
                raise KeyError(name)
            self.made[name] = self.make(name)
        return self.made[name]

    def __contains__(self, name: object) -> bool:
        return name in self.names

    def __iter__(self) -> Iterator[str]:
        return iter(self.names)

    def __len__(self) -> int:
        return len(self.names)
