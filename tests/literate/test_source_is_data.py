r"""Whatever stands in a source is shown as what it is, and does nothing."""

import re
import sysconfig
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from textwrap import indent

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from literate.page.formulas import Formulas
from literate.problems import LiterateError
from literate.reading.front_matter import of_source
from literate.reading.rows import rows
from literate.reading.source import Source, parse, read
from tests.literate.shown import ROOT, Shown, assert_only_data, rendered, written

WORD = re.compile(r"[^\W_]+")
HEAD = 'r"""\n---\ntitle: A\nsummary: B\n---\n\n'


@pytest.fixture(scope="module")
def formulas() -> Iterator[Formulas]:
    with Formulas(ROOT / "node_modules" / "katex") as formulas:
        yield formulas


def render(paths: list[Path]) -> int:
    r"""The number of those that are pages; what Python can't read is none."""
    pages = 0
    with Formulas(ROOT / "node_modules" / "katex") as formulas:
        for path in paths:
            try:
                source = read(path)
            except LiterateError:
                continue
            assert_notes_are_read(source, assert_only_data(source, formulas))
            pages += 1
    return pages


def assert_notes_are_read(source: Source, shown: Shown) -> None:
    r"""Each word of each note is on the page: as text, in a title, or where a link leads to."""
    apart = [*shown.values("href"), *shown.values("src"), *shown.values("id")]
    # Marks inside a word, as in `eval`uated, go.
    there = "".join(WORD.findall(" ".join([shown.text(), written_title(source), *apart])))
    for row in rows(source):
        for text in row.note.texts if row.note else ():
            # The language of a block of code colours it, and so does the kind of a box.
            seen = re.sub(r"^ *(?:(?:```|~~~).*|!!! \w+)", "", text)
            said = WORD.findall(seen)
            assert [word for word in said if word not in there] == [], f"{source.path}: {text}"


def written_title(source: Source) -> str:
    matter, _, _ = of_source(source)
    return f"{matter.title} {matter.summary} title summary"


