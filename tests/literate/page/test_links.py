r"""Links: from source files to pages, and none to nothing."""

import re
from dataclasses import replace
from pathlib import Path

import pytest

from literate.page.links import Links, UnknownTarget
from literate.reading.notes import Note
from literate.reading.source import parse
from tests.literate.projects import write

MHA = 'r"""Doc."""\n\n\nclass Attention:\n    def forward(self):\n        pass\n'


@pytest.fixture
def links(tmp_path: Path) -> Links:
    write(tmp_path, dict.fromkeys(("docs/images/a.png", "README.md", "NEWS.md"), ""))
    uris = {
        "pkg/__init__.py": "index.md",
        "pkg/t/__init__.py": "t/index.md",
        "pkg/t/mha.py": "t/mha.md",
        "pkg/t/basic/run.py": "t/basic/run.md",
        "tool/__init__.py": "tool/index.md",
    }
    sources = dict.fromkeys(uris, parse("x = 1\n")) | {"pkg/t/mha.py": parse(MHA)}
    return Links(sources, uris, tmp_path, "docs", {"NEWS.md": "about/news.md"})


@pytest.mark.parametrize(
    ("path", "target", "expected"),
    [
        ("pkg/t/basic/run.py", "../mha.py#Attention.forward", "../mha.md#Attention.forward"),
        ("pkg/t/mha.py", "mha.py#L5", "mha.md#L5"),
        ("pkg/t/basic/run.py", "../mha.html#Attention", "../mha.md#Attention"),
        ("pkg/__init__.py", "t/index.html", "t/index.md"),
        ("pkg/t/mha.py", "#Attention", "#Attention"),
        ("pkg/__init__.py", "t/__init__.py", "t/index.md"),
        ("tool/__init__.py", "../pkg/t/mha.py#L4", "../t/mha.md#L4"),
        ("pkg/t/mha.py", "../../docs/images/a.png", "../images/a.png"),
        # From the folder of the pages, as Sphinx takes it.
        ("pkg/t/mha.py", "images/a.png", "../images/a.png"),
        ("pkg/t/mha.py", "/images/a.*", "../images/a.png"),
        ("pkg/t/mha.py", "../../NEWS.md#part", "../about/news.md#part"),
        ("NEWS.md", "pkg/t/mha.py#Attention", "../t/mha.md#Attention"),
        # From the root of the site, as MkDocs takes it.
        ("pkg/t/basic/run.py", "/t/mha/#Attention", "../mha.md#Attention"),
        ("pkg/t/mha.py", "/about/news", "../about/news.md"),
        ("pkg/t/mha.py", "/t/index.md", "index.md"),
        ("pkg/t/mha.py", "/", "../index.md"),
        ("pkg/t/mha.py", "https://example.org/a.py#b", "https://example.org/a.py#b"),
        ("pkg/t/mha.py", "mailto:a@example.org", "mailto:a@example.org"),
    ],
)
def test_a_target_is_resolved_from_its_page(
    links: Links, path: str, target: str, expected: str
) -> None:
    assert links.resolve(path, target) == expected


@pytest.mark.parametrize(
    ("target", "words"),
    [
        ("mah.py", "no file `pkg/t/mah.py`; did you mean `mha.py`?"),
        # A text or a picture is no module, however near its name.
        ("mhb.md", "no file `pkg/t/mhb.md`."),
        ("mha.png", "no file `pkg/t/mha.png`."),
        ("mah.html", "no file `pkg/t/mah.html`; did you mean `mha.py`?"),
        ("mha.py#Atention", "no `Atention` there; did you mean `Attention`?"),
        ("mha.py#forward", "no `forward` there"),
        ("#L1", "line 1 is no line of code"),
        ("mha.py#L99", "line 99 is no line of code"),
        ("../../README.md", "leads to a file that is not on the site"),
        ("../../docs/images/b.png", "no file `docs/images/b.png`"),
        ("batch_size,", "leads to nothing"),
    ],
)
def test_a_link_to_nothing_is_named(links: Links, target: str, words: str) -> None:
    with pytest.raises(UnknownTarget, match=f"`{re.escape(target)}`.*{re.escape(words)}"):
        links.resolve("pkg/t/mha.py", target)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[a](b.py#C.d) and ![p](q.png)", ["b.py#C.d", "q.png"]),
        ('[a](b.py "a title")', ["b.py"]),
        ("[a](<b c.py>)", ["b c.py"]),
        ("[a](b(c).py)", ["b(c).py"]),
        ("[a]: b.py\n[c]: d.py 'title'", ["b.py", "d.py"]),
        ("text\n[a]: b.py\ntext", ["b.py"]),
        ("[a][b] and (c) and [d]", []),
        ("[a](b c)", []),
        # A term and its index.
        ("T[n+1](ax+b) = acot[h](n), a[b](c.py) and [b](c)", ["c.py", "c"]),
    ],
)
def test_targets_are_found(text: str, expected: list[str]) -> None:
    found = Note("docstring", 1, tuple(text.split("\n"))).parsed.targets
    assert [one.text for one in found] == expected
    assert [text[one.start : one.end] for one in found] == expected


@pytest.mark.parametrize(
    ("path", "linked", "anchor", "folders", "files"),
    [
        ("pkg/t/mha.py", "pkg/__init__.py", "", "../../", "../index.md"),
        ("pkg/t/mha.py", "pkg/t/__init__.py", "a", "../#a", "index.md#a"),
        ("pkg/t/__init__.py", "pkg/t/mha.py", "a.b", "mha/#a.b", "mha.md#a.b"),
        ("pkg/__init__.py", "tool/__init__.py", "", "tool/", "tool/index.md"),
        ("pkg/t/mha.py", "pkg/t/mha.py", "a", "#a", "#a"),
    ],
)
def test_an_address_in_html_is_what_the_engine_expects(
    links: Links, path: str, linked: str, anchor: str, folders: str, files: str
) -> None:
    assert links.address(path, linked, anchor) == folders
    assert replace(links, resolves_html=True).address(path, linked, anchor) == files


def test_a_file_beside_a_page_is_seen_from_its_folder_or_its_file(links: Links) -> None:
    resolving = replace(links, resolves_html=True)
    book = "notebooks/mha.ipynb"
    assert links.beside("t/mha.md", book) == f"../../{book}"
    assert links.beside("t/index.md", book) == resolving.beside("t/mha.md", book) == f"../{book}"
    assert resolving.beside("index.md", book) == book
    # No engine resolves what stands in the data of an element.
    assert links.in_data("t/mha.md", book) == resolving.in_data("t/mha.md", book) == f"../../{book}"


@pytest.mark.parametrize("target", ["t/mha.md", "pkg/t/mha.py"])
def test_what_is_proposed_can_be_written(links: Links, target: str) -> None:
    known = replace(links, documents={"docs/index.md": "index.md"})
    with pytest.raises(UnknownTarget, match=r"did you mean `\.\./pkg/t/mha\.py`\?"):
        known.resolve("docs/index.md", target)
    assert known.resolve("docs/index.md", "../pkg/t/mha.py") == "t/mha.md"
