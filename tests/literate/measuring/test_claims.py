r"""Claims about shapes: what is one, when it is wrong, and what it may speak of."""

import ast
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from literate.measuring.axes import Sizes
from literate.measuring.claims import Claims, check, parse, tensors_for
from literate.measuring.measure import Measurement, Tensor
from literate.reading.rows import Row, rows
from literate.reading.source import parse as parse_source

AXES: dict[str, Sizes] = {
    **{"seq_len": (7, 23), "batch_size": (3, 17), "heads": (5, 19), "d_k": (2, 13)},
    **{"d_model": (10, 247), "n_layers": (2, 2)},
}


def tensor(name: str, *sizes: Sizes, axes: str = "") -> Tensor:
    r"""A tensor with these sizes. Its axes are named as they were measured, which `check` may only
    quote, or else by their sizes."""
    first, second = tuple(one for one, _ in sizes), tuple(two for _, two in sizes)
    names = tuple(axes.split()) or tuple(f"{one}|{two}" for one, two in sizes)
    return Tensor(name, (first, second), names, "float32")


def named(name: str, *axes: str) -> Tensor:
    return tensor(name, *(AXES[axis] for axis in axes), axes=" ".join(axes))


def problem(code: str, *tensors: Tensor) -> str | None:
    claim = parse(code)
    assert claim is not None, f"{code} is no claim"
    return check(claim, tensors, AXES)


@pytest.mark.parametrize(
    ("code", "names"),
    [
        ("[ seq_len,3 ]", "seq_len"),
        ("[seq_len, ..., heads * d_k]", "d_k heads seq_len"),
        ("[2 * (a + b) - c // 2, a]", "a b c"),
        (" [a,\n  b] ", "a b"),
        ("[a,]", "a"),
    ],
)
def test_a_list_of_axes_is_a_claim(code: str, names: str) -> None:
    claim = parse(code)
    assert claim is not None
    assert sorted(claim.names) == names.split()


@pytest.mark.parametrize(
    "code",
    [
        *("", "seq_len", "(seq_len, d_k)", "{seq_len}", "x[seq_len]", "[seq_len][0]", "[a] + [b]"),
        *("[]", "[1]", "[1, 2]", "[...]", "[3, ...]"),
        *("[-1, a]", "[a / 2]", "[a ** 2]", "[a % 2]", "[a @ b]", "[a if b else c]", "[a and b]"),
        *("[a.b]", "[a[0]]", "[f(a)]", "[lambda: a]", "[*a]", "[[a, b]]", "[(a, b)]", "[a := 1]"),
        *("[a, 'b']", "[a, 1.5]", "[a, 1j]", "[a, True]", "[a, None]", "[a, ... + 1]"),
        *("[a, b", "a, b]", "[a b]", "[a; b]", "[a]: b", "import a", "[a]\nb", "[1is a]"),
        *("[a, \0]", "[\ud800]", "[" * 1000 + "a" + "]" * 1000, "[" + "-" * 10000 + "a]"),
    ],
)
def test_anything_else_is_none(code: str) -> None:
    assert parse(code) is None


brackets = st.text(alphabet="[](),.+-*/ ab1_é\n\\'\"#:=%", max_size=30)


@given(st.one_of(st.text(), brackets, brackets.map(lambda text: f"[{text}]")))
def test_reading_a_claim_never_fails(code: str) -> None:
    claim = parse(code)
    assert claim is None or isinstance(ast.parse(code.strip(), mode="eval").body, ast.List)


@given(st.lists(st.sampled_from(["a", "b", "a*b", "a-b", "a//b", "a // (a - a)", "..."])))
def test_checking_a_claim_never_fails(axes: list[str]) -> None:
    claim = parse(f"[c, {', '.join(axes)}]")
    sizes = {"a": (2, 3), "b": (5, 7), "c": (11, 13)}
    found = check(claim, [tensor("x", (11, 13), (2, 3)), tensor("y", (11, 13))], sizes)
    assert found is None or found.startswith(f"the note says {claim.text}")


