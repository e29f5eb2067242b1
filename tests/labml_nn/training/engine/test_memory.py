import subprocess
import sys
from pathlib import Path

import pytest
import torch

from labml_nn.training.memory import StepMemory, keep_freed, read_peak

CPU = torch.device("cpu")


def test_the_steps_stay_the_same_and_are_watched_as_they_come() -> None:
    memory, seen = StepMemory(CPU), []
    for step in memory(range(3, 7)):
        seen.append(step)
    assert seen == [3, 4, 5, 6]
    assert memory.peak > 0


def test_the_peak_is_that_of_the_second_step_and_no_other() -> None:
    memory = StepMemory(CPU)
    peaks = []
    # 192, 64 and 256 MB.
    for step in memory(range(3)):
        peaks.append(memory.peak)
        torch.ones([48_000_000, 16_000_000, 64_000_000][step])
    assert peaks[1] - memory.peak > 50e6
    assert read_peak(CPU) - memory.peak > 50e6


def test_a_single_step_has_a_peak_too() -> None:
    memory = StepMemory(CPU)
    list(memory(range(1)))
    assert memory.peak > 0


def test_where_the_system_has_no_such_file_the_peak_is_that_of_the_program(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def missing(*args: object, **kwargs: object) -> str:
        raise FileNotFoundError

    monkeypatch.setattr(Path, "read_text", missing)
    assert read_peak(CPU) > 50e6


# What stays with a program that has freed six blocks of 8 MB.
BLOCKS = """
from pathlib import Path
import torch
from labml_nn.training.memory import keep_freed

def resident():
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096

{first}
before = resident()
blocks = [torch.ones(2_000_000) for _ in range(6)]
del blocks
print(resident() - before)
"""


def test_what_was_freed_is_kept() -> None:
    given_back, kept = (
        int(subprocess.check_output([sys.executable, "-c", BLOCKS.format(first=first)], text=True))
        for first in ("", "keep_freed()")
    )
    assert given_back < 16e6
    assert kept > 40e6


def test_a_system_without_that_setting_is_left_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: object) -> object:
        raise OSError("no such library")

    monkeypatch.setattr("ctypes.CDLL", missing)
    keep_freed()
    monkeypatch.setattr("ctypes.CDLL", lambda name: object())
    keep_freed()
