r"""
---
title: Notebook
summary: A page becomes a notebook that runs anywhere, without this repository.
---

A page with an example or a function `notebook` has a notebook. What the page uses from other pages
comes first, folded: a cell for each of them, with its code alone. A note stands on its own page
only, so a note that changes there changes no other notebook. Then each definition is one
[cell](notebook_cells.py), with its docstrings as text above it. The example is run, and the body of
`notebook` comes last.

A page can leave that last part to another page, its *sequel*: whatever attends can be tried in the
same model, and one page says how. In the notebook of a page that defines the function that the
sequel uses, the sequel uses that one.

The same sources give the same bytes, so that a check can compare them.
"""

import ast
import json
import posixpath
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise
from pathlib import Path
from textwrap import fill
from urllib.parse import unquote

from literate.page.templates import TEMPLATES
from literate.problems import LiterateError, Problem, needs
from literate.python.closure import Closure, closure
from literate.python.scopes import bindings, uses
from literate.python.statements import Piece, is_main_guard, module_at, take_apart, third_party
from literate.reading.front_matter import of_source, title_of
from literate.reading.notes import Note
from literate.reading.plain import plain
from literate.reading.rows import rows
from literate.reading.source import Source
from literate.results.records import Result
from literate.settings import Settings
from literate.takeaway import (
    assembly,
    exercises,
    folded_answers,
    looks,
    notebook_cells,
    requirements,
)
from literate.takeaway.addresses import NO_RESULTS, Addresses, with_addresses
from literate.takeaway.notebook_cells import (
    ENTRY,
    EXAMPLE,
    HIDDEN,
    Body,
    Cell,
    code_cell,
    text_cell,
)
from literate.takeaway.snippet import DISTRIBUTIONS, import_lines, path_of, without

# What a notebook defines that no page does.
BROUGHT = (
    "set_up_notebook",
    "note_form",
    "show_shapes",
    "judge_runs",
    "judge_line",
    "ENDED_CELLS",
    "note_end",
    "watch_cells",
    "is_of_the_last_run",
    "tensors_of_lines",
    "as_squares",
    "look_inside",
)
# How code asks whether there is a GPU.
ASKS = "cuda.is_available("
# Who begins with the last part of a notebook is told so, not that some name is missing.
FIRST = """if "set_up_notebook" not in globals():
    raise RuntimeError(
        "first run the cells above: in Colab, “Run before” in the menu Runtime; "
        "in Jupyter, “Run All Above Selected Cell” in the menu Run"
    )"""
# A kernel that was restarted can't say it.
AFTER_A_RESTART = "A cell needs those above it: run them first, and again after a restart."
# What stands above all headings.
SET_UP = "Set-up and imports"
# The ids of headings that fold what comes from other pages.
FOLDED = "builds-on"
FOLDED_TOO = "rest-builds-on"
UNKNOWN = Addresses()
NO_BODY = Body("", (), {})
PLAIN = Settings(Path(), {}, examples=("*",))
# Pages without an example can do without what makes a notebook.
_NEEDS = needs("notebooks", "pyproject.toml", "the notebooks of `examples`")


@_NEEDS
def build(
    sources: Mapping[str, Source],
    module: str,
    addresses: Addresses = UNKNOWN,
    settings: Settings = PLAIN,
    results: Mapping[str, Result] = NO_RESULTS,
    png: Callable[[str], str] = notebook_cells.no_png,
) -> str:
    r"""
    ## Build a notebook

    Jupytext makes it of its [script](#script), and `png` gives its [pictures](rasters.py). Returns
    the text of the `.ipynb` file.
    """
    return notebook_cells.written(script(sources, module, addresses, settings, results), png)


