r"""Docstrings of other styles become Markdown, line by line."""

import logging
import re
from pathlib import Path
from textwrap import dedent

import griffe
import pytest
from markdown_it import MarkdownIt

from literate.reading.docstrings import as_markdown
from literate.reading.notes import Note
from literate.reading.rows import rows
from literate.reading.source import parse, read
from tests.literate.projects import ROOT

GOOGLE = """
    Put things together.

    Args:
        first: the one that
            comes first.
        second (dict[str, int], *optional*): a
            table.

            - of lists
        **others: passed on
    Returns:
        int: how many.

        They are counted.
    Raises:
        ValueError: if there are none.
    Example:

        >>> f(1)
        2
"""
NUMPY = """
    Put things together.

    Parameters
    ----------
    first, second : array_like of shape (n,)
        Both.
    third
        Without a type.

    Returns
    -------
    total : int
        How many.

    See Also
    --------
    other_function : Another one.

    Notes
    -----
    They are counted.
"""
SPHINX = """
    Put things together.

    :param first: the one that
        comes first
    :param int second: a number
    :type first: str
    :returns: how many
    :rtype: int
    :raises ValueError: if there are none
    They are counted.
"""


def _texts(docstring: str) -> list[str]:
    return dedent(docstring).strip().split("\n")


def _shown(docstring: str) -> str:
    r"""The Markdown without empty lines."""
    lines = (line.text for line in as_markdown(_texts(docstring)))
    return "\n".join(line for line in lines if line.strip())


def test_sections_of_google_become_lists() -> None:
    expected = r"""
        Put things together.
        **Args**
        * `first`: the one that
            comes first.
        * `second` (*dict[str, int], optional*): a
            table.
            - of lists
        * `**others`: passed on
        **Returns**
        * *int*: how many.
            They are counted.
        **Raises**
        * *ValueError*: if there are none.
        **Example**
        ```pycon
        >>> f(1)
        2
        ```
    """
    assert _shown(GOOGLE) == dedent(expected).strip()


def test_sections_of_numpy_become_lists() -> None:
    expected = r"""
        Put things together.
        **Parameters**
        * `first`, `second` (*array\_like of shape (n,)*):
            Both.
        * `third`:
            Without a type.
        **Returns**
        * *total* (*int*):
            How many.
        **See Also**
        * `other_function`: Another one.
        **Notes**
        They are counted.
    """
    assert _shown(NUMPY) == dedent(expected).strip()


def test_fields_of_sphinx_become_lists() -> None:
    expected = """
        Put things together.
        **Arguments**
        * `first` (*str*): the one that
            comes first
        * `second` (*int*): a number
        **Returns**
        * *int*: how many
        **Raises**
        * *ValueError*: if there are none
            They are counted.
    """
    assert _shown(SPHINX).replace("    They", "    They") == dedent(expected).strip()


@pytest.mark.parametrize(
    ("docstring", "style"), [(GOOGLE, "google"), (NUMPY, "numpy"), (SPHINX, "sphinx")]
)
def test_arguments_are_those_that_another_parser_finds(docstring: str, style: str) -> None:
    logging.disable(logging.WARNING)
    text = "\n".join(_texts(docstring))
    sections = griffe.parse(griffe.Docstring(text), griffe.Parser(style))
    expected = [
        argument.name
        for section in sections
        if section.kind is griffe.DocstringSectionKind.parameters
        for argument in section.value
    ]
    arguments = _shown(docstring).partition("**Returns**")[0]
    heads = re.findall(r"(?m)^\* ((?:`[*\w]+`(?:, )?)+)", arguments)
    assert expected
    assert [name for head in heads for name in re.findall(r"`([*\w]+)`", head)] == expected


@pytest.mark.parametrize("docstring", [GOOGLE, NUMPY, SPHINX])
def test_each_line_knows_where_it_comes_from(docstring: str) -> None:
    texts = _texts(docstring)
    lines = as_markdown(texts)
    words = [(word, line.at) for line in lines for word in re.findall(r"\b[a-z]{4,}\b", line.text)]
    assert [at for _, at in words] == sorted(at for _, at in words)
    # A type joins its argument, and a session gets a name.
    moved = {"type", "pycon", "rtype", "param", "returns", "raises"}
    there = [(word, at) for word, at in words if word not in moved]
    assert there
    assert all(word in texts[at] for word, at in there)


