r"""Faults that the tests of models find in software of others, each shown without our code."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.census_meant import MEANT, SHOWN

FOLDER = Path(__file__).resolve().parents[2] / "benchmarks" / "faults"
# For packages that the tests don't install.
OF_OTHERS = ("litgpt_gemma2", "litgpt_window", "x_transformers_cache")
SAMPLE = "rwkv"


def run(name: str) -> None:
    program = [sys.executable, "-W", "ignore", str(FOLDER / f"{name}.py")]
    done = subprocess.run(program, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_a_fault_is_shown_without_our_code() -> None:
    run(SAMPLE)


@pytest.mark.whole
@pytest.mark.parametrize("name", [name for name in SHOWN if name != SAMPLE])
def test_each_fault_is_shown_without_our_code(name: str) -> None:
    run(name)


def test_every_finding_that_is_explained_is_shown_and_no_program_knows_ours() -> None:
    assert {kind for kinds in SHOWN.values() for kind in kinds} == set(MEANT)
    programs = sorted(FOLDER.glob("*.py"))
    assert {path.stem for path in programs} == {*SHOWN, *OF_OTHERS}
    for path in programs:
        tree = ast.parse(path.read_text(encoding="utf-8"))
        named = {one.module for one in ast.walk(tree) if isinstance(one, ast.ImportFrom)}
        named |= {
            alias.name
            for one in ast.walk(tree)
            if isinstance(one, ast.Import)
            for alias in one.names
        }
        assert {str(name).split(".")[0] for name in named} <= {
            "torch",
            "transformers",
            "litgpt",
            "x_transformers",
        }
        # A fault that is gone ends in an error.
        assert any(isinstance(one, ast.Assert) for one in ast.walk(tree))
