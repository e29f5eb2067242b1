r"""One line of the table: what was measured, beside what, and whether it is enough."""

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True)
class Figure:
    r"""A measured value beside its peer and its bar.

    `met` is None where the value has no bar or was not measured. `details` are printed below.
    """

    what: str
    measured: str
    bar: str
    met: bool | None
    peer: str = ""
    details: tuple[str, ...] = ()


def at_most(what: str, value: float, bar: float, unit: str = "", peer: str = "") -> Figure:
    r"""A value that must not be above its bar."""
    shown = f"{value:g}{unit}"
    return Figure(what, shown, f"at most {bar:g}{unit}", value <= bar, peer)


def none_of(what: str, found: Iterable[str], peer: str = "") -> Figure:
    r"""A count that must be 0; what was found is printed below the table."""
    listed = tuple(found)
    return Figure(what, str(len(listed)), "0", not listed, peer, listed)


ANSWERS = {True: "met", False: "NOT MET", None: "-"}


def show(figure: Figure) -> None:
    r"""Print a figure as soon as it is there: the whole run takes minutes."""
    print(
        f"{figure.what:58} {figure.measured:>22} {figure.peer:>28} {figure.bar:>24}"
        f"  {ANSWERS[figure.met]}",
        flush=True,
    )
    shown = figure.details[:40]
    for line in shown:
        print(f"    {line[:200]}")
    if len(figure.details) > len(shown):
        print(f"    and {len(figure.details) - len(shown)} more")


def show_head() -> None:
    r"""Print the names of the columns."""
    print(f"{'what':58} {'measured':>22} {'peer, in the same run':>28} {'bar':>24}  met?")
