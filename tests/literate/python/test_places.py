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
from a import b as c
total = 1
class Layer(c.Base):
    total = 2
    def __init__(self, x: int = total) -> None:
        self.x = x
    def forward(self, x, *rest):
        global count
        count = x
        y = [x for x in rest if x]
        f = lambda y: y + self.x
        return c(total, y, ä) + f(x)
def forward(x):
    def inner():
        nonlocal x
        x = total
    return inner
"""


def test_places_are_grouped_by_scope() -> None:
    of_x = [[(5, 23), (6, 17)], [(7, 22), (9, 16), (12, 34)], [(10, 13), (10, 19), (10, 32)]]
    expected = {
        "c": [[(1, 19), (3, 12), (12, 15)]],
        # A method doesn't see the names of its class; a default is evaluated in the class.
        "total": [[(2, 0), (12, 17), (16, 12)], [(4, 4), (5, 32)]],
        "x": [*of_x, [(13, 12), (16, 8)]],
        "y": [[(10, 8), (12, 24)], [(11, 19), (11, 22)]],
        "self.x": [[(6, 13), (11, 31)]],
        "count": [[(9, 8)]],
        "forward": [[(7, 8)], [(13, 4)]],
        "ä": [[(12, 27)]],
    }
    found = places(parse(CODE, "a.py"))
    assert {name: found[name] for name in expected} == expected


class Uninlined(ast.NodeTransformer):
    r"""
    Each comprehension as a generator: since Python 3.12 the others have no scope of their own.
    """

    def visit_ListComp(self, node: ast.ListComp) -> ast.AST:
        self.generic_visit(node)
        return ast.GeneratorExp(node.elt, node.generators)

    visit_SetComp = visit_ListComp

    def visit_DictComp(self, node: ast.DictComp) -> ast.AST:
        self.generic_visit(node)
        return ast.GeneratorExp(ast.Tuple([node.key, node.value], ast.Load()), node.generators)


def numbers_of_scopes(text: str) -> tuple[Counter[str], set[str]]:
    r"""In how many scopes Python has each name of its own, and the names that the module binds."""
    tree = ast.fix_missing_locations(Uninlined().visit(ast.parse(text)))
    top = symtable.symtable(ast.unparse(tree), "module.py", "exec")
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
