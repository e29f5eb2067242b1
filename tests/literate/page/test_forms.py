r"""The title of a link as the form in which its target is shown."""

from pathlib import Path

import pytest

from literate.page.context import context
from literate.page.documents import document
from literate.page.formulas import Formulas
from literate.page.page import Page, page
from literate.reading.source import parse
from tests.literate.page.test_exhibit import FILE, PAGE, source
from tests.literate.projects import KATEX, write
from tests.literate.recorded import links
from tests.literate.shown import rendered

SAMPLES = {
    "columns": [{"name": "steps", "title": "Steps"}, {"name": "text", "title": "Text"}],
    "rows": [
        {"steps": "0", "text": "<b>a</b> &amp;\n\n  *b* `c` $d$"},
        {"steps": "2,000", "text": "To be"},
    ],
    "live": {"graph": "write.json", "bytes": 860_152},
}
OTHER = '''r"""
---
title: Other
summary: What it is.
---

[Itself](#double)
"""


def double(x: float) -> float:
    r"""
    ## Double

    Not shown elsewhere.
    """
    # A check is no part of the idea.
    if x < 0:
        raise ValueError("negative")

    # Twice, as in [the other](a.py#mean) and in [this](#double).
    y = 2 * x
    return y
'''


def shown(note: str, tmp_path: Path) -> Page:
    pages = {
        "pkg/a.py": source(note),
        "pkg/in/other.py": parse(OTHER.replace("a.py", "../a.py"), "pkg/in/other.py"),
    }
    known = links(tmp_path, pages, tables={"ways": SAMPLES})
    with Formulas(KATEX) as formulas:
        return page(pages["pkg/a.py"], context(known, formulas))


def test_a_table_as_texts_of_which_the_last_is_chosen(tmp_path: Path) -> None:
    made = shown(f'[What *it* writes]({FILE}#tables.ways "typed")', tmp_path)
    found = rendered(made.markdown)
    assert made.problems == ()
    assert found.texts(".//figure//pre") == [row["text"] for row in SAMPLES["rows"]]
    assert found.texts(".//label") == ["0", "2,000"]
    (checked,) = [one for one in found.all.iter("input") if "checked" in one.attrib]
    assert checked.attrib["value"] == "1"
    assert found.text(".//figcaption").startswith("What *it* writes From")
    assert found.texts(".//figure//b") == found.texts(".//figure//table") == []


def test_a_table_as_a_field_for_a_beginning(tmp_path: Path) -> None:
    found = rendered(shown(f'[Go on]({FILE}#tables.ways "write")', tmp_path).markdown)
    (form,) = found.all.iter("form")
    assert form.attrib["data-graph"] == "../assets/live/write.json"
    assert found.text(".//textarea") == "2,000"
    assert found.text(".//button") == "Write on 0.9 MB"


def test_another_title_is_a_title(tmp_path: Path) -> None:
    made = shown(f'[Ways]({FILE}#tables.ways "typo")\n\n[O](in/other.py "typed")', tmp_path)
    found = rendered(made.markdown)
    assert len(found.texts(".//table")) == 1 and found.texts(".//input") == []
    assert found.links["O"]["title"] == "typed"


def test_a_document_has_the_forms_of_tables(tmp_path: Path) -> None:
    write(tmp_path, {"NEWS.md": '# News\n\nIt.\n\n[T](results/trials.json#tables.ways "typed")\n'})
    made = document("NEWS.md", links(tmp_path, {}, tables={"ways": SAMPLES}))
    assert len(rendered(made.markdown).texts(".//label")) == 2


def test_a_part_of_another_page_has_its_notes_and_leads_there(tmp_path: Path) -> None:
    made = shown('[Twice](in/other.py#double "at work")', tmp_path)
    found = rendered(made.markdown)
    assert made.problems == ()
    fragment = found.all.find(".//*[@class='fragment']")
    lines = ["".join(one.itertext()) for one in fragment.iterfind(".//span[@class='line']")]
    assert lines == ["    y = 2 * x", "    return y"]
    numbers = [one.attrib["href"] for one in fragment.iterfind(".//a[@data-line]")]
    at = OTHER.split("\n").index("    y = 2 * x") + 1
    assert numbers == [f"../in/other/#L{at}", f"../in/other/#L{at + 1}"]
    # Links are seen from here, those to the other page itself as well.
    to = {text: one["href"] for text, one in found.links.items()}
    assert (to["the other"], to["this"]) == ("a.md#mean", "in/other.md#double")
    assert to["Twice"] == "../in/other/#double"
    # The anchors of its lines are on their own page.
    assert f"L{at}" not in found.values("id")


@pytest.mark.parametrize("target", ["in/other.py", "in/other.py#L9", "none.py#a"])
def test_a_part_that_is_none_is_named(target: str, tmp_path: Path) -> None:
    (problem,) = shown(f'[Twice]({target} "at work")', tmp_path).problems
    assert problem.line == PAGE[: PAGE.index("{note}")].count("\n") + 1
    assert target in problem.sentence
