r"""Rows: which note stands beside which code."""

import pytest

from literate.reading.rows import Row, all_uncommented, rows, uncommented
from literate.reading.source import parse


def shown(text: str) -> list[tuple[str, str]]:
    r"""Each row as its note and its code."""
    return [(note(row), "".join(line.text for line in row.code)) for row in rows(parse(text))]


def note(row: Row) -> str:
    return "" if row.note is None else "\n".join(row.note.texts).strip()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # A comment stands beside the code under it, a docstring beside its header and its body.
        (
            "# one\nx = 1\ny = 2\n\n# two\n# more\nz = 3\n",
            [("one", "x = 1\ny = 2\n"), ("two\nmore", "z = 3\n")],
        ),
        (
            '@decorator\ndef f(\n    x,\n):\n    r"""Doc."""\n    return x\n',
            [("Doc.", "@decorator\ndef f(\n    x,\n):\n    return x\n")],
        ),
        # A definition starts a row, unless there is nothing but a comment above it.
        ("x = 1\n\ndef f(): ...\n", [("", "x = 1\n"), ("", "def f(): ...\n")]),
        ("# why\ndef f(): ...\n", [("why", "def f(): ...\n")]),
        (
            '# why\ndef f():\n    r"""Doc."""\n    return 1\n',
            [("why", ""), ("Doc.", "def f():\n    return 1\n")],
        ),
        # A blank line or another indentation ends a run of comments.
        (
            "# one\n\n# two\nif x:\n    # three\n# four\n    y = 1\n",
            [("one", ""), ("two", "if x:\n"), ("three", ""), ("four", "    y = 1\n")],
        ),
        # Notes inside brackets cut the expression.
        (
            "x = [\n    # one\n    1,\n    # two\n    2,\n]\n",
            [("", "x = [\n"), ("one", "    1,\n"), ("two", "    2,\n]\n")],
        ),
        # Blank lines between lines of code are kept, and those around it are not.
        ("# one\n\nx = 1\n\ny = 2\n\n", [("one", "x = 1\n\ny = 2\n")]),
        # A docstring below a comment has a row of its own: in a file, a class and a signature.
        ('# Licence\n"""Doc."""\nx = 1\n', [("Licence", ""), ("Doc.", "x = 1\n")]),
        (
            'class A:\n    # why\n    """Doc."""\n    x = 1\n',
            [("", "class A:\n"), ("why", ""), ("Doc.", "    x = 1\n")],
        ),
        (
            'def f(\n    # why\n    x,\n):\n    """Doc."""\n',
            [("", "def f(\n"), ("why", "    x,\n):\n"), ("Doc.", "")],
        ),
        # A string right below an assignment documents it, and nothing that follows.
        (
            'x = 1\ny = f(\n    2)\n"""One.\n\nTwo."""\n\nz = 3\n',
            [("", "x = 1\n"), ("One.\n\nTwo.", "y = f(\n    2)\n"), ("", "z = 3\n")],
        ),
        (
            'class A:\n    """Doc."""\n    x: int\n    """X."""\n    y = 1\n    """Y."""\n'
            '    def __init__(self):\n        self.z = 1\n        """Z."""\n'
            '        a = 1\n        """A."""\n',
            [
                ("Doc.", "class A:\n"),
                ("X.", "    x: int\n"),
                ("Y.", "    y = 1\n"),
                ("", "    def __init__(self):\n"),
                ("Z.", "        self.z = 1\n"),
                ("", '        a = 1\n        """A."""\n'),
            ],
        ),
        (
            '# why\nx = 1\n"""X."""\n\ny = 2\n\n"""out of use"""\n',
            [("why", "x = 1\n"), ("X.", ""), ("", 'y = 2\n\n"""out of use"""\n')],
        ),
        # A cell of a notebook that is kept as a script is a row; its title is its note.
        (
            "# %%\nx = 1\n# %% [markdown]\n# Text.\n# %% Two words id='a'\ny = 2\n",
            [("", "x = 1\n"), ("Text.", ""), ("**Two words**", "y = 2\n")],
        ),
    ],
)
def test_rows_are_a_note_and_its_code(text: str, expected: list[tuple[str, str]]) -> None:
    assert shown(text) == expected


