r"""
---
title: Names in notes
summary: A name in a note must be the name of something.
---

Code is renamed, and the notes about it are forgotten: a note goes on about `d_model` where the code
has said something else for a year. A spelling checker of words can't see that. Here every name in
inline code is looked up, in all sources of the site, in Python and in its standard library.

Looked up are names, dotted names, calls, formulas of these, such as `max_len - 1`, and options,
such as `--strict`. What is in quotes or in a fenced block is not looked up, and so a note that has
to speak of something foreign puts it there.
"""

import ast
import builtins
import collections.abc
import contextlib
import difflib
import importlib
import keyword
import re
import sys
import types
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from literate.measuring import claims
from literate.problems import GUESS, Problem
from literate.python.scopes import bound_by_import
from literate.reading.docstrings import OF_NAMES
from literate.reading.notes import Block, Note, Span
from literate.reading.rows import rows
from literate.reading.source import Definition, Source, nodes

_DOTTED = re.compile(r"[^\W\d]\w*(?:\.[^\W\d]\w*)*")
_OPTION = re.compile(r"--[a-z][\w-]*")
# How a problem begins.
NOTE = "the note names"
# How near a name must be, where most of them are other people's.
SURE = 0.9
# And how near a word in it.
WORD = 0.7
_INDEX = re.compile(r"[a-z]|\d+")
# What is told of the name that something had before.
_FORMER = re.compile(
    r"\b(?:also(?= (?:known|called|named))|renamed from|former|formerly|originally"
    r"|initially|previously|used to be"
    r"|was called|was named|deprecated|removed)(?: (?:called|known|named|spelled|as|the|an?))*"
    r"[\s`:]*$",
    re.I,
)
_RENAMED = re.compile(
    r"[\s`]*(?:(?:was|were|has been|have been|is now) (?:renamed|called)"
    r"|(?:renamed|corrected) to)\b"
)
_REMOVED = re.compile(r"(?i)^(?:`[^`]*`|[\W_])*(?:\([^()]*\))?[\W_]*(?:removed|deprecated)\b")
# “If you look for this one, use that instead.”
_INSTEAD = re.compile(r"[^.]*\buse\b[^.]*\binstead\b")
# A result in a list, with its name.
_RESULT = re.compile(r" *\* \*(\w+)\*")
# What stands before the first cell of a row.
_FIRST_CELL = re.compile(r"\n[ >]*\| *$")
# One sign for any letters, and what several results are called.
_PATTERN = re.compile(r"_\*|\*_")
_RESULTS = re.compile(r"\([^\W\d]\w*(?:, [^\W\d]\w*)+\)")
# Such as [CLS].
_TOKEN = re.compile(r"\[\w+\]")
# A path, a name with hyphens, or a command with options: Python would read `-` and `/` as signs.
_PATH = re.compile(r"[\w./-]+")
_TICKED = re.compile(r"`\s*([\w./-]+)\s*`")
_FILE = re.compile(
    r"[\w.]+\.(?:cfg|css|csv|dll|exe|html|ini|ipynb|js|json|md|pyi?|rst|sh|toml|txt|xml|ya?ml)"
)
# What stands before a reference of Sphinx, as in :ref:`calling`; and those that refer to no name.
_ROLE = re.compile(r":(\w+(?::\w+)?):$")
_ROLED = r":[a-z]+(?::[a-z]+)?:"
_OF_NO_NAME = {"abbr", "doc", "envvar", "file", "issue", "option", "pep", "ref", "rfc", "term"}
_NO_FORMULA = re.compile(r"\S[/-]\S|(?:^|\s)-{1,2}\w")
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
# The title of a section.
_SECTION = re.compile(r"\*\*([^*]+)\*\*")
# What an item of a list begins with; and what is the name of nothing in code, as “x-y”.
_LISTED = re.compile(r"(?:(?:, | and |, and )?`[^\W\d]\w*`)+")
_NO_NAME = re.compile(r"`\w+[-/]\w+`")
# Modules of Python that do something when they are imported.
ACTIVE = {"antigravity", "idlelib", "this", "turtledemo"}
# Python looks for these names, too, but none of its own classes has them.
_SPECIAL = {
    *("__all__", "__copy__", "__deepcopy__", "__del__", "__file__", "__fspath__", "__getattr__"),
    *("__main__", "__missing__", "__path__", "__post_init__", "__set_name__"),
}


