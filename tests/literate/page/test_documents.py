r"""Hand-written documents: where their links lead, what the pages say of themselves."""

from pathlib import Path

import markdown
import pytest
import yaml

from literate.page.documents import document
from literate.page.links import Links
from literate.page.page import Page
from literate.reading.source import parse
from tests.literate.projects import write
from tests.literate.shown import Shown


def written(folder: Path, text: str, path: str = "NEWS.md") -> Page:
    r"""The page of a document beside a package of one module."""
    write(folder, {path: "", "LICENSE": ""})
    (folder / path).write_bytes(text.encode())
    sources = {"pkg/t/mha.py": parse("class Attention:\n    pass\n")}
    documents = {"NEWS.md": "about/news.md", "docs/guide.md": "guide.md"}
    links = Links(sources, {"pkg/t/mha.py": "t/mha.md"}, folder, "docs", documents)
    return document(path, links)


def front(page: Page) -> dict[str, object]:
    opening, matter, _ = page.markdown.split("---\n", 2)
    assert opening == ""
    return yaml.safe_load(matter)


@pytest.mark.parametrize(
    ("path", "link", "expected"),
    [
        ("NEWS.md", "pkg/t/mha.py#Attention", "../t/mha.md#Attention"),
        ("docs/guide.md", "../NEWS.md", "about/news.md"),
    ],
)
def test_a_link_leads_to_the_page(tmp_path: Path, path: str, link: str, expected: str) -> None:
    text = f'# News\n\nWhat is new.\n\nSee [the *page*]({link} "title"), `[code]({link})`.\n'
    page = written(tmp_path, text, path)
    assert page.problems == ()
    assert page.markdown.endswith(f"---\n{text.replace(f'*]({link}', f'*]({expected}')}")


@pytest.mark.parametrize(
    ("text", "title", "description"),
    [
        ("# News\n\nWhat is new. And old.\n", "News", "What is new."),
        ("# News #\nWhat is\nnew in 1.0, say\n\nMore.", "News", "What is new in 1.0, say"),
        ("\n# *News* of [it](#a) `x`\n\nA [b](#c) **d**!", "News of it x", "A b d!"),
        ("---\ntitle: A\n---\n# News\n\nWhat is new.\n", "A", "What is new."),
        ("---\ndescription: B\n---\n# News\n\n- What\n", "News", "B"),
        ("---\ntitle: A\ndescription: B\n---\nText.\n", "A", "B"),
        (
            "# News\n\n[![a](https://b.c)](https://d.e)\n![](https://f.g)\n\nWhat is new.\n",
            "News",
            "What is new.",
        ),
        ("\ufeff# News\r\n\r\nWhat is new.\r\n", "News", "What is new."),
    ],
)
def test_a_document_says_what_it_is(
    tmp_path: Path, text: str, title: str, description: str
) -> None:
    page = written(tmp_path, text)
    assert page.problems == ()
    assert (page.uri, page.title, page.summary) == ("about/news.md", title, description)
    assert front(page) == {"title": title, "description": description}


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("What is new.\n", 1, "has no title"),
        ("## News\n\nWhat is new.\n", 1, "has no title"),
        ("# News\n", 1, "has no description"),
        ("# News\n\n## 1.0\n\nWhat is new.\n", 1, "has no description"),
        ("# News\n\n- What is new.\n", 1, "has no description"),
        ("---\ntitle: [\n---\n# News\n\nWhat is new.\n", 2, "is not YAML"),
        ("# News\n\nWhat is new.\n\n\n[x](pkg/t/mah.py)\n", 6, "did you mean `pkg/t/mha.py`?"),
        ("---\nt: [a]\n---\n# News\n\nNew. [x](LICENSE)\n", 6, "a file that is not on the site"),
    ],
)
def test_what_is_wrong_is_named_with_its_line(
    tmp_path: Path, text: str, line: int, words: str
) -> None:
    (problem,) = map(str, written(tmp_path, text).problems)
    assert problem.startswith(f"NEWS.md:{line}: ") and words in problem


README = """\
|ci| |docs|

.. |ci| image:: https://a.b/ci.svg
    :target: https://a.b/
    :alt: CI
.. |docs| image:: https://a.b/docs.svg

The package
===========

It makes <tags> of `texts
<https://a.b/c>`_. See `one <pkg/t/mah.py>`_.

.. image:: https://a.b/picture.png
   :width: 20

Install
-------

So::

    pip install it
"""


def test_a_readme_for_sphinx_is_a_page(tmp_path: Path) -> None:
    write(tmp_path, {"README.rst": README, "LICENSE": ""})
    links = Links({}, {}, tmp_path, "docs", {"README.rst": "index.md"})
    page = document("README.rst", links)
    assert (page.title, page.summary) == ("The package", "It makes <tags> of texts.")
    (problem,) = page.problems
    assert problem.line == 12 and "`pkg/t/mah.py`" in problem.sentence
    body = page.markdown.split("---\n", 2)[2]
    shown = Shown(markdown.markdown(body, extensions=["fenced_code"]))
    assert shown.texts(".//h1") == ["The package"] and shown.texts(".//h2") == ["Install"]
    assert shown.values("src") == [
        f"https://a.b/{name}" for name in ("ci.svg", "docs.svg", "picture.png")
    ]
    assert "makes <tags> of texts." in " ".join(shown.text(".//p").split())
    assert shown.texts(".//pre") == ["pip install it\n"]
    # Where it has no title, it is told in its own language.
    write(tmp_path, {"README.rst": "Text.\n"})
    assert "a title, with a line below" in document("README.rst", links).problems[0].sentence


def test_what_a_document_says_is_escaped_and_the_rest_of_its_front_matter_stays(
    tmp_path: Path,
) -> None:
    text = "---\ntitle: '<b> & \"c\": x'\nhide: [toc]\n---\n# News\n\nWhat is <new>.\n"
    page = written(tmp_path, text)
    assert page.title == '<b> & "c": x'
    assert front(page) == {
        "title": "&lt;b&gt; &amp; &quot;c&quot;: x",
        "description": "What is &lt;new&gt;.",
        "hide": ["toc"],
    }
    assert page.markdown.endswith("---\n# News\n\nWhat is <new>.\n")
