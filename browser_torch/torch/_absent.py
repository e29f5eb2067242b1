r"""What the stand-in lacks says so, and names what can be used."""

from collections.abc import Callable
from difflib import get_close_matches
from typing import NoReturn

OTHERS = "other functions that are there: dir() lists them"


class _Absent(AttributeError):
    r"""The sentence is made when somebody reads it: `hasattr` asks often, and reads nothing."""

    def __init__(
        self, owner: str, name: str, known: Callable[[], list[str]], instead: dict[str, str]
    ) -> None:
        super().__init__(owner, name)
        self.owner, self.known, self.instead = owner, known, instead
        self.wanted = name

    def __str__(self) -> str:
        use = self.instead.get(self.wanted)
        if use is None:
            names = [one for one in self.known() if one[0] != "_"]
            use = next(iter(get_close_matches(self.wanted, names, 1, 0.75)), OTHERS)
        return (
            f"{self.owner} has no attribute '{self.wanted}' in the browser, whatever PyTorch has; "
            f"use {use}."
        )


# A reader sees the error under the name that PyTorch gives it.
_Absent.__name__ = _Absent.__qualname__ = "AttributeError"
_Absent.__module__ = "builtins"


def absent(
    owner: str, known: Callable[[], list[str]], instead: dict[str, str]
) -> Callable[[str], NoReturn]:
    r"""A `__getattr__` for names that aren't there: `known` gives those that are."""

    def missing(name: str) -> NoReturn:
        if name.startswith("_"):
            raise AttributeError(f"{owner} has no attribute '{name}'")
        raise _Absent(owner, name, known, instead)

    return missing
