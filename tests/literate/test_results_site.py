r"""A site with results: what is wrong with them stops it."""

import json
from pathlib import Path

import pytest

from tests.literate.page.test_exhibit import PAGE
from tests.literate.projects import MKDOCS, SETTINGS, run, write
from tests.literate.recorded import content

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
    for line, words in zip(checked.stderr.splitlines(), said, strict=True):
        assert line.startswith(words)


def test_a_page_in_the_place_of_one_of_results_is_named(project: Path) -> None:
    (project / "pkg" / "results").mkdir()
    (project / "pkg" / "results" / "trials.py").write_text("x = 1\n")
    checked = run(project, "literate", "check")
    assert "results/trials.json:1: would be the page `results/trials.md`" in checked.stderr
