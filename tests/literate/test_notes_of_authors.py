r"""Docstrings of other styles, on the pages of a built site."""

import re
from pathlib import Path

import pytest

from tests.literate.projects import MKDOCS, SETTINGS, run, succeed, write
from tests.literate.shown import Shown

STYLES = '''r"""# Styles

RST :math:`\\alpha^2`, :func:`f`, :py:class:`~pkg.m.K`, ``code``, `plain`_ and |sub|.

>>> f(1)
2
>>> for i in range(2):
...     print(i)
0
1

.. math:: a = b^2

.. code-block:: python

    x = 1

.. deprecated:: 1.0
   Use g.

.. [1] Reference text. See [1]_.

========  =====
Name      Value
========  =====
a         1
========  =====

@param x: epytext
"""


def f(x: int) -> int:
    r"""One line.

    Args:
        x: the first.
        y: the second, which
            goes on.

            - a list item
            - another

    Returns:
        A dict with::

            {"a": 1}

    Yields:
        int: next.
    """
    return x + 1


class K:
    r"""Class.

    Attributes
    ----------
    a : int
        First.
    b : array, shape (n, m)
        Second.

    See Also
    --------
    f : other.

    References
    ----------
    .. [1] Someone, 2001.
    """

    #: Of :class:`K`.
    a: int = 1
    b = 2
    """Is ``two``, as :attr:`a` isn't."""
'''

DOCTESTS = '''"""# M

>>> # a comment
>>> for i in range(2):
...     print(i)
0
1
"""


def f(x):
    """Do it.

    :param x: the first
    :returns: two
    """
    return 2


def g(x):
    """Do it:
    - one
    - two
    """
    return 2
'''

BOXES = '''r"""# M

!!! note "Look"
    Inside the note, `x`.

.. warning:: Take care.
"""
x = 1
'''

MATHEMATICS = r'''r"""# M

Inline \(a_t^2\) and display:

\[ x = y^2 \]

\begin{align}
a_i &= b_i \\
c_i &= d_i
\end{align}

$$x_i = y$$.

where $$x_i$$ is.

$$\begin{align} a_i &= b \end{align}$$

## With $x$

Twice:

## With $x$
"""


def f():
    r"""## The loss $L_{t-1}$ of `f`

    Text.
    """
    # routing $$c_{ij} = 1$$
    return 1
'''

ESCAPED = r'''"""# N

Non-raw but right for Python: $\\eta_t \\cdot f$, a tab\there, and a quote \"x\", `\\n`.

A line that \
goes on.
"""


def f():
    """Meant: $\theta$."""
'''

PACKAGE = {
    "pyproject.toml": SETTINGS + "strict = false\n",
    "mkdocs.yml": MKDOCS.replace("nav: [index.md]", ""),
    "docs/none.txt": "",
    "pkg/__init__.py": '"""# pkg"""\n',
    "pkg/styles.py": STYLES,
    "pkg/doctests.py": DOCTESTS,
    "pkg/boxes.py": BOXES,
    "pkg/mathematics.py": MATHEMATICS,
    "pkg/escaped.py": ESCAPED,
}


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("authors")
    write(root, PACKAGE)
    succeed(root, "mkdocs", "build")
    return root / "site"


def notes(site: Path, page: str) -> list[str]:
    r"""The HTML of the notes of a page, each up to its code."""
    text = (site / page / "index.html").read_text(encoding="utf-8")
    article = text.partition("<article")[2].partition("</article>")[0]
    return [
        note.partition('<div class="code"')[0].partition("</section>")[0]
        for note in article.split('<div class="note"')[1:]
    ]


def shown(note: str) -> Shown:
    return Shown("<div" + note.rpartition("</div>")[0] + "</div>")


def test_sessions_are_code_with_their_lines(site: Path) -> None:
    first = shown(notes(site, "doctests")[0])
    lines = ">>> # a comment\n>>> for i in range(2):\n...     print(i)\n0\n1"
    assert first.texts(".//code[@class='block']") == [lines]
    assert first.texts(".//blockquote") == first.texts(".//h1") == []
    assert first.texts(".//span[@class='gp']") == [">>> ", ">>> ", "... "]
    assert "".join(first.texts(".//span[@class='go']")) == "0\n1"


