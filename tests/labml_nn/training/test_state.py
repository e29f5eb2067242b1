import json
import math
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from labml_nn.training.state import pack, unpack

LEAVES = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text()
VALUES = st.recursive(
    LEAVES,
    lambda inner: (
        st.lists(inner)
        | st.lists(inner).map(tuple)
        | st.dictionaries(st.text(), inner)
        | st.dictionaries(st.integers(), inner)
    ),
    max_leaves=10,
)


def through_json(value: Any) -> Any:
    tensors: dict[str, torch.Tensor] = {}
    packed = json.dumps(pack(value, "name", tensors), allow_nan=False)
    return unpack(json.loads(packed), tensors)


@given(VALUES)
def test_whatever_is_taken_apart_comes_back(value: Any) -> None:
    again = through_json(value)
    assert again == value
    assert repr(again) == repr(value)


def test_what_is_no_number_comes_back() -> None:
    assert math.isnan(through_json(math.nan))


@pytest.mark.parametrize(
    "tensor",
    [
        torch.randn(3, 5).t(),
        torch.tensor(2.5),
        torch.zeros(0, 3),
        torch.tensor([1, -1]),
        torch.randn(7).bfloat16(),
        torch.get_rng_state(),
    ],
)
def test_tensors_are_kept_apart_with_their_bits(tensor: torch.Tensor) -> None:
    tensors: dict[str, torch.Tensor] = {}
    packed = pack({"a": [1, {2: tensor}]}, "state", tensors)
    assert list(tensors) == ["state.a.1.2"]
    assert "tensor" in json.dumps(packed)
    found = unpack(packed, tensors)["a"][1][2]
    assert found.dtype == tensor.dtype
    assert found.equal(tensor)
    assert found.is_contiguous()


def test_a_tensor_that_is_kept_is_a_copy() -> None:
    tensor, tensors = torch.zeros(3), {}
    pack(tensor, "one", tensors)
    tensor += 1
    assert tensors["one"].tolist() == [0, 0, 0]


def test_what_json_cannot_hold_is_named() -> None:
    with pytest.raises(TypeError, match=r"state.a.0 is of type .*Path, which a checkpoint cannot"):
        pack({"a": [Path("x")]}, "state", {})