@_NEEDS
def script(
    sources: Mapping[str, Source],
    module: str,
    addresses: Addresses = UNKNOWN,
    settings: Settings = PLAIN,
    results: Mapping[str, Result] = NO_RESULTS,
) -> str:
    r"""
    ## Build the script of a notebook

    * `sources` are all modules of the package, in reading order
    * `module` is the page, which has something to run
    * `addresses` are where its links lead
    * `settings` name sequels and [exercises](exercises.py)
    * `results` are what its figures and tables are of

    Raises the error of its [plan](#planned).
    """
    source = sources[module]
    plan = planned(sources, module, settings)
    needed = plan.needed
    page = _Page(sources, module, addresses, results, settings)
    look = looks.look(settings, source.path)
    draws = {"matplotlib"} if look else set()
    packages = _packages(sorted({*third_party(needed.outside), *draws}))
    takes = requirements.said(settings, source.path, packages.values(), plan.on_gpu, page.recorded)
    cells = [*page.introduction(takes)]
    holes = exercises.exercises(settings, source.path)
    set_up = len(cells)
    # What is told of annotations stands in the first cell: a script can't say it later, and a
    # notebook keeps it.
    imports = import_lines(needed.imports, lazy_annotations=False).rstrip("\n")
    if imports:
        cells.append(code_cell(imports))
    if plan.before:
        cells += page.other_pages(plan.before, "## What this page builds on", FOLDED)
    start = len(cells)
    own = [piece for piece in plan.own if piece != plan.example]
    # What it plays with has to be there.
    uses = [at for at, piece in enumerate(own, 1) if look and look.names.intersection(piece.names)]
    place = max(uses, default=len(own))
    cells += page.definitions(own[:place])
    cells += look.cells() if look else ()
    cells += page.definitions(own[place:])
    sections = page.sections(plan.example)
    cells += page.example(plan.example)
    asked = [
        *exercises.cells(plan.own, holes, source.path),
        *assembly.cells(plan.own, settings, source.path),
    ]
    if asked:
        cells += [_helper("judge.py.jinja", judge_runs=exercises.judge_runs()), *asked]
        cells += page.own_code()
    if plan.after:
        cells += page.other_pages(plan.after, "## What the rest builds on", FOLDED_TOO)
    end = len(cells)
    cells += page.body(plan.entry, plan.body)
    # As on the page, results and exercises come after the code.
    cells += page.text_cells(sections)
    cells += page.named()
    # A heading ends what is folded with the other pages, and most pages have one there.
    if plan.before and not cells[start].source.startswith("## "):
        cells.insert(start, text_cell("## On this page"))
    made = made_in(cells[set_up:])
    cells[set_up:] = after_others(cells[set_up:], end - set_up, made)
    cells.insert(set_up, _set_up(packages, plan, made))
    return notebook_cells.script(cells, addresses.told, plan.on_gpu)


@dataclass(frozen=True)
class Plan:
    r"""
    ## What goes into a notebook

    * `needed` is all that the page needs, itself among it
    * `before` are the pieces of other pages that come first, `own` those of the page, and `after`
      those that the end of the notebook needs
    * `example` is one of its own; `entry` is the function that the notebook ends with, which may be
      that of another page, and `body` what is in it
    """

    needed: Closure
    before: Sequence[Piece]
    own: Sequence[Piece]
    after: Sequence[Piece]
    example: Piece | None
    entry: Piece | None
    body: Body

    @property
    def on_gpu(self) -> bool:
        r"""
        ### Whether it runs on a GPU, if there is one

        Its end, or what that calls, asks for one. A page that only explains GPUs has no such end.
        """
        return self.entry is not None and any(ASKS in piece.text for piece in self.needed.pieces)


def planned(sources: Mapping[str, Source], module: str, settings: Settings = PLAIN) -> Plan:
    r"""
    ## Plan a notebook

    Raises a [LiterateError](../problems.py#LiterateError) where a copy can't do what the original
    does.
    """
    source = sources[module]
    following, also, instead = module, [], {}
    sequel = _sequel(source, sources, settings.sequels)
    if sequel is not None:
        name, following = sequel
        also, instead = [(following, ENTRY)], {(following, name): (module, name)}
    needed = closure(sources, module, _names(source), also, instead)
    entry = next((piece for piece in needed.pieces if _is(piece, following, ENTRY)), None)
    example = next((piece for piece in needed.pieces if _is(piece, module, EXAMPLE)), None)
    body = notebook_cells.take_body(entry, sources[following].path) if entry else NO_BODY
    look = looks.look(settings, source.path)
    _check_names(needed, body, sources, following, look.bound if look else ())

    # What the page imports has run before the page, and never needs what comes after it.
    imported = _imported(sources, module)
    before = [piece for piece in needed.pieces if piece.module in imported]
    own = [piece for piece in needed.pieces if piece.module == module and piece != entry]
    after = [piece for piece in needed.pieces if piece not in (*before, *own, entry)]
    if before and own and needed.pieces.index(before[-1]) > needed.pieces.index(own[0]):
        sentence = f"`{own[0].names[0]}` has to be defined before what {module} imports."
        raise LiterateError([Problem(source.path, own[0].line, sentence)])

    return Plan(needed, before, own, after, example, entry, body)


