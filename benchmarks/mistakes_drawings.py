r"""
The bars of results/mistakes.json, from the rows of its table.

It is a module of its own so that `redraw` can draw them again: how a chart looks is no part of what
was measured.
"""

from collections.abc import Sequence
from typing import Any

from benchmarks.pictures import ACCENT, INK, SECOND, new, svg

Row = dict[str, Any]
RIGHT = "RightAttention"


def bars(rows: Sequence[Row], names: Sequence[str], shown: str) -> str:
    r"""Printed losses as bars, honest ones as dots, and a line at the right model's."""
    by_name = {row["mistake"]: row for row in rows}
    figure, (axes,) = new(6.4, 0.9 + 0.28 * len(names))
    for at, name in enumerate(names):
        row = by_name[name]
        axes.barh([at], [float(row["printed"])], height=0.55, color=ACCENT, alpha=0.6)
        axes.plot([float(row["honest"])], [at], color=SECOND, marker="o", linestyle="")
    axes.axvline(float(by_name[RIGHT]["printed"]), color=INK, linewidth=1)
    axes.set_yticks(range(len(names)), names, fontsize=9)
    axes.invert_yaxis()
    axes.set_xlabel("Bars: printed loss; dots: honest loss (nats); line: the right model")
    return svg(figure, f"mistakes-{shown}")


def charts(rows: Sequence[Row], families: dict[str, list[str]]) -> dict[str, dict[str, str]]:
    r"""One picture of all, and one for each family, by the names of their mistakes."""
    known = [row["mistake"] for row in rows if not row["mistake"].startswith(RIGHT)]
    made = {"losses": {"title": "All", "picture": bars(rows, known, "losses")}}
    for family, names in families.items():
        trained = [name for name in names if name in known]
        made[family] = {"title": family, "picture": bars(rows, trained, family)}
    return made
