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
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from fnmatch import fnmatch
from functools import cached_property
from pathlib import Path
from typing import Any

from literate.measuring.claims import UNMEASURED
from literate.measuring.measure import Bench, Measurement, measure
from literate.page import (
    differences,
    fonts,
    inventories,
    katex,
    lists,
    result_pages,
    scripts,
    search,
    shared_pictures,
)
from literate.page.changes import Changes
from literate.page.context import context
from literate.page.documents import document
from literate.page.formulas import Formulas
from literate.page.kept_pages import KeptPages, inputs_of
from literate.page.links import Links, folder
from literate.page.page import Page, page
from literate.page.pages_on_disk import digest
from literate.page.steps import steps
from literate.problems import LiterateError, Problem
from literate.python import kept_names, names_in_notes
from literate.python.lacking import told_once
from literate.python.references import modules_on_demand, network
from literate.python.references import on_demand as network_on_demand
from literate.python.seen import Seen
from literate.reading import lessons, oracles
from literate.reading.front_matter import UNTITLED
from literate.reading.import_folders import import_folders
from literate.reading.labels import UNDEFINED, UNLABELLED, undefined, unlabelled
from literate.reading.on_demand import OnDemand
from literate.reading.python_files import IDLE, idle, placed, python_files
from literate.reading.rst_documents import ENDING, in_markdown
from literate.reading.rules import INCLUDED
from literate.reading.source import Source, read, unread
from literate.results import files
from literate.results.fingerprints import fingerprint
from literate.results.made_of import Code
from literate.results.records import Result, page_of
from literate.settings import Settings
from literate.takeaway import assembly, exercises, feed, looks, page_keys, twin
from literate.takeaway.notebook import planned
from literate.takeaway.notebook_cells import has_notebook
from literate.takeaway.page_files import PageFiles
from page_runner.background import BackgroundExports
from page_runner.build import PageModelError, PageModels
from page_runner.edit.files import PLACE as EDITOR
from page_runner.edit.files import Edit, EditError, module_name

THEME = Path(__file__).parent / "engines" / "theme"

# What pages need of an engine, beside what its settings name.
SHEETS = ("assets/katex/katex.min.css", "assets/literate.css", "assets/forms.css")
SCRIPTS = ("assets/literate.js",)
EXTENSIONS: Mapping[str, Mapping[str, object]] = {
    # Boxes, such as notes and warnings.
    "admonition": {},
    "footnotes": {},
    # The rows.
    "md_in_html": {},
    "tables": {},
    "toc": {"permalink": True, "title": "On this page"},
    # Exercises, whose answers are folded.
    "pymdownx.details": {},
    "pymdownx.highlight": {},
    "pymdownx.superfences": {},
}
# How a link asks for a change of another page, or for all of them.
SHOWN_CHANGES = ('"difference"', '"gallery"')
# Outside strict settings these are no mistakes: a file's name is a title, labels, substitutions and
# other files are what Sphinx has, and what a pattern excludes need not be there.
REMARKS = (IDLE, INCLUDED, UNDEFINED, UNLABELLED, UNTITLED)
NO_SOURCES: Mapping[str, Source] = {}
# Why the example of a page has no measurement, by the path of the page.
Unmeasured = Mapping[str, tuple[Problem, ...]]
ALL_MEASURED: Unmeasured = {}