@dataclass(frozen=True)
class Names:
    r"""
    ## The names of a site

    * `root` is the folder of the site: inline code that is a path from there is not looked up
    * `known` are the identifiers in the code of its sources, and its strings that are nothing but a
      name or an option
    * `imported` are the names by which they know other people's modules, and what is in them
    * `standard` are the modules of Python that they import
    """

    root: Path
    known: frozenset[str]
    imported: frozenset[str]
    standard: frozenset[str]

    @property
    def listed(self) -> tuple[list[str], list[str], list[str]]:
        r"""
        ### All of them, in an order
        """
        return sorted(self.known), sorted(self.imported), sorted(self.standard)

    def unknown(self, code: str) -> str | None:
        r"""
        ### The first name that nothing has

        `code` is what stands between the backticks. None if it has no name, or no such name.
        """
        if code in self.known or _FILE.fullmatch(code):
            return None
        if is_path(code, self.root):
            return None
        if _OPTION.fullmatch(code):
            return None if code[2:].replace("-", "_") in self.known else code
        return next((name for name in _names(code) if not self._has(name)), None)

    def meant(self, name: str) -> str:
        r"""
        ### What may be meant

        The known name that is nearest, or nothing.
        """
        start, dot, last = name.rpartition(".")
        near = _near(last, self.known)
        # The last part is known, then, and one before it isn't.
        return f"{start}{dot}{near}" if near not in ("", last) else ""

    def misspelt(self, name: str, among: frozenset[str], own: frozenset[str]) -> str:
        r"""
        ### What is surely meant

        `among` are the names in the code of a file, and `own` those that it gives to something.
        Nothing, where a dotted name begins with what isn't in it, for a plural or one of many,
        and where no name is that near: with something put before it, or another word in it, a name
        is another one. So is one with other underscores, if the near one is somebody else's.
        """
        root, _, _ = name.partition(".")
        start, dot, last = name.rpartition(".")
        single = _joined(last).removesuffix("s") if last.endswith("s") else None
        lower = {_joined(one) for one in among}
        # “dim1” is one of “dims”, too, and “param1” a “param”.
        stem = _joined(last).rstrip("0123456789")
        is_plural = (
            single in lower or f"{stem}s" in lower or (stem != _joined(last) and stem in lower)
        )
        if last in self.known or is_plural or (dot and root not in among | {"self", "cls"}):
            return ""
        # A string such as “media.fields” is no name that somebody could have meant.
        possible = [one for one in among if not one.endswith(last) and "." not in one]
        near = _near(last, possible, SURE)
        if not near or last.endswith(near) or not _has_the_same_words(last, near):
            return ""
        # The name of a family, as “glTexImage” is that of “glTexImage2D”.
        if near.startswith(last) and near[len(last)].isdigit():
            return ""
        # A state is called after what leads to it, as “paused” after “pause”.
        if near.islower() and last in (f"{near}d", f"{near}ed", f"{near}ing"):
            return ""
        is_joined = last.lower() != near.lower() and _joined(last) == _joined(near)
        # A class, and something else that is called after it.
        is_other = last != near and last[1:] == near[1:] and last.lower() == near.lower()
        return "" if is_other or (is_joined and near not in own) else f"{start}{dot}{near}"

    def _has(self, name: str) -> bool:
        parts = name.split(".")
        if all(part in self.known for part in parts):
            return True
        root = parts[0]
        if root in dir(builtins):
            return exists(["builtins", *parts])
        if root in sys.stdlib_module_names - ACTIVE:
            return exists(parts, otherwise=True)
        if len(parts) == 1 and any(name in _inside(module) for module in self.standard):
            return True
        # Of other people's modules nothing is known until they are run, which is not done here.
        return len(parts) > 1 and root in self.imported


