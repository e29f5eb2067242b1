r"""Pages as golden files: `cases/NAME.py` gives `cases/NAME.md`.

When a difference is wanted, `python tests/literate/page/test_page.py` writes them anew, and
the change is read like any other.
"""

import json
import re
from pathlib import Path

import markdown
import pytest

from literate.engines.raw_html import ReadyHtml
from literate.measuring.measure import Measurement
from literate.page.context import context
from literate.page.formulas import Formulas
from literate.page.links import Links
from literate.page.page import Page, page
from literate.reading.plain import plain
from literate.reading.rows import rows
from literate.reading.source import Source, parse, read
from tests.literate.projects import KATEX
from tests.literate.shown import rendered

CASES = Path(__file__).parents[1] / "cases"
NAMES = sorted(path.stem for path in CASES.glob("*.py"))


def written(source: Source) -> Page:
    links = Links({source.path: source}, {source.path: "case.md"}, CASES, "docs")
    with Formulas(KATEX) as formulas:
        return page(source, context(links, formulas))


def case(name: str) -> Page:
    return written(read(CASES / f"{name}.py", f"{name}.py"))


@pytest.mark.parametrize("name", NAMES)
def test_a_page_is_its_golden_file(name: str) -> None:
    golden = (CASES / f"{name}.md").read_text(encoding="utf-8")
    assert case(name).markdown == golden, "see the docstring of tests/literate/page/test_page.py"


@pytest.mark.parametrize(
    ("said", "seen"),
    [
        ("x*y*z and 2*n by 3*k, x**2 + y**-1", "x*y*z and 2*n by 3*k, x**2 + y**-1"),
        ("(a)*(b)*c[0]*d", "(a)*(b)*c[0]*d"),
        # As they are meant in Markdown, at the start of a word or of a part of one.
        ("*token*s of 2*n, *all* **the** words", "tokens of 2*n, all the words"),
        ("这是*强调*的。", "这是强调的。"),
        ("*args and **kwargs", "*args and **kwargs"),
    ],
)
def test_a_star_between_two_factors_is_one(said: str, seen: str) -> None:
    source = parse(f'"""# A\n\n{said}\n"""\nx = 1\n', "a.py")
    assert rendered(written(source).markdown).texts(".//section//p") == [seen]
    (note,) = [row.note for row in rows(source) if row.note]
    assert plain(note).split("\n")[-1].endswith(seen)


def contents(text: str) -> list[str]:
    converter = markdown.Markdown(extensions=["md_in_html", "toc"])
    converter.convert(written(parse(text, "a.py")).markdown.split("\n---\n", 1)[1])
    waiting, found = list(converter.toc_tokens), []
    while waiting:
        token = waiting.pop(0)
        found.append(token["id"])
        waiting = [*token["children"], *waiting]
    return found[1:]


UNDOCUMENTED = """
import x

# Its parts.
class A:
    def forward(self): pass

@x.made
class B(A):
    def forward(self):
        '''Forward.'''

def f():
    def inner(): pass

def f(): pass
def _private(): pass
async def g(): pass
"""


def test_the_contents_list_what_has_no_docstring_where_nothing_has_a_heading() -> None:
    assert contents(f'"""A file."""{UNDOCUMENTED}') == ["A", "B", "B.forward", "f", "g"]
    headed = UNDOCUMENTED.replace("Forward.", "### Forward")
    assert contents(f'"""A file."""{headed}') == ["B.forward"]


def method(name: str) -> str:
    return f'    def {name}(self):\n        r"""\n        ### {name} *it*\n        """\n'


