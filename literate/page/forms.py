r"""
---
title: Forms
summary: The title of a link says as what its target is shown, such as a text that types itself.
---

A link that is a paragraph of its own is an [exhibit](exhibit.py). Its title, which a reader of the
repository sees when pointing at the link, can name a form:

```
[What the model writes](../results/trial.json#tables.written "typed")
```

Forms of a table are *typed*, a text for each row, of which one is shown, and *write*, a field for
what a model in the browser goes on from. Two more show a part of another page, which needs more
than the table: they are [excerpts](excerpts.py).
"""

from collections.abc import Callable, Mapping

from literate.page import exhibit
from literate.page.escaping import escaped, literal, visible
from literate.page.exhibit import Caption, Spot, spelled
from literate.page.exhibits_in_notes import Exhibit, Found
from literate.page.links import Links
from literate.page.templates import FORMS
from literate.reading.notes import Span
from literate.results.records import Table


def show_exhibit(
    exhibited: Exhibit, path: str, links: Links, formula: Callable[[Span], str] | None = None
) -> str:
    r"""
    ## Show an exhibit in its form

    As HTML on one line. Without a form, or where the table isn't fit for it, it is shown as it is.
    """
    found = exhibited.found
    assert found is not None
    caption = exhibit.captioned(exhibited, formula)
    if not caption.words:
        caption = exhibit.caption_of(found.thing, found.place)
    at = Spot(path, links.uri(path), links)
    if exhibited.form in OF_TABLES and isinstance(found.thing, Table):
        return OF_TABLES[exhibited.form](found, caption, at)
    return exhibit.show(found, caption, at)


def _typed(found: Found, caption: Caption, at: Spot) -> str:
    r"""
    The first column names the texts, the second has them. The last one is shown first: it is there
    for a reader without scripts, who can choose another as well.
    """
    table: Table = found.thing
    label, text = table.columns[:2]
    samples = [(escaped(spelled(row[label.name])), _lines(row[text.name])) for row in table.rows]
    now = exhibit.since(found.result, at)
    run = exhibit.run_of(found.result, found.place, at)
    name = found.place.replace(".", "-")
    return FORMS.typed(name, escaped(label.title), samples, caption.html, run, now)


def _write(found: Found, caption: Caption, at: Spot) -> str:
    r"""
    The field has the prompt of the last row, which is in the first column.
    """
    table: Table = found.thing
    prompt = table.rows[-1][table.columns[0].name]
    graph = at.links.in_data(at.uri, f"assets/live/{table.live['graph']}")
    return FORMS.write(graph, table.live["bytes"], caption.html, _lines(prompt))


def _lines(text: str) -> str:
    r"""
    A text with its line ends and blanks, on one line of Markdown.
    """
    return "&#10;".join(visible(literal(line)) for line in text.split("\n"))


# What shows a table in each form.
OF_TABLES: Mapping[str, Callable[[Found, Caption, Spot], str]] = {
    "typed": _typed,
    "write": _write,
}
