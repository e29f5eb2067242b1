r"""Names of axes. The oracle is arithmetic: a name, computed with the sizes of a run, must give the
length that the axis had in that run."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from literate.measuring.axes import RUNS, Sizes, all_runs, example_of, first_run, is_prime, namer
from literate.problems import LiterateError
from literate.reading.source import parse

PRIMES = [2, 3, 5, 7, 11, 13, 17, 19, 23]

first_runs = st.lists(st.sampled_from(PRIMES), min_size=1, max_size=6, unique=True).map(
    lambda sizes: {f"n{index}": size for index, size in enumerate(sizes)}
)


def sizes_of(first: dict[str, int]) -> dict[str, Sizes]:
    runs = all_runs(first)
    return {name: tuple(run[name] for run in runs) for name in first}


def values(formula: str, axes: dict[str, Sizes]) -> Sizes:
    runs = [{name: sizes[run] for name, sizes in axes.items()} for run in range(RUNS)]
    return tuple(eval(formula, {"__builtins__": {}}, run) for run in runs)


def problems(header: str) -> list[str]:
    source = parse(f"import torch\n\n\n{header}\n    return torch.ones(3)\n", "page.py")
    with pytest.raises(LiterateError) as caught:
        first_run(source, example_of(source))
    return [str(problem) for problem in caught.value.problems]


def test_primes_are_what_the_sieve_leaves() -> None:
    sieve = set(range(2, 200)) - {a * b for a in range(2, 100) for b in range(2, 100)}
    assert {number for number in range(-3, 200) if is_prime(number)} == sieve


@given(first_runs)
def test_all_runs_have_different_primes_in_the_same_order(first: dict[str, int]) -> None:
    runs = all_runs(first)
    assert runs[0] == first and len(runs) == RUNS == 4
    for run in runs:
        assert list(run) == list(first)
        assert all(is_prime(size) and size >= first[name] for name, size in run.items())
        assert sorted(first, key=first.get) == sorted(run, key=run.get)
        assert len(set(run.values())) == len(run)
    assert all(len(set(sizes)) == RUNS for sizes in sizes_of(first).values())
    # No two axes keep their difference.
    _, _, *more = runs
    for a, b in itertools.combinations(first, 2):
        differences = [run[a] - run[b] for run in runs]
        assert all(differences.count(run[a] - run[b]) == 1 for run in more)


@given(first_runs)
def test_no_other_formula_looks_like_a_name_or_a_number(first: dict[str, int]) -> None:
    axes = sizes_of(first)
    more = [f"{name}{change}" for name in axes for change in ("+1", "-1", "+2", "-2", "//2")]
    times = [f"{times}*{name}" for name in axes for times in (2, 3, 4)]
    pairs = [f"{a}{sign}{b}" for a, b in itertools.permutations(axes, 2) for sign in "+-"]
    products = [f"{a}*{b}" for a, b in itertools.combinations_with_replacement(axes, 2)]
    for formula in more + times + pairs + products:
        sizes = values(formula, axes)
        assert sizes not in axes.values(), formula
        assert len(set(sizes)) > 1, formula


@given(first_runs, st.data())
def test_a_name_has_the_right_value_in_every_run(
    first: dict[str, int], data: st.DataObject
) -> None:
    axes = sizes_of(first)
    known = [values(f"{a}*{b}", axes) for a in axes for b in axes]
    near = st.sampled_from(known).map(lambda sizes: (*sizes[:-1], sizes[-1] + 1))
    anything = st.tuples(*[st.integers(0, 3000)] * RUNS)
    sizes = data.draw(st.one_of(anything, near, st.sampled_from([*known, *axes.values()])))
    name = namer(axes)(sizes)
    assert name == str(sizes[0]) or values(name, axes) == sizes


@pytest.mark.parametrize(
    "formula",
    [
        *("heads", "d_k", "heads*d_k", "heads*heads", "seq_len*heads*d_k"),
        *("seq_len+heads", "seq_len-heads", "seq_len+1", "seq_len-1", "seq_len+2", "heads-2"),
        *("2*seq_len", "3*seq_len", "4*heads", "seq_len//2", "(heads+1)//2"),
        *("2*seq_len-1", "2*seq_len+1", "3*heads*d_k"),
    ],
)
def test_formulas_are_found_again(formula: str) -> None:
    axes = sizes_of({"seq_len": 13, "heads": 5, "d_k": 3})
    assert namer(axes)(values(formula, axes)) == formula


def test_what_doesn_t_change_is_a_number_and_no_part_of_a_formula() -> None:
    # Also where a parameter has this size in one run, or something in the example in both.
    name_of = namer({"n_layers": (2, 2), "heads": (5, 29)})
    assert [name_of((size, size)) for size in (0, 1, 2, 5)] == ["0", "1", "2", "5"]
    assert [name_of((10, 58)), name_of((7, 31)), name_of((4, 4))] == ["2*heads", "heads+2", "4"]


def test_earlier_names_win_and_names_win_over_formulas() -> None:
    axes = {"heads": (5, 29), "d_k": (2, 17), "d_model": (10, 493), "width": (10, 493)}
    assert namer(axes)((10, 493)) == "d_model"
    assert [namer({})((3, 3)), namer({})((4, 5))] == ["3", "4"]
    assert all_runs({}) == [{}] * RUNS


def test_the_first_run_has_the_defaults_in_the_order_of_the_parameters() -> None:
    source = parse("def example(seq_len=7, heads: int = 5, *, d_k: int = 2): ...\n")
    found = first_run(source, example_of(source))
    assert list(found.items()) == [("seq_len", 7), ("heads", 5), ("d_k", 2)]


def test_the_example_is_the_function_that_python_would_call() -> None:
    assert example_of(parse("class A:\n    def example(self): ...\nexample = 3\n")) is None
    assert example_of(parse("def example(): ...\ndef example(): ...\n")).lineno == 2


NO_AXIS = "each parameter of example() must name an axis: no `/`, `*args` or `**kwargs`."


@pytest.mark.parametrize(
    ("header", "problem"),
    [
        *((one, "`p` of example() has no default; give it a prime.") for one in ("p", "*, p")),
        *(
            (f"p={value}", f"`p` of example() has the default {value}; give it a prime.")
            for value in ("4", "1", "0.1", "True", "-3", "SIZE")
        ),
        *((f"heads=5, {other}", NO_AXIS) for other in ("/", "*sizes", "**sizes")),
    ],
)
def test_parameters_that_are_no_axes_are_problems(header: str, problem: str) -> None:
    assert problems(f"def example({header}):") == [f"page.py:4: {problem}"]


def test_every_parameter_is_looked_at_and_named_on_its_line() -> None:
    assert problems("def example(\n    heads=4,\n    d_k=3,\n    d_ff=3,\n):") == [
        "page.py:5: `heads` of example() has the default 4; give it a prime.",
        "page.py:7: `d_ff` of example() has the same default as `d_k`; give it another prime.",
    ]


def test_sizes_stay_small_enough_for_a_quick_example() -> None:
    runs = all_runs({"a": 2, "b": 3, "c": 5, "d": 7, "e": 11, "f": 13})
    assert max(size for run in runs for size in run.values()) < 60
