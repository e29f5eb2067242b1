r"""The index of the search, compared with the sources read by `ast` and with the built pages."""

import json
import re
from pathlib import Path

import markdown
import pytest

from literate import settings
from literate.page.page import Page
from literate.page.search import INDEX, Entries, Entry, index, known, of_document, of_source, words
from literate.reading.source import parse
from literate.site import Site, load
from tests.literate.projects import write
from tests.literate.shown import Shown


@pytest.fixture(scope="module")
def loaded(repository: Path) -> Site:
    return load(settings.load(repository))


def data(script: str) -> list:
    r"""What a file of the index hands over."""
    (found,) = re.findall(
        r'^dispatchEvent\(new CustomEvent\("[a-z-]+",\{detail:(.*)\}\)\);$', script
    )
    return json.loads(found)["pages"]


def test_every_entry_leads_to_an_anchor_of_the_built_site(site: Path) -> None:
    checked = 0
    for title, address, _, entries in data((site / INDEX).read_text(encoding="utf-8")):
        page = (site / address / "index.html").read_text(encoding="utf-8")
        ids = set(Shown(page).values("id"))
        assert title
        for anchor, name, *_ in entries:
            assert not anchor or anchor in ids, f"{address}#{anchor}"
            assert not name or name in ids, f"{address}#{name}"
            checked += 1
    assert checked > 500


def test_the_site_serves_the_index_of_its_sources(site: Path, loaded: Site) -> None:
    made = [
        Page(loaded.uris[path], "", "", "", {}, (), found=known(of_source(source)))
        for path, source in loaded.sources.items()
    ]
    written = loaded.search_index(made)
    assert {name: (site / name).read_text(encoding="utf-8") for name in written} == written
    assert len(data(written[INDEX])) >= len(loaded.sources)
    # Nothing is left of the search of the theme.
    assert not (site / "search").exists()
    assert "md-search" not in (site / "transformers/mha/index.html").read_text(encoding="utf-8")


PAGE = '''r"""
---
title: A page
summary: It has rows.
paper: { title: On rows, authors: R. Ow, year: 2020, link: "https://a.b" }
terms: { "knot (KN), loop": It is tied. }
---

The *first* note of `MANY`.
"""

import math

MANY = math.inf


class Net:
    r"""
    ## A **net**

    It has $d_k$ knots.
    """

    def __init__(self, d_k: int):
        r"""
        ### Make it
        """
        self.D_K = d_k
        # Twice <img src=x onerror=alert(1)> the width
        self.width = (
            2 * d_k
        )


@decorated
def _hidden(): return Net
'''


def test_rows_become_entries() -> None:
    said = "It has rows. The first note of MANY. Paper: On rows, R. Ow, 2020, a.b"
    said = f"{said} knot (KN), loop: It is tied."
    trap = "Twice <img src=x onerror=alert(1)> the width"
    assert of_source(parse(PAGE, "a/page.py")) == Entries(
        "A page",
        (
            Entry("", note=said, terms=("knot", "KN", "loop"), paper="On rows"),
            Entry("L12", names="MANY inf math"),
            Entry("Net", "Net", "A net", "It has d_k knots.", "Net"),
            Entry("Net.__init__", "Net.__init__", "Make it", "", "D_K __init__ d_k int self"),
            Entry("L30", "Net.__init__", "", trap, "d_k self width"),
            Entry("_hidden", "_hidden", "", "", "Net _hidden decorated"),
        ),
    )


DOCUMENT = """---
title: By hand
---

Before.

# The document

Its *start*, [a link](b.md).

## Same &amp; `code`

One.

```sh
# no heading
```
## Same &amp; `code`

### Ünïcode, dots. And (more)

Three.
"""


def test_sections_of_a_document_have_the_anchors_that_markdown_gives_them() -> None:
    found = of_document(DOCUMENT, "hand")
    body = DOCUMENT.partition("---\n\n")[2]
    rendered = markdown.markdown(body, extensions=["toc", "fenced_code"])
    ids = re.findall(r'<h\d id="([^"]+)"', rendered)
    assert len(ids) == 4
    assert found == Entries(
        "By hand",
        (
            Entry("", note="Before."),
            Entry(ids[0], heading="The document", note="Its start, a link."),
            Entry(ids[1], heading="Same & code", note="One. # no heading"),
            Entry(ids[2], heading="Same & code"),
            Entry(ids[3], heading="Ünïcode, dots. And (more)", note="Three."),
        ),
    )


def test_a_document_is_called_by_its_title_or_its_file() -> None:
    assert of_document("# Title\n\nText.\n\n## Next\n", "name").title == "Title"
    assert of_document("Text.\n", "name").title == of_document("", "name").title == "name"


def test_documents_and_sources_stand_in_one_index(tmp_path: Path) -> None:
    write(tmp_path, {"guides/start.md": "# Start\n\nHere.\n"})
    of_sources = {
        uri: known(of_source(parse(text, path)))
        for uri, path, text in (
            ("b/a.md", "p/a.py", PAGE),
            ("index.md", "p/__init__.py", "x = 1\n"),
        )
    }
    listed = data(index(of_sources, {tmp_path / "guides/start.md": "guides/start.md"})[INDEX])
    assert [(title, address) for title, address, *_ in listed] == [
        ("A page", "b/a/"),
        ("p", ""),
        ("Start", "guides/start/"),
    ]
    assert listed[0][3][0][5:] == [["knot", "KN", "loop"], "On rows"]
    assert listed[0][3][2] == ["Net", "Net", "A net", "It has d_k knots.", "Net"]
    assert listed[2][3][-1] == ["start", "", "Start", "Here.", ""]


def test_what_a_note_says_stays_data_in_the_index() -> None:
    source = parse('# </script> " \\ \u2028 `${x}` 😀\nx = 1\n', "a.py")
    listed = data(index({"a.md": known(of_source(source))}, {})[INDEX])
    assert listed[0][3][1][3] == '</script> " \\ ${x} 😀'


def test_of_the_page_that_begins_a_site_only_its_text_is_found() -> None:
    text = 'r"""\n---\ntitle: A\nsummary: Some.\nlayout: {}\n---\n\nText.\n"""\n# Note.\nx = 1\n'
    front, other = (of_source(parse(text.format(one), "a.py")) for one in ("front", "path"))
    assert [entry.note for entry in front.entries] == ["Some. Text."]
    assert [entry.note for entry in other.entries] == ["Some. Text.", "Note."]


def test_the_words_of_readers_and_the_ranks_of_pages_are_in_the_index() -> None:
    source = parse("x = 1\n", "a.py")
    text = 'same = [["bf16", "bfloat16"]]\n[near]\nLSTM = ["a state"]\n'
    script = index({"a.md": known(of_source(source))}, {}, {}, {"a.md": 2}, words(text))[INDEX]
    assert '"same":[["bf16","bfloat16"]],"near":{"LSTM":["a state"]}' in script
    assert data(script)[0][2] == 2


def test_no_word_of_the_readers_is_only_their_own(repository: Path, site: Path) -> None:
    r"""Of the words that mean the same, one is on a page; and so is one that is near."""
    text = (site / INDEX).read_text(encoding="utf-8").lower()
    said = words((repository / "labml_nn/search.toml").read_text(encoding="utf-8"))
    pages = text[: text.rindex('"same":')]
    for group in [*said["same"], *said["near"].values()]:
        assert any(name.lower() in pages for name in group), group
