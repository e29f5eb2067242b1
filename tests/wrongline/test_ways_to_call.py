r"""All ways to call a module, and which of them is taken."""

from collections.abc import Callable
from itertools import product
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from wrongline.run_pasted import run_text
from wrongline.ways_to_call import (
    Way,
    best_of,
    example,
    output_in,
    reads_ahead,
    ways,
)


def test_a_mask_has_the_meaning_and_the_shape_that_are_wanted() -> None:
    # Rows are queries, columns are keys.
    shows = torch.tensor([[True, False, False], [True, True, False], [True, True, True]])
    inf = torch.inf
    added = torch.tensor([[0.0, -inf, -inf], [0.0, 0.0, -inf], [0.0, 0.0, 0.0]])
    meanings = {"true shows": shows, "true hides": ~shows, "added": added}
    shapes = {
        "T, T": (3, 3),
        "1, T, T": (1, 3, 3),
        "1, 1, T, T": (1, 1, 3, 3),
        "T, T, 1": (3, 3, 1),
    }
    for (said, mask), (shape, axes) in product(meanings.items(), shapes.items()):
        assert Way(mask=said, shape=shape).causal_mask(3).equal(mask.view(axes))


class Recorded(nn.Module):
    r"""Remembers what it was given."""

    def __init__(self, give: Any = lambda x: x) -> None:
        super().__init__()
        self.give = give

    def forward(self, *inputs: Tensor, **others: Tensor) -> Any:
        self.inputs, self.others = inputs, others
        return self.give(2 * inputs[0])


@pytest.mark.parametrize(
    "kind",
    [
        lambda y: y,
        lambda y: (y, None),
        lambda y: [None, y, 3 * y],
        lambda y: {"weights": y[..., :1], "output": y},
    ],
    ids=["tensor", "tuple", "list", "dictionary"],
)
@pytest.mark.parametrize("layout", ["batch first", "sequence first"])
def test_it_is_called_in_the_way_that_is_said(kind: Any, layout: str) -> None:
    x = torch.arange(30.0).view(2, 3, 5)
    given = x.transpose(0, 1) if layout == "sequence first" else x
    module = Recorded(kind)
    assert Way(layout=layout)(module, x).equal(2 * x)
    assert len(module.inputs) == 1
    assert module.inputs[0].equal(given)
    assert module.others == {}
    assert Way(layout=layout, inputs=3, mask="true hides", name="m")(module, x).equal(2 * x)
    assert [one.equal(given) for one in module.inputs] == [True] * 3
    assert list(module.others) == ["m"]
    assert module.others["m"].equal(torch.ones(3, 3, dtype=torch.bool).triu(1))


def one_input(self: Any) -> None: ...
def with_mask(q: Any, k: Any, src_MASK: Any, my_mask: Any = None, flag: bool = True) -> None: ...


def test_all_ways_are_tried_and_the_likelier_ones_come_first() -> None:
    layouts = ("batch first", "sequence first")
    assert list(ways(one_input, {})) == [Way(layout) for layout in layouts]
    meanings = ("true shows", "true hides", "added", "none")
    shapes = ("T, T", "1, T, T", "1, 1, T, T", "T, T, 1")
    # A mask that has a place is given, whichever axis is first.
    assert list(ways(with_mask, {})) == [
        *(
            # The one that must be given is None if it isn't the causal one.
            Way(*one, name, absent=absent)
            for name, absent in (("src_MASK", ()), ("my_mask", ("src_MASK",)))
            for one in product(layouts, [2], meanings[:-1], shapes)
        ),
        *(Way(layout, 2, "none", "T, T", "src_MASK", absent=("src_MASK",)) for layout in layouts),
    ]
    # There is always an input, and what has no fixed name is none.
    assert {way.inputs for way in ways(lambda: None, {})} == {1}
    assert {way.inputs for way in ways(lambda x, **others: None, {})} == {1}


def switched(x: Any, key_padding_mask: Any = None, attn_mask: Any = None) -> None: ...
def turned_on(x: Any, is_causal: bool = False, need_weights: bool = False) -> None: ...


def test_padding_is_no_causal_mask_and_a_switch_is_tried_before_it_is_left_off() -> None:
    assert next(ways(switched, {})).name == "attn_mask"
    assert [way.switch for way in ways(turned_on, {})] == ["is_causal"] * 2 + [""] * 2
    given = []
    module = nn.Identity()
    module.forward = lambda x, is_causal=False: given.append(is_causal) or x
    x = torch.zeros(2, 3, 5)
    for way in ways(module.forward, {}):
        way(module, x)
    assert given == [True, True, False, False]


