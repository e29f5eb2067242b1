r"""
---
title: All Notebooks
summary: The notebooks of a package are written, or compared with those that were.
---

A [notebook](notebook.py) that goes to a folder is tried first: as a script of jupytext's format
py:percent, which people edit and review instead of JSON, it has to stay the same.
"""

from collections.abc import Iterable, Mapping, Sequence
from itertools import zip_longest
from pathlib import Path
from typing import Any

import jupytext
import nbformat
from nbformat import NotebookNode

from literate.body import has_notebook
from literate.notebook import NO_SEQUELS, build, file_name
from literate.problems import LiterateError, Problem
from literate.source import Source

PERCENT = {
    "extension": ".py",
    "format_name": "percent",
    "notebook_metadata_filter": "all",
    "cell_metadata_filter": "all",
}


def write(
    sources: Mapping[str, Source],
    out: Path,
    sequels: Mapping[str, str] = NO_SEQUELS,
    chosen: Iterable[str] | None = None,
    machinery: Sequence[str] = (),
) -> list[Path]:
    r"""
    ## Write all notebooks

    Below the folder `out`, each under its [name](notebook.py#file_name), and nothing if one of them
    can't be built; only those of the `chosen` modules, if these are given, and none of what is
    `machinery` in the [settings](settings.py). Returns their paths.
    """
    modules = sources if chosen is None else chosen
    built = _build_all(sources, out, sequels, modules, machinery)
    for path, text in built.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        beside = path.with_name(path.name + ".part")
        beside.write_text(text, encoding="utf-8", newline="\n")
        beside.replace(path)
    return list(built)


def stale(
    sources: Mapping[str, Source],
    out: Path,
    sequels: Mapping[str, str] = NO_SEQUELS,
    chosen: Iterable[str] | None = None,
    machinery: Sequence[str] = (),
) -> list[Problem]:
    r"""
    ## The notebooks that are out of date

    Those below the folder `out` that are missing, or are not byte for byte what
    [write](#write) would write there, and, if none are chosen, those that no page has any more.
    """
    modules = sources if chosen is None else chosen
    built = _build_all(sources, out, sequels, modules, machinery)
    again = "write the notebooks again, `python -m literate notebooks`."
    problems = []
    for path, text in built.items():
        if not path.is_file():
            problems.append(Problem(path.as_posix(), 1, f"is missing; {again}"))
        elif path.read_bytes() != text.encode():
            problems.append(Problem(path.as_posix(), 1, f"is not what the sources give; {again}"))
    for path in sorted(out.rglob("*.ipynb")) if chosen is None else ():
        if path not in built:
            problems.append(Problem(path.as_posix(), 1, "no page has this notebook; delete it."))
    return sorted(problems)


def _build_all(
    sources: Mapping[str, Source],
    out: Path,
    sequels: Mapping[str, str],
    chosen: Iterable[str],
    machinery: Sequence[str],
) -> dict[Path, str]:
    built: dict[Path, str] = {}
    problems: set[Problem] = set()
    for module in chosen:
        if has_notebook(sources[module], machinery):
            path = out / file_name(sources[module], module)
            if path in built:
                sentence = f"would be {path}, as another page is; give it a folder of its own."
                problems.add(Problem(sources[module].path, 1, sentence))
            try:
                built[path] = build(sources, module, sequels=sequels)
                _check_percent(built[path], sources[module])
            except LiterateError as error:
                problems.update(error.problems)
    if problems:
        raise LiterateError(problems)
    return built


def _check_percent(text: str, source: Source) -> None:
    r"""
    As a script, in the format that marks cells by `# %%`, the notebook has to stay the same.
    """
    notebook = nbformat.reads(text, as_version=4)
    script = jupytext.writes(notebook, fmt=PERCENT)
    back = jupytext.reads(script, fmt=PERCENT).cells
    for cell, again in zip_longest(notebook.cells, back, fillvalue=NotebookNode(source="")):
        if _without_id(cell) == _without_id(again):
            continue
        first = cell.source.partition("\n")[0]
        sentence = (
            f"the cell that begins with `{first}` would not be the same cell after a way through "
            "the format py:percent; does a line in it look like the mark of a cell, `# %%`?"
        )
        raise LiterateError([Problem(source.path, 1, sentence)])


def _without_id(cell: NotebookNode) -> dict[str, Any]:
    r"""
    A script has no outputs either.
    """
    return {key: value for key, value in cell.items() if key not in ("id", "outputs")}