@dataclass(frozen=True)
class Site:
    r"""
    ## The sources of a site

    `uris` are the paths of their pages, and `documents` those of the hand-written ones; all are
    keyed by the path of the file from the root, and so are the `results`. `resolves_html` is that
    of its [links](page/links.py#Links), `url` its address and `name` what its settings call it, if
    these are known. `conflicts` names
    files that want the page of another, and `import_folders` are where the sources are
    [imported from](reading/import_folders.py).
    """

    settings: Settings
    sources: Mapping[str, Source]
    uris: Mapping[str, str]
    documents: Mapping[str, str]
    resolves_html: bool = False
    url: str = ""
    name: str = ""
    results: Mapping[str, Result] = field(default_factory=dict)
    conflicts: tuple[Problem, ...] = ()
    import_folders: Mapping[str, str] = field(default_factory=dict)

    @cached_property
    def code(self) -> Code:
        r"""
        ### What its results are made of
        """
        return code_of(self.settings)

    @property
    def links(self) -> Links:
        r"""
        ### What the notes can link to
        """
        root, docs = self.settings.root, self.settings.docs
        return Links(
            self.sources,
            self.uris,
            root,
            docs,
            self.documents,
            self.resolves_html,
            self.results,
            self.settings.results,
            self.code,
        )

    @property
    def inventory(self) -> dict[str, bytes]:
        r"""
        ### What another site can look up

        The file of the [inventory](page/inventories.py), with its path on the site.
        """
        home = next(iter(self.settings.sources))
        project = self.settings.root.name if home == "." else posixpath.basename(home)
        return {inventories.FILE: inventories.of_site(project, self.sources, self.uris)}

    def search_index(self, made: Iterable[Page]) -> dict[str, str]:
        r"""
        ### What a reader can look up

        In the pages that were `made`, and in documents and results. It is the file of the
        [search](page/search.py#index), with its path on the site.
        """
        of_sources = {page.uri: page.found for page in made if page.found}
        by_hand = {self.settings.root / path: uri for path, uri in self.documents.items()}
        measured = {result.uri: result for result in self.results.values()}
        settings = self.settings
        home = next(iter(settings.sources))
        inside = "" if home == "." else f"{home}/"
        # What the site is about comes first; then programs for its readers; then what made it.
        aside = dict.fromkeys([*measured, *settings.documents.values()], 2)
        for path, uri in self.uris.items():
            if any(fnmatch(path, pattern) for pattern in settings.machinery):
                aside[uri] = 1
            elif not path.startswith(inside):
                aside[uri] = 2
        named = settings.search and (settings.root / settings.search).read_text("utf-8")
        of_readers = search.words(named)
        return search.index(of_sources, by_hand, measured, aside, of_readers)


def code_of(settings: Settings) -> Code:
    r"""
    ## The code that results are made of
    """
    told = settings.experiments
    return Code(settings.root, told.get("packages", ()), told.get("runner", ()))


def load(settings: Settings, known: Mapping[str, Source] = NO_SOURCES) -> Site:
    r"""
    ## Read the sources

    `known` are sources read before; one whose text is the same is taken as it is.

    Every Python file of the packages that the settings name, in the order of their paths. A file
    without a line of text has no page. All files that can't be parsed are reported together, where
    the settings are strict; else each is a page that shows its lines.
    """
    sources: dict[str, Source] = {}
    problems: list[Problem] = []
    found = python_files(settings)
    folders = import_folders(settings.root, settings.sources, found)
    for name in found:
        try:
            source = _read(settings, name, folders[name], known.get(name))
        except LiterateError as error:
            problems += error.problems
            continue
        if source.text.strip():
            sources[name] = source
    documents = _documents(settings)
    recorded: dict[str, Result] = {}
    try:
        recorded = files.read(settings.root, settings.results, settings.root / settings.store)
    except LiterateError as error:
        problems += error.problems
    for name in settings.compare:
        if not problems and name not in recorded:
            sentence = f"`tool.literate.compare` names `{name}`, which is no result."
            problems.append(Problem("pyproject.toml", 1, sentence))
    pages_of_results = {path: result.uri for path, result in recorded.items()}
    wanted = {name: page for name, page in found.items() if name in sources}
    uris, conflicts = placed(wanted, documents | pages_of_results, settings)
    if settings.strict:
        problems += conflicts
    if not wanted and not problems:
        problems.append(_no_source(settings))
    if problems:
        raise LiterateError(problems)
    return Site(
        settings,
        sources,
        uris,
        documents,
        results=recorded,
        conflicts=tuple(conflicts),
        import_folders=folders,
    )


def _no_source(settings: Settings) -> Problem:
    named = " and ".join(f"`{package}`" for package in settings.sources)
    sentence = f"`tool.literate.sources` names {named}, where no Python file has a text; "
    sentence += "name the folder that your modules lie in."
    return Problem("pyproject.toml", 1, sentence)


def _read(settings: Settings, name: str, folder: str, known: Source | None = None) -> Source:
    path = settings.root / name
    try:
        source = read(path, name, known)
    except LiterateError as error:
        if settings.strict or not path.is_file():
            raise
        source = unread(path, name, error.problems[0])
    if (source.style, source.import_folder) == (settings.docstrings, folder):
        return source
    return replace(source, style=settings.docstrings, import_folder=folder)