@pytest.mark.parametrize(
    "code",
    [
        *("[seq_len, batch_size, d_model]", "[seq_len, batch_size, heads * d_k]"),
        *("[..., d_model]", "[seq_len, ...]", "[seq_len, ..., d_model]", "[..., batch_size, ...]"),
        *("[..., seq_len, batch_size, d_model]", "[seq_len, ..., batch_size, d_model, ...]"),
        *("[..., n_layers * d_model // 2]", "[seq_len - 0 * d_k, ...]"),
    ],
)
def test_a_claim_is_right_if_its_sizes_are(code: str) -> None:
    tensors = named("y", "heads"), named("x", "seq_len", "batch_size", "d_model")
    assert problem(code, *tensors) is None


@pytest.mark.parametrize(
    "code",
    [
        *("[seq_len]", "[seq_len, batch_size]", "[batch_size, seq_len, d_model]"),
        *("[seq_len, batch_size, d_model, 1]", "[1, seq_len, batch_size, d_model]"),
        *("[..., batch_size]", "[batch_size, ...]", "[..., heads, ...]", "[..., seq_len, d_model]"),
        *("[..., d_model - 1]", "[seq_len, batch_size, d_model, ..., d_model]"),
        # Right in the first run only, then in the second run only.
        *("[seq_len, batch_size, 2 * heads]", "[seq_len, 17, 10 * d_k + heads * heads - 244]"),
        *("[seq_len, 3, d_model]", "[seq_len, 17, d_model]"),
    ],
)
def test_a_claim_is_wrong_if_its_sizes_are(code: str) -> None:
    found = problem(code, named("x", "seq_len", "batch_size", "d_model"))
    assert found == f"the note says {code}, measured [seq_len, batch_size, d_model] (x)."


def test_special_shapes() -> None:
    # Numbers and names that never change can be claimed.
    fixed = tensor("x", (7, 23), (2, 2))
    assert problem("[seq_len, 2]", fixed) is problem("[seq_len, n_layers]", fixed) is None
    # Half of an odd number is rounded down.
    assert problem("[seq_len // 2]", tensor("x", (3, 11))) is None
    assert problem("[..., seq_len]", tensor("x")) == (
        "the note says [..., seq_len], measured [] (x)."
    )


@pytest.mark.parametrize(
    ("code", "measured", "similar"),
    [
        # Three at most, and each once.
        (
            "[batch_size, heads, d_model]",
            "seq_len/batch_size heads seq_len d_model/seq_len seq_len seq_len/"
            "batch_size heads d_k/batch_size heads d_k/heads d_model",
            "[batch_size, heads, d_k] (d), [seq_len, seq_len, seq_len] (c), "
            "[batch_size, heads, seq_len, d_model] (b).",
        ),
        # With an ellipsis, more axes are not less similar.
        (
            "[..., heads, d_model]",
            "d_model/seq_len batch_size heads d_k/seq_len batch_size d_model heads/seq_len seq_len",
            "[seq_len, batch_size, d_model, heads] (c), [seq_len, batch_size, heads, d_k] (b), "
            "[seq_len, seq_len] (d).",
        ),
    ],
)
def test_the_most_similar_shapes_come_first(code: str, measured: str, similar: str) -> None:
    shapes = enumerate(measured.split("/"))
    tensors = [named("abcdef"[number], *axes.split()) for number, axes in shapes]
    assert problem(code, *tensors) == f"the note says {code}, measured {similar}"


def test_an_unknown_name_is_told_with_those_that_are_known() -> None:
    are = "its axes are `seq_len`, `batch_size`, `heads`, `d_k`, `d_model`, `n_layers`."
    assert problem("[seq_ln, 3]", named("x", "seq_len")) == (
        f"the note says [seq_ln, 3]: `seq_ln` is no axis of example(); {are}"
    )
    assert problem("[n, seq_len, m*n]") == (
        f"the note says [n, seq_len, m*n]: `n` and `m` are no axes of example(); {are}"
    )
    assert check(parse("[n]"), [], {}) == (
        "the note says [n]: `n` is no axis of example(); its axes are none."
    )


