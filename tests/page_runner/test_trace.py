r"""A recorded run as a file, and its first step as the page shows it."""

import json
from dataclasses import dataclass
from typing import Any

import pytest
import torch

from page_runner.recording import Recording
from page_runner.trace import first_step, rows_and_columns, with_axes, written
from tests.page_runner.scripts import in_node

SOURCE = "import torch\nx, weights = <torch>.rand(2), 1\ny = x\n"


@dataclass(frozen=True)
class Named:
    name: str
    sizes: tuple[tuple[int, ...], ...]
    axes: tuple[str, ...]


def record_of(*steps: tuple[int, dict[str, torch.Tensor]]) -> dict[str, Any]:
    record = Recording()
    for line, bound in steps:
        for name, tensor in bound.items():
            record.add(line, None, name, tensor, False)
    return record.told(set())


def test_axes_have_the_names_that_were_measured_or_their_lengths() -> None:
    record = record_of((2, {"x": torch.rand(7, 3), "y": torch.rand(5)}), (3, {"x": torch.rand(7)}))
    lines = {2: {1: Named("x", ((7, 3), (11, 5)), ("seq_len", "batch_size"))}, 3: {}}
    steps = with_axes(record, lines)["steps"]
    assert steps == [
        [2, [["x", ["seq_len", "batch_size"], 0], ["y", ["5"], 1]], ""],
        [3, [["x", ["7"], 2]], ""],
    ]


def test_the_file_is_the_record() -> None:
    record = with_axes(record_of((2, {"x": torch.ones(7, 3)})), {})
    assert json.loads(written(record)) == json.loads(json.dumps(record))
    assert written(record).endswith("}\n")


def test_the_first_step_is_complete_and_escaped() -> None:
    x = torch.tensor([[0.25, -0.5, 1234.0], [-torch.inf, 0.0, 3.0]])
    record = record_of((2, {"more['<a>']": x}), (3, {"y": x}))
    step = first_step(with_axes(record, {}), SOURCE)
    assert step == {
        "number": 1,
        "line": 2,
        "code": "x, weights = &lt;torch&gt;.rand(2), 1",
        "steps": 2,
        "tensor": "more[&#x27;&lt;a&gt;&#x27;] [2, 3]",
        "rows": "2",
        "columns": "3",
        "others": "",
        "cells": [["0.25", "−0.5", "1.23e+03"], ["−∞", "0", "3"]],
        "numbers": [],
    }


def test_the_first_step_shows_a_corner_of_weights() -> None:
    weights = torch.rand(11, 3, 13).softmax(2)
    bound = {"weights": weights, "x": torch.rand(2, 2)}
    named = Named("weights", (weights.shape,), ("seq_len_q", "heads", "seq_len_k"))
    record = with_axes(record_of((2, bound), (3, bound)), {2: {0: named}})
    step = first_step(record, SOURCE)
    assert (step["rows"], step["columns"], step["others"]) == ("seq_len_q", "seq_len_k", "heads 0")
    shown = torch.tensor([[float(cell) for cell in row] for row in step["cells"]])
    assert torch.allclose(shown, weights[:7, 0, :8], rtol=0.006)
    assert [float(one) for one in step["numbers"]] == pytest.approx(
        [weights.min().item(), weights.mean().item(), weights.max().item()], rel=1e-3
    )


def test_where_nothing_can_be_stepped_through_there_is_no_run() -> None:
    assert first_step({}, SOURCE) is None
    assert first_step(with_axes(record_of((2, {"x": torch.ones(3)})), {}), SOURCE) is None


CASES = [
    (["seq_len", "batch_size", "d_model"], [7, 3, 10], None),
    (["seq_len_q", "seq_len_k", "batch_size", "heads"], [7, 11, 3, 5], None),
    (["batch_size", "heads", "seq_len_q", "seq_len_k"], [3, 5, 7, 11], 3),
    (["batch_size", "heads", "seq_len_q", "seq_len_k"], [3, 5, 7, 11], None),
    (["batch_size", "heads", "seq_len", "d_k"], [3, 5, 7, 2], None),
    (["batch_size", "heads", "d_k"], [3, 5, 2], None),
    (["seq_len", "1", "n_vocab"], [7, 1, 13], 2),
    (["1", "d"], [1, 5], 0),
    (["d"], [5], 0),
    (["1"], [1], None),
    ([], [], None),
]


def test_the_panel_has_the_same_rows_and_columns() -> None:
    script = (
        "given.map(([axes, shape, axis]) => grid.shown({axes, shape, axis: axis ?? undefined}))"
    )
    found = [[None if at < 0 else at for at in pair] for pair in in_node("grid", script, CASES)]
    assert found == [list(rows_and_columns(*case)) for case in CASES]
    assert found[:6] == [[0, 2], [0, 1], [2, 3], [2, 3], [2, 3], [0, 2]]
