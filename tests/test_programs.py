r"""A program that is given nothing but `llms.txt` finds what was recorded, by following links.

The oracle are the files in `results/` themselves: what a run has written.
"""

import json
import posixpath
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest

from tests.literate.projects import ROOT

LINK = re.compile(r"\[([^\[\]]*(?:\[[^\[\]]*\][^\[\]]*)*)\]\(([^()\s]+)\)")
NUMBER = re.compile(r"\[(\d[\d,]*(?:\.\d+)?)\]\([./]*results/(\w+)\.json#([^)\s]+)\)")
ENDING = ".md"


class Program:
    r"""It reads one file, and then only what the file that it reads links to."""

    def __init__(self, site: Path) -> None:
        self.site = site
        self.at = "llms.txt"
        self.text = (site / self.at).read_text(encoding="utf-8")

    def follow(self, words: str) -> str:
        r"""Follow the link with these words; the part of the file that it leads to."""
        address = next(
            to for text, to in LINK.findall(self.text) if " ".join(text.split()) == words
        )
        path, _, anchor = address.partition("#")
        self.at = posixpath.normpath(posixpath.join(posixpath.dirname(self.at), path))
        self.text = (self.site / self.at).read_text(encoding="utf-8")
        return unquote(anchor)

    def value(self, name: str) -> str:
        r"""A value of a result, as it is listed."""
        (found,) = re.findall(rf"(?m)^\* {re.escape(name)}: (.*)$", self.text)
        return found

    def row(self, first: str) -> list[str]:
        r"""The cells of the first row that begins so."""
        lines = [line for line in self.text.splitlines() if line.startswith(f"| {first} |")]
        return lines[0].strip("| ").split(" | ")


def recorded() -> dict[str, Mapping[str, Any]]:
    files = sorted((ROOT / "results").glob("*.json"))
    return {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in files}


def numbers(values: Mapping[str, Any], before: str = "") -> Iterator[tuple[str, float]]:
    for name, value in values.items():
        if isinstance(value, dict):
            yield from numbers(value, f"{before}{name}.")
        elif isinstance(value, int | float) and not isinstance(value, bool):
            yield f"{before}{name}", value


def spread(found: list[Any], count: int) -> list[Any]:
    step = max(1, len(found) // count)
    return found[::step][:count]


def values_asked() -> list[tuple[str, str, float]]:
    r"""A number of each result: its title, the name of the value, and what the run wrote."""
    found = []
    for result in recorded().values():
        found += [(result["title"], *one) for one in [*numbers(result.get("values", {}))][-2:]]
    return spread(found, 20)


def numbers_of_lessons() -> list[tuple[str, str, str, str]]:
    r"""Numbers in lessons: the page's title, the number, the result and the place in it."""
    found = []
    for path in sorted((ROOT / "labml_nn").rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        title = re.search(r"(?m)^title: (.*)$", text)
        asked = [one for one in NUMBER.findall(text) if one[2].startswith("values.")]
        found += [(title[1].strip("\"'"), *one) for one in asked[:1] if title]
    return spread(found, 20)


@pytest.mark.parametrize(("title", "name", "value"), values_asked())
def test_a_value_of_a_run_is_two_links_away(
    site: Path, title: str, name: str, value: float
) -> None:
    program = Program(site)
    program.follow(title)
    assert float(program.value(name)) == value


@pytest.mark.parametrize(("title", "number", "result", "place"), numbers_of_lessons())
def test_a_number_of_a_lesson_leads_to_the_run_that_found_it(
    site: Path, title: str, number: str, result: str, place: str
) -> None:
    program = Program(site)
    program.follow(title)
    assert program.follow(number)
    name = unquote(place).removeprefix("values.")
    value = float(program.value(name))
    assert value == dict(numbers(recorded()[result]["values"]))[name]
    # The lesson shows it with fewer digits.
    digits = len(number.partition(".")[2])
    assert f"{value:,.{digits}f}" == number


def test_there_are_forty_questions_and_a_cell_of_a_table_is_found_too(site: Path) -> None:
    assert len(values_asked()) + len(numbers_of_lessons()) == 40
    program = Program(site)
    program.follow("Multi-Head Attention")
    assert program.follow("2.489") == "tables.without.No attention.loss"
    rows = recorded()["without"]["tables"]["without"]["rows"]
    (row,) = [one for one in rows if one["model"] == "No attention"]
    assert str(row["loss"]) in program.row("No attention")


def test_every_link_between_the_twins_leads_to_a_file(site: Path) -> None:
    guide = (site / "llms.txt").read_text(encoding="utf-8")
    twins = [to for _, to in LINK.findall(guide)]
    assert len(twins) > 200 and len(set(twins)) == len(twins)
    # And one file has all of them, each after its place.
    whole = (site / "llms-full.txt").read_text(encoding="utf-8")
    inside = re.findall(r"(?m)^<!-- (\S+) -->$", whole)
    assert sorted(inside) == sorted(one for one in twins if one.endswith(ENDING))
    # Each page has one, those too that no file has.
    pages = {path.parent for path in site.rglob("index.html")}
    assert pages == {(site / twin).parent for twin in twins if twin.endswith(ENDING)}
    for twin in (one for one in twins if one.endswith(ENDING)):
        text = (site / twin).read_text(encoding="utf-8")
        # Beside each twin stands its page.
        assert (site / twin).with_name("index.html").is_file(), twin
        outside = re.sub(r"(?ms)^\s*(```+).*?^\s*\1$|`[^`\n]*`", "", text)
        for _, address in LINK.findall(outside):
            path = unquote(address.partition("#")[0])
            if path and path.endswith(ENDING) and "://" not in path:
                assert (site / twin).parent.joinpath(path).is_file(), f"{twin}: {address}"


def test_a_twin_has_the_code_and_the_shapes_of_its_page(site: Path) -> None:
    text = (site / "transformers/mha/index.md").read_text(encoding="utf-8")
    source = (ROOT / "labml_nn/transformers/mha.py").read_text(encoding="utf-8")
    code = [one for one in re.findall(r"(?ms)^```python\n(.*?)^```$", text)]
    kept = [line for line in "".join(code).splitlines() if line.strip()]
    lines = [line.rstrip() for line in source.splitlines()]
    assert [line for line in kept if line not in lines] == [] and len(kept) > 60
    assert re.search(r"\* Measured in line \d+: `scores` is `\[\w+(, \w+)+\]`, float32", text)


def test_the_list_of_snippets_names_files_that_are_there(site: Path) -> None:
    listed = json.loads((site / "snippets/index.json").read_text(encoding="utf-8"))
    there = {path.relative_to(site).as_posix() for path in site.glob("snippets/**/*.py")}
    assert {one[key] for one in listed for key in ("file", "without_notes")} == there
    (attention,) = [one for one in listed if one["file"].endswith("mha/MultiHeadAttention.py")]
    assert attention["title"] == "Multi-Head Attention" and len(listed) > 1000
    text = (site / attention["file"]).read_text(encoding="utf-8")
    assert text.startswith(
        '# /// script\n# requires-python = ">=3.11"\n# dependencies = ["torch"]\n'
    )


def test_robots_are_let_in_and_told_of_the_site_map(site: Path) -> None:
    lines = (site / "robots.txt").read_text(encoding="utf-8").splitlines()
    assert lines == ["User-agent: *", "Allow: /", "Sitemap: https://example.org/sub/sitemap.xml"]
