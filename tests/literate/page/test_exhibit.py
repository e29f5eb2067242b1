r"""Links to results in notes: checked numbers, figures and tables, each with its run."""

from dataclasses import replace
from pathlib import Path
from textwrap import dedent
from typing import Any
from urllib.parse import quote

import pytest

from literate.page.context import context
from literate.page.documents import document
from literate.page.exhibits_in_notes import Exhibit, parts
from literate.page.formulas import Formulas
from literate.page.page import Page, page
from literate.page.result_pages import pages
from literate.page.search import of_result
from literate.reading.notes import Note
from literate.reading.source import Source, parse
from literate.results.fingerprints import fingerprint
from literate.takeaway.addresses import Addresses, with_addresses
from tests.literate.projects import KATEX
from tests.literate.recorded import FIGURE, TABLE, VALUES, links, result, seen
from tests.literate.shown import Shown, rendered

PAGE = '''r"""
---
title: A page
summary: What it is.
---

{note}
"""


def mean(x: float) -> float:
    r"""
    ## Mean
    """
    return x
'''
HOSTILE = '</td></figure><script>alert(1)</script> `a` *b* | [c](d) &amp; \u202e"'

OUTDATED = ".//*[@class='outdated']"
FILE = "../results/trials.json"
NOTHING = f"the link to `{FILE}#"


def source(note: str) -> Source:
    return parse(PAGE.replace("{note}", dedent(note).strip()), "pkg/a.py")


def written(note: str, tmp_path: Path, **other: Any) -> Page:
    r"""The page with this note, beside the results."""
    one = source(note)
    with Formulas(KATEX) as formulas:
        return page(one, context(links(tmp_path, {one.path: one}, **other), formulas))


def by_hand(text: str, tmp_path: Path, **other: Any) -> Page:
    r"""The page of a document with this text."""
    (tmp_path / "NEWS.md").write_text(f"# News\n\nWhat is new.\n\n{text}\n", encoding="utf-8")
    return document("NEWS.md", links(tmp_path, {"pkg/a.py": source("A.")}, **other))


def exhibit_of(one: Page) -> Shown:
    assert one.problems == ()
    (line,) = [line for line in one.markdown.split("\n") if line.startswith("<figure")]
    assert line.endswith("</figure>")
    return Shown(line)


def test_a_number_leads_to_its_result_and_says_which_run_it_is_from(tmp_path: Path) -> None:
    # In a table of Markdown it does so, too.
    note = f"[1.5]({FILE}#tables.ways.one%20at%20a%20time.loss)\n\n"
    note += f"| a | b |\n|---|---|\n| [1.55]({FILE}#values.loss) | x |"
    pipe = {"command": "python a.py | tee *b*"}
    for one in (
        written(note, tmp_path, **pipe),
        by_hand(note.replace("../", ""), tmp_path, **pipe),
    ):
        assert one.problems == ()
        found = rendered(one.markdown)
        assert found.cells == [["a", "b"], ["1.55", "x"]]
        run = "python a.py | tee *b*, 2026-11-21, Fast 1, 2 cores, PyTorch 2.13.0"
        assert found.links["1.55"] == {
            "class": "measured",
            "href": "../results/trials/#values.loss",
            "title": f"measured by {run}",
        }
        assert found.links["1.5"]["href"] == "../results/trials/#tables.ways"


def test_a_text_without_a_number_is_an_ordinary_link(tmp_path: Path) -> None:
    links = ["[the *loss*]({}#values.loss)", "[all]({})", "[this]({}#figures.time)"]
    one = written(f"See {', '.join(links)}.".replace("{}", FILE), tmp_path)
    assert one.problems == ()
    assert all(link.format("results/trials.md") in one.markdown for link in links)


