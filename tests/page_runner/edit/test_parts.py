r"""Marks of tensors, what is printed, what is drawn."""

import marshal
import traceback
from typing import Any
from xml.etree import ElementTree

import pytest
import torch

from page_runner.edit import trim
from page_runner.edit.drawing import Axes, Pyplot, Scale
from page_runner.edit.printed import MOST_CHARACTERS, Printed
from page_runner.edit.seen import FIRST, MOST_CALLS, Seen, first_and_mark

SVG = "{http://www.w3.org/2000/svg}"


@pytest.mark.parametrize("dtype", [torch.float32, torch.int64, torch.complex64])
def test_a_mark_differs_when_one_number_does_or_two_change_places(dtype: torch.dtype) -> None:
    tensor = torch.arange(2, 36).to(dtype).reshape(2, 17)
    mark = first_and_mark(tensor)[1]
    assert mark == first_and_mark(tensor.clone())[1]
    changed, swapped = tensor.clone(), tensor.clone()
    changed[1, 16] += 1
    swapped[1, 15], swapped[1, 16] = tensor[1, 16], tensor[1, 15]
    assert len({mark, first_and_mark(changed)[1], first_and_mark(swapped)[1]}) == 3


def test_first_values_are_those_in_reading_order() -> None:
    first, _ = first_and_mark(torch.tensor([[1.23456, -2.0], [3e-9, 4.0]]).mT)
    assert first == ["1.235", "3e-09", "-2", "4"]
    assert len(first_and_mark(torch.zeros(3, 5))[0]) == FIRST
    assert first_and_mark(torch.zeros(0, 5))[0] == []


def test_each_shape_of_a_line_is_told_once() -> None:
    seen = Seen()
    for length in (2, 3, 2, 2):
        seen(7, None, "x", torch.ones(length))
    seen(9, None, "pair", (torch.ones(1), {"a": torch.ones(5)}))
    told = seen.told()
    assert [(one[0], one[1], one[4]) for one in told[7]] == [("x", (2,), 3), ("x", (3,), 1)]
    assert [one[0] for one in told[9]] == ["pair[0]", "pair[1]['a']"]


def test_the_first_calls_of_a_line_are_told_each_with_its_number_and_values() -> None:
    seen = Seen()
    for number in range(1, 32):
        seen(7, None, "x", torch.full((2 + number % 2,), float(number)))
    odd, even = seen.told()[7]
    assert (odd[1], odd[4], even[4]) == ((3,), 16, 15)
    assert [call[0] for call in odd[3]] == [*range(1, 32, 2)][:MOST_CALLS]
    assert [call[1][0] for call in even[3]] == [str(number) for number in range(2, 31, 2)]
    for number in range(3):
        seen(7, None, "x", torch.full((3,), float(number)))
    assert (len(seen.told()[7][0][3]), seen.told()[7][0][4]) == (MOST_CALLS, 19)


