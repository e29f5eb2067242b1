r"""
---
title: Rules
summary: The conventions of a page that can be checked without running it.
---

A convention that nobody checks is a habit. These are checked on every build.

A reader who doesn't know a word looks it up, and finds nothing if we made it up. So a project lists
words that it has used in place of the usual ones, in its [settings](../settings.py):

```toml
[tool.literate.words]
card = "GPU"
"way back" = "backward pass"
```

A word of the list in a docstring or a comment is a problem, with the place and the remedy. A longer
phrase with nothing to say for it, `"model card" = ""`, is allowed. Code, formulas, links and
quotations may say what they like.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from textwrap import dedent
from typing import NamedTuple

from literate.problems import Problem
from literate.reading.docstrings import doubled_colons
from literate.reading.fields import misread
from literate.reading.front_matter import of_source, opening
from literate.reading.inline_marks import misspelt_roles
from literate.reading.rows import rows
from literate.reading.source import Docstring, Source

# An answer to a question, and what is said about it.
_ANSWER = re.compile(r"    - \[([ x])\] (.*)")
_REASON = re.compile(r"        - \S")
# What Python takes for one character, though a word was meant.
_MISREAD = re.compile(r"(?<!\\)(?:\\\\)*(\\[abfnrtv])(?=[A-Za-z])")
# A backslash, but not of click's marks, which stand alone in a line: Python has to read these.
_BACKSLASH = re.compile(r"(?m)\\(?![bf]$)")
# What Sphinx, and pdoc with one name, put another file in the place of.
_INCLUDE = re.compile(r"(?m)^[ \t]*\.\. (?:literal)?include::[ \t]*(\S+)")
INCLUDED = "docstrings include a file, which isn't read"
# A line that is quoted, words in quotes, the target of a link, a tag of HTML.
_FOREIGN = re.compile(r'(?m)^\s*>.*|“[^”]*”|"[^"\n]*"|\]\([^)\n]*\)|<[^>\n]*>')


def problems(source: Source, words: Mapping[str, str]) -> Iterator[Problem]:
    r"""
    ## What a source does against the conventions

    `words` are those that its notes should not say, each with what to say for it.
    """
    yield from _not_raw(source)
    yield from _headings(source)
    yield from _fields(source)
    yield from _included(source)
    yield from _questions(source)
    yield from _words(source, words)


def _not_raw(source: Source) -> Iterator[Problem]:
    r"""
    In a docstring that is not raw, Python turns `\theta` into a tab and “heta”, for `help()` and
    for everybody who reads `__doc__`. One that is [shown](source.py#Docstring.shown) by the value
    that Python gives it is right.
    """
    for docstring in _docstrings(source):
        if docstring.raw or docstring.shown != docstring.text:
            continue
        if backslash := _BACKSLASH.search(docstring.text):
            below = docstring.text.count("\n", 0, backslash.start())
            where = f" in line {docstring.first + below}" if below else ""
            sentence = f'the docstring has a backslash{where} and is not raw; begin it with `r"""`.'
            misread = _MISREAD.search(docstring.text)
            if misread:
                sentence += f" Python takes `{misread[1]}` for one character."
            kind = "docstrings have a backslash and are not raw"
            yield Problem(source.path, docstring.first, sentence, kind)


def _docstrings(source: Source) -> Iterator[Docstring]:
    documented = [source.docstring, *(definition.docstring for definition in source.definitions)]
    yield from (one for one in [*documented, *source.of_attributes.values()] if one)


def _fields(source: Source) -> Iterator[Problem]:
    r"""
    [Fields](fields.py#misread) and [roles](inline_marks.py#misspelt_roles) that Sphinx doesn't
    know, and [entries](docstrings.py#doubled_colons) that NumPy's parser doesn't.
    """
    if source.style in ("", "sphinx"):
        for docstring in _docstrings(source):
            texts = docstring.shown.split("\n")
            for at, sentence in [*misread(texts), *misspelt_roles(texts)]:
                yield Problem(source.path, docstring.first + at, sentence)
    if source.style in ("", "numpy"):
        for docstring in _docstrings(source):
            first, _, others = docstring.shown.partition("\n")
            for at, sentence in doubled_colons([first.strip(), *dedent(others).split("\n")]):
                yield Problem(source.path, docstring.first + at, sentence)


def _included(source: Source) -> Iterator[Problem]:
    r"""
    A page has what its own file says. The line is shown as it is written.
    """
    for docstring in _docstrings(source) if "include::" in source.text else ():
        for match in _INCLUDE.finditer(docstring.shown):
            line = docstring.first + docstring.shown.count("\n", 0, match.start())
            sentence = (
                f"“{match[0].strip()}” isn't followed; a file that is to be a page goes to "
                "`documents` of `[tool.literate]`."
            )
            yield Problem(source.path, line, sentence, INCLUDED)


def _headings(source: Source) -> Iterator[Problem]:
    r"""
    The title is the page's one heading of the first level; no level is skipped on the way down.
    """
    level = 1
    for row in rows(source):
        note = of_source(source)[1] if row is opening(source) else row.note
        if note is None:
            continue
        if row.documents and not note.parsed.title:
            level = 2 + row.documents.depth
        for heading in note.parsed.headings:
            line = note.line(heading.first)
            if heading.level == 1:
                sentence = "a heading of the first level; the page has one already, its title."
                kind = "headings are of the first level, as the title is"
                yield Problem(source.path, line, sentence, kind)
            elif heading.level > level + 1:
                sentence = f"the heading skips from level {level} to level {heading.level}."
                yield Problem(source.path, line, sentence, "headings skip a level")
            level = heading.level


def _questions(source: Source) -> Iterator[Problem]:
    r"""
    A question may have answers to choose from: a list of boxes, `- [ ]`, of which one is ticked,
    `- [x]`. Below each answer a list item says why it is right or wrong.
    """
    for row in rows(source):
        if row.note is None:
            continue
        lines = row.note.texts
        for at, text in enumerate(lines):
            if not text.startswith("??? question"):
                continue
            line = row.note.line(at)
            answers = _answers(lines[at + 1 :])
            if answers and sum(answer.is_ticked for answer in answers) != 1:
                sentence = "a question with answers has one that is right: tick it, `- [x]`."
                yield Problem(source.path, line, sentence)
            for answer in answers:
                if not answer.has_reason:
                    sentence = (
                        f"the answer “{answer.text}” doesn't say why it is right or wrong: "
                        "write that below it, as a list item of its own."
                    )
                    yield Problem(source.path, row.note.line(at + answer.offset), sentence)


class _Answer(NamedTuple):
    r"""
    `offset` is the number of lines below that of the question.
    """

    offset: int
    text: str
    is_ticked: bool
    has_reason: bool


def _answers(below: Sequence[str]) -> list[_Answer]:
    r"""
    The answers in the lines below a question, which are indented.
    """
    answers = []
    for at, text in enumerate(below):
        if text and not text.startswith(" "):
            break
        match = _ANSWER.match(text)
        if match:
            has_reason = _has_reason(below[at + 1 :])
            answers.append(_Answer(at + 1, match[2], match[1] == "x", has_reason))
    return answers


def _has_reason(below: Sequence[str]) -> bool:
    r"""
    Whether a reason comes before the next answer and before the end of the question.
    """
    for text in below:
        if _REASON.match(text):
            return True
        if _ANSWER.match(text) or (text and not text.startswith(" ")):
            return False
    return False


def _words(source: Source, words: Mapping[str, str]) -> Iterator[Problem]:
    r"""
    The words that the project's list has something else to say for.
    """
    if not words:
        return
    listed = _spelled(tuple(words))
    notes = [row.note for row in rows(source) if row.note]
    for span in (span for note in notes for span in note.parsed.spans if span.kind == "text"):
        # Spaces in place of what is foreign, so that lines and columns stay.
        text = _FOREIGN.sub(lambda match: re.sub(r"\S", " ", match[0]), span.text)
        for match in listed.finditer(text):
            line = span.line_of(match.start())
            said = " ".join(match[0].split())
            instead = words[said.lower()]
            if instead:
                sentence = f"the note says “{said}”; say “{instead}”."
                yield Problem(source.path, line, sentence)


@cache
def _spelled(words: tuple[str, ...]) -> re.Pattern[str]:
    r"""
    Whole words in upper or lower case, the longest first. A phrase may go on in the next line.
    """
    by_length = sorted(words, key=len, reverse=True)
    spelled = "|".join(r"\s+".join(map(re.escape, words.split())) for words in by_length)
    return re.compile(rf"(?<![\w-])(?:{spelled})(?![\w-])", re.IGNORECASE)