def on_demand(settings: Settings) -> Site:
    r"""
    ## Read a source when it is asked for

    For a few of the pages. A file that can't be parsed is reported when something asks for it.
    """
    root = settings.root
    found = python_files(settings)
    folders = import_folders(root, settings.sources, found)
    wanted = {name: page for name, page in found.items() if (root / name).read_bytes().strip()}
    documents = _documents(settings)
    recorded = files.on_demand(root, settings.results, root / settings.store)
    others = documents | {path: page_of(path) for path in recorded}
    uris, _ = placed(wanted, others, settings)
    sources = OnDemand(uris, lambda name: _read(settings, name, folders[name]))
    # That the code has changed since is told to readers; it is no problem of a page.
    results = OnDemand(recorded, lambda path: replace(recorded[path], of="", sources={}))
    return Site(settings, sources, uris, documents, results=results, import_folders=folders)


def _documents(settings: Settings) -> dict[str, str]:
    docs = settings.root / settings.docs
    by_hand = {
        path.relative_to(settings.root).as_posix(): path.relative_to(docs).as_posix()
        for path in _files(docs)
        if path.suffix == ".md"
    }
    return {**by_hand, **settings.documents}


def measurements(
    site: Site, chosen: Iterable[Source], report: Callable[[str], None], bench: Bench | None = None
) -> tuple[dict[str, Measurement], Unmeasured]:
    r"""
    ## Measure the examples of the chosen sources

    Of those that the [settings](settings.py#Settings.runs) name, and why some have no measurement:
    where the settings are strict, that is an error. `report` gets a line for each module that is
    really run. `bench` measures, if there is one.
    """
    root = site.settings.root
    named = [source for source in chosen if site.settings.runs(source.path)]
    store = root / site.settings.store
    if site.settings.strict:
        return measure(named, root, store, report=report, bench=bench), {}
    measured: dict[str, Measurement] = {}
    unmeasured: dict[str, tuple[Problem, ...]] = {}
    with nullcontext(bench) if bench else Bench(root, store) as at:
        for source in named:
            try:
                measured |= measure([source], root, store, report=report, bench=at)
            except LiterateError as error:
                unmeasured[source.path] = error.problems
    return measured, unmeasured


def pages(
    site: Site,
    chosen: Sequence[Source],
    measured: Mapping[str, Measurement],
    kept_pages: KeptPages | None = None,
    editor: Edit | None = None,
    unmeasured: Unmeasured = ALL_MEASURED,
) -> Iterator[Page]:
    r"""
    ## Write the pages of the chosen sources

    One by one, as they are asked for; what is [kept](page/kept_pages.py) already stays as it is.
    With an `editor` they offer it: to check pages none is needed. A page that is `unmeasured` says
    why.
    The problems of a page come with it: those of its notes, and those against the conventions.
    """
    links = site.links
    page_files = PageFiles(site.settings, site.sources.values(), site.uris, site.url, site.results)
    references = network(site.sources.values())
    setting = site.settings.differences
    by_class = differences.find(site.sources, references, setting)
    changes = Changes(by_class, setting, measured, references)
    all_steps = steps(site.sources.values())
    names = names_in_notes.names(site.sources.values(), site.settings.root)
    kept_pages = kept_pages or KeptPages(None)
    if kept_pages.documented is None:
        kept_pages.documented = inventories.documented(site.settings)
    others = kept_pages.documented
    on_disk = kept_pages.on_disk
    if not page_keys.depend_on_sources_alone(site.settings, site.results):
        on_disk = None
    seen = Seen()
    if on_disk:
        links = replace(links, pages=seen.over(site.sources))
        modules = seen.over(references.modules)
        changes = replace(changes, references=replace(references, modules=modules))
        page_files.watched(seen)
        every = page_keys.of_project(
            site.settings, page_files, site.sources, site.documents, all_steps, others
        )
        on_disk.begin(every, {path: digest(source.text) for path, source in site.sources.items()})
    kept = page_models(site.settings, PageModels.kept)
    origins: dict[str, object] = {}
    if kept_pages.bench is not None:
        origins = {
            source.path: (
                inputs_of(source, links, measured.get(source.path), references),
                unmeasured.get(source.path),
            )
            for source in chosen
        }
    new = [
        source.path
        for source in chosen
        if kept_pages.page(source.path, origins.get(source.path), kept.get(source.path)) is None
    ]
    shown = page_models(site.settings, lambda runs: runs.shown(new), kept_pages.background)
    pairs = site.settings.compare.items()
    compared = {
        path: there for name, there in pairs for path in _paths(links.results[name], site.sources)
    }
    with Formulas(katex.folder(site.settings)) as formulas:
        around = context(links, formulas, measured, changes, all_steps, unmeasured, others)
        for source in chosen:
            origin = origins.get(source.path)
            graph = kept.get(source.path)
            written = kept_pages.page(source.path, origin, graph)
            own = ""
            if on_disk and page_keys.can_be_kept(source, site.settings):
                failed = unmeasured.get(source.path, ())
                root = site.settings.root
                measurement = measured.get(source.path)
                own = page_keys.of_page(source, root, measurement, failed, references)
                written = written or on_disk.page(source.path, own)
            if written is None:
                seen.begin()
                takeaways, problems = page_files.of(source)
                size, flow = shown.get(source.path, (0, ""))
                there = compared.get(source.path, "")
                takeaways = replace(takeaways, weight_bytes=size, flow=flow, compare=there)
                offer = editor.offer(source.path) if editor else None
                if offer:
                    asked = assembly.for_page(site.settings, source)
                    takeaways = replace(takeaways, edit=replace(offer, exercises=asked))
                written = page(source, around, takeaways)
                told = twin.of_page(source, links, measured.get(source.path))
                known = search.known(search.of_source(source))
                told_here = (*written.problems, *problems)
                written = replace(written, problems=told_here, twin=told, found=known)
                if origin is not None:
                    kept_pages.pages[source.path] = origin, graph, written
                if on_disk and own:
                    on_disk.keep(source.path, own, seen.paths, written)
            against = [
                *_owed(site.settings, written.problems),
                *kept_pages.problems(source, names, site.settings),
                *_of_neighbours(site.settings, source, measured.get(source.path)),
            ]
            yield replace(written, problems=tuple(sorted({*told_once(against)})))


