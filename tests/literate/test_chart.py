r"""Charts: where their numbers stand, what is drawn, and that nothing lies on anything else."""

import math
import re
from itertools import combinations, pairwise
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as some

from literate import chart as charts
from literate.chart import chart, description, labels, number, scale, spread
from literate.results import Axis, Figure, Line

NUMBERS = some.floats(-1e9, 1e9).filter(lambda one: one == 0 or abs(one) > 1e-9)


def figure(*lines: Line, x: Axis | None = None, y: Axis | None = None) -> Figure:
    return Figure("A figure", x or Axis("Steps"), y or Axis("Loss", "nats"), lines)


def line(name: str, *heights: float) -> Line:
    return Line(name, tuple((float(x), y) for x, y in enumerate(heights)))


def drawn(shown: str) -> ElementTree.Element:
    r"""The SVG, which is read as strictly as XML."""
    return ElementTree.fromstring(shown[shown.index('<svg class="plot"') :])


def texts(svg: ElementTree.Element) -> list[str]:
    return [one.text or "" for one in svg.iter("text")]


def paths(svg: ElementTree.Element) -> list[str]:
    r"""The lines of the figure."""
    return [one.attrib["d"] for one in svg.iter("path") if "drawn" in one.get("class", "")]


@pytest.mark.parametrize(
    ("values", "kind", "most", "fits", "ends", "ticks"),
    [
        ([0, 10], "linear", 5, True, (0, 10), (0, 2, 4, 6, 8, 10)),
        ([0, 2000], "linear", 7, True, (0, 2000), (0, 500, 1000, 1500, 2000)),
        ([1.53, 4.9], "linear", 6, False, (1, 5), (1, 2, 3, 4, 5)),
        ([1.5, 1.72], "linear", 6, False, (1.5, 1.75), (1.5, 1.55, 1.6, 1.65, 1.7, 1.75)),
        ([1, 9], "linear", 6, False, (0, 10), (0, 2, 4, 6, 8, 10)),
        ([-9, -1], "linear", 6, False, (-10, 0), (-10, -8, -6, -4, -2, 0)),
        ([1, 9], "linear", 6, True, (1, 9), (2, 4, 6, 8)),
        ([64, 128, 256, 512], "log", 7, True, (64, 512), (64, 128, 256, 512)),
        ([1, 1e6], "log", 7, True, (1, 1e6), (1, 10, 100, 1e3, 1e4, 1e5, 1e6)),
        ([1e-3, 1e9], "log", 5, True, (1e-3, 1e9), (1e-3, 1, 1e3, 1e6, 1e9)),
    ],
)
def test_ticks_are_round_numbers(
    values: list[float],
    kind: str,
    most: int,
    fits: bool,
    ends: tuple[float, float],
    ticks: tuple[float, ...],
) -> None:
    found = scale(values, kind, most, fits)
    assert (found.low, found.high) == pytest.approx(ends)
    assert found.ticks == pytest.approx(ticks)
    assert found.is_log is (kind == "log")


@given(some.lists(NUMBERS, min_size=1, max_size=20), some.booleans())
def test_a_linear_scale_holds_its_values_and_some_ticks(values: list[float], fits: bool) -> None:
    found = scale(values, "linear", 6, fits)
    slack = 1e-9 * max(abs(found.low), abs(found.high))
    assert found.low <= min(values) and max(values) <= found.high
    assert 1 <= len(found.ticks) <= 9
    assert all(found.low - slack <= tick <= found.high + slack for tick in found.ticks)
    assert all(one < two for one, two in pairwise(found.ticks))
    assert all(-1e-9 <= found.at(value) <= 1 + 1e-9 for value in values)


@given(some.lists(some.floats(1e-9, 1e12), min_size=1, max_size=20), some.booleans())
def test_a_log_scale_holds_its_values_and_some_ticks(values: list[float], fits: bool) -> None:
    found = scale(values, "log", 6, fits)
    assert 0 < found.low <= min(values) and max(values) <= found.high
    assert all(found.low <= tick <= found.high for tick in found.ticks)
    assert len(found.ticks) <= 9
    assert all(-1e-9 <= found.at(value) <= 1 + 1e-9 for value in values)


def test_on_a_log_scale_equal_factors_are_equal_distances() -> None:
    found = scale([1, 10_000], "log", 6, True)
    assert [found.at(one) for one in (1, 10, 100, 1e3, 1e4)] == pytest.approx(
        [0, 0.25, 0.5, 0.75, 1]
    )


