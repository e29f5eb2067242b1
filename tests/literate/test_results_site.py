r"""A site with results: both engines, the folder for any other, what stops a build."""

import json
import re
from pathlib import Path
from urllib.parse import unquote, urljoin, urlsplit

import pytest

from tests.literate.page.test_exhibit import PAGE
from tests.literate.projects import MKDOCS, SETTINGS, run, write
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


def exhibits(file: Path) -> list[str]:
    return re.findall(r'<figure class="exhibit">.*?</figure>', file.read_text("utf-8"), re.DOTALL)


PAGES = ["a", "", "results", "results/trials"]


def test_both_engines_show_the_same_exhibits_and_their_links_lead_somewhere(project: Path) -> None:
    built = run(project, "mkdocs", "build", "--strict")
    assert built.returncode == 0, built.stderr
    other = run(project, "literate", "zensical", "--site-dir", "other")
    assert other.returncode == 0, other.stdout + other.stderr
    counts = []
    for page in PAGES:
        file = Path(page) / "index.html"
        ours, theirs = (exhibits(project / site / file) for site in ("site", "other"))
        counts.append(len(ours))
        for one, two in zip(ours, theirs, strict=True):
            first, second = Shown(one), Shown(two)
            assert first.cells == second.cells
            assert "".join(first.text().split()) == "".join(second.text().split())
            tags = [[each.tag for each in shown.all.iter()] for shown in (first, second)]
            assert tags[0] == tags[1]
            for site, links in (("site", first.links), ("other", second.links)):
                for link in links.values():
                    address = urlsplit(urljoin(f"/{page}/".replace("//", "/"), link["href"]))
                    path = unquote(address.path).lstrip("/")
                    path += "index.html" if not path or path.endswith("/") else ""
                    text = (project / site / path).read_text("utf-8")
                    assert f'id="{address.fragment}"' in text or not address.fragment
        numbers = re.findall(r'<a class="measured[^>]*>', (project / "site" / file).read_text())
        assert len(numbers) == (0 if page.startswith("results") else 1)
    assert counts == [2, 2, 1, 3]
    for site in ("site", "other"):
        file = project / site / "results" / "trials.json"
        assert file.read_bytes() == (project / "results" / "trials.json").read_bytes()


def test_any_engine_gets_the_pages_and_the_files_the_same_each_time(project: Path) -> None:
    for folder in ("one", "two"):
        assert run(project, "literate", "write", folder).returncode == 0
    first, second = (
        {path.relative_to(project / name): path.read_bytes() for path in paths}
        for name, paths in (
            (name, filter(Path.is_file, (project / name).rglob("*"))) for name in ("one", "two")
        )
    )
    assert first == second
    assert {Path("results/index.md"), Path("results/trials.md"), Path("results/trials.json")} <= {
        *first
    }
    assert b"figures.time" in first[Path("assets/search-index.js")]


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
    assert run(project, "literate", "check").returncode == 0
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
