r"""Every exercise can be solved, does no harm unsolved, and its wrong lines are told by name."""

import json
import linecache
import os
import re
import sys
import tomllib
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from textwrap import indent
from typing import Any

import nbformat
import pytest

from labml_nn.transformers import mistakes
from literate.reading.source import read
from literate.settings import load
from literate.takeaway import assembly
from literate.takeaway.exercises import Exercise, exercises, located, to_assemble, told
from page_runner.edit.running import Program

ROOT = Path(__file__).resolve().parents[1]
SETTINGS = load(ROOT)
EXERCISES = (ROOT / "labml_nn/exercises.toml").read_text(encoding="utf-8")
HOLES = [
    (path, number)
    for path in tomllib.loads(EXERCISES)
    for number in range(len(exercises(SETTINGS, path)))
]
RIGHT = "Right: the same results as the lesson's, wherever one can look.\n"
UNSOLVED = "Nothing to judge yet: write your line in the cell above, and run both cells.\n"
STILL = "Not yet. The bug is still there.\n"

# The cells that were executed, as `linecache` keeps them. The page's own editor empties that.
CELLS: dict[str, tuple[int, None, list[str], str]] = {}


def execute(code: str, names: dict[str, object]) -> None:
    r"""Execute a cell as a kernel does, which knows the source of every function."""
    file = f"<cell {hash(code)}>"
    CELLS[file] = (len(code), None, code.splitlines(keepends=True), file)
    linecache.cache.update(CELLS)
    exec(compile(code, file, "exec", dont_inherit=True), names)


@cache
def cells(path: str) -> tuple[list[str], dict[str, object]]:
    r"""The cells of a page's exercises, and the names that those before them have left behind."""
    file = ROOT / "notebooks" / Path(path).relative_to("labml_nn").with_suffix(".ipynb")
    code = [one.source for one in nbformat.read(file, as_version=4).cells if "outputs" in one]
    task = re.compile(r"(?m)^# `.*`, with a (hole|bug)")
    first = next(at for at, one in enumerate(code) if task.search(one))
    names: dict[str, object] = {}
    for one in code[:first]:
        execute(one, names)
    return code[first:], names


@cache
def exercise(path: str, number: int) -> Exercise:
    r"""An exercise with its lines, as the build finds them on the page."""
    return located((ROOT / path).read_text("utf-8"), exercises(SETTINGS, path)[number], path)


def judged(path: str, number: int, line: str, capsys: pytest.CaptureFixture[str]) -> str:
    r"""What the notebook of a page says about a line in the place of the one that is asked for."""
    code, names = cells(path)
    hole, judge = code[2 * number : 2 * number + 2]
    asked = exercise(path, number).asked
    assert hole.count(asked) == 1
    here = dict(names)
    indentation = " " * (hole.index(asked) - hole.rfind("\n", 0, hole.index(asked)) - 1)
    execute(hole.replace(asked, indent(line or asked, indentation).lstrip()), here)
    capsys.readouterr()
    execute(judge, here)
    return capsys.readouterr().out


@pytest.mark.parametrize(("path", "number"), HOLES)
def test_the_page_s_own_line_is_right_and_each_wrong_line_is_named(
    path: str, number: int, capsys: pytest.CaptureFixture[str]
) -> None:
    one = exercise(path, number)
    names = [*one.wrong]
    bug = [names.pop(0)] if one.is_bug else []
    assert judged(path, number, "", capsys) == (STILL if bug else UNSOLVED)
    assert judged(path, number, one.right, capsys) == RIGHT
    said = {name: judged(path, number, one.wrong[name], capsys) for name in names}
    assert said == {name: f"Not yet. This is a known mistake: {name}.\n" for name in said}
    # Nothing is left of them.
    assert judged(path, number, one.right, capsys) == RIGHT


# Other right lines than the pages' own. Some leave a result in another order of memory: with
# dropout, other elements would be lost.
RIGHT_LINES = tomllib.loads((ROOT / "tests/right_lines.toml").read_text(encoding="utf-8"))
SPELLINGS = [
    (path, number, line)
    for path, each in RIGHT_LINES.items()
    for number, lines in enumerate(each)
    for line in lines
]
# The same numbers where nothing is dropped, and others where something is.
OTHER_DROPOUT = [
    ("labml_nn/transformers/models.py", 0, "x = x + z"),
    ("labml_nn/transformers/models.py", 0, "x = x + 0.5 * self.dropout(2 * z)"),
]


def test_each_exercise_has_two_other_right_lines() -> None:
    assert [(path, number) for path, number in HOLES if path in RIGHT_LINES] == HOLES
    for path, number in HOLES:
        lines = {"".join(line.split()) for line in RIGHT_LINES[path][number]}
        assert len(lines - {"".join(exercise(path, number).right.split())}) >= 2, (path, number)


