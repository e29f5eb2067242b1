r"""The example project of an author: plain Python, exercises of its own, and two commands."""

import json
import re
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path

import nbformat
import numpy as np
import pytest
import torch

from literate.reading.source import read
from literate.settings import load
from literate.takeaway.assembly import for_page
from literate.takeaway.exercises import exercises, located
from page_runner.edit.judging import Run, judge_runs
from tests.literate.projects import KATEX, ROOT, run, succeed, write
from tests.test_exercises import RIGHT, STILL, UNSOLVED, execute

PROJECT = Path(__file__).parent / "judged"
CARDS, STEPS = "sorting/insertion.py", "sorting/steps.py"
# npm has what `make` fetched for this project, and no network.
OFFLINE = {"NPM_CONFIG_CACHE": str(ROOT / ".cache/npm"), "NPM_CONFIG_OFFLINE": "true"}


def copied(to: Path) -> Path:
    r"""A copy of the project that takes the packages of npm from this one."""
    folder = to / "project"
    shutil.copytree(PROJECT, folder)
    settings = (PROJECT / "pyproject.toml").read_text()
    there = settings.replace("edit = {}", f'katex = "{KATEX}"\nedit = {{ npm = "{ROOT}" }}')
    write(folder, {"pyproject.toml": there})
    return folder


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
            *("insertion", 0, "self.cards = (*self.cards, card)"),
            "Not yet: what the example returns[0].cards is a tuple, and the lesson's a list.\n",
        ),
        (
            *("insertion", 0, "self.cards = [card]"),
            "Not yet: the length of what the example returns[0].cards is 1, and the lesson's 5.\n",
        ),
        (
            *("insertion", 0, "self.cards.insert(place, card); print(card)"),
            "Not yet: what the example prints is '5\\n2\\n4\\n2\\n1\\n1\\n2\\n3\\n5 3 None\\n', "
            "and the lesson's '5 3 None\\n'.\n",
        ),
        ("insertion", 1, "", STILL),
        ("insertion", 1, "place = sum(1 for _ in self.cards)", RIGHT),
        ("insertion", 2, "Hand.take(hand, card)", RIGHT),
        ("insertion", 3, "return max(self.cards, default=None)", RIGHT),
        (
            *("insertion", 3, "return self.cards[0] if self.cards else None"),
            "Not yet. This is a known mistake: it is the smallest.\n",
        ),
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


def returning(value: object) -> Run:
    r"""A run of a function that returns this, and of an example that does, too."""

    def function() -> object:
        return value

    return lambda: (function.__code__, function)


@pytest.mark.parametrize(
    ("lesson", "yours", "same"),
    [
        (2, 2.0, True),
        (0.1 + 0.2, np.float64(0.3), True),
        ((2, 3), torch.Size([2, 3]), True),
        ({"a": 2}, Counter("aa"), True),
        # Whole numbers are equal, or they are not, however large.
        (100_000, 100_001, False),
        (1, True, False),
        (2, "2", False),
        ((2, 3), [2, 3], False),
        (2.0, 2.01, False),
    ],
)
def test_what_python_calls_equal_is_right(lesson: object, yours: object, same: bool) -> None:
    said = judge_runs(returning(lesson), returning(yours), {}, [])
    assert said.startswith("Right") is same