def spread(folder: str, count: int) -> list[Path]:
    r"""So many files of a folder, taken evenly from all that are not huge."""
    installed = Path(sysconfig.get_path("purelib"))
    everything = sorted(Path(folder).rglob("*.py"))
    inner = "site-packages" if installed != Path(folder) else ""
    files = [one for one in everything if inner not in one.parts and one.stat().st_size < 60_000]
    return files[:: max(1, len(files) // count)][:count]


@pytest.mark.parametrize(
    ("place", "count"),
    [
        ("stdlib", 60),
        ("purelib", 60),
        pytest.param("stdlib", 2000, marks=pytest.mark.whole),
        pytest.param("purelib", 200, marks=pytest.mark.whole),
    ],
)
def test_modules_that_were_never_meant_for_this_become_pages(place: str, count: int) -> None:
    paths = spread(sysconfig.get_path(place), count)
    with ProcessPoolExecutor(2) as pool:
        pages = sum(pool.map(render, [paths[::2], paths[1::2]]))
    assert pages > 0.9 * len(paths) > 50


def test_powers_of_a_foreign_docstring_lose_no_letter(formulas: Formulas) -> None:
    note = "x**2*y**-2*z # noqa: F821\nx**2*y**-2*z"
    shown = assert_only_data(parse(f'def f():\n    """A.\n\n{indent(note, "    ")}"""\n'), formulas)
    assert "F821" in shown.text() and shown.text().count("x**2") == 2


MARKS = [
    "<script>alert(1)</script>", "<b onclick=x>", "</div>", "</section>", "<!--", "-->",
    "<![CDATA[", "<?php", "`", "``", "```", "~~~", "    ", "- ", "* ", "1. ", "> ", "\n", "\n\n",
    "\n\n    ", "$", "$$", "[a](javascript:alert(1))", "[a](javascript:alert('a b'))",
    "[x]: javascript:alert(1)", "[x]:javascript:alert(1)", "[x]:\njavascript:alert(1)", "[x][x]",
    "[x]", "![i](x onerror=y)", "![i](https://e.org/a.png)", "<javascript:alert(1)>",
    "<https://e.org>", "&lt;script&gt;", "{: onclick=alert(1) }", "{#id}", "word", "\\", "\t", "|",
    "---", "===", "# h", "[^1]: note <i>", "[^1]", "*", "_", "<div markdown=1>", "&",
    "&#60;script>", "]", "(", "\u202e", "`<i>`", "\x02wzxhzdk:1\x03", "\x02klzzwxh:0001\x03",
    "<details>", "<p", "<a href=", "'", '"', "``` html", "```{.python onclick=1}", "!!! note",
    '--8<-- "setup.py"', "\x0c", "\u2028", "/// html | script", "{{ x }}", "{% raw %}", "🙂",
    "שלום",
]  # fmt: skip
TEXT = st.lists(st.sampled_from(MARKS) | st.text(max_size=3), max_size=8).map("".join)


def quotable(text: str) -> str:
    r"""What may stand in a docstring, and be written to a file."""
    kept = text.replace('"""', "").replace("\0", "").replace("\r", "")
    return kept.encode(errors="ignore").decode().rstrip('\\"')


@settings(max_examples=250)
@given(TEXT, TEXT, TEXT, TEXT)
def test_any_notes_and_strings_are_text(
    formulas: Formulas, module: str, function: str, comment: str, string: str
) -> None:
    indented = quotable(function).replace("\n", "\n    ")
    lines = "".join(f"# {line}\n" for line in quotable(comment).split("\n"))
    text = (
        f'{HEAD}{quotable(module)}\n"""\nx = 1\n\n\ndef f():\n    r"""\n'
        f'    ## F {indented}\n    """\n'
        f'    return """{quotable(string)}\\n"""\n\n\n{lines}y = {ascii(string)}  # {lines[2:]}'
    )
    try:
        source = parse(text, "case.py")
    except LiterateError:
        # A form feed or a backslash at an odd place may make it no program.
        return
    assert_only_data(source, formulas)


@settings(max_examples=150)
@given(TEXT)
def test_a_word_in_code_is_shown_as_it_is(formulas: Formulas, text: str) -> None:
    # Markdown puts spaces in the place of a tab, wherever it is.
    words = quotable(text).replace("`", "").replace("\n", " ").replace("\t", " ").strip()
    source = parse(f'{HEAD}Before `{words or "x"}` after.\n"""\nx = 1\n', "case.py")
    assert f"Before {words or 'x'} after." in rendered(written(source, formulas).markdown).text()


def of(data: bytes, tmp_path: Path, formulas: Formulas) -> str:
    path = tmp_path / "case.py"
    path.write_bytes(data)
    return assert_only_data(read(path, "case.py"), formulas).text()


def test_very_long_lines_keep_their_length_and_tabs(tmp_path: Path, formulas: Formulas) -> None:
    code, words = "<long> " * 20_000, "a_b*c " * 5_000
    text = f'{HEAD}`{words}`\n"""\nif True:\n\tx = "a\tb"\ny = "{code}"\n'
    shown = of(text.encode(), tmp_path, formulas)
    assert code in shown and words.strip() in shown


@pytest.mark.parametrize("ending", ["\n", "\r\n", "\r"])
def test_line_endings_are_not_shown(ending: str, tmp_path: Path, formulas: Formulas) -> None:
    text = f'{HEAD}One\ntwo.\n\n```\nthree\n\n  four\n```\n"""\nx = 1\n# five\ny = 2\n'
    shown = of(text.replace("\n", ending).encode(), tmp_path, formulas)
    assert "One\ntwo." in shown and "three\n\n  four" in shown and "\r" not in shown


# The last has a mark of the byte order, which is no part of the text.
@pytest.mark.parametrize(
    ("encoding", "words"),
    [("latin-1", "é ÿ"), ("utf-8", "é 🙂 שלום"), ("shift_jis", "日本"), ("utf-8-sig", "é")],
)
def test_a_declared_encoding_is_read(
    encoding: str, words: str, tmp_path: Path, formulas: Formulas
) -> None:
    declared = encoding.removesuffix("-sig")
    text = f'# -*- coding: {declared} -*-\n{HEAD}Note {words}.\n"""\nx = "{words}"\n'
    shown = of(text.encode(encoding), tmp_path, formulas)
    assert f"Note {words}." in shown and f'x = "{words}"' in shown and "\ufeff" not in shown


def test_what_turns_the_direction_of_text_is_marked(formulas: Formulas) -> None:
    code = 'access = "user\u202e \u2066# only for admins\u2069 \u2066"  # \u200b'
    source = parse(f'{HEAD}A note \u202e, `\u2067` and\n\n```\n\u2066\n```\n"""\n{code}\n', "a.py")
    assert_only_data(source, formulas)
    page = written(source, formulas).markdown
    for character in "\u202e\u2066\u2067\u2069\u200b":
        mark = f'data-number="U+{ord(character):04X}">{character}</bdi>'
        assert page.count(character) == page.count(mark) > 0


def test_links_lead_to_the_web_or_the_site_only(formulas: Formulas) -> None:
    note = "[a](javascript:alert(1)) [b](data:text/html,x) [c](//e.org) ![d](https://e.org/d.png)"
    source = parse(f'{HEAD}{note}\n[e](mailto:a@e.org)\n"""\nx = 1\n', "a.py")
    sentences = [one.sentence for one in written(source, formulas).problems]
    assert sentences == [
        "the link to `javascript:alert(1)` is none to follow; use `https:`.",
        "the link to `data:text/html,x` is none to follow; use `https:`.",
        "the link to `//e.org` is none to follow; use `https:`.",
        "the picture `https://e.org/d.png` is on another machine; put it into the docs.",
    ]
    paper = "paper: {title: A, authors: B, year: 1, link: 'javascript:alert(1)'}\n---\n"
    source = parse(HEAD.replace("---\n\n", paper) + '"""\n', "a.py")
    (problem,) = written(source, formulas).problems
    assert "`javascript:alert(1)` does not begin with `https://`" in problem.sentence


def test_code_over_a_list_and_code_that_is_never_closed_take_nothing_apart(
    formulas: Formulas,
) -> None:
    note = "1. A `quote' of old,\n2. and `another'.\n\nText.\n\n```\n<b>"
    source = parse(f'{HEAD}{note}\n"""\nx = "```"\n', "a.py")
    shown = assert_only_data(source, formulas)
    assert shown.texts(".//li") == ["A `quote' of old,", "and `another'."]
    (problem,) = written(source, formulas).problems
    assert str(problem) == "a.py:12: the block of code is opened by ``` and never closed."
