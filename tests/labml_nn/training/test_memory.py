from pathlib import Path

import pytest
import torch

from labml_nn.training.memory import StepMemory, read_peak

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
