r"""
Write what was measured to a file that the pages can refer to.

Each run of an experiment, and each program that measures, ends with one call of `write`. The file
`results/NAME.json` then says what was found, by which command, on which day, on which machine, and
of which sources. The notes link to it, and RULES.md says how.

`python -m benchmarks stale` prints which results are no longer of the sources that are here.
"""

import json
import math
import os
import platform
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import Any

from literate.problems import LiterateError
from literate.results.files import parse
from literate.results.fingerprints import fingerprint
from literate.results.machine import cores, processor
from literate.results.made_of import Code
from literate.results.pictures import digest
from literate.settings import load

ROOT = Path(__file__).resolve().parents[1]

# Enough for any measurement, and few enough to be read.
DIGITS = 6


def write(
    name: str,
    *,
    title: str,
    command: str,
    sources: Iterable[str] | Mapping[str, str],
    of: str = "",
    values: Mapping[str, Any] | None = None,
    tables: Mapping[str, Any] | None = None,
    figures: Mapping[str, Any] | None = None,
    seconds: float | None = None,
    root: Path = ROOT,
) -> Path:
    r"""
    Write `results/NAME.json` below `root`, and return its path.

    * `title` says in a few words what was measured, and `command` is the one that makes the file
    * `of` is the module that has measured it, and `sources` what that comes by, as `accounted`
      gives them before a run. A program that measures texts, and names no module, gives the paths
      of these, or their `fingerprints`.
    * `values` are numbers and texts by their names; there can be mappings in mappings
    * `seconds` is how long the run has taken
    * `tables` and `figures` are as RULES.md describes them. The lines of a figure are drawn when a
      page shows them; the SVG of a `picture` becomes a file of its own, which the result names

    What is there already stays until the new file is complete.
    """
    if not re.fullmatch(r"[a-z0-9][a-z0-9_-]*", name):
        raise ValueError(f"the name {name!r} is no name of a file: a-z, 0-9, - and _ only")
    found = sources if isinstance(sources, Mapping) else fingerprints(sources, root)
    content: dict[str, Any] = {
        "schema": 1,
        "title": title,
        "command": command,
        "made": date.today().isoformat(),
        "machine": machine(),
        "sources": found,
        "values": values or {},
        "tables": tables or {},
        "figures": figures or {},
    }
    if of:
        content["of"] = of
    if seconds is not None:
        content["seconds"] = seconds
    content["figures"], pictures = apart(name, content["figures"])
    text = json.dumps(_rounded(content, ""), indent=1, sort_keys=True, ensure_ascii=False)
    path = root / "results" / f"{name}.json"
    try:
        # What the pages could not show is refused here already.
        parse(text.encode(), f"results/{name}.json", pictures.__getitem__)
    except LiterateError as error:
        raise ValueError(error.problems[0].sentence) from None
    for place, picture in pictures.items():
        (path.parent / place).parent.mkdir(parents=True, exist_ok=True)
        replace(path.parent / place, picture)
    path.parent.mkdir(parents=True, exist_ok=True)
    replace(path, text + "\n")
    return path


def apart(name: str, figures: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, str]]:
    r"""The figures of the result `name`, and their pictures by the paths that they name."""
    named: dict[str, Any] = {}
    pictures: dict[str, str] = {}
    for key, figure in figures.items():
        named[key] = figure
        if "picture" in figure:
            place = f"pictures/{name}-{key}.svg"
            named[key] = {**figure, "picture": place, "digest": digest(figure["picture"])}
            pictures[place] = figure["picture"]
    return named, pictures


def replace(path: Path, text: str) -> None:
    r"""Write a file beside the old one, which stays until the new one is complete."""
    beside = path.with_name(f"{path.name}.{os.getpid()}.part")
    try:
        beside.write_text(text, encoding="utf-8")
        beside.replace(path)
    finally:
        beside.unlink(missing_ok=True)


def code_of(root: Path = ROOT) -> Code:
    r"""The code below `root`, as results are made of it."""
    told = load(ROOT).experiments
    return Code(root, told["packages"], told["runner"])


def fingerprints(sources: Iterable[str], root: Path = ROOT) -> dict[str, str]:
    r"""The sources, with what tells whether they are still the same."""
    if isinstance(sources, str):
        raise ValueError(f"the sources are a list of paths, not the text {sources!r}")
    missing = [path for path in sources if not (root / path).is_file()]
    if missing:
        raise ValueError(f"no file of the repository: {', '.join(missing)}")
    return {Path(path).as_posix(): fingerprint(root / path) for path in sources}


def machine() -> dict[str, str | int | None]:
    r"""What the run had: processor and cores, accelerator, and the versions."""
    # A program that needs no torch records its numbers without it.
    torch = sys.modules.get("torch")
    accelerator = None
    if torch is not None and torch.cuda.is_available():
        accelerator = torch.cuda.get_device_name()
    return {
        "processor": processor(),
        "cores": cores(),
        "accelerator": accelerator,
        "torch": str(torch.__version__).partition("+")[0] if torch is not None else None,
        "python": ".".join(platform.python_version_tuple()[:2]),
    }


def _rounded(value: Any, place: str) -> Any:
    r"""The value as JSON can hold it; `place` is its dotted name, for the error."""
    if value is None or isinstance(value, str | bool | int):
        return value
    if isinstance(value, float):
        if not math.isfinite(value):
            raise ValueError(f"{place} is {value}: only finite numbers can be recorded")
        # Plain numbers: the subclasses of other libraries print themselves otherwise.
        return float(f"{float(value):.{DIGITS}g}")
    if isinstance(value, Mapping):
        for key in value:
            if not isinstance(key, str):
                kind = type(key).__name__
                raise ValueError(f"{place or 'the record'} has the name {key!r}, a {kind}; use str")
        inside = f"{place}." if place else ""
        return {key: _rounded(one, f"{inside}{key}") for key, one in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, bytes | bytearray):
        return [_rounded(one, f"{place}[{index}]") for index, one in enumerate(value)]
    raise ValueError(f"{place} is a {type(value).__name__}: record numbers, texts, lists, mappings")
