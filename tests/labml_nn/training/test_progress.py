import io
import sys

import pytest

from labml_nn.training.progress import Progress

VALUES = {"loss.train": 2.0, "loss.validation": 2.5, "tokens_per_second": 12345.6}
LINE = "step 1,000: training loss 2.0000, validation loss 2.5000, 12,346 tokens a second\n"


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def follow(progress: Progress) -> list[int]:
    steps = []
    for step in progress(range(3, 6)):
        steps.append(step)
        progress.record(step, {"loss.train": 3.0})
    progress.record(1000, VALUES)
    return steps


def test_in_a_file_there_are_lines_and_no_bar(capsys: pytest.CaptureFixture[str]) -> None:
    assert follow(Progress()) == [3, 4, 5]
    assert capsys.readouterr() == (LINE, "")


def test_on_a_terminal_there_is_a_bar_from_where_the_run_was(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setattr(sys, "stdout", terminal)
    assert follow(Progress()) == [3, 4, 5]
    assert all(part in terminal.getvalue() for part in ("3/6", "6/6", "loss=3.000"))

    # A line does not run into the bar.
    terminal.truncate(0)
    progress = Progress()
    for _ in progress(range(3)):
        progress.record(1000, VALUES)
    assert terminal.getvalue().count(f"\r{LINE}") == 3


def test_a_bar_can_be_asked_for_and_without_tqdm_there_are_lines(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    follow(Progress(bar=True))
    assert "6/6" in capsys.readouterr().err
    monkeypatch.setitem(sys.modules, "tqdm", None)
    assert follow(Progress(bar=True)) == [3, 4, 5]
    assert capsys.readouterr() == (LINE, "")
