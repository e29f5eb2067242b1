r"""Names between backticks lead to what they mean, once in each note."""

import re
from collections.abc import Mapping
from pathlib import Path

from literate.page.context import context
from literate.page.formulas import Formulas
from literate.page.links import Links
from literate.page.page import page
from literate.reading.source import Source, parse
from tests.literate.projects import KATEX, ROOT, succeed, write
from tests.literate.shown import rendered

FILES = {
    "pkg/__init__.py": '''r"""
# A package

It has [`Hand`](cards.py#Hand), `pkg.cards.Hand` and `pkg.cards`.
"""
''',
    "pkg/cards.py": '''r"""
# Cards

## What `Hand` is for

A `Hand` holds cards, as `sort` has left them; a `Hand` has [two `sort`](cards.py#sort). It is no
`numpy.ndarray`, and `sort(cards)` is a list: `sorted`. See `them.far` and `them.near`.
"""
import numpy


class Hand:
    r"""
    ## A `Hand` of `sort`

    A `Hand` can `take` a card, with `self.take` or `Hand.take`. `my_card` is one.
    """

    def take(self, my_card):
        r"""
        ### To take a card

        Of `my_card` and `take`. A wrong one is a `ValueError`.

        * `sort`, `tell`: arguments that are passed on
        * `tell()` and `Hand` are not, and `sort` isn't
        """
        # What `sort` does with `my_card`, `len` and `numpy.sum`.
        return len(sorted([my_card]))


def sort(cards): return sorted(cards)
def tell(): pass
''',
}
ROLES = {
    "pkg/__init__.py": '"""# A package"""\n',
    "pkg/cards.py": '''"""# Cards"""


class Hand:
    def take(self, card): pass


def sort(cards): pass
''',
    "pkg/roles.py": '''"""
# Roles

A :class:`~pkg.cards.Hand`, :meth:`.Hand.take`, :func:`a word <pkg.cards.sort>`, `one <.Hand>`,
:func:`~numpy.sort` of numpy, :func:`!pkg.cards.sort`, :class:`.Nothing`, :ref:`words <pkg.cards>`,
:meth:`.cards.Hand.take()`. Not imported: :class:`threading.Thread`, :mod:`queue`,
:func:`~os.path.join()`, :class:`os.Nothing`, `glob`, :class:`glob`.
"""


def sort():
    """
    See Also
    --------
    take, Hand : Both.
    """


def turn(card, way):
    """
    :param card: one
    :param way: how
    :type card: :class:`~pkg.cards.Hand`
    :type way:
        :func:`~numpy.sort`
    """
''',
}
SOURCES = {path: parse(text, path) for path, text in FILES.items()}
URIS = {
    "pkg/__init__.py": "index.md",
    "pkg/cards.py": "cards.md",
    "pkg/roles.py": "roles.md",
}
OTHERS = {"numpy.ndarray": "https://n.org/a_b.html#numpy.ndarray", "them.far": "https://t.org/?a&b"}
OTHERS["numpy.sort"] = "https://n.org/sort"
PYTHON = "https://docs.python.org/3/library/"


def links_of(
    path: str, sources: Mapping[str, Source] = SOURCES, **told: object
) -> list[tuple[str, str]]:
    r"""The words and the target of each link in the notes of a page."""
    known = Links(sources, URIS, ROOT, "docs", **told)
    with Formulas(KATEX) as formulas:
        made = page(sources[path], context(known, formulas, documented=OTHERS))
    assert made.problems == ()
    notes = re.sub(r'<div class="code">.*?</pre>', "", made.markdown, flags=re.DOTALL)
    shown = rendered(notes)
    links = [one for one in shown.all.iter("a") if one.find("code") is not None]
    return [("".join(one.itertext()), one.get("href") or "") for one in links]


def test_a_name_is_a_link_where_it_is_said_first() -> None:
    assert links_of("pkg/cards.py") == [
        ("Hand", "#Hand"),
        ("sort", "#sort"),
        ("two sort", "cards.md#sort"),
        ("numpy.ndarray", "https://n.org/a_b.html#numpy.ndarray"),
        ("sorted", f"{PYTHON}functions.html#sorted"),
        ("them.far", "https://t.org/?a&b"),
        # Not itself, and not in a heading.
        ("take", "#Hand.take"),
        ("self.take", "#Hand.take"),
        ("Hand.take", "#Hand.take"),
        ("ValueError", f"{PYTHON}exceptions.html#ValueError"),
        # What an item of a list explains is an argument.
        ("tell()", "#tell"),
        ("Hand", "#Hand"),
        ("sort", "#sort"),
        ("sort", "#sort"),
        ("len", f"{PYTHON}functions.html#len"),
    ]