def _is(piece: Piece, module: str, name: str) -> bool:
    return piece.module == module and name in piece.names


def _names(source: Source) -> list[str]:
    r"""
    All that the page defines. What only its command line calls is of no use in a notebook.
    """
    called = {
        use.name
        for statement in source.tree.body
        if is_main_guard(statement)
        for use in uses(statement)
    }
    return [name for name in source.once(take_apart).defined if name not in called]


def _sequel(
    source: Source, sources: Mapping[str, Source], sequels: Mapping[str, str]
) -> tuple[str, str] | None:
    r"""
    The function that the page's notebook goes on with, and the page that does. One that has an end
    of its own does not go on.
    """
    if notebook_cells.defines(source, ENTRY):
        return None
    known = (name for name in sequels if notebook_cells.defines(source, name))
    found = ((name, module_at(sequels[name], sources)) for name in known)
    return next(((name, module) for name, module in found if module), None)


def file_name(source: Source, module: str) -> str:
    r"""
    ## The file of a notebook

    The path of the page in its package; that of a package itself is called `index.ipynb`.
    """
    path = path_of(module, source)
    folder, name = posixpath.split((path.partition("/")[2] or path).removesuffix(".py"))
    return posixpath.join(folder, "index" if name == "__init__" else name) + ".ipynb"


def _check_names(
    needed: Closure,
    body: Body,
    sources: Mapping[str, Source],
    module: str,
    of_look: Collection[str],
) -> None:
    r"""
    What was local becomes global, and must not become what a definition reads.
    """
    taken = dict.fromkeys(needed.reads, "what a definition reads")
    taken |= {statement.binds: "an import" for statement in needed.imports}
    taken |= {
        name: f"what `{piece.names[0]}` defines" for piece in needed.pieces for name in piece.names
    }
    taken |= dict.fromkeys(BROUGHT, "what every notebook has")
    for name, line in {**dict.fromkeys(of_look, 1), **body.names}.items():
        if name in taken:
            sentence = f"`{name}` would replace {taken[name]} in the notebook; rename it."
            raise LiterateError([Problem(sources[module].path, line, sentence)])
    for piece in needed.pieces:
        for name in set(BROUGHT).intersection(piece.names):
            sentence = f"`{name}` is the name of what every notebook has; rename it."
            raise LiterateError([Problem(sources[piece.module].path, piece.line, sentence)])


def _imported(sources: Mapping[str, Source], module: str) -> set[str]:
    r"""
    The modules of the package that a module imports, and those that they import.
    """
    modules: set[str] = set()
    waiting = [module]
    while waiting:
        name = waiting.pop()
        if name in sources and name not in modules:
            modules.add(name)
            imports = sources[name].once(take_apart).imports.values()
            waiting += [
                statement.module
                for them in imports
                for statement in them
                if not statement.typing_only
            ]
    return modules - {module}


