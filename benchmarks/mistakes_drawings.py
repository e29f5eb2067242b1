r"""
The bars of results/mistakes.json, from the rows of its table.

How they look is no part of what was measured, so they are no part of the experiment.
"""

import math
from collections.abc import Sequence
from typing import Any

from benchmarks.pictures import ACCENT, INK, SECOND, new, svg

Row = dict[str, Any]
RIGHT = "RightAttention"
# In one column.
MOST_BARS = 12


def bars(rows: Sequence[Row], names: Sequence[str], shown: str) -> str:
    r"""
    Printed losses as bars, honest ones as dots, and a line at the right model's.

    Many of them stand in two columns: a page shows a picture of that height without scrolling.
    """
    by_name = {row["mistake"]: row for row in rows}
    columns = 1 if len(names) <= MOST_BARS else 2
    n_bars = math.ceil(len(names) / columns)
    figure, panels = new(6.4, 0.9 + 0.28 * n_bars, columns)
    most = max(float(by_name[name][loss]) for name in names for loss in ("printed", "honest"))
    for axes, start in zip(panels, range(0, len(names), n_bars), strict=True):
        some = names[start : start + n_bars]
        for at, name in enumerate(some):
            row = by_name[name]
            axes.barh([at], [float(row["printed"])], height=0.55, color=ACCENT, alpha=0.6)
            axes.plot([float(row["honest"])], [at], color=SECOND, marker="o", linestyle="")
        axes.axvline(float(by_name[RIGHT]["printed"]), color=INK, linewidth=1)
        axes.set_yticks(range(len(some)), some, fontsize=9)
        axes.invert_yaxis()
        if columns > 1:
            # Both have one scale, or lengths could not be compared.
            axes.set_xlim(0, 1.05 * most)
            axes.set_ylim(n_bars - 0.4, -0.6)
    says = "Bars: printed loss; dots: honest loss (nats); line: the right model"
    if columns == 1:
        panels[0].set_xlabel(says)
    else:
        figure.supxlabel(says, fontsize="medium")
    return svg(figure, f"mistakes-{shown}")


def charts(rows: Sequence[Row], families: dict[str, list[str]]) -> dict[str, dict[str, str]]:
    r"""One picture of all, and one for each family, by the names of their mistakes."""
    known = [row["mistake"] for row in rows if not row["mistake"].startswith(RIGHT)]
    made = {"losses": {"title": "All", "picture": bars(rows, known, "losses")}}
    for family, names in families.items():
        trained = [name for name in names if name in known]
        made[family] = {"title": family, "picture": bars(rows, trained, family)}
    return made
