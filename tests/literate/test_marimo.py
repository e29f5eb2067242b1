r"""marimo opens our notebooks, and loses no word of their text; it is fetched for these tests."""

import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import nbformat
import pytest
from nbformat.v4 import new_markdown_cell

from tests.colab.__main__ import SAMPLE
from tests.literate.projects import ROOT

pytestmark = pytest.mark.whole
# What it writes above a line of a note that it takes for a command of IPython.
NO_COMMAND = "magic command not supported"
VERSION = "marimo==0.25.2"
Convert = Callable[[Path], str]


@pytest.fixture(scope="module")
def convert(tmp_path_factory: pytest.TempPathFactory) -> Convert:
    r"""From a notebook to the text of marimo's."""
    folder = tmp_path_factory.mktemp("marimo")
    install = ["pip", "install", "--quiet", "--target", str(folder / "packages"), VERSION]
    if subprocess.run([sys.executable, "-m", *install], capture_output=True).returncode != 0:
        pytest.skip("not run: marimo can't be fetched here")

    def converted(path: Path) -> str:
        out = folder / f"{path.stem}.py"
        asked = [sys.executable, "-m", "marimo", "convert", str(path), "-o", str(out)]
        told = {"PYTHONPATH": str(folder / "packages")}
        done = subprocess.run(asked, env=os.environ | told, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return out.read_text(encoding="utf-8")

    return converted


def lost(path: Path, converted: str) -> list[str]:
    r"""Words of the notes that aren't there any more. Pictures are no words."""
    notes = [
        re.sub(r"\(data:[^)]*\)", "", cell.source)
        for cell in nbformat.read(path, as_version=4).cells
        if cell.cell_type == "markdown"
    ]
    kept = set(re.findall(r"\w+", converted))
    return [word for note in notes for word in re.findall(r"\w+", note) if word not in kept]


@pytest.mark.parametrize("name", SAMPLE)
def test_marimo_converts_a_notebook(convert: Convert, name: str) -> None:
    path = ROOT / f"notebooks/{name}.ipynb"
    converted = convert(path)
    compile(converted, path.name, "exec")
    assert NO_COMMAND not in converted
    assert lost(path, converted) == []


def test_what_marimo_takes_for_a_command_and_what_it_loses_is_found(
    convert: Convert, tmp_path: Path
) -> None:
    notebook = nbformat.v4.new_notebook(cells=[new_markdown_cell("Sixty\n% are gone.\n")])
    path = tmp_path / "command.ipynb"
    nbformat.write(notebook, path)
    assert NO_COMMAND in convert(path)
    assert lost(path, "Sixty % are") == ["gone"]
