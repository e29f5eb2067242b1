r"""The notebooks run from top to bottom where torch is and this repository is not."""

import json
import sysconfig
import venv
from collections.abc import Callable, Mapping
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell

from literate.notebook import build
from literate.pieces import by_module
from literate.source import read
from tests.literate.packages import package

Run = Callable[..., NotebookNode]
WHERE = """
from importlib.util import find_spec
import os
print(find_spec("labml_nn"), find_spec("literate"), os.listdir())
"""


@pytest.fixture
def execute(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    r"""
    A function that executes the text of a notebook from top to bottom, with other values in its
    form, in an environment of its own.

    The environment has the packages of this one, but none that is installed from its sources: what
    a line of a `.pth` file adds to the path is not searched for more `.pth` files.
    """
    environment = tmp_path / "environment"
    venv.create(environment, symlinks=True)
    (packages,) = environment.glob("lib/python*/site-packages")
    (packages / "packages.pth").write_text(sysconfig.get_path("purelib") + "\n")
    command = [str(environment / "bin" / "python"), "-I", "-m", "ipykernel_launcher"]
    kernel = {
        "argv": [*command, "-f", "{connection_file}"],
        "display_name": "Python without the checkout",
        "language": "python",
    }
    spec = tmp_path / "kernels" / "alone" / "kernel.json"
    spec.parent.mkdir(parents=True)
    spec.write_text(json.dumps(kernel))
    for name in ("IPYTHONDIR", "JUPYTER_RUNTIME_DIR", "JUPYTER_DATA_DIR", "JUPYTER_CONFIG_DIR"):
        monkeypatch.setenv(name, str(tmp_path / name))
    # As in any notebook, pictures are put out below their cells.
    monkeypatch.delenv("MPLBACKEND", raising=False)
    monkeypatch.setenv("JUPYTER_PATH", str(tmp_path))
    monkeypatch.setenv("OMP_NUM_THREADS", "1")

    def run(text: str, form: Mapping[str, object], first: str = "pass") -> NotebookNode:
        notebook = nbformat.reads(text, as_version=4)
        for name, value in form.items():
            replace(notebook, name, value)
        notebook.cells.insert(0, new_code_cell(WHERE, id="where"))
        notebook.cells.insert(1, new_code_cell(first, id="first"))
        folder = tmp_path / "folder"
        folder.mkdir()
        client = NotebookClient(
            notebook,
            kernel_name="alone",
            timeout=120,
            allow_errors=True,
            resources={"metadata": {"path": str(folder)}},
        )
        client.execute()
        assert printed(notebook.cells[0]) == "None None []\n"
        return notebook

    return run


def replace(notebook: NotebookNode, name: str, value: object) -> None:
    r"""Give a field of the form another value; it has to be there."""
    (form,) = (cell for cell in notebook.cells if cell.source.startswith("#@title Settings\n"))
    lines = form.source.split("\n")
    (at,) = (at for at, line in enumerate(lines) if line.startswith(f"{name} = "))
    lines[at] = f"{name} = {value!r}"
    form.source = "\n".join(lines)


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
    assert errors(done)[0] == (
        "#@title Set-up: ModuleNotFoundError: This notebook needs torch: "
        "https://pytorch.org/get-started tells how to install it."
    )


def test_the_autoregressive_transformer_trains(
    execute: Run, repository: Path, tmp_path: Path
) -> None:
    sources = by_module(
        read(path, path.relative_to(repository).as_posix())
        for path in sorted((repository / "labml_nn").rglob("*.py"))
    )
    text_file = tmp_path / "text.txt"
    text_file.write_text("the cat sat on the mat, and the dog sat on the log. " * 100)
    form = {
        "text_file": str(text_file),
        "steps": 40,
        "seq_len": 13,
        "d_model": 34,
        "heads": 2,
        "n_layers": 3,
        "sample_length": 20,
    }
    page = "labml_nn.transformers.basic.autoregressive_experiment"
    done = execute(build(sources, page), form)
    assert errors(done) == []
    assert printed(done.cells[-1]).startswith("validation loss ")
    pictures = [
        one for cell in done.cells for one in outputs(cell) if "image/png" in one.get("data", {})
    ]
    assert len(pictures) == 2