@pytest.mark.parametrize(("path", "number", "line"), [*SPELLINGS, *OTHER_DROPOUT])
def test_another_right_line_is_right_unless_it_drops_something_else(
    path: str, number: int, line: str, capsys: pytest.CaptureFixture[str]
) -> None:
    said = judged(path, number, line, capsys)
    assert said.startswith(RIGHT.rstrip()) == ((path, number, line) in SPELLINGS), said


def test_a_name_that_the_page_has_not_imported_is_lent_and_told(
    capsys: pytest.CaptureFixture[str],
) -> None:
    path = "labml_nn/transformers/basic/autoregressive_model.py"
    line = "return F.linear(x, self.generator.projection.weight, self.generator.projection.bias)"
    said = judged(path, 1, line, capsys)
    assert said == f"{RIGHT.rstrip()} The page doesn't import `F`; the judge did.\n"
    # In a comprehension, too; and a name that nobody knows is still none.
    line = "return torch.stack([F.linear(one, self.generator.projection.weight) for one in x])"
    assert "stops" not in judged(path, 1, line, capsys)
    assert "NameError: name 'G' is not defined" in judged(path, 1, "return G.linear(x)", capsys)
    assert "F" not in cells(path)[1]


@pytest.fixture
def program() -> Iterator[Program]:
    r"""What judges in the reader's browser, here with PyTorch."""
    before = {name: one for name, one in sys.modules.items() if name.startswith("labml_nn")}
    program = Program(str(ROOT), ["labml_nn"], print, print)
    yield program
    sys.meta_path.remove(program.sources)
    for name in [one for one in sys.modules if one.startswith("labml_nn")]:
        del sys.modules[name]
    sys.modules.update(before)


SAMPLE = ["labml_nn/transformers/mha.py", "labml_nn/transformers/rms_norm.py"]


@pytest.mark.parametrize(
    "path",
    [
        pytest.param(path, marks=[] if path in SAMPLE else [pytest.mark.whole])
        for path in SETTINGS.lessons["practised"]
    ],
)
def test_the_page_judges_as_its_notebook_does(path: str, program: Program) -> None:
    source = read(ROOT / path, path)
    for asked in told(SETTINGS, source):

        def said(text: str, one: dict[str, object] = asked) -> str:
            answer = program.judge(path, json.dumps({path: text}), json.dumps(one))
            return json.loads(answer)["said"] + "\n"

        assert said(source.text) == RIGHT
        names = [*asked["wrong"]]
        if asked["kind"] == "mend":
            assert asked["text"] == asked["wrong"][names[0]]
            assert said(asked["wrong"][names.pop(0)]) == STILL
        assert [said(asked["wrong"][name]) for name in names] == [
            f"Not yet. This is a known mistake: {name}.\n" for name in names
        ]


ASSEMBLED = [path for path in tomllib.loads(EXERCISES) if to_assemble(SETTINGS, path)]


@pytest.mark.parametrize(
    "path",
    [pytest.param(path, marks=[] if path in SAMPLE else [pytest.mark.whole]) for path in ASSEMBLED],
)
def test_lines_in_order_are_right_and_a_wrong_one_among_them_is_named(
    path: str, program: Program
) -> None:
    source = read(ROOT / path, path)
    for asked, one in zip(
        assembly.told(SETTINGS, source), assembly.assemblies(SETTINGS, source), strict=True
    ):

        def said(pieces: list[str], asked: dict[str, Any] = asked) -> str:
            text = "\n".join([*asked["before"], *pieces, *asked["after"]]) + "\n"
            answer = program.judge(path, json.dumps({path: text}), json.dumps(asked))
            return json.loads(answer)["said"] + "\n"

        assert said([*one.pieces]) == RIGHT
        shown = {line["wrong"]: line["text"] for line in asked["lines"] if line["wrong"]}
        assert shown and len(asked["lines"]) == len(one.pieces) + len(shown)
        for name in one.wrong:
            assert said(one.with_mistake(name)) == f"Not yet. This is a known mistake: {name}.\n"
        # The notes don't give the order away.
        assert not [line for line in asked["lines"] if "#" in line["text"]]


def test_the_pages_of_the_course_have_lines_to_assemble() -> None:
    course = (ROOT / "labml_nn/course/__init__.py").read_text("utf-8")
    steps = re.findall(r"\* \[ \] \*\*\d+\. \[[^]]*\]\(([^)#]*)", course)
    pages = {os.path.normpath(os.path.join("labml_nn/course", step)) for step in steps}
    assert len(pages) == 12
    assert pages == set(ASSEMBLED)


def test_what_the_museum_is_said_to_have_is_there() -> None:
    modules = [f"{mistakes.__name__}.{one.name}" for one in iter_modules(mistakes.__path__)]
    exhibits = {name for module in modules for name in vars(import_module(module))}
    named = set(re.findall(r"in the museum: (\w+)", EXERCISES))
    assert len(named) > 10
    assert named <= exhibits
