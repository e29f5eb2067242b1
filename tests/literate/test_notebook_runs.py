r"""The notebooks run from top to bottom where torch is and this repository is not."""

import ast
import builtins
import dis
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import CodeType

import nbformat
import pytest
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell

from labml_nn.training.data import tiny_shakespeare
from literate import site
from literate.measuring.axes import example_of
from literate.measuring.measure import Measurement, Tensor
from literate.reading.source import Source
from literate.settings import load
from literate.takeaway.assembly import TASK as LINES
from literate.takeaway.exercises import MEND, WRITE
from tests.colab.__main__ import SAMPLE
from tests.kernels import FORM, Kernels, fill_in
from tests.literate.projects import ROOT

NOTEBOOKS = sorted((ROOT / "notebooks").rglob("*.ipynb"))

# The folded cells that every notebook brings.
HELPERS = ("#@title Set-up", "#@title Shows the shapes", "#@title Judges the exercises")

Run = Callable[[str, Mapping[str, object]], NotebookNode]
WHERE = """
from importlib.util import find_spec
import os
print(find_spec("labml_nn"), find_spec("literate"), os.listdir())
"""

# With dropout on, a model seems worse than it is. What calls it is no training.
MODES = """
import sys, torch

def refuse(model, inputs):
    if hasattr(model, "steps_trained") and model.training and not torch.is_grad_enabled():
        frame = sys._getframe()
        while frame and frame.f_code.co_name != "train":
            frame = frame.f_back
        assert frame, "a trained model is looked at in the mode of training"

torch.nn.modules.module.register_module_forward_pre_hook(refuse)
"""


@pytest.fixture(scope="module")
def execute(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Run]:
    r"""
    A function that executes the text of a notebook from top to bottom, up to a cell that fails,
    with other values in its form.
    """
    with Kernels(tmp_path_factory.mktemp("notebooks")) as kernels:

        def run(text: str, form: Mapping[str, object]) -> NotebookNode:
            notebook = fill_in(text, form)
            notebook.cells.insert(0, new_code_cell(WHERE + MODES, id="where"))
            kernels.run(notebook)
            assert printed(notebook.cells[0]) == "None None []\n"
            return notebook

        yield run


def outputs(cell: NotebookNode) -> list[NotebookNode]:
    r"""What a cell has put out; nothing, if it is a note."""
    return cell.get("outputs", [])


def printed(cell: NotebookNode) -> str:
    r"""What a cell has printed."""
    return "".join(one.text for one in outputs(cell) if one.get("name") == "stdout")


def errors(notebook: NotebookNode) -> list[str]:
    r"""What went wrong, with the first line of the cell."""
    return [
        f"{cell.source.splitlines()[0]}: {one.ename}: {one.evalue}"
        for cell in notebook.cells
        for one in outputs(cell)
        if one.output_type == "error"
    ]


@pytest.fixture(scope="module")
def form(tmp_path_factory: pytest.TempPathFactory) -> dict[str, object]:
    r"""With a short text, since each model is evaluated on a tenth of it."""
    corpus = tmp_path_factory.mktemp("corpus") / "short.txt"
    corpus.write_text(tiny_shakespeare()[:12_000], encoding="utf-8")
    return {**FORM, "corpus": str(corpus)}


def shapes(source: Source, measurement: Measurement) -> str:
    r"""What the example binds, each tensor as it was last, and its result."""
    example = example_of(source)
    assert example is not None
    found: dict[str, Tensor] = {}
    # What an inner function binds and returns is no name and no result of the example.
    inner = [
        range(one.lineno, (one.end_lineno or 0) + 1)
        for one in ast.walk(example)
        if isinstance(one, ast.FunctionDef) and one is not example
    ]
    for line, tensors in sorted(measurement.lines.items()):
        if example.lineno <= line <= (example.end_lineno or 0):
            if not any(line in lines for lines in inner):
                found |= {one.name: one for one in tensors}
    # `return[0]` is a part of what is returned; attributes of a value are left out.
    results = [name for name in found if re.match(r"return(\[[^\]]*\])*$", name)]
    names = [name for name in found if name.isidentifier() and name not in ("_", *results)]
    return "".join(
        f"{re.sub('^return', 'result', name)}: {list(found[name].sizes[0])} {found[name].dtype}\n"
        for name in [*names, *results]
    )