def test_a_problem_in_a_list_has_its_line_in_the_file() -> None:
    source = parse(
        'def f(first):\n    """One.\n\n    Args:\n        first: one\n            `b`\n    """\n'
    )
    note = next(row.note for row in rows(source) if row.note)
    spans = [span for span in note.parsed.spans if span.kind == "code"]
    assert [span.line for span in spans] == [5, 6]


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        (
            ":class:`~pkg.mod.Name`\\s and :math:`a_i` in :pep:`8`",
            "`Name`s and $a_i$ in [PEP 8](https://peps.python.org/pep-0008/)",
        ),
        (
            ":rfc:`2119`, see https://a.example/b_c. (https://a.example/d)",
            "[RFC 2119](https://datatracker.ietf.org/doc/html/rfc2119), see "
            r"[https://a.example/b\_c](https://a.example/b_c). "
            "([https://a.example/d](https://a.example/d))",
        ),
        (
            "see `the site <https://a.b/c>`_ and ``x`` [1]_",
            r"see [the site](https://a.b/c) and ``x`` [1]",
        ),
        (".. note::\n   Look.", '!!! note "Note"\n    Look.'),
        (".. Danger:: Look.", '!!! danger "Danger"\n    Look.'),
        # As MyST writes directives.
        ("```{figure} a/b.png\n:alt: A b\n\nOf b.\n```\nText", "![A b](a/b.png)\nOf b.\nText"),
        ("* one\n\n  ~~~{note}\n  Look.", '* one\n    !!! note "Note"\n        Look.'),
        ("```{custom} a\nb\n```", "```{custom} a\nb\n```"),
        (
            ".. attribute:: ON\n   :type: int\n\n   It is.\n\n.. py:function:: f(x)\n\n   Of x.",
            "* **`ON`** (`int`):\n    It is.\n* **`f(x)`**:\n    Of x.",
        ),
        (".. data:: X\n\nText", "* **`X`**\nText"),
        (
            ".. class:: A\n\n   .. method:: f()\n\n      Does.",
            "* **`A`**:\n    * **`f()`**:\n        Does.",
        ),
        (".. c:function:: f(x)", "```\n.. c:function:: f(x)\n```"),
        (":param x: one\n:return:\n:raises:", "**Arguments**\n* `x`: one"),
        (".. versionadded:: 1.2", "*New in version 1.2.*"),
        (".. math::\n\n    a &= b", "$$\n\\begin{aligned}\na &= b\n\\end{aligned}\n$$"),
        ("So::\n\n    x = 1\n\nend", "So:\n```python\nx = 1\n```\nend"),
        ("=====\nTitle\n=====\n\nText", "# Title\nText"),
        ("Text\n\n# A remark\n>>> f(1)\n2", "Text\n```pycon\n# A remark\n>>> f(1)\n2\n```"),
        ("# A title\n\n>>> f(1)", "# A title\n```pycon\n>>> f(1)\n```"),
        ("Part\n~~~~\n\nText", "## Part\nText"),
        ("Do it:\n- one\n- two", "Do it:\n- one\n- two"),
        ("First:\n\n#. one\n#. two\n\n   #. inner", "First:\n1. one\n1. two\n    1. inner"),
        (".. rubric:: A\n\nb", "**A**\nb"),
        (
            ".. table:: A\n\n   ==  ==\n   1   2\n   ==  ==",
            "**A**\n|  |  |\n| --- | --- |\n| 1 | 2 |",
        ),
        (".. glossary::\n\n   a term\n      Is it.", "* **a term**:\n    Is it."),
        (
            "Returns\n-------\nint\n    A.\n\n.. versionadded:: 1.2\n\nstr\n",
            "**Returns**\n* *int*:\n    A.\n*New in version 1.2.*\n* *str*",
        ),
        (
            ".. container:: operations\n\n    .. describe:: x == y\n\n        Checks.",
            "* **`x == y`**:\n    Checks.",
        ),
        (".. contents:: All\n   :local:\n\n.. sectnum::\n\n.. index:: b\n\nText", "Text"),
        (".. currentmodule:: a\n\n.. autosummary::\n   :toctree:\n\n   ~a.b", "* `a.b`"),
        ("Part of this\n~~~~~~\n\nText", "## Part of this\nText"),
        ("Part of this\n.....\n\nText", "Part of this\n.....\nText"),
        ("X.\n\n- # what?\n- c", "X.\n- \\# what?\n- c"),
        ("Returns\n-------\nL[:class:`O`]:\n    A", "**Returns**\n* L[`O`]:\n    A"),
        (":type: :class:`O`", "**Type**\n* `O`"),
        ("Of `a.b`` and ``c()``` or ``d``.", "Of `a.b` and ``c()`` or ``d``."),
        ("a :attr:`b`::attr:`c`, :class: `D` :attr:``e``", "a `b`:`c`, `D` ``e``"),
        (".. custom:: a\n\n    b", "```\n.. custom:: a\n    b\n```"),
        (".. [1] Somebody,\n   2001.", "[1] Somebody,\n2001."),
        ("In order:\n\n    - ``a``\n\n      - b\n\nend", "In order:\n- ``a``\n    - b\nend"),
        (":raises: `E` -- if so", "**Raises**\n* `E` -- if so"),
        (":raises:\n    `E` -- if\n    so", "**Raises**\n* `E` -- if\n    so"),
    ],
)
def test_marks_of_sphinx_become_those_of_markdown(written: str, shown: str) -> None:
    lines = (line.text for line in as_markdown(written.split("\n")))
    assert "\n".join(line for line in lines if line.strip()) == shown


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("1. One:\n    A. in\n    B. and\n       on\n2. Two",
         "1. One:\n    * A. in\n    * B. and\n        on\n2. Two"),
        ("So\n\n(a) one\n\n    more\n\n(b) two", "So\n* (a) one\n    more\n* (b) two"),
        ("i) one\nii) two\n\nIII. three", "* i) one\n* ii) two\nIII. three"),
        ("A. Einstein\nC. Darwin\na. b) c", "A. Einstein\nC. Darwin\na. b) c"),
        ("As::\n\n    A. x!\n    B. y", "As:\n```\nA. x!\nB. y\n```"),
    ],
)  # fmt: skip
def test_a_list_may_count_with_letters(written: str, shown: str) -> None:
    lines = (line.text for line in as_markdown(written.split("\n")))
    assert "\n".join(line for line in lines if line.strip()) == shown


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("error`. See `a.b` or\n``c``d`` and `e`.", "error\\`. See `a.b` or\n``c``d`` and `e`."),
        ("See `a and `b`, then :meth:`c`.", "See \\`a and `b`, then `c`."),
        (":param x: On A`,\n    with `b` (:func:`c`)\n:param y: `d`",
         "**Arguments**\n* `x`: On A\\`,\n    with `b` (`c`)\n* `y`: `d`"),
        ("One`.\n\nSee :class:`b`.", "One\\`.\nSee `b`."),
        # Pairs are pairs, whatever stands around them.
        ("`a`s and ` `b and x`y`", "`a`s and ` `b and x`y`"),
        ("Run::\n\n    echo `date\n", "Run:\n```\necho `date\n```"),
        # Code may end with a backslash, and outside of code it makes a sign of a backtick.
        (r"The path `C:\` and `\`.", r"The path `C:\` and `\`."),
        (r"Either \` or `x`.", r"Either \` or `x`."),
    ],
)  # fmt: skip
def test_a_backtick_too_many_is_no_mark(written: str, shown: str) -> None:
    lines = (line.text for line in as_markdown(written.split("\n")))
    assert "\n".join(line for line in lines if line.strip()) == shown