@pytest.mark.parametrize(
    ("comment", "text"),
    [
        ("# ## Heading", "## Heading"),
        ("#no blank", "no blank"),
        # Frames around a comment, and what Sphinx reads.
        ("########", ""),
        ("## Framed ##", "Framed"),
        ("# ====", ""),
        ("# ~~~~ TYPES ~~~~~~", "TYPES"),
        ("# # #", ""),
        ("# ---- #", ""),
        ("# -----#", ""),
        ("# =====#", ""),
        ("# =-=-=-=", ""),
        ("# //////", ""),
        ("# ##", ""),
        ("# ---- callbacks ---- #", "callbacks"),
        ("# # # Builder", "Builder"),
        ("# # Title", "# Title"),
        ("# # ------Tests a-z------##", "Tests a-z"),
        ("#: The first.", "The first."),
        # These are no frames.
        ("# | a | b |", "| a | b |"),
        ("# ---", "---"),
        ("# --- one grid", "one grid"),
        ("# ### Errors ###", "Errors"),
        ("# |----|----|", "|----|----|"),
        ("# the number #", "the number #"),
        ("# a ----> b", "a ----> b"),
        ("# f(x) ##", "f(x) ##"),
    ],
)
def test_a_comment_without_its_marks(comment: str, text: str) -> None:
    assert uncommented(comment) == text


def test_a_title_among_the_lines_of_a_comment_is_a_remark() -> None:
    assert shown("# # Put off:\n# it\nx = 1\n") == [("\\# Put off:\nit", "x = 1\n")]
    assert shown("# # Title\nx = 1\n") == [("# Title", "x = 1\n")]


def test_a_comment_says_why_code_is_out_of_use_and_then_has_it() -> None:
    said = "# It warns, but\n# nobody hears.\n# if color:\n#     warn(1)\n"
    code = "It warns, but\nnobody hears.\n\n```python\nif color:\n    warn(1)\n```"
    assert shown(f"{said}x = 1\n") == [(code, "x = 1\n")]
    below = "# Here are some:\n#    import re\n#    A = [\n#        f(r'^/a$'),\n#    ]\n"
    code = "Here are some:\n\n```python\nimport re\nA = [\n    f(r'^/a$'),\n]\n```"
    assert shown(f"{below}x = 1\n") == [(code, "x = 1\n")]
    whole = "# # Put off:\n# class A:\n#     x = 1\n"
    assert shown(f"{whole}x = 1\n") == [("# Put off:\nclass A:\n    x = 1", "x = 1\n")]
    text = "# This is\n# for the others:\n#     that.\n"
    assert shown(f"{text}x = 1\n") == [("This is\nfor the others:\n    that.", "x = 1\n")]


@pytest.mark.parametrize("rule", ["# --------- #", "# ---------#", "#===========#"])
def test_the_right_side_of_a_frame_is_no_text(rule: str) -> None:
    assert shown(f"{rule}\n# callbacks #\n{rule}\nx = 1\n") == [("callbacks", "x = 1\n")]


def test_the_docstring_of_the_module_comes_first() -> None:
    first = next(rows(parse('r"""\nHello.\n"""\n\nimport os\n')))
    assert (note(first), first.documents, first.within) == ("Hello.", None, None)
    assert "".join(line.text for line in first.code) == "import os\n"


def test_rows_know_what_they_document_and_where_they_stand() -> None:
    text = (
        'class A:\n    r"""A."""\n    def f(self):\n        r"""F."""\n        # c\n        x = 1\n'
    )
    names = [
        (row.documents and row.documents.name, row.within and row.within.name)
        for row in rows(parse(text))
    ]
    assert names == [("A", "A"), ("A.f", "A.f"), (None, "A.f")]


def test_the_lines_of_a_note_keep_their_numbers_in_the_file() -> None:
    text = '#   list\nx = 1\ndef f():\n    r"""\n    ## F\n\n      indented\n    """\n'
    notes = [(row.note.first, row.note.texts) for row in rows(parse(text))]
    # Only one blank is taken from a comment.
    assert notes == [(1, ("  list",)), (4, ("", "## F", "", "  indented", ""))]