@dataclass(frozen=True)
class Taken:
    r"""
    ## The names that a source has

    * `identifiers` are those of its code
    * `origins` are the names that it has from each package that it imports
    * `modules` are what it imports, and what may be a module in it, by full names
    """

    identifiers: frozenset[str]
    origins: Mapping[str, frozenset[str]]
    modules: frozenset[str]


def is_path(code: str, root: Path) -> bool:
    r"""
    ## Is it a path from the root?
    """
    return _PATH.fullmatch(code) is not None and (root / code).exists()


def paths(text: str, root: Path) -> set[str]:
    r"""
    ## What a text has between backticks that is a path from the root

    Of all that is said of its names, this alone depends on what lies on the disk.
    """
    return {code for code in _TICKED.findall(text) if is_path(code, root)}


def names(sources: Iterable[Source], root: Path) -> Names:
    r"""
    ## Collect the names of a site
    """
    return together({source.path: source.once(taken) for source in sources}, root)


def together(has: Mapping[str, Taken], root: Path) -> Names:
    r"""
    ## The names of a site, of what each of its sources has

    By the paths of the sources.
    """
    own = {Path(path).with_suffix("").parts[0] for path in has}
    known = {*dir(builtins), *keyword.kwlist, *keyword.softkwlist, *sys.stdlib_module_names}
    # What notes in the style of Hugging Face say of an argument, (`int`, `optional`), is no name.
    known |= special_names() | {"optional"}
    imported: set[str] = set()
    modules: set[str] = set()
    for path, one in has.items():
        known.update(Path(path).with_suffix("").parts)
        known |= one.identifiers
        modules |= one.modules
        foreign = one.origins.keys() - own - sys.stdlib_module_names
        imported.update(*(one.origins[origin] for origin in foreign))
    possible = sys.stdlib_module_names - ACTIVE
    standard = {module for module in modules if module.partition(".")[0] in possible}
    return Names(root, frozenset(known), frozenset(imported), frozenset(standard))


def problems(source: Source, names: Names, strict: bool = True) -> Iterator[Problem]:
    r"""
    ## The names in the notes of a source that nothing has

    An example in a fenced block, or in inline code that is a statement, makes up names as it likes;
    the notes of that page can speak of them. And where the docstring of a definition lists names,
    it is the definition itself that must have them: its arguments, or what a class consists of.

    A package that was written without this check names much that isn't read here. So where the
    settings are not `strict`, a name counts as misspelt only if one in the code of the same file is
    nearly the same.
    """
    notes = [row.note for row in rows(source) if row.note]
    spans = [span for note in notes for span in note.parsed.spans]
    listed = [
        problem
        for row in rows(source)
        if row.note and row.documents
        for problem in _listed(source, row.note, row.documents, names.known)
    ]
    found = _problems(source.path, spans, names) if strict else _misspelt(source, notes, names)
    # Once is enough.
    told = {_place(problem) for problem in listed}
    yield from (problem for problem in found if _place(problem) not in told)
    first: dict[tuple[str, ...], Problem] = {}
    for problem in listed:
        # A field of the type, and that of the name.
        first.setdefault(tuple(problem.sentence.split("`")[1:4:2]), problem)
    yield from first.values()


def _place(problem: Problem) -> tuple[int, str]:
    r"""
    The line of a name that is told, and the name.
    """
    return problem.line, problem.sentence.split("`")[1]


def problems_of_document(path: str, text: str, names: Names) -> Iterator[Problem]:
    r"""
    ## The same for a document that is written by hand
    """
    note = Note("docstring", 1, tuple(text.split("\n")))
    yield from _problems(path, note.parsed.spans, names)