BRACKETS = "https://a.example/Foo_(bar)"


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        (f"{BRACKETS}.", rf"[https://a.example/Foo\_(bar)]({BRACKETS})."),
        (f"({BRACKETS})", rf"([https://a.example/Foo\_(bar)]({BRACKETS}))"),
        ("*https://a.b/c*, x", "*[https://a.b/c](https://a.b/c)*, x"),
        ("https://a.b/c_?! (so)", "[https://a.b/c](https://a.b/c)_?! (so)"),
        ("https://a.b/c(d", "[https://a.b/c](https://a.b/c)(d"),
        # The end of the line inside of a link goes where a blank is.
        ("See `c\n<https://a.b>`_.", "See \n[c](https://a.b)."),
        ("See `c\n<https://a.b>`_ x", "See [c](https://a.b)\n x"),
        ("* x\n\n    https://a.b", "* x\n\n    [https://a.b](https://a.b)"),
        ('!!! note "N"\n\n    https://a.b', '!!! note "N"\n\n    [https://a.b](https://a.b)'),
    ],
)
def test_an_address_alone_ends_where_its_author_means(written: str, shown: str) -> None:
    assert "\n".join(line.text for line in as_markdown(written.split("\n"))) == shown


@pytest.mark.parametrize(
    "text",
    [
        "https://host/<name>, https://host/{name}/x and https://host/a<b>",
        "https:// and https://... and https://(x)",
        "[see https://a.b/c](https://a.b/d) and [https://a.b](<https://a.b/(c)>)",
        f"[https://a.b and\nmore]({BRACKETS} 'https://c.d')",
        # Code, as far in as it stands.
        "A licence\n\n    Its terms:\n        https://a.b/c\n\n    You may.",
    ],
)
def test_what_is_no_address_alone_stays(text: str) -> None:
    assert "\n".join(line.text for line in as_markdown(text.split("\n"))) == text