@pytest.mark.parametrize(
    ("values", "kind", "expected"),
    [
        ([0, 2000], "linear", ["0", "500", "1,000", "1,500", "2,000"]),
        ([0, 20_000], "linear", ["0", "5k", "10k", "15k", "20k"]),
        ([0, 4e7], "linear", ["0", "10M", "20M", "30M", "40M"]),
        ([1.4, 2.2], "linear", ["1.4", "1.6", "1.8", "2.0", "2.2"]),
        ([-1, 1], "linear", ["−1.0", "−0.5", "0.0", "0.5", "1.0"]),
        ([10, 100_000], "log", ["10", "100", "1,000", "10,000", "100,000"]),
        ([0.01, 100], "log", ["0.01", "0.1", "1", "10", "100"]),
        ([1e-6, 1e-2], "log", ["10⁻⁶", "10⁻⁵", "10⁻⁴", "10⁻³", "10⁻²"]),
        ([0, 2e-5], "linear", ["0", "5·10⁻⁶", "10⁻⁵", "1.5·10⁻⁵", "2·10⁻⁵"]),
    ],
)
def test_the_numbers_at_the_ticks_are_short(
    values: list[float], kind: str, expected: list[str]
) -> None:
    assert labels(scale(values, kind, 5, True)) == expected


@pytest.mark.parametrize(
    ("value", "digits", "shown"),
    [
        (12345, None, "12,345"),
        (1.5, None, "1.5"),
        (-1.25, None, "−1.25"),
        (0, None, "0"),
        (1.0, None, "1"),
        (123456.7, None, "123,457"),
        (0.000123, None, "0.000123"),
        (1.2e-7, None, "1.2·10⁻⁷"),
        (-1e-7, None, "−10⁻⁷"),
        (3e20, None, "3·10²⁰"),
        (1.25, 3, "1.250"),
        (12345, 1, "12,345.0"),
        (-0.126, 2, "−0.13"),
        (-0.0001, 3, "0.000"),
    ],
)
def test_numbers_are_written_for_readers(value: float, digits: int | None, shown: str) -> None:
    assert number(value, digits) == shown


@given(NUMBERS)
def test_a_number_keeps_its_first_digits(value: float) -> None:
    powers = str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "-0123456789")
    text = number(value).replace(",", "").replace("−", "-")
    text = re.sub(r"(?:(\S+)·|^|(-))10([⁻⁰¹²³⁴⁵⁶⁷⁸⁹]+)$", r"\2\1|\3", text).translate(powers)
    factor, _, power = text.partition("|")
    factor = factor + "1" if power and factor in ("", "-") else factor
    assert float(f"{factor}e{power or 0}") == pytest.approx(value, rel=6e-3)


def test_a_point_stands_where_the_scales_say() -> None:
    svg = drawn(chart(figure(Line("one", ((0, 0), (5, 10), (10, 5)))), "name"))
    (path,) = paths(svg)
    (x0, y0), (x1, y1), (x2, y2) = (
        map(float, place.split()) for place in path.removeprefix("M").split("L")
    )
    grid = next(one for one in svg.iter("path") if one.get("class") == "grid").attrib["d"]
    heights = [float(one) for one in re.findall(r"M\S+ (\S+)H", grid)]
    # The lowest line of the grid is at 0, the highest at 10.
    assert (y0, y1) == (heights[0], heights[-1])
    assert y2 == pytest.approx((y0 + y1) / 2, abs=0.11)
    assert x1 == pytest.approx((x0 + x2) / 2, abs=0.11)
    assert y1 < y2 < y0 and x0 < x1 < x2


def test_the_chart_has_a_name_a_description_and_the_titles_of_its_axes() -> None:
    shown = chart(figure(line("one", 1, 2), line("two", 3, 4)), "What it is")
    svg = drawn(shown)
    assert svg.attrib["role"] == "img"
    assert [svg.findtext("title"), svg.findtext("desc")] == [
        "What it is",
        "Loss (nats) against Steps. one: from 1 at 0 to 2 at 1. two: from 3 at 0 to 4 at 1.",
    ]
    assert {"Loss (nats)", "Steps", "one", "two"} <= set(texts(svg))
    assert description(figure(Line("one", ((2, 3),)))).endswith("one: 3 at 2.")


def test_short_names_stand_at_the_ends_and_others_in_a_list_in_the_order_of_the_ends() -> None:
    ends = chart(figure(line("low", 1, 1), line("high", 1, 9)), "name")
    assert "<ul" not in ends
    places = {
        one.text: float(one.attrib["y"]) for one in drawn(ends).iter("text") if one.text in ends
    }
    assert places["high"] < places["low"]
    for other in (
        figure(line("low", 1, 1), line("a name that takes too much room", 1, 9)),
        figure(line("low", 1, 1), line("ends early", 1, 9, 9, 9), line("high", 2, 2)),
        figure(*(line(f"n{at}", 1, at) for at in range(9))),
    ):
        shown = chart(other, "name")
        listed = re.findall(r"<li><svg.*?</svg>(.*?)</li>", shown)
        order = sorted(other.lines, key=lambda one: -one.points[-1][1])
        assert listed == [one.name for one in order]
        assert not {one.name for one in other.lines} & set(texts(drawn(shown)))


