r"""References: which names in code are links, and to what. Scopes decide, not spelling."""

from literate.python.references import network, references
from literate.python.statements import by_module
from literate.reading.source import Source, parse

OTHER = "class Layer:\n    pass\n\n\ndef norm(x):\n    return x\n\n\nSIZE = 3\n"


def found(text: str) -> list[tuple[str, str, str]]:
    r"""Each reference as `line:column`, the file and the definition."""
    sources = [
        parse(text, "pkg/a.py"),
        parse(OTHER, "pkg/b.py"),
        parse("def deep(): pass\n", "pkg/sub/c.py"),
        parse("x = 1\n", "pkg/sub/__init__.py"),
    ]
    modules = by_module(sources)
    lines = text.split("\n")
    for one in references(sources[0], modules):
        assert lines[one.line - 1][one.column :].startswith(one.name)
    return [
        (f"{one.line}:{one.column}", one.path, one.target)
        for one in references(sources[0], modules)
    ]


def test_an_imported_name_leads_to_its_definition_wherever_it_is_used() -> None:
    text = "from pkg.b import Layer, norm as n\n\n\ndef f(x):\n    return n(Layer(x))\n"
    assert found(text) == [
        ("1:18", "pkg/b.py", "Layer"),
        ("1:25", "pkg/b.py", "norm"),
        ("5:11", "pkg/b.py", "norm"),
        ("5:13", "pkg/b.py", "Layer"),
    ]


def test_a_relative_import_and_a_module_are_understood() -> None:
    text = "from .sub.c import deep\nfrom pkg import sub\n\n\nx = deep, sub\n"
    assert found(text) == [
        ("1:19", "pkg/sub/c.py", "deep"),
        ("2:16", "pkg/sub/__init__.py", ""),
        ("5:4", "pkg/sub/c.py", "deep"),
        ("5:10", "pkg/sub/__init__.py", ""),
    ]


def test_names_of_the_module_lead_to_their_definitions() -> None:
    text = "def f():\n    return g()\n\n\ndef g():\n    return f\n"
    assert found(text) == [("2:11", "pkg/a.py", "g"), ("6:11", "pkg/a.py", "f")]


def test_a_local_name_is_no_reference() -> None:
    text = (
        "from pkg.b import norm\n\n\n"
        "def f(norm):\n    return norm\n\n\n"
        "def g():\n    norm = 1\n    return [norm for norm in (norm,)]\n"
    )
    assert found(text) == [("1:18", "pkg/b.py", "norm")]


def test_a_name_that_is_bound_twice_is_left_alone() -> None:
    text = "from pkg.b import norm\n\nnorm = norm or None\n"
    assert found(text) == [("1:18", "pkg/b.py", "norm")]


def test_names_in_strings_and_foreign_names_are_left_alone() -> None:
    text = 'from torch import norm\n\n\ndef f(x: "norm") -> "f":\n    return norm(x), "f"\n'
    assert found(text) == []


def test_methods_of_self_lead_to_the_class_they_stand_in() -> None:
    text = (
        "class A:\n    def f(self):\n        return self.g() + self.h + self.f\n\n"
        "    def g(self):\n        return 1\n\n\n"
        "class B:\n    def g(self):\n        return self.g\n"
    )
    assert found(text) == [
        ("3:20", "pkg/a.py", "A.g"),
        ("3:40", "pkg/a.py", "A.f"),
        ("11:20", "pkg/a.py", "B.g"),
    ]


def test_columns_are_counted_in_characters() -> None:
    text = "def f():\n    return 'é', f\n"
    assert found(text) == [("2:16", "pkg/a.py", "f")]


def test_what_is_no_definition_is_no_target() -> None:
    assert found("from pkg.b import SIZE\n\nx = SIZE\n") == []


def test_a_source_alone_has_references_to_itself() -> None:
    source: Source = parse("def f():\n    return f\n", "a.py")
    assert [one.target for one in references(source, {})] == ["f"]


def test_a_definition_knows_where_it_is_used() -> None:
    user = (
        "from pkg.b import norm\n\n\nclass A:\n    def f(self):\n        return norm(self.g())\n\n"
        "    def g(self):\n        return self.g\n\n\nx = norm\n"
    )
    found = network([parse(user, "pkg/a.py"), parse(OTHER, "pkg/b.py")])
    places = {
        target: [(path, one.line) for path, one in uses] for target, uses in found.used.items()
    }
    # Neither the import nor what stands in the definition itself is a use.
    assert places == {
        ("pkg/b.py", "norm"): [("pkg/a.py", 6), ("pkg/a.py", 12)],
        ("pkg/a.py", "A.g"): [("pkg/a.py", 6)],
    }
