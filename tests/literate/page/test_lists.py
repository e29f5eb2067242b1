r"""The lists of terms and papers, made from the front matter of the pages."""

from pathlib import Path

from literate.page.links import Links
from literate.page.lists import pages
from literate.page.page import Page
from literate.reading.source import parse

PAPER = "paper: {{title: {}, authors: A et al., year: {}, link: https://arxiv.org/abs/1}}\n"
PAGE = '"""\n---\ntitle: {}\nsummary: S.\n{}---\n"""\n'


def made(**sources: str) -> dict[str, Page]:
    read = {f"{name}.py": parse(PAGE.format(*one), f"{name}.py") for name, one in sources.items()}
    uris = {path: f"deep/{path.removesuffix('.py')}.md" for path in read}
    return {one.uri: one for one in pages(Links(read, uris, Path(), "docs"))}


def lines(page: Page) -> list[str]:
    return [one for one in page.markdown.splitlines() if one.startswith(("##", "* "))]


def test_papers_are_listed_by_year_each_with_all_its_pages() -> None:
    found = made(
        b=("Two", PAPER.format("Old", 1997)),
        a=("One", PAPER.format("New", 2021)),
        c=("Three", PAPER.format("Old", 1997)),
    )
    assert list(found) == ["index.md", "papers.md"]
    assert lines(found["papers.md"]) == [
        "## 1997",
        "* [Old](https://arxiv.org/abs/1), A et al.: [Two](deep/b.md), [Three](deep/c.md)",
        "## 2021",
        "* [New](https://arxiv.org/abs/1), A et al.: [One](deep/a.md)",
    ]


def test_a_site_without_a_home_page_gets_one_with_all_pages() -> None:
    texts = {"p/a.py": PAGE.format("One", ""), "p/q/b.py": "x = 1\n", "p/q/__init__.py": "y = 2\n"}
    read = {path: parse(text, path) for path, text in texts.items()}
    uris = {"p/a.py": "a.md", "p/q/b.py": "q/b.md", "p/q/__init__.py": "q/index.md"}
    home, *_ = pages(Links(read, uris, Path(), "docs"))
    assert (home.uri, home.title) == ("index.md", "p")
    expected = ["## p", "* [One](a.md): S.", "## p/q", "* [b](q/b.md)", "* [q](q/index.md)"]
    assert lines(home) == expected
    # One that is written by hand stays.
    assert list(pages(Links(read, uris, Path(), "docs", {"README.md": "index.md"}))) == []


def test_terms_are_listed_from_a_to_z_and_one_that_two_pages_explain_is_a_problem() -> None:
    found = made(
        a=("One", "terms: {mask: Hides `-1`., Adam: Divides.}\n"),
        b=("Two", "terms: {axis 2: Third., axis: An., Mask: Again.}\n"),
    )
    assert list(found) == ["index.md", "terms.md"]
    assert lines(found["terms.md"]) == [
        "## A",
        "* [Adam](deep/a.md): Divides.",
        "* [axis](deep/b.md): An.",
        "* [axis 2](deep/b.md): Third.",
        "## M",
        "* [mask](deep/a.md): Hides `-1`.",
        "* [Mask](deep/b.md): Again.",
    ]
    (problem,) = found["terms.md"].problems
    assert (problem.path, "`Mask` is explained by `a.py`" in problem.sentence) == ("b.py", True)