def test_a_name_leads_to_another_page_and_no_link_stands_in_a_link() -> None:
    assert links_of("pkg/__init__.py") == [
        ("Hand", "cards.md#Hand"),
        ("pkg.cards.Hand", "cards/#Hand"),
        ("pkg.cards", "cards/"),
    ]
    # Zensical resolves what stands in HTML, too.
    assert links_of("pkg/__init__.py", resolves_html=True)[1:] == [
        ("pkg.cards.Hand", "cards.md#Hand"),
        ("pkg.cards", "cards.md"),
    ]


def test_a_role_leads_to_the_name_that_it_gives() -> None:
    sources = {path: parse(text, path) for path, text in ROLES.items()}
    assert links_of("pkg/roles.py", sources) == [
        ("Hand", "../cards/#Hand"),
        ("Hand.take", "../cards/#Hand.take"),
        ("a word", "../cards/#sort"),
        ("one", "../cards/#Hand"),
        ("sort", "https://n.org/sort"),
        ("cards.Hand.take()", "../cards/#Hand.take"),
        ("threading.Thread", f"{PYTHON}threading.html#threading.Thread"),
        ("queue", f"{PYTHON}queue.html#module-queue"),
        ("join()", f"{PYTHON}os.path.html#os.path.join"),
        ("take", "../cards/#Hand.take"),
        ("Hand", "../cards/#Hand"),
        # What a type says, in the line of the argument.
        ("Hand", "../cards/#Hand"),
        ("sort", "https://n.org/sort"),
    ]


TYPES = '''"""# Types"""
import numpy as np
from pkg.cards import Hand, sort


class My_hand(Hand):
    def take(self, card, other, third, fourth):
        """
        :param card: one
        :type card: ~pkg.cards.Hand or str, 'Hand'
        :param My_hand other: that
        :param .Hand third: one
        :param .Nobody fourth: one
        :rtype: Hand
        :raises ValueError: if
        """


def deal(a, b):
    """
    Args:
        a (list[My_hand], optional): that
        b (a sort of ~np.ndarray, deal or ~no.Name): those

    Returns:
        Hand: it
    """


def draw(a, b):
    """
    Parameters
    ----------
    a : Hand
    b : np.sort

    Returns
    -------
    Hand : My_hand
    """
'''


def test_a_type_is_a_link_where_it_means_one_thing() -> None:
    sources = {path: parse(text, path) for path, text in ROLES.items()}
    sources["pkg/roles.py"] = parse(TYPES, "pkg/roles.py")
    with Formulas(KATEX) as formulas:
        known = context(Links(sources, URIS, ROOT, "docs"), formulas, documented=OTHERS)
        made = page(sources["pkg/roles.py"], known)
    shown = rendered(re.sub(r'<div class="code">.*?</pre>', "", made.markdown, flags=re.DOTALL))
    links = [one for one in shown.all.iterfind(".//li//em//a")]
    assert [("".join(one.itertext()), one.get("href")) for one in links] == [
        ("Hand", "../cards/#Hand"),
        ("My_hand", "#My_hand"),
        # With a point in front, as Sphinx finds the end of a full name.
        ("Hand", "../cards/#Hand"),
        ("Hand", "../cards/#Hand"),
        ("ValueError", f"{PYTHON}exceptions.html#ValueError"),
        ("My_hand", "#My_hand"),
        ("ndarray", "https://n.org/a_b.html#numpy.ndarray"),
        ("Hand", "../cards/#Hand"),
        ("Hand", "../cards/#Hand"),
        ("np.sort", "https://n.org/sort"),
        ("My_hand", "#My_hand"),
    ]
    assert "b (a sort of ndarray, deal or no.Name): those" in shown.text()
    assert "fourth (.Nobody): one" in shown.text()


def test_a_page_that_was_kept_follows_a_name_that_a_package_hands_on(tmp_path: Path) -> None:
    files = {
        "pyproject.toml": f'[tool.literate]\nsources = {{ pkg = "" }}\nkatex = "{KATEX}"\n'
        "strict = false\n",
        "mkdocs.yml": "site_name: A\ntheme: { name: material, font: false }\nplugins: [literate]\n",
        "docs/.keep": "",
        "pkg/__init__.py": '"""# A"""\nfrom pkg.one import f as f\n',
        "pkg/one.py": '"""# One"""\ndef f(): pass\n',
        "pkg/two.py": '"""# Two"""\ndef f(): pass\n',
        "pkg/user.py": '"""# User\n\nIt calls `pkg.f`."""\n',
    }
    write(tmp_path, files)
    for module in ("one", "two"):
        init = files["pkg/__init__.py"].replace("one", module)
        write(tmp_path, {"pkg/__init__.py": init})
        succeed(tmp_path, "mkdocs", "build", "-q")
        page = (tmp_path / "site/user/index.html").read_text(encoding="utf-8")
        assert f'<a href="../{module}/#f"><code>pkg.f</code></a>' in page


