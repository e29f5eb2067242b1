r"""
---
title: Judging
summary: What a reader's line gives beside the lesson's, and which known mistake it is.
---

A reader has written a line, or mended a bug. The example of the lesson runs with the reader's code
and with the lesson's, and all results are compared, those of the function with the line included.
If they differ, each mistake that is likely is made in turn: the one that gives what the reader's
code gives is named.

A result is taken apart until there are numbers, texts, tensors and arrays: lists and dictionaries
by their elements, objects of the lesson's own classes by their attributes, other objects by the
text that Python writes of them. What can be called, as a function or a model, is part of the
program and no result. What the example prints is one, too.

Dropout is off while both run. Which elements it drops depends on how a tensor lies in memory: of
two right lines that leave their results in different orders of axes, each would lose other
elements. What was to be dropped is compared instead, without regard to the order.

A line may use `torch`, `nn`, `F`, `math` or `np` where the page hasn't imported them. The judge
lends it these names while the example runs, and says so: the line is right, an import is missing.

The function stands in notebooks as well, which have a copy of its text. So it brings all that it
needs along, and asks for no library: where PyTorch or NumPy are used, the lesson has imported them.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from types import CodeType
from typing import Any

# What makes a run ready: the code of a function, and the example that calls it.
Run = Callable[[], tuple[CodeType, Callable[[], Any]]]


# A copy knows none of the names of this module: so they are quoted.
def judge_runs(
    lesson: "Run",
    yours: "Run",
    wrong: "Mapping[str, Run]",
    bound: "Sequence[str]",
    bug: bool = False,
) -> str:
    r"""
    ## Say how your results differ from the lesson's

    * `lesson` and `yours` are the two runs, and those of `wrong` are mistakes by their names
    * `bound` are names that the line binds, which are compared as well
    * with a `bug` the first mistake is the one that was there from the beginning, and not named

    An error of `yours` is raised.
    """
    import io
    import math
    import random
    import sys
    from contextlib import contextmanager, redirect_stdout, suppress
    from itertools import zip_longest

    plain = bool, int, float, complex, str, bytes, type(None)
    containers = tuple, list, dict, set, frozenset

    class Kind(str):
        __repr__ = str.__str__

    def is_array(value: "Any") -> bool:
        return hasattr(value, "shape") and hasattr(value, "dtype") and hasattr(value, "tolist")

    def is_number(value: "Any") -> bool:
        return isinstance(value, (int, float, complex)) and not isinstance(value, bool)

    def copied(value: "Any") -> "Any":
        return value.detach().clone() if hasattr(value, "detach") else value.copy()

    def parts(name: str, value: "Any", own: str, around: tuple = ()) -> "Iterator[tuple]":
        if isinstance(value, plain):
            yield name, value
        elif is_array(value):
            yield name, copied(value)
        elif callable(value) or hasattr(value, "__next__") or id(value) in around:
            return
        elif isinstance(value, containers):
            # Neither a set nor, to `==`, a dictionary has an order.
            inside: Any = enumerate(value)
            if isinstance(value, dict):
                inside = sorted(value.items(), key=lambda item: repr(item[0]))
            elif isinstance(value, (set, frozenset)):
                inside = enumerate(sorted(value, key=repr))
            # A shape is a tuple, and a counter a dictionary.
            kind = next(one for one in containers if isinstance(value, one))
            yield name, Kind(f"a {kind.__name__}")
            yield f"the length of {name}", len(value)
            for key, part in inside:
                yield from parts(f"{name}[{key!r}]", part, own, (*around, id(value)))
        elif type(value).__module__.partition(".")[0] == own:
            slots = [one for each in type(value).__mro__ for one in getattr(each, "__slots__", ())]
            held = {one: getattr(value, one) for one in slots if hasattr(value, one)}
            yield name, Kind(f"a {type(value).__name__}")
            for key, part in (held | getattr(value, "__dict__", {})).items():
                yield from parts(f"{name}.{key}", part, own, (*around, id(value)))
        elif not repr(value).startswith("<"):
            yield name, repr(value)

    @contextmanager
    def seeded(dropped: list) -> "Iterator[None]":
        torch = sys.modules.get("torch")
        numpy = sys.modules.get("numpy")
        state = random.getstate()
        random.seed(1)
        numbers = numpy and numpy.random.get_state()
        if numpy:
            numpy.random.seed(1)
        try:
            if not torch:
                yield
                return
            functional = torch.nn.functional
            dropout = functional.dropout

            def keep(
                input: "Any", p: float = 0.5, training: bool = True, inplace: bool = False
            ) -> "Any":
                chance = float(p) if training else 0.0
                given = input.detach().flatten().sort().values
                dropped.append(("what dropout is given", chance))
                dropped.append(("what dropout is given", given.clone()))
                return input

            functional.dropout = keep
            try:
                with torch.random.fork_rng():
                    torch.manual_seed(1)
                    yield
            finally:
                functional.dropout = dropout
        finally:
            random.setstate(state)
            if numpy:
                numpy.random.set_state(numbers)

    def names_in(code: "CodeType") -> "set[str]":
        inside = (names_in(one) for one in code.co_consts if isinstance(one, type(code)))
        return set(code.co_names).union(*inside)

    def usual(code: "CodeType", known: "Mapping[str, Any]") -> "dict[str, Any]":
        names: dict[str, Any] = {"math": math, "np": sys.modules.get("numpy")}
        torch = sys.modules.get("torch")
        if torch:
            names.update(torch=torch, nn=torch.nn, F=torch.nn.functional)
        asked = names_in(code) - set(known)
        return {name: one for name, one in sorted(names.items()) if name in asked and one}

    def run(made: "Run") -> tuple[list, list, list]:
        results: list = []
        way: list = []
        dropped: list = []
        code, example = made()
        own = (example.__module__ or "builtins").partition(".")[0]
        around = getattr(example, "__globals__", {})
        lent = usual(code, around)

        def look(frame: "Any", event: str, value: "Any") -> None:
            if event == "return" and frame.f_code is code:
                results.extend(parts("what it returns", value, own))
                for name in bound:
                    way.extend(parts(f"`{name}`", frame.f_locals.get(name), own))

        before = sys.getprofile()
        printed = io.StringIO()
        with seeded(dropped), redirect_stdout(printed):
            around.update(lent)
            sys.setprofile(look)
            try:
                results.extend(parts("what the example returns", example(), own))
            finally:
                sys.setprofile(before)
                for name in lent:
                    del around[name]
        results.append(("what the example prints", printed.getvalue()))
        return results + dropped, way, [*lent]

    def short(value: "Any") -> str:
        if is_array(value):
            kind = "a tensor" if hasattr(value, "detach") else "an array"
            return f"{kind} of the shape {[*value.shape]}"
        text = repr(value)
        return text if len(text) <= 80 else f"{text[:79]}…"

    def near(one: "Any", other: "Any") -> bool:
        pairs = (one.real, other.real), (one.imag, other.imag)
        return all(
            math.isclose(a, b, rel_tol=1e-4, abs_tol=1e-9) or (a != a and b != b) for a, b in pairs
        )

    def as_array(number: "Any", like: "Any") -> "Any":
        if hasattr(like, "detach"):
            return sys.modules["torch"].as_tensor(number)
        return sys.modules["numpy"].asarray(number)

    def differ(name: str, one: "Any", other: "Any") -> str:
        # A number of Python is as good as a tensor that holds one.
        if is_array(one) and isinstance(other, (bool, int, float)):
            other = as_array(other, one)
        elif is_array(other) and isinstance(one, (bool, int, float)):
            one = as_array(one, other)
        told = f"{name} is {short(one)}, and the lesson's {short(other)}"
        if is_array(one) != is_array(other):
            return told
        if not is_array(one):
            # 2 is as good as 2.0; two whole numbers are equal, or they are not.
            if is_number(one) and is_number(other):
                whole = isinstance(one, int) and isinstance(other, int)
                return "" if (one == other if whole else near(one, other)) else told
            is_same = type(one).__name__ == type(other).__name__ and one == other
            return "" if is_same else told
        if one.shape != other.shape:
            return f"{name} has the shape {[*one.shape]}, and the lesson's {[*other.shape]}"
        if one.dtype != other.dtype:
            return f"{name} is {one.dtype}, and the lesson's {other.dtype}"
        if hasattr(one, "detach"):
            allclose = sys.modules["torch"].allclose
            is_same = allclose(one.double(), other.double(), 1e-4, 1e-5, equal_nan=True)
        elif one.dtype.kind in "fc":
            is_same = sys.modules["numpy"].allclose(one, other, 1e-4, 1e-9, equal_nan=True)
        else:
            is_same = (one == other).all()
        if is_same:
            return ""
        return f"{name} has the right shape, but other numbers than the lesson's"

    def difference(found: list, expected: list) -> str:
        nothing = "", None
        for (name, one), (right, other) in zip_longest(found, expected, fillvalue=nothing):
            if name != right:
                return "something is missing in the results, or there is too much"
            said = differ(name, one, other)
            if said:
                return said
        return ""

    results, way, _ = run(lesson)
    found, found_way, lent = run(yours)
    said, on_the_way = difference(found, results), difference(found_way, way)
    if not said and not on_the_way:
        right = "Right: the same results as the lesson's, wherever one can look."
        imported = ", ".join(f"`{name}`" for name in lent)
        return f"{right} The page doesn't import {imported}; the judge did." if lent else right
    for number, (name, mistake) in enumerate(wrong.items()):
        # A mistake may stop the example, or its source may be out of reach.
        with suppress(Exception):
            known, known_way, _ = run(mistake)
            if not difference(found, known) and not difference(found_way, known_way):
                if bug and number == 0:
                    return "Not yet. The bug is still there."
                return f"Not yet. This is a known mistake: {name}."
    if said:
        return f"Not yet: {said}."
    return f"The example gives the right results, so it can't tell. But {on_the_way}."