@pytest.mark.parametrize(
    "text",
    [
        "```\n>>> f(1)\nArgs:\n    x: y\n```",
        "`\\t` of `\\theta`, [a](b.md), `code`: text",
        "---\ntitle: Note\nArgs:\n    x: y\n---\n\nText",
        "A title\n-------\n\nText",
        "* `x` is one\n* `y` is two",
        "[x](https://a.example) <https://a.example> `https://a.example`\n\n[y]: https://a.example",
    ],
)
def test_markdown_stays_as_it_is(text: str) -> None:
    assert "\n".join(line.text for line in as_markdown(text.split("\n"))) == text


def test_no_note_of_ours_is_taken_for_another_style() -> None:
    changed = [
        path.name
        for path in sorted((ROOT / "labml_nn").rglob("*.py"))
        for row in rows(read(Path(path)))
        if row.note and any(text.startswith(("**Arg", "**Ret", "**Par")) for text in row.note.texts)
    ]
    assert changed == []


@pytest.mark.parametrize(
    ("docstring", "title"),
    [
        ("requests.api\n~~~~~~~~~~~~\n\nThe API.", "# requests.api"),
        ("\nA ``package``\n-------------\nText.", "# A ``package``"),
        ("Notes\n-----\nNo title.", "**Notes**"),
        ("A sentence that\n---\nis longer", "A sentence that"),
        ("No title.\n\nLater\n~~~~~\n", "No title."),
    ],
)
def test_what_the_docstring_of_a_module_begins_with_and_underlines_is_its_title(
    docstring: str, title: str
) -> None:
    lines = as_markdown(docstring.split("\n"), is_module=True)
    assert next(line.text for line in lines if not line.is_blank) == title


def test_what_stands_below_an_empty_line_in_an_entry_is_a_block_of_its_own() -> None:
    docstring = "Args:\n    a: see\n\n        | x | y |\n        | - | - |\n    b: and\n      more"
    texts = [line.text for line in as_markdown(docstring.split("\n"))]
    assert texts[2:5] == ["* `a`: see", "", "    | x | y |"]
    assert texts[-2:] == ["* `b`: and", "    more"]