# What the page runs, in a process that has no PyTorch.
IN_THE_PAGE = """
import json, sys
sys.modules["torch"] = None
from page_runner.edit.running import Program
program = Program(sys.argv[1], ["sorting"], str, str)
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
        ["Right", "Not yet. This is a known mistake"],
        ["Right", "Not yet. This is a known mistake"],
    ]
    hand = (PROJECT / CARDS).read_text().split("\n").index("        hand = cls()") + 1
    ((name, shape, kind, calls, times),) = lines[str(hand)]
    assert (name, shape, kind, times) == ("hand", None, "Hand", 3)
    assert calls[0][1] == ["Hand(cards=[], looked_at=0)"]


def test_a_page_has_an_editor_if_a_browser_has_what_it_imports(project: Path) -> None:
    site = project / "site"
    cards = (site / "insertion/index.html").read_text()
    assert (
        'data-exercises="write Hand.take, mend Hand.take, write Hand.of, write Hand.largest"'
        in cards
    )
    # Its array needs NumPy, which no browser gets; its notebook has it.
    steps = (site / "steps/index.html").read_text()
    assert "data-edit" not in steps
    assert (site / "notebooks/steps.ipynb").is_file()
    # Its author is told, and of other pages nothing is.
    told = succeed(project, "literate", "check", "sorting/steps.py", CARDS)
    (said,) = [line for line in told.splitlines() if "no browser" in line]
    assert said == (
        "exercises.toml:30: its notebook alone has the exercises of sorting/steps.py: no browser "
        "runs the page, as it imports numpy."
    )
    # What stands in for PyTorch isn't there.
    assert not [*site.glob("assets/kernels-*")]
    assert not [*(site / "assets/edit").rglob("torch*")]


def test_a_page_that_offers_nothing_else_has_its_editor(tmp_path: Path) -> None:
    folder = copied(tmp_path)
    settings = (folder / "pyproject.toml").read_text()
    text = f"{(folder / CARDS).read_text()}\n\ndef apart():\n    from sorting.own import X\n"
    excluded = settings.replace("edit =", 'exclude = ["own.py"]\nedit =')
    write(folder, {"pyproject.toml": excluded, CARDS: text, "sorting/own.py": "X = 1\n"})
    # What it imports is not among the sources: neither a notebook nor a copy can be made.
    succeed(folder, "mkdocs", "build", "-q")
    page = (folder / "site/insertion/index.html").read_text()
    assert "Copy module" not in page
    assert "data-edit" in page


def test_a_file_that_cannot_be_parsed_stops_no_build_and_is_not_edited(tmp_path: Path) -> None:
    folder = copied(tmp_path)
    text = (folder / CARDS).read_text().replace("def take", "def def take")
    write(folder, {CARDS: text, "sorting/other.py": "import sorting.insertion\n"})
    succeed(folder, "mkdocs", "build", "-q")
    for page in ("insertion", "other"):
        assert "data-edit" not in (folder / "site" / page / "index.html").read_text()
    # It is told once, and by its name.
    told = run(folder, "literate", "check").stderr.splitlines()
    of_it = [line for line in told if line.startswith(("<text>", "sorting/insertion.py"))]
    assert of_it == ["sorting/insertion.py:23: invalid syntax."]
    assert not any("alone has the exercises of sorting/insertion.py" in line for line in told)


def test_without_a_table_for_it_no_page_has_an_editor(tmp_path: Path) -> None:
    folder = copied(tmp_path)
    settings = (folder / "pyproject.toml").read_text()
    write(folder, {"pyproject.toml": settings.partition("edit =")[0]})
    succeed(folder, "mkdocs", "build", "-q")
    assert "data-edit" not in (folder / "site/insertion/index.html").read_text()
    assert not (folder / "site/assets/edit").exists()


WRONG = """
[["sorting/insertion.py"]]
of = "Hand.take"
line = "place -= "
["sorting/insertion.py".wrong]
"nothing changes" = { "1" = "(1)" }
"it is no Python" = { "1" = "1 +" }
"it goes too far" = { "1" = "2" }
"it goes too far as well" = { "1" = "1 + 1" }
"the process ends" = "import os; os._exit(3)"
[["sorting/insertion.py"]]
of = "Hand.take"
line = "while place"
wrong = {}
[["sorting/insertion.py"]]
of = "sort"
line = "return Card"
wrong = {}
[["sorting/luck.py"]]
of = "draw"
line = "return "
wrong = {}
[["sorting/__init__.py"]]
of = "draw"
line = "return "
wrong = {}
[["other.py"]]
of = "draw"
line = "return "
wrong = {}
"""
LUCK = '''"""# Luck"""
import os


def draw() -> bytes:
    return os.urandom(1000)


def example() -> bytes:
    return draw()
