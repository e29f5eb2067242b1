r"""What the recorder is told. Modules are run here with a recorder that takes any value, so that
expectations can be written by hand, and the standard library is run to see that nothing changes."""

import inspect
import sys
import sysconfig
import traceback
import warnings
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest

from page_runner.instrument import HOOK, instrument

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
    recorder.enter = lambda function: None
    recorder.passes = lambda name, things: things
    module = {HOOK: recorder, "__name__": "page"}
    exec(instrument(dedent(text), "page.py"), module)
    return told, axes, module


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        ("x = 1", [("x", 1)]),
        ("x = y = 1", [("x", 1), ("y", 1)]),
        ("x, (y, z) = 1, (2, 3)", [("x", 1), ("y", 2), ("z", 3)]),
        ("[x, *y] = 1, 2, 3", [("x", 1), ("y", [2, 3])]),
        ("x: int; x: int = 1", [("x", 1)]),
        ("x = 1; x += 2; x *= x", [("x", 1), ("x", 3), ("x", 9)]),
        ("print((x := 2)) if False else (y := 3)", [("y", 3)]),
        ("x = (y := 2) + 1", [("y", 2), ("x", 3)]),
        ("x = [y for y in (1, 2)]", [("x", [1, 2])]),
        ("x = [(y := one) for one in (1, 2)]", [("x", [1, 2])]),
        ("x = (lambda a: (b := a))(3)", [("x", 3)]),
        ("import sys as y; x = {}; x['a'] = 1", [("x", {"a": 1})]),
    ],
)
def test_a_statement_binds(statement: str, expected: list[tuple[str, Any]]) -> None:
    told, _, _ = execute(statement)
    assert told == [(1, None, name, value) for name, value in expected]


# Behind each line stands what is told of it, in this order, as the name and the value.
MARKED = {
    "a statement of many lines is known by its first": """
        x = (  # y=2 x=3
            1 +
            (y := 2)
        )
    """,
    "a loop binds before each pass and not after the last": """
        for index, x in enumerate("ab"):  # index=0 x='a' index=1 x='b'
            x = x + "!"  # x='a!' x='b!'
        else:
            done = index  # done=1
    """,
    "a while has its own line and an elif too": """
        left = 2  # left=2
        while (left := left - 1):  # left=1 left=0
            pass
        if (x := 0):  # x=0
            pass
        elif (y := 5):  # y=5
            z = 1  # z=1
    """,
    "a with binds before its body and not when it ends": """
        from contextlib import nullcontext
        with nullcontext(1) as x, nullcontext((2, 3)) as (y, z), nullcontext():  # x=1 y=2 z=3
            x = 4  # x=4
    """,
    "a function has arguments and a result": """
        def f(a, /, b, *c, d=4, **e):  # f:a=1 f:b=2 f:c=(3,) f:d=4 f:e={'g':5}
            return a + b  # f:return=3
        f(1, 2, 3, g=5)
    """,
    "arguments and results are on lines of their own": """
        import functools
        @functools.lru_cache(
            maxsize=None)
        def f(
            a,  # f:a=1
        ):
            return (  # f:return=1
                a)
        f(1), f(1)
    """,
    "what raises binds nothing and returns nothing, and the function had its arguments": """
        def f(a):  # f:a=0
            return 1 // a
        x = 1  # x=1
        try:
            x = f(0)
        except ZeroDivisionError:
            y = x  # y=1
        finally:
            z = 3  # z=3
        def g(): return
        g()
    """,
    "a generator has arguments once and many results": """
        def f(a):  # f:a=1
            got = yield a  # f:yield=1 got=2
            yield from (got, 9)
            return 3
        def g():
            steps = f(1)  # steps=...
            next(steps), steps.send(2)
        g()
    """,
    "coroutines are functions too": """
        import asyncio
        async def numbers():
            yield 1  # numbers:yield=1
        async def f(a):  # f:a=2
            async for x in numbers():  # x=1
                y = x + a  # y=3
            return y  # f:return=3
        asyncio.run(f(2))
    """,
    "what a class binds belongs to it": """
        class Outer:
            table = 1  # Outer:table=1
            class Inner:
                def method(
                    self,  # Outer.Inner.method:self=...
                    other  # Outer.Inner.method:other=...
                ):
                    self.x: int = 2  # Outer.Inner:self.x=2
                    self.y, local = 3, 4  # Outer.Inner:self.y=3 local=4
                    other.z = 5  # other.z=5
                    self.part.deep = 6  # Outer.Inner:self.part.deep=6
                    def nested():
                        self.w = 7  # self.w=7
                        return 8  # Outer.Inner.method.nested:return=8
                    return nested()  # Outer.Inner.method:return=8
        class Anything: pass
        Outer.Inner.part = Anything()  # Outer.Inner.part=...
        Outer.Inner().method(Anything())
    """,
    "registering a buffer binds it, and two underscores are read as the class reads them": """
        class Base:
            register_buffer = (  # Base:register_buffer=...
                lambda self, key, value, persistent=True: setattr(self, key, value)
            )
            register_parameter = register_buffer  # Base:register_parameter=...
            register_hook = (  # Base:register_hook=...
                lambda self, key, param: setattr(self, key, param)
            )
        class A(Base):
            def f(self):  # A.f:self=...
                self.register_buffer("x", 1)  # A:self.x=1
                self.register_parameter("y", 2)  # A:self.y=2
                self.part = self  # A:self.part=...
                self.part.register_buffer("z", 3, persistent=False)  # A:self.part.z=3
                self.register_hook("w", 4)
                self.__x = 5  # A:self.__x=5
                __y = 6  # __y=6
        A().f()
    """,
    "docstrings and future imports stay where they are": """
        'Module.'
        from __future__ import annotations
        assert __doc__ == 'Module.'
        def f(a: Unknown = 1):  # f:a=1
            'Function.'
            assert f.__doc__ == 'Function.' and f.__annotations__ == {"a": "Unknown"}
        def g():
            'Only a docstring.'
        f(), g()
        assert g.__doc__ == 'Only a docstring.'
    """,
}