@pytest.mark.parametrize(
    ("link", "sentence"),
    [
        (f"[1.53]({FILE}#values.loss)", "the note says 1.53, results/trials.json has 1.5512."),
        (f"[torch]({FILE}#values.best)", "the note says torch, results/trials.json has “fused”."),
        (f"[1.5]({FILE}#values.los)", f"{NOTHING}values.los` leads to nothing: "
         "`results/trials.json` has no `values.los`; its values there are "
         "`loss`, `steps`, `best`, `small`, `deep.s`."),
        ("[1.5](../results/trial.json#values.loss)",
         "the link to `../results/trial.json#values.loss` leads to nothing: no results "
         "`results/trial.json`; the program that measures writes it; "
         "did you mean `results/trials.json`?"),
        (f"[`1.55`]({FILE}#values.loss)", f"{NOTHING}values.loss` can't be compared: "
         "write `[1.5](…)`, without code."),
        (f"[1.55][a]\n\n[a]: {FILE}#values.loss", f"{NOTHING}values.loss` can't be compared: "
         "write `[1.5](…)`, without code."),
    ],
)  # fmt: skip
def test_what_is_wrong_is_named_with_its_line(tmp_path: Path, link: str, sentence: str) -> None:
    (problem,) = written(f"A.\n\n{link}", tmp_path).problems
    assert (problem.path, problem.sentence) == ("pkg/a.py", sentence)
    assert problem.line == 9 + 2 * link.count("\n\n")
    (problem,) = by_hand(link.replace("../", ""), tmp_path).problems
    assert (problem.path, problem.sentence) == ("NEWS.md", sentence.replace("`../", "`"))


@pytest.mark.parametrize("there", ["`results/trials.json`", "none yet"])
def test_of_a_result_that_is_not_there_those_that_are_are_named(tmp_path: Path, there: str) -> None:
    one = source("[Time](../results/other.json#figures.a)")
    known = links(tmp_path, {one.path: one})
    known = known if "json" in there else replace(known, results={})
    with Formulas(KATEX) as formulas:
        (problem,) = page(one, context(known, formulas)).problems
    assert problem.sentence.endswith(f"writes it; those that are here: {there}.")


def test_a_paragraph_that_is_a_link_becomes_the_figure_with_its_run(tmp_path: Path) -> None:
    note = f"Before.\n\n[Time of `mean`\nand $x$]({FILE}#figures.time)\n\nAfter, *so*."
    one = written(note, tmp_path)
    found = exhibit_of(one)
    assert exhibit_of(by_hand(note.replace("../", "").replace("and $x$", ""), tmp_path)).links
    assert found.texts(".//svg") and found.texts(".//math")
    assert found.text(".//figcaption").startswith("Time of mean and ")
    assert found.text(".//figcaption").endswith(
        "From python trials.py on 2026-11-21, Fast 1, 2 cores, PyTorch 2.13.0: the numbers."
    )
    assert found.links["python trials.py"]["href"] == "../results/trials/#figures.time"
    assert found.links["the numbers"] == {"href": "../results/trials.json", "download": ""}
    assert "Time of mean and x: Time of a call" in found.values("aria-label")
    shown = rendered(one.markdown)
    assert "After, so." in shown.text() and "Before." in shown.text()


def test_a_picture_stands_in_the_page_with_words_for_those_who_do_not_see_it(
    tmp_path: Path,
) -> None:
    svg = '<svg viewBox="0 0 1 1"><text>a</text></svg>'
    figures = {"seen": seen(svg, 'Rows "sum" to one')}
    one = written(f"[Who sees whom]({FILE}#figures.seen)", tmp_path, svg=svg, figures=figures)
    label = "Who sees whom: Rows &quot;sum&quot; to one"
    assert f'<svg class="picture" role="img" aria-label="{label}" viewBox' in one.markdown
    assert "<text>a</text></svg></span><figcaption>" in one.markdown


def test_a_picture_is_never_so_small_that_its_letters_can_not_be_read(tmp_path: Path) -> None:
    letters = '<text font-size="12px">long</text><text font-size="8px" x="3">name</text>'
    letters += '<text font-size="6px" x="4">a</text>'
    svg = f'<svg viewBox="0 0 480.5 200">{letters}</svg>'
    figures = {"seen": seen(svg)}
    one = written(f"[Who sees whom]({FILE}#figures.seen)", tmp_path, svg=svg, figures=figures)
    # The name is 10 pixels high when the picture is a quarter larger. A letter alone has room.
    assert 'style="--least-width:601px;--least-height:250px"' in one.markdown
    assert '<text font-size="8.5px" x="4">a</text>' in one.markdown


