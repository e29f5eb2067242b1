r"""Files of results: what they say, what is none, and whether a number in a note is theirs."""

import importlib.util
import json
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as some

from literate.problems import LiterateError
from literate.reading.source import parse
from literate.results import files, fingerprints, numbers, records
from literate.results.made_of import Code
from literate.results.pictures import of_chart
from literate.results.records import UnknownResult
from tests.literate.projects import write
from tests.literate.recorded import FIGURE, TABLE, content, result, seen


@pytest.mark.parametrize(
    ("dotted", "place", "value"),
    [
        ("values.loss", "values.loss", 1.5512),
        ("values.best", "values.best", "fused"),
        ("values.deep.s", "values.deep.s", 58.2),
        ("tables.ways.one at a time.loss", "tables.ways", 1.5),
        ("tables.ways.v1.2.loss", "tables.ways", 1.25),
        ("tables.ways.one at a time.steps", "tables.ways", 12345),
    ],
)
def test_a_dotted_name_means_a_value(dotted: str, place: str, value: Any) -> None:
    assert result().find(dotted) == (place, value)


def test_a_dotted_name_means_a_table_or_a_figure() -> None:
    found = result()
    assert found.find("tables.ways") == ("tables.ways", found.tables["ways"])
    assert [one.title for one in found.tables["ways"].columns] == ["Way", "Page", "Loss", "Steps"]
    assert found.find("figures.time") == ("figures.time", found.figures["time"])
    assert found.figures["time"].title == "Time of a call"


@pytest.mark.parametrize(
    ("dotted", "sentence"),
    [
        ("values.los", "no `values.los`; its values there are `loss`, `steps`, `best`, `small`"),
        ("values.deep", "no `values.deep`; its values there are `loss`"),
        ("values.deep.t", "no `values.deep.t`; its values there are `s`."),
        ("tables.way", "no `tables.way`; its tables are `ways`."),
        ("tables.ways.two.loss", "its rows are `one at a time`, `v1.2`."),
        ("tables.ways.v1.2.los", "its columns are `way`, `page`, `loss`, `steps`."),
        ("tables.ways.v1.2.steps", "its columns are"),
        ("figures.times", "no `figures.times`; its figures are `time`."),
        (
            "loss",
            "no `loss`; it has `values.loss`, `values.steps`, `values.best`, `values.small`, "
            "`values.deep.s`, `tables.ways`, `figures.time`.",
        ),
    ],
)
def test_a_name_that_is_not_there_is_answered_with_what_is(dotted: str, sentence: str) -> None:
    with pytest.raises(UnknownResult) as raised:
        result().find(dotted)
    assert sentence in str(raised.value)


def test_of_many_names_a_few_are_listed() -> None:
    many = result(values={f"v{number}": number for number in range(20)}, tables={}, figures={})
    with pytest.raises(UnknownResult, match="`v7` and 12 more"):
        many.find("values.none")
    with pytest.raises(UnknownResult, match="its tables are none"):
        many.find("tables.none")


@pytest.mark.parametrize(
    ("text", "value"),
    [
        *((text, 1.5512) for text in ("1.5512", "1.551", "1.55", "1.6", "2", "1.55120", "a loss")),
        *((text, 12345) for text in ("12,345", "12345", "12\u202f345", "1.2e4")),
        ("1,234,567", 1234567),
        ("1.3e-5", 1.25e-05),
        ("1.2e-5", 1.25e-05),
        *(("+3", 3), ("-0.5", -0.5), ("−0.5", -0.5), ("-0.00", -0.001)),
        ("1.4×", 1.41),
        ("the\nbest way", "the best way"),
    ],
)
def test_a_number_may_be_rounded_to_the_digits_that_are_shown(text: str, value: Any) -> None:
    assert numbers.wrong(text, value, "results/a.json") is None