def _problems(path: str, spans: Sequence[Span], names: Names) -> Iterator[Problem]:
    for span, name in _unknown(spans, _made_up(spans), names):
        meant = names.meant(name)
        hint = f"is `{meant}` meant?" if meant else "a foreign name goes in quotes, not backticks."
        yield Problem(path, span.line, f"{NOTE} `{name}`, which nothing here has; {hint}")


def _misspelt(source: Source, notes: Sequence[Note], names: Names) -> Iterator[Problem]:
    r"""
    Each name once. A comment that names both knows the difference, and what something was called
    before has no name any more.
    """
    near, own = source.once(taken).identifiers, source.once(_given)
    made_up = _made_up([span for note in notes for span in note.parsed.spans])
    told: set[str] = set()
    for note in notes:
        inside = note.parsed.spans
        said = {span.content for span in inside if span.kind == "code"}
        # The names that it gives to results.
        results = {match[1] for text in note.texts if (match := _RESULT.match(text))}
        for span, name in _unknown(inside, made_up, names):
            at = inside.index(span)
            before = inside[at - 1].text if at else ""
            after = inside[at + 1].text if at + 1 < len(inside) else ""
            if _FIRST_CELL.search(before) or _RESULTS.fullmatch(span.content):
                # What a table is about, which may be there at run time only; or names that are
                # given here.
                continue
            is_former = _FORMER.search(before.rstrip()) or _RENAMED.match(after)
            is_former = is_former or _INSTEAD.match("".join(one.text for one in inside[at + 1 :]))
            meant = names.misspelt(name, near, own)
            is_known = name in told or name in results or _is_said(name, source)
            if not meant or is_former or is_known:
                continue
            if note.name(span.line, span.content) != span.content:
                # The full name of a role says where it is.
                continue
            if note.kind == "comment" and meant in said:
                continue
            told.add(name)
            sentence = f"{NOTE} `{name}`; is `{meant}` meant?"
            yield Problem(source.path, span.line, sentence, GUESS)


def _is_said(name: str, source: Source) -> bool:
    r"""
    Whether the code of a source has the last part of a name, be it in a longer string.
    """
    last = re.compile(rf"\b{re.escape(name.rpartition('.')[2])}\b")
    return any(last.search(line.text) for line in source.lines if line.kind == "code")


def _made_up(spans: Iterable[Span]) -> frozenset[str]:
    r"""
    The names in the examples of a page.
    """
    texts = (one.content for one in spans if one.kind in ("code", "fence") and _is_example(one))
    words = {word for text in texts for word in _DOTTED.findall(text)}
    return frozenset(words | {part for word in words for part in word.split(".")})


def _unknown(
    spans: Sequence[Span], made_up: frozenset[str], names: Names
) -> Iterator[tuple[Span, str]]:
    r"""
    The first unknown name of each piece of inline code, unless an example has made it up.
    """
    for before, span in zip([None, *spans], spans, strict=False):
        # The names in a claim are those of axes, and are compared with them.
        is_looked_up = span.kind == "code" and claims.parse(span.content) is None
        role = _ROLE.search(before.text) if before and before.kind == "text" else None
        if (role and role[1] in _OF_NO_NAME) or _PATTERN.search(span.content):
            continue
        name = names.unknown(span.content) if is_looked_up else None
        if name is not None and not made_up.issuperset(name.split(".")):
            yield span, name


def _given(source: Source) -> frozenset[str]:
    r"""
    The names that a source gives to definitions and arguments.
    """
    arguments = (node.arg for node in ast.walk(source.tree) if isinstance(node, ast.arg))
    defined = (one.name.rpartition(".")[2] for one in source.definitions)
    return frozenset([*arguments, *defined])


