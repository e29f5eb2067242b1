r"""
---
title: A Path
summary: Steps stand below each other, the loss falls beside them, and each shows what it changes.
---

On a page with a list of [steps](steps.py), a line runs down beside the list. It goes to the left
where the loss falls. The loss of a step is the last number in its text that comes from the same
table as the first number of the list. A step without a number keeps that of the step before.

Below a step stands its [program](programs.py), as what it changes in the one before.
"""

import html
import posixpath
from collections.abc import Mapping
from typing import Any

from literate.page import programs
from literate.page.exhibit import spelled
from literate.page.exhibits_in_notes import linked
from literate.page.links import UnknownTarget
from literate.page.notes import Notes
from literate.page.steps import Item, items
from literate.page.templates import FORMS
from literate.reading.notes import Note
from literate.reading.rows import Row

# The ends of the line, in per cent of the place beside the list.
LEFT, RIGHT = 8, 92


def markdown(note: Note, row: Row, notes: Notes) -> str:
    r"""
    ## A note with steps as Markdown
    """
    parts = [*items(note)]
    listed = [part for part in parts if isinstance(part, Item)]
    places = _places(_losses(listed, notes))
    changes = _changes(listed, notes)
    written, done = [], 0
    for part in parts:
        if isinstance(part, Item):
            track = _track(places, done)
            text = notes.markdown(part.note, row)
            written.append(FORMS.step_of_path(part.number, text, track, changes[done]))
            done += 1
        elif 0 < done < len(listed) and places:
            # The line goes on beside what stands between two steps.
            written.append(FORMS.between_steps(notes.markdown(part, row), places[done][0]))
        else:
            written.append(notes.markdown(part, row))
    return "\n\n".join(written)


def _losses(listed: list[Item], notes: Notes) -> list[float]:
    r"""
    The loss of each step; none, if the first has no number.
    """
    path, table, loss = notes.path, None, 0.0
    losses: list[float] = []
    for item in listed:
        for target in item.note.parsed.targets:
            file, anchor = linked(path, target.text)
            of = file, ".".join(anchor.split(".")[:2])
            if not notes.links.is_result(file) or (table or of) != of:
                continue
            try:
                value = notes.links.result(file, anchor, target.text)[2]
            except UnknownTarget:
                # As a link it will be named.
                continue
            if isinstance(value, int | float):
                table, loss = of, value
        if table is None:
            return []
        losses.append(loss)
    return losses


def _places(losses: list[float]) -> list[tuple[float, str]]:
    r"""
    The place of each loss beside the list, and the loss as a reader wants it.
    """
    if not losses:
        return []
    low, high = min(losses), max(losses)
    width = (high - low) or 1
    return [(LEFT + (RIGHT - LEFT) * (loss - low) / width, spelled(loss, 2)) for loss in losses]


def _track(places: list[tuple[float, str]], at: int) -> Mapping[str, Any]:
    r"""
    The piece of the line beside one step: from its loss to that of the next one. Nobody knows how
    high a step is before it is shown, so the line bends at the dots only.
    """
    if not places:
        return {}
    here, shown = places[at]
    _, earlier = places[at - 1] if at else (here, "")
    after, _ = places[at + 1] if at + 1 < len(places) else (here, "")
    return {
        "here": here,
        "next": after,
        "is_first": not at,
        "is_last": at + 1 == len(places),
        "loss": shown,
        "before": earlier,
    }


def _changes(listed: list[Item], notes: Notes) -> list[Mapping[str, Any]]:
    r"""
    What each program changes in the one before.
    """
    changes: list[Mapping[str, Any]] = []
    before = None
    for item in listed:
        text = _read(item, notes) if item.program else None
        if text is None:
            changes.append({})
            continue
        lines = programs.program(text) if before is None else programs.difference(before, text)
        added, removed = programs.changed(lines)
        file = linked(notes.path, item.program)[0]
        links = notes.links
        inside = posixpath.relpath(file, links.docs)
        changes.append(
            {
                "is_whole": before is None,
                "added": added,
                "removed": removed,
                "code": programs.listing(lines),
                "name": html.escape(posixpath.basename(file)),
                "address": html.escape(links.beside(links.uri(notes.path), inside)),
            }
        )
        before = text
    return changes


def _read(item: Item, notes: Notes) -> str | None:
    r"""
    The text of a program; what is wrong with the link to it is reported.
    """
    path = notes.path
    try:
        notes.links.resolve(path, item.program)
    except UnknownTarget as error:
        notes.report(item.line, str(error))
        return None
    return (notes.links.root / linked(path, item.program)[0]).read_text(encoding="utf-8")
