r"""Fields and roles of Sphinx that their authors have nearly written."""

import pytest

from literate.reading.docstrings import as_markdown
from literate.reading.rows import rows
from literate.reading.rules import problems
from literate.reading.source import parse


@pytest.mark.parametrize(
    ("written", "shown", "told"),
    [
        # A sign is missing, or the name is misspelt.
        (":raises ValueError\n\n:rtype int", "**Raises** * *ValueError* **Returns** * *int*", 2),
        (":rtype int\n:raises a.B, C", "**Returns** * *int* **Raises** * *a.B*, *C*", 2),
        (":param x\n:param y: why", "**Arguments** * `x` * `y`: why", 1),
        (":returns the sum\n  of all", "**Returns** the sum of all", 1),
        (":params int x: how", "**Arguments** * `x` (*int*): how", 1),
        (":retruns: how", "**Returns** how", 1),
        (":returns:: how\n:raises:: A", "**Returns** how **Raises** * A", 2),
        # So is a directive, which ends with two colons and stands between blanks.
        (".. math:\n\n    x", "$$ x $$", 1),
        ("..versionadded:: 2.0", "*New in version 2.0.*", 1),
        (".. versionadded: 2.0", "*New in version 2.0.*", 1),
        (".. note::Look.\n.. note:::\n    So.", '!!! note "Note" Look. !!! note "Note" So.', 2),
        (".. own: Look.\n.. math:: x", ".. own: Look. $$ x $$", 0),
        (":param: one\n:type: A\n:param b: two", "**Arguments** * *A*: one * `b`: two", 1),
        # What isn't sure stays, and is told.
        (":param x the first", ":param x the first", 1),
        (":raises an error if not", ":raises an error if not", 1),
        # Several names, and a type that goes on.
        (":raises A, B: why", "**Raises** * *A*, *B*: why", 0),
        (":param list[int, str] x: why", "**Arguments** * `x` (*list[int, str]*): why", 0),
        (":param A |\n    b.C x:\n        why", "**Arguments** * `x` (*A | b.C*): why", 0),
        (":param A|b.C\n    x: why", "**Arguments** * `x` (*A|b.C*): why", 0),
        # Other fields, signs, roles and sentences are what they are.
        (":author: A\n:keywords: b", "* **author**: A * **keywords**: b", 0),
        (":param x: one\n:own thing: two", "**Arguments** * `x`: one * **own thing**: two", 0),
        (
            ":param x: one\n:meta private:\n:rtype: y",
            "**Arguments** * `x`: one **Returns** * *y*",
            0,
        ),
        (":returns: a\n:class:`b`", "**Returns** a `b`", 0),
        ("Smile :return home\nand :params x: go", "Smile :return home and :params x: go", 0),
        ("```\n:raises A\n```", "``` :raises A ```", 0),
    ],
)
def test_a_field_is_read_as_what_it_nearly_is(written: str, shown: str, told: int) -> None:
    lines = [line.text for line in as_markdown(written.split("\n"))]
    assert " ".join(" ".join(lines).split()) == shown
    text = f'def f():\n    """One.\n\n{written}\n"""\n'
    assert len([*problems(parse(text, "a.py"), {})]) == told


def test_what_is_told_of_a_field_has_its_line_and_the_remedy() -> None:
    text = 'def f():\n    """One.\n\n    :raises A, B\n    :parms x: one\n    """\n'
    found = [(one.line, one.sentence) for one in problems(parse(text, "a.py"), {})]
    assert found == [
        (4, "“:raises A, B” lacks a colon; write “:raises A, B:”."),
        (5, "“:parms” is no field of Sphinx; write “:param x:”."),
    ]


def test_an_entry_of_numpy_with_two_colons_is_one() -> None:
    inside = "Parameters\n    ----------\n    ax:: Axes[a]\n        B::"
    text = f'def f(ax):\n    """One.\n\n    {inside}\n    """\n'
    (row,) = rows(parse(text))
    assert row.note and "* `ax` (*Axes[a]*):" in row.note.texts
    (found,) = problems(parse(text, "a.py"), {})
    assert found.line == 6
    assert found.sentence == "“ax::” has a colon too many; write “ax : Axes[a]”."


@pytest.mark.parametrize(
    ("role", "meant"),
    [
        (":py:classmethod::`a`", ":py:meth:"),
        (":py:ref:meth:`a`", ":py:meth:"),
        (":function:`a`", ":func:"),
        (":class::`a`", ":class:"),
        (":py:class:`a`", ""),
        (":external:py:class:`a`", ""),
        (":custom:`a`", ""),
        ("``:function:`a` ``", ""),
    ],
)
def test_a_role_that_nobody_knows_is_told(role: str, meant: str) -> None:
    text = f'def f():\n    """One.\n\n    Two {role}.\n    """\n'
    found = [(one.line, one.sentence) for one in problems(parse(text, "a.py"), {})]
    said = role.partition("`")[0]
    assert found == ([(4, f"“{said}” is no role of Sphinx; write “{meant}”.")] if meant else [])


@pytest.mark.parametrize(("role", "what"), [(": `a`", "a blank"), (":``a``", "two backticks")])
def test_a_role_that_stands_apart_is_told(role: str, what: str) -> None:
    text = f'def f():\n    """One.\n\n    Two :attr{role}.\n    """\n'
    (told,) = (str(one) for one in problems(parse(text, "a.py"), {}))
    assert told == (
        f"a.py:4: “:attr:” has {what} before its text, and is no role so; write “:attr:`…`”."
    )


def test_a_role_without_its_last_backtick_is_told() -> None:
    text = 'def f():\n    """Written by :meth:`dump. Read by :py:class:`a.B`, it is.\n"""\n'
    (told,) = (str(one) for one in problems(parse(text, "a.py"), {}))
    assert told == "a.py:2: “:meth:” has no backtick behind its text; close it."
    made = " ".join(line.text for line in as_markdown(text.split('"""')[1].split("\n")))
    assert "`a.B`" in made


def test_a_backtick_too_many_is_told() -> None:
    text = 'def f():\n    """Of `x`` and\n    ``y```, ``z``.\n    """\n'
    assert [(one.line, one.sentence) for one in problems(parse(text, "a.py"), {})] == [
        (2, "“`x``” has a backtick too many."),
        (3, "“``y```” has a backtick too many."),
    ]
