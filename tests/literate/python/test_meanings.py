r"""What a name between backticks means, and that nothing else can be meant."""

import pytest

from literate.python.meanings import Meanings
from literate.python.standard_library import address
from literate.python.statements import by_module
from literate.reading.source import parse

FILES = {
    "pkg/__init__.py": "from pkg.cards import Hand as Hand\nfrom pkg import cards\n",
    "pkg/base.py": """
class Base:
    def look(self): pass

class Foreign(elsewhere.Thing):
    def own(self): pass
""",
    "pkg/cards.py": """
import json
import os.path
import numpy as np
import torch
from numpy import ndarray
from torch import nn
from pkg.base import Base, Foreign

LIMIT = 3

class Hand(Base):
    def take(self, card, filter=None):
        shuffle = card.shape
        return len(self.shape)
    def shape(self): pass
    def drop(self):
        return sort(key=1)

class Strange(Foreign): pass

def sort(hands): pass
def shape(hands): pass
def shuffle(): pass
def key(): pass
if LIMIT:
    def twice(): pass
else:
    def twice(): pass
""",
    "pkg/user.py": "def use(): pass\n",
}
MODULES = by_module(parse(text, path) for path, text in FILES.items())
MEANINGS = Meanings(MODULES)


def meant(code: str, module: str = "pkg.cards", within: str = "") -> tuple[str, str] | str | None:
    source = MODULES[module]
    around = next((one for one in source.definitions if one.name == within), None)
    return MEANINGS.of(code, source, around)


CARDS = "pkg/cards.py"


@pytest.mark.parametrize(
    ("code", "within", "expected"),
    [
        ("Hand", "", (CARDS, "Hand")),
        ("Hand.take", "", (CARDS, "Hand.take")),
        ("Hand.take()", "", (CARDS, "Hand.take")),
        ("Hand.look", "", ("pkg/base.py", "Base.look")),
        ("Hand.nothing", "", None),
        ("self.take", "Hand.drop", (CARDS, "Hand.take")),
        ("self.look", "Hand.drop", ("pkg/base.py", "Base.look")),
        ("self.take", "", None),
        ("self.take.x", "Hand", None),
        ("take", "Hand", (CARDS, "Hand.take")),
        ("take", "", None),
        ("look", "Hand.take", ("pkg/base.py", "Base.look")),
        # Those of a base that nobody has read.
        ("self.own", "Strange", ("pkg/base.py", "Foreign.own")),
        ("self.made", "Strange", None),
        ("sort", "", (CARDS, "sort")),
        ("sort()", "Hand", (CARDS, "sort")),
        # An argument, a variable, a keyword, an attribute of something else.
        ("card", "Hand.take", None),
        ("shuffle", "", None),
        ("key", "", None),
        ("shape", "Hand", None),
        ("shape()", "Hand", (CARDS, "Hand.shape")),
        ("shape", "", (CARDS, "shape")),
        ("twice", "", (CARDS, "twice")),
        ("LIMIT", "", None),
        # Of other modules.
        ("Base", "", ("pkg/base.py", "Base")),
        ("Base.look", "", ("pkg/base.py", "Base.look")),
        ("pkg.base.Base.look", "", ("pkg/base.py", "Base.look")),
        ("pkg.base", "", ("pkg/base.py", "")),
        ("pkg.Hand", "", (CARDS, "Hand")),
        ("pkg.cards.sort", "", (CARDS, "sort")),
        ("pkg.cards.Base", "", ("pkg/base.py", "Base")),
        ("pkg.nothing", "", None),
        # Of others.
        ("np.mean", "", "numpy.mean"),
        ("ndarray", "", "numpy.ndarray"),
        ("nn.Linear", "", "torch.nn.Linear"),
        ("torch.Tensor", "", "torch.Tensor"),
        ("json.dumps", "", "json.dumps"),
        ("os.path.join", "", "os.path.join"),
        ("pandas.DataFrame", "", "pandas.DataFrame"),
        ("string.digits", "", None),
        # Of Python: what the file uses, or what can be nothing else.
        ("len", "", "len"),
        ("filter", "", None),
        ("sum", "", None),
        ("sum()", "", "sum"),
        ("ValueError", "", "ValueError"),
        # No names.
        ("x + 1", "", None),
        ("sort(hands)", "", None),
        ("", "", None),
    ],
)
def test_a_name_means_what_its_file_says_or_nothing(
    code: str, within: str, expected: tuple[str, str] | str | None
) -> None:
    assert meant(code, within=within) == expected


