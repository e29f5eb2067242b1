r"""What the lines of a call bind, compared with what the same lines give one by one."""

import math
import sys

import matplotlib.pyplot as plt
import pytest
import torch
from torch import Tensor

from literate.takeaway.look_inside import as_squares, look_inside, tensors_of_lines


def scaled(x: Tensor, mask: Tensor, factor: float) -> tuple[Tensor, Tensor]:
    scores = x * factor
    rest = scores.sum()
    scores = scores.masked_fill(~mask, torch.finfo(scores.dtype).min)
    if factor > 0:
        scores = scores + 1
    return scores, rest


X = torch.arange(4.0).view(2, 2)
MASK = torch.ones(2, 2, dtype=torch.bool).tril()
LEAST = torch.finfo(torch.float32).min


def test_each_tensor_comes_with_its_names_and_its_statement() -> None:
    found = tensors_of_lines(scaled, lambda: [scaled(X, MASK, 3.0), scaled(-X, MASK, 3.0)])
    expected = [
        (["x"], [[0, 1], [2, 3]], ""),
        (["mask"], [[True, False], [True, True]], ""),
        (["scores"], [[0, 3], [6, 9]], "scores = x * factor"),
        (["rest", "result[1]"], 18, "rest = scores.sum()"),
        (
            ["scores"],
            [[0, LEAST], [6, 9]],
            "scores = scores.masked_fill(~mask, torch.finfo(scores.dtype).min)",
        ),
        (["scores", "result[0]"], [[1, LEAST], [7, 10]], "scores = scores + 1"),
    ]
    assert [(names, value.tolist(), said) for names, value, said in found] == expected


def test_what_is_changed_in_place_afterwards_is_shown_as_it_was() -> None:
    def twice(x: Tensor) -> Tensor:
        y = x + 0
        y.mul_(2)
        return y

    found = tensors_of_lines(twice, lambda: twice(X))
    assert found[1][1].tolist() == X.tolist()


def test_a_decorated_function_is_watched_inside() -> None:
    inside = torch.no_grad()(scaled)
    assert len(tensors_of_lines(inside, lambda: inside(X, MASK, 3.0))) == 6


def test_whoever_watched_before_watches_again_also_after_an_error() -> None:
    before = sys.gettrace()
    with pytest.raises(TypeError):
        tensors_of_lines(scaled, lambda: scaled(X, MASK, "a"))
    assert sys.gettrace() is before


@pytest.mark.parametrize(
    ("shape", "expected"),
    [
        ((3, 3, 1, 2), [(3, 3), (3, 3)]),
        ((3, 1, 2, 5), [(3, 10)]),
        ((3, 1), [(3, 1)]),
        ((3,), [(1, 3)]),
        ((5, 5, 1, 2), [(5, 10)]),
    ],
)
def test_axes_of_positions_give_a_picture_for_each_head(
    shape: tuple[int, ...], expected: list[tuple[int, ...]]
) -> None:
    squares = as_squares(torch.arange(math.prod(shape)).view(shape), ["abc"])
    assert [tuple(one.shape) for one in squares] == expected


def test_the_second_picture_is_the_second_head() -> None:
    tensor = torch.randn(3, 3, 1, 2)
    assert torch.equal(as_squares(tensor, ["abc"])[1], tensor[:, :, 0, 1])


def test_pictures_have_titles_names_and_numbers(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(plt, "show", lambda: None)
    look_inside(scaled, lambda: scaled(X - 0.01, MASK, 3.0), ["to", "be"], letters={"mask": "xy"})
    axes = plt.gcf().axes
    plt.close()
    titles = [one.get_title() for one in axes]
    assert titles[:3] == ["x: [2, 2]", "mask: [2, 2]", "scores: [2, 2]\nscores = x * factor"]
    assert [one.get_text() for one in axes[2].get_yticklabels()] == ["to", "be"]
    texts = [[each.get_text() for each in one.texts] for one in axes]
    # Rounded, without a zero below zero; letters; and what is hidden has no number.
    assert texts[:4] == [
        ["0.0", "1.0", "2.0", "3.0"],
        ["y", "x", "y", "y"],
        ["0.0", "3.0", "6.0", "9.0"],
        ["0.0", "6.0", "9.0"],
    ]
    assert capsys.readouterr().out == "rest, result[1]: [], 17.88    rest = scores.sum()\n"


@pytest.mark.parametrize(("length", "letters", "coloured"), [(14, 14, False), (15, 0, True)])
def test_where_words_have_no_room_there_are_colours(
    monkeypatch: pytest.MonkeyPatch, length: int, letters: int, coloured: bool
) -> None:
    monkeypatch.setattr(plt, "show", lambda: None)
    doubled = lambda x: 2 * x  # noqa: E731
    look_inside(doubled, lambda: doubled(torch.arange(length)), letters={"x": "a" * length})
    axes = plt.gcf().axes[0]
    plt.close()
    assert len(axes.texts) == letters
    assert bool(axes.images[0].get_array().any()) is coloured


def test_a_tensor_without_numbers_is_told_and_needs_no_picture(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(plt, "show", lambda: pytest.fail("nothing to draw"))
    look_inside(scaled, lambda: scaled(X[:0], MASK[:0], 3.0))
    assert "x: [0, 2]    \nmask: [0, 2]" in capsys.readouterr().out