@pytest.fixture(scope="module")
def expected() -> dict[str, str]:
    r"""What the site shows below the example of each page: the shapes that were measured."""
    loaded = site.load(load(ROOT))
    measured, _ = site.measurements(loaded, loaded.sources.values(), lambda line: None)
    return {path: shapes(loaded.sources[path], one) for path, one in measured.items()}


# The pages that a run and its step in 16 bits consist of, and what draws a cell to play with.
OF_A_RUN = re.compile(
    r"#@title (Draws what lines make|.*\((labml_nn/)?training/"
    r"(run|run_file|run_progress|stop_button|to_device|mixed_step|figures|device)\.py\))"
)


# Marks of the cells in which the lines of a function are put in order.
ASSEMBLED = (LINES, "#@title Are the lines", ", among wrong ones:")


def is_folded(cell: NotebookNode) -> bool:
    r"""Whether Colab and JupyterLab show a cell without its code."""
    return "source_hidden" in cell.metadata.get("jupyter", {})


def check_that_it_shows_a_picture_and_a_loss_and_can_be_read(
    done: NotebookNode, path: Path
) -> None:
    r"""A notebook that trains."""
    # One that trains nothing, and only looks, has no loss.
    trains = path.stem != "attention_experiment"
    assert trains is any(re.search(r"\bloss\b", printed(cell)) for cell in done.cells)
    put_out = [(cell.source, one) for cell in done.cells for one in outputs(cell)]
    drawn = [source for source, one in put_out if "image/png" in one.get("data", {})]
    # A picture that goes on in the next cell would be shown as two, each without the other's half.
    # A run draws its own curve.
    assert drawn
    draws = ("plt.show()", "draw_squares(", "look_inside(", ".train(")
    assert all(any(one in source for one in draws) for source in drawn)
    cells = done.cells[1:]
    # Exercises come on top: who does them has read what there is to read.
    asked = (MEND, WRITE, "#@title Is the", ", with a hole.", ", with a bug.", *ASSEMBLED)
    shown = [cell for cell in cells if not any(mark in cell.source for mark in asked)]
    # What is folded counts below, by pages.
    assert len([cell for cell in shown if not is_folded(cell)]) <= 45
    code = [cell for cell in cells if cell.cell_type == "code"]
    # The lines to put in order are those of the lesson, and stand above.
    code = [cell for cell in code if not any(mark in cell.source for mark in ASSEMBLED)]
    lines = [line.strip() for cell in code for line in cell.source.splitlines()]
    hidden = [cell.source for cell in code if is_folded(cell)]
    # The set-up, and what a run needs, is the same in all of them, and is no part of what a
    # notebook is about.
    same = [one for one in hidden if OF_A_RUN.match(one) or one.startswith(HELPERS)]
    hidden = [source for source in hidden if source not in same]
    # Colab shows a form in place of the settings' code, which the tool writes.
    form = [cell.source for cell in code if cell.source.startswith("#@title Settings")]
    ours = {line.strip() for source in (*same, *form) for line in source.splitlines()}
    lines = [line for line in lines if line not in ours]
    # One for each page that is inlined; the set-up is none, nor is what judges an exercise. The
    # course trains the models of nearly all lessons, and each must be the very one of its page.
    # Preferences need a model that has read and has learned to answer, and questions an encoder
    # that has filled gaps; which draft pays, two models, a cache, three drafts and what compares
    # them; rewards, what writes and what judges.
    limits = {
        "course/experiment": (20, 680),
        "encoders/classifier_experiment": (13, 560),
        "fine_tuning/preference_experiment": (14, 600),
        "inference/speculative_experiment": (15, 580),
        "reinforcement/grpo_experiment": (13, 560),
    }
    name = path.relative_to(ROOT / "notebooks").with_suffix("").as_posix()
    pages, most = limits.get(name, (12, 560))
    inlined = [one for one in hidden if not one.startswith(("#@title Is the", "#@title Are the"))]
    assert len(inlined) <= pages
    assert sum(bool(line) and not line.startswith("#") for line in lines) <= most