def test_a_point_before_a_name_of_the_package_is_not_shown() -> None:
    note = '"""\n# Roles\n\nBy `.Hand`, by `.Hand`, ``.sort``, `.py`, `.os`, and __init__.\n"""\n'
    note += "import os\n"
    files = {**ROLES, "pkg/roles.py": note}
    sources = {path: parse(text, path) for path, text in files.items()}
    with Formulas(KATEX) as formulas:
        known = context(Links(sources, URIS, ROOT, "docs"), formulas)
        made = page(sources["pkg/roles.py"], known)
    words = "".join(rendered(made.markdown).all.itertext())
    assert "By Hand, by Hand, .sort, .py, os, and __init__." in " ".join(words.split())


def test_a_name_is_a_link_once_in_each_argument() -> None:
    note = '''"""# A"""


def f(card, other, none):
    """
    Of `Hand` and `Hand`.

    :param card: a `Hand`, no `Hand`
    :param Hand other: as `Hand`
    :param none: it isn't
    :raises ValueError: `ValueError` it
    """
'''
    files = {**ROLES, "pkg/__init__.py": "from .cards import Hand", "pkg/roles.py": note}
    sources = {path: parse(text, path) for path, text in files.items()}
    assert [words for words, _ in links_of("pkg/roles.py", sources)] == ["Hand", "Hand"]
    with Formulas(KATEX) as formulas:
        made = page(sources["pkg/roles.py"], context(Links(sources, URIS, ROOT, "docs"), formulas))
    links = [one for one in rendered(made.markdown).all.iterfind(".//li//em//a")]
    assert ["".join(one.itertext()) for one in links] == ["Hand", "ValueError"]


def test_a_link_may_lead_to_a_name() -> None:
    text = "[](`~pkg.cards.Hand`) is [what\n*sorts*][pkg.cards.sort], not [this one][numpy.no]."
    sources = {path: parse(text, path) for path, text in ROLES.items()}
    sources["pkg/roles.py"] = parse(f'"""# Roles\n\n{text}\n"""\n', "pkg/roles.py")
    with Formulas(KATEX) as formulas:
        made = page(sources["pkg/roles.py"], context(Links(sources, URIS, ROOT, "docs"), formulas))
    shown = rendered(made.markdown)
    (text,) = (text for text in shown.texts(".//p") if text.startswith("Hand"))
    assert text == "Hand is what *sorts*, not this one."
    assert shown.values("href", ".//p/a")[-2:] == ["../cards/#Hand", "../cards/#sort"]
    assert shown.texts(".//p//code") == ["Hand"]


def test_an_address_in_a_comment_is_a_link() -> None:
    told = "# As (https://a.org/b_c?d&e), [https://a.org](https://a.org) and `https://a.org` say.\n"
    sources = {"pkg/roles.py": parse(f'"""# A"""\n\n{told}x = 1\n', "pkg/roles.py")}
    with Formulas(KATEX) as formulas:
        made = page(sources["pkg/roles.py"], context(Links(sources, URIS, ROOT, "docs"), formulas))
    links = rendered(made.markdown).all.iter("a")
    outside = [one.get("href") for one in links if (one.get("href") or "").startswith("https")]
    assert outside == ["https://a.org/b_c?d&e", "https://a.org"]


def test_a_constant_or_an_attribute_with_a_text_leads_to_its_line() -> None:
    cards = '''"""# Cards"""
#: How many.
MOST = 52
LEAST = 1  # Nobody knows.


class Hand:
    #: The words.
    words = ["yes"]
    size: int = 3  #: how large

    def __init__(self):
        self.open = True
        """Is it open?"""
'''
    note = '''"""# Roles

:data:`MOST`, :data:`pkg.cards.LEAST`, :attr:`pkg.cards.Hand.words`, :attr:`.open`,
:attr:`Hand.size`.
"""
from pkg.cards import MOST, Hand
'''
    files = {**ROLES, "pkg/cards.py": cards, "pkg/roles.py": note}
    sources = {path: parse(text, path) for path, text in files.items()}
    assert links_of("pkg/roles.py", sources) == [
        ("MOST", "../cards/#L3"),
        ("pkg.cards.Hand.words", "../cards/#L9"),
        ("open", "../cards/#L13"),
        ("Hand.size", "../cards/#L10"),
    ]