def problems(
    site: Site,
    chosen: Sequence[Source],
    measured: Mapping[str, Measurement],
    unmeasured: Unmeasured = ALL_MEASURED,
) -> Iterator[Problem]:
    r"""
    ## The problems of a few pages

    Of a site that is read [on demand](#on_demand): all that [pages](#pages) would report of them,
    and nothing that only their readers need is made.
    """
    root, setting = site.settings.root, site.settings.differences
    contents = {path: (root / path).read_bytes() for path in site.sources}
    references = network_on_demand(site.sources, site.import_folders)
    base = setting["base"].partition(":")[2] if setting else ""
    shows = any(word in source.text for source in chosen for word in (base, *SHOWN_CHANGES))
    among = [path for path, text in contents.items() if base.encode() in text] if shows else []
    by_class = differences.find(site.sources, references, setting, among) if among else {}
    changes = Changes(by_class, setting, measured, references)
    all_steps = steps(site.sources[path] for path, text in contents.items() if b"layout:" in text)
    kept = root / site.settings.store / "names.json"
    has = kept_names.taken_by_all(contents, site.sources.__getitem__, kept)
    names = names_in_notes.together(has, root)
    modules = modules_on_demand(site.sources, site.import_folders)
    rules = KeptPages(None)
    yield from unlabelled(chosen, site.sources)
    yield from undefined(chosen)
    with Formulas(katex.folder(site.settings)) as formulas:
        around = context(site.links, formulas, measured, changes, all_steps, unmeasured)
        for source in chosen:
            of_page = _owed(site.settings, page(source, around).problems)
            yield from told_once([*of_page, *rules.problems(source, names, site.settings)])
            yield from _of_neighbours(site.settings, source, measured.get(source.path))
            if has_notebook(source, site.settings):
                try:
                    planned(modules, source.module, site.settings)
                except LiterateError as error:
                    yield from error.problems


def _owed(settings: Settings, found: Iterable[Problem]) -> Iterator[Problem]:
    r"""
    Where nobody asked for a measurement, a list of names in a note is not taken for a shape; and
    where a page needs no title, it is only said what the page is called.
    """
    for problem in found:
        if problem.kind == UNTITLED and not settings.strict:
            file = Path(problem.path)
            name = file.parent.name if file.stem == "__init__" else file.stem
            sentence = f"the module has no title of its own, so its page is called “{name}”."
            yield replace(problem, sentence=sentence)
        elif settings.strict or settings.runs(problem.path) or problem.kind != UNMEASURED:
            yield problem


