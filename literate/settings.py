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

import re
import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

from literate.problems import LiterateError, Problem, line_of, mismatches, told

# More lines than that nobody reads while a site is built.
MOST_WARNINGS = 20


@dataclass(frozen=True)
class Settings:
    r"""
    ## The settings

    * `root` is the folder of `pyproject.toml`; paths in the others begin there
    * `sources` maps each package to the folder of the site that its pages go to
    * `exclude` are patterns of paths, of folders and files of the packages that become no pages;
      what else is [left out](reading/python_files.py) needs no words
    * `docstrings` is the one style that [docstrings](reading/docstrings.py) are written in,
      "google", "numpy", "sphinx" or "markdown"; if it isn't said, each section is taken for what it
      looks like
    * `docs` holds the hand-written pages and pictures
    * `documents` maps hand-written pages that lie elsewhere, such as the changelog, to their pages
    * `notebooks` is where notebooks are written
    * `results` holds the [results](results/records.py) that programs have written
    * `experiments` names the `packages` that a measurement [may come by](results/made_of.py), and
      as `runner` the modules of them that run experiments and decide no number
    * `sequels` maps the name of a function to a page: the notebook of a page that defines such a
      function ends with the last part of that page's [notebook](takeaway/notebook.py)
    * `machinery` are patterns of paths, of programs that nobody copies out of their package, so
      their pages have no [notebooks](takeaway/notebook.py)
    * `examples` are patterns of paths, of pages whose `example()` is [run and
      measured](measuring/measure.py) and whose `notebook()` becomes a notebook; on any other page
      functions of these names are like all others
    * `exercises` is a file with lines that a reader should [write](takeaway/exercises.py) in a
      notebook, if there are any
    * `looks` is a file with cells that [draw](takeaway/looks.py) what the lines of a page make
    * `takes` is a file with the minutes and memory that a notebook
      [takes](takeaway/requirements.py)
    * `search` is a file with the [words of readers](page/search.py), if there is one
    * `words` maps [words](reading/rules.py) that notes should not say to what to say for them
    * `limits` has, for patterns of paths, the most that a page should have of what is
      [counted](reading/count.py)
    * `lessons` says which pages teach, and what [these owe](reading/lessons.py) their readers
    * `page_models` has the models that [run on pages](../page_runner/__init__.py), and for each its
      pages
    * `edit` has the packages whose pages can be [edited](../page_runner/edit/__init__.py), all of
      `sources` if it names none, and what stands in for torch, if they need it; without `edit`, no
      page can
    * `compare` maps a result to the folder of the site whose page compares the pages that its
      tables name: they lead there
    * `differences` names a base class; each class below it [replaces a line](page/differences.py)
      of another one
    * `inventories` are the addresses of other projects' documentation, to whose
      [names](page/inventories.py) notes may lead
    * `katex` is the npm package that sets formulas, where the project has it, with those of the
      [fonts](page/fonts.py) beside it; they are [fetched](page/katex.py) where it has not
    * `store` keeps what was measured, until the sources change
    * `strict` says whether a problem on a page stops the build; if not, it is a warning
    """

    root: Path
    sources: Mapping[str, str]
    exclude: Sequence[str] = ()
    docstrings: str = ""
    docs: str = "docs"
    documents: Mapping[str, str] = field(default_factory=dict)
    notebooks: str = "notebooks"
    results: str = "results"
    experiments: Mapping[str, Sequence[str]] = field(default_factory=dict)
    sequels: Mapping[str, str] = field(default_factory=dict)
    machinery: Sequence[str] = ()
    examples: Sequence[str] = ()
    exercises: str = ""
    looks: str = ""
    takes: str = ""
    search: str = ""
    words: Mapping[str, str] = field(default_factory=dict)
    limits: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    lessons: Mapping[str, Any] = field(default_factory=dict)
    page_models: Mapping[str, Any] = field(default_factory=dict)
    edit: Mapping[str, Any] | None = None
    compare: Mapping[str, str] = field(default_factory=dict)
    differences: Mapping[str, Any] = field(default_factory=dict)
    inventories: Mapping[str, str] = field(default_factory=dict)
    katex: str = ""
    store: str = ".cache/literate"
    strict: bool = True

    def runs(self, path: str) -> bool:
        r"""
        ### Is the example of a page to be run?

        Nothing is, that its author hasn't named.
        """
        return any(fnmatch(path, pattern) for pattern in self.examples)

    def refuse_sources(self, folder: Path) -> None:
        r"""
        ### Write to no folder that pages are made from

        What is written there could take the place of a file that somebody has written.
        """
        full = folder.resolve()
        for name in (*self.sources, self.docs):
            own = (self.root / name).resolve()
            # A package can be the whole project, with room for other folders.
            if own != self.root.resolve() and full.is_relative_to(own):
                sentence = f"is in `{name}`, whose files are the author's; name another folder."
                raise LiterateError([Problem(str(folder), 1, sentence)])

    def judge(self, problems: Iterable[Problem], report: Callable[[str], None]) -> None:
        r"""
        ### Stop, or go on

        Problems stop a build where the settings are strict. Else they are [told](problems.py#told),
        but not all of them.
        """
        distinct = sorted(set(problems))
        if distinct and self.strict:
            raise LiterateError(distinct)
        for line in told(distinct, MOST_WARNINGS):
            report(line)


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
            text = file.read_text(encoding="utf-8")
            table = tomllib.loads(text).get("tool", {}).get("literate")
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise LiterateError([Problem(str(file), 1, f"is not TOML: {error}.")]) from None
        if table is not None:
            return _settings(file, table, text)
    sentence = "no `pyproject.toml` with a table `[tool.literate]` here or above."
    raise LiterateError([Problem(str(start), 1, sentence)])


def _settings(file: Path, table: Mapping[str, Any], text: str) -> Settings:
    if wrong := mismatches(table, Path(__file__).with_suffix(".json"), "tool.literate"):
        raise LiterateError(
            Problem(str(file), _line(text, place), sentence) for place, sentence in wrong
        )
    named = (
        ("package", table["sources"], Path.is_dir, "folder"),
        ("document", table.get("documents", ()), Path.is_file, "file"),
        ("sequel", table.get("sequels", {}).values(), Path.is_file, "file"),
        ("result", table.get("compare", ()), Path.is_file, "file"),
    )
    for what, names, is_there, kind in named:
        for name in names:
            if not is_there(file.parent / name):
                sentence = f"`tool.literate` names the {what} `{name}`, which is not a {kind} here."
                raise LiterateError([Problem(str(file), line_of(name, text), sentence)])
    return Settings(root=file.parent, **table)


def _line(text: str, place: Sequence[str | int]) -> int:
    r"""
    The line of a setting: each part of its path stands in the line of the one before, or below it.
    """
    table = re.search(r"(?m)^\s*\[\s*tool\s*\.\s*literate\b", text)
    at = table.start() if table else 0
    for name in place:
        key = re.compile(rf"(?m)(?:^|[\[{{,.])\s*[\"']?{re.escape(str(name))}[\"']?\s*[=.\]]")
        match = key.search(text, at)
        at = match.end() - 1 if match else at
    return text.count("\n", 0, at) + 1
