r"""Columns and rows, as `record.write` takes them."""

from collections.abc import Iterable, Mapping
from typing import Any

Column = dict[str, Any]


def column(name: str, title: str, digits: int | None = None, unit: str | None = None) -> Column:
    r"""
    A column of a table.

    * `name` is that of its cells in a row, and `title` stands at its head
    * `digits` is how many are shown after the point, and `unit` stands beside the title
    """
    found: Column = {"name": name, "title": title}
    if unit is not None:
        found["unit"] = unit
    if digits is not None:
        found["digits"] = digits
    return found


def low_and_high(digits: int = 3) -> list[Column]:
    r"""The two columns beside the mean of the seeds."""
    return [column("low", "lowest", digits), column("high", "highest", digits)]


def table(columns: Iterable[Column], rows: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    r"""A table, each of whose rows has the cells of the columns and no others."""
    columns = list(columns)
    names = [one["name"] for one in columns]
    return {
        "columns": columns,
        "rows": [{name: row[name] for name in names if name in row} for row in rows],
    }
