r"""What arguments are by their names, and all ways to call a module."""

from itertools import product
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from labml_nn.transformers.mistakes.guesses import SIZES, Way, guess_arguments, meaning, ways


@pytest.mark.parametrize(
    ("name", "known"),
    [
        ("embed_dim", "d_model"),
        ("C", "d_model"),
        ("nhead", "heads"),
        ("head_dim", "d_k"),
        ("T", "seq_len"),
        ("vocab_size", "n_vocab"),
        ("n_layer", "n_layers"),
        ("dim_feedforward", "d_ff"),
        ("qkv_bias", "bias"),
        ("attn_Dropout", "dropout"),
        ("colour", ""),
        ("head", ""),
    ],
)
def test_a_name_says_what_an_argument_is(name: str, known: str) -> None:
    assert meaning(name) == known


def test_sizes_differ_and_heads_have_the_width_that_is_left_for_each() -> None:
    # The width, three heads of it, and a text of the tests has seven tokens.
    assert SIZES["d_model"] == SIZES["heads"] * SIZES["d_k"]
    assert SIZES["heads"] > 2
    assert SIZES["seq_len"] > 7
    lengths = [size for name, size in SIZES.items() if name != "bias"]
    assert len(set(lengths)) == len(lengths)
    assert SIZES["bias"] is True


def test_arguments_are_guessed_by_their_names_and_others_keep_their_default_or_are_asked_for() -> (
    None
):
    class Module(nn.Module):
        def __init__(
            self, emb: int, p_drop: float, wobble: int, colour: str = "red", bias: bool = False,
            *args: int, shade: int, h: int = 8, **others: int,
        ) -> None:  # fmt: skip
            super().__init__()

    found, unknown = guess_arguments(Module, "")
    assert found == {"emb": 24, "p_drop": 0.1, "bias": True, "h": 3}
    assert list(found) == ["emb", "p_drop", "bias", "h"]
    assert unknown == ["wobble", "shade"]


@pytest.mark.parametrize("name", ["config", "cfg", "args", "hparams", "params", "conf"])
def test_a_configuration_is_made_of_what_is_read_from_it(name: str) -> None:
    namespace: dict[str, Any] = {"nn": nn}
    exec(f"class Configured(nn.Module):\n    def __init__(self, {name}): pass", namespace)
    read = f"{name}.n_head + {name}.n_embd + {name}.n_head + {name}.other + my{name}.n_layer"
    found, unknown = guess_arguments(namespace["Configured"], read)
    assert {key: vars(one) for key, one in found.items()} == {name: {"n_head": 3, "n_embd": 24}}
    assert unknown == []


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
    [lambda y: y, lambda y: (y, None), lambda y: [y, None]],
    ids=["tensor", "tuple", "list"],
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
    assert list(ways(with_mask, {})) == [
        Way(layout, 2, mask, shape, "src_MASK")
        for layout, mask, shape in product(layouts, meanings, shapes)
    ]
    # There is always an input, and what has no fixed name is none.
    assert {way.inputs for way in ways(lambda: None, {})} == {1}
    assert {way.inputs for way in ways(lambda x, **others: None, {})} == {1}


def test_what_was_said_is_no_longer_tried() -> None:
    said = {"layout": "sequence first", "mask": "added", "shape": "1, T, T", "inputs": 3}
    assert list(ways(with_mask, said | {"colour": "red"})) == [Way(**said, name="src_MASK")]
    assert {way.name for way in ways(with_mask, {"name": "my_mask"})} == {"my_mask"}