@pytest.mark.parametrize(
    ("text", "value", "has"),
    [
        *((text, 1.5512, "1.5512") for text in ("1.53", "1.56", "1.550", "1.5513")),
        ("12,000", 12345, "12345"),
        ("1.3e4", 12345, "12345"),
        ("0.5", -0.5, "-0.5"),
        ("5", None, "null"),
        ("1", True, "true"),
        ("the fused way", "fused", "“fused”"),
        ("1 to 2", 1.5, "one number there; link each number to its own"),
    ],
)
def test_another_number_is_wrong(text: str, value: Any, has: str) -> None:
    assert numbers.wrong(text, value, "results/a.json") == (
        f"the note says {text}, results/a.json has {has}."
    )


@given(some.floats(-1e6, 1e6), some.integers(0, 6))
def test_python_s_own_rounding_is_right_and_the_next_number_is_not(value: float, to: int) -> None:
    assert numbers.wrong(f"{value:,.{to}f}", value, "a") is None
    assert numbers.wrong(f"{value + 1.01 * 10.0**-to:.{to}f}", value, "a") is not None


@pytest.mark.parametrize(
    ("data", "line", "words"),
    [
        (b"{", 1, "is not JSON"),
        (b'{\n "a": 1,\n "b" 2\n}', 3, "is not JSON"),
        (b"[" * 100_000, 1, "is nested too deeply"),
        (b"[]", 1, "[] is no table"),
        (b'{\n"\xff": 1}', 2, "is not UTF-8"),
    ],
)
def test_what_is_no_file_of_results_is_named(data: bytes, line: int, words: str) -> None:
    with pytest.raises(LiterateError) as raised:
        files.parse(data, "results/a.json", str)
    (problem,) = raised.value.problems
    assert (problem.path, problem.line) == ("results/a.json", line)
    assert words in problem.sentence


def table(**other: Any) -> dict[str, Any]:
    return {"tables": {"t": TABLE | other}}


def points(found: list[list[float]]) -> dict[str, Any]:
    return {"figures": {"f": FIGURE | {"lines": [{"name": "a", "points": found}]}}}


@pytest.mark.parametrize(
    ("other", "words"),
    [
        ({"schema": 2}, "`schema` is not 1"),
        ({"title": 3}, "`title`: 3 is no text"),
        ({"made": "yesterday"}, "`made` is no day such as 2026-11-21"),
        ({"sources": {"../a": "b"}}, "`sources` has a path that leads out of the project"),
        ({"sources": {"/a": "b"}}, "`sources` has a path that leads out of the project"),
        ({"sources": {"a": 1}}, "`sources.a`: 1 is no text"),
        ({"machine": "fast"}, "`machine`: 'fast' is no table"),
        ({"values": {"a": {"b": [1]}}}, "`values.a.b` is neither a number nor a text"),
        # Too large for a computer, as `1e999` is read.
        *(
            ({"values": {"a": number}}, "`values.a` is neither a number nor a text")
            for number in (10**400, float("inf"), float("nan"))
        ),
        (table(columns=[]), "`tables.t.columns`: [] should be non-empty"),
        (table(columns=[{"name": "a", "digits": 50}]), "digits`: 50 is greater than"),
        (table(rows=[3]), "`tables.t.rows[0]`: 3 is no table"),
        (table(rows=[{"a": 1}]), "`tables.t.rows[0]` has `a`, which is no column; they are `way`"),
        (table(rows=[{"way": []}]), "`tables.t.rows[0].way` is neither"),
        (table(live={"bytes": 1}), "`tables.t.live`: 'graph' is a required property"),
        (table(live={"graph": "../a", "bytes": 1}), "`tables.t.live.graph` is no name of a file"),
        # A figure has lines over two axes, or a picture.
        ({"figures": {"f": {}}}, "`figures.f`: 'digest' is a required property"),
        ({"figures": {"f": {"lines": []}}}, "`figures.f.lines`: [] should be non-empty"),
        ({"figures": {"f": FIGURE | {"x": {}}}}, "`figures.f.x`: 'title' is a required property"),
        (points([[1]]), "`figures.f.lines[0].points[0]` is no point such as [1, 2.5]"),
        (points([[1, float("nan")]]), "`figures.f.lines[0].points[0][1]`"),
        ({"figures": {"f": seen("") | {"picture": "../a.svg"}}}, "`figures.f.picture` is no path"),
        ({"figures": {"f": seen("")}}, "names pictures/trials-seen.svg, which can't be read"),
        (
            {"figures": {"f": seen("<svg >a</svg>")}, "svg": "<svg >b</svg>"},
            "pictures/trials-seen.svg isn't what the run drew, its digest is 5",
        ),
        # A picture may not do more than show.
        *(
            ({"figures": {"f": seen(svg)}, "svg": svg}, why)
            for svg, why in {
                "<b>": "is no <svg>",
                "<svg ><script>alert(1)</script></svg>": "`<script`",
                '<svg  onload="alert(1)"></svg>': "`onload=`",
                '<svg ><image href="https://example.org/a.png"/></svg>': "href=",
                "<svg ><style>path {fill: red}</style></svg>": "`<style`",
                '<svg ><path fill="url(http://example.org)"/></svg>': "`url(`",
            }.items()
        ),
    ],
)
def test_what_cannot_be_shown_is_named(other: dict[str, Any], words: str) -> None:
    with pytest.raises(LiterateError) as raised:
        result(**other)
    assert words in raised.value.problems[0].sentence


