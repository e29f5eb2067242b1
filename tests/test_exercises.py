r"""Every exercise can be solved, does no harm unsolved, and its wrong lines are told by name."""

import linecache
import re
import tomllib
from functools import cache
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules

import nbformat
import pytest

from labml_nn.transformers import mistakes

ROOT = Path(__file__).resolve().parents[1]
EXERCISES = tomllib.loads((ROOT / "labml_nn/exercises.toml").read_text(encoding="utf-8"))
HOLES = [(path, number) for path, holes in EXERCISES.items() for number in range(len(holes))]
RIGHT = "Right: the same numbers as the lesson's, wherever one can look.\n"
UNSOLVED = "Nothing to judge yet: write your line in the cell above, and run both cells.\n"
CORE = """
    training/data training/counting training/sampling training/loop
    transformers/ways/one_head_at_a_time transformers/mha transformers/feed_forward
    transformers/positional_encoding transformers/models transformers/basic/autoregressive_model
    transformers/basic/autoregressive_experiment transformers/kv_cache transformers/rotary
    transformers/rms_norm transformers/swiglu transformers/modern/attention
    transformers/modern/model
"""


def execute(code: str, names: dict[str, object]) -> None:
    r"""Execute a cell as a kernel does, which knows the source of every function."""
    file = f"<cell {hash(code)}>"
    linecache.cache[file] = (len(code), None, code.splitlines(keepends=True), file)
    exec(compile(code, file, "exec", dont_inherit=True), names)


@cache
def cells(path: str) -> tuple[list[str], dict[str, object]]:
    r"""The cells of a page's exercises, and the names that those before them have left behind."""
    file = ROOT / "notebooks" / Path(path).relative_to("labml_nn").with_suffix(".ipynb")
    code = [one.source for one in nbformat.read(file, as_version=4).cells if "outputs" in one]
    first = next(at for at, one in enumerate(code) if "YOUR_LINE" in one and "def my_" in one)
    names: dict[str, object] = {}
    for one in code[:first]:
        execute(one, names)
    return code[first:], names


def judged(path: str, number: int, line: str, capsys: pytest.CaptureFixture[str]) -> str:
    r"""What the notebook of a page says about a line."""
    code, names = cells(path)
    hole, judge = code[2 * number : 2 * number + 2]
    (place,) = (one.strip() for one in hole.splitlines() if "YOUR_LINE" in one)
    here = dict(names)
    execute(hole.replace(place, line or place), here)
    capsys.readouterr()
    execute(judge, here)
    return capsys.readouterr().out


@pytest.mark.parametrize(("path", "number"), HOLES)
def test_the_page_s_own_line_is_right_and_each_wrong_line_is_named(
    path: str, number: int, capsys: pytest.CaptureFixture[str]
) -> None:
    exercise = EXERCISES[path][number]
    assert judged(path, number, "", capsys) == UNSOLVED
    assert judged(path, number, exercise["right"], capsys) == RIGHT
    said = {name: judged(path, number, line, capsys) for name, line in exercise["wrong"].items()}
    assert said == {name: f"Not yet. This is a known mistake: {name}.\n" for name in said}
    # Nothing is left of them.
    assert judged(path, number, exercise["right"], capsys) == RIGHT


def test_each_lesson_of_the_core_path_has_an_exercise() -> None:
    assert {f"labml_nn/{page}.py" for page in CORE.split()} <= set(EXERCISES)


def test_each_lesson_of_the_core_path_asks_why_and_answers_each_wrong_answer() -> None:
    for page in CORE.split():
        text = (ROOT / f"labml_nn/{page}.py").read_text(encoding="utf-8")
        # That an answer says why it is wrong is held by `literate check`.
        questions = re.findall(r'\?\?\? question "([^"]*)"\n +- \[[ x]\]', text)
        assert any("Why" in one or "What" in one for one in questions), page


def test_what_the_museum_is_said_to_have_is_there() -> None:
    modules = [f"{mistakes.__name__}.{one.name}" for one in iter_modules(mistakes.__path__)]
    exhibits = {name for module in modules for name in vars(import_module(module))}
    named = set(re.findall(r"in the museum: (\w+)", str(EXERCISES)))
    assert len(named) > 10
    assert named <= exhibits
