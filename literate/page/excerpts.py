r"""
---
title: Excerpts
summary: A part of one page is shown on another, with its notes and the shapes that were measured.
---

A link that is a paragraph of its own, with the title *at work*, shows the code that it leads to:

```
[Multi-head attention](mha.py#MultiHeadAttention.forward "at work")
```

Its notes are those of the other page, and so are their claims. Links are seen from the page that
shows them.
"""

import html
from collections.abc import Mapping
from dataclasses import dataclass, replace

from literate.measuring.claims import Claims
from literate.measuring.measure import Measurement
from literate.page.changes import Changes
from literate.page.escaping import escaped
from literate.page.exhibits_in_notes import Exhibit, linked
from literate.page.formulas import Formulas
from literate.page.links import Links, UnknownTarget
from literate.page.listing import Listing
from literate.page.notes import Notes
from literate.page.templates import FORMS
from literate.python.references import Network
from literate.reading.page_source import page_source
from literate.reading.rows import rows
from literate.reading.source import Definition, Source


@dataclass(frozen=True)
class Excerpts:
    r"""
    ## What parts of other pages are made from

    * `formulas` sets those of the notes
    * `measurements` are those of all pages that were measured, by their paths, and `references`
      those of all pages
    * `changes` are the [differences](differences.py) of all pages
    """

    formulas: Formulas
    measurements: Mapping[str, Measurement]
    references: Network
    changes: Changes

    @property
    def forms(self) -> tuple[str, ...]:
        r"""
        ### The titles of links that ask for it
        """
        return ("at work", "difference", "gallery")

    def show(self, exhibit: Exhibit, path: str, links: Links) -> str:
        r"""
        ### Show what a note asks for

        `path` is the file of the note. Raises [UnknownTarget](links.py#UnknownTarget) with the
        sentence for the author.
        """
        # What leads nowhere is no part of a page.
        links.resolve(path, exhibit.target)
        if exhibit.form == "gallery":
            return self.changes.tiles(path, links)
        file, anchor = linked(path, exhibit.target)
        file = path if exhibit.target.startswith("#") else file
        if exhibit.form == "difference":
            if (file, anchor) not in self.changes.differences:
                sentence = f"the link to `{exhibit.target}` names no difference."
                raise UnknownTarget(sentence)
            return self.changes.figure(
                self.changes.differences[file, anchor], escaped(exhibit.caption), path, links
            )
        source = links.pages.get(file)
        definition = source.definition_named(anchor) if source else None
        if not source or not definition:
            sentence = (
                f"the link to `{exhibit.target}` can't be shown at work: it names no definition."
            )
            raise UnknownTarget(sentence)
        address = html.escape(links.address(path, file, anchor))
        return FORMS.fragment(
            self._rows(source, definition, path, links), escaped(exhibit.caption), address
        )

    def _rows(
        self, source: Source, definition: Definition, path: str, links: Links
    ) -> list[tuple[int, str, str]]:
        r"""
        The rows inside a definition: the number of its first line, its note and its code. The head
        of the definition, its docstring and checks of arguments are left out: they are no part of
        the idea.
        """
        measurement = self.measurements.get(source.path)
        here = replace(links, shown_on=links.uri(path))
        # Whatever is wrong with these notes is said on their own page.
        claims = Claims(source, measurement)
        notes = Notes(page_source(source), here, self.formulas, claims)
        code = Listing(source, here, self.references, measurement)
        page = links.address(path, source.path, "")
        return [
            (row.code[0].number, notes.markdown(row.note, row), code.of(row, page=page))
            for row in rows(source)
            if row.note and row.note.kind == "comment"
            if any(definition.first <= line.number <= definition.last for line in row.code)
            if not any(line.text.lstrip().startswith("raise ") for line in row.code)
        ]
