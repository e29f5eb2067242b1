import builtins
from unittest.mock import Mock

import matplotlib.pyplot as plt
import pytest
import torch
from matplotlib.figure import Figure

from labml_nn.training import figures
from labml_nn.training.figures import LiveFigure, draw_attention, draw_losses


def test_each_loss_is_a_line_through_its_own_points() -> None:
    axes = Figure().add_subplot()
    history = [
        (10, {"loss.train": 3.0, "learning_rate": 0.1}),
        (20, {"loss.train": 2.0, "loss.validation": 2.5}),
        (30, {"loss.train": 1.0, "loss.validation": 1.5}),
    ]
    draw_losses(axes, history)
    lines = {line.get_label(): line.get_xydata().tolist() for line in axes.lines}
    assert lines == {
        "train": [[10, 3.0], [20, 2.0], [30, 1.0]],
        "validation": [[20, 2.5], [30, 1.5]],
    }


def test_an_attention_map_has_queries_from_top_to_bottom_and_keys_from_left_to_right() -> None:
    axes = Figure().add_subplot()
    # matplotlib knows no bfloat16.
    weights = torch.tensor([[0.5, 0.5, 0.0], [0.25, 0.75, 0.0]], dtype=torch.bfloat16)
    draw_attention(axes, weights, "a\n", "b c")
    image = axes.images[0]
    assert image.get_array().tolist() == weights.tolist()
    assert image.get_clim() == (0.0, 1.0)
    assert axes.get_ylim()[0] > axes.get_ylim()[1]
    assert [label.get_text() for label in axes.get_yticklabels()] == ["a", "↵"]
    assert [label.get_text() for label in axes.get_xticklabels()] == ["b", "␣", "c"]


@pytest.fixture
def show(monkeypatch: pytest.MonkeyPatch) -> Mock:
    # Those of other tests in this process.
    plt.close("all")
    show = Mock()
    monkeypatch.setattr(plt, "show", show)
    return show


def test_in_a_notebook_a_live_picture_is_shown_at_once_and_follows(
    monkeypatch: pytest.MonkeyPatch, show: Mock
) -> None:
    display, draw = Mock(), Mock()
    monkeypatch.setattr(builtins, "display", display, raising=False)
    figure = plt.figure()
    live = LiveFigure(figure, draw)
    display.assert_called_once_with(figure, display_id=True)
    live.update()
    live.finish()
    assert [call.args for call in display.return_value.update.call_args_list] == [(figure,)] * 2
    assert draw.call_count == 2
    # Left open, it would be shown again below the cell.
    assert not plt.fignum_exists(figure.number)
    show.assert_not_called()


def test_a_live_picture_stays_for_ten_times_as_long_as_it_took(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clock, display, drawn = Mock(), Mock(), []
    clock.monotonic.return_value = 0.0

    def draw() -> None:
        drawn.append(clock.monotonic.return_value)
        clock.monotonic.return_value += 0.5

    monkeypatch.setattr(figures, "time", clock)
    monkeypatch.setattr(builtins, "display", display, raising=False)
    live = LiveFigure(plt.figure(), draw)
    for now in (2.0, 3.0, 7.0, 7.5, 8.5, 12.5, 13.0, 13.5):
        clock.monotonic.return_value = now
        live.update()
    assert drawn == [2.0, 7.5, 13.0]
    assert display.return_value.update.call_count == 3
    # What is known at the end is shown, however short a time ago the last one was.
    live.finish()
    assert drawn == [2.0, 7.5, 13.0, 13.5]
    assert display.return_value.update.call_count == 4


def test_elsewhere_a_live_picture_is_shown_at_the_end(show: Mock) -> None:
    draw = Mock()
    live = LiveFigure(plt.figure(), draw)
    live.update()
    draw.assert_not_called()
    show.assert_not_called()
    live.finish()
    draw.assert_called_once_with()
    show.assert_called_once_with()
    assert plt.get_fignums() == []