def name_of(path: Path) -> str:
    return path.relative_to(ROOT / "notebooks").with_suffix("").as_posix()


@pytest.mark.parametrize(
    "path",
    [
        pytest.param(
            path, id=name_of(path), marks=[] if name_of(path) in SAMPLE else pytest.mark.whole
        )
        for path in NOTEBOOKS
    ],
)
def test_our_notebook_runs_from_top_to_bottom(
    execute: Run, form: dict[str, object], path: Path, expected: dict[str, str]
) -> None:
    # Twenty steps are a point of the comparison's curve. Wherever else a model trains, three will
    # do.
    few = {} if path.stem == "comparison_experiment" else {"steps": 3}
    done = execute(path.read_text(encoding="utf-8"), form | few)
    assert errors(done) == []
    (example,) = (
        printed(cell) for cell in done.cells if cell.source.endswith("\nshow_shapes(example)")
    )
    page = Path("labml_nn", path.relative_to(ROOT / "notebooks")).with_suffix(".py")
    # Where there is no shape, the result is shown.
    shown = expected[page.as_posix()]
    assert example == shown if shown else example.startswith("result")
    if any(cell.source.startswith("#@title Settings") for cell in done.cells):
        check_that_it_shows_a_picture_and_a_loss_and_can_be_read(done, path)


def codes(code: CodeType) -> Iterator[CodeType]:
    r"""The code of a cell, and of all functions and classes in it."""
    yield code
    for one in code.co_consts:
        if isinstance(one, CodeType):
            yield from codes(one)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=name_of)
def test_every_name_that_a_notebook_looks_up_is_bound_in_it(path: Path) -> None:
    asked: set[str] = set()
    bound = {*vars(builtins), "YOUR_LINE", "__annotations__"}
    for cell in nbformat.read(path, as_version=4).cells:
        if cell.cell_type == "code":
            for code in codes(compile(cell.source, path.name, "exec", dont_inherit=True)):
                for one in dis.get_instructions(code):
                    if one.opname in ("LOAD_GLOBAL", "LOAD_NAME"):
                        asked.add(one.argval)
                    elif one.opname in ("STORE_GLOBAL", "STORE_NAME"):
                        bound.add(one.argval)
    assert asked
    assert asked - bound == set()


def test_every_example_has_tensors_whose_shapes_are_shown(expected: dict[str, str]) -> None:
    without = {path for path, shown in expected.items() if path.startswith("labml") and not shown}
    # Sentences and plain numbers come out of these.
    assert without == {
        "labml_nn/basics/byte_pairs.py",
        "labml_nn/course/experiment.py",
        "labml_nn/training/run_progress.py",
        "labml_nn/transformers/mistakes/attention_tests.py",
        "labml_nn/transformers/mistakes/experiment.py",
    }


@pytest.mark.parametrize(
    ("name", "form", "said"),
    [
        ("pretrained/gpt2_experiment", {}, "ConnectionError: GPT-2 can't be fetched ("),
        (
            "fine_tuning/lora_experiment",
            {"second_corpus": "shakespeare", "steps": 2},
            "ValueError: Both texts are the same. Set `corpus` to the path of a file of yours.",
        ),
    ],
)
def test_without_a_network_a_notebook_ends_in_a_sentence(
    execute: Run, name: str, form: dict[str, object], said: str
) -> None:
    text = (ROOT / f"notebooks/{name}.ipynb").read_text(encoding="utf-8")
    # A port of this machine at which nothing answers.
    nowhere = re.sub(
        "https://(huggingface.co|raw.githubusercontent.com)/", "http://127.0.0.1:9/", text
    )
    assert nowhere != text
    done = execute(nowhere, form)
    (error,) = errors(done)
    assert said in error
    # No warning beside it, and it ends there.
    assert [
        one for cell in done.cells for one in outputs(cell) if one.get("name") == "stderr"
    ] == []
    code = [cell for cell in done.cells if cell.cell_type == "code"]
    assert code[-1].execution_count is None