def _listed(
    source: Source, note: Note, documented: Definition, known: frozenset[str]
) -> Iterator[Problem]:
    r"""
    What a class inherits from another in the same file is its own, too, and what the file gives to
    an object. From a class of another file it may have any attribute that is `known`.
    """
    classes = {definition.name: definition.node for definition in source.definitions}
    waiting: list[ast.AST] = [documented.node]
    own = set(source.once(_set_outside)) if documented.kind == "class" else set()
    constructors: list[ast.AST] = []
    is_foreign = False
    while waiting:
        node = waiting.pop()
        own.update(_identifiers(ast.walk(node)))
        inside = getattr(node, "body", ())
        constructors += [one for one in inside if getattr(one, "name", "") == "__init__"]
        named = [base.id for base in getattr(node, "bases", ()) if isinstance(base, ast.Name)]
        is_foreign |= len(getattr(node, "bases", ())) > len(classes.keys() & {*named})
        waiting += [classes.pop(name) for name in named if name in classes]
    if getattr(documented.node, "decorator_list", None) and not constructors:
        # For attrs, an argument is called like its field, without the underscore before it.
        own |= {name.lstrip("_") for name in own}
    # Keywords that are passed on may be explained, and arguments of a class of another file; what
    # is said at a property may be about its value.
    functions = [one for one in [documented.node, *constructors] if isinstance(one, _FUNCTIONS)]
    passed_on = [one.args.kwarg for one in functions if one.args.kwarg]
    keys = [_keys(one.annotation, source) for one in passed_on]
    own.update(*filter(None, keys))
    inherits = documented.kind == "class" and is_foreign and not constructors
    has_others = (
        None in keys
        or inherits
        or _takes_arguments(documented.node)
        or any("property" in ast.unparse(one) for one in documented.node.decorator_list)
    )
    given = (one for each in functions for one in ast.walk(each.args))
    arguments = {one.arg for one in given if isinstance(one, ast.arg)}
    rests = {function.args.vararg.arg for function in functions if function.args.vararg}
    for items in _lists(note):
        above, before = _text_above(note.texts, items[0].first)
        section = _SECTION.fullmatch(above)
        # “A dictionary in the following format:” is announced above the title of its keys.
        if section and before.endswith(":"):
            continue
        # “Each result has:” says what it lists, and so does a section of something else.
        if section and section[1].lower() not in OF_NAMES or above.endswith(":"):
            continue
        listed = [(item, _names_of(item)) for item in items]
        # Who lists a name, too, means something else by the one beside it.
        said = {name for _, names in listed for name in names}
        free = own - said
        is_of_arguments = section is not None and section[1].lower() != "attributes"
        if is_of_arguments and (documented.kind == "function" or inherits or constructors):
            # What a function or a class sets is none of the arguments; those of a constructor in
            # another file aren't known.
            free &= arguments
        # What is in `*parts`, if that isn't explained itself.
        explained = " ".join(item.text for item in items)
        is_open = has_others or not all(f"{rest}`" in explained for rest in rests)
        is_of_attributes = section is not None and section[1].lower() == "attributes"
        # Where nothing says what a list is of, one of its names has to be right, and each a name.
        of_others = own.isdisjoint(said) or any(_NO_NAME.match(item.text) for item in items)
        if not section and of_others:
            continue
        for item, names in listed:
            for name in names:
                if name in own or name == "and" or _REMOVED.search(item.text):
                    continue
                if is_of_attributes and is_foreign and name in known:
                    continue
                line = note.line(item.first)
                written = source.lines[line - 1].text
                if re.search(rf"{_ROLED}`[~.!]*{name}\b", written):
                    # No argument needs a role.
                    continue
                longer = [one for one in free & arguments if f"_{name}_" in f"_{one}_"]
                near = _near(name, free, 0.85 if is_open else 0.75)
                # An argument that has all of the name is nearer than another one.
                near = longer[0] if len(longer) == 1 and not is_open else near
                # With something put before it, a name is another one.
                if is_open and (not near or near.endswith(name) or name.endswith(near)):
                    continue
                hint = f"; is `{near}` meant?" if near else "."
                is_field = written.lstrip().startswith(":")
                what = "field" if is_field else "list"
                holder = documented.name
                sentence = f"the {what} names `{name}`, which `{holder}` does not have{hint}"
                yield Problem(source.path, line, sentence)


