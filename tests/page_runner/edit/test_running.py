r"""An edited page, run with PyTorch itself: what its lines gave, what it printed, its errors."""

import json
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest

from page_runner.edit.running import Program
from tests.literate.projects import write

PAGE, PART = "lessons/page.py", "lessons/part.py"

FILES = {
    "lessons/__init__.py": "",
    PART: "def double(x):\n    return 2 * x\n",
    PAGE: dedent(
        """\
        import torch
        from lessons.part import double

        def example(rows=3, columns=5):
            x = torch.arange(15.0).reshape(rows, columns)
            for row in x:
                y = double(row)
            print(y.sum().item())
            return x.mT
        """
    ),
}

Run = Callable[..., dict[str, Any]]


@pytest.fixture
def said() -> list[str]:
    return []


@pytest.fixture
def run(tmp_path: Path, said: list[str]) -> Iterator[Run]:
    r"""A function that runs the page, with the texts that are edited."""
    write(tmp_path, FILES)
    program = Program(str(tmp_path), ["lessons"], said.append, said.append)

    def edited(texts: Mapping[str, str] | None = None) -> dict[str, Any]:
        return json.loads(program.run(PAGE, json.dumps(texts or {})))

    yield edited
    sys.meta_path.remove(program.sources)
    for name in [one for one in sys.modules if one.partition(".")[0] == "lessons"]:
        del sys.modules[name]


def test_lines_tell_shapes_first_values_and_how_often(run: Run, said: list[str]) -> None:
    found = run()
    assert found["error"] is None
    told = {
        line: [[*one[:3], one[3][0][1], one[4]] for one in tensors]
        for line, tensors in found["lines"].items()
    }
    assert told == {
        "5": [["x", [3, 5], "float32", ["0", "1", "2", "3", "4", "5"], 1]],
        "6": [["row", [5], "float32", ["0", "1", "2", "3", "4"], 3]],
        "7": [["y", [5], "float32", ["0", "2", "4", "6", "8"], 3]],
        "9": [["return", [5, 3], "float32", ["0", "5", "10", "1", "6", "11"], 1]],
    }
    assert "".join(said) == "120.0\n"


def test_an_edited_page_takes_the_place_of_its_file_for_one_run(run: Run) -> None:
    own = run()
    changed = run({PAGE: FILES[PAGE].replace("15.0", "30.0").replace("rows=3", "rows=6")})
    assert changed["lines"]["5"][0][1] == [6, 5]
    assert changed["lines"]["7"][0][3:] != own["lines"]["7"][0][3:]
    again = run()
    assert again["lines"] == own["lines"]


def test_a_module_that_the_page_imports_can_be_edited(run: Run) -> None:
    changed = run({PART: FILES[PART].replace("2 * x", "x.repeat(2)")})
    assert changed["lines"]["7"][0][1] == [10]
    assert run()["lines"]["7"][0][1] == [5]


@pytest.mark.parametrize(
    ("path", "old", "new", "kind", "message", "places"),
    [
        (
            PAGE,
            "x.mT",
            "x @ x",
            "RuntimeError",
            "mat1 and mat2 shapes cannot be multiplied (3x5 and 3x5)",
            [(PAGE, 9)],
        ),
        (PAGE, "for row in x:", "for row of x:", "SyntaxError", "invalid syntax", [(PAGE, 6)]),
        (PART, "2 * x", "x.nothing", "AttributeError", "'nothing'", [(PAGE, 7), (PART, 2)]),
        (PAGE, "import torch", "import torsh", "ModuleNotFoundError", "torsh", [(PAGE, 1)]),
        (PAGE, "return x.mT", "raise SystemExit(3)", "SystemExit", "3", [(PAGE, 9)]),
    ],
    ids=["torch", "syntax", "elsewhere", "import", "exit"],
)
def test_an_error_is_told_with_its_lines_in_its_own_words(
    run: Run,
    path: str,
    old: str,
    new: str,
    kind: str,
    message: str,
    places: list[tuple[str, int]],
) -> None:
    error = run({path: FILES[path].replace(old, new)})["error"]
    assert error["type"] == kind
    assert message in error["message"]
    assert [(one["path"], one["line"]) for one in error["places"]] == places


def test_what_ran_before_an_error_is_told(run: Run) -> None:
    found = run({PAGE: FILES[PAGE].replace("return x.mT", "return x.nothing")})
    assert list(found["lines"]) == ["5", "6", "7"]


def test_the_marked_columns_are_those_of_what_failed(run: Run) -> None:
    place = run({PAGE: FILES[PAGE].replace("x.mT", "x @ x")})["error"]["places"][-1]
    text = "    return x @ x"
    assert text[place["start"] : place["end"]] == "x @ x"


def test_random_numbers_are_the_same_in_each_run(run: Run) -> None:
    random = FILES[PAGE].replace("torch.arange(15.0)", "torch.randn(15)")
    assert run({PAGE: random})["lines"] == run({PAGE: random})["lines"]


def test_a_page_without_an_example_says_so(run: Run) -> None:
    found = run({PAGE: "import torch\nx = torch.ones(2, 3)\n"})
    assert found["example"] is False
    assert found["lines"]["2"][0][:2] == ["x", [2, 3]]


def test_a_function_tells_one_thing_after_another(tmp_path: Path) -> None:
    text = (
        "def count(most):\n    yield {'at': 1}\n    yield {'at': most}\n    raise ValueError(9)\n"
    )
    write(tmp_path, {"counts/__init__.py": "", "counts/up.py": text})
    program = Program(str(tmp_path), ["counts"], print, print)
    told = [json.loads(one) for one in program.call("counts.up:count", '{"most": 7}')]
    sys.meta_path.remove(program.sources)
    assert told[:2] == [{"at": 1}, {"at": 7}]
    assert told[2]["error"]["message"] == "9"
    assert told[2]["error"]["places"][-1]["line"] == 4
