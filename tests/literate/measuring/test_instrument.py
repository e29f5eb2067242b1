r"""What the recorder is told. Modules are run here with a recorder that takes any value, so that
expectations can be written by hand, and the standard library is run to see that nothing changes."""

import asyncio
import inspect
import sys
import sysconfig
import textwrap
import traceback
import warnings
from pathlib import Path
from typing import Any

import pytest

from literate.measuring.instrument import HOOK, instrument

STDLIB = Path(sysconfig.get_path("stdlib"))

Told = tuple[int, str | None, str, Any]


def execute(text: str) -> tuple[list[Told], list[tuple[str, Any]], dict[str, Any]]:
    r"""What was told, what may be an axis, and the module."""
    told: list[Told] = []
    axes: list[tuple[str, Any]] = []

    def recorder(line: int, owner: str | None, name: str, value: Any) -> Any:
        told.append((line, owner, name, value))
        return value

    recorder.axis = lambda name, value: axes.append((name, value))
    module = {HOOK: recorder, "__name__": "page"}
    exec(instrument(textwrap.dedent(text), "page.py"), module)
    return told, axes, module


def told(text: str) -> list[Told]:
    return execute(text)[0]


def bound(text: str) -> list[tuple[int, str, Any]]:
    return [(line, name, value) for line, _, name, value in told(text)]


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        ("x = 1", [("x", 1)]),
        ("x = y = 1", [("x", 1), ("y", 1)]),
        ("x, (y, z) = 1, (2, 3)", [("x", 1), ("y", 2), ("z", 3)]),
        ("[x, *y] = 1, 2, 3", [("x", 1), ("y", [2, 3])]),
        ("x: int = 1", [("x", 1)]),
        ("x: int", []),
        ("x = 1; x += 2; x *= x", [("x", 1), ("x", 3), ("x", 9)]),
        ("print((x := 2), file=None) if False else (y := 3)", [("y", 3)]),
        ("x = (y := 2) + 1", [("y", 2), ("x", 3)]),
        ("x = [y for y in (1, 2)]", [("x", [1, 2])]),
        ("x = [(y := one) for one in (1, 2)]", [("x", [1, 2])]),
        ("x = (lambda a: (b := a))(3)", [("x", 3)]),
        ("x = {}; x['a'] = 1", [("x", {"a": 1})]),
        ("import sys as x", []),
    ],
)
def test_a_statement_binds(statement: str, expected: list[tuple[str, Any]]) -> None:
    assert bound(statement) == [(1, name, value) for name, value in expected]


def test_a_statement_of_many_lines_is_known_by_its_first() -> None:
    text = """
    x = (
        1
        +
        (y := 2)
    )
    """
    assert bound(text) == [(2, "y", 2), (2, "x", 3)]


def test_a_loop_binds_before_each_pass_and_not_after_the_last() -> None:
    text = """
    for index, x in enumerate("ab"):
        x = x + "!"
    else:
        done = index
    """
    assert bound(text) == [
        *((2, "index", 0), (2, "x", "a"), (3, "x", "a!")),
        *((2, "index", 1), (2, "x", "b"), (3, "x", "b!")),
        (5, "done", 1),
    ]


def test_a_while_has_its_own_line_and_an_elif_too() -> None:
    text = """
    left = 2
    while (left := left - 1):
        pass
    if (x := 0):
        pass
    elif (y := 5):
        z = 1
    """
    assert bound(text) == [
        *((2, "left", 2), (3, "left", 1), (3, "left", 0)),
        *((5, "x", 0), (7, "y", 5), (8, "z", 1)),
    ]


def test_a_with_binds_before_its_body_and_not_when_it_ends() -> None:
    text = """
    from contextlib import nullcontext
    with nullcontext(1) as x, nullcontext((2, 3)) as (y, z), nullcontext():
        x = 4
    """
    assert bound(text) == [(3, "x", 1), (3, "y", 2), (3, "z", 3), (4, "x", 4)]


def test_a_statement_that_raises_binds_nothing() -> None:
    text = """
    x = 1
    try:
        x = 1 // 0
    except ZeroDivisionError:
        y = x
    finally:
        z = 3
    """
    assert bound(text) == [(2, "x", 1), (6, "y", 1), (8, "z", 3)]