def test_a_claim_about_nothing_or_that_can_t_be_computed_is_wrong() -> None:
    assert problem("[seq_len,\n   d_k]") == (
        "the note says [seq_len, d_k], but no tensor is bound or returned in its row; "
        "does example() run it?"
    )
    found = problem("[seq_len // (d_k - d_k)]", named("x", "seq_len"))
    assert found.startswith("the note says [seq_len // (d_k - d_k)], which can't be computed: ")
    # Deeper than Python can go.
    deep = parse(f"[seq_len{' + 1' * 600}]")
    assert deep is None or check(deep, [named("x", "seq_len")], AXES) is not None


PAGE = parse_source(
    '''\
r"""Module."""
# Above a function without a docstring.
def helper(a,
           b):
    return a
class Layer:
    r"""Class."""
    table = 1
    def __init__(self, x):
        r"""Init."""
        self.x = x
        # Two statements.
        a = 1
        b = (
            2
        )
        # One.
        c = 3
    def forward(self, x):
        r"""Forward."""
        def inner(y):
            r"""Inner."""
            return y
        return inner(x)
class Layer2:
    r"""Another class."""
no_note = 1
''',
    "page.py",
)


def tensors(names: Mapping[Any, str]) -> dict[Any, tuple[Tensor, ...]]:
    return {place: tuple(map(tensor, found.split())) for place, found in names.items()}


MEASURED = Measurement(
    axes={},
    lines=tensors(
        {3: "helper.a helper.b", 5: "helper.return", 8: "table", 9: "init.x", 11: "self.x"}
        | {13: "a", 14: "b", 18: "c"}
    ),
    functions=tensors(
        {
            "helper": "helper.a helper.b helper.return",
            "Layer": "self.x",
            "Layer.__init__": "init.x",
            "Layer.forward": "forward.x forward.return",
            "Layer.forward.inner": "inner.y",
            "Layer2": "other",
        }
    ),
)


def row_of(note: str) -> Row:
    (found,) = [row for row in rows(PAGE) if row.note and note in "\n".join(row.note.texts)]
    return found


@pytest.mark.parametrize(
    ("note", "names"),
    [
        ("Above a function", "helper.a helper.b helper.return"),
        ("Two statements.", "a b"),
        ("One.", "c"),
        ("Init.", "init.x self.x"),
        ("Forward.", "forward.x forward.return"),
        ("Inner.", "inner.y"),
        ("Class.", "self.x init.x forward.x forward.return inner.y"),
        ("Another class.", "other"),
        (
            "Module.",
            "helper.a helper.b helper.return table init.x self.x a b c "
            "forward.x forward.return inner.y other",
        ),
    ],
)
def test_a_note_speaks_of_what_it_stands_beside(note: str, names: str) -> None:
    spoken_of = tensors_for(row_of(note), PAGE, MEASURED)
    assert [one.name for one in spoken_of] == names.split()


def test_where_nothing_was_measured_or_noted_there_is_nothing_to_speak_of() -> None:
    assert tensors_for(row_of("Init."), PAGE, Measurement({}, {}, {})) == ()
    source = parse_source("x = 1\n")
    measured = Measurement({}, {1: (tensor("x"),)}, {})
    assert [tensors_for(row, source, measured) for row in rows(source)] == [()]


def test_why_a_claim_is_not_compared_is_true() -> None:
    source = parse_source('"""A `[n]`."""\ndef example(n=3): ...\n', "a.py")
    (first, *_) = rows(source)
    claims = Claims(source, None)
    assert claims.holds("[n]", 1, first) is False
    assert "its example() was not run" in claims.problems[0].sentence
    # That an example fails is told once.
    claims = Claims(source, None, failed=True)
    assert claims.holds("[n]", 1, first) is False and claims.problems == []
