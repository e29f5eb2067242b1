r"""What a page tells when it is asked."""

import inspect
import json
from pathlib import Path

import pytest

from labml_nn.training.loop import learning_rate
from labml_nn.transformers.mha import MultiHeadAttention, causal_mask
from literate.measuring.measure import Measurement, Tensor
from literate.page.tooltips import about, signature
from literate.reading.page_source import page_source
from literate.reading.source import parse, read

CODE = r'''r"""
---
title: Scaling
summary: Something is scaled.
---

Text.
"""

from dataclasses import dataclass


def scale(x: int, *, by: float = 2.0) -> float:
    r"""
    ## Scale `x`

    Multiplies *each* number by [a factor](a.py#F) of $2^k$, e.g.
    two. Then it stops.
    """
    return x * by


@dataclass(frozen=True)
class Result:
    value: int
    name: str = ""


class Layer(Result):
    def forward(self, x: int) -> int:
        return x
'''


def told(measurement: Measurement | None = None) -> dict[str, dict]:
    return json.loads(about(page_source(parse(CODE, "a.py")), measurement))


def test_definitions_are_told_by_signature_and_first_sentence() -> None:
    assert told()["definitions"] == {
        "": ["Scaling", "Something is scaled."],
        "scale": [
            "scale(x: int, *, by: float=2.0) -> float",
            "Multiplies each number by a factor of 2^k, e.g. two.",
        ],
        "Result": ["Result(value: int, name: str = '')", ""],
        "Layer": ["class Layer(Result)", ""],
        "Layer.forward": ["forward(x: int) -> int", ""],
    }


@pytest.mark.parametrize("thing", [MultiHeadAttention, causal_mask, learning_rate])
def test_a_signature_has_the_parameters_that_python_sees(thing: type) -> None:
    source = read(Path(inspect.getfile(thing)))
    definition = next(one for one in source.definitions if one.name == thing.__name__)
    namespace: dict[str, object] = {}
    head, _, result = signature(definition).partition(" -> ")
    exec(f"def {head}: ...", {**vars(inspect.getmodule(thing))}, namespace)
    shown = inspect.signature(namespace[thing.__name__]).parameters
    expected = inspect.signature(thing).parameters
    told = [(one.name, one.kind, one.default) for one in shown.values()]
    assert told == [(one.name, one.kind, one.default) for one in expected.values()]


def test_tensors_are_told_by_line_and_names_with_line_and_column_in_turns() -> None:
    tensor = Tensor("x", ((7, 3), (29, 19)), ("n", "m"), "float32", 6)
    found = told(Measurement({"n": (7, 29)}, {20: (tensor,)}, {}))
    assert found["tensors"] == {"20": [["x", ["n", "m"], [7, 3], 6]]}
    assert found["names"]["by"] == [[13, 21, 20, 15]]
    assert told()["tensors"] == {}
