r"""
---
title: Source
summary: A Python file becomes lines, each of exactly one kind, and nothing is lost.
---

A page is made from the *text* of a module: the module is never imported, and `__doc__` is never
read, because Python has already turned the `\t` of `\theta` into a tab by then.

Two readers of the standard library share the work. `tokenize` knows where strings and comments
really begin and end, which no search for `#` or quotes can know; `ast` knows which of the strings
are docstrings, and of what.
"""

import ast
import io
import keyword
import re
import tokenize
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal, TypeVar

from literate.problems import LiterateError, Problem
from literate.reading.import_folders import module_name
from literate.reading.scripts import Script, begins_markdown

Kind = Literal["docstring", "comment", "code", "blank"]
# Comments for programs: for type checkers, linters, formatters and editors.
_PRAGMA = re.compile(
    r"#\s*(?:(?:type|mypy|pylint|pyright|ruff|flake8|isort|fmt|yapf|pragma|vim?|cython)\s*:"
    r"|noqa\b|nosec\b|-\*-)"
)
# In a docstring that is not raw: an escape, what tells that its author means escapes, and what
# tells that TeX is meant, or something else that Python doesn't know.
_ESCAPE = re.compile(
    r"\\(?:[0-7]{1,3}|x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|N\{[^}]+\}|[\s\S])"
)
_MEANT = re.compile(
    # The end of a line behind that of a sentence.
    r"(?<=[.!?:])\\n(?=[ \t]*(?:\n|$))|"
    r"(?<!\\)(?:\\\\)*(?:\\\\(?=[^\s\\])|(?<=`)\\\\(?=\s)|\\{4}(?!\\)|\\[\"'\n]|\\x[0-9a-fA-F]{2}|\\[uU][0-9a-fA-F]{4}|\\N\{)"
)
# Two backslashes before a blank end a line of TeX; where there is no formula, one is meant.
_BEFORE_BLANK = re.compile(r"(?<!\\)(?:\\\\)*\\\\(?=\s)")
_FORMULA = re.compile(r"\$|\bmath:")
_TYPED = re.compile(
    r"(?<!\\)(?:\\\\)*\\(?:[^\n\\'\"ntxuUN0-7]"
    r"|(?:t(?:heta|au|ext\w*|imes|op?|ilde|frac|anh?)|n(?:u|abla|eq?|ot|i))(?![A-Za-z]))"
)
Made = TypeVar("Made")


@dataclass(frozen=True)
class Line:
    r"""
    ## A physical line

    `text` keeps its line ending, so that the texts of all lines, put together, are the file.
    """

    number: int
    text: str
    kind: Kind


@dataclass(frozen=True)
class Docstring:
    r"""
    ## A docstring

    `text` is what stands between the quotes in the file. `raw` tells whether it has an `r` in
    front of them.
    """

    first: int
    last: int
    text: str
    raw: bool

    @property
    def shown(self) -> str:
        r"""
        ### What its author means

        The value that Python gives it, if the author writes two backslashes where one is meant:
        each backslash begins an escape of Python's then. But most authors who leave out the `r`
        mean `\theta` and no tab. A line stays a line.
        """
        has_escape = _MEANT.search(self.text) or (
            _BEFORE_BLANK.search(self.text) and not _FORMULA.search(self.text)
        )
        if self.raw or not has_escape or _TYPED.search(self.text):
            return self.text
        return _ESCAPE.sub(lambda match: _value(match[0]), self.text)


@dataclass(frozen=True)
class Definition:
    r"""
    ## A class or a function

    * `name` is the qualified name, `MultiHeadAttention.forward`
    * `first` is the line of its first decorator, `line` that of its `class` or `def`
    * `last` is the last line of its body
    * `depth` is the number of definitions around it
    * `in_function` tells whether one of these is a function
    """

    name: str
    kind: Literal["class", "function"]
    first: int
    line: int
    last: int
    depth: int
    in_function: bool
    docstring: Docstring | None
    node: ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef = field(repr=False, compare=False)


