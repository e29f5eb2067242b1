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


def test_a_definition_brings_what_it_uses_and_nothing_else() -> None:
    files = {
        "pkg/a.py": """
            LIMIT, OTHER = 3, 4
            UNUSED = 5

            def helper(x):
                return x + LIMIT

            def unused():
                return UNUSED
        """,
        "pkg/b.py": """
            from pkg.a import helper, unused

            class Base:
                pass

            class Wanted(Base):
                def method(self):
                    return helper(self.method())
        """,
    }
    found = closure(package(files), "pkg.b", ["Wanted"])
    assert names(found) == [
        "pkg.a.LIMIT",
        "pkg.a.OTHER",
        "pkg.a.helper",
        "pkg.b.Base",
        "pkg.b.Wanted",
    ]


def test_modules_come_after_those_they_need_and_otherwise_in_reading_order() -> None:
    files = {
        "pkg/z.py": "def z(): return 1",
        "pkg/last.py": """
            from pkg.a import a
            from pkg.m import m
            from pkg.z import z
            def last(): return a(), m(), z()
        """,
        "pkg/m.py": "def m(): return 1",
        "pkg/a.py": "from pkg.m import m\ndef a(): return m()",
    }
    found = closure(package(files), "pkg.last", ["last"])
    assert names(found) == ["pkg.z.z", "pkg.m.m", "pkg.a.a", "pkg.last.last"]


def test_functions_that_call_each_other_keep_the_order_of_the_file() -> None:
    files = {
        "pkg/a.py": """
            def even(n): return n == 0 or odd(n - 1)

            def odd(n): return n != 0 and even(n - 1)
        """
    }
    assert names(closure(package(files), "pkg.a", ["odd"])) == ["pkg.a.even", "pkg.a.odd"]


def test_an_import_cycle_is_ordered_by_what_is_needed_now() -> None:
    files = {
        "pkg/a.py": """
            from typing import TYPE_CHECKING
            if TYPE_CHECKING:
                from pkg.b import Child

            class Parent:
                def child(self) -> "Child": ...
        """,
        "pkg/b.py": """
            from pkg.a import Parent

            class Child(Parent): pass
        """,
    }
    for order in (list(files), list(files)[::-1]):
        sources = package({path: files[path] for path in order})
        assert names(closure(sources, "pkg.a", ["Parent"])) == ["pkg.a.Parent", "pkg.b.Child"]


def test_a_cycle_is_ordered_as_python_imports_it() -> None:
    # `import pkg.a` works and `import pkg.b` does not.
    files = {
        "pkg/b.py": """
            from pkg.a import Base
            class Child(Base): pass
            def children(): return [Child]
        """,
        "pkg/a.py": """
            class Base: pass
            from pkg.b import children
            CHILDREN = children()
        """,
    }
    found = closure(package(files), "pkg.a", ["CHILDREN"])
    assert names(found) == ["pkg.a.Base", "pkg.b.Child", "pkg.b.children", "pkg.a.CHILDREN"]


def test_a_package_runs_before_its_modules() -> None:
    # `import pkg.a` works, because it runs `pkg` first, and `pkg` imports `pkg.b`.
    files = {
        "pkg/a.py": "from pkg.b import B\nclass A(B): pass",
        "pkg/b.py": "class B: pass\nfrom pkg.a import A\nLATER = A",
        "pkg/c.py": "from pkg.a import A\nfrom pkg.b import LATER\ndef c(): return A, LATER",
        "pkg/__init__.py": "from pkg.b import LATER",
    }
    order = names(closure(package(files), "pkg.c", ["c"]))
    assert order == ["pkg.b.B", "pkg.a.A", "pkg.b.LATER", "pkg.c.c"]


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
    ("statement", "used", "expected"),
    [
        ("import math", "math.pi", Import("math", "", "")),
        ("import os.path", "os.path.sep", Import("os.path", "", "")),
        ("import torch.nn.functional as F", "F.relu", Import("torch.nn.functional", "", "F")),
        ("from torch import nn, optim", "nn.Linear", Import("torch", "nn", "")),
        ("from torch import nn as layers", "layers.Linear", Import("torch", "nn", "layers")),
        ("from torch.nn import Linear as Linear", "Linear(1)", Import("torch.nn", "Linear", "")),
    ],
)
def test_of_the_outside_imports_only_the_used_are_kept(
    statement: str, used: str, expected: Import
) -> None:
    files = {"pkg/a.py": f"import json\n{statement}\ndef f(): return {used}"}
    assert closure(package(files), "pkg.a", ["f"]).imports == (expected,)


