r"""
---
title: Axes
summary: Which name an axis has is recovered from two runs with different sizes.
---

An axis of length 10 could be `heads * d_k`, five heads of two features each, or `2 * heads`, or
`seq_len + batch_size`, or always 10. One run can't tell. In a second run with other sizes the same
axis has length 391, say, and of all the simple formulas only one gives both numbers.

The sizes of the first run are the author's, pairwise different primes. Those of the second are
chosen here, so that they leave as little as possible to chance.
"""

import ast
import itertools
import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping

from literate.problems import LiterateError, Problem
from literate.source import Source

Sizes = tuple[int, int]


def example_of(source: Source) -> ast.FunctionDef | None:
    r"""
    ## The example of a page

    None if it has no function of this name at its top level.
    """
    functions = [node for node in source.tree.body if isinstance(node, ast.FunctionDef)]
    return next((node for node in reversed(functions) if node.name == "example"), None)


def first_run(source: Source, example: ast.FunctionDef) -> dict[str, int]:
    r"""
    ## The sizes of the first run

    They are the defaults of the example's parameters, read from the text as the reader of the page
    does. Raises a [LiterateError](problems.py#LiterateError) unless all parameters have defaults
    that are pairwise different primes.
    """
    arguments = example.args
    if arguments.posonlyargs or arguments.vararg or arguments.kwarg:
        sentence = "each parameter of example() must name an axis: no `/`, `*args` or `**kwargs`."
        raise LiterateError([Problem(source.path, example.lineno, sentence)])
    parameters = [*arguments.args, *arguments.kwonlyargs]
    # Positional parameters have their defaults from the last one backwards.
    missing = [None] * (len(arguments.args) - len(arguments.defaults))
    defaults = [*missing, *arguments.defaults, *arguments.kw_defaults]

    problems = []
    sizes: dict[str, int] = {}
    for argument, default in zip(parameters, defaults, strict=True):
        size = default.value if isinstance(default, ast.Constant) else None
        same = [name for name, other in sizes.items() if other == size]
        what = f"`{argument.arg}` of example() has"
        if default is None:
            sentence = f"{what} no default; give it a prime."
        elif not isinstance(size, int) or not is_prime(size):
            sentence = f"{what} the default {ast.unparse(default)}; give it a prime."
        elif same:
            sentence = f"{what} the same default as `{same[0]}`; give it another prime."
        else:
            sizes[argument.arg] = size
            continue
        problems.append(Problem(source.path, argument.lineno, sentence))
    if problems:
        raise LiterateError(problems)
    return sizes


def is_prime(number: int) -> bool:
    r"""
    ## Is it a prime?
    """
    return number > 1 and all(number % one for one in range(2, math.isqrt(number) + 1))


def second_run(first: Mapping[str, int]) -> dict[str, int]:
    r"""
    ## The sizes of the second run

    They are primes above all of the first run, and keep their order: where an example needs
    `seq_len <= max_len`, the second run has it too. A prime with which some formula could be taken
    for a name, for a product of two or for a number is passed over.
    """
    axes: dict[str, Sizes] = {}
    size = max(first.values(), default=1)
    for name in sorted(first, key=first.__getitem__):
        size += 1
        while not is_prime(size) or _ambiguous({**axes, name: (first[name], size)}):
            size += 1
        axes[name] = (first[name], size)
    return {name: axes[name][1] for name in first}


def namer(axes: Mapping[str, Sizes]) -> Callable[[Sizes], str]:
    r"""
    ## Name an axis by its two sizes

    `axes` are the known names, the more important ones first. The result takes the sizes of an
    axis in both runs and gives its name: one of the known names; a number, if both sizes are that
    number; else the simplest formula that gives both; and `?` where there is none.
    """
    names: dict[Sizes, str] = {}
    for name, sizes in _formulas(axes):
        names.setdefault(sizes, name)

    def name_of(sizes: Sizes) -> str:
        return str(sizes[0]) if sizes[0] == sizes[1] else names.get(sizes, "?")

    return name_of


def _ambiguous(axes: Mapping[str, Sizes]) -> bool:
    r"""
    Could a formula be taken for a name, for a product of two names, or for a number?
    """
    formulas = [sizes for _, sizes in _formulas(axes)]
    times = Counter(formulas)
    return any(times[sizes] > 1 for _, sizes in _names_and_products(axes)) or any(
        one == two for one, two in formulas
    )


def _formulas(axes: Mapping[str, Sizes]) -> Iterator[tuple[str, Sizes]]:
    r"""
    All formulas with their values in both runs, the simplest first.
    """
    # A name with the same size in both runs can't be told from a number, so it names nothing:
    # that two layers are stacked doesn't make every axis of length two an axis of layers.
    axes = {name: (one, two) for name, (one, two) in axes.items() if one != two}
    yield from _names_and_products(axes)
    yield from _products(axes, 3)

    for (a, (a1, a2)), (b, (b1, b2)) in itertools.combinations(axes.items(), 2):
        yield f"{a}+{b}", (a1 + b1, a2 + b2)
    for (a, (a1, a2)), (b, (b1, b2)) in itertools.permutations(axes.items(), 2):
        yield f"{a}-{b}", (a1 - b1, a2 - b2)

    for name, (one, two) in axes.items():
        for more in (1, 2):
            yield f"{name}+{more}", (one + more, two + more)
            yield f"{name}-{more}", (one - more, two - more)
        for times in (2, 3, 4):
            yield f"{times}*{name}", (times * one, times * two)
        # Half of them, every other one from the first on, and all distances between two.
        yield f"{name}//2", (one // 2, two // 2)
        yield f"({name}+1)//2", ((one + 1) // 2, (two + 1) // 2)
        yield f"2*{name}-1", (2 * one - 1, 2 * two - 1)
        yield f"2*{name}+1", (2 * one + 1, 2 * two + 1)

    for times in (2, 3, 4):
        for name, (one, two) in _products(axes, 2):
            yield f"{times}*{name}", (times * one, times * two)


def _names_and_products(axes: Mapping[str, Sizes]) -> Iterator[tuple[str, Sizes]]:
    yield from axes.items()
    yield from _products(axes, 2)


def _products(axes: Mapping[str, Sizes], count: int) -> Iterator[tuple[str, Sizes]]:
    for names in itertools.combinations_with_replacement(axes, count):
        one, two = (math.prod(axes[name][run] for name in names) for run in (0, 1))
        yield "*".join(names), (one, two)