@dataclass(frozen=True)
class Source:
    r"""
    ## A parsed file

    * `path` is the path as the author knows it; problems are reported with it
    * `names` are those in the code of each line, without the words of Python itself
    * `unread` is why Python can't read the file, if it can't: all its lines are code then
    * `texts` are strings that are cells of text, in a notebook that is kept as a script
    * `of_attributes` are strings right below an assignment, which document what it assigns, by the
      line that the assignment begins in
    * `style` is the one that its [docstrings](docstrings.py) are said to have; empty, if each may
      have its own
    * `import_folder` is the one that its [package is imported from](import_folders.py), by its path
      from that of the project
    """

    path: str
    text: str
    lines: tuple[Line, ...]
    docstring: Docstring | None
    definitions: tuple[Definition, ...]
    names: Mapping[int, Sequence[str]] = field(repr=False, compare=False)
    tree: ast.Module = field(repr=False, compare=False)
    unread: Problem | None = None
    texts: tuple[Docstring, ...] = ()
    of_attributes: Mapping[int, Docstring] = field(default_factory=dict, compare=False)
    style: str = ""
    import_folder: str = ""
    _made: dict[Callable[..., Any], Any] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )

    @property
    def module(self) -> str:
        r"""
        ### The name under which it is imported
        """
        return module_name(self.path, self.import_folder)

    def once(self, make: Callable[["Source"], Made]) -> Made:
        r"""
        ### What follows from the source alone

        `make` works it out when it is first asked for. The result is kept as long as the source,
        so nobody may change it.
        """
        if make not in self._made:
            self._made[make] = make(self)
        return self._made[make]

    def characters(self, line: int, column: int) -> int:
        r"""
        ### A column in characters

        `column` is one of `ast`, which counts the bytes of UTF-8.
        """
        return len(self.lines[line - 1].text.encode()[:column].decode(errors="ignore"))

    def definition_named(self, name: str) -> "Definition | None":
        r"""
        ### The first definition of a name
        """
        return next(
            (definition for definition in self.definitions if definition.name == name), None
        )

    def definition_at(self, line: int) -> Definition | None:
        r"""
        ### The innermost definition around a line

        None for a line of the module itself.
        """
        inside = [
            definition
            for definition in self.definitions
            if definition.first <= line <= definition.last
        ]
        return max(inside, key=lambda definition: definition.depth, default=None)


def nodes(source: Source) -> tuple[ast.AST, ...]:
    r"""
    ## All nodes of the syntax tree, as `ast.walk` finds them

    To be asked for [once](#Source.once): many rules look at each.
    """
    return tuple(ast.walk(source.tree))


def read(path: Path, name: str | None = None, known: Source | None = None) -> Source:
    r"""
    ## Read a file

    `name` is what the file is called in problems. If its text is still that of the source `known`,
    this source is returned, with all that has been [worked out](#Source.once).

    A file that is not there, has an encoding of its own that does not fit, or is not Python raises
    a [LiterateError](../problems.py#LiterateError) that names the line.
    """
    name = name or path.as_posix()
    try:
        data = path.read_bytes()
    except OSError as error:
        raise LiterateError([Problem(name, 1, f"can't be read: {error.strerror}.")]) from None
    # The encoding is declared by a byte-order mark or a comment, as Python itself finds it.
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
        text = data.decode(encoding)
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        sentence = f"byte {error.start} is not {error.encoding}; save the file in its encoding."
        raise LiterateError([Problem(name, line, sentence)]) from None
    except SyntaxError as error:
        raise LiterateError([Problem(name, 1, f"{error.msg}.")]) from None
    return known if known is not None and known.text == text else parse(text, name)


def unread(path: Path, name: str, problem: Problem) -> Source:
    r"""
    ## A file that Python can't read

    Its lines are code, of which nothing is known. Bytes that are no text are shown as question
    marks in a diamond.
    """
    text = path.read_bytes().decode("utf-8", errors="replace")
    lines = tuple(
        Line(number, line, "code" if line.strip() else "blank")
        for number, line in enumerate(_split(text), start=1)
    )
    return Source(name, text, lines, None, (), {}, ast.Module([], []), problem)