def test_a_module_knows_what_its_package_hands_out() -> None:
    assert meant("Hand", "pkg.user") == (CARDS, "Hand")
    assert meant("Base", "pkg.user") is None
    assert meant("sort", "pkg.user") is None


STARRED = {
    "pkg/__init__.py": "from .cards import *\nfrom pkg.more import *\n",
    "pkg/cards.py": "class Hand: pass\ndef _inner(): pass\ndef twice(): pass\nlimit = 1\n",
    "pkg/more.py": "from .deep import *\ndef twice(): pass\ndef limit(): pass\n",
    "pkg/deep.py": "__all__ = ['listed']\ndef listed(): pass\ndef other(): pass\n",
    "pkg/foreign.py": "from numpy import *\nfrom pkg.cards import *\n",
    "pkg/round.py": "from pkg.round import *\n",
    "pkg/system.py": "if windows:\n    from .cards import Hand\nelse:\n    twice = limit = None\n"
    "    from .cards import twice\n",
}


def test_a_full_name_is_found_beside_a_module_with_the_name_of_the_package() -> None:
    files = {
        "pkg/__init__.py": "",
        "pkg/pkg.py": "def own(): pass\n",
        "pkg/util.py": "def f(): pass\n",
        "pkg/user.py": "from . import pkg\n",
    }
    sources = {path: parse(text, path) for path, text in files.items()}
    user = sources["pkg/user.py"]
    meanings = Meanings(by_module(sources.values()))
    assert meanings.of("pkg.util.f", user, None) == ("pkg/util.py", "f")
    assert meanings.of("pkg.own", user, None) == ("pkg/pkg.py", "own")
    assert meanings.of("pkg.nothing", user, None) is None


def test_all_names_of_a_module_can_be_imported() -> None:
    modules = by_module(parse(text, path) for path, text in STARRED.items())

    def found(code: str, module: str) -> object:
        return Meanings(modules).of(code, modules[module], None)

    assert found("pkg.Hand", "pkg.deep") == found("Hand", "pkg") == (CARDS, "Hand")
    assert found("Hand", "pkg.deep") == (CARDS, "Hand")
    assert found("pkg.listed", "pkg") == ("pkg/deep.py", "listed")
    # What is imported in a branch, and in none is anything else.
    assert found("pkg.system.Hand", "pkg") == (CARDS, "Hand")
    assert found("pkg.system.twice", "pkg") is None
    # What isn't handed on, what two have, one of them perhaps as no definition, and a round.
    for name in ("other", "_inner", "twice", "limit", "nothing"):
        assert found(f"pkg.{name}", "pkg") is None
    # Anything can have any name there.
    assert found("twice", "pkg.foreign") is None
    assert found("x", "pkg.round") is None


PAGE = "https://docs.python.org/3/library/"


@pytest.mark.parametrize(
    ("name", "place"),
    [
        ("len", "functions.html#len"),
        ("range", "stdtypes.html#range"),
        ("ValueError", "exceptions.html#ValueError"),
        ("NotImplemented", "constants.html#NotImplemented"),
        ("json.dumps", "json.html#json.dumps"),
        ("json.JSONEncoder.default", "json.html#json.JSONEncoder.default"),
        ("os.path", "os.path.html#module-os.path"),
        ("os.path.join", "os.path.html#os.path.join"),
        ("collections.abc.Iterable", "collections.abc.html#collections.abc.Iterable"),
        ("http.client.HTTPConnection", "http.client.html#http.client.HTTPConnection"),
        ("importlib.util.find_spec", "importlib.html#importlib.util.find_spec"),
        ("unittest.mock.patch", "unittest.mock.html#unittest.mock.patch"),
        # Everybody knows them, or they aren't there, or they are documented in parts.
        *((name, "") for name in ("int", "None", "help", "json.dump_all", "json._default_encoder")),
        *(
            (name, "")
            for name in ("asyncio.run", "logging.getLogger", "winreg.x", "this", "numpy.x")
        ),
    ],
)
def test_a_name_of_python_is_where_its_documentation_has_it(name: str, place: str) -> None:
    assert address(name) == (PAGE + place if place else None)