class _Page:
    r"""
    The parts of a notebook, as lists of cells.
    """

    def __init__(
        self,
        sources: Mapping[str, Source],
        module: str,
        addresses: Addresses,
        results: Mapping[str, Result],
        settings: Settings,
    ) -> None:
        self.sources = sources
        self.module = module
        self.addresses = addresses
        self.results = results
        self.settings = settings
        self.by_path = {source.path: name for name, source in sources.items()}
        # The pages whose names are no links, since no address is known.
        self.unlinked: dict[str, None] = {}

    def introduction(self, taken: str) -> Iterator[Cell]:
        source = self.sources[self.module]
        matter, rest, _ = of_source(source)
        parts = [f"# {title_of(source)}"]
        # A summary that is the first sentence of the text stands there already.
        if not plain(rest).startswith(matter.summary):
            parts.append(matter.summary)
        if matter.paper:
            paper = matter.paper
            parts.append(
                f"Paper: [{paper['title']}]({paper['link']}), {paper['authors']}, {paper['year']}."
            )
        colab = self.addresses.of_colab(file_name(source, self.module))
        ways = []
        if colab is not None:
            badge = "https://colab.research.google.com/assets/colab-badge.svg"
            ways.append(f"[![Open in Colab]({badge})]({colab})")
        if self.addresses.page is not None:
            ways.append(self.linked("The page, with notes beside the code", self.module))
        others = self.addresses.of_others(file_name(source, self.module))
        ways += [f"[{name}]({address})" for name, address in others.items()]
        if ways:
            parts.append(" · ".join(ways))
        parts.append(f"{taken} {AFTER_A_RESTART}".strip())
        file = self.addresses.of_file(source.path)
        path = f"`{path_of(self.module, source)}`"
        parts.append(f"Made from {f'[{path}]({file})' if file else path}.")
        yield text_cell("\n\n".join(parts))
        yield from self.note(rest, self.module)

    def other_pages(self, pieces: Iterable[Piece], heading: str, name: str) -> Iterator[Cell]:
        r"""
        A hidden cell for each page, which has the code of its definitions. JupyterLab folds a
        heading by the one mark, Colab by the other, below the notebook's own.
        """
        metadata = {"id": name, "jp-MarkdownHeadingCollapsed": True}
        listed, cells = [], []
        for module, group in groupby(pieces, lambda piece: piece.module):
            source, taken = self.sources[module], list(group)
            path = path_of(module, source)
            title = title_of(source)
            names = ", ".join(f"`{each}`" for piece in taken for each in piece.names)
            listed.append(f"* {self.linked(title, module)}{self._where(module)}: {names}")
            code = without(notebook_cells.together(taken), "docstring", "comment")
            cells.append(code_cell(f"#@title {title} ({path})\n{code}".rstrip(), HIDDEN))
        about = (
            "Its code is below, and folded in Colab and JupyterLab. Its notes are on these pages:"
        )
        yield text_cell("\n".join([heading, "", about, "", *listed]), metadata)
        yield from cells

    def _where(self, module: str) -> str:
        r"""
        Its notebook, if that can be opened; where no address is known, its file.
        """
        source = self.sources[module]
        colab = self.addresses.of_colab(file_name(source, module))
        if colab is not None and notebook_cells.has_notebook(source, self.settings):
            return f" ([notebook]({colab}))"
        return "" if self.addresses.of_module(source) else f", `{path_of(module, source)}`"

    def own_code(self) -> Iterator[Cell]:
        r"""
        Below the exercises stands where readers test code of their own, as on the page.
        """
        forms = (self.settings.edit or {}).get("forms", {})
        fields = [path for path, one in forms.items() if one["script"] == "paste"]
        module = self.by_path.get(fields[0]) if fields else None
        if module is None:
            return
        title = title_of(self.sources[module])
        if self.addresses.page is not None:
            link = self.linked("Test your own attention or model", module)
            yield text_cell(f"{link}: you paste it there, and it runs in your browser.")
        else:
            yield text_cell(
                "You can test your own attention or model, too: paste it into the site's page "
                f"“{title}”."
            )

    def named(self) -> Iterator[Cell]:
        r"""
        Where no address is known, the words of a link stay, and its page stands at the end.
        """
        others = [self.sources[name] for name in self.unlinked if name != self.module]
        if others:
            listed = [f"* {title_of(one)}, `{one.path}`" for one in others]
            yield text_cell("\n".join(["## Pages that this one names", "", *listed]))

    def definitions(self, pieces: Iterable[Piece]) -> Iterator[Cell]:
        r"""
        A cell for each definition, and one for each note of constants: those without one stand
        below the ones before them.
        """
        for constants, group in groupby(pieces, lambda piece: piece.definition is None):
            taken = list(group)
            if constants:
                starts = [at for at, piece in enumerate(taken) if at == 0 or piece.note]
                for start, end in pairwise([*starts, len(taken)]):
                    yield from self.note(notebook_cells.comment(taken[start]), self.module)
                    yield code_cell(notebook_cells.together(taken[start:end]))
                continue
            for piece in taken:
                yield from self.text_cells("\n\n".join(self.notes(piece)))
                yield self.definition(piece)

    def definition(self, piece: Piece) -> Cell:
        return code_cell(without(piece.text, "docstring"))

    def notes(self, piece: Piece) -> Iterator[str]:
        r"""
        The comment above a definition, its docstring and those of all that is inside, in order.
        Each but the first says which method it is about. A heading with nothing below it is one
        line: several in a row would look like sections that were lost.
        """
        above = notebook_cells.comment(piece)
        if above is not None:
            yield self.markdown(above, piece.module)
        assert piece.definition is not None
        last = piece.definition.end_lineno or piece.definition.lineno
        for row in rows(self.sources[piece.module]):
            if row.documents is None or not piece.line <= row.documents.line <= last:
                continue
            text = self.markdown(row.note, piece.module)
            name = row.documents.name.rpartition(".")[2]
            if row.documents.line == piece.definition.lineno:
                yield text
            elif text.startswith("#"):
                heading, _, rest = text.partition("\n")
                alone = f"**`{name}`**: {heading.lstrip('# ')}"
                yield f"{heading} (`{name}`)\n{rest}" if rest else alone
            else:
                yield f"**`{name}`**\n\n{text}"

    def example(self, piece: Piece | None) -> Iterator[Cell]:
        if piece is not None:
            yield from self.text_cells(self._in_two(piece)[0])
            yield self.definition(piece)
            yield _helper("show_shapes.py.jinja")
            yield code_cell(f"show_shapes({EXAMPLE})")

    def sections(self, piece: Piece | None) -> str:
        r"""
        What the example says under headings of its own.
        """
        return self._in_two(piece)[1] if piece else ""

    def _in_two(self, piece: Piece) -> tuple[str, str]:
        text = "\n\n".join(self.notes(piece))
        note = Note("docstring", 1, tuple(text.split("\n")))
        headings = [block.first for block in note.parsed.blocks if block.kind == "heading"]
        end = next((line for line in headings if line > 0), len(note.texts))
        return "\n".join(note.texts[:end]).strip(), "\n".join(note.texts[end:]).strip()

    def text_cells(self, text: str) -> Iterator[Cell]:
        return notebook_cells.text_cells(text, self.results)

    def body(self, entry: Piece | None, body: Body) -> Iterator[Cell]:
        if entry is None:
            return
        yield from self.text_cells("\n\n".join(self.notes(entry)))
        if body.form:
            read_in = json.dumps(self._read_in(entry, body), ensure_ascii=False, indent=4)
            text = f"#@title Settings\n{body.form}\n{FIRST}\nnote_form({read_in}, globals())"
            yield code_cell(text, {"cellView": "form"})
        for note, code in body.cells:
            yield from self.note(note, entry.module)
            if code.strip():
                yield code_cell(code)

    def _read_in(self, entry: Piece, body: Body) -> dict[str, str]:
        r"""
        The settings that each section reads first. What has run has the old ones: a form that is
        filled in anew says so.
        """
        heading = r"(?m)^##+ (.+)$"
        section = "".join(re.findall(heading, "\n".join(self.notes(entry)))[:1]) or ENTRY
        read_in: dict[str, str] = {}
        waiting = body.settings
        for note, code in body.cells:
            found = re.findall(heading, "\n".join(note.texts)) if note else []
            section = found[0].replace("`", "") if found else section
            read = {use.name for statement in ast.parse(code).body for use in uses(statement)}
            names = [name for name in waiting if name in read]
            waiting = [name for name in waiting if name not in read]
            if names:
                read_in[section] = " ".join([*read_in.get(section, "").split(), *names])
        return read_in

    def note(self, note: Note | None, module: str) -> Iterator[Cell]:
        yield from self.text_cells(self.markdown(note, module))

    def markdown(self, note: Note | None, module: str) -> str:
        if note is None:
            return ""
        path = self.sources[module].path
        for target in note.parsed.targets:
            file = target.text.partition("#")[0]
            linked = posixpath.normpath(posixpath.join(posixpath.dirname(path), file))
            if linked in self.by_path and not self.addresses.of_module(self.sources[module]):
                self.unlinked[self.by_path[linked]] = None
        text = with_addresses(note, path, self.sources, self.addresses, self.results)
        return folded_answers.unfolded(text).strip()

    def recorded(self, place: str) -> str:
        r"""
        The number at a place such as `results/a.json#values.loss`, with a link to it.
        """
        file, _, anchor = place.partition("#")
        _, value = self.results[file].find(unquote(anchor))
        address = self.addresses.of_file(file, anchor)
        return f"{value:.2f}" if address is None else f"[{value:.2f}]({address})"

    def linked(self, text: str, module: str) -> str:
        address = self.addresses.of_module(self.sources[module])
        return text if address is None else f"[{text}]({address})"