def test_the_contents_list_no_helpers() -> None:
    top = 'r"""\n---\ntitle: A\nsummary: B\n---\n"""\n\n\nclass A:\n    r"""\n    ## A\n    """\n'
    names = ["__init__", "forward", "_split", "example"]
    below = (
        'def _f():\n    r"""\n    ## F\n    """\ndef example():\n    r"""\n    ## Try\n    """\n'
    )
    text = top + "".join(map(method, names)) + below
    assert contents(text) == ["A", "A.forward", "example"]
    # They are headings all the same, and links lead to them.
    shown = rendered(written(parse(text, "a.py")).markdown)
    assert {"A._split", "A.example", "_f"} <= set(shown.values("id"))
    assert "_split it" in shown.text()
    # What looks like a name of Python in small letters is no bold word.
    named = (
        top + "# Neither __hasattr__ nor __array_function__, __init__, but __Two Words__.\nx = 1\n"
    )
    assert rendered(written(parse(named, "a.py")).markdown).texts(".//strong") == ["Two Words"]
    # A property and its setter have one name, and one place to link to.
    two = "    @property\n    def x(self): pass\n\n    @x.setter\n    def x(self, x): pass\n"
    assert rendered(written(parse(top + two, "a.py")).markdown).values("id").count("A.x") == 1
    # Where there are many, the contents list no methods.
    many = [f"step{number}" for number in range(20)]
    assert contents(top + "".join(map(method, many)) + below) == ["A", "example"]


@pytest.mark.parametrize(
    ("note", "line", "words"),
    [
        ("[a](b.py)", 7, "the link to `b.py` leads to nothing"),
        ("text\n[a](#B)", 8, "the link to `#B` leads to nothing"),
        ("a\n$\\nosuch$", 8, "the formula `\\nosuch` can't be set: Undefined control sequence"),
        ("$$\n\\frac{\n$$", 7, "can't be set"),
        ("a $$x b", 7, "`$$` opens no formula"),
        ("$$\nx", 7, "`$$` opens no formula"),
        ("`[seq_len, 3]`", 7, "has no example() to measure it by"),
        # Nothing but code.
        ("", 1, "the module has no docstring; a page begins with one, and a title."),
    ],
)
def test_what_a_note_gets_wrong_is_named(note: str, line: int, words: str) -> None:
    text = f'r"""\n---\ntitle: A\nsummary: B\n---\n\n{note}\n"""\n\nx = 1\n'
    (problem,) = written(parse(text if note else "x = 1\n", "a.py")).problems
    assert (problem.path, problem.line) == ("a.py", line)
    assert words in problem.sentence


def test_a_formula_that_cannot_be_set_is_shown_as_it_was_written() -> None:
    text = 'r"""\n# A\n\nBefore ${a}}$ after.\n"""\nx = 1\n# As in "$$".\n'
    text += "y = 1\n# Drawn: #$$ |\nz = 1\n# Or $$$.\na = 1\n# Reads cost ($$).\n"
    made = written(parse(text, "a.py"))
    assert ["can't be set" in one.sentence for one in made.problems] == [True]
    shown = rendered(made.markdown).texts(".//section//p")
    assert shown == [
        "Before ${a}}$ after.",
        'As in "$$".',
        "Drawn: #$$ |",
        "Or $$$.",
        "Reads cost ($$).",
    ]


def test_of_a_formula_with_a_command_that_nobody_knows_the_rest_is_set() -> None:
    text = r"$\mbox{if } a_b$, $\nosuch{x_1} + 1$, $d % 2$ and $a_b_c*d*$."
    made = written(parse(f'r"""\n# A\n\n{text}\n"""\nx = 1\n', "a.py"))
    reasons = ["Undefined control sequence: \\nosuch", "Double subscript", "comment has no"]
    assert all(why in one.sentence for why, one in zip(reasons, sorted(made.problems), strict=True))
    shown = rendered(made.markdown)
    assert len(shown.texts(".//section//span[@class='katex']")) == 2
    assert "\\nosuch" in shown.text(".//span[@class='katex-html']")
    assert shown.texts(".//section//p/code") == ["$d % 2$", "$a_b_c*d*$"]


def test_what_other_people_write_is_shown_as_they_meant_it() -> None:
    note = (
        "[Second](#2-the-second-half), a word.[^1]\n\n[^1]: It begins\n\n    and [goes on][o].\n\n"
        "[o]: https://example.org/\n\n> So\n> $$\n> x\n> $$\n\n<!-- A remark -->\n\n"
        "    code\n\nLast."
    )
    text = f'# Licence\nr"""\n# A\n\n{note}\n"""\n# ## 2. The *second* half\nb = 2\n# c[0](x)\n'
    made = written(parse(text, "a.py"))
    assert made.problems == ()
    shown = rendered(made.markdown)
    assert shown.values("href", ".//section//a")[:1] == ["#2-the-second-half"]
    assert "2-the-second-half" in shown.values("id") and "A remark" not in shown.text()
    assert shown.texts(".//section//p")[0] == "Licence"
    assert "Last." in shown.texts(".//section//p")
    assert len(shown.texts(".//blockquote//math")) == 1
    assert "and goes on." in shown.text(".//div[@class='footnote']")