def _takes_arguments(node: ast.AST) -> bool:
    r"""
    Whether the statement of a class can have arguments, because of a metaclass that isn't Python's.
    """
    metaclasses = (one.value for one in getattr(node, "keywords", ()) if one.arg == "metaclass")
    return any(_last_part(one) not in ("ABCMeta", "EnumMeta", "type") for one in metaclasses)


def _set_outside(source: Source) -> frozenset[str]:
    r"""
    The attributes that a source gives to an object other than `self`.
    """
    return frozenset(
        node.attr
        for node in ast.walk(source.tree)
        if isinstance(node, ast.Attribute)
        and isinstance(node.ctx, ast.Store)
        and ast.unparse(node.value) not in ("self", "cls")
    )


def _keys(annotation: ast.expr | None, source: Source) -> frozenset[str] | None:
    r"""
    The keywords that `**kwargs: Unpack[Options]` takes, where `Options` is a class of the same file
    that lists them all; None, where that isn't known.
    """
    if not isinstance(annotation, ast.Subscript) or _last_part(annotation.value) != "Unpack":
        return None
    classes = {one.name: one.node for one in source.definitions if one.kind == "class"}
    waiting = [annotation.slice]
    keys: set[str] = set()
    while waiting:
        base = waiting.pop()
        if _last_part(base) == "TypedDict":
            continue
        node = classes.pop(base.id, None) if isinstance(base, ast.Name) else None
        if not isinstance(node, ast.ClassDef):
            return None
        waiting += node.bases
        keys.update(
            one.target.id
            for one in node.body
            if isinstance(one, ast.AnnAssign) and isinstance(one.target, ast.Name)
        )
    return frozenset(keys)


def _last_part(name: ast.expr) -> str:
    return ast.unparse(name).rpartition(".")[2]


def _lists(note: Note) -> Iterator[list[Block]]:
    r"""
    The items of each list. What a list inside another names are values, or keys.
    """
    end = 0
    blocks = note.parsed.blocks
    for outer in blocks:
        if outer.kind not in ("bullet_list", "ordered_list") or outer.first < end:
            continue
        end = outer.last
        inside = (block for block in blocks if outer.first <= block.first < outer.last)
        depth = outer.depth + 1
        yield [block for block in inside if block.kind == "list_item" and block.depth == depth]


def _names_of(item: Block) -> list[str]:
    match = _LISTED.match(item.text)
    return _DOTTED.findall(match[0]) if match else []


def _text_above(texts: Sequence[str], first: int) -> tuple[str, str]:
    r"""
    The line above a list, and the one above that.
    """
    indent = _indent(texts[first])
    outside = (text for text in reversed(texts[:first]) if text.strip())
    above = next((text.strip() for text in outside if _indent(text) <= indent), "")
    return above, next(outside, "").strip()


def _indent(text: str) -> int:
    return len(text) - len(text.lstrip())


def _near(name: str, among: Iterable[str], cutoff: float = 0.75) -> str:
    return next(iter(difflib.get_close_matches(name, sorted(among), n=1, cutoff=cutoff)), "")


def _has_the_same_words(one: str, other: str) -> bool:
    r"""
    Whether no word of a name, between two underscores, has another one in its place.
    """
    words, others = one.split("_"), other.split("_")
    if len(words) != len(others):
        # One of many has a letter or a number more, as “fn_1_kwargs”; and who names “fit” means no
        # “_fit_all”.
        more = {*others} - {*words} - {""}
        is_part = more and {*words} <= {*others}
        return not is_part and not any(_INDEX.fullmatch(word) for word in {*words} - {*others})
    pairs = zip(words, others, strict=True)
    return all(difflib.SequenceMatcher(None, *pair).ratio() >= WORD for pair in pairs)


def _joined(name: str) -> str:
    return name.replace("_", "").lower()


