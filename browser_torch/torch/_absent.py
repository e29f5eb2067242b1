r"""What the stand-in lacks says so, and names what can be used."""

from collections.abc import Callable
from difflib import get_close_matches
from typing import NoReturn


def absent(
    owner: str, known: Callable[[], list[str]], instead: dict[str, str]
) -> Callable[[str], NoReturn]:
    r"""A `__getattr__` for names that aren't there: `known` gives those that are."""

    def missing(name: str) -> NoReturn:
        if name.startswith("_"):
            raise AttributeError(f"{owner} has no attribute '{name}'")
        use = instead.get(name)
        if use is None:
            near = get_close_matches(name, [one for one in known() if one[0] != "_"], 1, 0.75)
            use = near[0] if near else "other functions that are there: dir() lists them"
        raise AttributeError(
            f"{owner} has no attribute '{name}' in the browser, whatever PyTorch has; use {use}."
        )

    return missing
