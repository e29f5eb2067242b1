r"""The words of a note: those that Markdown shows, by Python-Markdown's own rendering."""

import html
import re
from collections import Counter
from pathlib import Path

import markdown
import pytest

from literate.reading import front_matter
from literate.reading.notes import Note
from literate.reading.plain import plain, seen
from literate.reading.rows import rows
from literate.reading.source import read
from tests.literate.shown import Shown

ROOT = Path(__file__).resolve().parents[3]
SOURCES = sorted([*ROOT.glob("labml_nn/**/*.py"), *ROOT.glob("literate/**/*.py")])


def note(text: str) -> Note:
    return Note("docstring", 1, tuple(text.split("\n")))


def shown(text: str) -> Shown:
    r"""What a browser shows of a note that holds no formula and no footnote."""
    # HTML in a note shows as what it is; inside code, Markdown itself sees to that.
    code = r"(^```.*?^```|`[^`]+`)"
    parts = re.split(code, text, flags=re.MULTILINE | re.DOTALL)
    parts[::2] = [html.escape(part, quote=False) for part in parts[::2]]
    parts[::2] = [re.sub(r"^( *)&gt;", r"\1>", part, flags=re.MULTILINE) for part in parts[::2]]
    rendered = markdown.markdown(
        "".join(parts), extensions=["fenced_code", "tables", "pymdownx.details"]
    )
    # What is said of a picture to those who don't see it can be looked up, too.
    described = re.sub(r'<img alt="([^"]*)"', r"\1<img", rendered)
    return Shown(described)


def words(text: str) -> list[str]:
    return re.findall(r"\w+", text)


# The elements that a browser makes of blocks.
ELEMENTS = {"blockquote": "blockquote", "details": "details", "list_item": "li", "table": "table"}


def test_every_note_of_the_project_has_the_words_and_the_blocks_that_markdown_shows() -> None:
    checked = 0
    for path in SOURCES:
        for row in rows(read(path)):
            if row.note is None:
                continue
            _, rest, _ = front_matter.split(row.note, "")
            text = "\n".join(rest.texts)
            # Formulas are compared below.
            if "$" not in text:
                place, page = f"{path}:{row.note.first}", shown(text)
                assert words(plain(rest)) == words(page.text()), place
                blocks = Counter(block.kind for block in rest.parsed.blocks)
                assert {kind: blocks[kind] for kind in ELEMENTS} == {
                    kind: len(page.texts(f".//{tag}")) for kind, tag in ELEMENTS.items()
                }, place
                headings = [one for level in range(1, 7) for one in page.texts(f".//h{level}")]
                seen_in_them = [words(seen(one.words)) for one in rest.parsed.headings]
                assert sorted(seen_in_them) == sorted(map(words, headings)), place
                checked += 1
    assert checked > 300


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("two\nlines\n\nand a paragraph", "two lines and a paragraph"),
        ("*one* **two** ***three*** _four_ __five__", "one two three four five"),
        ("d_k and a_b_c and 2 * 3 * 4", "d_k and a_b_c and 2 * 3 * 4"),
        ("*`d_k` is **x***", "d_k is x"),
        ("`code` and ``a `tick` ``", "code and a `tick`"),
        ('[words](a.py#B) and [`code`](<b c.py> "title")', "words and code"),
        ("![*wiki*](https://a.b/c_(d)) end", "wiki end"),
        ("[words][name] left\n\n[name]: https://a.b\n", "words left"),
        ("a claim[^1] made\n\n[^1]: The proof.", "a claim made The proof."),
        ("## A heading\n\n> quoted\n> again", "A heading quoted again"),
        ("* one\n* two\n\n1. three", "one · two · three"),
        # As on the page, no list begins inside a paragraph or a heading.
        ("## 1. A heading\n\nin May\n2023. It was", "1. A heading in May 2023. It was"),
        ('??? question "Why `x`?"\n    Because.', "Why x? Because."),
        ("<a@b.c> and <https://e.org>", "<a@b.c> and https://e.org"),
        ("above\n\n---\n\nbelow", "above below"),
        ("| a | b |\n|---|:-:|\n| 1 | 2 |", "a | b 1 | 2"),
        ("```python\nx = *a*\n```\nafter", "x = *a* after"),
        ("\n    indented *code*", "indented *code*"),
        (r"with $d_k$ of $\sqrt{x}$", "with d_k of √x"),
        ("before\n$$\n\\frac{a}{b}\n$$\nafter", "before after"),
        (r"\*no emphasis\* and \_this\_", "*no emphasis* and _this_"),
        ('a \\" b \\\nc', 'a \\" b \\ c'),
        ("<img src=x onerror=alert(1)> &lt;", "<img src=x onerror=alert(1)> &lt;"),
        ("\ue0007\ue001 private", "\ue0007\ue001 private"),
        ("", ""),
    ],
)
def test_marks_go_and_words_stay(text: str, words: str) -> None:
    assert plain(note(text)) == words


@pytest.mark.parametrize(
    ("tex", "words"),
    [
        (r"\frac{\alpha}{r} B^\top", "α/r Bᵀ"),
        (r"\frac{a + b}{2}, \tfrac12", "(a + b)/2, 1/2"),
        (r"\sqrt{8} = 2.83, \sqrt{a + b}", "√8 = 2.83, √(a + b)"),
        (r"\ln 4 \approx 1.386", "ln 4 ≈ 1.386"),
        (r"e^{\Delta_t A}", "e^(Δ_t A)"),
        (r"3 \cdot 64 = 3{,}072", "3 · 64 = 3,072"),
        (r"\operatorname{Re}(q \bar{k})", "Re(q k)"),
        (r"\pi_{\text{ref}} \,\|\, \pi", "π_ref ‖ π"),
    ],
)
def test_a_formula_is_what_somebody_would_type_without_tex(tex: str, words: str) -> None:
    assert plain(note(f"${tex}$")) == words


def test_no_note_of_the_project_leaves_tex() -> None:
    left = {
        words
        for path in SOURCES
        for row in rows(read(path))
        if row.note
        for span in row.note.parsed.spans
        if span.kind == "inline" and "\\" in (words := plain(note(f"${span.content}$")))
    }
    assert left == set()
