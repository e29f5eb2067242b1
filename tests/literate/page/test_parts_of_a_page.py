r"""The parts of a page, each made without a page."""

from pathlib import Path

from literate.page.context import Context, context
from literate.page.formulas import Formulas
from literate.page.head import head_of, known_before, paper_of
from literate.page.links import Links
from literate.page.row_views import groups_of
from literate.page.steps import Step
from literate.page.takeaways import NOTHING, Copies, File, Takeaways, taken_from
from literate.reading.page_source import page_source
from literate.reading.source import parse

TEXT = '''r"""
---
title: A & B
summary: Two.
---
"""


class A:
    r"""
    ## A
    """

    def inside(self):
        r"""
        ### Inside
        """


def after():
    r"""
    No heading.
    """
'''


def known(*texts: tuple[str, str], steps: tuple[Step, ...] = ()) -> Context:
    sources = {path: parse(text, path) for path, text in texts}
    links = Links(sources, {path: path.replace(".py", ".md") for path in sources}, Path(), "docs")
    return context(links, Formulas(Path()), steps=steps)


def test_rows_of_a_changed_class_are_shown_inside_it() -> None:
    read = page_source(parse(TEXT, "p/a.py"))
    # Any value will do: what a difference says isn't asked here.
    differences = {("p/a.py", "A"): "changed", ("p/a.py", "after"): "listed"}
    groups = list(groups_of(read, differences))  # type: ignore[arg-type]
    assert [(group.name, group.difference) for group in groups] == [
        ("", None),
        ("A", "changed"),
        # Without a heading, it is listed by its name.
        ("after", "listed"),
    ]
    assert [row.documents.name for row in groups[1].rows[1:] if row.documents] == ["A.inside"]
    # Without a difference, each row is by itself.
    alone = list(groups_of(read, {}))
    assert [group.name for group in alone] == ["", "A", "A.inside", "after"]
    assert alone[0].row is read.opening


def test_a_head_is_made_of_the_front_matter_and_its_neighbours() -> None:
    steps = tuple(
        Step(number, 2, path[0].upper(), f"p/{path}.py", "", "p/list.py")
        for number, path in ((1, "a"), (2, "b"))
    )
    around = known(("p/a.py", TEXT), ("p/b.py", TEXT), ("p/list.py", TEXT), steps=steps)
    read = page_source(around.links.pages["p/a.py"])
    head = head_of(read, around, taken_from("p/a.md", NOTHING, around.links), None)
    assert (head.title, head.heading) == ('"A &amp; B"', "A &amp; B")
    assert head.step and head.foot
    assert (head.step.numbers, head.step.total, head.step.next) == ("1", 2, ("B", "../b/"))
    assert head.foot.next_step == '"p/b/"' and head.foot.step == '"Step 1 of 2"'
    # The last step has nothing to lead to.
    last = page_source(around.links.pages["p/b.py"])
    ends = head_of(last, around, taken_from("p/b.md", NOTHING, around.links), None)
    assert ends.step and ends.step.next is None and ends.foot is None


def test_what_is_wrong_in_the_front_matter_is_named() -> None:
    paper = {"title": "*T*", "authors": "A", "year": "2017", "link": "ftp://a.org"}
    shown, (problem,) = paper_of(paper, "p/a.py")
    assert shown and shown.link == "" and "*" not in shown.title
    assert problem.sentence.startswith("the paper's link `ftp://a.org`")
    links = known(("p/a.py", TEXT)).links
    paths, (problem,) = known_before("a.py, ../no.py", "p/b.py", links)
    assert paths == ["p/a.py"] and "`no.py`" in problem.sentence


def test_what_can_be_taken_away_has_addresses_seen_from_the_page() -> None:
    links = known(("p/a.py", TEXT)).links
    noted = {"": File("snippets/p/a.py", ""), "A": File("snippets/p/a/A.py", "")}
    bare = {name: File(file.uri.replace(".py", ".bare.py"), "") for name, file in noted.items()}
    taken = taken_from("p/a.md", Takeaways(None, None, noted, bare, cite="@misc"), links)
    assert taken.module == Copies("../../snippets/p/a.py", "../../snippets/p/a.bare.py")
    assert list(taken.definitions) == ["A"]
    assert (taken.twin, taken.cite, taken.notebook) == ("index.md", "cite.bib", "")
    assert taken.is_any and not taken_from("p/a.md", NOTHING, links).is_any