def _packages(modules: Iterable[str]) -> dict[str, str]:
    r"""
    What pip calls the packages that have these modules.
    """
    return {name: min(DISTRIBUTIONS().get(name, [name])) for name in modules}


def made_in(cells: Iterable[Cell]) -> dict[str, str]:
    r"""
    ## Which section makes a name

    The names that a later cell looks up, by the heading of the section that makes them first. What
    stands above all headings is imports. The heading of a method is none of a section.
    """
    made: dict[str, str] = {}
    asked: set[str] = set()
    for cell, section in _in_sections(cells, SET_UP):
        if cell.cell_type == "markdown":
            continue
        asked.update(_looked_up(cell).intersection(made))
        for name in bindings(ast.parse(cell.source).body):
            made.setdefault(name, section)
    found: dict[str, list[str]] = {}
    for name, section in made.items():
        if name in asked:
            found.setdefault(section, []).append(name)
    return {section: " ".join(names) for section, names in found.items()}


def after_others(cells: Sequence[Cell], end: int, made: Mapping[str, str]) -> Iterator[Cell]:
    r"""
    ## What a cell comes after

    Its first line says it, below the title of a folded cell: the sections above it that make the
    names which it looks up. (A function can look up a name that is made further down, where it is
    called.) A kernel that was restarted knows nothing, not even how to tell that. From the cell
    `end` on, where the page tries what it has, sections of this last part are enough: its form
    sends a reader who begins there to the cells above.
    """
    last_part = {section for _, section in _in_sections(cells[end:], "")}
    section, defined, there = "", set[str](), set[str]()
    for at, (cell, own) in enumerate(_in_sections(cells, SET_UP)):
        if own != section:
            section = own
            defined.clear()
        if cell.cell_type == "code" and FIRST not in cell.source:
            asked = _looked_up(cell)
            above = ["what is above in this section"] if asked & defined else []
            known = asked & there
            others = [one for one, names in made.items() if one != own and known & {*names.split()}]
            late = [one for one in others if one in last_part]
            if at >= end and (late or above):
                others = late
            _say_first(cell, [*(f"“{one}”" for one in others), *above])
            defined.update(bindings(ast.parse(cell.source).body))
        if cell.cell_type == "code":
            there.update(bindings(ast.parse(cell.source).body))
        yield cell


