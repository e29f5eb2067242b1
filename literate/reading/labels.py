r"""
---
title: Labels and substitutions
summary: A reference of Sphinx leads to a label, and some lead to none.
---

`` :ref:`rules` `` in a docstring leads to a place that says `.. _rules:`. Most labels stand in the
documents of a project that Sphinx reads, and those are no part of this site. Then the words of the
reference stay words, and the author is told: of all such references together, or of one alone, if a
note has a label that is nearly the same. So it is with a substitution, `|the_name|`, whose text
stands in the settings of Sphinx: its name is shown alone.
"""

import ast
from collections.abc import Iterable, Iterator, Mapping
from difflib import get_close_matches

from literate.problems import Problem
from literate.reading.inline_marks import labels_named, substitutions_named
from literate.reading.restructured import targets
from literate.reading.rows import rows
from literate.reading.source import Docstring, Source, nodes
from literate.reading.substitutions import substituted
from literate.reading.text_lines import TextLine

UNLABELLED = "references lead nowhere, because no note has their label"
UNDEFINED = "substitutions are shown by their names, because their docstring doesn't define them"
# How near a label must be to be the one that is meant.
NEAR = 0.85
# Sphinx has these itself.
_OF_SPHINX = {"genindex", "modindex", "search"}


def unlabelled(chosen: Iterable[Source], sources: Mapping[str, Source]) -> Iterator[Problem]:
    r"""
    ## References of the chosen sources without a label

    The others are looked into for labels, if there is a reference.
    """
    references = [
        (source.path, docstring.first + at, label)
        for source in chosen
        if "ref:`" in source.text
        for docstring in _docstrings(source)
        for at, label in labels_named(docstring.shown.split("\n"))
    ]
    known = _labels(sources.values()) if references else set()
    for path, line, label in references:
        if label.lower() in known:
            continue
        near = next(iter(get_close_matches(label.lower(), sorted(known), 1, NEAR)), "")
        hint = f"; is “{near}” meant?" if near else ", so its words are no link."
        sentence = f"the reference names the label “{label}”, which no note has{hint}"
        yield Problem(path, line, sentence, "" if near else UNLABELLED)


def undefined(chosen: Iterable[Source]) -> Iterator[Problem]:
    r"""
    ## Substitutions of the chosen sources that their docstring doesn't define

    What looks like one in a block of code is none, and neither is the name of an argument. A page
    has it once.
    """
    for source in chosen:
        found = [
            (docstring.first + at, name)
            for docstring in _docstrings(source)
            if "|" in docstring.text
            for at, name in _undefined(docstring)
        ]
        notes = (row.note for row in rows(source) if found and row.note)
        code = [one.text for note in notes for one in note.parsed.spans if one.kind == "fence"]
        arguments = {one.arg for one in source.once(nodes) if isinstance(one, ast.arg)}
        lines: dict[str, list[int]] = {}
        for line, name in found:
            if name not in arguments and not any(f"|{name}|" in text for text in code):
                lines.setdefault(name, []).append(line)
        for name, places in lines.items():
            several = f", in {len(places)} places" if len(places) > 1 else ""
            sentence = f"the docstring doesn't define the substitution “|{name}|”, so its name "
            sentence += f"is all that is shown{several}; the settings of Sphinx are not read."
            yield Problem(source.path, places[0], sentence, UNDEFINED)


def _undefined(docstring: Docstring) -> Iterator[tuple[int, str]]:
    texts = enumerate(docstring.shown.split("\n"))
    lines = substituted([TextLine(text, at) for at, text in texts])
    for at, name in substitutions_named("\n".join(line.text for line in lines)):
        yield lines[at].at, name


def _labels(sources: Iterable[Source]) -> set[str]:
    known = set(_OF_SPHINX)
    for source in sources:
        for docstring in _docstrings(source) if ".. _" in source.text else ():
            lines = [TextLine(text, at) for at, text in enumerate(docstring.shown.split("\n"))]
            known |= {label for label, address in targets(lines) if label and not address}
    return known


def _docstrings(source: Source) -> Iterator[Docstring]:
    if source.style == "markdown" or source.unread:
        return
    documented = [source.docstring, *(one.docstring for one in source.definitions)]
    yield from filter(None, [*documented, *source.of_attributes.values()])
