r"""Which names a statement takes from its module, and when."""

import ast
import symtable
import sysconfig
import warnings
from pathlib import Path
from textwrap import dedent

import pytest

from literate.python.scopes import Use, bindings, uses


def taken(text: str, lazy_annotations: bool = False) -> dict[str, bool]:
    r"""The names that one statement takes, and whether it takes them while the module runs."""
    (statement,) = ast.parse(dedent(text)).body
    found: dict[str, bool] = {}
    for use in uses(statement, lazy_annotations):
        found[use.name] = found.get(use.name, False) or use.now
    return found


NOW, LATER = True, False


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("x = f(y)", {"f": NOW, "y": NOW}),
        ("x += 1", {"x": NOW}),
        ("def f(a, b=default): return a + b + g", {"default": NOW, "g": LATER}),
        (
            "@decorated(by)\ndef f(*, a=default): pass",
            {"decorated": NOW, "by": NOW, "default": NOW},
        ),
        ("def f(*args, **kwargs): return args, kwargs, f", {"f": LATER}),
        ("async def f(): await g()", {"g": LATER}),
        ("def f(x: A, *args: B, y: C = 1, **k: D) -> E: pass", dict.fromkeys("ABCDE", NOW)),
        ("x: A", {"A": NOW}),
        ("class C(Base, metaclass=Meta): a = b", {"Base": NOW, "Meta": NOW, "b": NOW}),
        ("@d\nclass C: pass", {"d": NOW}),
        # The body of a class runs from top to bottom.
        ("class C:\n a = a\n b = a", {"a": NOW}),
        ("class C:\n a: int = a", {"a": NOW, "int": NOW}),
        ("class C:\n a += 1", {"a": NOW}),
        ("class C:\n for a in a: pass", {"a": NOW}),
        ("class C:\n (b := b)", {"b": NOW}),
        ("class C:\n import a\n b = a", {}),
        # Methods don't see the names of their class, and comprehensions don't either.
        ("class C:\n a = 1\n def f(self): return a", {"a": LATER}),
        ("class C:\n def f(self): return f", {"f": LATER}),
        ("class C:\n a = 1\n @a\n def f(self, b=a): pass", {}),
        ("class C:\n a = 1\n b = [a for x in a]", {"a": NOW}),
        ("class C:\n a = 1\n b = [x for x in a]", {}),
        ("x = [a for a in b if c]", {"b": NOW, "c": NOW}),
        ("x = {a: d for a in b for d in a if e}", {"b": NOW, "e": NOW}),
        ("x = [c for a in b if (c := a)]", {"b": NOW, "c": NOW}),
        ("def f(): return (a for a in b), a", {"b": LATER, "a": LATER}),
        ("def f():\n [(y := a) for a in b]\n return y", {"b": LATER}),
        ("x = lambda a, b=c: a + b + d", {"c": NOW, "d": LATER}),
        # A function knows its names before it binds them.
        ("def f():\n print(a)\n a = 1", {"print": LATER}),
        ("def f():\n global a\n a = 1", {"a": LATER}),
        ("def f():\n a = 1\n def g():\n  global a\n  return a", {"a": LATER}),
        ("def f():\n a = 1\n def g():\n  nonlocal a\n  a = 2", {}),
        ("def f():\n a = 1\n def g():\n  nonlocal a\n  a = b\n b = 2\n return g", {}),
        ("def f():\n a = 1\n class C:\n  b = a\n return C", {}),
        (
            "def f():\n import a.b, c as d\n from e import g\n return a, d, g, c, e",
            {"c": LATER, "e": LATER},
        ),
        ("def f():\n try: pass\n except E as e: return e", {"E": LATER}),
        ("def f():\n with a as (b, *c): return b, c", {"a": LATER}),
        ("def f(x):\n match x:\n  case A(b, c=[d, *e]): return b, d, e", {"A": LATER}),
        ("def f(x):\n match x:\n  case {1: a, **b}: return a, b, c", {"c": LATER}),
        ("def f(x):\n match x:\n  case a.b as c: return c", {"a": LATER}),
        ("def f():\n for a, b.c in d: return a", {"b": LATER, "d": LATER}),
        ("def f():\n def g(): return h\n def h(): return g\n return h", {}),
    ],
)
def test_a_statement_takes_from_its_module(text: str, expected: dict[str, bool]) -> None:
    assert taken(text) == expected


@pytest.mark.parametrize(
    ("annotation", "expected"),
    [
        ("'A'", {"A": LATER}),
        ("list['A | B']", {"list": NOW, "A": LATER, "B": LATER}),
        ("'list[A]' | None", {"list": LATER, "A": LATER}),
        ("Callable[['A'], 'B']", {"Callable": NOW, "A": LATER, "B": LATER}),
        ("Literal['A']", {"Literal": NOW}),
        ("typing.Literal['A']", {"typing": NOW}),
        ("Annotated['A', 'B', C]", {"Annotated": NOW, "A": LATER, "C": NOW}),
        ("'no annotation at all'", {}),
        ("'Outer[\"A\"]'", {"Outer": LATER, "A": LATER}),
    ],
)
def test_an_annotation_takes_from_its_module(annotation: str, expected: dict[str, bool]) -> None:
    assert taken(f"def f(x: {annotation}): pass") == expected


def test_lazy_annotations_are_not_read_now() -> None:
    text = "def f(x: A = b) -> list[C]: pass"
    assert taken(text, lazy_annotations=True) == {"A": LATER, "b": NOW, "list": LATER, "C": LATER}


def test_a_use_knows_its_line() -> None:
    (statement,) = ast.parse("def f(\n    x: 'A',\n):\n    return (\n        b)").body
    assert uses(statement) == [Use("A", 2, LATER), Use("b", 5, LATER)]


def names_by_symtable(text: str) -> set[str]:
    r"""The names that a module is asked for, by Python's compiler."""
    found = set()
    waiting = [symtable.symtable(text, "module.py", "exec")]
    while waiting:
        table = waiting.pop()
        waiting += table.get_children()
        for one in table.get_symbols():
            outer = table.get_type() == "module" or one.is_global()
            if outer and (one.is_referenced() or one.is_declared_global()):
                found.add(one.get_name())
    return found


def names_that_compilers_see_differently(tree: ast.Module) -> set[str]:
    r"""
    The compiler asks where a name is bound, not when: `x = x` in a class is its own to it. It takes
    strings for strings, `x += 1` for no use, and, since Python 3.12, some comprehensions for a part
    of what is around them.
    """
    found = {"__class__"}
    for node in ast.walk(tree):
        match node:
            case ast.ClassDef(body=body):
                found.update(bindings(body))
            case ast.comprehension(target=target) | ast.AugAssign(target=target):
                found.update(bindings([target]))
            case ast.Constant(value=str(text)):
                found.update(text.replace("[", " ").replace("]", " ").replace(".", " ").split())
    return found


def test_the_names_are_those_that_the_compiler_finds() -> None:
    library = Path(sysconfig.get_path("stdlib"))
    modules = [*sorted(library.glob("*.py"))[::8], *sorted(library.glob("asyncio/*.py"))]
    compared = 0
    for path in modules:
        text = path.read_text(encoding="utf-8")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(text)
            expected = names_by_symtable(text)
        found = {use.name for statement in tree.body for use in uses(statement)}
        unclear = names_that_compilers_see_differently(tree)
        assert found - unclear == expected - unclear, path
        compared += len(expected - unclear)
    assert compared > 1000
