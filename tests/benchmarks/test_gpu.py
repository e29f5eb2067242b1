r"""The program for a machine with a GPU starts without one, and says what it had no time for."""

import json
from pathlib import Path

import pytest

from benchmarks.gpu import main
from tests.literate.projects import succeed


def test_a_dry_run_goes_through_all_parts(repository: Path) -> None:
    r"""In a process of its own, in which there is a GPU from then on."""
    said = succeed(repository, "benchmarks.gpu", "--dry", "--seconds=0").splitlines()
    parts = [json.loads(line) for line in said if line.startswith('{"name"')]
    states = {one["name"]: one["state"] for one in parts}
    assert states["the experiment"] == "dry"
    assert states["preset gpu, seed 1"] == states["transformers/mha"] == "no time"
    # The count says three minutes at most, and less memory than a T4 has.
    assert 60 < parts[0]["t4_seconds"] <= 180
    assert parts[0]["t4_memory"] < 14
    assert said[-1].startswith(f"{len(parts)} parts, 0 failed")


def test_without_a_gpu_it_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 1
    assert capsys.readouterr().err.startswith("there is no CUDA GPU here")
