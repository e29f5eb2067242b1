r"""Pictures are the same bytes each time, keep their letters, and take the colours of the page."""

import json
import re
from pathlib import Path

import pytest

from benchmarks import quantisation
from benchmarks.pictures import ACCENT, SECOND, heat_map, new, svg
from literate.results import files
from literate.results.charts import chart, plain
from literate.settings import load

ROOT = Path(__file__).resolve().parents[2]


def drawn(name: str) -> str:
    figure, (axes,) = new(3, 2)
    heat_map(axes, [[0.0, 1.0], [-0.5, 0.25]], ["a", "b"], ["<", "&"], numbers=True)
    axes.plot([0, 1], [1, 2], color=SECOND)
    axes.text(0, 0, "1.65 or 0.025")
    axes.set_title("2.0578")
    axes.fill_between([0, 1], [1, 2], color=ACCENT)
    return svg(figure, name)


def test_a_picture_is_the_same_each_time_and_has_ids_of_its_own() -> None:
    one, other = drawn("one"), drawn("other")
    assert one == drawn("one")
    assert one.replace("one-", "other-") == other
    ids = re.findall(r'id="([^"]*)"', one)
    assert len(ids) == len(set(ids))
    assert set(re.findall(r'(?:href="|url\()#([^")]*)', one)) <= set(ids)


def test_letters_stay_letters_and_colours_are_those_of_the_page() -> None:
    text = drawn("one")
    assert ">.25</text>" in text
    # Coordinates are rounded, and numbers that are read are not.
    assert ">1.65 or 0.025</text>" in text
    assert not re.search(r'[xd]="[^"]*\d\.\d\d', text)
    assert ">2.0578</text>" in text
    assert ">&lt;</text>" in text
    assert "style=" not in text
    assert "#123456" not in text
    assert {"fill-accent", "fill-second", "stroke-second"} <= set(
        re.findall(r"[a-z]+-(?:accent|second)", text)
    )


def texts(picture: str) -> list[str]:
    return re.findall(r"<text[^>]*>([^<]*)</text>", picture)


def with_points(points: list[list[float]], **ends: float) -> dict[str, object]:
    r"""A chart of one line, whose other axis may have ends."""
    lines = [{"name": "one", "points": points}]
    return {"x": {"title": "Bits"}, "y": {"title": "Loss"} | ends, "lines": lines}


def test_a_point_beyond_the_ends_of_an_axis_is_an_arrow_with_its_value() -> None:
    points = [[1, 3.1315], [2, 2.25], [3, 1.5], [4, 0.25]]
    assert not {"3.131", "3.132", "0.25"} & {*texts(chart(with_points(points), "one"))}
    shown = texts(chart(with_points(points, low=1, high=2.6), "one"))
    assert [one for one in shown if one in ("3.131", "3.132", "2.25", "1.5", "0.25")] == [
        "3.131",
        "0.25",
    ]


def with_names(names: list[str]) -> str:
    lines = [{"name": name, "points": [[1, 2], [2, 3]]} for name in names]
    return chart({"x": {"title": "a"}, "y": {"title": "b"}, "lines": lines}, "one")


# Narrow letters and wide ones.
@pytest.mark.parametrize(("letters", "length", "rows"), [("ij", 40, 1), ("mw", 25, 2)])
def test_names_of_lines_stand_side_by_side_where_both_fit(
    letters: str, length: int, rows: int
) -> None:
    picture = with_names([letter * length for letter in letters])
    heights = re.findall(rf'<text[^>]* y="([\d.]+)"[^>]*>[{letters}]{{2,}}<', picture)
    assert len(heights) == 2 and len(set(heights)) == rows


def test_many_names_leave_the_lines_their_room() -> None:
    few, many = (
        float(re.findall(r'viewBox="0 0 [\d.]+ ([\d.]+)"', with_names(["m" * 25] * count))[0])
        for count in (5, 11)
    )
    # Six rows of letters that are 12 high, with some room between them.
    assert 6 * 14 < many - few < 6 * 22


@pytest.mark.parametrize(
    "number, text",
    [(1003854.0, "1,003,854"), (1e6, "1,000,000"), (1e-4, "0.0001"), (2, "2"), (0.5, "0.5")]
    + [(787.072, "787.1"), (5.60093, "5.601"), (20000, "20,000"), (0, "0"), (0.0123456, "0.01235")]
    + [(1e-5, "1e-5"), (-1e-12, "-1e-12"), (2.5e-7, "2.5e-7")],
)
def test_numbers_at_an_axis_are_as_people_write_them(number: float, text: str) -> None:
    assert plain(number) == text


def test_no_axis_of_a_result_counts_in_large_powers_or_says_one_number_twice() -> None:
    settings = load(ROOT)
    results = files.read(ROOT, settings.results, ROOT / settings.store)
    for path, result in results.items():
        for name, figure in result.figures.items():
            shown = texts(figure.picture)
            numbers = [
                one
                for one in shown
                if re.fullmatch(r"[-−\d.,]+e\+?\d+|[-−]?\d{5,}(\.\d+)?|[-−]?\d*\.\d{5,}", one)
            ]
            assert not numbers, f"{path}, {name}: {numbers}"
            # A logarithmic axis has no zero: it would be a small number without its digits.
            scales = {figure.chart.get(side, {}).get("scale") for side in "xy"}
            assert scales != {"log"} or "0" not in shown, f"{path}, {name}"


def test_every_picture_is_that_of_a_result() -> None:
    named = {
        f"results/{figure['picture']}"
        for path in (ROOT / "results").glob("*.json")
        for figure in json.loads(path.read_text(encoding="utf-8")).get("figures", {}).values()
        if "lines" not in figure
    }
    there = {path.relative_to(ROOT).as_posix() for path in (ROOT / "results/pictures").iterdir()}
    assert there == named


def test_charts_of_few_bits_have_every_row_of_their_table() -> None:
    content = json.loads(Path(ROOT, "results/quantisation.json").read_text(encoding="utf-8"))
    for key, figure in quantisation.charts(content["tables"]).items():
        rows = content["tables"]["cache" if key == "cache" else "bits"]["rows"]
        assert [len(line["points"]) for line in figure["lines"]] == [len(rows)] * len(
            figure["lines"]
        )