def test_arguments_of_each_style_are_lists(site: Path) -> None:
    epytext, google, numpy = map(shown, notes(site, "styles")[:3])
    sphinx, below = map(shown, notes(site, "doctests")[1:3])
    assert epytext.texts(".//li") == ["x: epytext"]
    assert google.texts(".//strong") == ["Args", "Returns", "Yields"]
    assert google.texts(".//li//li") == ["a list item", "another"]
    assert google.texts(".//code[@class='block']") == ['{"a": 1}']
    assert numpy.texts(".//strong") == ["Attributes", "See Also", "References"]
    assert numpy.texts(".//li/code") == ["a", "b"]
    assert numpy.texts(".//li/em") == ["int", "array, shape (n, m)"]
    # The name of the definition, and no underlined title.
    assert numpy.texts(".//h2") == ["K¶"]
    assert sphinx.texts(".//strong") == ["Arguments", "Returns"]
    assert sphinx.texts(".//li") == ["x: the first"]
    assert below.texts(".//li") == ["one", "two"]


def test_attributes_have_docstrings_too(site: Path) -> None:
    above, below = map(shown, notes(site, "styles")[3:5])
    assert (above.text().strip(), above.texts(".//code")) == ("Of K.", ["K"])
    assert (below.text().strip(), below.texts(".//code")) == ("Is two, as a isn't.", ["two", "a"])
    page = Shown((site / "styles" / "index.html").read_text(encoding="utf-8"))
    assert [text for _, text in page.lines][-2:] == ["    a: int = 1", "    b = 2"]


def test_roles_tables_and_directives_of_sphinx_are_set(site: Path) -> None:
    first = shown(notes(site, "styles")[0])
    assert first.texts(".//code")[:3] == ["f", "K", "code"]
    assert first.texts(".//annotation") == [r"\alpha^2", "a = b^2"]
    assert [text.split("\n")[0] for text in first.texts(".//code[@class='block']")] == [
        ">>> f(1)",
        "x = 1",
    ]
    assert first.cells == [["Name", "Value"], ["a", "1"]]
    assert "Deprecated since version 1.0:\nUse g." in first.texts(".//p")
    assert "[1] Reference text. See [1]." in first.texts(".//p")
    assert "::" not in first.text()
    assert ":`" not in first.text()


def test_boxes_are_those_of_the_theme(site: Path) -> None:
    first = shown(notes(site, "boxes")[0])
    assert first.texts(".//p[@class='admonition-title']") == ["Look", "Warning"]
    assert first.texts(".//div[@class='admonition warning']/p") == ["Warning", "Take care."]


def test_formulas_are_set_however_they_are_marked(site: Path) -> None:
    first, _, comment = map(shown, notes(site, "mathematics"))
    assert len(first.texts(".//span[@class='katex-display']")) == 5
    assert first.texts(".//annotation")[:2] == ["a_t^2", "x = y^2"]
    assert len(comment.texts(".//span[@class='katex-display']")) == 1
    assert "$$" not in first.text()
    # What was set says so in its source, with a star.
    assert r"\begin{align}" not in first.text()
    assert first.texts(".//p")[4].endswith(".")


def test_a_formula_in_a_heading_is_in_the_contents_once(site: Path) -> None:
    page = (site / "mathematics" / "index.html").read_text(encoding="utf-8")
    contents = page.partition('data-md-component="toc"')[2].partition("</ul>")[0].partition(">")[2]
    entries = " ".join(re.sub(r"<[^>]*>", " ", contents).split())
    assert entries == "With x With x The loss L_t-1 of f"
    assert re.findall(r'<h2[^>]* id="([^"]*)"', page) == ["with-x", "with-x_1", "f"]


def test_a_docstring_that_is_not_raw_shows_what_its_author_means(site: Path) -> None:
    first, second = map(shown, notes(site, "escaped"))
    assert first.texts(".//annotation") == [r"\eta_t \cdot f"]
    assert 'a quote "x", \\n.' in first.text()
    assert "A line that\ngoes on." in first.text()
    assert second.texts(".//annotation") == [r"\theta"]


def test_only_what_python_misreads_is_a_problem(site: Path) -> None:
    done = run(site.parent, "literate", "check")
    said = [line for line in (done.stdout + done.stderr).splitlines() if "raw" in line]
    assert said == [
        'pkg/escaped.py:11: the docstring has a backslash and is not raw; begin it with `r"""`. '
        "Python takes `\\t` for one character."
    ]