@pytest.mark.parametrize("text", MARKED.values(), ids=MARKED)
def test_what_is_told_of_each_line(text: str) -> None:
    told, _, _ = execute(text)
    for number, line in enumerate(dedent(text).splitlines(), start=1):
        expected = line.partition("  # ")[2].split()
        found = [
            (f"{owner}:{name}=" if owner else f"{name}=", repr(value).replace(" ", ""))
            for at, owner, name, value in told
            if at == number
        ]
        # An object says of itself where it lies.
        shown = [name + ("..." if "0x" in value else value) for name, value in found]
        assert shown == expected, line


def test_numbers_that_the_example_assigns_may_be_axes() -> None:
    text = """
    def example(heads=5, d_k=2):
        d_model: int = heads * d_k
        heads += 1
        a, (b, *_) = 3, (4, 5)
        for step in range(2):
            last = step
        example.attribute = _hidden = 7
        def inner(): not_here = 8
        inner()
    class A:
        def example(self): nor_here = 9
    example(), A().example()
    not_here_either = 10
    """
    _, axes, _ = execute(text)
    assert axes == [
        *(("d_model", 10), ("heads", 6), ("a", 3), ("b", 4)),
        *(("last", 0), ("last", 1)),
    ]


def test_functions_are_entered_and_loops_say_what_they_go_through() -> None:
    text = """
    def outer(a):
        'A docstring.'
        class Inner:
            def method(self): return [one for one in a if one]
        return Inner().method()
    lone = lambda: 1
    for i, (x, *_) in enumerate(["ab"]): outer([1, 2])
    for found[0] in [3]: lone()
    both = {(x, y) for x in "ab" for y in x}
    """
    told: list[tuple[Any, ...]] = []

    def recorder(line: int, owner: str | None, name: str, value: Any) -> Any:
        return value

    def passes(name: str, things: Any) -> Any:
        told.append((name, list(things)))
        return told[-1][1]

    recorder.enter = lambda function: told.append((function,))
    recorder.passes = passes
    exec(instrument(dedent(text), "page.py"), {HOOK: recorder, "found": [0]})
    assert told == [
        *(("i", [(0, "ab")]), ("outer",), ("outer.Inner.method",), ("one", [1, 2])),
        *(("_", [3]), ("x", ["a", "b"]), ("y", ["a"]), ("y", ["b"])),
    ]


def test_an_error_has_the_line_of_the_file() -> None:
    text = "def f(a):\n    for c in (\n        a,\n    ):\n        d = 1 // c\n\n\nf(0)\n"
    with pytest.raises(ZeroDivisionError) as caught:
        execute(text)
    frames = traceback.extract_tb(caught.tb)
    assert [one.lineno for one in frames if one.filename == "page.py"] == [8, 5]


def test_the_calls_stand_on_the_lines_that_they_tell() -> None:
    places = []

    def recorder(line: int, owner: str | None, name: str, value: Any) -> Any:
        places.append((name, line, sys._getframe(1).f_lineno))
        return value

    recorder.enter = lambda function: None
    recorder.passes = lambda name, things: things
    text = "a = 1\nfor b in [2]:\n    c = b\n\n\ndef f(d):\n    return (e := d)\n\n\nf(a)\n"
    exec(instrument(text, "page.py"), {HOOK: recorder})
    lines = {"a": 1, "b": 2, "c": 3, "d": 6, "e": 7, "return": 7}
    assert places == [(name, line, line) for name, line in lines.items()]


def test_a_function_keeps_its_signature_and_its_first_line() -> None:
    _, _, module = execute("\n\ndef f(a, /, b=1, *, c=2):\n    return a\n")
    assert str(inspect.signature(module["f"])) == "(a, /, b=1, *, c=2)"
    assert module["f"].__code__.co_firstlineno == 3
    assert module["f"].__code__.co_varnames == ("a", "b", "c")


def test_the_standard_library_compiles() -> None:
    files = [*sorted(STDLIB.glob("*.py"))[::12], *sorted(STDLIB.glob("asyncio/*.py"))[::4]]
    assert len(files) > 20
    for file in files:
        with warnings.catch_warnings(action="ignore"):
            code = instrument(file.read_text(encoding="utf-8"), file.name)
        assert code.co_filename == file.name


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