def test_what_was_said_is_no_longer_tried() -> None:
    said = {"layout": "sequence first", "mask": "added", "shape": "1, T, T", "inputs": 3}
    expected = [
        Way(**said, name="src_MASK"),
        Way(**said, name="my_mask", absent=("src_MASK",)),
    ]
    assert list(ways(with_mask, said | {"colour": "red"})) == expected
    assert {way.name for way in ways(with_mask, {"name": "my_mask"})} == {"my_mask"}
    said = {"mask": "none", "shape": "1, T, T"}
    assert {way.shape for way in ways(with_mask, said)} == {"1, T, T"}


def test_a_result_without_an_output_is_told_by_its_first_part() -> None:
    x = torch.zeros(2, 3)
    assert output_in((None, x[:1]), x) is None
    assert output_in([x[:1], 3], x).shape == (1, 3)
    assert output_in({"a": 3}, x) == 3


class Tried:
    r"""A way to call a module that gives something, and fails so many quick tests."""

    def __init__(self, give: Callable[[Tensor], Tensor], wrong: int = 0) -> None:
        self.give, self.wrong = give, wrong

    def __call__(self, module: nn.Module, x: Tensor) -> Tensor:
        assert not module.training
        module.train()
        module.kept = self.give(x + module.weight)
        return module.kept


def test_the_first_of_the_best_ways_is_taken_or_what_came_furthest_told() -> None:
    def fail(x: Tensor) -> Tensor:
        raise KeyError("no")

    module, x = nn.Module(), torch.zeros(2, 3)
    module.weight = nn.Parameter(torch.ones(3))

    def badness(other: nn.Module, way: Any, x: Tensor) -> int:
        # It is the module itself, and what it has kept is gone afterwards.
        assert other is module
        assert other.kept.equal(way.give(x + 1))
        return way.wrong

    def best(*every: Any) -> Any:
        way, refused = best_of(module, every, x, badness)
        return way, refused and refused.sentence

    short, broken = Tried(lambda x: x[:1]), Tried(fail)
    lengths = "an input of [2, 3] gives [1, 3]"
    # What runs to its end has come further than what fails.
    assert best(short, broken) == best(broken, short) == (None, lengths)
    assert best(broken) == (None, "KeyError: 'no'")
    two, one, another = (Tried(lambda x: x, wrong) for wrong in (2, 1, 1))
    assert best(short, two, one, broken, another) == (one, lengths)
    # A model gives more axes than it gets.
    wide = Tried(lambda x: x[..., None])
    assert best(wide)[0] is wide
    # One without a mistake is good enough, and the others aren't tried.
    assert best(one, Tried(lambda x: x), Tried(exit))[0].wrong == 0
    assert module.training
    assert not hasattr(module, "kept")


def test_the_failure_that_came_furthest_is_told_with_its_line() -> None:
    names = run_text(
        "def inner(x):\n    assert x is None\n"
        "def early(x):\n    return x @ x\n"
        "def late(x):\n    x = x + 0\n    return inner(x)\n"
        "def later(x):\n    x = x + 0\n    x = x\n    raise ValueError\n"
    )
    module = nn.Module()
    module.weight = torch.zeros(())

    def told(other: nn.Module, *every: str) -> Any:
        ways = [Tried(names[one]) for one in every]
        _, refused = best_of(other, ways, torch.zeros(2, 3), max)
        assert refused is not None
        return refused.sentence.partition(":")[0], refused.line

    # One that fails before the text has no line.
    assert told(nn.Identity(), "early") == ("AttributeError", None)
    assert told(module, "early") == ("RuntimeError", 4)
    # The call of a function is further down than what is above it, wherever the function stands.
    # Without a message, the line of code is told.
    for every in (("early", "late"), ("late", "early")):
        assert told(module, *every) == ("AssertionError in `assert x is None`", 2)
    assert told(module, "later", "late") == ("ValueError in `raise ValueError`", 11)


def test_the_example_finds_the_mask_that_hides_where_it_is_true() -> None:
    output, way = example()
    assert output.shape == (5, 7, 24)
    assert way == Way(inputs=3, mask="true hides", name="attn_mask")


def test_reading_ahead_is_one_failure_and_so_is_what_is_no_number() -> None:
    x = torch.randn(2, 3, 5)
    module = nn.Identity()
    assert reads_ahead(module, lambda module, x: x.cumsum(1), x) == 0
    assert reads_ahead(module, lambda module, x: x.flip(1), x) == 1
    assert reads_ahead(module, lambda module, x: x * torch.nan, x) == 1
    # One feature is enough, in either direction.
    for sign in (1, -1):
        one = sign * (torch.arange(5) == 3)
        found = reads_ahead(module, lambda module, x, one=one: x + one * x.shape[1], x)
        assert (found, type(found)) == (1, int)