@given(
    some.lists(some.lists(NUMBERS, min_size=2, max_size=5), min_size=1, max_size=8),
    some.sampled_from(["linear", "log"]),
)
def test_no_text_lies_on_another_and_all_is_within_the_drawing(
    heights: list[list[float]], kind: str
) -> None:
    lines = [
        Line(f"line {at}", tuple((x / (len(all_) - 1), abs(y) + 1) for x, y in enumerate(all_)))
        for at, all_ in enumerate(heights)
    ]
    svg = drawn(chart(figure(*lines, y=Axis("Time", "ms", kind)), "name"))
    boxes = []
    for one in svg.iter("text"):
        width = 0.57 * charts.LETTER * len(one.text or "")
        x, y = float(one.attrib["x"]), float(one.attrib["y"])
        left = x - {"end": width, "middle": width / 2}.get(one.get("class", ""), 0)
        boxes.append((left, y - 10, left + width, y + 2, one.text))
    for left, top, right, bottom, text in boxes:
        assert left > -1 and right < charts.WIDTH + 1, text
        assert top > 0 and bottom < charts.HEIGHT, text
    for one, two in combinations(boxes, 2):
        apart = one[2] <= two[0] or two[2] <= one[0] or one[3] <= two[1] or two[3] <= one[1]
        assert apart, (one, two)


@given(some.lists(some.floats(0, 200), min_size=1, max_size=8))
def test_heights_are_kept_apart_and_no_further_than_need_be(wanted: list[float]) -> None:
    wanted = sorted(wanted)
    found = spread(wanted, 14, 0, 200)
    assert all(0 <= one <= 200 + 1e-9 for one in found)
    assert all(two - one >= 14 - 1e-9 for one, two in pairwise(found))
    free = all(two - one >= 14 for one, two in pairwise(wanted))
    assert not free or found == pytest.approx(wanted)


def test_heights_that_touch_stand_around_their_middle() -> None:
    assert spread([50, 50, 150], 14, 0, 200) == [43, 57, 150]


def test_lines_differ_by_colour_by_dashes_and_by_marks() -> None:
    svg = drawn(chart(figure(*(line(f"n{at}", 1, at) for at in range(12))), "name"))
    looks = []
    for one in svg.iter("g"):
        stroke, marks = one.findall("path")
        shape = re.sub(r"M[\d. -]+ [\d.]+", "", marks.attrib["d"], count=1)
        looks.append((one.attrib["class"], stroke.get("stroke-dasharray"), shape.split("M")[0]))
    assert len(looks) == len(set(looks)) == 12
    assert all(one[1:] != two[1:] for one, two in combinations(looks, 2))


def test_a_long_line_loses_no_peak_and_has_few_points() -> None:
    heights = [math.sin(at / 50) for at in range(20_000)]
    heights[777] = 5.0
    svg = drawn(chart(figure(line("long", *heights)), "name"))
    (path,) = paths(svg)
    places = [tuple(map(float, one.split())) for one in re.split("[ML]", path)[1:]]
    assert len(places) < 4 * charts.WIDTH
    short = drawn(chart(figure(line("long", 0, 5)), "name"))
    assert min(y for _, y in places) == pytest.approx(
        min(float(one.split()[1]) for one in re.split("[ML]", paths(short)[0])[1:]), abs=25
    )
    marks = [one for one in svg.iter("g")][0].findall("path")[1].attrib["d"]
    assert 2 <= marks.count("M") <= 6


def test_what_lies_beyond_the_ends_of_an_axis_is_cut_there() -> None:
    axis = Axis("Loss", low=1, high=3)
    lines = [line("down", 9, 2, 2), line("up", 2, 2, 9), line("out", 8, 8, 8)]
    svg = drawn(chart(figure(*lines, y=axis), "name"))
    grid = next(one for one in svg.iter("path") if one.get("class") == "grid").attrib["d"]
    heights = [float(one) for one in re.findall(r"M\S+ (\S+)H", grid)]
    down, up, out = paths(svg)
    first = float(re.split("[ML]", down)[1].split()[1])
    last = float(re.split("[ML]", up)[-1].split()[1])
    assert first == last == min(heights)
    assert out == ""
    assert "4" not in texts(svg)


def test_names_are_data_and_no_marks_of_drawings() -> None:
    name = '</text><script>x</script>&amp; "q" \u202e\n*a*'
    shown = chart(figure(line(name, 1, 2), line("b", 2, 3)), name)
    svg = drawn(shown)
    assert {one.tag for one in svg.iter()} == {"svg", "title", "desc", "path", "text", "g"}
    assert svg.findtext("title") == '</text><script>x</script>&amp; "q" U+202E *a*'
    assert "\n" not in shown and "style=" not in shown


def test_a_chart_is_the_same_each_time() -> None:
    one = figure(line("a", 1, 2.5, 3), line("b", 0.1, 1e-3, 7))
    assert chart(one, "name") == chart(one, "name")


@pytest.mark.parametrize("kind", ["linear", "log"])
def test_a_single_point_is_drawn(kind: str) -> None:
    svg = drawn(chart(figure(Line("one", ((5, 7),)), x=Axis("X", "", kind)), "name"))
    marks = [one.attrib["d"] for one in svg.iter("path") if not one.get("class")]
    assert [one.count("M") for one in marks] == [1]