@pytest.mark.parametrize(
    ("first", "then", "said"),
    [
        (
            *("#@title Set-up", "runs = {}"),
            "NameError: name 'prepare' is not defined: "
            "first run the section “What the rest builds on”.",
        ),
        (
            *("#@title Set-up", "class MultiHeadAttention"),
            "NameError: name 'nn' is not defined: first run the section “Set-up and imports”.",
        ),
        (
            *("#@title Set-up", "show_shapes(example)"),
            "NameError: name 'example' is not defined: first run the section “Example”.",
        ),
        # After a restart.
        (
            *("#@title Settings", "#@title Settings"),
            "RuntimeError: first run the cells above: in Colab, “Run before” in the menu Runtime; "
            "in Jupyter, “Run All Above Selected Cell” in the menu Run",
        ),
    ],
)
def test_a_cell_that_comes_too_early_says_what_to_run_first(
    execute: Run, first: str, then: str, said: str
) -> None:
    notebook = nbformat.read(ROOT / "notebooks/transformers/mha.ipynb", as_version=4)
    notebook.cells = [
        cell for cell in notebook.cells if first in cell.source or then in cell.source
    ]
    done = execute(nbformat.writes(notebook), {})
    assert [error.partition(": ")[2] for error in errors(done)] == [said]


def test_a_kernel_says_that_another_notebook_ran_in_it(execute: Run) -> None:
    one, other = (
        nbformat.read(ROOT / f"notebooks/transformers/{name}.ipynb", as_version=4)
        for name in ("mha", "rotary")
    )
    set_up, others = (
        next(cell for cell in each.cells if cell.source.startswith("#@title Set-up"))
        for each in (one, other)
    )
    again = new_code_cell(set_up.source)
    one.cells = [set_up, again, others]
    done = execute(nbformat.writes(one), {})
    said = ["Another notebook ran in this kernel" in printed(cell) for cell in done.cells[1:]]
    assert said == [False, False, True]


def test_a_kernel_judges_the_line_of_a_reader(execute: Run) -> None:
    # It finds the source of a function that was defined in a cell.
    text = (ROOT / "notebooks/training/data.ipynb").read_text(encoding="utf-8")
    assert text.count("return YOUR_LINE") == 1
    wrong = "return self.tokens[places], self.tokens[places]"
    done = execute(text.replace("return YOUR_LINE", wrong), {})
    # The first of the exercises; the others are as they were.
    said = next(printed(cell) for cell in done.cells if "#@title Is the line" in cell.source)
    name = "inputs and targets are the same (in the museum: TargetsNotShifted)"
    assert said == f"Not yet. This is a known mistake: {name}.\n"


def test_a_cell_that_ends_in_an_error_is_no_line_to_judge(execute: Run) -> None:
    notebook = nbformat.read(ROOT / "notebooks/training/data.ipynb", as_version=4)
    (at,) = (at for at, cell in enumerate(notebook.cells) if "return YOUR_LINE" in cell.source)
    cell, judge = notebook.cells[at : at + 2]
    assert judge.source.startswith("#@title Is the line right?")
    wrong = cell.source.replace("return YOUR_LINE", "return self.tokens[places], 0")
    texts = {
        wrong: True,
        # It is no Python: the function is that of an earlier run.
        f"{wrong}\n        return (": False,
        # It ends before the function, or after it.
        f"missing_name\n{wrong}": False,
        f"{wrong}\n\nmissing_name": False,
        # Mended; and another cell that fails is no line, and changes nothing.
        f"{wrong}\n": True,
        "missing_name": True,
    }
    notebook.cells = notebook.cells[:at]
    for number, text in enumerate(texts):
        edited = new_code_cell(text, id=f"edited-{number}")
        edited.metadata["tags"] = ["raises-exception"]
        between = new_code_cell("1", id=f"between-{number}")
        notebook.cells += [edited, between, new_code_cell(judge.source, id=f"judge-{number}")]
    done = execute(nbformat.writes(notebook), {})
    said = [printed(one) for one in done.cells if one.source == judge.source]
    stopped = (
        "The cell above ended in an error, so there is no line to judge: mend it, run it, "
        "and then this one.\n"
    )
    judged = "Not yet: what it returns[1] has the shape [], and the lesson's [7, 5].\n"
    assert said == [judged if is_judged else stopped for is_judged in texts.values()]
