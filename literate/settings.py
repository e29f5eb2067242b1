r"""
---
title: Settings
summary: Which packages become pages, and where things lie.
---

The settings stand in one place, the table `tool.literate` of `pyproject.toml`, so that the command
line and the plug-in of the site can't disagree. A project of one package needs only `sources`:

```toml
[tool.literate]
sources = { my_package = "" }
```
"""

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path

from literate.problems import LiterateError, Problem

# What `literate count` counts, and what can have a limit.
COLUMNS = ("code", "comments", "ratio", "words", "lines")


@dataclass(frozen=True)
class Settings:
    r"""
    ## The settings

    * `root` is the folder of `pyproject.toml`; the others are paths from there
    * `sources` maps each package to the folder of the site that its pages go to
    * `docs` holds the hand-written pages and pictures
    * `documents` maps hand-written pages that lie elsewhere, such as the changelog, to their pages
    * `notebooks` is where notebooks are written
    * `results` holds the [results](results/records.py) that programs have written
    * `sequels` maps the name of a function to the page that goes on, in its
      [notebook](takeaway/notebook.py), where a page with such a function ends
    * `machinery` are patterns of paths, of programs that nobody copies out of their package, so
      their pages have no [notebooks](takeaway/notebook.py)
    * `words` maps [words](reading/rules.py) that notes should not say to what to say for them
    * `limits` has, for patterns of paths, what a page should keep to, as it is
      [counted](reading/count.py)
    * `katex` is the npm package that sets formulas, where the project has it; it is
      [fetched](page/katex.py) where it has not
    * `store` keeps what was measured, until the sources change
    * `strict` says whether a problem on a page stops the build; if not, it is a warning
    """

    root: Path
    sources: Mapping[str, str]
    docs: str = "docs"
    documents: Mapping[str, str] = field(default_factory=dict)
    notebooks: str = "notebooks"
    results: str = "results"
    sequels: Mapping[str, str] = field(default_factory=dict)
    machinery: Sequence[str] = ()
    words: Mapping[str, str] = field(default_factory=dict)
    limits: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    katex: str = ""
    store: str = ".cache/literate"
    strict: bool = True


def load(start: Path) -> Settings:
    r"""
    ## Load the settings

    From the first `pyproject.toml` with a table `tool.literate`, in `start` or above it.
    """
    start = start.resolve()
    for folder in [start, *start.parents]:
        file = folder / "pyproject.toml"
        if not file.is_file():
            continue
        try:
            table = tomllib.loads(file.read_text(encoding="utf-8")).get("tool", {}).get("literate")
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise LiterateError([Problem(str(file), 1, f"is not TOML: {error}.")]) from None
        if table is not None:
            return _settings(file, table)
    sentence = "no `pyproject.toml` with a table `[tool.literate]` here or above."
    raise LiterateError([Problem(str(start), 1, sentence)])


def _settings(file: Path, table: Mapping[str, object]) -> Settings:
    known = [one.name for one in fields(Settings) if one.name != "root"]
    for key in table:
        if key not in known:
            sentence = f"`tool.literate` has an unknown key `{key}`; known are {', '.join(known)}."
            raise LiterateError([Problem(str(file), 1, sentence)])
    sources = table.get("sources")
    if not isinstance(sources, dict) or not sources:
        sentence = "`tool.literate` needs `sources`, packages and the folders their pages go to."
        raise LiterateError([Problem(str(file), 1, sentence)])
    for package in sources:
        if not (file.parent / package).is_dir():
            sentence = f"`tool.literate` names the package `{package}`, which is not a folder here."
            raise LiterateError([Problem(str(file), 1, sentence)])
    documents = table.get("documents", {})
    if not isinstance(documents, dict) or not all(
        isinstance(uri, str) and uri.endswith(".md") for uri in documents.values()
    ):
        sentence = "`documents` of `tool.literate` maps files to pages, whose names end in `.md`."
        raise LiterateError([Problem(str(file), 1, sentence)])
    for document in documents:
        if not (file.parent / document).is_file():
            sentence = f"`tool.literate` names the document `{document}`, which is not a file here."
            raise LiterateError([Problem(str(file), 1, sentence)])
    sequels = table.get("sequels", {})
    if not isinstance(sequels, dict) or not all(isinstance(one, str) for one in sequels.values()):
        sentence = "`sequels` of `tool.literate` maps names of functions to files of pages."
        raise LiterateError([Problem(str(file), 1, sentence)])
    for page in sequels.values():
        if not (file.parent / page).is_file():
            sentence = f"`tool.literate` names the sequel `{page}`, which is not a file here."
            raise LiterateError([Problem(str(file), 1, sentence)])
    machinery = table.get("machinery", [])
    if not isinstance(machinery, list) or not all(isinstance(one, str) for one in machinery):
        sentence = "`machinery` of `tool.literate` is a list of patterns of paths."
        raise LiterateError([Problem(str(file), 1, sentence)])
    words = table.get("words", {})
    if not isinstance(words, dict) or not all(
        isinstance(one, str) and word == " ".join(word.lower().split())
        for word, one in words.items()
    ):
        sentence = "`words` of `tool.literate` maps words, in lower case, to better ones."
        raise LiterateError([Problem(str(file), 1, sentence)])
    limits = table.get("limits", {})
    if not isinstance(limits, dict) or not all(
        isinstance(one, dict)
        and one.keys() <= set(COLUMNS)
        and all(isinstance(number, int | float) for number in one.values())
        for one in limits.values()
    ):
        sentence = (
            "`limits` of `tool.literate` maps patterns of paths to tables of numbers for "
            f"{', '.join(COLUMNS)}."
        )
        raise LiterateError([Problem(str(file), 1, sentence)])
    return Settings(root=file.parent, **{key: table[key] for key in table})  # type: ignore[arg-type]
