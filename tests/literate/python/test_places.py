r"""Where names stand, told apart by what they stand for."""

import ast
import re
import symtable
from collections import Counter
from collections.abc import Iterator

import pytest

from literate.python.scopes import places
from literate.reading.source import Source, parse, read
from tests.literate.projects import ROOT

OURS = sorted([*(ROOT / "labml_nn").rglob("*.py"), *(ROOT / "literate").rglob("*.py")])

CODE = """\
import math
from a import b as c

total = 1


class Layer(math.Base):
    total = 2

    def __init__(self, x: int = total) -> None:
        self.x = x

    def forward(self, x, *rest):
        global count
        count = x
        y = [x for x in rest if x]
        f = lambda y: y + self.x
        return c(total, y, x, ä) + f(x)


def forward(x):
    def inner():
        nonlocal x
        x = total
    return inner
"""


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("math", [[(1, 7), (7, 12)]]),
        ("c", [[(2, 19), (18, 15)]]),
        # A method doesn't see the names of its class; a default is evaluated in the class.
        ("total", [[(4, 0), (18, 17), (24, 12)], [(8, 4), (10, 32)]]),
        (
            "x",
            [
                [(10, 23), (11, 17)],
                [(13, 22), (15, 16), (18, 27), (18, 37)],
                [(16, 13), (16, 19), (16, 32)],
                [(21, 12), (24, 8)],
            ],
        ),
        ("y", [[(16, 8), (18, 24)], [(17, 19), (17, 22)]]),
        ("self.x", [[(11, 13), (17, 31)]]),
        ("count", [[(15, 8)]]),
        ("forward", [[(13, 8)], [(21, 4)]]),
        ("rest", [[(13, 26), (16, 24)]]),
        ("ä", [[(18, 30)]]),
    ],
)
def test_places_are_grouped_by_scope(name: str, expected: list[list[tuple[int, int]]]) -> None:
    assert places(parse(CODE, "a.py"))[name] == expected


def numbers_of_scopes(text: str) -> tuple[Counter[str], set[str]]:
    r"""In how many scopes Python has each name of its own, and the names that the module binds."""
    top = symtable.symtable(text, "module.py", "exec")
    found: Counter[str] = Counter()
    waiting = [top]
    while waiting:
        table = waiting.pop()
        waiting += table.get_children()
        own = (one for one in table.get_symbols() if one.is_local() or one.is_parameter())
        found.update(one.get_name() for one in own)
    return found, {symbol.get_name() for symbol in top.get_symbols() if symbol.is_local()}


def names_with_places(source: Source) -> Iterator[tuple[str, tuple[int, int]]]:
    r"""The names that `ast` finds outside of strings."""
    waiting: list[ast.AST] = [source.tree]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Name):
            yield node.id, (node.lineno, source.characters(node.lineno, node.col_offset))
        if not isinstance(node, ast.JoinedStr):
            waiting += ast.iter_child_nodes(node)


@pytest.mark.parametrize("step", [4, pytest.param(1, marks=pytest.mark.whole)])
def test_every_name_of_our_sources_has_one_place_in_one_of_as_many_groups_as_python_says(
    step: int,
) -> None:
    for path in OURS[::step]:
        source = read(path)
        found = places(source)
        scopes, bound = numbers_of_scopes(source.text)
        for name in found.keys() & scopes.keys():
            # What no scope binds, a built-in name for example, has one group more: the module's.
            assert 0 <= len(found[name]) - scopes[name] <= (name not in bound), (path, name)
        flat = [
            (name, place) for name, groups in found.items() for group in groups for place in group
        ]
        for name, (line, column) in flat:
            word = re.match(r"\w+", source.lines[line - 1].text[column:])
            assert word[0] == name.removeprefix("self."), path
        every = [place for _, place in flat]
        assert len(set(every)) == len(every), path
        assert [one for one in names_with_places(source) if one[1] not in set(every)] == [], path