def test_a_remark_that_is_out_of_use_is_no_title_of_the_page() -> None:
    remarks = "    # # # remove it\n    # ### A part\n"
    for opening, shown in (("def f(x):", "### A part"), ("class A:", "A part")):
        source = parse(f'"""# A"""\n\n\n{opening}\n{remarks}    x = 1\n')
        note = [row.note for row in rows(source) if row.note][-1]
        assert note.texts == ("remove it", shown)


@pytest.mark.parametrize(
    ("texts", "shown"),
    [
        ("One.\n\n##### Part\n\n###### More", "One.\n\n#### Part\n\n##### More"),
        ("One.\n\n## Part\n\nMore\n----\nText", "One.\n\n#### Part\n\n#### More\n\nText"),
        ("## One\n\n#### Part", "## One\n\n### Part"),
        ("### One\n\n## Part", "### One\n\n## Part"),
    ],
)
def test_headings_in_a_docstring_are_below_what_it_documents(texts: str, shown: str) -> None:
    inside = texts.replace("\n", "\n        ")
    source = parse(f'class A:\n    def f(self):\n        r"""{inside}\n        """\n')
    (note,) = [row.note for row in rows(source) if row.note]
    assert "\n".join(note.texts).strip() == shown


def test_a_heading_in_a_numbered_comment_is_a_remark() -> None:
    for inside in ("#\n    #    # two", "# ## two"):
        comment = f"# 1. One\n    {inside}\n    # 2. three"
        source = parse(f'"""# A"""\n\n\ndef f(x):\n    {comment}\n    x = 1\n')
        note = [row.note for row in rows(source) if row.note][-1]
        assert note.parsed.headings == []
        assert "# two" in "".join(words.text for words in note.parsed.words)


def test_a_comment_that_sphinx_takes_for_a_docstring_is_read_as_one() -> None:
    text = "#: As :class:`~a.B` has it.\n#:\n#: .. versionadded:: 2.0\n#:    It was `c`.\nx = 1\n"
    (row,) = rows(parse(text))
    assert row.note is not None
    assert [one for one in row.note.texts if one] == [
        "As `B` has it.",
        "*New in version 2.0:*",
        "It was `c`.",
    ]
    assert row.note.name(1, "B") == "a.B"
    # Other comments are Markdown, but for the marks inside their lines.
    (row,) = rows(parse(text.replace("#:", "#")))
    assert row.note is not None
    assert row.note.texts[::2] == ("As `B` has it.", ".. versionadded:: 2.0")


@pytest.mark.parametrize("code", ["True,", "0.0,\n# False,", "x = 1", "f(x)\n# x = 2"])
def test_code_below_its_reason_stays_code(code: str) -> None:
    written = code.replace("# ", "")
    expected = f"It is equal.\n\n```python\n{written}\n```"
    assert shown(f"# It is equal.\n# {code}\nx = 1\n") == [(expected, "x = 1\n")]


@pytest.mark.parametrize(
    "text", ["if so,\n# x = 1", "x or\n# y,", "One.\n# Two, three,", "a\n# f(x)"]
)
def test_words_that_could_be_code_stay_words(text: str) -> None:
    assert shown(f"# {text}\nx = 1\n") == [(text.replace("# ", ""), "x = 1\n")]


def test_sentences_that_are_indented_in_a_comment_are_no_code() -> None:
    words = "The software is provided as it is,\n#     WITHOUT WARRANTY OF ANY KIND."
    (row,) = rows(parse(f"# Free:\n#\n#     {words}\n#\n#     make x=1 y\n#     make z\nx = 1\n"))
    assert row.note is not None
    kinds = [(one.kind, one.content) for one in row.note.parsed.spans]
    assert kinds[-1] == ("fence", "make x=1 y\nmake z")
    (row,) = rows(parse('# "a",\nx = 1\n'))
    assert row.note is not None and row.note.parsed.spans[0].kind == "fence"
    assert "provided as it is,\nWITHOUT" in kinds[0][1]


def test_the_words_in_a_frame_of_signs_are_no_title_of_the_page() -> None:
    assert all_uncommented(("# #####", "# # float", "# #####")) == ("", "float", "")
    assert all_uncommented(("# # float",)) == ("# float",)
