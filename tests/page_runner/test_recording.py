r"""The record of a run, compared with the tensors of the run itself."""

import json
import math
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from page_runner.recording import MOST_BYTES, MOST_ROUNDS, MOST_STEPS, Recording, cut, limit, read


@pytest.fixture
def record() -> Recording:
    return Recording()


def bind(record: Recording, line: int, name: str, tensor: Tensor) -> None:
    r"""What the recorder of a page does for each name that a line binds."""
    record.add(line, None, name, tensor, False)


def told(record: Recording) -> dict[str, Any]:
    return json.loads(json.dumps(record.told(set())))


def numbers(entry: list[Any]) -> Tensor:
    r"""The tensor that the browser makes of an entry."""
    shape, part, *_, text = entry
    return torch.tensor([float(word) for word in text.split()]).reshape(part or shape)


def test_names_of_one_line_are_one_step_and_steps_keep_their_order(record: Recording) -> None:
    query, key, scores = torch.randn(7, 2), torch.randn(5, 2), torch.randn(7, 5)
    for line, name, tensor in (
        (8, "query", query),
        (8, "key", key),
        (11, "return", scores),
        (9, "scores", scores),
        (8, "query", 2 * query),
    ):
        bind(record, line, name, tensor)
    found = told(record)
    assert [(line, [name for name, _ in parts]) for line, parts, _ in found["steps"]] == [
        (8, ["query", "key"]),
        (11, ["return"]),
        (9, ["scores"]),
        (8, ["query"]),
    ]
    # The same tensor is kept once.
    assert found["steps"][1][1][0][1] == found["steps"][2][1][0][1]
    assert len(found["tensors"]) == 4
    assert found["left_out"] == 0


def test_a_result_that_was_just_bound_and_new_parameters_are_no_steps(record: Recording) -> None:
    x = torch.randn(3)
    bind(record, 5, "self.gain", nn.Parameter(x))
    bind(record, 7, "x", x)
    bind(record, 8, "return", x)
    bind(record, 3, "y", x)
    bind(record, 9, "weight", nn.Parameter(x))
    assert [line for line, *_ in told(record)["steps"]] == [7, 3, 9]


def test_a_tensor_is_kept_as_it_was(record: Recording) -> None:
    x = torch.ones(3)
    bind(record, 1, "x", x)
    x += 1
    bind(record, 2, "x", x)
    assert [one[-1] for one in told(record)["tensors"]] == ["1 1 1", "2 2 2"]


def test_of_a_long_loop_the_first_rounds_are_kept_and_the_others_counted(record: Recording) -> None:
    for count in range(20):
        bind(record, 4, "x", torch.tensor([float(count)]))
        bind(record, 5, "a", torch.zeros(1))
    found = told(record)
    assert [(line, len(parts)) for line, parts, _ in found["steps"]] == [
        (4, 1),
        (5, 1),
    ] * MOST_ROUNDS
    assert found["left_out"] == 2 * (20 - MOST_ROUNDS)


def test_of_too_many_steps_later_rounds_go_first_then_the_last_lines(record: Recording) -> None:
    for count in range(20):
        for line in range(40):
            bind(record, line, "x", torch.tensor([float(100 * count + line)]))
            bind(record, line, "y", torch.zeros(1))
    found = told(record)
    assert [line for line, *_ in found["steps"]] == [*range(40)] * 2
    assert found["left_out"] == 40 * 18
    assert [len(parts) for _, parts, _ in found["steps"]] == [2] * 80
    # What is in no step takes no room; the zeros of `y` are the first `x`.
    assert sum(one != [] for one in found["tensors"]) == 80
    for line in range(MOST_STEPS):
        bind(record, 100 + line, "x", torch.zeros(1))
    found = told(record)
    assert [line for line, *_ in found["steps"]] == [*range(40), *range(100, 160)]
    assert found["left_out"] == 40 * 19 + 40


