r"""The notebooks run from top to bottom where torch is and this repository is not."""

import re
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import nbformat
import pytest
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell

from literate.execute import Kernels
from literate.executed import Shelf
from literate.notebook import build
from tests.literate.packages import package

ROOT = Path(__file__).resolve().parents[2]
NOTEBOOKS = sorted((ROOT / "notebooks").rglob("*.ipynb"))

Run = Callable[..., NotebookNode]
WHERE = """
from importlib.util import find_spec
import os
print(find_spec("labml_nn"), find_spec("literate"), os.listdir())
"""


@pytest.fixture(scope="module")
def execute(tmp_path_factory: pytest.TempPathFactory) -> Run:
    r"""
    A function that executes the text of a notebook from top to bottom, up to a cell that fails,
    with other values in its form, as it is done for the site.
    """
    tmp_path = tmp_path_factory.mktemp("notebooks")
    kernels = Kernels(tmp_path)

    def run(text: str, form: Mapping[str, object], first: str = "pass") -> NotebookNode:
        notebook = Shelf(tmp_path, form).fill_in(text)
        notebook.cells.insert(0, new_code_cell(WHERE, id="where"))
        notebook.cells.insert(1, new_code_cell(first, id="first"))
        failure = kernels.run(notebook)
        # What a cell raises is an output; what ends it from outside is none.
        assert failure is None or failure.reason.startswith("raises "), failure
        assert printed(notebook.cells[0]) == "None None []\n"
        return notebook

    return run


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


STAND_IN = {
    "pkg/__init__.py": "",
    "pkg/layer.py": '''
        r"""
        ---
        title: A Layer
        summary: It halves.
        ---
        """

        import torch
        from torch import nn

        HALF = 0.5


        class Halve(nn.Module):
            r"""
            ## Halve
            """

            def forward(self, x: torch.Tensor) -> torch.Tensor:
                return x * HALF
    ''',
    "pkg/page.py": '''
        r"""
        ---
        title: A Page
        summary: It halves many times.
        ---
        """

        import torch

        from pkg.layer import Halve


        def halve(x: torch.Tensor, times: int) -> torch.Tensor:
            r"""
            ## Halve many times
            """
            layer = Halve()
            for _ in range(times):
                x = layer(x)
            return x


        def notebook(times: int = 30, start: float = 8.0, name: str = "left") -> None:
            r"""
            ## Try it
            """
            # From the beginning
            # to the end.
            left = halve(torch.tensor(start), times).item()
            print(f"{name}: {left}")

            # It can fail.
            assert left < 2, f"{left} is {name}"
    ''',
}


def test_a_notebook_runs_without_the_package_it_is_made_from(execute: Run) -> None:
    text = build(package(STAND_IN), "pkg.page")
    done = execute(text, {"times": 3, "name": "over"})
    assert errors(done) == []
    _, *said = [printed(cell) for cell in done.cells if printed(cell)]
    assert said[0].startswith("Python 3.")
    assert ", torch 2." in said[0]
    assert said[1:] == ["over: 1.0\n"]


def test_a_notebook_can_fail(execute: Run) -> None:
    done = execute(build(package(STAND_IN), "pkg.page"), {"times": 0})
    assert errors(done) == ['assert left < 2, f"{left} is {name}": AssertionError: 8.0 is left']


def test_without_torch_a_notebook_says_so_in_one_sentence(execute: Run) -> None:
    first = "import sys; sys.modules['torch'] = None"
    done = execute(build(package(STAND_IN), "pkg.page"), {}, first)
    assert errors(done) == [
        "#@title Set-up: ModuleNotFoundError: This notebook needs torch: "
        "https://pytorch.org/get-started tells how to install it."
    ]


# The sizes with which a notebook that trains is tried here, where it has such a field.
SMALL = {
    "size": "tiny",
    "steps": 40,
    "seq_len": 13,
    "d_model": 34,
    "heads": 2,
    "n_layers": 3,
    "sample_length": 20,
}


@pytest.fixture(scope="module")
def executions(
    execute: Run, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[dict[Path, Future[NotebookNode]]]:
    r"""All notebooks that were committed, executed by as many at a time as there are cores."""
    text_file = tmp_path_factory.mktemp("text") / "text.txt"
    text_file.write_text("the cat sat on the mat, and the dog sat on the log. " * 100)
    small = SMALL | {"text_file": str(text_file)}
    with ThreadPoolExecutor(max_workers=2) as pool:
        running = {}
        for path in NOTEBOOKS:
            text = path.read_text(encoding="utf-8")
            fields = set(re.findall(r'"(\w+) = .*  #@param', text))
            form = {name: value for name, value in small.items() if name in fields}
            running[path] = pool.submit(execute, text, form)
        yield running


@pytest.mark.parametrize(
    "path", NOTEBOOKS, ids=lambda path: path.relative_to(ROOT / "notebooks").as_posix()
)
def test_our_notebook_runs_from_top_to_bottom(
    executions: dict[Path, Future[NotebookNode]], path: Path, site: Path
) -> None:
    done = executions[path].result()
    assert errors(done) == []
    # What the site shows below the example was measured, or executed: it is the same.
    served = nbformat.read(site / "notebooks" / path.relative_to(ROOT / "notebooks"), as_version=4)
    shown, example = (
        next(printed(cell) for cell in cells if cell.source == "show_shapes(example)")
        for cells in (served.cells, done.cells)
    )
    assert example == shown


def test_every_notebook_shows_shapes_where_its_example_has_tensors(site: Path) -> None:
    folder = site / "notebooks"
    without = [
        path.relative_to(folder).as_posix()
        for path in sorted(folder.rglob("*.ipynb"))
        for cell in nbformat.read(path, as_version=4).cells
        if cell.source == "show_shapes(example)" and not printed(cell)
    ]
    # Sentences and plain numbers come out of these.
    assert without == [
        f"transformers/mistakes/{name}.ipynb"
        for name in ("attention_tests", "experiment", "verdicts")
    ]


@pytest.mark.parametrize(
    ("path", "n_pictures"),
    [
        ("transformers/basic/autoregressive_experiment.ipynb", 2),
        ("transformers/basic/comparison_experiment.ipynb", 2),
        ("transformers/feed_forward.ipynb", 2),
        ("transformers/mha.ipynb", 2),
        ("transformers/positional_encoding.ipynb", 2),
    ],
)
def test_a_notebook_that_trains_shows_pictures_and_ends_with_a_check(
    executions: dict[Path, Future[NotebookNode]], path: str, n_pictures: int
) -> None:
    done = executions[ROOT / "notebooks" / path].result()
    assert "validation loss" in printed(done.cells[-1])
    pictures = [
        one for cell in done.cells for one in outputs(cell) if "image/png" in one.get("data", {})
    ]
    assert len(pictures) == n_pictures


def test_all_our_notebooks_are_executed() -> None:
    assert len(NOTEBOOKS) > 9