def parse(text: str, name: str = "<text>") -> Source:
    r"""
    ## Parse a text

    Each physical line gets its kind. What is left over when docstrings, comments and blank lines
    are known is code, so no line can be without a kind.
    """
    # Python reads every line ending as a newline; so do we, to agree with it on line numbers.
    # The lines themselves keep what stands in the file.
    plain = text.replace("\r\n", "\n").replace("\r", "\n")
    tree = _tree(plain, name)
    tokens = _tokens(plain, name)
    strings = {token.start: token for token in tokens if token.type == tokenize.STRING}
    plain_lines = plain.split("\n")

    docstring = _docstring(tree, strings, plain_lines)
    definitions = tuple(_definitions(tree, strings, plain_lines))

    script = Script(plain_lines)
    # As front matter, the header of a script says something of the page, and is no part of it.
    kinds: dict[int, Kind] = dict.fromkeys(script.header, "blank")
    texts = tuple(_texts(tree, strings, plain_lines)) if script.has_cells else ()
    assigned = dict(_of_attributes(tree, definitions, strings, plain_lines))
    documented = [docstring, *(definition.docstring for definition in definitions)]
    for place in [*documented, *texts, *assigned.values()]:
        if place is not None:
            kinds.update(dict.fromkeys(range(place.first, place.last + 1), "docstring"))
    names: dict[int, list[str]] = {}
    for token in tokens:
        row, column = token.start
        if token.type == tokenize.NAME and not keyword.iskeyword(token.string):
            names.setdefault(row, []).append(token.string)
        alone = not token.line[:column].strip() if token.type == tokenize.COMMENT else False
        is_said = not script.is_for_programs(row, token.string)
        if alone and is_said and not _is_machine_comment(row, token.string):
            kinds[row] = "comment"
        elif token.type != tokenize.COMMENT and token.string.strip():
            # An empty line inside a string is part of that string.
            for number in range(row, token.end[0] + 1):
                kinds.setdefault(number, "code")

    lines = []
    for number, line in enumerate(_split(text), start=1):
        blank: Kind = "code" if line.strip() else "blank"
        lines.append(Line(number, line, kinds.get(number, blank)))
    told = docstring, definitions, names, tree
    return Source(name, text, tuple(lines), *told, texts=texts, of_attributes=assigned)


def _split(text: str) -> list[str]:
    r"""
    `str.splitlines` would also cut at form feeds and at line separators, which Python does not.
    """
    return list(io.StringIO(text, newline=""))