def _of_neighbours(
    settings: Settings, source: Source, measurement: Measurement | None
) -> Iterator[Problem]:
    r"""
    What other files say of a page: its exercises, and its tests.
    """
    yield from exercises.problems(settings, source, measurement)
    yield from assembly.problems(settings, source)
    yield from oracles.problems(source, settings.root, lessons.of_project(settings))


def of_all(site: Site) -> Iterator[Problem]:
    r"""
    ## Problems that no page has alone

    Files that want one page, patterns that exclude nothing, lessons that are called the same,
    exercises and cells of no page, and reasons that no lesson needs.
    """
    yield from site.conflicts
    yield from idle(site.settings)
    yield from unlabelled(site.sources.values(), site.sources)
    yield from undefined(site.sources.values())
    yield from lessons.called_the_same(site.sources.values(), lessons.of_project(site.settings))
    yield from exercises.left_over(site.settings, site.sources)
    yield from looks.left_over(site.settings, site.sources)
    owed = lessons.of_project(site.settings)
    yield from oracles.left_over(site.sources, site.settings.root, owed)


def _paths(result: Result, sources: Mapping[str, Source]) -> set[str]:
    r"""
    The pages that the tables of a result name.
    """
    cells = {cell for one in result.tables.values() for row in one.rows for cell in row.values()}
    return {cell for cell in cells if cell in sources}


def made_pages(site: Site) -> list[Page]:
    r"""
    ## Write the pages that no file has

    Those of the results, and the lists of papers and terms.
    """
    links = site.links
    twins = {result.uri: twin.of_result(result, links) for result in links.results.values()}
    twins |= twin.of_lists(links)
    made = [*result_pages.pages(links), *lists.pages(links)]
    return [replace(page, twin=twins.get(page.uri, "")) for page in made]


def for_programs(site: Site, pages: Sequence[Page]) -> dict[str, str]:
    r"""
    ## What programs read

    The [twins](takeaway/twin.py) of the pages and what leads to them, and the
    [feed](takeaway/feed.py). An engine would take twins for pages, so they are put into the site
    when it is built.
    """
    home = next((page for page in pages if page.uri == "index.md"), pages[0])
    name = site.name or home.title
    made = twin.for_programs(pages, site.links, site.url, name)
    paths = {uri: path for path, uri in site.uris.items()}
    news = feed.feed(pages, paths, feed.days(site.settings.root), site.url, name)
    return {**made, feed.FEED: news} if news else made


def documents(site: Site, chosen: Iterable[str] | None = None) -> Iterator[Page]:
    r"""
    ## Write the pages of the hand-written documents

    Of those that are chosen by their paths; of all, if none are.
    """
    links = site.links
    root = site.settings.root
    names = names_in_notes.names(site.sources.values(), root)
    for path in site.documents if chosen is None else chosen:
        written = document(path, links)
        text = (root / path).read_text(encoding="utf-8")
        found = [*written.problems]
        if site.settings.strict and not path.endswith(ENDING):
            found += names_in_notes.problems_of_document(path, text, names)
        sorted_problems = tuple(sorted(found))
        in_words = twin.of_document(path, in_markdown(path, text), links)
        yield replace(written, problems=sorted_problems, twin=in_words)


def with_pictures(
    site: Site, made: Sequence[Page], report: Callable[[str], None]
) -> Sequence[Page]:
    r"""
    ## Pages with a picture for those who get a link to them

    An address in it has to be absolute, so a site without one needs none. Where the settings are
    not strict and nothing here can draw, `report` is told.
    """
    store = site.settings.root / site.settings.store
    home = next((page.title for page in made if page.uri == "index.md"), "")
    name = site.name or home

    def drawn(page: Page) -> Page:
        uri = posixpath.join(folder(page.uri), shared_pictures.NAME)
        picture = shared_pictures.picture(store, name, page.title, page.summary)
        told = page.markdown.replace("---\n", f"---\npicture: {shared_pictures.NAME}\n", 1)
        return replace(page, markdown=told, files={**page.files, uri: picture})

    try:
        return [drawn(page) for page in made]
    except LiterateError as error:
        site.settings.judge(error.problems, report)
        return made


