r"""Of several seeds the mean, the lowest and the highest: as numbers, and drawn."""

from collections.abc import Iterable, Mapping, Sequence
from statistics import mean
from typing import Any

from matplotlib.axes import Axes

from benchmarks.pictures import ACCENT, INK, new, svg

# What a run has found, and what all runs have found: for each name a run for each seed.
Found = Mapping[str, Any]
Runs = Mapping[str, Sequence[Found]]


def numbers(runs: Iterable[Found], key: str) -> list[float]:
    r"""One number of each run."""
    return [one[key] for one in runs]


def mean_of(runs: Iterable[Found], key: str) -> float:
    r"""The mean of one number over the runs."""
    return mean(numbers(runs, key))


def ends(values: Sequence[float], prefix: str = "") -> dict[str, float]:
    r"""The lowest and the highest, as cells of a row."""
    return {f"{prefix}low": min(values), f"{prefix}high": max(values)}


def spread(name: str, values: Sequence[float]) -> dict[str, float]:
    r"""The mean, under a name, the lowest and the highest, as cells of a row."""
    return {name: mean(values), **ends(values)}


def means(runs: Sequence[Found]) -> dict[str, float]:
    r"""The mean over the runs of each of their numbers."""
    return {name: mean_of(runs, name) for name in runs[0]}


def mean_curve(curves: Sequence[Sequence[Sequence[float]]], column: int = 1) -> list[list[float]]:
    r"""The mean of one column of points over the seeds, at each step."""
    return [[at[0][0], mean(one[column] for one in at)] for at in zip(*curves, strict=True)]


def mark(axes: Axes, at: float, values: Sequence[float], colour: str = ACCENT, **look: Any) -> None:
    r"""The range of some values as a line, and their mean as a dot. `look` goes to the dot."""
    axes.plot([min(values), max(values)], [at, at], color=colour, linewidth=3)
    axes.plot([mean(values)], [at], color=colour, marker="o", **{"markersize": 8, **look})


def name_rows(axes: Axes, names: Sequence[str], title: str, fontsize: float = 11) -> None:
    r"""Names at the left from top to bottom, the title below, a thin grid, and no frame."""
    axes.set_yticks(range(len(names)), names, fontsize=fontsize)
    axes.invert_yaxis()
    axes.grid(axis="x", color=INK, alpha=0.12, linewidth=0.8)
    axes.set_xlabel(title, fontsize=12)
    axes.tick_params(axis="y", length=0)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)


def drawn(
    rows: Mapping[str, Sequence[float]],
    title: str,
    name: str,
    size: tuple[float, float] = (6.4, 3.4),
    fontsize: float = 11,
    markersize: float = 8,
) -> str:
    r"""
    A line for each row, from its lowest value to its highest, with a dot at the mean.

    * `rows` are the values of the seeds by the names of the rows
    * `title` is that of the axis, and `name` that of the picture
    """
    figure, (axes,) = new(*size)
    for at, values in enumerate(rows.values()):
        mark(axes, at, values, markersize=markersize)
    name_rows(axes, list(rows), title, fontsize)
    return svg(figure, name)