def test_the_same_import_in_two_spellings_is_kept_once() -> None:
    files = {
        "pkg/a.py": "import torch.nn as nn\ndef f(): return nn.Linear",
        "pkg/b.py": "from torch import nn\nfrom pkg.a import f\ndef g(): return f(), nn.Linear",
    }
    assert closure(package(files), "pkg.b", ["g"]).imports == (Import("torch", "nn", ""),)


def test_submodules_that_bind_one_name_are_all_kept() -> None:
    files = {"pkg/a.py": "import os\nimport os.path\nimport json\ndef f(): return os.path.sep"}
    found = closure(package(files), "pkg.a", ["f"]).imports
    assert found == (Import("os", "", ""), Import("os.path", "", ""))


def test_an_import_for_type_checkers_stays_one_unless_another_module_runs_it() -> None:
    checked = """
        from typing import TYPE_CHECKING
        if TYPE_CHECKING:
            from decimal import Decimal
        def f(x: "Decimal"): return x
    """
    running = "from decimal import Decimal\nfrom pkg.a import f\ndef g(): return f(Decimal())"
    sources = package({"pkg/a.py": checked, "pkg/b.py": running})
    assert closure(sources, "pkg.a", ["f"]).imports == (Import("decimal", "Decimal", "", True),)
    assert closure(sources, "pkg.b", ["g"]).imports == (Import("decimal", "Decimal", "", False),)


def test_of_two_spellings_the_one_that_runs_is_kept() -> None:
    checked = """
        from typing import TYPE_CHECKING
        if TYPE_CHECKING:
            from abc import ABC
            from torch import nn
        def f(x: "nn", y: "ABC"): return x
    """
    running = "import torch.nn as nn\nfrom pkg.a import f\ndef g(): return f(nn)"
    sources = package({"pkg/a.py": checked, "pkg/b.py": running})
    assert closure(sources, "pkg.b", ["g"]).imports == (
        Import("abc", "ABC", "", True),
        Import("torch.nn", "", "nn", False),
    )


def test_packages_from_outside_are_found_inside_functions_too() -> None:
    files = {
        "pkg/a.py": """
            import json
            import torch.nn
            def f():
                import labml.internal
                from tqdm.auto import tqdm
                return torch.nn, labml, tqdm
        """
    }
    assert closure(package(files), "pkg.a", ["f"]).outside == {
        "torch.nn",
        "labml.internal",
        "tqdm.auto",
    }


def test_relative_imports_are_understood() -> None:
    files = {
        "pkg/__init__.py": "TOP = 1",
        "pkg/sub/__init__.py": "from .a import one\nfrom .. import TOP\ndef here(): one, TOP",
        "pkg/sub/a.py": "from ..b import two\ndef one(): return two",
        "pkg/b.py": "def two(): pass",
    }
    found = closure(package(files), "pkg.sub", ["here"])
    assert sorted(names(found)) == ["pkg.TOP", "pkg.b.two", "pkg.sub.a.one", "pkg.sub.here"]


def test_a_name_can_be_taken_from_a_module_that_passes_it_on() -> None:
    files = {
        "pkg/__init__.py": "from pkg.a import f",
        "pkg/a.py": "import math\nfrom math import pi\ndef f(): return math",
        "pkg/b.py": "from pkg import f\nfrom pkg.a import pi\ndef g(): return f, pi",
    }
    found = closure(package(files), "pkg.b", ["g"])
    assert names(found) == ["pkg.a.f", "pkg.b.g"]
    assert found.imports == (Import("math", "", ""), Import("math", "pi", ""))
    assert names(closure(package(files), "pkg", ["f"])) == ["pkg.a.f"]


def test_an_import_under_another_name_becomes_an_assignment() -> None:
    files = {
        "pkg/a.py": "class Long: pass\n\nclass After(Long): pass",
        "pkg/b.py": "from pkg.a import Long as L\nfrom pkg.a import After\nclass B(L, After): pass",
        "pkg/c.py": "from pkg.a import Long as L\nfrom pkg.b import B\ndef c(): return L, B",
    }
    found = closure(package(files), "pkg.c", ["c"])
    assert [piece.text for piece in found.pieces if piece.renames] == ["L = Long\n"]
    order = names(found)
    assert order.index("pkg.a.Long") < order.index("pkg.a.L") < order.index("pkg.b.B")


def test_another_name_comes_behind_what_it_names() -> None:
    files = {
        "pkg/a.py": "def first(): pass\ndef second(): pass",
        "pkg/pass_on.py": "from pkg.a import first\nfrom math import pi",
        "pkg/b.py": """
            from pkg.pass_on import first as f, pi as p
            from pkg.a import second as s
            def b(): return f, s, p
        """,
    }
    order = [name.rpartition(".")[2] for name in names(closure(package(files), "pkg.b", ["b"]))]
    assert order == ["first", "second", "s", "f", "p", "b"]