def correct_pages(
    site: Site,
    report: Callable[[str], None],
    kept_pages: KeptPages | None = None,
    warn: Callable[[str], None] | None = None,
) -> list[Page]:
    r"""
    ## All pages, or an error

    The [settings](settings.py#Settings.judge) say whether the problems of the pages stop it; if
    not, `warn` gets them, or else `report`. What is no mistake is reported only.
    """
    sources = list(site.sources.values())
    measured, unmeasured = _measured(site, report, kept_pages)
    try:
        made = list(pages(site, sources, measured, kept_pages, edit(site.settings), unmeasured))
    except EditError as error:
        raise LiterateError([Problem("pyproject.toml", 1, str(error))]) from None
    if site.url:
        made = [*with_pictures(site, made, report)]
    written = [*made, *documents(site), *made_pages(site)]
    problems = [*(problem for page in written for problem in page.problems), *of_all(site)]
    remarks = [] if site.settings.strict else [one for one in problems if one.kind in REMARKS]
    site.settings.judge([one for one in problems if one not in remarks], warn or report)
    site.settings.judge(remarks, report)
    for sentence in unedited(site.settings, sources):
        report(sentence)
    return written


def _measured(
    site: Site, report: Callable[[str], None], kept_pages: KeptPages | None
) -> tuple[Mapping[str, Measurement], Unmeasured]:
    r"""
    The measurements of all pages; of those whose text is as it was in the last build, the same.
    """
    sources = site.sources
    if kept_pages is None or kept_pages.bench is None:
        return measurements(site, sources.values(), report)
    kept_pages.bench.store.look_again()
    same = {path for path, source in kept_pages.sources.items() if sources.get(path) is source}
    new = [source for path, source in sources.items() if path not in same]
    measured, unmeasured = measurements(site, new, report, kept_pages.bench)
    kept = {path: measurement for path, measurement in kept_pages.measured.items() if path in same}
    kept_pages.measured = kept | measured
    failed = {path: why for path, why in kept_pages.unmeasured.items() if path in same}
    kept_pages.unmeasured = {**failed, **unmeasured}
    kept_pages.sources = sources
    return kept_pages.measured, kept_pages.unmeasured


def generated(settings: Settings, kept_pages: KeptPages | None = None) -> dict[str, str | bytes]:
    r"""
    ## What belongs to the site as a whole

    By where they go: the style sheet of KaTeX, the [fonts](page/fonts.py), what [runs on
    pages](../page_runner/build.py), and the list of what can be edited. Formulas don't wait for
    their fonts, which KaTeX would let them do.
    """
    kept_pages = kept_pages or KeptPages(None)
    kept_pages.graphs |= page_models(settings, PageModels.files, kept_pages.background)
    sheet = (katex.folder(settings) / "dist/katex.min.css").read_text(encoding="utf-8")
    swapped = sheet.replace("font-display:block", "font-display:swap")
    faces = {f"assets/fonts/{name}": content for name, content in fonts.files(settings)}
    made: dict[str, str | bytes] = {"assets/katex/katex.min.css": swapped}
    made |= {**faces, **kept_pages.graphs}
    if editor := edit(settings):
        # The kernels come with the editor, too.
        for place, _ in editor.files():
            made.pop(place, None)
        made[f"{EDITOR}/sources/index.json"] = editor.index()
    return made


def page_models(
    settings: Settings,
    ask: Callable[[PageModels], dict[str, Any]],
    background: BackgroundExports | None = None,
) -> dict[str, Any]:
    r"""
    ## What runs on pages

    The answer of all that [runs](../page_runner/build.py#PageModels), where the settings name
    something. What isn't exported yet is so before the answer, or [in the
    background](../page_runner/background.py).
    """
    places = settings.root, exports(settings), settings.sources
    given = {**settings.page_models, "fingerprint": fingerprint, "background": background}
    given["today"] = code_of(settings).today
    try:
        return ask(PageModels(*places, **given)) if settings.page_models else {}
    except PageModelError as error:
        raise LiterateError([Problem(settings.page_models["record"], 1, str(error))]) from None


def exports(settings: Settings) -> Path:
    r"""
    ## Where the exported graphs are kept
    """
    return settings.root / settings.store / "page_models"