def _is_example(span: Span) -> bool:
    r"""
    A statement, or several lines; an expression is made of names that are looked up.
    """
    return span.kind == "fence" or _expression(span.content) is None


def _expression(code: str) -> ast.expr | None:
    if _NO_FORMULA.search(code):
        return None
    try:
        return ast.parse(code.replace("…", "..."), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _names(code: str) -> Iterator[str]:
    r"""
    The names in an expression, the dotted ones whole.
    """
    waiting: list[ast.AST] = [tree for tree in [_expression(code)] if tree]
    while waiting:
        node = waiting.pop(0)
        dotted = _dotted(node)
        if dotted:
            yield dotted
            continue
        if isinstance(node, ast.Attribute):
            yield node.attr
        if isinstance(node, ast.keyword) and node.arg:
            yield node.arg
        waiting[:0] = ast.iter_child_nodes(node)


def _dotted(node: ast.AST) -> str:
    match node:
        case ast.Name(id=name):
            return name
        case ast.Attribute(value=value, attr=name):
            before = _dotted(value)
            return f"{before}.{name}" if before else ""
    return ""


def _identifiers(inside: Iterable[ast.AST]) -> Iterator[str]:
    for node in inside:
        match node:
            case ast.Name(id=name) | ast.arg(arg=name):
                yield name
            case ast.Attribute(attr=name) | ast.keyword(arg=str(name)):
                yield name
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                yield node.name
            case ast.alias():
                yield from node.name.split(".")
                yield from [node.asname] if node.asname else []
            case ast.Constant(value=str(text)):
                # A docstring has more than one word, or is no harm.
                forms = (_DOTTED, _OPTION, _TOKEN)
                yield from [text] if any(form.fullmatch(text) for form in forms) else []


def _modules(source: Source) -> set[str]:
    r"""
    What a source imports, and what may be a module in it, by full names.
    """
    modules: set[str] = set()
    for node in source.once(nodes):
        if isinstance(node, ast.Import):
            modules.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            modules.update([node.module, *(f"{node.module}.{alias.name}" for alias in node.names)])
    return modules


def taken(source: Source) -> Taken:
    r"""
    ## Collect the names of a source
    """
    origins: dict[str, set[str]] = {}
    for node in source.once(nodes):
        if isinstance(node, ast.Import | ast.ImportFrom) and not getattr(node, "level", 0):
            within = getattr(node, "module", None)
            for alias in node.names:
                origin = (within or alias.name).partition(".")[0]
                origins.setdefault(origin, set()).add(bound_by_import(alias))
    return Taken(
        frozenset(_identifiers(source.once(nodes))),
        {origin: frozenset(bound) for origin, bound in origins.items()},
        frozenset(_modules(source)),
    )


def exists(parts: list[str], otherwise: bool = False) -> bool:
    r"""
    ## Does Python have a name?

    Of a package, only its own file is run; a module in it need only be there. `otherwise` is said
    of the modules that are not there on this system.
    """
    try:
        thing: Any = importlib.import_module(parts[0])
    except ImportError:
        return otherwise
    for name in parts[1:]:
        if hasattr(thing, name):
            thing = getattr(thing, name)
        else:
            return hasattr(thing, "__path__") and bool(find_spec(f"{thing.__name__}.{name}"))
    return True


@cache
def _inside(module: str) -> frozenset[str]:
    r"""
    The names in a module of Python; none in what is no module, or isn't there on this system.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return frozenset(dir(importlib.import_module(module)))
    except ImportError:
        return frozenset()


@cache
def special_names() -> frozenset[str]:
    r"""
    ## Python's own names

    The names with two underscores on both sides that Python itself looks for.
    """
    spaces = [builtins, types, collections.abc, contextlib]
    classes = [
        thing for space in spaces for thing in vars(space).values() if isinstance(thing, type)
    ]
    names = {name for each in classes for name in dir(each)}
    return frozenset({name for name in names if name.startswith("__")} | _SPECIAL)
