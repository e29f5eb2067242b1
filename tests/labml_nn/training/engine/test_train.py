import ctypes
import sys
from pathlib import Path

import pytest
import torch

from labml_nn.training.engine.train import keep_freed_memory, peak_memory
from tests.forks import forked


def before_and_after() -> tuple[int, int]:
    r"""What the peak of a program is before and after 200 MB."""
    before = peak_memory(torch.device("cpu"))
    torch.zeros(50, 1_000_000)
    return before, peak_memory(torch.device("cpu"))


def test_the_peak_is_that_of_the_whole_program() -> None:
    before, after = forked(before_and_after)
    assert 50e6 < before < after
    assert 190e6 < after - before < 300e6


def test_where_the_system_does_not_tell_it_is_zero(monkeypatch: pytest.MonkeyPatch) -> None:
    def unreadable(path: Path, encoding: str) -> str:
        raise OSError

    monkeypatch.setattr(Path, "read_text", unreadable)
    # Another system, where the number is that of the program that started this one, too.
    assert peak_memory(torch.device("cpu")) > 50e6
    monkeypatch.setitem(sys.modules, "resource", None)
    assert peak_memory(torch.device("cpu")) == 0


def test_freed_memory_is_kept_where_the_library_can(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[tuple[int, int]] = []

    class Library:
        @staticmethod
        def mallopt(name: int, value: int) -> None:
            told.append((name, value))

    monkeypatch.setattr(ctypes, "CDLL", lambda name: Library)
    keep_freed_memory()
    assert told == [(-3, 1 << 25), (-1, 1 << 30)]
    # Another library: everything stays as it is.
    monkeypatch.setattr(ctypes, "CDLL", lambda name: object())
    keep_freed_memory()
    assert len(told) == 2
