r"""A role that names nothing, and where nobody can tell."""

from pathlib import Path

import pytest

from literate.python import names_in_notes
from literate.python.lacking import Lacking, told_once
from literate.python.meanings import Meanings
from literate.python.statements import by_module
from literate.reading.source import parse

FILES = {
    "pkg/__init__.py": "from pkg.cards import Hand as Held, sort\n",
    "pkg/cards.py": "import abc\nfrom other import Base\n\nSIZE = 3\n\n\nclass Card(abc.ABC):\n"
    "    size = 1\n    __slots__ = ('worth',)\n\n    def turn(self):\n        self.turned = 1\n\n\n"
    "class Hand(Card):\n    def take(self): pass\n\n\nclass Open(Base): pass\n\n\n"
    "class Broken(ValueError): pass\n\n\n@sort\nclass Changed: pass\n\n\n"
    "def sort():\n    global LATE\n    LATE = 1\n",
    "pkg/open.py": "from other import *\n",
    "pkg/made.py": "globals().update(x=1)\n",
    "pkg/unread.py": "",
    "pkg/sub/__init__.py": "",
    "pkg/sub/part.py": "class Part: pass\n",
    "pkg/other/sub.py": "",
}


@pytest.mark.parametrize(
    ("role", "told"),
    [
        (":class:`~pkg.cards.Hnd`", "`pkg.cards` has no `Hnd`; is `Hand` meant?"),
        (":func:`pkg.nothing`", "`pkg` has no `nothing`."),
        (":meth:`pkg.Held.fold()`", "`pkg.cards.Hand` has no `fold`."),
        (":meth:`fold <pkg.cards.Hand.fold>`", "`pkg.cards.Hand` has no `fold`."),
        (":meth:`Hand.takes`", "`pkg.cards.Hand` has no `takes`; is `take` meant?"),
        (":exc:`pkg.cards.Broken.code`", "`pkg.cards.Broken` has no `code`."),
        (":obj:`sub.part.Par`", "`pkg.sub.part` has no `Par`; is `Part` meant?"),
        (":py:func:`os.path.joins`", "`os.path` has no `joins`; is `join` meant?"),
        # They are there: set in a function, in a base, as a file, or known to Python.
        *[
            (f":obj:`{name}`", "")
            for name in "pkg.cards.SIZE pkg.cards.LATE pkg.Held.turn pkg.Held.turned pkg.sort "
            "pkg.cards pkg.cards.Card.worth pkg.cards.Card.size pkg.cards.Broken.args "
            "pkg.foreign sub.part.Part os.path.join os.PathLike.__fspath__".split()
        ],
        # Nobody knows.
        *[
            (f":obj:`{name}`", "")
            for name in "pkg.open.x pkg.made.x pkg.cards.Open.x pkg.cards.Changed.x other.x A "
            ".cards.x !pkg.x os.startfile pkg.cards.sort.x pkg.cards.Base.x hand.x".split()
        ],
        ("`pkg.nothing`", ""),
        ("``:func:`pkg.nothing` ``", ""),
    ],
)
def test_a_role_names_nothing(role: str, told: str, tmp_path: Path) -> None:
    (tmp_path / "pkg").mkdir()
    (tmp_path / "pkg/foreign.so").touch()
    text = "from pkg.cards import Hand\nfrom pkg.other import sub\n\n"
    text += f'def f():\n    """One.\n\n    See {role}.\n    """\n'
    sources = [parse(text, path) for path, text in {**FILES, "pkg/user.py": text}.items()]
    found = [*Lacking(Meanings(by_module(sources)), tmp_path).problems(sources[-1])]
    assert [one.sentence.partition(", but ")[2] for one in found] == [told] * bool(told)
    assert all(one.line == 7 for one in found)


def test_a_name_that_a_role_gives_in_vain_is_told_once(tmp_path: Path) -> None:
    note = "See :class:`~pkg.cards.Hnd`, :class:`pkg.cards.Hnd` and `Hnad`."
    user = parse(f'"""{note}"""\n', "pkg/user.py")
    sources = [*(parse(text, path) for path, text in FILES.items()), user]
    found = [
        *Lacking(Meanings(by_module(sources)), tmp_path).problems(user),
        *names_in_notes.problems(user, names_in_notes.names(sources, tmp_path)),
    ]
    assert [one.sentence.split("`")[1] for one in told_once(sorted({*found}))] == [
        "Hnad",
        "pkg.cards.Hnd",
    ]


def test_a_role_names_what_is_in_the_package_beside_a_module_of_its_name(tmp_path: Path) -> None:
    note = '"""See :func:`pkg.util.f`, :func:`pkg.own` and :func:`pkg.util.g`."""\n'
    files = {
        "pkg/__init__.py": "",
        "pkg/pkg.py": "def own(): pass\n",
        "pkg/util.py": "def f(): pass\n",
        "pkg/user.py": f"{note}from . import pkg\n",
    }
    sources = [parse(text, path) for path, text in files.items()]
    found = [*Lacking(Meanings(by_module(sources)), tmp_path).problems(sources[-1])]
    assert [one.sentence.split("`")[1] for one in found] == ["pkg.util.g"]