@pytest.mark.parametrize(
    ("said", "given", "shown"),
    [
        ("As `The Docs`_ say.", ".. _the docs: https://a.b", "As [The Docs](https://a.b) say."),
        ("As `they\n  <docs_>`_ say.", ".. _docs: https://a.b", "As [they](https://a.b)\n say."),
        ("As the DTD_, `x`__ say.", ".. _DTD:", "As the DTD_, x say."),
        ("As the DTD_.", ".. _DTD:\n   https://a.b", "As the [DTD](https://a.b)."),
        ("`x`__ and `y`__", ".. __: https://a.b\n__ https://c.d", "[x](https://a.b) and [y](https://c.d)"),
        ("'x'__ and `y`__", "__ https://a.b\n__ https://c.d", "'x'__ and [y](https://a.b)\n\n[https://c.d](https://c.d)"),
        # Of an address that nobody gives, the words are left, and a name stays one.
        ("`no <docs_>`_, a_ and `b_`", ".. _other: https://a.b", "no, a_ and `b_`"),
    ],
)  # fmt: skip
def test_words_lead_to_the_address_that_stands_below(said: str, given: str, shown: str) -> None:
    texts = f":param x: {said}\n\n{given}".split("\n")
    made = as_markdown(texts)
    text = "\n".join(line.text for line in made).partition("* `x`: ")[2]
    assert re.sub(r"\n +", "\n ", text).strip() == shown
    # A target by itself is nothing to see.
    assert "a.b" not in text.replace("(https://a.b)", "")


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        (":by: A\n:license: B\n  or C\n\nEnd", "* **by**: A\n* **license**: B\n    or C\nEnd"),
        ("See\n\n  :a:\n    One.\n\n  :b: Two.", "See\n* **a**:\n    One.\n* **b**: Two."),
        ("One\n\n:meta private:\n\nTwo::", "One\nTwo::"),
        # An emoji, and a role.
        (":rocket: Fast::", ":rocket: Fast::"),
        (":class:`A` is\n:class:`B`", "`A` is\n`B`"),
        (":attribute x: one", "**Attributes**\n* `x`: one"),
    ],
)  # fmt: skip
def test_fields_of_any_name_are_a_list(written: str, shown: str) -> None:
    lines = (line.text for line in as_markdown(written.split("\n")))
    assert "\n".join(line for line in lines if line.strip()) == shown


def test_a_title_right_below_another_has_its_level() -> None:
    text = "One\n\nA\n====\nB\n----\nText\n\n----\nC\n----\nText\n\nD\n----"
    shown = [line.text for line in as_markdown(text.split("\n")) if line.text]
    assert shown == ["One", "## A", "### B", "Text", "#### C", "Text", "### D"]


def test_titles_have_levels_in_the_order_in_which_their_lines_come() -> None:
    text = "One\n===\n\nTwo\n...\n\nOne\n===\n\n---\nIn\n---\n\nTwo\n...\n\n>>> f(1)\nA\n---\n"
    made = [line.text for line in as_markdown(text.split("\n"))]
    titles = [line for line in made if line.startswith("#")]
    assert titles == ["## One", "### Two", "## One", "#### In", "### Two"]
    # That of a module is the title of the page.
    first, *others = as_markdown(text.split("\n"), is_module=True)
    assert first.text == "# One" and "## Two" in [line.text for line in others]


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("Call arguments:\n    x: an x\n    y: a y", "**Call arguments**\n* `x`: an x\n* `y`: a y"),
        ("Input shape:\n    All of it, a\n    tensor.", "**Input shape**\nAll of it, a\ntensor."),
        # Sentences that announce something.
        ("One of:\n    - a\n    - b", "One of:\n- a\n- b"),
        ("It is\nOne of:\n    a or b", "It is\nOne of:\n    a or b"),
        ("Say it:\n\n    f(1)", "Say it:\n    f(1)"),
    ],
)
def test_sections_of_google_can_have_names_of_their_own(written: str, shown: str) -> None:
    lines = (line.text for line in as_markdown(written.split("\n")))
    assert "\n".join(line for line in lines if line.strip()) == shown


def test_a_directive_may_have_a_blank_before_its_colons() -> None:
    made = [line.text for line in as_markdown([".. math ::", "", "    a^2"])]
    assert made == ["$$", "a^2", "$$"]
    assert code_of(".. code ::\n\n    x = 1") == [(0, "x = 1")]


def test_code_that_a_field_announces_is_code() -> None:
    text = ":param x: an x, which\n  is in::\n\n      f(x)\n:param y: one"
    assert code_of(text) == [(1, "f(x)")]
    assert [line.text for line in as_markdown("As::\n\n>>> f(1)".split("\n"))][0] == "As:"
    lazy = ":param x: an x, which\nis in\n\n    another."
    assert code_of(lazy) == []