'''


def test_an_author_is_told_of_each_exercise_that_judges_wrongly(tmp_path: Path) -> None:
    folder = copied(tmp_path)
    assert "no problems" in succeed(folder, "literate", "check")
    write(folder, {"exercises.toml": WRONG, "sorting/luck.py": LUCK})
    done = run(folder, "literate", "check")
    told = [one for one in done.stderr.splitlines() if one.startswith("exercises.toml")]
    assert done.returncode == 1
    assert "Not yet" not in done.stderr
    expected = [
        (6, "the mistake “nothing changes” is judged right: the example gives the same with it."),
        (7, "the mistake “it is no Python” is no Python: SyntaxError: invalid syntax."),
        (
            *(9, "the mistake “it goes too far as well” gives what “it goes too far” gives, so "),
            "readers are told that name; let `example` call it with what tells them apart, ",
            "or leave one out.",
        ),
        (
            10,
            "with the mistake “the process ends” running the page ends the process with status 3.",
        ),
        (13, "`while place` begins a block; an exercise is about a statement without one."),
        (
            *(17, "`sort` in sorting/insertion.py doesn't have once a line that begins "),
            "`return Card`.",
        ),
        (21, "the page's own line is refused: what it returns is b"),
        (23, "nothing judges it: sorting/__init__.py has no function `example` that calls `draw`."),
        (25, "`draw` in sorting/__init__.py doesn't have once a line that begins `return `."),
        (27, "has an exercise of `other.py`, which is no page."),
    ]
    starts = [f"exercises.toml:{line}: {''.join(words)}" for line, *words in expected]
    assert len(told) == len(starts), told
    assert [one[: len(start)] for one, start in zip(told, starts, strict=True)] == starts
    # What was judged is kept, and said again.
    again = run(folder, "literate", "check").stderr.splitlines()
    assert [one for one in again if one.startswith("exercises.toml")] == told
    assert not [one for one in again if one.startswith("judged")]


def test_where_nothing_may_run_nothing_judges(tmp_path: Path) -> None:
    folder = copied(tmp_path)
    settings = (folder / "pyproject.toml").read_text()
    write(folder, {"pyproject.toml": settings.replace("sorting/*", "sorting/steps.py")})
    told = run(folder, "literate", "check").stderr
    assert (
        "exercises.toml:3: nothing judges it: `examples` in `tool.literate` doesn't name "
        "sorting/insertion.py."
    ) in told
    assert "judged the exercises of sorting/steps.py" in told
    assert "judged the exercises of sorting/insertion.py" not in told


def test_without_pytorch_the_project_builds_and_is_judged(tmp_path: Path) -> None:
    folder = copied(tmp_path)
    # Python runs this at its start, in child processes, too.
    write(tmp_path, {"hidden/sitecustomize.py": 'import sys; sys.modules["torch"] = None\n'})
    hidden = {"PYTHONPATH": f"{tmp_path / 'hidden'}:{ROOT}"}
    assert "no problems" in succeed(folder, "literate", "check", **hidden)
    write(
        folder,
        {"sorting/tensors.py": "import torch\n\n\ndef example():\n    return torch.ones(3)\n"},
    )
    told = run(folder, "literate", "check", **hidden).stderr
    assert "sorting/tensors.py:4: can't be measured, because PyTorch is missing" in told


def test_the_documentation_shows_the_example_project() -> None:
    text = (ROOT / "docs/exercises.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```(\w+)\n(.*?)```", text, re.DOTALL)
    files = {
        "python": PROJECT / CARDS,
        "toml": PROJECT / "exercises.toml",
        "yaml": PROJECT / "mkdocs.yml",
    }
    shown = {"python": 0, "toml": 0, "yaml": 0}
    for language, block in blocks:
        if language != "sh":
            is_settings = block.startswith("[tool.")
            file = PROJECT / "pyproject.toml" if is_settings else files[language]
            assert block in file.read_text(encoding="utf-8")
            shown[language] += 1
    assert shown == {"python": 2, "toml": 3, "yaml": 1}
    commands = [block for language, block in blocks if language == "sh"]
    assert commands[1:] == [
        "mkdir -p docs\nmkdocs build\npython -m literate notebooks\n",
        "python -m literate check\n",
    ]
