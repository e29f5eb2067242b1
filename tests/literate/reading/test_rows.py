r"""Rows: which note stands beside which code."""

from literate.reading.rows import Row, rows
from literate.reading.source import parse


def shown(text: str) -> list[tuple[str, str]]:
    r"""Each row as its note and its code."""
    return [(note(row), "".join(line.text for line in row.code)) for row in rows(parse(text))]


def note(row: Row) -> str:
    return "" if row.note is None else "\n".join(row.note.texts).strip()


def test_a_comment_stands_beside_the_code_under_it() -> None:
    text = "# one\nx = 1\ny = 2\n\n# two\n# more\nz = 3\n"
    assert shown(text) == [("one", "x = 1\ny = 2\n"), ("two\nmore", "z = 3\n")]


def test_a_docstring_stands_beside_its_header_and_what_follows() -> None:
    text = '@decorator\ndef f(\n    x,\n):\n    r"""Doc."""\n    return x\n'
    assert shown(text) == [("Doc.", "@decorator\ndef f(\n    x,\n):\n    return x\n")]


def test_a_definition_without_a_note_starts_a_row() -> None:
    text = "x = 1\n\ndef f():\n    return 1\n"
    assert shown(text) == [("", "x = 1\n"), ("", "def f():\n    return 1\n")]


def test_a_definition_without_a_docstring_stays_with_its_comment() -> None:
    assert shown("# why\ndef f():\n    return 1\n") == [("why", "def f():\n    return 1\n")]


def test_a_comment_above_a_documented_definition_has_a_row_of_its_own() -> None:
    text = '# why\ndef f():\n    r"""Doc."""\n    return 1\n'
    assert shown(text) == [("why", ""), ("Doc.", "def f():\n    return 1\n")]


def test_a_blank_line_or_another_indentation_ends_a_run_of_comments() -> None:
    text = "# one\n\n# two\nif x:\n    # three\n# four\n    y = 1\n"
    assert [words for words, _ in shown(text)] == ["one", "two", "three", "four"]


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
    text = 'x = 1\ndef f():\n    r"""\n    ## F\n\n      indented\n    """\n'
    row = list(rows(parse(text)))[1]
    assert row.note.first == 3
    assert row.note.texts == ("", "## F", "", "  indented", "")


def test_only_one_blank_is_taken_from_a_comment() -> None:
    assert [words for words, _ in shown("#   list\nx = 1\n")] == ["list"]
    assert list(rows(parse("#   list\n")))[0].note.texts == ("  list",)


def test_notes_inside_brackets_cut_the_expression() -> None:
    text = "x = [\n    # one\n    1,\n    # two\n    2,\n]\n"
    assert shown(text) == [("", "x = [\n"), ("one", "    1,\n"), ("two", "    2,\n]\n")]


def test_blank_lines_between_lines_of_code_are_kept_and_those_around_it_are_not() -> None:
    assert shown("# one\n\nx = 1\n\ny = 2\n\n") == [("one", "x = 1\n\ny = 2\n")]
