r"""
---
title: Keys of pages
summary: What a page depends on before it is written.
---

A page that was [kept on disk](../page/pages_on_disk.py) is taken only if all of this is as it was.
It is asked for with a broad brush: where a definition is added anywhere, all pages are made again,
as any of them could name it.

Results, models that run on pages, the editor, differences and notebooks depend on more than the
sources. A project that has them, or a page with such a part, is made anew each time.
"""

import hashlib
import importlib.metadata
import platform
import posixpath
import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from literate.measuring.measure import Measurement
from literate.page import katex
from literate.page.pages_on_disk import digest
from literate.problems import Problem
from literate.python.references import Network
from literate.reading.source import Source
from literate.settings import Settings
from literate.takeaway.notebook_cells import has_notebook
from literate.takeaway.page_files import PageFiles

# What makes a page of a source, beside this tool.
LIBRARIES = (
    "Jinja2", "Markdown", "Pygments", "markdown-it-py", "mdit-py-plugins", "mkdocs",
    "mkdocs-material", "pymdown-extensions",
)  # fmt: skip
_TOOL = Path(__file__).resolve().parents[2]
# The targets of links, as Markdown and Sphinx write them; and what shows a part of another page.
_LINKED = re.compile(r"\](?:\(|:)\s*<?([^)#>\s]+)|<([^<>#\s]+)>|\.\. +_[^:\n]*:\s*([^#\s]+)")
_SHOWN = re.compile(r'"(?:at work|difference|gallery)"')


def depend_on_sources_alone(settings: Settings, results: Mapping[str, object]) -> bool:
    r"""
    ## Can pages of this project be kept?
    """
    more = (
        results,
        settings.page_models,
        settings.edit is not None,
        settings.exercises,
        settings.differences,
        settings.sequels,
        settings.takes,
    )
    return not any(more)


def can_be_kept(source: Source, settings: Settings) -> bool:
    r"""
    ## Can this page?
    """
    return not (has_notebook(source, settings) or _SHOWN.search(source.text))


@cache
def of_tool() -> str:
    r"""
    ## The tool and its libraries
    """
    made = hashlib.sha256()
    for package in ("literate", "page_runner"):
        for path in sorted((_TOOL / package).rglob("*")):
            if path.is_file() and path.suffix not in (".pyc", ".part"):
                made.update(f"{path.relative_to(_TOOL)}\n".encode() + path.read_bytes())
    versions = [(name, _version(name)) for name in LIBRARIES]
    return digest(made.hexdigest(), versions, platform.python_version())


def _version(name: str) -> str:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return ""


def of_project(
    settings: Settings,
    page_files: PageFiles,
    sources: Mapping[str, Source],
    documents: Mapping[str, str],
    steps: object,
    others: Mapping[str, str],
) -> str:
    r"""
    ## What all pages of a project depend on

    With the definitions that others can name, and the names of `others` that notes may lead to.
    """
    named = [
        (source.module, path, [(one.kind, one.name, one.depth) for one in source.definitions])
        for path, source in sources.items()
    ]
    formulas = (katex.folder(settings) / "package.json").read_bytes()
    told = (
        settings,
        page_files.uris,
        page_files.made_for,
        documents,
        steps,
        sorted(others.items()),
    )
    return digest(of_tool(), formulas, named, *told)


def of_page(
    source: Source,
    root: Path,
    measurement: Measurement | None,
    unmeasured: tuple[Problem, ...],
    network: Network,
) -> str:
    r"""
    ## What one page depends on alone

    Its text, what was measured, the names in its code and who uses its own, and the files that its
    notes link to.
    """
    names = ["", *(definition.name for definition in source.definitions)]
    used = [network.used.get((source.path, name)) for name in names]
    folder = posixpath.dirname(source.path)
    linked = {name for match in _LINKED.findall(source.text) for name in match if name}
    files = [(name, _content(root / posixpath.join(folder, name))) for name in sorted(linked)]
    references = network.references[source.path]
    return digest(source.text, measurement, unmeasured, references, used, files)


def _content(path: Path) -> str:
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except (OSError, ValueError):
        return "a folder" if path.is_dir() else ""
