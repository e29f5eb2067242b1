r"""What stands at the end of a line: a shape that is new there, in so many characters as fit."""

import string
import textwrap

import pytest
from hypothesis import given
from hypothesis import strategies as st

from literate.measuring.measure import Measurement, Tensor
from literate.page.shapes import WIDTH, PageShapes, letters
from literate.page.shapes import short as in_letters
from literate.reading.source import parse


def tensor(name: str, axes: str) -> Tensor:
    named = tuple(axes.split())
    return Tensor(name, ((2,) * len(named),), named, "float32")


def page(
    code: str, lines: dict[int, list[tuple[str, str]]], more: tuple[str, ...] = ()
) -> PageShapes:
    source = parse(textwrap.dedent(code).lstrip())
    tensors = {line: tuple(tensor(*one) for one in told) for line, told in lines.items()}
    axes = dict.fromkeys(("seq_len", "batch_size", "heads", *more), (2, 3))
    return PageShapes(source, Measurement(axes, tensors, {}))


def short(code: str, lines: dict[int, list[tuple[str, str]]]) -> dict[int, str]:
    return {line: one.short for line, one in page(code, lines).lines.items()}


@pytest.mark.parametrize(
    ("code", "tensors", "shown"),
    [
        ("x = f(y)", [("x", "")], "scalar"),
        ("self.x = f(y)", [("self.x", "seq_len")], "i"),
        # What the line doesn't begin with is named.
        ("for x in y: pass", [("x", "seq_len")], "x i"),
        ("x = (y := z)", [("y", "seq_len"), ("x", "heads")], "y i · x h"),
        ("x, y = z", [("x", "seq_len"), ("y", "seq_len")], "x, y i"),
        # Several shapes: the first, and how many more.
        ("x = f(y)", [("x", "seq_len"), ("x", "heads"), ("x", "3")], "i (+2)"),
        ("x = f(y)", [("x", "seq_len"), ("x", "seq_len")], "i"),
    ],
)
def test_a_line_shows_its_tensors(code: str, tensors: list[tuple[str, str]], shown: str) -> None:
    assert short(code, {1: tensors}) == {1: shown}


def test_results_have_an_arrow() -> None:
    code = """
        def f(x):
            yield x, y
            return x + 1
        """
    told = {2: [("yield[0]", "seq_len"), ("yield[1].y", "heads")], 3: [("return", "3")]}
    assert short(code, told) == {2: "→[0] i · →[1].y h", 3: "→ 3"}


def test_a_shape_is_shown_where_it_is_new() -> None:
    code = """
        def f(x):
            x = x + 1
            y = x[0]
            y = y.view(2)
            return y


        def g(x):
            x = x * 2
            return x
        """
    told = {
        1: [("x", "seq_len"), ("x", "heads")],
        # Fewer shapes than before are nothing new.
        2: [("x", "heads")],
        3: [("y", "seq_len")],
        4: [("y", "heads")],
        # Nor is a variable that is returned.
        5: [("return", "heads")],
        # Another function has other variables.
        8: [("x", "seq_len")],
        9: [("x", "seq_len")],
        10: [("return", "seq_len")],
    }
    assert short(code, told) == {1: "x i (+1)", 3: "i", 4: "h", 8: "x i"}


def test_all_shapes_are_told_with_the_names_of_their_axes_and_the_letters_in_the_legend() -> None:
    made = page("x, y = z", {1: [("x", "heads seq_len*2"), ("x", "heads*heads"), ("y", "")]})
    (shape,) = made.lines.values()
    told, sign = shape.full.rsplit("\n", 1)
    assert told == "x: [heads, seq_len*2] or [heads*heads]\ny: []"
    assert sign == "(+1): in other calls, or other rounds of a loop, there was one more shape."
    assert made.legend == {"i": "seq_len", "h": "heads"}


