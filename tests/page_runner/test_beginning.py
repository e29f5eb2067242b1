r"""Where a recorded run begins."""

import ast

import pytest

from page_runner.beginning import begun, inputs_of

TENSORS = [[(2,), None, dtype, None, 0, 0, 1, "0 1"] for dtype in ("int64", "bool", "float32")]


def step(line: int, *kinds: int) -> list[object]:
    return [line, [[f"name {kind}", ["n"], kind] for kind in kinds], ""]


@pytest.mark.parametrize(
    ("kinds", "inputs", "start", "begins"),
    [
        ([(0,), (1,), (1,), (2,)], (), 1, 3),
        # Whole numbers may be what the page is about, and so may a mask beside numbers.
        ([(1,), (0,), (2,)], (), 0, 1),
        ([(2,), (1, 2), (2,)], (), 1, 1),
        ([(2,), (1,), (1,)], (), 1, 1),
        # What is made up is passed over, before a mask and behind it, and only at the beginning.
        ([(2,), (1,), (2,), (2,), (2,)], (0, 2, 4), 0, 3),
        ([(2,), (2,)], (0, 1), 0, 0),
    ],
)
def test_masks_and_made_up_input_at_the_beginning_are_passed_over(
    kinds: list[tuple[int, ...]], inputs: tuple[int, ...], start: int, begins: int
) -> None:
    steps = [step(line, *found) for line, found in enumerate(kinds)]
    record = {"steps": steps, "tensors": TENSORS, "start": start, "limit": 1.0}
    assert begun(record, inputs) == {**record, "start": begins}


def test_the_lines_that_make_input_up_are_those_of_the_example() -> None:
    page = """
def other(x):
    turned = x * torch.arange(3)
    return turned

def example(n: int = 7):
    x = torch.randn(
        n, 3
    )
    text = torch.arange(n) % 5
    y = other(x)
    return y + torch.rand(3)
"""
    assert inputs_of(ast.parse(page)) == {7, 8, 9, 10}


def test_without_a_run_there_is_none() -> None:
    assert begun({}) == {}