def test_a_name_without_a_role_can_have_words_of_its_own() -> None:
    text = "As `get_bytes(1) <get_bytes>`, `a < b` and `x <https://a.b>`_ say."
    (line,) = as_markdown([text])
    assert line.text == "As `get_bytes(1)`, `a < b` and [x](https://a.b) say."
    (line,) = as_markdown(["A `message <.Message>`."])
    assert line.text == "A `message`."


@pytest.mark.parametrize(
    ("role", "shown"),
    [
        (":class:`~a.b.C`", "`C`"),
        (":py:meth:`.C.f`", "`C.f`"),
        (":meth:`~.C.f`", "`f`"),
        (":func:`some words <a.f>`", "`some words`"),
        (":func:`!a.f`", "`a.f`"),
        (":ref:`words <a.b>`", "words"),
        (":doc:`some words </a/b>`", "some words"),
        (":py:classmethod::`~a.C.f`", "`f`"),
        (":py:ref:meth:`a.f`", "`a.f`"),
    ],
)
def test_a_role_shows_what_sphinx_shows(role: str, shown: str) -> None:
    (line,) = as_markdown([f"See {role}."])
    assert line.text == f"See {shown}."


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("[](`~a.b.C`)s", "`C`s"),
        ("[some\nwords](`a.f()`)", "`some\nwords`"),
        ("[](:py:func:`~a.f`) and [it](:ref:`label`)", "`f` and it"),
        ("[`C`][a.b.C], [`a.b.C`][] or [a.b][]", "`C`, `a.b.C` or `a.b`"),
        ("[words][a.b.C]", "`words`"),
        ("``[x](`a`)``, `x[a][b.c]`, \\[x][a.b] [x][a.org]", None),
        (">>> [a][b.c]", "```pycon\n>>> [a][b.c]\n```"),
    ],
)
def test_a_link_may_lead_to_a_name(written: str, shown: str | None) -> None:
    made = "\n".join(line.text for line in as_markdown(written.split("\n")))
    assert made == (written if shown is None else shown)


def code_of(text: str) -> list[tuple[int, str]]:
    r"""Each block of code of a text, and how many items of lists it stands in."""
    found = []
    markup = "\n".join(line.text for line in as_markdown(text.split("\n")))
    depth = 0
    for token in MarkdownIt("commonmark").parse(markup):
        depth += token.nesting * (token.type in ("list_item_open", "list_item_close"))
        found += [(depth, token.content.strip())] if token.type in ("fence", "code_block") else []
    return found


def test_code_that_an_item_announces_is_inside_that_item() -> None:
    items = (
        "- one::\n\n      x = 1\n\n  more\n\n- two\n  goes on::\n\n    y = 2\n\nend::\n\n  z = 3"
    )
    assert code_of(items) == [(1, "x = 1"), (1, "y = 2"), (0, "z = 3")]
    deep = "1. a\n\n   - b::\n\n         x = 1\n\n     >>> f(1)\n     2\n\n2. c::\n\n     y = 2"
    assert code_of(deep) == [(2, "x = 1"), (2, ">>> f(1)\n2"), (1, "y = 2")]


@pytest.mark.parametrize("title", ["Args", "Inputs"])
def test_two_colons_behind_what_is_said_of_an_argument_announce_no_code(title: str) -> None:
    text = f"{title}:\n    x: the x\n    y (int): the y::\n        goes on\n    w: the w"
    assert code_of(text) == []
    assert code_of("Usage::\n    f(1)") == [(0, "f(1)")]


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("One [#]_ and [1]_.\n\n.. [#] two\n.. [1] one", "One [2] and [1].\n[2] two\n[1] one"),
        ("See [#n]_, [CIT-02]_.\n\n.. [#n] named", "See [1], [CIT-02].\n[1] named"),
        ("H\\ :sub:`2`\\ O is :sup:`a B`", r"H₂O is ${}^{\text{a B}}$"),
        ("re\\ ``Struct``\\ ured", "re``Struct``ured"),
        ("a |b| and |c|\n\n.. |b| replace:: some\n   words", "a some words and |c|"),
        ("a |b|\n\n.. |c| replace:: d", "a |b|\n.. |c| replace:: d"),
        ("Text\n\n| one\n| two\n  more\n| three", "Text\none  \ntwo\nmore  \nthree"),
        ("Text:\n\n    | one\n    | two", "Text:\n> one  \n> two"),
        (
            "Text\n\n| a | b |\n| - | - |\n\nof P(A\n| B)::",
            "Text\n| a | b |\n| - | - |\nof P(A\n| B)::",
        ),
    ],
)
def test_footnotes_substitutions_and_lines_are_set(written: str, shown: str) -> None:
    lines = (line.text for line in as_markdown(written.split("\n")))
    assert "\n".join(line for line in lines if line.strip()) == shown