def test_a_picture_that_is_not_there_is_told_by_its_words_and_its_name() -> None:
    directive = ".. image:: _static/a_b.png\n   :alt: Two *lines*\n   :width: 3\n\n.. figure:: /c.*"
    made = written(parse(f'"""A\n=\n\n{directive}\n\n   Below.\n"""\nx = 1\n', "a.py"))
    assert [(one.line, one.kind) for one in made.problems] == [
        (4, "pictures are not there"),
        (8, "pictures are not there"),
    ]
    shown = rendered(made.markdown)
    assert shown.texts(".//section//p") == ["Two *lines* (_static/a_b.png)", "/c.*", "Below."]


def test_a_licence_on_top_of_a_file_is_folded_and_a_remark_is_not() -> None:
    licence = "# Copyright 2024 Somebody.\n#\n# Licensed under a licence;\n# with limits.\n"
    text = licence + '"""# A page\n\nText."""\n\nx = 1\n'
    shown = rendered(written(parse(text, "a.py")).markdown)
    (folded,) = shown.texts(".//details")
    assert "Somebody" in folded and "with limits" in folded and "Text" not in folded
    below = text.replace(licence, "") + licence + "y = 2\n"
    assert rendered(written(parse(below, "a.py")).markdown).texts(".//details") == []


@pytest.mark.parametrize(
    ("above", "below", "is_folded"),
    [
        ("The MIT License (MIT)\n\n", "", True),
        ("", "", True),
        ("How it is licensed\n\n", "", False),
        ("", "\n\nA module that sorts.", False),
    ],
)
def test_a_docstring_that_is_nothing_but_a_licence_is_folded(
    above: str, below: str, is_folded: bool
) -> None:
    licence = "Copyright (c) Somebody\n\nPermission is granted to use this software."
    text = f'"""\n{above}{licence}{below}\n"""\n\nx = 1\n'
    shown = rendered(written(parse(text, "a.py")).markdown)
    assert bool(shown.texts(".//details")) == is_folded
    assert "this software" in shown.text()


@pytest.mark.parametrize(
    ("comment", "is_folded"),
    [
        ("# Copyright (c) Somebody, Inc. and affiliates.\n# All rights reserved.", True),
        ("# SPDX-License-Identifier: MIT", True),
        ("#!/usr/bin/env python\n# (C) 2024 Somebody", True),
        ("# This module is part of a library and is released under\n# the MIT License.", True),
        ("# How a copyright is read: who, and\n# since when.", False),
        ("# What it does.", False),
    ],
)
def test_a_licence_of_a_line_or_two_is_folded_if_it_begins_as_one(
    comment: str, is_folded: bool
) -> None:
    text = f'{comment}\n"""# A page\n\nText."""\n\nx = 1\n'
    shown = rendered(written(parse(text, "a.py")).markdown)
    assert bool(shown.texts(".//details")) == is_folded
    assert comment.rpartition(" ")[2] in shown.text()


def test_a_script_of_jupytext_is_read_as_the_notebook_that_it_is() -> None:
    text = (
        "# ---\n# jupyter:\n#   jupytext:\n#     format_name: percent\n# ---\n\n"
        "# %% [markdown] id='a'\n# # The title\n#\n# What it does. More.\n\n# %% A cell\nx = 1\n"
    )
    made = written(parse(text, "a.py"))
    assert (made.title, made.summary, made.problems) == ("The title", "What it does.", ())
    shown = rendered(made.markdown)
    assert shown.texts(".//section//p") == ["What it does. More.", "A cell"]
    assert [line for _, line in shown.lines][-1] == "x = 1" and "%%" not in shown.text()


