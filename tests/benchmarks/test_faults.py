r"""Faults that the tests of models find in software of others, each shown without our code."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.census_meant import MEANT, MEANT_IN, SHOWN, SHOWN_IN, explained

FOLDER = Path(__file__).resolve().parents[2] / "benchmarks" / "faults"
# For packages that the tests don't install.
OF_OTHERS = ("litgpt_gemma2", "nanochat_cache", "litgpt_window", "x_transformers_cache")
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


def test_an_older_release_has_causes_of_its_own() -> None:
    assert explained("zamba2", "5.24.0") == (MEANT["zamba2"], ["mamba2"])
    assert explained("zamba2", "5.12.0") == (MEANT_IN["5.12.0"]["zamba2"], ["several_tokens"])
    assert explained("rwkv", "5.12.0") == (MEANT["rwkv"], ["rwkv"])
    assert explained("llama", "5.12.0") == ("", [])


def test_every_finding_that_is_explained_is_shown_and_no_program_knows_ours() -> None:
    assert {kind for kinds in SHOWN.values() for kind in kinds} == set(MEANT)
    assert MEANT_IN.keys() == SHOWN_IN.keys()
    older: set[str] = set()
    for version, shown in SHOWN_IN.items():
        assert {kind for kinds in shown.values() for kind in kinds} == set(MEANT_IN[version])
        older |= shown.keys()
    programs = sorted(FOLDER.glob("*.py"))
    assert {path.stem for path in programs} == {*SHOWN, *OF_OTHERS, *older}
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
            "nanochat",
            "sys",
            "types",
            "x_transformers",
        }
        # A fault that is gone ends in an error.
        assert any(isinstance(one, ast.Assert) for one in ast.walk(tree))