TABLE = "| A | B |\n| --- | --- |\n"


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        # A row that goes on, and an empty line between rows.
        (
            "==  ===\nA   B\n==  ===\n1   one\n    ``b``\n\n2\n==  ===",
            f"{TABLE}| 1 | one ``b`` |\n| 2 |  |",
        ),
        ("==  ==\n1   2\n==  ==", "|  |  |\n| --- | --- |\n| 1 | 2 |"),
        ("+-+--+\n|A|B |\n+=+==+\n|1|b |\n| |c |\n+-+--+", f"{TABLE}| 1 | b c |"),
        (
            "- x\n\n  ==  ==\n  1   2\n  ==  ==",
            "- x\n    |  |  |\n    | --- | --- |\n    | 1 | 2 |",
        ),
    ],
)
def test_drawn_tables_are_set(written: str, shown: str) -> None:
    assert _shown(written) == shown


@pytest.mark.parametrize(
    "drawn",
    [
        # Cells of several columns or rows, a list in a cell, and a bar.
        "==  ==\na over\n==  ==\n1   2\n==  ==",
        "==  ==\na\n------\n1   2\n==  ==",
        "+--+--+\n|a |b |\n+--+--+\n|c    |\n+--+--+",
        "+--+--+\n|a |b |\n+  +--+\n|  |c |\n+--+--+",
        "==  ===\n1   - a\n    - b\n==  ===",
        "==  =====\n1   a | b\n==  =====",
    ],
)
def test_a_table_that_markdown_cannot_say_stays_as_it_is_drawn(drawn: str) -> None:
    assert _shown(f"Text\n\n{drawn}\n\nText") == f"Text\n```\n{drawn}\n```\nText"


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        (
            "a term\n  What it\n  is.\n\n  More.\n\nb : of a_kind\n  is it",
            "* **a term**:\n    What it\n    is.\n    More.\n* **b** (*of a\\_kind*):\n    is it",
        ),
        ("``code``\n  for one\n\nText", "* ``code``:\n    for one\nText"),
        ("* x\n\n  *one*\n    is in", "* x\n    * *one*:\n        is in"),
        (
            "-q, --quiet  Say\n             less.\n--to=FILE\n    The file.",
            "* `-q, --quiet`: Say\n    less.\n* `--to=FILE`:\n    The file.",
        ),
        (
            "options:\n  -h, --help  Say\n  --log {a,b}\n              How much.\n\nText",
            "options:\n* `-h, --help`: Say\n* `--log {a,b}`:\n    How much.\nText",
        ),
        ("options:\n    -h, --help  Say", "options:\n* `-h, --help`: Say"),
        ("So it is\n    - as it is said", "So it is\n- as it is said"),
    ],
)
def test_terms_and_options_are_lists(written: str, shown: str) -> None:
    assert _shown(written) == shown


def test_what_follows_a_list_that_is_indented_is_no_part_of_it() -> None:
    made = as_markdown("See\n\n  -q, --quiet  Say\n\n  One.\n\n    x\n\n  Two.".split("\n"))
    assert [line.text for line in made if not line.is_blank] == [
        "See", "* `-q, --quiet`: Say", "One.", "  x", "Two.",
    ]  # fmt: skip


@pytest.mark.parametrize(
    "text",
    [
        "The first line of this one\n    goes on.",
        "It returns the\n    Hessian.",
        "So it is (as\n    Python says).",
        "x = f(a,\n      b)",
        "The loss of it is x\n    - log y",
        "Then get\n $$x$$",
        "if x\n    Yes.",
        "- 5 apples\n  are it, -2  too",
    ],
)
def test_what_only_looks_like_a_term_is_text(text: str) -> None:
    assert _shown(text) == text