def test_all_statements_that_bind_a_name_belong_to_it() -> None:
    files = {
        "pkg/a.py": """
            from typing import overload

            NAMES = ["a"]
            NAMES += ["b"]

            @overload
            def f(x: int) -> int: ...
            @overload
            def f(x: str) -> str: ...
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
    }
    found = closure(package(files), "pkg.a", ["g"])
    assert [piece.line for piece in found.pieces] == [3, 4, 6, 8, 10, 12, 17]
    assert found.imports == (Import("typing", "overload", ""),)


def test_statements_on_one_line_stay_together() -> None:
    files = {"pkg/a.py": "a = 1; b = 2\nc = 3"}
    assert names(closure(package(files), "pkg.a", ["b"])) == ["pkg.a.a", "pkg.a.b"]


def test_variants_that_are_registered_with_a_function_come_with_it() -> None:
    files = {
        "pkg/a.py": """
            from functools import singledispatch

            @singledispatch
            def show(x): return "?"

            @show.register
            def _(x: int): return "int"

            @show.register(str)
            def _(x): return HERE

            HERE = "str"

            def not_registered(): pass
        """
    }
    found = closure(package(files), "pkg.a", ["show"])
    assert names(found) == ["pkg.a.show", "pkg.a._", "pkg.a._", "pkg.a.HERE"]


def test_a_type_alias_and_an_annotated_constant_are_definitions() -> None:
    files = {
        "pkg/a.py": """
            from dataclasses import dataclass

            Pair = tuple["Config", int]
            SIZE: int = 3

            @dataclass
            class Config:
                size: int = SIZE

            DEFAULT = Config()

            def f(x: Pair) -> "Config": return DEFAULT
        """
    }
    found = closure(package(files), "pkg.a", ["f"])
    assert [name.rpartition(".")[2] for name in names(found)] == [
        "Pair",
        "SIZE",
        "Config",
        "DEFAULT",
        "f",
    ]


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
        ("import importlib\ndef f(): importlib.import_module('pkg.a')", 2, "`import_module`"),
        ("from importlib import import_module\ndef f(): import_module('.a')", 2, "`import_module`"),
        ("from importlib import import_module as m\ndef f(): m('pkg.a')", 2, "`import_module`"),
        ("def f(x): return __import__(x)", 1, "`__import__` imports a module while"),
        ("def f(): return __file__", 1, "reads `__file__`, which is not the same in a copy"),
        ("def f(): pass\n\nf()", 3, "does something when the module is imported"),
        ("def f(): pass\nf.x = 1", 2, "does something when the module is imported"),
        ("def f(): pass\nfor x in y: z = x", 2, "does something when the module is imported"),
        ("def f(): pass\nif f: f()", 2, "does something when the module is imported"),
        ("if x:\n  def f(): pass\n  f()", 3, "does something when the module is imported"),
        ("def f(): pass\nassert f", 2, "does something when the module is imported"),
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
        ("def f(): return X\nX = 1", "X = 2\ndef g(): return X, f", "pkg/b.py:2", "pkg/a.py:2"),
        (
            "import json\ndef f(): return json",
            "json = 1\ndef g(): return json, f",
            "pkg/a.py:2",
            "pkg/b.py:2",
        ),
        (
            "from math import sqrt\ndef f(): return sqrt",
            "from cmath import sqrt\ndef g(): return sqrt, f",
            "pkg/a.py:2",
            "pkg/b.py:3",
        ),
        # A name that is built in for one module, and defined by the other.
        ("def f(): return max", "max = min\ndef g(): return max, f", "pkg/a.py:1", "pkg/b.py:2"),
        (
            "import math as max\ndef f(): return max",
            "def g(): return max, f",
            "pkg/b.py:2",
            "pkg/a.py:2",
        ),
        # One new name for two things, or the new name of one and the old of the other.
        (
            "def f(): return Y\nY = 1",
            "from pkg.a import f as Y\ndef g(): return Y, f",
            "pkg/a.py:1",
            "pkg/a.py:2",
        ),
    ],
)
def test_one_name_for_two_things_is_an_error_that_names_both_places(
    first: str, second: str, place: str, other: str
) -> None:
    files = {"pkg/a.py": first, "pkg/b.py": f"from pkg.a import f\n{second}"}
    found = problem(files, "pkg.b", "g")
    here, _, sentence = found.partition(": ")
    there = sentence.partition(" another at ")[2].partition(",")[0]
    assert {here, there} == {place, other}


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


def test_an_unknown_module_is_an_error() -> None:
    assert problem({"pkg/a.py": "X = 1"}, "pkg.none", "X").startswith("pkg.none:1: ")


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