def test_a_program_that_prints_for_ever_is_cut() -> None:
    said: list[str] = []
    printed = Printed(said.append)
    for _ in range(3):
        printed.write("x" * (MOST_CHARACTERS // 2))
    printed.flush()
    text = "".join(said)
    assert text.count("x") == MOST_CHARACTERS
    assert text.endswith("what else is printed isn't shown.\n")


def drawn(plot: Pyplot, figures: list[str]) -> ElementTree.Element:
    plot.show()
    return ElementTree.fromstring(figures[-1])


def test_a_curve_and_points_stand_where_their_numbers_are() -> None:
    figures: list[str] = []
    plot = Pyplot(figures.append)
    plot.plot([0, 1, 2], torch.tensor([1.0, 3.0, 2.0]), label="<loss>")
    plot.scatter([0, 2], [1, 1])
    plot.legend()
    plot.title("Loss & more")
    picture = drawn(plot, figures)
    line = picture.find(f".//{SVG}polyline").get("points").split()
    x, y = zip(*(map(float, one.split(",")) for one in line), strict=True)
    assert x[1] - x[0] == pytest.approx(x[2] - x[1])
    # What is larger stands higher, and half-way up is half the number.
    assert y[0] > y[2] > y[1]
    assert y[0] - y[2] == pytest.approx(y[2] - y[1])
    assert len(picture.findall(f".//{SVG}circle")) == 2
    texts = [one.text for one in picture.iter(f"{SVG}text")]
    assert {"<loss>", "Loss & more"} <= {*texts}


def test_a_map_has_a_cell_for_each_number_and_the_largest_is_darkest() -> None:
    figures: list[str] = []
    plot = Pyplot(figures.append)
    plot.imshow(torch.tensor([[0.0, 0.5, 1.0], [0.25, 0.75, 0.5]]))
    cells = [one for one in drawn(plot, figures).iter(f"{SVG}rect")][1:]
    light = [float(one.get("fill").split()[-1].rstrip("%)")) for one in cells]
    assert len(light) == 6
    assert light.index(min(light)) == 2
    assert light.index(max(light)) == 0


def test_bars_stand_on_zero_and_what_has_no_place_is_left_out() -> None:
    figures: list[str] = []
    plot = Pyplot(figures.append)
    plot.bar([0, 1, 2], [-1.0, 0.5, 1.0])
    _, bars = (one.get("d") for one in drawn(plot, figures).iter(f"{SVG}path"))
    ends = [[float(y) for y in bar.split()[1].split("V")] for bar in bars.split("M")[1:]]
    below, half, above = (ground - top for ground, top in ends)
    assert [above, above / 2] == pytest.approx([-below, half], abs=0.2)
    assert len({ground for ground, _ in ends}) == 1 and above > 0

    plot.plot([0.0, 1.0, 2.0], [1.0, 10.0, 100.0])
    plot.xscale("log")
    (curve,) = (one.get("points") for one in drawn(plot, figures).iter(f"{SVG}polyline"))
    assert len(curve.split()) == 2 and "nan" not in curve
    # Beside a large number, a half is nothing.
    assert len({*Scale([1e17, 1e17], 0, 300, is_log=False).ticks}) > 1


def test_several_pictures_of_one_figure() -> None:
    figures: list[str] = []
    _, parts = Pyplot(figures.append).subplots(2, 3)
    assert [len(row) for row in parts] == [3, 3]


@pytest.mark.parametrize("name", ["contour", "pie"])
def test_what_can_not_be_drawn_says_what_can(name: str) -> None:
    with pytest.raises(AttributeError, match=f"{name} can't be drawn here: there are plot"):
        getattr(Axes(), name)


def test_a_scale_of_equal_steps() -> None:
    scale = Scale([1, 1000], 0, 300, is_log=True)
    assert [scale(value) for value in (1, 10, 1000)] == pytest.approx([0, 100, 300])
    assert scale.ticks == pytest.approx([1, 10, 100, 1000])


def test_a_module_of_the_library_has_no_lines_and_its_errors_are_errors() -> None:
    text = b"def f(x):\n    def g():\n        return 1 / x\n    try:\n        return g()\n"
    text += b"    except KeyError:\n        return 0\n    finally:\n        x = 2\n"
    names: dict[str, Any] = {}
    code = trim.compiled(text, "part.py")
    exec(code, names)
    assert names["f"](2) == 0.5
    with pytest.raises(ZeroDivisionError) as caught:
        names["f"](0)
    frames = [one for one in traceback.extract_tb(caught.tb) if one.filename == "part.py"]
    assert [(one.name, one.lineno) for one in frames] == [("f", None), ("g", None)]
    assert "division by zero" in "".join(traceback.format_exception(caught.value))
    whole = compile(text, "part.py", "exec", dont_inherit=True, optimize=2)
    assert len(marshal.dumps(code)) < len(marshal.dumps(whole))