@pytest.mark.parametrize(
    ("result", "axes", "shown", "more"),
    [
        # Two letters for one axis, and a letter that its name alone wouldn't get.
        ("ijbh", "seq_len seq_len batch_size heads", "i j b h", {"j": "seq_len"}),
        ("ibq", "seq_len batch_size heads", "i b q", {"q": "heads"}),
        # An axis without a name is its length, or what its length is made of.
        ("ijq", "3 2*heads batch_size", "3 2h q", {"q": "batch_size"}),
        # What doesn't fit its axes isn't theirs.
        ("ij", "seq_len batch_size heads", "i b h", {}),
    ],
)
@pytest.mark.parametrize(
    "line", ["x = torch.einsum({!r}, a, b)", "return einsum({!r}, a)", "x = einsum({!r}, a) / 2"]
)
def test_letters_are_those_of_an_einsum(
    line: str, result: str, axes: str, shown: str, more: dict[str, str]
) -> None:
    name = "x" if line.startswith("x") else "return"
    code = "y = a\n" + line.format(f"ab->{result}")
    others = ("y", "seq_len batch_size heads")
    made = page(code, {1: [others], 2: [(name, axes)]})
    # What stands on other lines is as it would be.
    assert made.lines[1].short == "i b h"
    assert made.lines[2].short.removeprefix("→ ") == shown
    assert made.legend == {"i": "seq_len", "b": "batch_size", "h": "heads"} | more
    assert list(made.legend)[:3] == ["i", "b", "h"]


def test_a_letter_of_an_einsum_stands_for_no_other_name() -> None:
    code = "x = torch.einsum('a->ki', a)\ny = torch.einsum('b->kh', b)\nz = a"
    made = page(
        code,
        {1: [("x", "n_keys heads")], 2: [("y", "heads n_keys")], 3: [("z", "seq_len n_keys")]},
        ("n_keys",),
    )
    assert [one.short for one in made.lines.values()] == ["k i", "h k", "s k"]
    assert made.legend == {"k": "n_keys", "i": "heads", "h": "heads", "s": "seq_len"}


def test_three_dots_say_that_there_are_more_tensors() -> None:
    told = {1: [("left", "seq_len"), ("right", "heads"), ("right", "3"), ("right", "2")]}
    (shape,) = page(f"left, right = {'f' * 60}(x)", told).lines.values()
    assert shape.short == "left i · …"
    assert shape.full.splitlines()[2:] == ["…: the line made more tensors than there is room for."]


@pytest.mark.parametrize(
    ("spare", "expected"),
    [(12, "x i · y h"), (9, "x i · y h"), (8, "x i · …"), (7, "x i · …"), (6, "…"), (1, "…")]
    + [(0, ""), (-2, ""), (-3, "x i · y h")],
)
def test_what_does_not_fit_is_left_out(spare: int, expected: str) -> None:
    # The line, two blanks and `x i · y h`, nine characters, or `x i · …`, seven, or `…`.
    code = f"x, y = {'z' * (WIDTH - 2 - 7 - spare)}"
    (shape,) = page(code, {1: [("x", "seq_len"), ("y", "heads")]}).lines.values()
    assert shape.short == expected


def test_on_a_line_that_is_broken_a_shape_takes_a_part_of_the_first_one() -> None:
    names = [f"tensor_{at}" for at in range(5)]
    code = f"x = {'z' * WIDTH}"
    (shape,) = page(code, {1: [(name, "seq_len") for name in names]}).lines.values()
    assert shape.short == "…"
    assert all(f"{name}: [seq_len]" in shape.full for name in names)


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        ("seq_len_q seq_len_k batch_size heads d_k", "i j b h d"),
        ("seq_len batch_size d_model n_vocab", "i b m v"),
        # A name of one letter keeps it, and so does one that has a usual letter.
        ("batch_size b", "s b"),
        ("d_model depth d_k", "m e d"),
        # The second of two that are usually the same.
        ("seq_len_q seq_len", "i s"),
        # First letters of words, other letters, any letter.
        ("n_layers n_levels nn", "n l a"),
        ("X __ éé", "X a b"),
    ],
)
def test_names_get_the_letters_that_people_write(names: str, expected: str) -> None:
    found = letters(names.split())
    assert list(found) == names.split()
    assert list(found.values()) == expected.split()


@given(st.lists(st.from_regex(r"[a-z_]{1,9}", fullmatch=True), max_size=40, unique=True))
def test_no_two_names_have_one_letter(names: list[str]) -> None:
    found = letters(names)
    assert len(set(found.values())) == len(found)
    # The alphabet may be used up; only then is a name longer than a letter.
    alphabet = set(string.ascii_lowercase)
    assert alphabet <= set(found.values()) or all(len(one) == 1 for one in found.values())


def test_a_shape_in_letters() -> None:
    known = {"seq_len": "i", "heads": "h", "d_k": "d"}
    axes = "seq_len heads 3 heads*d_k 2*heads*d_k seq_len-1 (d_k+1)//2 seq_len+heads".split()
    assert in_letters(axes, known) == "i h 3 hd 2hd i-1 (d+1)//2 i+h"
    assert in_letters([], known) == "scalar"