def edit(settings: Settings) -> Edit | None:
    r"""
    ## What the pages' editor needs

    None, where the settings name nothing that can be [edited](../page_runner/edit/files.py).
    """
    if settings.edit is None:
        return None

    def left_out(path: str) -> bool:
        return any(fnmatch(path, pattern) for pattern in settings.machinery)

    told = {name: value for name, value in settings.edit.items() if name not in ("npm", "packages")}
    packages = settings.edit.get("packages", settings.sources)
    # What is no page may be imported by one.
    found = python_files(replace(settings, exclude=()))
    folders = import_folders(settings.root, settings.sources, found)
    modules = {path: folders[path] for path in found if _is_below(path, packages)}
    places = settings.root, settings.root / settings.store / "edit", katex.program("node")
    editor = Edit(*places, katex.of_editor(settings), modules, **told, left_out=left_out)
    return editor.of_pages({*python_files(settings)}) if settings.exclude else editor


def unedited(settings: Settings, sources: Iterable[Source]) -> Iterator[str]:
    r"""
    ## Exercises that a page can't ask, although others can

    A sentence for each page: it is no mistake, since the notebook has them.
    """
    editor = edit(settings) if settings.edit is not None and settings.exercises else None
    for path in (source.path for source in sources):
        asked = [*exercises.exercises(settings, path), *exercises.to_assemble(settings, path)]
        if editor is None or not asked:
            continue
        inside = posixpath.relpath(path, editor.modules.get(path) or ".")
        if editor.offers(inside):
            continue
        foreign = sorted(editor.foreign(inside)) if inside in editor.paths else []
        if module_name(inside) in foreign:
            # Python can't parse it, which is told of it already.
            continue
        why = f"it imports {', '.join(foreign)}" if foreign else "the settings leave it out"
        sentence = (
            f"its notebook alone has the exercises of {path}: no browser runs the page, as {why}."
        )
        yield str(asked[0].problem(sentence, "[["))


def _is_below(path: str, packages: Iterable[str]) -> bool:
    return any(package == "." or path.startswith(f"{package}/") for package in packages)


def assets(settings: Settings) -> Iterator[tuple[str, Path]]:
    r"""
    ## The files that the pages need beside them

    Each with its path on the site: the [scripts](page/scripts.py) and the styles, what the editor
    needs, and of KaTeX the licence and the WOFF2 fonts.
    """
    if editor := edit(settings):
        yield from editor.files()
    for path in scripts.files(settings):
        yield f"assets/{path.name}", path
    folder = katex.folder(settings)
    yield "assets/katex/LICENSE", folder / "LICENSE"
    for path in sorted((folder / "dist" / "fonts").glob("*.woff2")):
        yield f"assets/katex/fonts/{path.name}", path


def write(
    site: Site,
    folder: Path,
    report: Callable[[str], None],
    written_pages: Sequence[Page] | None = None,
) -> list[Path]:
    r"""
    ## Write the pages to a folder

    For any other engine that builds a site from Markdown. Where the settings are strict, nothing is
    written when a page has a problem, and never in a folder that pages are made from. Files that
    lie in the folder and are not part of the site stay. The pages are made if they are not given.
    """
    site.settings.refuse_sources(folder)
    pages_by_uri: dict[str, str | bytes] = {}
    made = written_pages or correct_pages(site, report)
    for one in made:
        pages_by_uri |= {one.uri: one.markdown, **one.files}
    pages_by_uri |= generated(site.settings) | site.search_index(made) | site.inventory
    docs = site.settings.root / site.settings.docs
    copied = {path.relative_to(docs).as_posix(): path for path in _files(docs)}
    copied.update(assets(site.settings))
    written: list[Path] = []
    for uri in sorted({*pages_by_uri, *copied}):
        target = folder / uri
        target.parent.mkdir(parents=True, exist_ok=True)
        beside = target.with_name(target.name + ".part")
        if uri in pages_by_uri:
            content = pages_by_uri[uri]
            beside.write_bytes(content.encode() if isinstance(content, str) else content)
        else:
            shutil.copyfile(copied[uri], beside)
        beside.replace(target)
        written.append(target)
    return written


def put(folder: Path, texts: Mapping[str, str]) -> None:
    r"""
    ## Put texts into a built site
    """
    for uri, text in texts.items():
        (folder / uri).parent.mkdir(parents=True, exist_ok=True)
        (folder / uri).write_text(text, encoding="utf-8")


def _files(folder: Path) -> Iterator[Path]:
    return (path for path in sorted(folder.rglob("*")) if path.is_file())
