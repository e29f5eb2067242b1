r"""What a definition needs: from where, in which order, and when there is no telling."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from literate.problems import LiterateError
from literate.python.closure import Closure, closure
from literate.python.statements import Import
from literate.takeaway.snippet import snippets
from tests.literate.packages import package, run


def names(found: Closure) -> list[str]:
    r"""The names that the pieces of a closure bind, in their order."""
    return [f"{piece.module}.{name}" for piece in found.pieces for name in piece.names]


def problem(files: dict[str, str], module: str, name: str) -> str:
    r"""The one problem that a closure has."""
    with pytest.raises(LiterateError) as caught:
        closure(package(files), module, [name])
    (found,) = caught.value.problems
    return str(found)


# The files of a package, without its name; what is wanted; and what comes along, in its order.
COPIES = {
    "modules come after those they need and otherwise in reading order": (
        {
            "z": "def z(): return 1",
            "last": "from pkg.a import a\nfrom pkg.m import m\nfrom pkg.z import z\n"
            "def last(): return a(), m(), z()",
            "m": "def m(): return 1",
            "a": "from pkg.m import m\ndef a(): return m()",
        },
        "last.last",
        "z.z m.m a.a last.last",
    ),
    "functions that call each other keep the order of the file": (
        {"a": "def even(n): return n == 0 or odd(n - 1)\ndef odd(n): return even(n - 1)"},
        "a.odd",
        "a.even a.odd",
    ),
    # `import pkg.a` works and `import pkg.b` does not.
    "a circle is ordered as python imports it": (
        {
            "b": "from pkg.a import Base\nclass Child(Base): pass\ndef children(): return [Child]",
            "a": "class Base: pass\nfrom pkg.b import children\nCHILDREN = children()",
        },
        "a.CHILDREN",
        "a.Base b.Child b.children a.CHILDREN",
    ),
    "a circle that is only for type checkers is none": (
        {
            "a": "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n  from pkg.b import Child\n"
            "class Parent:\n  def child(self) -> 'Child': ...",
            "b": "from pkg.a import Parent\nclass Child(Parent): pass",
        },
        "a.Parent",
        "a.Parent b.Child",
    ),
    # `import pkg.a` works, because it runs `pkg` first, and `pkg` imports `pkg.b`.
    "a package runs before its modules": (
        {
            "a": "from pkg.b import B\nclass A(B): pass",
            "b": "class B: pass\nfrom pkg.a import A\nLATER = A",
            "c": "from pkg.a import A\nfrom pkg.b import LATER\ndef c(): return A, LATER",
            "__init__": "from pkg.b import LATER",
        },
        "c.c",
        "b.B a.A b.LATER c.c",
    ),
    "relative imports are understood": (
        {
            "__init__": "TOP = 1",
            "sub/__init__": "from .a import one\nfrom .. import TOP\ndef here(): one, TOP",
            "sub/a": "from ..b import two\ndef one(): return two",
            "b": "def two(): pass",
        },
        "sub.here",
        "TOP b.two sub.a.one sub.here",
    ),
    "a name can be taken from a module that passes it on": (
        {
            "__init__": "from pkg.a import f",
            "a": "import math\nfrom math import pi\ndef f(): return math",
            "b": "from pkg import f\nfrom pkg.a import pi\ndef g(): return f, pi",
        },
        "b.g",
        "a.f b.g",
    ),
    "another name comes behind what it names": (
        {
            "a": "def first(): pass\ndef second(): pass",
            "pass_on": "from pkg.a import first\nfrom math import pi",
            "b": "from pkg.pass_on import first as f, pi as p\nfrom pkg.a import second as s\n"
            "def b(): return f, s, p",
        },
        "b.b",
        "a.first a.second a.s pass_on.f pass_on.p b.b",
    ),
    "another name comes before what needs it": (
        {
            "a": "class Long: pass\nclass After(Long): pass",
            "b": "from pkg.a import Long as L\nfrom pkg.a import After\nclass B(L, After): pass",
            "c": "from pkg.a import Long as L\nfrom pkg.b import B\ndef c(): return L, B",
        },
        "c.c",
        "a.Long a.L a.After b.B c.c",
    ),
    "all statements that bind a name belong to it": (
        {
            "a": """
                NAMES = ["a"]
                NAMES += ["b"]
                @overload
                def f(x: int) -> int: ...
                def f(x): return NAMES
                try:
                    from tomllib import loads
                except ImportError:
                    loads = None
                if NAMES:
                    def g(): return f, loads
                else:
                    g = None
            """
        },
        "a.g",
        "a.NAMES a.NAMES a.f a.f a.loads a.g",
    ),
    "types and annotated constants are definitions": (
        {"a": 'Pair = tuple["B", int]\nSIZE: int = 3\nclass B: x = SIZE\ndef f(x: Pair): B()'},
        "a.f",
        "a.Pair a.SIZE a.B a.f",
    ),
    "statements on one line stay together": ({"a": "a = 1; b = 2\nc = 3"}, "a.b", "a.a a.b"),
    "variants that are registered with a function come with it": (
        {
            "a": """
                @singledispatch
                def show(x): return "?"
                @show.register
                def _(x: int): return "int"
                @show.register(str)
                def _(x): return HERE
                HERE = "str"
                def not_registered(): pass
            """
        },
        "a.show",
        "a.show a._ a._ a.HERE",
    ),
    "so do those of a module that is needed anyway": (
        {
            "a": "@singledispatch\ndef show(x): return '?'",
            "b": """
                from pkg.a import show
                @show.register(str)
                def _(x): return "str"
                def both(x): return show(x)
            """,
            "c": """
                from pkg.a import show
                @show.register(int)
                def _(x): return "int"
            """,
        },
        "b.both",
        "a.show b._ b.both",
    ),
    "only what is not the program is guarded": (
        {"a": "if __name__ != '__main__': SIZE = 3\ndef f(): return SIZE"},
        "a.f",
        "a.SIZE a.f",
    ),
}


@pytest.mark.parametrize(("files", "wanted", "expected"), COPIES.values(), ids=COPIES)
def test_a_copy_has_in_this_order(files: dict[str, str], wanted: str, expected: str) -> None:
    module, _, name = f"pkg.{wanted}".rpartition(".")
    found = closure(package({f"pkg/{one}.py": text for one, text in files.items()}), module, [name])
    assert [one.removeprefix("pkg.") for one in names(found)] == expected.split()


def test_two_classes_that_need_each_other_first_are_an_error() -> None:
    files = {
        "pkg/a.py": "from pkg.b import B\nclass A(B): pass",
        "pkg/b.py": "from pkg.a import A\n\nclass B(A): pass",
    }
    assert problem(files, "pkg.a", "A") == (
        "pkg/b.py:3: `B` needs `A` (pkg/a.py:2), which is not defined yet when the modules import "
        "each other; break the circle."
    )


@pytest.mark.parametrize(
    ("statements", "used", "expected"),
    [
        ("import os\nimport os.path", "os.path.sep", [("os", "", ""), ("os.path", "", "")]),
        ("import torch.nn.functional as F", "F.relu", [("torch.nn.functional", "", "F")]),
        ("from torch import nn, optim", "nn.Linear", [("torch", "nn", "")]),
        ("from torch.nn import Linear as Linear", "Linear(1)", [("torch.nn", "Linear", "")]),
        # The same in two spellings is kept once.
        ("import torch.nn as nn", "nn.Linear", [("torch.nn", "", "nn")]),
        ("from pkg.other import f\nfrom torch import nn", "f, nn", [("torch", "nn", "")]),
    ],
)
def test_of_the_outside_imports_only_the_used_are_kept(
    statements: str, used: str, expected: list[tuple[str, str, str]]
) -> None:
    files = {
        "pkg/other.py": "import torch.nn as nn\ndef f(): return nn",
        "pkg/a.py": f"import json\n{statements}\ndef f2(): return {used}",
    }
    found = closure(package(files), "pkg.a", ["f2"]).imports
    assert found == tuple(Import(*one) for one in expected)


def test_an_import_for_type_checkers_stays_one_unless_another_module_runs_it() -> None:
    checked = (
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n  from abc import ABC\n"
        "  from decimal import Decimal\n  from torch import nn\n"
        "def f(x: 'Decimal', y: 'ABC', z: 'nn'): return x"
    )
    running = (
        "import torch.nn as nn\nfrom decimal import Decimal\nfrom pkg.a import f\n"
        "def g(): return f(Decimal(), nn)"
    )
    sources = package({"pkg/a.py": checked, "pkg/b.py": running})
    assert closure(sources, "pkg.a", ["f"]).imports == (
        Import("abc", "ABC", "", True),
        Import("decimal", "Decimal", "", True),
        Import("torch", "nn", "", True),
    )
    # Of two spellings, the one that runs is kept.
    assert closure(sources, "pkg.b", ["g"]).imports == (
        Import("abc", "ABC", "", True),
        Import("decimal", "Decimal", "", False),
        Import("torch.nn", "", "nn", False),
    )


def test_packages_from_outside_are_found_inside_functions_too() -> None:
    inner = "import labml.internal\n  from tqdm.auto import tqdm"
    text = f"import json, torch.nn\ndef f():\n  {inner}\n  return torch.nn, labml, tqdm"
    outside = closure(package({"pkg/a.py": text}), "pkg.a", ["f"]).outside
    assert outside == {"torch.nn", "labml.internal", "tqdm.auto"}


@pytest.mark.parametrize(
    ("text", "line", "said"),
    [
        ("from pkg.a import *\ndef f(): pass", 1, "imports every name of pkg.a"),
        ("from math import *\ndef f(): pass", 1, "imports every name of math"),
        ("import pkg.a\ndef f():\n  return pkg.a.X", 3, "`pkg.a` is a module"),
        ("import pkg.a as m\ndef f(): return m.X", 2, "`m` is a module"),
        ("from pkg import a\ndef f(): return a.X", 2, "write `from pkg.a import`"),
        ("from pkg.a import NONE\ndef f(): return NONE", 1, "imports `NONE` from pkg.a"),
        ("from pkg.none import X\ndef f(): return X", 1, "imports pkg.none, which is not among"),
        ("from pkg.b import X\nfrom pkg.a import g as f", 2, "imports `g` from pkg.a"),
        ("def f():\n  from pkg.a import X\n  return X", 2, "imports pkg.a inside `f`"),
        ("def f():\n  from .a import X\n  return X", 2, "imports pkg.a inside `f`"),
        ("def f():\n  import pkg.a\n  return pkg", 2, "imports pkg.a inside `f`"),
        ("try:\n  from pkg.a import X as f\nexcept ImportError:\n  f = None", 2, "inside `f`"),
        ("import importlib\ndef f(x): importlib.import_module(x)", 2, "`import_module` imports"),
        ("from importlib import import_module as m\ndef f(): m('pkg.a')", 2, "`import_module`"),
        ("def f(x): return __import__(x)", 1, "`__import__` imports a module while"),
        ("def f(): return __file__", 1, "reads `__file__`, which is not the same in a copy"),
        ("def f(): pass\n\nf()", 3, "does something when the module is imported"),
        ("def f(): pass\nf.x = 1", 2, "does something when the module is imported"),
        ("def f(): pass\nfor x in y: z = x", 2, "does something when the module is imported"),
        ("def f(): pass\nif f: f()", 2, "does something when the module is imported"),
        ("if x:\n  def f(): pass\n  f()", 3, "does something when the module is imported"),
        ("def f(): pass\nx[0]: int = 1", 2, "does something when the module is imported"),
        ("def f(): pass\nx, y.z = 1, 2", 2, "does something when the module is imported"),
        ("from pkg.b import f as f", 1, "imports `f` in a circle"),
    ],
)
def test_what_a_copy_cannot_do_is_an_error_with_its_line(text: str, line: int, said: str) -> None:
    files = {"pkg/__init__.py": "", "pkg/a.py": "X = 1", "pkg/b.py": text}
    found = problem(files, "pkg.b", "f")
    assert found.startswith(f"pkg/b.py:{line}: ")
    assert said in found


@pytest.mark.parametrize(
    "text",
    [
        'r"""A docstring."""\ndef f(): pass\n"A note."\n...',
        'def f(): pass\nif __name__ == "__main__":\n  f()',
        "try:\n  import json as f\nexcept ImportError as error:\n  raise RuntimeError from error",
        "import importlib\ndef f(): return importlib.import_module('json'), importlib.util",
        "def f():\n  import json\n  return json",
        "import pkg.a\nfrom pkg.none import unused\ndef f(): pass",
        "def f(): return __name__",
        "[f, *g], h = [1, 2], 3",
    ],
)
def test_what_a_copy_can_do_is_no_error(text: str) -> None:
    files = {"pkg/__init__.py": "", "pkg/a.py": "X = 1", "pkg/b.py": text}
    assert names(closure(package(files), "pkg.b", ["f"]))[0] == "pkg.b.f"


@pytest.mark.parametrize(
    ("first", "second", "place", "other"),
    [
        ("def f(): return X\nX = 1", "X = 2\ndef g(): return X, f", "b:2", "a:2"),
        ("import json\ndef f(): return json", "json = 1\ndef g(): return json, f", "a:2", "b:2"),
        ("from math import e\ndef f(): return e", "from cmath import e\ndef g(): return e, f")
        + ("a:2", "b:3"),
        # A name that is built in for one module, and defined by the other.
        ("def f(): return max", "max = min\ndef g(): return max, f", "a:1", "b:2"),
        ("import math as max\ndef f(): return max", "def g(): return max, f", "b:2", "a:2"),
        # One new name for two things, or the new name of one and the old of the other.
        ("def f(): return Y\nY = 1", "from pkg.a import f as Y\ndef g(): return Y, f")
        + ("a:1", "a:2"),
    ],
)
def test_one_name_for_two_things_is_an_error_that_names_both_places(
    first: str, second: str, place: str, other: str
) -> None:
    files = {"pkg/a.py": first, "pkg/b.py": f"from pkg.a import f\n{second}"}
    found = problem(files, "pkg.b", "g").replace(".py:", ":")
    here, _, sentence = found.partition(": ")
    there = sentence.partition(" another at ")[2].partition(",")[0]
    assert {here, there} == {f"pkg/{place}", f"pkg/{other}"}


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("MultiHeadAttenton", "no `MultiHeadAttenton`; near it are `MultiHeadAttention`."),
        ("xyz", "pkg/a.py:1: defines no `xyz`."),
        ("math", "pkg/a.py:1: defines no `math`."),
        ("MultiHeadAttention.forward", "take the whole `MultiHeadAttention`."),
    ],
)
def test_an_unknown_name_is_an_error_with_those_near_it(name: str, expected: str) -> None:
    text = "import math\nclass MultiHeadAttention:\n  def forward(self): return math"
    assert problem({"pkg/a.py": text}, "pkg.a", name).endswith(expected)


# A random package: what each definition is made of, and what it is worth, by arithmetic alone.
KINDS = [
    "{name} = 1{sum}",
    "def {name}(): return 1{sum}",
    "class {name}({base}):\n    value = 1{sum}",
]


@given(data=st.data())
def test_a_copy_of_a_random_package_is_worth_what_the_package_is(data: st.DataObject) -> None:
    size = data.draw(st.integers(2, 9))
    kinds = data.draw(st.lists(st.integers(0, 2), min_size=size, max_size=size))
    homes = sorted(data.draw(st.lists(st.integers(0, 3), min_size=size, max_size=size)))
    letters = data.draw(st.permutations("wxyz"))
    value_of = ["{}", "{}()", "{}.value"]
    texts: dict[int, str] = {home: "" for home in homes}
    worth: list[int] = []
    reached: list[set[str]] = []
    for number, (kind, home) in enumerate(zip(kinds, homes, strict=True)):
        needed = data.draw(st.sets(st.integers(0, number - 1))) if number else set()
        bases = [one for one in needed if kinds[one] == 2][:1]
        terms = [value_of[kinds[one]].format(f"n{one}") for one in sorted(needed)]
        for one in needed:
            if homes[one] != home:
                texts[home] += f"from pkg.{letters[homes[one]]} import n{one}\n"
        base = f"n{bases[0]}" if bases else "object"
        total = "".join(f" + {term}" for term in terms)
        texts[home] += KINDS[kind].format(name=f"n{number}", sum=total, base=base) + "\n"
        worth.append(1 + sum(worth[one] for one in needed))
        reached.append({f"n{number}"}.union(*(reached[one] for one in needed)))
    files = {f"pkg/{letters[home]}.py": text for home, text in sorted(texts.items())}
    sources = package({path: files[path] for path in data.draw(st.permutations(sorted(files)))})

    wanted = data.draw(st.integers(0, size - 1))
    noted, _ = snippets(sources, f"pkg.{letters[homes[wanted]]}", f"n{wanted}")
    copied = run(noted)
    expression = value_of[kinds[wanted]].format(f"n{wanted}")
    assert eval(expression, copied) == worth[wanted]
    assert {name for name in copied if name.startswith("n")} == reached[wanted]
