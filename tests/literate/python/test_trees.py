r"""Syntax trees are walked through as Python does it."""

import ast
import sysconfig
import warnings
from collections import Counter
from pathlib import Path

import pytest

from literate.python.trees import Visitor, children, nodes

# What has nothing in it, and no place in the text.
SIGNS = ast.expr_context | ast.boolop | ast.operator | ast.unaryop | ast.cmpop


def trees() -> list[ast.Module]:
    library = Path(sysconfig.get_path("stdlib"))
    modules = [*sorted(library.glob("*.py"))[2::9], library / "test/test_patma.py"]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return [ast.parse(path.read_bytes()) for path in modules]


def test_the_nodes_are_those_of_python_but_for_signs() -> None:
    seen: Counter[str] = Counter()
    for tree in trees():
        expected = [node for node in ast.walk(tree) if not isinstance(node, SIGNS)]
        assert nodes(tree) == expected
        seen.update(type(node).__name__ for node in expected)
    # Whatever could have something in it was there.
    assert {"Compare", "MatchMapping", "Lambda", "JoinedStr", "Try", "ImportFrom"} <= seen.keys()


def test_the_children_come_in_the_order_of_the_fields() -> None:
    for tree in trees():
        for node in ast.walk(tree):
            expected = [one for one in ast.iter_child_nodes(node) if not isinstance(one, SIGNS)]
            assert list(children(node)) == expected


class Python(ast.NodeVisitor):
    def __init__(self) -> None:
        self.seen: list[ast.AST] = []

    def visit_Name(self, node: ast.Name) -> None:
        self.seen.append(node)

    def visit_Call(self, node: ast.Call) -> None:
        self.seen.append(node)
        self.visit(node.func)


class Ours(Visitor):
    def __init__(self) -> None:
        self.seen: list[ast.AST] = []

    visit_Name = Python.visit_Name
    visit_Call = Python.visit_Call


def test_a_visitor_goes_where_that_of_python_goes() -> None:
    for tree in trees():
        python, ours = Python(), Ours()
        python.visit(tree)
        ours.visit(tree)
        assert ours.seen == python.seen
        assert any(isinstance(node, ast.Call) for node in ours.seen)


@pytest.mark.parametrize("kind", sorted(ast.AST.__subclasses__(), key=lambda one: one.__name__))
def test_each_kind_of_node_can_be_asked(kind: type[ast.AST]) -> None:
    assert list(children(kind())) == []
