r"""Which step comes next on a page, and what it is called."""

from tests.page_runner.scripts import in_node

# Two heads, each on lines 5 and 6, between two other lines.
STEPS = [
    {"line": 3},
    {"line": 5, "pass": "head 1 of 2"},
    {"line": 6, "pass": "head 1 of 2"},
    {"line": 5, "pass": "head 2 of 2"},
    {"line": 6, "pass": "head 2 of 2"},
    {"line": 9, "layer": 1},
]


def test_each_line_once_leaves_out_what_came_before() -> None:
    script = "[false, true].map((once) => steps.places(given, once))"
    assert in_node("steps", script, STEPS) == [[0, 1, 2, 3, 4, 5], [0, 1, 2, 5]]


def test_the_next_step_is_one_of_those_that_are_gone_through() -> None:
    script = "given.map(([at, by]) => steps.moved([0, 1, 2, 5], at, by))"
    asked = [(0, 1), (2, 1), (5, 1), (5, -1), (0, -1), (3, 1), (4, -1)]
    assert in_node("steps", script, asked) == [1, 5, None, 2, None, 5, 2]


def test_a_line_is_the_nearest_of_its_steps() -> None:
    asked = "[[5, 0], [5, 4], [6, 1], [7, 1]]"
    script = f"{asked}.map(([line, at]) => steps.ofLine(given, [0, 1, 2, 3, 4, 5], line, at))"
    assert in_node("steps", script, STEPS) == [1, 3, 2, None]


def test_a_step_says_its_pass_its_layer_and_its_line() -> None:
    script = "[0, 1, 5].map((at) => steps.told(given, at))"
    assert in_node("steps", script, STEPS) == [
        "step 1 of 6 · line 3",
        "step 2 of 6 · head 1 of 2 · line 5",
        "step 6 of 6 · layer 1 · line 9",
    ]


def test_whole_numbers_have_no_colour() -> None:
    script = "given.map(([number, kind]) => grid.shade(number, kind, 2))"
    given = [(64, "whole"), (-1, "values"), (0.5, "weights"), (1, "mask")]
    assert in_node("grid", script, given) == [0, -0.5, 0.5, 1]