def _tree(plain: str, name: str) -> ast.Module:
    r"""
    A file that Python can't parse is the author's to correct: its line and Python's own words.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(plain)
    except SyntaxError as error:
        raise LiterateError([Problem(name, error.lineno or 1, f"{error.msg}.")]) from None
    except (ValueError, RecursionError, MemoryError) as error:
        raise LiterateError([Problem(name, 1, f"can't be parsed: {error}.")]) from None


def _tokens(plain: str, name: str) -> list[tokenize.TokenInfo]:
    try:
        return list(tokenize.generate_tokens(io.StringIO(plain).readline))
    except (tokenize.TokenError, SyntaxError) as error:
        line = error.args[1][0] if isinstance(error, tokenize.TokenError) else error.lineno
        raise LiterateError([Problem(name, line or 1, f"{error.args[0]}.")]) from None


def _is_machine_comment(line: int, comment: str) -> bool:
    r"""
    A first line for the shell, a declared encoding, and what is said to a linter or an editor are
    for machines, not notes.
    """
    return (
        (line == 1 and comment.startswith("#!"))
        or (line <= 2 and "coding" in comment and ("coding:" in comment or "coding=" in comment))
        or _PRAGMA.match(comment) is not None
    )


Tokens = dict[tuple[int, int], tokenize.TokenInfo]


def _texts(tree: ast.Module, strings: Tokens, lines: list[str]) -> Iterator[Docstring]:
    r"""
    Strings that stand first below the line that begins a cell of text.
    """
    for statement in tree.body:
        above = next((line for line in reversed(lines[: statement.lineno - 1]) if line.strip()), "")
        if begins_markdown(above):
            found = _docstring(ast.Module([statement], []), strings, lines)
            if found is not None:
                yield found


def _of_attributes(
    tree: ast.Module, definitions: Sequence[Definition], strings: Tokens, lines: list[str]
) -> Iterator[tuple[int, Docstring]]:
    r"""
    Strings that stand right below an assignment: of a module, of a class, or, in `__init__`, of an
    attribute. Below an empty line, a string can be something that is out of use.
    """
    classes = [one.node for one in definitions if one.kind == "class"]
    made = [one.node for one in definitions if one.name.endswith(".__init__")]
    for node in (tree, *classes, *made):
        for statement, below in pairwise(node.body):
            match statement:
                case ast.Assign(targets=[target]) | ast.AnnAssign(target=target):
                    is_next = below.lineno == (statement.end_lineno or 0) + 1
                    is_named = isinstance(target, ast.Attribute if node in made else ast.Name)
                    found = _docstring(ast.Module([below], []), strings, lines)
                    if is_next and is_named and found:
                        yield statement.lineno, found


def _docstring(node: ast.AST, strings: Tokens, lines: list[str]) -> Docstring | None:
    r"""
    A docstring is a note only if its lines hold nothing else: in `def f(): "one"` and in
    `"one"; x = 1` the line stays code.
    """
    body = getattr(node, "body", None)
    if not body or not isinstance(body[0], ast.Expr) or not isinstance(body[0].value, ast.Constant):
        return None
    value = body[0].value
    if not isinstance(value.value, str):
        return None
    # `ast` counts columns in bytes, `tokenize` in characters.
    first = lines[value.lineno - 1]
    column = len(first.encode()[: value.col_offset].decode())
    token = strings.get((value.lineno, column))
    if token is None or first[:column].strip() or lines[token.end[0] - 1][token.end[1] :].strip():
        return None
    prefix = token.string[: len(token.string) - len(token.string.lstrip("rRuU"))]
    quoted = token.string[len(prefix) :]
    quotes = quoted[:3] if quoted[:3] in ('"""', "'''") else quoted[:1]
    text = quoted[len(quotes) : -len(quotes)]
    return Docstring(value.lineno, token.end[0], text, "r" in prefix.lower())


def _value(escape: str) -> str:
    r"""
    What Python makes of an escape; the end of a line stays one.
    """
    if escape == "\\\n":
        return "\n"
    if escape == "\\n":
        return " "
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            value = ast.literal_eval(f'"{escape}"')
    except (SyntaxError, ValueError):
        return escape
    return value if value.isprintable() or value == "\t" else escape


def _definitions(tree: ast.Module, strings: Tokens, lines: list[str]) -> Iterator[Definition]:
    r"""
    All classes and functions, in the order of the file, also those inside `if` and `try`.
    """
    stack: list[tuple[ast.AST, str, int, bool]] = [(tree, "", 0, False)]
    definitions: list[Definition] = []
    while stack:
        node, prefix, depth, in_function = stack.pop()
        for child in ast.iter_child_nodes(node):
            if not isinstance(child, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
                # No expression holds a definition.
                if not isinstance(child, ast.expr):
                    stack.append((child, prefix, depth, in_function))
                continue
            name = prefix + child.name
            first = min([child.lineno, *(decorator.lineno for decorator in child.decorator_list)])
            is_class = isinstance(child, ast.ClassDef)
            definitions.append(
                Definition(
                    name=name,
                    kind="class" if is_class else "function",
                    first=first,
                    line=child.lineno,
                    last=child.end_lineno or child.lineno,
                    depth=depth,
                    in_function=in_function,
                    docstring=_docstring(child, strings, lines),
                    node=child,
                )
            )
            stack.append((child, name + ".", depth + 1, in_function or not is_class))
    yield from sorted(definitions, key=lambda definition: (definition.first, definition.depth))
