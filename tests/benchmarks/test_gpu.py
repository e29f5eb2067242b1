r"""The program for a machine with a GPU starts without one, and says what it had no time for."""

import json
from pathlib import Path
from typing import Any

import pytest

from benchmarks import gpu_step
from benchmarks.gpu import main, read_log, record
from benchmarks.gpu_table import NOTEBOOK_OF_WHOLE, RESULT, table
from tests.literate.projects import succeed


@pytest.mark.whole
def test_a_dry_run_goes_through_all_parts(repository: Path) -> None:
    r"""In a process of its own, in which there is a GPU from then on."""
    said = succeed(repository, "benchmarks.gpu", "--dry", "--seconds=0").splitlines()
    parts = [json.loads(line) for line in said if line.startswith('{"name"')]
    states = {one["name"]: one["state"] for one in parts}
    assert states["the experiment"] == "dry"
    assert states["preset gpu, seed 1"] == states["transformers/mha"] == "no time"
    assert said[-1].startswith(f"{len(parts)} parts, 0 failed")


def test_without_a_gpu_both_kinds_of_step_are_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("FIRST", "TIMED", "PROFILED"):
        monkeypatch.setattr(gpu_step, name, 2)
    found = gpu_step.measured("cpu")
    for way in ("plain", "graph"):
        assert found[way].pop("step") > 0
        assert found[way] == {"apart": 0, "kernels": 0, "busy": 0}


def test_without_a_gpu_it_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 1
    assert capsys.readouterr().err.startswith("there is no CUDA GPU here")


def test_the_table_has_the_counts_of_today_and_the_numbers_that_were_measured() -> None:
    recorded = json.loads(RESULT.read_text(encoding="utf-8"))["tables"]["parts"]
    assert table(recorded["rows"]) == recorded
    whole = recorded["rows"][0]
    # The count says three minutes at most for 2,000 steps, and less memory than a T4 has.
    assert 60 < 2 * whole["t4_step"] <= 180
    assert whole["t4_memory"] < 14
    # Both rows are of one notebook.
    (again,) = (row for row in recorded["rows"] if row["name"] == NOTEBOOK_OF_WHOLE)
    assert again["t4_step"] == whole["t4_step"]


def test_nanogpts_lines_are_read() -> None:
    said = """
     3.00 compiling the model... (takes a ~minute)
    11.00 step 0: train loss 4.2874, val loss 4.2823
    20.00 iter 0: loss 4.2667, time 9000.00ms, mfu -100.00%
    20.10 iter 10: loss 3.1462, time 7.00ms, mfu 27.61%
    20.20 iter 20: loss 3.1462, time 11.00ms, mfu 27.61%
    20.30 iter 30: loss 3.1462, time 13.00ms, mfu 27.61%
    22.00 step 250: train loss 1.9773, val loss 2.0752
    24.00 iter 250: loss 2.0445, time 1511.00ms, mfu 35.75%
    """
    lines = [(float(line[:9]), line[10:]) for line in said.split("\n")[1:-1]]
    assert read_log(lines) == {
        # 5,000 steps, 20 evaluations, and what came before.
        "seconds": pytest.approx(20 + 5000 * 0.011 + 20 * 1.5),
        "step": 11,
        "loss": 2.0752,
        "first_step": 20,
        "evaluation": pytest.approx(1.5),
    }


def test_a_slow_gpu_that_had_time_for_nanogpt_alone_is_recorded(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    written: list[dict[str, Any]] = []
    monkeypatch.setattr("torch.cuda.get_device_name", lambda: "a slow one")
    monkeypatch.setattr("benchmarks.gpu.write", lambda name, **given: written.append(given))
    numbers = dict.fromkeys(("seconds", "step", "loss", "first_step", "evaluation"), 2.0)
    rows = [
        {"name": "preset gpu, seed 1", "state": "no time"},
        {"name": "nanoGPT", "state": "ran"} | numbers,
    ]
    record(rows, {}, 480.0, {"plain": {"step": 3.0}})
    (given,) = written
    assert given["values"]["steps"] == {"plain": {"step": 3.0}}
    assert given["values"]["nanogpt"]["step"] == 2.0
    assert "ratio" not in given["values"]
    assert [row["state"] for row in given["tables"]["parts"]["rows"]] == ["no time", "ran"]
