r"""Where a recorded run begins."""

import pytest

from livepage.beginning import past_masks

TENSORS = [[(2,), None, dtype, None, 0, 0, 1, "0 1"] for dtype in ("int64", "bool", "float32")]


def step(line: int, *kinds: int) -> list[object]:
    return [line, [[f"name {kind}", ["n"], kind] for kind in kinds], ""]


@pytest.mark.parametrize(
    ("kinds", "start", "begins"),
    [
        ([(0,), (1,), (1,), (2,)], 1, 3),
        # Whole numbers may be what the page is about, and so may a mask beside numbers.
        ([(1,), (0,), (2,)], 0, 1),
        ([(2,), (1, 2), (2,)], 1, 1),
        ([(2,), (1,), (1,)], 1, 1),
    ],
)
def test_masks_at_the_beginning_are_passed_over(
    kinds: list[tuple[int, ...]], start: int, begins: int
) -> None:
    steps = [step(line, *found) for line, found in enumerate(kinds)]
    record = {"steps": steps, "tensors": TENSORS, "start": start, "limit": 1.0}
    assert past_masks(record) == {**record, "start": begins}


def test_without_a_run_there_is_none() -> None:
    assert past_masks({}) == {}
