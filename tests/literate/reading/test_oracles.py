r"""A lesson has something to be compared with, or a reason."""

from pathlib import Path

import pytest

from literate.problems import LiterateError
from literate.reading.lessons import Lessons
from literate.reading.oracles import left_over, problems
from literate.reading.source import parse
from tests.literate.projects import write

LESSONS = Lessons(pages=["pkg/*"], machinery=["pkg/command.py"], oracles="why.toml")
WHY = '[[without]]\npages = ["*_experiment.py", "gone.py"]\nreason = "It trains."\n'
WHY += '[[without]]\npages = ["deep/b.py"]\nreason = "It draws."\n'


def test_without_a_table_or_a_reason_the_place_of_both_is_named(tmp_path: Path) -> None:
    files = {"tests/pkg/test_a.py": "ORACLES: dict = {}\n", "tests/pkg/deep/test_b.py": "x = 1\n"}
    write(tmp_path, files | {"why.toml": WHY})
    paths = ["pkg/a.py", "pkg/deep/b.py", "pkg/an_experiment.py", "pkg/__init__.py"]
    paths += ["pkg/command.py", "other/c.py"]
    assert [
        one for path in paths for one in problems(parse("x = 1\n", path), tmp_path, LESSONS)
    ] == []
    (found,) = problems(parse("x = 1\n", "pkg/deep/c.py"), tmp_path, LESSONS)
    assert str(found) == (
        "pkg/deep/c.py:1: `tests/pkg/deep/test_c.py` has no table `ORACLES` of what this page is "
        "compared with, and `why.toml` gives no reason."
    )
    assert [*problems(parse("x = 1\n", "pkg/deep/c.py"), tmp_path, Lessons(pages=["pkg/*"]))] == []
    assert [str(one) for one in left_over(paths, tmp_path, LESSONS)] == [
        "why.toml:2: gives a reason for `gone.py`, which no lesson needs."
    ]
    # Once it has a table, its reason goes.
    write(tmp_path, {"tests/pkg/deep/test_b.py": "ORACLES = {}\n"})
    assert [one.line for one in left_over(paths, tmp_path, LESSONS)] == [2, 5]


@pytest.mark.parametrize("text", ["[[without]", '[[without]]\npages = ["a.py"]\n', "x = 1\n"])
def test_a_file_of_reasons_that_is_none_is_named(tmp_path: Path, text: str) -> None:
    write(tmp_path, {"why.toml": text})
    with pytest.raises(LiterateError, match="^why.toml:1: isn't a list of pages without oracles"):
        list(problems(parse("x = 1\n", "pkg/a.py"), tmp_path, LESSONS))


def test_a_line_that_a_list_of_mutants_quotes_is_one_of_the_page(tmp_path: Path) -> None:
    quoted = '[[mutant]]\npage = "pkg/a.py"\noriginal = "x = 1"\nmutated = "x = 2"\n'
    write(tmp_path, {"same.toml": quoted + quoted.replace("x = 1", "y = 1")})
    lessons = Lessons(pages=["pkg/*"], equivalents="same.toml")
    page = parse("if True:\n    x = 1\n", "pkg/a.py")
    (found,) = problems(page, tmp_path, lessons)
    assert str(found).startswith("same.toml:7: quotes `y = 1`, which is no line of pkg/a.py; ")
    assert [*problems(parse("", "pkg/b.py"), tmp_path, lessons)] == []
    write(tmp_path, {"same.toml": "mutant = 1\n"})
    with pytest.raises(LiterateError, match="^same.toml:1: isn't a list of mutants"):
        list(problems(page, tmp_path, lessons))
