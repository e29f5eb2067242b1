r"""References: which names in code are links, and to what. Scopes decide, not spelling."""

import pytest

from literate.python.references import network, references
from literate.python.statements import by_module
from literate.reading.source import parse

OTHER = "class Layer:\n    pass\n\n\ndef norm(x):\n    return x\n\n\nSIZE = 3\n"
# What a package hands on, and what nobody can tell.
HANDED = """from pkg.b import norm as scaled
from .sub.c import *
if some:
    from .b import Layer
try:
    from .b import norm
except ImportError:
    norm = None
"""


def found(text: str) -> list[str]:
    r"""Each reference as `line:column`, the file below the package and the definition."""
    sources = [
        parse(text, "pkg/a.py"),
        parse(OTHER, "pkg/b.py"),
        parse("def deep(): pass\n", "pkg/sub/c.py"),
        parse("x = 1\n", "pkg/sub/__init__.py"),
        parse(HANDED, "pkg/__init__.py"),
    ]
    lines = text.split("\n")
    listed = references(sources[0], by_module(sources))
    assert all(lines[one.line - 1].startswith(one.name, one.column) for one in listed)
    return [f"{one.line}:{one.column} {one.path[4:-3]} {one.target}".rstrip() for one in listed]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # An imported name leads to its definition, wherever it is used.
        (
            "from pkg.b import Layer, norm as n\n\n\ndef f(x):\n    return n(Layer(x))\n",
            ["1:18 b Layer", "1:25 b norm", "5:11 b norm", "5:13 b Layer"],
        ),
        # Relative imports and modules are understood.
        (
            "from .sub.c import deep\nfrom pkg import sub\n\n\nx = deep, sub\n",
            ["1:19 sub/c deep", "2:16 sub/__init__", "5:4 sub/c deep", "5:10 sub/__init__"],
        ),
        # Names of the module lead to their definitions. Columns are counted in characters.
        ("def f():\n    return 'é', g()\ndef g():\n    return f\n", ["2:16 a g", "4:11 a f"]),
        # A local name is no reference, and one that is bound twice is left alone.
        ("from pkg.b import norm\n\n\ndef f(norm):\n    return norm\n", ["1:18 b norm"]),
        ("from pkg.b import norm\n\nx = [norm for norm in ()]\n", ["1:18 b norm"]),
        ("from pkg.b import norm\n\nnorm = norm or None\n", ["1:18 b norm"]),
        # So are names in strings and foreign names.
        ('from torch import norm\n\n\ndef f(x: "norm") -> "f":\n    return norm(x), "f"\n', []),
        # What is no definition is no target.
        ("from pkg.b import SIZE\n\nx = SIZE\n", []),
        # A dotted name through a module leads to its last part, also what a package hands on.
        (
            "import pkg.b\nimport pkg.sub\nimport pkg.b as b\nfrom pkg import b as c\n\n\n"
            "def f(x):\n    return pkg.b.norm(b.Layer.name), c.norm, pkg.scaled, pkg.b.SIZE\n",
            ["4:16 b", "8:17 b norm", "8:24 b Layer", "8:37 b", "8:39 b norm", "8:49 b norm"],
        ),
        ("from . import scaled as n\n\n\nx = n\n", ["1:14 b norm", "4:4 b norm"]),
        ("import pkg.b\n\n\ndef f(pkg):\n    return pkg.b.norm, g().pkg.b.norm\n", []),
        # So does what a package imports in a branch alone, or with all names of a module.
        (
            "from . import Layer, deep, norm\n\n\nclass A(Layer): pass\n",
            ["1:14 b Layer", "1:21 sub/c deep", "4:8 b Layer"],
        ),
        (
            "if some:\n    from .b import norm\n\nx = norm\n",
            ["2:19 b norm", "4:4 b norm"],
        ),
        # Methods of `self` lead to the class that they stand in.
        (
            "class A:\n    def f(self):\n        return self.g() + self.h + self.f\n\n"
            "    def g(self):\n        return 1\n\n\n"
            "class B:\n    def g(self):\n        return self.g\n",
            ["3:20 a A.g", "3:40 a A.f", "11:20 a B.g"],
        ),
    ],
)
def test_names_in_code_lead_to(text: str, expected: list[str]) -> None:
    assert found(text) == expected


def test_a_definition_knows_where_it_is_used() -> None:
    user = (
        "from pkg.b import norm\nclass A:\n    def f(self):\n        return norm(self.g())\n"
        "    def g(self):\n        return self.g\nx = norm\n"
    )
    used = network([parse(user, "pkg/a.py"), parse(OTHER, "pkg/b.py")]).used
    places = {target: [(path, one.line) for path, one in uses] for target, uses in used.items()}
    # Neither the import nor what stands in the definition itself is a use.
    assert places == {
        ("pkg/b.py", "norm"): [("pkg/a.py", 4), ("pkg/a.py", 7)],
        ("pkg/a.py", "A.g"): [("pkg/a.py", 4)],
    }