def test_a_walrus_that_is_skipped_binds_nothing() -> None:
    text = """
    x = 1
    if x == 2 and (x := 3):
        pass
    """
    assert bound(text) == [(2, "x", 1)]


def test_a_function_has_arguments_and_a_result() -> None:
    text = """
    def f(a, /, b, *c, d=4, **e):
        return a + b
    f(1, 2, 3, g=5)
    """
    assert told(text) == [
        *((2, "f", "a", 1), (2, "f", "b", 2), (2, "f", "c", (3,))),
        *((2, "f", "d", 4), (2, "f", "e", {"g": 5})),
        (3, "f", "return", 3),
    ]


def test_arguments_and_results_are_on_lines_of_their_own() -> None:
    text = """
    import functools
    @functools.lru_cache(
        maxsize=None
    )
    def f(
        a,
    ):
        return (
            a
        )
    f(1), f(1)
    """
    assert told(text) == [(7, "f", "a", 1), (9, "f", "return", 1)]


def test_a_call_that_raises_has_arguments_but_no_result() -> None:
    text = """
    def f(a):
        return 1 // a
    def g(a):
        try:
            return f(a)
        except ZeroDivisionError:
            return
    g(0)
    """
    assert told(text) == [(4, "g", "a", 0), (2, "f", "a", 0)]


def test_a_generator_has_arguments_once_and_many_results() -> None:
    text = """
    def f(a):
        got = yield a
        yield from (got, 9)
        return 3
    steps = f(1)
    next(steps), steps.send(2)
    """
    assert [one for one in told(text) if one[2] != "steps"] == [
        *((2, "f", "a", 1), (3, "f", "yield", 1), (3, None, "got", 2)),
    ]


def test_coroutines_are_functions_too() -> None:
    text = """
    async def numbers():
        yield 1
    async def f(a):
        async for x in numbers():
            y = x + a
        return y
    """
    seen, _, module = execute(text)
    assert asyncio.run(module["f"](2)) == 3
    assert seen == [
        *((4, "f", "a", 2), (3, "numbers", "yield", 1)),
        *((5, None, "x", 1), (6, None, "y", 3), (7, "f", "return", 3)),
    ]


def test_what_a_class_binds_belongs_to_it() -> None:
    text = """
    class Outer:
        table = 1
        class Inner:
            def method(self, other):
                self.x: int = 2
                self.y, local = 3, 4
                other.z = 5
                self.part.deep = 6
                def nested():
                    self.w = 7
                    return 8
                return nested()
    class Anything: pass
    inner = Outer.Inner()
    inner.part = Anything()
    inner.method(Anything())
    """
    method = "Outer.Inner.method"
    assert [(line, owner, name) for line, owner, name, _ in told(text)] == [
        (3, "Outer", "table"),
        *((15, None, "inner"), (16, None, "inner.part")),
        *((5, method, "self"), (5, method, "other")),
        *((6, "Outer.Inner", "self.x"), (7, "Outer.Inner", "self.y"), (7, None, "local")),
        *((8, None, "other.z"), (9, "Outer.Inner", "self.part.deep")),
        *((11, None, "self.w"), (12, f"{method}.nested", "return"), (13, method, "return")),
    ]


def test_names_with_two_underscores_are_read_as_the_class_reads_them() -> None:
    text = """
    class A:
        def __init__(self):
            self.__x = 1
            __y = 2
    a = A()
    """
    assert [(name, value) for _, name, value in bound(text)[1:3]] == [("self.__x", 1), ("__y", 2)]


def test_registering_a_buffer_binds_it() -> None:
    text = """
    class A:
        def __init__(self):
            self.register_buffer("x", 1)
            self.register_parameter("y", param=2)
            self.part = self
            self.part.register_buffer("z", 3, persistent=False)
            self.register_hook("w", 4)
        def register_buffer(self, key, value, persistent=True):
            setattr(self, key, value)
        def register_parameter(self, key, param):
            setattr(self, key, param)
        register_hook = register_buffer
    a = A()
    """
    seen = [(line, owner, name) for line, owner, name, _ in told(text) if line in (4, 5, 7, 8)]
    assert seen == [(4, "A", "self.x"), (5, "A", "self.y"), (7, "A", "self.part.z")]


