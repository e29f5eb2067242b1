r"""The marks of epydoc, in docstrings and in comments."""

from dataclasses import replace

import pytest

from literate.reading.docstrings import as_markdown
from literate.reading.rows import rows
from literate.reading.source import parse


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("C{None}, 2-L{tuple} of L{int}s", "``None``, 2-`tuple` of `int`s"),
        ("C{{'a': [L{b}]}} and I{so B{bold}}", "``{'a': [b]}`` and *so **bold***"),
        ("X{a_b}, M{a*b}, C{0} of (E{1})", r"*a\_b*, *a\*b*, ``0`` of (1)"),
        ("E{lb}E{@}E{rb} S{alpha} S{->}", "{@} α →"),
        ("U{a page<http://a.b/c>}, U{d.e}", "[a page](http://a.b/c), [d.e](http://d.e)"),
        ("L{an idea}, G{classtree A}", "``an idea``, ``classtree A``"),
        # No marks: code, formulas, patterns, and what has no end.
        ("`C{x}`, ``L{x}`` and $B{x}$", "`C{x}`, ``L{x}`` and $B{x}$"),
        (r"[A-C]{3} aC{3} \L{x} E{X} L{x", r"[A-C]{3} aC{3} \L{x} E{X} L{x"),
        ("So::\n\n    C{x}", "So: ``` C{x} ```"),
        # Fields, and what they announce.
        ("@see: L{f}\n@since: 1.2", "* **see**: `f` * **since**: 1.2"),
        ("@type x: L{int} or C{None}", "**Arguments** * `x` (`int` or ``None``)"),
        ("@return: So\nis::\n\n    C{x}", "**Returns** So is: ``` C{x} ```"),
        ("TODO\n====\n - C{x}\n\n@see: y", "**TODO** - ``x`` <!-- --> * **see**: y"),
    ],
)
def test_marks_are_those_of_markdown(written: str, shown: str) -> None:
    lines = (line.text for line in as_markdown(written.split("\n")))
    assert " ".join(" ".join(lines).split()) == shown


def test_a_link_is_a_name_with_its_line_though_it_goes_on_in_the_next() -> None:
    written = "See L{one of\n    many <a.b.\n    C>}\nor L{d.E<a.d.E>}, L{os.path}."
    (row,) = rows(parse(f'"""{written}\n"""\n'))
    assert row.note
    assert row.note.texts == ("See `one", "of", "many`", "or `d.E`, `os.path`.", "")
    assert set(row.note.meant) == {
        (1, "one of many", ".a.b.C"),
        (4, "d.E", ".a.d.E"),
        (4, "os.path", "python:os.path"),
    }


def test_a_name_that_ends_its_line_leaves_no_empty_one() -> None:
    lines = as_markdown("It is :class:`~a.\nB`\nor none.".split("\n"))
    assert [line.text.strip() for line in lines] == ["It is", "`B`", "or none."]


def test_code_is_no_target_of_a_link() -> None:
    (row,) = rows(parse('"""Frames:\n\n  - [0]: C{f}\n"""\n'))
    assert row.note and not row.note.parsed.targets
    assert [span.content for span in row.note.parsed.spans if span.kind == "code"] == ["f"]


def test_roles_in_comments_are_set() -> None:
    text = "# Of :class:`~a.B` and L{c}:\n#\n#     f(L{x})\nx = 1\n# f('L{x}')\ny = 2\n"
    first, second = rows(parse(text))
    assert first.note and second.note
    assert first.note.texts == ("Of `B` and `c`:", "", "    f(L{x})")
    assert first.note.name(1, "B") == "a.B"
    assert second.note.texts == ("f('L{x}')",)
    markdown = replace(parse("# Of :class:`B`\nx = 1\n"), style="markdown")
    (as_it_is,) = rows(markdown)
    assert as_it_is.note and as_it_is.note.texts == ("Of :class:`B`",)