WEIGHTS = {
    "along columns": (torch.rand(7, 11, 3).softmax(1), 1),
    "along rows": (torch.rand(7, 11).softmax(0), 0),
    "along both": (torch.full((7, 7), 1 / 7), 1),
    "of eight bits": (torch.rand(7, 11).bfloat16().softmax(1), 1),
    "one-hot": (torch.eye(7), None),
    "after dropout": (torch.rand(7, 11).softmax(1) * 0.9, None),
    "other numbers": (torch.rand(7, 11), None),
    "negative ones": (torch.tensor([[1.5, -0.5]]), None),
    "nothing to share": (torch.ones(7, 1), None),
    "truth": (torch.tensor([True, False]), None),
    "alone": (torch.tensor(1.0), None),
}


@pytest.mark.parametrize("which", WEIGHTS)
def test_weights_are_known_by_their_sums(which: str) -> None:
    tensor, axis = WEIGHTS[which]
    assert read(tensor).axis == axis


def test_numbers_have_three_digits_and_whole_numbers_all_of_theirs(record: Recording) -> None:
    torch.manual_seed(3)
    tensors = {
        "x": torch.randn(7, 3, 5) * 10 ** torch.randn(7, 3, 5),
        "double": torch.rand(7, dtype=torch.float64),
        "half": torch.rand(7).bfloat16(),
        "long": torch.rand(3, 100, 90),
        "inf": torch.tensor([-math.inf, 0.5, math.inf, math.nan]),
        "token": torch.tensor([1234567, -3, 0]),
        "mask": torch.ones(3, 5, dtype=torch.bool).tril(),
        "nothing": torch.zeros(0, 3),
        "complex": torch.tensor([1j]),
        "unreal": torch.empty(3, device="meta"),
    }
    for line, (name, tensor) in enumerate(tensors.items()):
        bind(record, line, name, tensor)
    for (name, tensor), entry in zip(tensors.items(), told(record)["tensors"], strict=True):
        shape, part, _, _, *summary, text = entry
        assert shape == list(tensor.shape), name
        if name in ("nothing", "complex", "unreal"):
            assert (part, summary, text) == (None, [None] * 3, "")
            continue
        # What sums it up is of all numbers, not of the first ones alone.
        assert part == ([1, 32, 64] if name == "long" else None)
        near = 0.0 if name in ("token", "mask") else 0.006
        kept = numbers(entry).to(torch.float64)
        double = tensor.to(torch.float64)
        first = double[:1, :32, :64] if part else double
        assert torch.allclose(kept, first, rtol=near, atol=1e-30, equal_nan=True), name
        expected = [double.min().item(), double.mean().item(), double.max().item()]
        assert summary == ([None] * 3 if name == "inf" else pytest.approx(expected, rel=1e-3))


@pytest.mark.parametrize(
    ("shape", "most", "lengths"),
    [
        ((7, 3, 5), 2048, (7, 3, 5)),
        ((100, 100), 2048, (32, 64)),
        ((100,), 2048, (64,)),
        ((4, 3, 100, 70), 2048, (1, 1, 32, 64)),
        ((100, 2, 70), 4096, (32, 2, 64)),
        ((), 2048, ()),
        ((32, 64), 512, (16, 32)),
        ((7, 7, 3, 5), 128, (7, 7, 1, 1)),
    ],
)
def test_a_slice_has_the_two_longest_axes(
    shape: tuple[int, ...], most: int, lengths: tuple[int, ...]
) -> None:
    assert cut(shape, most) == lengths


def test_the_file_stays_small_and_small_tensors_stay_whole(record: Recording) -> None:
    for line in range(MOST_STEPS):
        bind(record, line, "x", torch.randn(32, 64))
        bind(record, line, "small", torch.randn(3, 5))
    found = told(record)
    assert len(json.dumps(found, separators=(",", ":"))) < 60_000
    assert sum(len(one[-1]) for one in found["tensors"]) > MOST_BYTES / 3
    assert [one[1] for one in found["tensors"]][1::2] == [None] * MOST_STEPS


@pytest.mark.parametrize(
    ("largest", "end"),
    [((0.3,), 0.5), ((1.0,), 1), ((1.01,), 2), ((7e-5,), 1e-4), ((0.1, 3, 100), 5), ((), 1)],
)
def test_colours_end_above_half_of_the_tensors(largest: tuple[float, ...], end: float) -> None:
    tensors = [read(torch.tensor([-one, one / 2])) for one in largest]
    assert limit([*tensors, read(torch.tensor([1000]))]) == end