def _say_first(cell: Cell, needed: Sequence[str]) -> None:
    r"""
    Write what a cell comes after into its first line, or below the title that it is folded by.
    """
    if not needed:
        return
    *others, last = needed
    said = f"After {', '.join(others)} and {last}." if others else f"After {last}."
    lines = fill(said, 98, initial_indent="# ", subsequent_indent="# ")
    title, _, rest = cell.source.partition("\n")
    if title.startswith("#@title "):
        cell.source = f"{title}\n{lines}\n{rest}"
    else:
        cell.source = f"{lines}\n{cell.source}"


def _in_sections(cells: Iterable[Cell], section: str) -> Iterator[tuple[Cell, str]]:
    r"""
    Each cell, with the heading that it stands under.
    """
    for cell in cells:
        if cell.cell_type == "markdown":
            headings = re.findall(r"(?m)^##+ (.+)(?<!`\))$", cell.source)
            section = headings[0].replace("`", "") if headings else section
        yield cell, section


def _looked_up(cell: Cell) -> set[str]:
    r"""
    The names that the code of a cell looks up.
    """
    if cell.cell_type == "markdown":
        return set()
    # What stands in a string, as some annotations do, is read by nobody.
    found = (use for statement in ast.parse(cell.source).body for use in uses(statement))
    return {use.name for use in found if use.column >= 0}


def _set_up(packages: Mapping[str, str], plan: Plan, made: Mapping[str, str]) -> Cell:
    r"""
    The first code of a notebook: it looks at the machine. Who comes to a cell too early is told
    what it needs.
    """
    return _helper(
        "set_up.py.jinja",
        needed=json.dumps(packages),
        sections=json.dumps(made, ensure_ascii=False),
        on_gpu=plan.on_gpu,
        has_form=bool(plan.body.form),
        lazy_annotations=plan.needed.lazy_annotations,
    )


def _helper(template: str, **given: object) -> Cell:
    r"""
    A folded cell that stands right before the cells that need it. Where nothing folds, as on
    GitHub, a reader comes to the lesson first.
    """
    return code_cell(TEMPLATES.get_template(template).render(**given), HIDDEN)
