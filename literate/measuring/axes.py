r"""
---
title: Axes
summary: The name of an axis is found by running the example four times with different sizes.
---

An axis of length 10 could be `heads * d_k`, five heads of two features each, or `2 * heads`, or
`seq_len + batch_size`, or always 10. One run can't tell. Run the example again with other sizes,
and the same axis has length 391, say: of all the simple formulas only one gives both numbers.

Two runs are not enough. Cut a sequence into blocks of four, and the last block has some length from
1 to 4. A difference of two axes may have the same lengths in two runs by coincidence. So there are
four runs, and a name has to hold in each of them. An axis without a name is shown as the number
that it had in the first run.

The sizes of the first run are the author's, pairwise different primes. Those of the others are
chosen here.
"""

import ast
import itertools
import math
import operator
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence

from literate.problems import LiterateError, Problem
from literate.reading.source import Source

# The lengths of one axis in all runs, the author's first.
Sizes = tuple[int, ...]

# How often an example runs.
RUNS = 4


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
    does. Raises a [LiterateError](../problems.py#LiterateError) unless all parameters have defaults
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
    return number > 1 and all(number % divisor for divisor in range(2, math.isqrt(number) + 1))


def all_runs(first: Mapping[str, int]) -> list[dict[str, int]]:
    r"""
    ## The sizes of all runs

    They are primes and keep the order of the first run: where an example needs
    `seq_len <= max_len`, every run has it. No size is smaller than that of the first run.
    """
    runs = [dict(first)]
    while len(runs) < RUNS:
        runs.append(_next_run(runs))
    return runs


def _next_run(earlier: Sequence[Mapping[str, int]]) -> dict[str, int]:
    r"""
    Primes that leave no doubt. Each axis gets a size that it never had; those of the second run
    are above all of the first, which leaves small ones for the others.
    """
    first = earlier[0]
    axes: dict[str, Sizes] = {}
    size = max(first.values(), default=1) if len(earlier) == 1 else 1
    for name in sorted(first, key=first.__getitem__):
        past = tuple(run[name] for run in earlier)
        size = max(size, first[name]) + 1
        while size in past or not is_prime(size) or _ambiguous({**axes, name: (*past, size)}):
            size += 1
        axes[name] = (*past, size)
    return {name: axes[name][-1] for name in first}


def namer(axes: Mapping[str, Sizes]) -> Callable[[Sizes], str]:
    r"""
    ## Name an axis by its sizes

    `axes` are the known names, the more important ones first. The result takes the sizes of an
    axis in all runs and gives its name: one of the known names, or else the simplest formula that
    gives all sizes. Where there is none, and where all sizes are the same, it is the size of the
    first run.
    """
    names: dict[Sizes, str] = {}
    for name, sizes in _formulas(axes):
        names.setdefault(sizes, name)

    def name_of(sizes: Sizes) -> str:
        return str(sizes[0]) if len(set(sizes)) == 1 else names.get(sizes, str(sizes[0]))

    return name_of


def _ambiguous(axes: Mapping[str, Sizes]) -> bool:
    r"""
    Could a formula be taken for a name, for a product of two names, or for a number? A difference
    may not even have a value again, so that a length that varies little is none.
    """
    formulas = [sizes for _, sizes in _formulas(axes)]
    times = Counter(formulas)
    return (
        any(times[sizes] > 1 for _, sizes in _names_and_products(axes))
        or any(len(set(sizes)) == 1 for sizes in formulas)
        or any(sizes[-1] in sizes[:-1] for _, sizes in _differences(axes))
    )


def _formulas(axes: Mapping[str, Sizes]) -> Iterator[tuple[str, Sizes]]:
    r"""
    All formulas with their values in all runs, the simplest first.
    """
    # A name with the same size in all runs can't be told from a number, so it names nothing:
    # that two layers are stacked doesn't make every axis of length two an axis of layers.
    axes = {name: sizes for name, sizes in axes.items() if len(set(sizes)) > 1}
    yield from _names_and_products(axes)
    yield from _products(axes, 3)

    for (a, first), (b, second) in itertools.combinations(axes.items(), 2):
        yield f"{a}+{b}", tuple(map(operator.add, first, second))
    yield from _differences(axes)

    for name, sizes in axes.items():
        for more in (1, 2):
            yield f"{name}+{more}", tuple(size + more for size in sizes)
            yield f"{name}-{more}", tuple(size - more for size in sizes)
        for times in (2, 3, 4):
            yield f"{times}*{name}", tuple(times * size for size in sizes)
        # Half of them, every other one from the first on, and all distances between two.
        yield f"{name}//2", tuple(size // 2 for size in sizes)
        yield f"({name}+1)//2", tuple((size + 1) // 2 for size in sizes)
        yield f"2*{name}-1", tuple(2 * size - 1 for size in sizes)
        yield f"2*{name}+1", tuple(2 * size + 1 for size in sizes)

    for times in (2, 3, 4):
        for name, sizes in _products(axes, 2):
            yield f"{times}*{name}", tuple(times * size for size in sizes)


def _names_and_products(axes: Mapping[str, Sizes]) -> Iterator[tuple[str, Sizes]]:
    yield from axes.items()
    yield from _products(axes, 2)


def _differences(axes: Mapping[str, Sizes]) -> Iterator[tuple[str, Sizes]]:
    for (a, first), (b, second) in itertools.permutations(axes.items(), 2):
        yield f"{a}-{b}", tuple(map(operator.sub, first, second))


def _products(axes: Mapping[str, Sizes], count: int) -> Iterator[tuple[str, Sizes]]:
    for names in itertools.combinations_with_replacement(axes, count):
        factors = (axes[name] for name in names)
        yield "*".join(names), tuple(map(math.prod, zip(*factors, strict=True)))
