r"""The example project of an author: plain Python, exercises of its own, and two commands."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest

from literate.reading.source import read
from literate.settings import load
from literate.takeaway.exercises import exercises, for_page, located
from tests.literate.projects import ROOT, succeed, write
from tests.test_exercises import RIGHT, STILL, UNSOLVED, execute

PROJECT = Path(__file__).parent / "judged"
CARDS, STEPS = "sorting/insertion.py", "sorting/steps.py"
# npm has what `make` fetched for this project, and no network.
OFFLINE = {"NPM_CONFIG_CACHE": str(ROOT / ".cache/npm"), "NPM_CONFIG_OFFLINE": "true"}


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    r"""The project, with its site and its notebooks."""
    folder = tmp_path_factory.mktemp("author") / "project"
    shutil.copytree(PROJECT, folder)
    succeed(folder, "mkdocs", "build", **OFFLINE)
    succeed(folder, "literate", "notebooks", **OFFLINE)
    return folder


def judged_in_the_notebook(
    folder: Path, name: str, number: int, line: str, capsys: pytest.CaptureFixture[str]
) -> str:
    r"""What the notebook says of a line in the place of that of an exercise."""
    cells = nbformat.read(folder / f"notebooks/{name}.ipynb", as_version=4).cells
    code = [one.source for one in cells if one.cell_type == "code"]
    first = next(at for at, one in enumerate(code) if "with a hole" in one or "with a bug" in one)
    path = f"sorting/{name}.py"
    asked = exercises(load(folder), path)[number]
    exercise = located((folder / path).read_text(), asked, path)
    hole, judge = code[first + 2 * number : first + 2 * number + 2]
    assert hole.count(exercise.asked) == 1
    names: dict[str, object] = {"__name__": "__main__"}
    for one in [*code[:first], hole.replace(exercise.asked, line or exercise.asked)]:
        execute(one, names)
    capsys.readouterr()
    execute(judge, names)
    return capsys.readouterr().out


@pytest.mark.parametrize(
    ("name", "number", "line", "expected"),
    [
        ("insertion", 0, "", UNSOLVED),
        ("insertion", 0, "self.cards[place:place] = [card]", RIGHT),
        (
            *("insertion", 0, "self.cards.append(card)"),
            "Not yet. This is a known mistake: the card goes to the right end, whatever it is.\n",
        ),
        (
            *("insertion", 0, "self.cards.insert(place, -card)"),
            "Not yet: what the example returns[0].cards[0] is -5, and the lesson's 1.\n",
        ),
        (
            *("insertion", 0, "self.cards = [card]"),
            "Not yet: the length of what the example returns[0].cards is 1, and the lesson's 5.\n",
        ),
        (
            *("insertion", 0, "self.cards.insert(place, card); print(card)"),
            "Not yet: what the example prints is '5\\n2\\n4\\n2\\n1\\n1\\n2\\n3\\n', and the "
            "lesson's ''.\n",
        ),
        ("insertion", 1, "", STILL),
        ("insertion", 1, "place = sum(1 for _ in self.cards)", RIGHT),
        ("steps", 0, "return np.divide(looks(sizes, seed), sizes)", RIGHT),
        (
            *("steps", 0, "return looks(sizes, seed)"),
            "Not yet. This is a known mistake: it is the number of all looks, not of those for "
            "each card.\n",
        ),
        (
            *("steps", 0, "return looks(sizes, seed)[:2] / 1"),
            "Not yet: what it returns has the shape [2], and the lesson's [4].\n",
        ),
        (
            *("steps", 0, "return looks(sizes, seed) / 2"),
            "Not yet: what it returns has the right shape, but other numbers than the lesson's.\n",
        ),
    ],
)
def test_the_notebook_judges_plain_python_and_arrays(
    project: Path,
    name: str,
    number: int,
    line: str,
    expected: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert judged_in_the_notebook(project, name, number, line, capsys) == expected


# What the page runs, in a process that has no PyTorch.
IN_THE_PAGE = """
import json, sys
sys.modules["torch"] = None
from page_runner.edit.running import Program
program = Program(sys.argv[1], ["sorting"], print, print)
path, texts, exercise = json.load(sys.stdin)
judged = [json.loads(program.judge(path, json.dumps({path: text}), exercise)) for text in texts]
print(json.dumps([judged, json.loads(program.run(path, "{}"))["lines"]]))
"""


def in_the_page(project: Path, path: str) -> tuple[list[list[str]], dict[str, list]]:
    r"""What the page says of each exercise: of its own line, and of each mistake."""
    source = read(project / path, path)
    said = []
    lines = {}
    for asked in json.loads(for_page(load(project), source)):
        texts = [source.text, *asked["wrong"].values()]
        done = subprocess.run(
            [sys.executable, "-c", IN_THE_PAGE, str(project)],
            input=json.dumps([path, texts, json.dumps(asked)]),
            env={"PYTHONPATH": str(ROOT)},
            capture_output=True,
            text=True,
            check=True,
        )
        judged, lines = json.loads(done.stdout)
        said.append([one["said"] for one in judged])
    return said, lines


def test_the_page_judges_without_pytorch_and_tells_what_each_line_binds(project: Path) -> None:
    said, lines = in_the_page(project, CARDS)
    assert [[one.partition(":")[0] for one in each] for each in said] == [
        ["Right", *["Not yet. This is a known mistake"] * 2],
        ["Right", "Not yet. The bug is still there.", "Not yet. This is a known mistake"],
    ]
    hand = (PROJECT / CARDS).read_text().split("\n").index("    hand = Hand()") + 1
    ((name, shape, kind, calls, times),) = lines[str(hand)]
    assert (name, shape, kind, times) == ("hand", None, "Hand", 3)
    assert calls[0][1] == ["Hand(cards=[], looked_at=0)"]


def test_a_page_has_an_editor_if_a_browser_has_what_it_imports(project: Path) -> None:
    site = project / "site"
    cards = (site / "insertion/index.html").read_text()
    assert 'data-exercises="write Hand.take, mend Hand.take"' in cards
    # Its array needs NumPy, which no browser gets; its notebook has it.
    steps = (site / "steps/index.html").read_text()
    assert "data-edit" not in steps
    assert (site / "notebooks/steps.ipynb").is_file()
    # What stands in for PyTorch isn't there.
    assert not [*site.glob("assets/kernels-*")]
    assert not [*(site / "assets/edit").rglob("torch*")]


def test_without_a_table_for_it_no_page_has_an_editor(tmp_path: Path) -> None:
    shutil.copytree(PROJECT, tmp_path / "project")
    settings = (PROJECT / "pyproject.toml").read_text()
    write(tmp_path / "project", {"pyproject.toml": settings.replace("edit = {}\n", "")})
    succeed(tmp_path / "project", "mkdocs", "build", "-q", **OFFLINE)
    assert "data-edit" not in (tmp_path / "project/site/insertion/index.html").read_text()
    assert not (tmp_path / "project/site/assets/edit").exists()