def test_a_chart_is_drawn_once_and_kept_until_its_numbers_change(tmp_path: Path) -> None:
    write(tmp_path / "results", {"trials.json": json.dumps(content())})
    (read,) = files.read(tmp_path, "results", tmp_path / "store").values()
    drawn = read.figures["time"].picture
    assert drawn == result().figures["time"].picture == of_chart(FIGURE, "trials-time", None)
    (kept,) = (tmp_path / "store/charts").iterdir()
    kept.write_text("<svg >kept</svg>", encoding="utf-8")
    assert read.figures["time"].picture == "<svg >kept</svg>"
    assert of_chart(FIGURE | {"x": {"title": "Width"}}, "trials-time", tmp_path / "store") not in (
        drawn,
        "<svg >kept</svg>",
    )


def test_who_has_no_charts_needs_no_matplotlib_and_who_has_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    svg = '<svg viewBox="0 0 9 9"></svg>'
    assert result(svg, figures={"seen": seen(svg)}).figures["seen"].picture == svg
    with pytest.raises(LiterateError, match="`figures.time` is a chart, which Matplotlib draws"):
        result()


def test_all_files_are_read_and_all_problems_named(tmp_path: Path) -> None:
    texts = {"b.json": json.dumps(content()), "a.json": json.dumps(content(title="A"))}
    write(tmp_path / "results", texts | {"note.txt": ""})
    read = files.read(tmp_path, "results").items()
    assert [(path, one.title, one.uri) for path, one in read] == [
        ("results/a.json", "A", "results/a.md"),
        ("results/b.json", "Trials", "results/b.md"),
    ]
    write(tmp_path / "results", {"a.json": "{", "b.json": ""})
    with pytest.raises(LiterateError) as raised:
        files.read(tmp_path, "results")
    assert [one.path for one in raised.value.problems] == ["results/a.json", "results/b.json"]
    assert files.read(tmp_path, "none") == {}


NOTED = 'r"""\nA page: 1.5.\n"""\n\n# Why.\nx = 1\n'


def test_a_page_that_speaks_of_its_result_is_still_the_page_that_was_measured(
    tmp_path: Path,
) -> None:
    file = tmp_path / "a.py"
    file.write_text(NOTED)
    known = {"a.py": fingerprints.fingerprint(file)}
    for text, names in [
        (NOTED, []),
        (NOTED.replace("1.5", "1.6").replace("Why", "Because"), []),
        (NOTED.replace("x = 1", "x = 2"), ["a.py"]),
    ]:
        file.write_text(text)
        found = result(sources=known)
        assert Code(tmp_path).changed(found) == names
        assert Code(tmp_path).changed(found, {"a.py": parse(text, "a.py")}) == names
    file.unlink()
    assert Code(tmp_path).changed(result(sources=known)) == ["a.py"]


def test_the_machine_is_told_in_a_few_words() -> None:
    assert records.machine(result()) == "Fast 1, 2 cores, PyTorch 2.13.0"
    machine = {"processor": "P", "cores": 1, "accelerator": "A 1", "torch": None}
    assert records.machine(result(machine=machine)) == "P, 1 core, A 1"
    assert records.machine(result(machine={})) == ""
