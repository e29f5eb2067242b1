r"""A site with results: what both engines show, what stops a build."""

import json
from pathlib import Path

import pytest

from tests.literate.page.test_exhibit import PAGE
from tests.literate.projects import MKDOCS, SETTINGS, run, succeed, write
from tests.literate.recorded import content
from tests.literate.shown import Shown

NOTE = """\
The loss is [1.55](../results/trials.json#values.loss); all is in
[the file](../results/trials.json).

[Time of `mean`](../results/trials.json#figures.time)

[All ways](../results/trials.json#tables.ways)"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    files = {
        "pyproject.toml": SETTINGS,
        "mkdocs.yml": MKDOCS.replace("[index.md]", "[a.md, index.md, results/index.md]"),
        "docs/index.md": f"# News\n\nWhat is new.\n\n{NOTE}\n",
        "pkg/a.py": PAGE.replace("{note}", NOTE),
        "results/trials.json": json.dumps(content(sources={"pkg/a.py": "0"})),
    }
    write(tmp_path, files)
    return tmp_path


@pytest.mark.parametrize("engine", [("mkdocs", "build", "--strict"), ("literate", "zensical")])
def test_an_engine_shows_numbers_exhibits_and_the_file(
    project: Path, engine: tuple[str, ...]
) -> None:
    succeed(project, *engine)
    counts = {"a": (2, 1), "": (2, 1), "results": (1, 0), "results/trials": (3, 0)}
    for page, expected in counts.items():
        shown = Shown((project / "site" / page / "index.html").read_text("utf-8"))
        numbers = [one for one in shown.values("class", ".//a") if one.startswith("measured")]
        assert (len(shown.texts(".//figure[@class='exhibit']")), len(numbers)) == expected
    file = Path("results/trials.json")
    assert (project / "site" / file).read_bytes() == (project / file).read_bytes()


@pytest.mark.parametrize(
    ("file", "old", "new", "said"),
    [
        (
            "results/trials.json",
            "1.5512",
            "1.5612",
            ["docs/index.md:5: the note says 1.55, results/trials.json has 1.5612.",
             "pkg/a.py:7: the note says 1.55, results/trials.json has 1.5612."],
        ),
        ("results/trials.json", '"schema": 1', '"schema": 7', ["results/trials.json:1: `schema`"]),
        ("results/trials.json", "{", "{\n,", ["results/trials.json:2: is not JSON"]),
        ("pkg/a.py", "figures.time", "figures.tim", ["pkg/a.py:10: the link to"]),
    ],
)  # fmt: skip
def test_what_is_wrong_is_named_by_the_check(
    project: Path, file: str, old: str, new: str, said: list[str]
) -> None:
    text = (project / file).read_text()
    (project / file).write_text(text.replace(old, new, 1))
    checked = run(project, "literate", "check")
    assert checked.returncode == 1
    lines = checked.stderr.strip().split("\n")
    assert len(lines) == len(said)
    assert all(line.startswith(words) for line, words in zip(lines, said, strict=True))


def test_a_page_in_the_place_of_one_of_results_is_named(project: Path) -> None:
    (project / "pkg" / "results").mkdir()
    (project / "pkg" / "results" / "trials.py").write_text("x = 1\n")
    checked = run(project, "literate", "check")
    assert "results/trials.json:1: would be the page `results/trials.md`" in checked.stderr
