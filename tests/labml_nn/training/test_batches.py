import math
from collections import Counter

import pytest
import torch

from labml_nn.training.batches import RandomWindows, ShuffledWindows, share_never_drawn


def columns(batches: ShuffledWindows, steps: range) -> list[list[int]]:
    return [column for step in steps for column in batches.at(step)[0].t().tolist()]


@pytest.mark.parametrize("batch_size", [1, 3, 4, 50])
def test_an_epoch_has_each_window_once_and_the_next_one_again(batch_size: int) -> None:
    # 12 windows of 7 lie side by side with room for one more.
    batches = ShuffledWindows(torch.arange(13 * 7 + 4), 7, batch_size, seed=1)
    seen = columns(batches, range(36 // batch_size + 1))
    for epoch in range(len(seen) // 12):
        windows = sorted(seen[12 * epoch : 12 * (epoch + 1)])
        first = windows[0][0]
        assert windows == [list(range(i, i + 7)) for i in range(first, first + 12 * 7, 7)]


def test_targets_are_the_characters_after_the_inputs() -> None:
    x, y = ShuffledWindows(torch.arange(997), 7, 5, seed=1).at(3)
    assert x.shape == y.shape == (7, 5)
    assert y.equal(x + 1)


def test_epochs_differ_in_order_and_in_where_they_cut() -> None:
    batches = ShuffledWindows(torch.arange(997), 7, 1, seed=1)
    starts = [batches.starts(epoch).tolist() for epoch in range(40)]
    assert len({tuple(order) for order in starts}) == 40
    # Every place to cut at comes up, and so the last character is a target sometimes.
    assert {min(order) % 7 for order in starts} == set(range(7))
    assert max(max(order) for order in starts) + 7 == 996


def test_a_batch_depends_on_the_seed_and_the_step_alone() -> None:
    tokens = torch.arange(997)
    batches = ShuffledWindows(tokens, 7, 5, seed=3)
    forward = [batches.at(step)[0] for step in range(60)]
    torch.manual_seed(99)
    again = ShuffledWindows(tokens, 7, 5, seed=3)
    for step in reversed(range(60)):
        assert again.at(step)[0].equal(forward[step])
    assert not ShuffledWindows(tokens, 7, 5, seed=4).at(0)[0].equal(forward[0])


@pytest.mark.parametrize("length", [8, 9, 14, 15, 16])
def test_a_text_of_hardly_more_than_a_window_is_enough(length: int) -> None:
    batches = ShuffledWindows(torch.arange(length), 7, 3, seed=1)
    starts = Counter(column[0] for column in columns(batches, range(100)))
    assert set(starts) == set(range(length - 7))


def test_drawing_at_random_leaves_more_than_a_third_out() -> None:
    assert share_never_drawn(10_000) == pytest.approx(1 / math.e, abs=0.01)


def test_random_windows_come_from_everywhere_and_depend_on_the_seed_and_the_step_alone() -> None:
    tokens = torch.arange(29)
    batches = RandomWindows(tokens, 7, 5, seed=3)
    seen = [batches.at(step) for step in range(80)]
    for x, y in seen:
        assert x.shape == (7, 5)
        assert y.equal(x + 1)
    # With 22 places, and 400 draws, none is left out but by a great accident.
    assert {start for x, _ in seen for start in x[0].tolist()} == set(range(22))
    torch.manual_seed(99)
    again = RandomWindows(tokens, 7, 5, seed=3)
    assert all(again.at(step)[0].equal(seen[step][0]) for step in reversed(range(80)))
    assert not RandomWindows(tokens, 7, 5, seed=4).at(0)[0].equal(seen[0][0])
