r"""
A training cell is run twice, and stopped, as readers do.

Again, it says that nothing is left to do. After a stop it goes on, and each loss is, to the last
bit, that of a run without a stop. The cell above starts from scratch. What a notebook would get
wrong in silence is here a failure: adapters inside adapters, a curve glued to another, a training
that begins on trained weights, or `steps = 0`, which trains nothing.
"""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell

from labml_nn.training.data import tiny_shakespeare
from tests.kernels import FORM, Kernels, fill_in
from tests.literate.projects import ROOT

FOLDER = ROOT / "notebooks"
# A cell that trains calls this method of a run; one that makes runs starts from scratch.
TRAINS = re.compile(r"(?m)^ *\w+\.train\(")
MAKES = re.compile(r"(?m)\bRun\(")
TRAINING = sorted(
    path for path in FOLDER.rglob("*.ipynb") if '"steps = ' in path.read_text("utf-8")
)
# How a cell begins that is folded, defines something or asks for a line: below what it comes after.
NO_CELL_OF_THE_END = re.compile(
    r"(# After (.*\n# )*?.*\.\n)?(#@title|class |def |@|# `|# The lines of)"
)
# One of each kind: one run, a base with adapters, a comparison, several stages.
SAMPLE = (
    "fine_tuning/lora_experiment",
    "transformers/basic/autoregressive_experiment",
    "transformers/basic/comparison_experiment",
)

# In the kernel: what a stop would be in the middle of, and how the losses are looked at.
HELPERS = '''
import json, signal, sys

def runs_of(names):
    """The runs, by their names; those that are in a table, too."""
    found = {}
    for name, value in list(names.items()):
        for key, one in (value.items() if isinstance(value, dict) else [("", value)]):
            if type(one).__name__ == "Run":
                found[f"{name} {key}".strip()] = one
    return found

def told(names):
    print("TOLD" + json.dumps({name: one.losses for name, one in runs_of(names).items()}))

def press_in_batches(names):
    """The button, once, while the second batch of the next training is made."""
    done = []
    for run in runs_of(names).values():
        def batch_at(step, of=run.batch_at):
            if step == 1 and not done:
                done.append(step)
                signal.raise_signal(signal.SIGINT)
            return of(step)
        run.batch_at = batch_at
'''


def is_training(cell: NotebookNode) -> bool:
    r"""A cell of the notebook itself: what is folded has no run."""
    if cell.cell_type != "code" or NO_CELL_OF_THE_END.match(cell.source):
        return False
    return TRAINS.search(cell.source) is not None


def makes_runs(cell: NotebookNode) -> bool:
    return (
        cell.cell_type == "code"
        and not NO_CELL_OF_THE_END.match(cell.source)
        and MAKES.search(cell.source) is not None
    )


def told(cell: NotebookNode) -> dict[str, list[float]]:
    r"""The losses of all runs, as the kernel has printed them."""
    import json

    (line,) = (
        line
        for one in cell.outputs
        if one.get("name") == "stdout"
        for line in one.text.splitlines()
        if line.startswith("TOLD")
    )
    return json.loads(line.removeprefix("TOLD"))


def printed(cell: NotebookNode) -> str:
    return "".join(one.text for one in cell.outputs if one.get("name") == "stdout")


def failed(cell: NotebookNode) -> list[str]:
    return [one.ename for one in cell.outputs if one.output_type == "error"]


@pytest.fixture(scope="module")
def kernels(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kernels]:
    with Kernels(tmp_path_factory.mktemp("again")) as kernels:
        yield kernels


@pytest.fixture(scope="module")
def form(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, object]:
    corpus = tmp_path_factory.mktemp("corpus") / "short.txt"
    corpus.write_text(tiny_shakespeare()[:12_000], encoding="utf-8")
    few = {"steps": 6, "fine_tuning_steps": 3, "preference_steps": 6}
    return {**FORM, "corpus": str(corpus), **few}


def test_each_notebook_that_trains_has_a_cell_that_makes_runs_and_one_that_trains() -> None:
    assert len(TRAINING) >= 41
    for path in TRAINING:
        notebook = fill_in(path.read_text("utf-8"), {})
        assert any(map(is_training, notebook.cells)), path
        assert any(map(makes_runs, notebook.cells)), path
        # Another way of training would not be tested here.
        shown = [one.source for one in notebook.cells if one.cell_type == "code"]
        ours = [one for one in shown if not NO_CELL_OF_THE_END.match(one)]
        # A cell to play with makes its model and trains it, in a second.
        ours = [one for one in ours if "\nlook_inside(" not in one]
        assert not [one for one in ours if re.search(r"(?m)^ *(train|fit|imitate)\(", one)], path


@pytest.mark.parametrize(
    "path",
    [
        pytest.param(path, id=name, marks=() if name in SAMPLE else pytest.mark.whole)
        for path in TRAINING
        for name in [path.relative_to(FOLDER).with_suffix("").as_posix()]
    ],
)
def test_a_training_cell_runs_again_and_goes_on_after_a_stop(
    kernels: Kernels, form: Mapping[str, object], path: Path
) -> None:
    notebook = fill_in(path.read_text("utf-8"), form)
    cells = [new_code_cell(HELPERS, id="helpers"), *notebook.cells]
    ends = [at for at, cell in enumerate(cells) if is_training(cell)]
    # Up to the last training; then each cell again, and once more from scratch with a stop.
    done: list[NotebookNode] = cells[: ends[-1] + 1]
    done.append(new_code_cell("told(globals())", id="first"))
    for number, at in enumerate(ends):
        done.append(new_code_cell(cells[at].source, id=f"again-{number}"))
        done.append(new_code_cell("told(globals())", id=f"told-again-{number}"))
    for number, at in enumerate(ends):
        above = [one for one in range(at) if makes_runs(cells[one])][-1]
        stages = range(above, at)
        done.append(new_code_cell(cells[above].source, id=f"scratch-{number}"))
        between = [one for one in stages if one > above and cells[one].cell_type == "code"]
        done += [new_code_cell(cells[one].source, id=f"between-{number}-{one}") for one in between]
        press = new_code_cell("press_in_batches(globals())", id=f"press-{number}")
        stopped = new_code_cell(cells[at].source, id=f"stopped-{number}")
        stopped.metadata["tags"] = ["raises-exception"]
        done += [press, stopped, new_code_cell(cells[at].source, id=f"on-{number}")]
        done.append(new_code_cell("told(globals())", id=f"told-on-{number}"))
    notebook.cells = done
    kernels.run(notebook)
    found = {cell.id: cell for cell in notebook.cells if cell.cell_type == "code"}
    last = notebook.cells[-1]
    errors = {cell.id: failed(cell) for cell in found.values() if failed(cell)}
    stops = [f"stopped-{number}" for number in range(len(ends))]
    assert errors == dict.fromkeys(stops, ["KeyboardInterrupt"])
    assert last.outputs
    expected = told(found["first"])
    assert expected
    assert all(losses for losses in expected.values())
    for number in range(len(ends)):
        assert "nothing is left to do" in printed(found[f"again-{number}"])
        assert told(found[f"told-again-{number}"]) == expected
        assert "stopped after step 2" in printed(found[f"stopped-{number}"])
        assert "goes on after step 2 of" in printed(found[f"on-{number}"])
        assert told(found[f"told-on-{number}"]) == expected
