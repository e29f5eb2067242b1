r"""
---
title: All Notebooks
summary: The notebooks of a package are written, or compared with those that were.
---

Where the settings are strict, nothing is written if one [notebook](notebook.py) can't be built;
else that page has none, and its problem is told.
"""

import json
import re
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from literate.problems import LiterateError, Problem
from literate.reading.front_matter import of_source
from literate.reading.source import Source
from literate.results.records import Result
from literate.settings import Settings
from literate.takeaway.addresses import NO_RESULTS, Addresses
from literate.takeaway.notebook import PLAIN, UNKNOWN, build, file_name
from literate.takeaway.notebook_cells import PAIRED, defines, has_notebook, no_png, script_of


def build_all(
    sources: Mapping[str, Source],
    out: Path,
    settings: Settings = PLAIN,
    chosen: Iterable[str] | None = None,
    report: Callable[[str], None] = print,
    addresses: Callable[[Path], Addresses] = lambda path: UNKNOWN,
    results: Mapping[str, Result] = NO_RESULTS,
    png: Callable[[str], str] = no_png,
) -> dict[Path, str]:
    r"""
    ## Build all notebooks

    The texts by their paths below the folder `out`, each under its [name](notebook.py#file_name);
    only those of the `chosen` modules, if these are given, and none of what is `machinery` in the
    [settings](../settings.py#Settings.judge), which also say whether a page without a title, or one
    whose notebook can't be built, is reported or stops everything. Each has the `addresses` for its
    path, the figures and tables of `results`, and the bytes of figures that `png` gives.
    """
    built: dict[Path, str] = {}
    problems = _without_a_page(sources, settings)
    wrong: set[Problem] = set()
    for module in sources if chosen is None else chosen:
        if has_notebook(sources[module], settings):
            wrong.update(of_source(sources[module])[2])
            path = out / file_name(sources[module], module)
            if path in built:
                sentence = f"would be {path}, as another page is; give it a folder of its own."
                problems.add(Problem(sources[module].path, 1, sentence))
                continue
            try:
                built[path] = build(sources, module, addresses(path), settings, results, png)
            except LiterateError as error:
                problems.update(error.problems)
    settings.judge(problems, report)
    settings.judge(wrong, report)
    return built


def _without_a_page(sources: Mapping[str, Source], settings: Settings) -> set[Problem]:
    r"""
    Sequels that no notebook has: their function was renamed, or has gone.
    """
    sentence = "`sequels` names the function `{}`, which no page defines."
    return {
        Problem(str(settings.root / "pyproject.toml"), 1, sentence.format(name))
        for name in settings.sequels
        if not any(defines(source, name) for source in sources.values())
    }


def with_scripts(
    built: Mapping[Path, str], sources: Mapping[str, Source], out: Path, settings: Settings = PLAIN
) -> dict[Path, str]:
    r"""
    ## The notebooks, and their scripts beside them

    `jupytext --sync` then carries what is changed in one of the two to the other.
    """
    scripts = {path.with_suffix(".py"): text for path, text in built.items()}
    own = {(settings.root / source.path).resolve(): source.path for source in sources.values()}
    problems = [
        Problem(own[path.resolve()], 1, "its script would take its place; name another folder.")
        for path in scripts
        if path.resolve() in own
    ]
    if problems:
        raise LiterateError(problems)
    return {**built, **{path: script_of(text) for path, text in scripts.items()}}


def write(built: Mapping[Path, str]) -> list[Path]:
    r"""
    ## Write notebooks

    Those that are as they were aren't written; the paths of the others. Raises a
    [LiterateError](../problems.py#LiterateError), and writes nothing, where a file that this tool
    has not written would be replaced.
    """
    foreign = [path for path in built if path.is_file() and not _is_ours(path)]
    sentence = "is not a notebook of this tool; move it, or name another folder with `--out`."
    if foreign:
        raise LiterateError(Problem(path.as_posix(), 1, sentence) for path in foreign)
    changed = [path for path, text in built.items() if not _is_there(path, text)]
    for path in changed:
        path.parent.mkdir(parents=True, exist_ok=True)
        beside = path.with_name(path.name + ".part")
        beside.write_bytes(built[path].encode())
        beside.replace(path)
    return changed


def _is_there(path: Path, text: str) -> bool:
    return path.is_file() and path.read_bytes() == text.encode()


def _is_ours(path: Path) -> bool:
    r"""
    The notebook and its script say in their heads that they are two forms of one text.
    """
    return str(PAIRED["formats"]) in path.read_text(encoding="utf-8", errors="replace")


def told_by(path: Path) -> dict[str, str]:
    r"""
    ## The addresses that a notebook says it was written with
    """
    if not path.is_file():
        return {}
    try:
        return json.loads(path.read_bytes())["metadata"].get("literate", {})
    except (ValueError, KeyError):
        return {}


def stale(built: Mapping[Path, str], everything: Path | None = None) -> list[Problem]:
    r"""
    ## The notebooks that are out of date

    Those that are missing, or are not what was built, byte for byte but for pictures, which are
    compared by their numbers; and those in the folder of `everything` that no page has any more.
    """
    again = "write the notebooks again, `python -m literate notebooks`."
    problems = []
    for path, text in built.items():
        if not path.is_file():
            problems.append(Problem(path.as_posix(), 1, f"is missing; {again}"))
        elif _plain(path.read_bytes()) != _plain(text.encode()):
            problems.append(Problem(path.as_posix(), 1, f"is not what the sources give; {again}"))
    there = everything.rglob("*.ipynb") if everything else ()
    sentence = "no page has this notebook; delete it."
    problems += [Problem(path.as_posix(), 1, sentence) for path in there if path not in built]
    return sorted(problems)


def _plain(notebook: bytes) -> bytes:
    r"""
    Without the bytes of pictures: a digest of their numbers stands beside them.
    """
    return re.sub(rb"(data:image/png;base64,)[A-Za-z0-9+/=]+", rb"\1", notebook)