def test_a_page_names_the_pages_to_know_and_those_that_its_code_takes_names_from() -> None:
    head = 'r"""\n---\ntitle: {}\nsummary: S\n---\n"""\n'
    texts = {
        "p/a.py": head.format("A & B") + "def f(): pass\n",
        "p/d.py": head.format("D\nknow: c.py, ../p/no.py") + "from p.a import f\n\nf()\n",
        "p/b.py": head.format("Another") + "from p.a import f\n\n\ndef g(): f()\n",
        # Where nobody has written lessons, modules import each other.
        "p/e.py": '"""\nE\n=\n"""\nfrom p.a import f\n\nf()\n',
        "p/c.py": head.format("C") + "from p.b import g\nfrom p.a import f\n\ng()\nf()\nf()\n",
    }
    sources = {path: parse(text, path) for path, text in texts.items()}
    links = Links(sources, {path: f"{path[2]}.md" for path in sources}, CASES, "docs")
    with Formulas(KATEX) as formulas:
        around = context(links, formulas)
        made = {path: page(one, around) for path, one in sources.items()}
    shown = {path: re.findall("know: (.*?)</span>", one.markdown) for path, one in made.items()}
    a, b, c = (
        '<a href="../a/">A &amp; B</a>',
        '<a href="../b/">Another</a>',
        '<a href="../c/">C</a>',
    )
    assert shown == {
        "p/a.py": [],
        "p/b.py": [a],
        "p/c.py": [f"{b}, {a}"],
        "p/d.py": [f"{c}, {a}"],
        "p/e.py": [],
    }
    assert [one.sentence for one in made["p/d.py"].problems] == [
        "`know` names `p/no.py`, which is no page."
    ]


RUN = {
    "steps": (
        (10, (("x['<b>']", ("n", "*m*"), 0),), ""),
        (11, (("weights", ("n", "*m*"), 0),), ""),
    ),
    "start": 0,
    "left_out": 0,
    "limit": 1.0,
    "tensors": (((2, 3), None, "float32", None, -0.5, 0.0, 0.5, "-.5 0 .5 0 0 0"),),
}


def test_the_recorded_run_stands_below_the_first_row_and_beside_the_page() -> None:
    head = 'r"""\n---\ntitle: A\nsummary: B\n---\n"""\n\nx = 1\n'
    text = f"{head}# Is it less?\ny = x * 2 < 3\nz = y\n"
    source = parse(text, "a.py")
    links = Links({source.path: source}, {source.path: "a.md"}, CASES, "docs")
    measured = {"a.py": Measurement({"n": (2,)}, {}, {}, RUN)}
    with Formulas(KATEX) as formulas:
        made = page(source, context(links, formulas, measured))
    assert json.loads(made.files["a/trace.json"]) == json.loads(json.dumps(RUN))
    # The same for a browser that reads the page from the disk.
    script = f'new CustomEvent("trace", {{ detail: {made.files["a/trace.json"].strip()} }})'
    assert made.files["a/trace.js"] == f"dispatchEvent({script});\n"
    sections = re.findall(r'<section class="(run|row[ \w]*)"', made.markdown)
    assert [one[:3] for one in sections] == ["row", "run", "row"]
    # The engine takes it as it is, with the step that puts HTML aside and without.
    body = made.markdown.split("\n---\n", 1)[1]
    (run,) = re.findall(r'<section class="run".*</section>', body)
    assert "x[&#x27;&lt;b&gt;&#x27;] [n 2, *m* 3]" in run and "<td>−0.5</td>" in run
    assert "<code>y = x * 2 &lt; 3</code>" in run
    for extensions in (["md_in_html"], ["md_in_html", ReadyHtml()]):
        assert run in markdown.markdown(body, extensions=extensions)
    # Without a measurement there is no run, nor a file of it.
    with Formulas(KATEX) as formulas:
        bare = page(source, context(links, formulas))
    assert "a/trace.json" not in bare.files and 'class="run"' not in bare.markdown


def test_the_page_that_begins_a_site_shows_its_text_alone() -> None:
    head = 'r"""\n---\ntitle: A\nsummary: Some.\nlayout: {}\n---\n\nText.\n"""\n'
    text = head + "\nx = 1\n\n# Note.\ny = 2\n"
    first, other = (
        rendered(written(parse(text.format(layout), "a.py")).markdown)
        for layout in ("front", "path")
    )
    assert len(other.all.findall(".//section")) == 2
    assert [one.strip() for one in first.texts(".//section")] == ["Text."]
