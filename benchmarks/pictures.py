r"""
What programs draw pictures of their own with: maps of squares, and what `literate.results.drawing`
has. The charts of results need none of it; the build draws them.
"""

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.patches import PathPatch
from matplotlib.path import Path

from literate.results.drawing import ACCENT, INK, SECOND, new, svg

__all__ = ["ACCENT", "INK", "SECOND", "heat_map", "new", "svg"]


def heat_map(
    axes: Axes,
    cells: Sequence[Sequence[float]],
    rows: Sequence[str] = (),
    columns: Sequence[str] = (),
    numbers: bool = False,
) -> None:
    r"""
    One square for each number: the larger, the darker. Negative numbers have the second colour.
    With `numbers`, they stand in the squares.
    """
    most = max(abs(value) for row in cells for value in row) or 1.0
    alike: dict[tuple[str, float], list[Path]] = {}
    for i, row in enumerate(cells):
        for j, value in enumerate(row):
            colour, share = (ACCENT if value >= 0 else SECOND), round(20 * abs(value) / most) / 20
            square = [(j, i), (j + 1, i), (j + 1, i + 1), (j, i + 1), (j, i)]
            alike.setdefault((colour, share), []).append(Path(square, closed=True))
            if numbers and value:
                text = f"{value:.2f}".replace("0.", ".", 1)
                axes.text(j + 0.5, i + 0.5, text, ha="center", va="center", fontsize=7)

    # Squares of one shade are one path: the picture is a tenth as large.
    for (colour, share), squares in alike.items():
        path = Path.make_compound_path(*squares)
        axes.add_patch(PathPatch(path, color=colour, alpha=share, linewidth=0, clip_on=False))
    axes.set(xlim=(0, len(cells[0])), ylim=(len(cells), 0), aspect="equal")
    if rows:
        axes.set_yticks([i + 0.5 for i in range(len(rows))], rows, family="monospace")
    if columns:
        axes.set_xticks([j + 0.5 for j in range(len(columns))], columns, family="monospace")
    axes.tick_params(length=0)