def test_numbers_that_the_example_assigns_may_be_axes() -> None:
    text = """
    def example(heads=5, d_k=2):
        d_model: int = heads * d_k
        heads += 1
        a, (b, *_) = 3, (4, 5)
        for step in range(2):
            last = step
        example.attribute = 6
        _hidden = 7
        def inner():
            not_here = 8
        inner()
    class A:
        def example(self):
            nor_here = 9
    example()
    A().example()
    not_here_either = 10
    """
    _, axes, _ = execute(text)
    assert axes == [
        *(("d_model", 10), ("heads", 6), ("a", 3), ("b", 4)),
        *(("last", 0), ("last", 1)),
    ]


def test_docstrings_and_future_imports_stay_where_they_are() -> None:
    text = '''\
    """Module."""
    from __future__ import annotations
    def f(a: Unknown = 1):
        """Function."""
        b = a
    def g():
        """Only a docstring."""
    class A:
        """Class."""
        c = 1
    f(), g()
    '''
    seen, _, module = execute(text)
    documented = [module["__doc__"], *(module[name].__doc__ for name in ("f", "g", "A"))]
    assert documented == ["Module.", "Function.", "Only a docstring.", "Class."]
    assert module["f"].__annotations__ == {"a": "Unknown"}
    assert seen == [(10, "A", "c", 1), (3, "f", "a", 1), (5, None, "b", 1)]


def test_an_error_has_the_line_of_the_file() -> None:
    text = (
        "def f(a):\n    b = a\n    for c in (\n        b,\n    ):\n        d = 1 // c\n\n\nf(0)\n"
    )
    with pytest.raises(ZeroDivisionError) as caught:
        execute(text)
    lines = [
        frame.lineno for frame in traceback.extract_tb(caught.tb) if frame.filename == "page.py"
    ]
    assert lines == [9, 6]


def test_the_calls_stand_on_the_lines_that_they_tell() -> None:
    places = []

    def recorder(line: int, owner: str | None, name: str, value: Any) -> Any:
        places.append((name, line, sys._getframe(1).f_lineno))
        return value

    text = "a = 1\nfor b in [2]:\n    c = b\n\n\ndef f(d):\n    return (e := d)\n\n\nf(a)\n"
    exec(instrument(text, "page.py"), {HOOK: recorder})
    lines = [("a", 1), ("b", 2), ("c", 3), ("d", 6), ("e", 7), ("return", 7)]
    assert places == [(name, line, line) for name, line in lines]


def test_a_function_keeps_its_signature_and_its_first_line() -> None:
    _, _, module = execute("\n\ndef f(a, /, b=1, *, c=2):\n    return a\n")
    assert str(inspect.signature(module["f"])) == "(a, /, b=1, *, c=2)"
    assert module["f"].__code__.co_firstlineno == 3
    assert module["f"].__code__.co_varnames == ("a", "b", "c")


def test_the_standard_library_compiles() -> None:
    files = sorted(STDLIB.glob("*.py"))[::5] + sorted((STDLIB / "asyncio").glob("*.py"))
    assert len(files) > 50
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for file in files:
            assert instrument(file.read_text(encoding="utf-8"), file.name).co_filename == file.name


@pytest.mark.parametrize(
    ("module", "expression"),
    [
        ("textwrap", "wrap('In the beginning was the word. ' * 9, width=31)"),
        ("colorsys", "[rgb_to_hls(a / 7, b / 7, 0.3) for a in range(7) for b in range(7)]"),
        ("heapq", "nsmallest(5, [7, 3, 9, 1, 8, 2]) + list(merge([1, 4], [2, 3]))"),
        ("fractions", "str(Fraction('3.1415').limit_denominator(99) ** 3 - Fraction(2, 7))"),
        ("difflib", "list(unified_diff('abcdef', 'abxdef', lineterm=''))"),
        ("shlex", "split('one \"two three\" # four') + [quote('a b')]"),
        ("string", "Template('$a is $b').substitute(a=1, b=2)"),
    ],
)
def test_the_standard_library_does_the_same_as_before(module: str, expression: str) -> None:
    text = (STDLIB / f"{module}.py").read_text(encoding="utf-8")
    plain: dict[str, Any] = {"__name__": "plain"}
    exec(compile(text, "plain.py", "exec"), plain)
    seen, _, recorded = execute(text)
    assert eval(expression, recorded) == eval(expression, plain)
    assert len(seen) > 10
