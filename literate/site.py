r"""
---
title: Site
summary: All sources of a project become all pages of its site.
---

The order is that of the arrows: sources are read, what they can link to is known, their examples
are measured, and then the pages are written. Nothing here knows the engine that builds the site.
"""

import posixpath
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import nullcontext, suppress
from dataclasses import dataclass, replace
from pathlib import Path

from literate import rules
from literate.addresses import Addresses
from literate.body import has_notebook
from literate.formulas import Formulas
from literate.links import Links
from literate.measure import Bench, Measurement, measure
from literate.page import File, Page, Takeaways, page
from literate.pieces import by_module, module_name
from literate.problems import LiterateError, Problem
from literate.repository import address
from literate.settings import Settings
from literate.snippet import snippet
from literate.source import Source, read

ASSETS = Path(__file__).parent / "assets"
NO_SOURCES: Mapping[str, Source] = {}


@dataclass(frozen=True)
class Site:
    r"""
    ## The sources of a site

    `uris` are the paths of their pages; both are keyed by the path of the file from the root.
    """

    settings: Settings
    sources: Mapping[str, Source]
    uris: Mapping[str, str]

    @property
    def links(self) -> Links:
        r"""
        ### What the notes can link to
        """
        return Links(self.sources, self.uris, self.settings.root, self.settings.docs)


def load(settings: Settings, known: Mapping[str, Source] = NO_SOURCES) -> Site:
    r"""
    ## Read the sources

    `known` are sources read before; one whose text is the same is taken as it is.

    Every Python file of the packages that the settings name, in the order of their paths. A file
    without a line of text has no page. All files that can't be parsed are reported together.
    """
    sources: dict[str, Source] = {}
    uris: dict[str, str] = {}
    problems: list[Problem] = []
    for package, prefix in settings.sources.items():
        folder = settings.root / package
        for path in sorted(folder.rglob("*.py")):
            name = path.relative_to(settings.root).as_posix()
            try:
                source = read(path, name, known.get(name))
            except LiterateError as error:
                problems += error.problems
                continue
            if source.text.strip():
                sources[name] = source
                uris[name] = _uri(path.relative_to(folder).as_posix(), prefix)
    if problems:
        raise LiterateError(problems)
    return Site(settings, sources, uris)


def _uri(relative: str, prefix: str) -> str:
    folder, file = posixpath.split(relative)
    stem = file.removesuffix(".py")
    name = "index" if stem == "__init__" else stem
    return posixpath.normpath(posixpath.join(prefix, folder, f"{name}.md"))


def measurements(
    site: Site,
    chosen: Iterable[Source],
    report: Callable[[str], None],
    bench: Bench | None = None,
) -> dict[str, Measurement]:
    r"""
    ## Measure the examples of the chosen sources

    `report` gets a line for each module that is really run. `bench` is what to measure with, if
    there is one already.
    """
    root = site.settings.root
    store = root / site.settings.store
    return measure(list(chosen), root, store, report=report, bench=bench)


def pages(
    site: Site,
    chosen: Iterable[Source],
    measured: Mapping[str, Measurement],
    setter: Formulas | None = None,
) -> Iterator[Page]:
    r"""
    ## Write the pages of the chosen sources

    One by one, as they are asked for. `setter` sets the formulas, if there is one already.

    The problems of a page come with it: those that its notes have, and those against the
    conventions.
    """
    links = site.links
    taken = _Takeaways(site)
    katex = site.settings.root / site.settings.katex
    with nullcontext(setter) if setter else Formulas(katex) as formulas:
        for source in chosen:
            takeaways, problems = taken.of(source)
            written = page(source, links, formulas, measured, takeaways)
            problems += [*written.problems, *rules.problems(source)]
            yield replace(written, problems=tuple(sorted(problems)))


class _Takeaways:
    r"""
    What goes with the pages.
    """

    def __init__(self, site: Site) -> None:
        self.uris = site.uris
        self.by_module = by_module(site.sources.values())
        repository = address(site.settings.root)
        self.addresses = Addresses(repository=repository, notebooks=site.settings.notebooks)

    def of(self, source: Source) -> tuple[Takeaways, list[Problem]]:
        snippets = dict(self.snippets(source))
        if not has_notebook(source):
            return Takeaways(None, None, snippets), []
        # Jupytext takes long to import, and most sites of most people have no notebooks.
        from literate.notebook import build, file_name

        module = module_name(source.path)
        name = file_name(source, module)
        try:
            notebook = File(f"notebooks/{name}", build(self.by_module, module))
        except LiterateError as error:
            return Takeaways(None, None, snippets), list(error.problems)
        return Takeaways(notebook, self.addresses.of_colab(name), snippets), []

    def snippets(self, source: Source) -> Iterator[tuple[str, File]]:
        r"""
        Not everything can be copied: what reads the file it stands in can't. It has no snippet.
        """
        inside = self.uris[source.path].removesuffix(".md")
        for one in source.definitions:
            if one.depth == 0 and one.docstring is not None and not one.name.startswith("_"):
                with suppress(LiterateError):
                    text = snippet(self.by_module, module_name(source.path), one.name)
                    yield one.name, File(f"snippets/{inside}/{one.name}.py", text)


def correct_pages(site: Site, report: Callable[[str], None]) -> list[Page]:
    r"""
    ## All pages, or an error

    Raises [LiterateError](problems.py#LiterateError) with the problems of all pages, if there are
    any.
    """
    sources = list(site.sources.values())
    written = list(pages(site, sources, measurements(site, sources, report)))
    problems = [problem for one in written for problem in one.problems]
    if problems:
        raise LiterateError(problems)
    return written


def assets(settings: Settings) -> Iterator[tuple[str, Path]]:
    r"""
    ## The files that the pages need beside them

    Each with its path on the site: the tool's own style sheet and script, and of KaTeX the style
    sheet, its licence and the fonts in the one format that every browser of today reads.
    """
    for path in sorted(ASSETS.iterdir()):
        yield f"assets/{path.name}", path
    katex = settings.root / settings.katex
    yield "assets/katex/katex.min.css", katex / "dist" / "katex.min.css"
    yield "assets/katex/LICENSE", katex / "LICENSE"
    for path in sorted((katex / "dist" / "fonts").glob("*.woff2")):
        yield f"assets/katex/fonts/{path.name}", path


def write(site: Site, folder: Path, report: Callable[[str], None]) -> list[Path]:
    r"""
    ## Write the pages to a folder

    For any other engine that builds a site from Markdown: the hand-written documents, the pages
    and what they need. Nothing is written when a page has a problem. Files that lie in the folder
    and are not part of the site stay.
    """
    pages_by_uri: dict[str, str] = {}
    for one in correct_pages(site, report):
        pages_by_uri |= {one.uri: one.markdown, **one.files}
    docs = site.settings.root / site.settings.docs
    copied = {path.relative_to(docs).as_posix(): path for path in _files(docs)}
    copied.update(assets(site.settings))
    written = []
    for uri in sorted({*pages_by_uri, *copied}):
        target = folder / uri
        target.parent.mkdir(parents=True, exist_ok=True)
        beside = target.with_name(target.name + ".part")
        if uri in pages_by_uri:
            beside.write_text(pages_by_uri[uri], encoding="utf-8", newline="\n")
        else:
            shutil.copyfile(copied[uri], beside)
        beside.replace(target)
        written.append(target)
    return written


def _files(folder: Path) -> Iterator[Path]:
    return (path for path in sorted(folder.rglob("*")) if path.is_file())