def test_what_numpy_calls_worth_a_look_is_a_list_of_names() -> None:
    lines = [
        "See Also", "--------",
        "f, :func:`~a.g` : They do", "    things.", "is_a,", "is_b : Or this.", "h",
        "numpy.fft", "    Below.",
    ]  # fmt: skip
    made = [line.text for line in as_markdown(lines) if not line.is_blank]
    assert made == [
        "**See Also**",
        "* `f`, `g`: They do", "    things.", "* `is_a`, `is_b`:", "    Or this.", "* `h`",
        "* `numpy.fft`:", "    Below.",
    ]  # fmt: skip
    text = ["See Also", "--------", "The other page, and this one."]
    assert [line.text for line in as_markdown(text)][-1] == text[-1]


def test_comments_in_a_docstring_are_no_titles() -> None:
    text = (
        "# Title\nMake a graph\n#   with roots\n\n# new\n# root\n\n# Alone\n\n```\nx\n# code\n```\n"
    )
    made = tuple(line.text for line in as_markdown(text.split("\n")))
    note = Note("docstring", 1, made)
    assert [block.text for block in note.parsed.blocks if block.level] == ["Title", "Alone"]
    assert "# code" in made
    quoted = (
        "Of it\n\n# one\n#\n# two\n\n# Or so\ndef f(x):\n    pass\n\n# Title\nof **bold** text\n"
    )
    made = tuple(line.text for line in as_markdown(quoted.split("\n")))
    blocks = Note("docstring", 1, made).parsed.blocks
    assert [block.text for block in blocks if block.level] == ["Title"]
    # In the docstring of a definition, they need something else of Markdown beside them.
    data = "Read it.\n\n# HOMER\nA  1  2\n\n# Arguments\n    x: a\n\n# Two\n\nB  1  2\n".split("\n")
    for is_module, titles in (False, ["Arguments"]), (True, ["HOMER", "Arguments", "Two"]):
        made = tuple(line.text for line in as_markdown(data, is_module))
        blocks = Note("docstring", 1, made).parsed.blocks
        assert [block.text for block in blocks if block.level] == titles
    # None has no words.
    made = tuple(line.text for line in as_markdown("One.\n\n#\n\n##\n\n## Two".split("\n")))
    blocks = Note("docstring", 1, made).parsed.blocks
    assert [block.text for block in blocks if block.level] == ["Two"]
    # Whoever underlines the titles of sections has no others.
    sections = "# A\n\nNotes\n-----\nText.\n\n# By name:\n\n>>> f(1)\n\nDeep\n~~~~\n"
    texts = [line.text for line in as_markdown(sections.split("\n"))]
    assert {"# A", r"\# By name:", "### Deep"} <= {*texts}


@pytest.mark.parametrize(
    ("style", "sections"),
    [
        ("", ["Args", "Returns", "Arguments", "Notes"]),
        ("google", ["Args", "Returns"]),
        ("numpy", ["Notes"]),
        ("sphinx", ["Arguments"]),
        ("markdown", []),
    ],
)
def test_a_style_that_is_said_is_the_only_one(style: str, sections: list[str]) -> None:
    text = "Args:\n    x: y\n\nReturns:\n    One.\n\n:param z: one\n\nNotes\n-----\nText."
    made = "\n".join(line.text for line in as_markdown(text.split("\n"), style=style))
    assert re.findall(r"(?m)^\*\*(\w+)\*\*$", made) == sections


@pytest.mark.parametrize("announced", ["Example: ::", "Example::"])
def test_two_colons_behind_a_blank_are_not_shown(announced: str) -> None:
    made = [line.text for line in as_markdown(f"{announced}\n\n    f(1)\n".split("\n"))]
    assert made[0] == "Example:"


def test_what_is_to_be_done_is_no_title_of_a_module() -> None:
    texts = "Text\n\n# TODO: more\n\nText\n\n# A part\n\nText\n\n# The end".split("\n")
    shown = [line.text for line in as_markdown(texts, is_module=True) if "#" in line.text]
    assert shown == ["\\# TODO: more", "# A part", "\\# The end"]
    assert as_markdown(["", "# Title"], is_module=True)[1].text == "# Title"
