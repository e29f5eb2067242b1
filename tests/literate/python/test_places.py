r"""Where names stand, told apart by what they stand for."""

import ast
import re
import symtable
from collections.abc import Iterator
from pathlib import Path

import pytest

from literate.python.scopes import places
from literate.reading.source import Source, parse, read

ROOT = Path(__file__).parents[3]
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


def groups(name: str) -> list[list[tuple[int, int]]]:
    return places(parse(CODE, "a.py"))[name]


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
    assert groups(name) == expected


def scopes(table: symtable.SymbolTable) -> Iterator[symtable.SymbolTable]:
    yield table
    for child in table.get_children():
        yield from scopes(child)


@pytest.mark.parametrize("path", OURS, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_names_have_as_many_scopes_as_python_says(path: Path) -> None:
    source = read(path)
    expected: dict[str, int] = {}
    for table in scopes(symtable.symtable(source.text, str(path), "exec")):
        for symbol in table.get_symbols():
            # The first argument of a comprehension has a name that no source can have.
            own = symbol.is_local() or symbol.is_parameter()
            if own and not symbol.get_name().startswith("."):
                expected[symbol.get_name()] = expected.get(symbol.get_name(), 0) + 1
    found = places(source)
    mine = {name: len(found[name]) for name in expected if name in found}
    # What no scope binds, a built-in name for example, has one group more: that of the module.
    bound = {
        symbol.get_name()
        for symbol in symtable.symtable(source.text, str(path), "exec").get_symbols()
        if symbol.is_local()
    }
    wrong = {
        name: (number, expected[name])
        for name, number in mine.items()
        if not expected[name] <= number <= expected[name] + (name not in bound)
    }
    assert wrong == {}


@pytest.mark.parametrize("path", OURS, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_each_place_is_a_name_of_the_file_and_no_place_stands_twice(path: Path) -> None:
    source = read(path)
    seen = set()
    for name, all_groups in places(source).items():
        for line, column in (one for group in all_groups for one in group):
            word = re.match(r"\w+", source.lines[line - 1].text[column:])
            assert word[0] == name.removeprefix("self.")
            assert (line, column) not in seen
            seen.add((line, column))


@pytest.mark.parametrize("path", OURS, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_every_name_that_is_no_attribute_or_keyword_has_a_place(path: Path) -> None:
    source = read(path)
    every = {
        place for all_groups in places(source).values() for group in all_groups for place in group
    }
    tree = ast.parse(source.text)
    in_strings = {
        id(inside)
        for node in ast.walk(tree)
        if isinstance(node, ast.JoinedStr)
        for inside in ast.walk(node)
    }
    names = [
        node for node in ast.walk(tree) if isinstance(node, ast.Name) and id(node) not in in_strings
    ]
    assert [node.id for node in names if place_of(source, node) not in every] == []


def place_of(source: Source, node: ast.Name) -> tuple[int, int]:
    text = source.lines[node.lineno - 1].text
    return node.lineno, len(text.encode()[: node.col_offset].decode())
