r"""Outputs are those of a run that a notebook names, and of the code that it has."""

import json
from datetime import date
from pathlib import Path

import nbformat
import pytest
from nbformat import NotebookNode

from literate.results.machine import processor
from literate.takeaway.executed import execute, is_bare, with_outputs
from literate.takeaway.notebooks import build_all, stale, write
from tests.literate.packages import package

HEAD = 'r"""\n---\ntitle: A page\nsummary: S.\n---\n\nA note.\n"""\n'
BODY = "def example():\n    return 6 * 7\n\n\ndef notebook():\n    print({})\n"


def pages(code: str, note: str = "A note.") -> dict[str, str]:
    return {"pkg/a.py": HEAD.replace("A note.", note) + BODY.format(code)}


def read(path: Path) -> NotebookNode:
    return nbformat.reads(path.read_text(encoding="utf-8"), as_version=4)


def printed(notebook: NotebookNode) -> str:
    outputs = [one for cell in notebook.cells for one in cell.get("outputs", [])]
    return "".join(one.text for one in outputs)


@pytest.fixture
def ran(tmp_path: Path) -> Path:
    r"""The file of a notebook with outputs."""
    built = build_all(package(pages("example(), sum([])")), tmp_path)
    done, failed = execute(built, lambda line: None)
    assert failed == []
    write(done)
    return tmp_path / "a.ipynb"


def test_outputs_name_the_machine_and_the_day_and_stay_while_only_notes_change(ran: Path) -> None:
    first = read(ran)
    nbformat.validate(first)
    assert printed(first).endswith("42 0\n")
    told = first.metadata.literate.outputs
    assert told.made == date.today().isoformat() and told.machine.startswith(processor())
    assert f"on {told.made}, {told.machine}." in first.cells[0].source
    (built,) = build_all(package(pages("example(), sum([])", "Another.")), ran.parent).values()
    again = nbformat.reads(with_outputs(built, ran), as_version=4)
    assert "Another." in json.dumps(again) and "Another." not in json.dumps(first)
    assert printed(again) == printed(first)
    assert again.metadata.literate.outputs == told
    # Written again, it is what it was.
    (same,) = build_all(package(pages("example(), sum([])")), ran.parent).values()
    assert with_outputs(same, ran) == ran.read_text(encoding="utf-8")


def test_a_line_of_code_that_has_changed_takes_the_outputs_away(ran: Path) -> None:
    ((path, built),) = build_all(package(pages("example(), sum([1])")), ran.parent).items()
    assert with_outputs(built, ran) == built and is_bare(built)
    (problem,) = stale({path: with_outputs(built, ran)})
    assert "is not what the sources give" in problem.sentence


def test_what_fails_is_named_and_the_others_have_outputs(tmp_path: Path) -> None:
    files = pages("example()") | {"pkg/b.py": pages("1 / 0")["pkg/a.py"]}
    done, failed = execute(build_all(package(files), tmp_path), lambda line: None)
    assert [path.name for path in done] == ["a.ipynb"]
    assert [str(one) for one in failed] == [
        f"{(tmp_path / 'b.ipynb').as_posix()}:1: failed: ZeroDivisionError: division by zero"
    ]