def test_a_table_has_its_digits_and_leads_to_the_pages_it_is_about(tmp_path: Path) -> None:
    note = f"[All ways]({FILE}#tables.ways)"
    found = exhibit_of(written(note, tmp_path))
    assert found.cells == [
        ["Way", "Page", "Loss nats", "Steps"],
        ["one at a time", "a.py", "1.500", "12,345"],
        ["v1.2", "pkg/a.py#mean", "1.250", "–"],
    ]
    assert found.links["a.py"]["href"] == "./"
    assert found.values("class", ".//th") + found.values("class", ".//td") == ["number"] * 6
    assert found.text(".//strong") == "All ways"
    assert not found.values("data-write")
    # What a browser can do again says with which graph, and how much is fetched. A text of several
    # lines keeps them.
    again = {"live": {"graph": "write.json", "bytes": 833564}, "rows": [{"way": "a\nb\n\n*c*"}]}
    one = written(note, tmp_path, tables={"ways": TABLE | again})
    found = exhibit_of(one)
    assert found.values("data-write") == ["../assets/live/write.json"]
    assert found.values("data-bytes") == ["833564"]
    assert "<td>a<br>b<br><br>&#42;c&#42;</td>" in one.markdown
    # A sentence keeps a width at which it can be read.
    sentence = {"rows": [{"way": "more than one word " * 5, "loss": 1.5}]}
    found = exhibit_of(written(note, tmp_path, tables={"ways": TABLE | sentence}))
    assert found.values("class", ".//td") == ["prose", "number"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[a](r.json#figures.time)", [("a", 0)]),
        ("x\n\n[a](r.json#figures.time)\n\ny", [0, ("a", 2), 3]),
        ("[a\nb [c]](r.json#tables.ways)", [("a\nb [c]", 0)]),
        *(
            (text, [0])
            for text in [
                "[a](r.json#figures.time) b",
                "- [a](r.json#figures.time)",
                "[a](r.json#values.loss)",
                "[a](r.json#figures.none)",
                "[a](r.json)",
            ]
        ),
        ("```\n\n[a](r.json#figures.time)\n\n```", [0]),
        ("\n    [a](r.json#figures.time)", [0]),
        ("[a](r.json#figures.time)\n\n[b](r.json#tables.ways)", [("a", 0), 1, ("b", 2)]),
    ],
)
def test_only_a_paragraph_that_is_nothing_but_a_link_is_an_exhibit(
    tmp_path: Path, text: str, expected: list[Any]
) -> None:
    note = Note("comment", 5, tuple(text.replace("r.json", "results/trials.json").split("\n")))
    found = list(parts(note, "NEWS.md", links(tmp_path, {})))
    # An exhibit as its caption and its line, what is between as its first line.
    assert [
        (one.caption, one.line - 5) if isinstance(one, Exhibit) else one.first - 5 for one in found
    ] == expected
    for one in (part for part in found if isinstance(part, Note)):
        assert note.texts[one.first - 5 :][: len(one.texts)] == one.texts


def test_a_page_that_has_changed_since_says_so(tmp_path: Path) -> None:
    (tmp_path / "pkg").mkdir()
    note = f"It is [1.55]({FILE}#values.loss).\n\n[Time]({FILE}#figures.time)"
    text = PAGE.replace("{note}", note)
    (tmp_path / "pkg" / "a.py").write_text(text)
    (tmp_path / "b.txt").write_text("b")
    known = {"pkg/a.py": fingerprint(tmp_path / "pkg" / "a.py")}
    assert not exhibit_of(written(note, tmp_path, sources=known)).texts(OUTDATED)
    old = {"pkg/a.py": "0" * 16}
    one = written(note, tmp_path, sources=old)
    assert exhibit_of(one).text(OUTDATED) == "Measured before a change of a.py."
    link = rendered(one.markdown).links["1.55"]
    assert link["class"] == "measured before"
    assert link["title"].endswith("; changed since: pkg/a.py")
    one = written(note, tmp_path, sources=old | {"b.txt": "0", "gone.py": "0"})
    found = exhibit_of(one)
    assert found.text(OUTDATED) == "Measured before a change of a.py, b.txt and gone.py."
    assert found.links["a.py"]["href"] == "./"
    # Once, however much of the result a page shows.
    one = written(f"{note}\n\n[Ways]({FILE}#tables.ways)", tmp_path, sources=old)
    assert rendered(one.markdown).texts(OUTDATED) == ["Measured before a change of a.py."]
    one = by_hand("[Time](results/trials.json#figures.time)", tmp_path, sources=old)
    assert exhibit_of(one).text(OUTDATED) == "Measured before a change of a.py."


