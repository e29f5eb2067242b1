import builtins
from unittest.mock import Mock

import pytest

from labml_nn.training import run_progress as page


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Mock:
    clock = Mock()
    clock.monotonic.return_value = 100.0
    monkeypatch.setattr(page, "time", clock)
    return clock


@pytest.mark.parametrize(
    ("seconds", "said"),
    [(0.4, "0 seconds"), (119.4, "119 seconds"), (120, "2 minutes"), (3600, "60 minutes")],
)
def test_time_is_in_seconds_below_two_minutes(seconds: float, said: str) -> None:
    assert page.time_left(seconds) == said


def test_the_time_left_counts_from_where_this_cell_began(clock: Mock) -> None:
    said: list[str] = []
    progress = page.RunProgress(600, 1000, said.append)
    clock.monotonic.return_value = 110.0
    progress.update([3.0] * 690 + [2.0] * 10, tenth=True)
    # A hundred steps took ten seconds, and three hundred are left.
    assert said == ["step 700 of 1,000, loss 2.500, 30 seconds left"]
    progress.update([2.0] * 900)
    progress.finish([2.0] * 1000)
    assert len(said) == 1
    assert progress.text() == "step 1,000 of 1,000, loss 2.000"


def test_in_a_notebook_the_empty_part_of_the_curve_is_left_to_do(
    monkeypatch: pytest.MonkeyPatch, clock: Mock
) -> None:
    display = Mock()
    monkeypatch.setattr(builtins, "display", display, raising=False)
    said: list[str] = []
    progress = page.RunProgress(0, 100, said.append)
    progress.update([])
    losses = [float(step) for step in range(1, 51)]
    progress.finish(losses)
    each, means = progress.axes.lines
    assert each.get_xydata().tolist() == [[step, step] for step in losses]
    # The loss is the number of the step, so each mean lies on the line itself.
    assert means.get_xydata().tolist() == [[10.5, 10.5], [30.5, 30.5]]
    assert progress.axes.get_xlim() == (0, 100)
    assert progress.axes.get_title(loc="left") == progress.text()
    assert display.return_value.update.called
    assert said == []
