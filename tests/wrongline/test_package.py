r"""The package by itself: installed from its folder, and run where nothing else of ours is."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from tests.literate.projects import ROOT

# Whoever imports anything else of ours fails.
RUN = """
import runpy, sys
sys.path[:0] = [INSTALLED, SITE]
for name in ("labml_nn", "literate", "page_runner", "tests", "benchmarks"):
    sys.modules[name] = None
import wrongline
assert wrongline.__file__.startswith(INSTALLED), wrongline.__file__
sys.argv = ["wrongline", "model.py:Leaks"]
runpy.run_module("wrongline", run_name="__main__")
"""
MODEL = """
from torch import nn

class Leaks(nn.Embedding):
    def __init__(self):
        super().__init__(19, 19)

    def forward(self, tokens):
        x = super().forward(tokens)
        return x + x.mean(1, keepdim=True)
"""


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("installed")
    copy = tmp_path_factory.mktemp("checkout") / "wrongline"
    shutil.copytree(ROOT / "wrongline", copy, ignore=shutil.ignore_patterns("__pycache__"))
    pip = [sys.executable, "-m", "pip", "install", "--no-deps", "--no-build-isolation", "--quiet"]
    pip += ["--no-compile", "--disable-pip-version-check", "--target", str(folder), str(copy)]
    subprocess.run(pip, check=True)
    return folder


def test_it_holds_all_modules_the_licence_and_the_command(installed: Path) -> None:
    files = {one.name for one in (ROOT / "wrongline").glob("*.py*") if one.is_file()}
    files -= {"pyproject.toml"}
    assert files > {"__main__.py", "command.py"}
    assert {one.name for one in (installed / "wrongline").iterdir()} == files | {"py.typed"}
    (information,) = installed.glob("*.dist-info")
    assert (information / "licenses/LICENSE").read_text() == (ROOT / "LICENSE").read_text()
    entries = (information / "entry_points.txt").read_text()
    assert "wrongline = wrongline.command:main" in entries
    assert "wrongline = wrongline.plugin" in entries
    requires = [
        line
        for line in (information / "METADATA").read_text().splitlines()
        if line.startswith("Requires-Dist:")
    ]
    assert requires == ["Requires-Dist: torch>=2.4"]


def test_it_runs_where_nothing_else_of_ours_is(installed: Path, tmp_path: Path) -> None:
    (tmp_path / "model.py").write_text(MODEL)
    site = str(Path(torch.__file__).parents[1])
    text = RUN.replace("INSTALLED", repr(str(installed))).replace("SITE", repr(site))
    done = subprocess.run(
        [sys.executable, "-I", "-c", text],
        cwd=tmp_path,
        env=os.environ,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1, done.stderr
    assert "* wrong: model_prefix: " in done.stdout