def test_texts_of_results_show_as_what_they_are(tmp_path: Path) -> None:
    columns = [{"name": "a", "title": HOSTILE, "unit": HOSTILE}]
    hostile = {
        "title": HOSTILE,
        "command": HOSTILE,
        "machine": {"processor": HOSTILE},
        "sources": {HOSTILE: "0"},
        "values": {"best": HOSTILE, HOSTILE: 1},
        "tables": {"t": {"columns": columns, "rows": [{"a": HOSTILE}]}},
        "figures": {"f": FIGURE | {"title": HOSTILE}},
    }
    note = f"Is [1]({FILE}#values.{{}}).\n\n[A]({FILE}#tables.t)\n\n[]({FILE}#figures.f)"
    one = written(note.replace("{}", quote(HOSTILE)), tmp_path, **hostile)
    assert one.problems == ()
    for made in [one, *pages(links(tmp_path, {}, **hostile))]:
        found = rendered(made.markdown)
        assert not found.texts(".//script") and not found.texts(".//em")
    cells = [row[0] for row in rendered(one.markdown).cells]
    assert cells[:2] == [f"{HOSTILE} {HOSTILE}", HOSTILE]


def test_a_result_has_a_page_and_all_are_listed(tmp_path: Path) -> None:
    known = links(tmp_path, {"pkg/a.py": source("A.")}, sources={"pkg/a.py": "0"})
    one, overview = pages(known)
    assert (one.uri, overview.uri) == ("results/trials.md", "results/index.md")
    assert one.files == {"results/trials.json": result(sources={"pkg/a.py": "0"}).text}
    found = rendered(one.markdown)
    for place in ("values.loss", "values.deep.s", "tables.ways", "figures.time"):
        assert found.values("id").count(place) == 1
    assert [row for row in found.cells if row[0] == "steps"] == [["steps", "12,345"]]
    assert found.links["a.py"]["href"] == "../../a/"
    assert found.text(OUTDATED).startswith("Measured before a change of a.py.")
    assert len(VALUES) + len(TABLE["rows"]) < len(found.cells)
    found = rendered(overview.markdown)
    assert found.links["Trials"]["href"] == "trials/"
    assert found.cells[1] == [
        "Trials", "python trials.py", "2026-11-21", "Fast 1, 2 cores, PyTorch 2.13.0", "a.py",
    ]  # fmt: skip
    assert list(pages(type(known)(known.pages, known.uris, tmp_path, "docs"))) == []


def test_the_pages_of_results_can_be_searched() -> None:
    found = of_result(result())
    assert found.title == "Trials"
    assert [(one.anchor, one.heading) for one in found.entries] == [
        ("", ""),
        ("values", "Values"),
        ("tables.ways", "Ways"),
        ("figures.time", "Time of a call"),
    ]
    assert "python trials.py" in found.entries[0].note


def test_in_a_notebook_a_number_stays_and_a_figure_has_a_cell_of_its_own() -> None:
    text = "Is [1.55]({0}#values.loss) so?\n\n[Time\nof *all*]({0}#figures.time)\n\nAfter."
    note = Note("docstring", 1, tuple(text.format(FILE).split("\n")))
    bare = with_addresses(note, "pkg/a.py", {}, Addresses())
    assert bare == "Is 1.55 so?\n\n\n\nAfter."
    linked = with_addresses(note, "pkg/a.py", {}, Addresses(repository="https://github.com/a/b"))
    result = "https://github.com/a/b/blob/HEAD/results/trials.json"
    assert linked == f"Is [1.55]({result}#values.loss) so?\n\n\n\nAfter."
