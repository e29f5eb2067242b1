r"""In each layout of four matrices, the right order is one of those that are tried."""

from itertools import permutations

import pytest
import torch
from torch import nn

from wrongline.comparison import Matrix
from wrongline.orders import Matrices, named_weights, orders, stack_orders

HEADS, D_K = 2, 5
D_MODEL = HEADS * D_K


def matrix(n_rows: int = D_MODEL) -> Matrix:
    return torch.randn(n_rows, D_MODEL), torch.randn(n_rows)


def joined(*parts: Matrix) -> Matrix:
    r"""One below the other."""
    weights, biases = zip(*parts, strict=True)
    return torch.cat(weights), torch.cat(biases)


def by_head(query: Matrix, key: Matrix, value: Matrix) -> list[Matrix]:
    r"""Three parts of a matrix in which the rows of a head are side by side, as in GPT-NeoX."""
    of_heads = [
        (weight[at : at + D_K], bias[at : at + D_K])
        for at in range(0, D_MODEL, D_K)
        for weight, bias in (query, key, value)
    ]
    weight, bias = joined(*of_heads)
    return list(zip(weight.split(D_MODEL), bias.split(D_MODEL), strict=True))


def same(one: Matrices, other: Matrices) -> bool:
    r"""Whether these are the same matrices, in the same order."""
    flat = [[z for pair in order for z in pair] for order in (one, other)]
    shapes = [[z.shape for z in order] for order in flat]
    return shapes[0] == shapes[1] and all(map(torch.equal, *flat))


def layouts() -> dict[str, tuple[list[Matrix], list[Matrix], int, int]]:
    r"""What is found, what is right, how many orders there are, and the place of the right one."""
    torch.manual_seed(1)
    query, key, value, output = (matrix() for _ in range(4))
    small_key, small_value = matrix(8), matrix(8)
    wide = [query, small_key, small_value, output]
    turned = [(weight.t(), bias) for weight, bias in (key, value, output, query)]
    half_key, half_value = matrix(D_MODEL // 2), matrix(D_MODEL // 2)
    return {
        "as they are": ([query, key, value, output], [query, key, value, output], 49, 0),
        "the key first": ([key, query, value, output], [query, key, value, output], 49, 6),
        "turned": ([key, value, output, query], turned, 49, 25),
        "by head": ([*by_head(query, key, value), output], [query, key, value, output], 49, 24),
        "three": ([query, joined(half_key, half_value), output],
                  [query, half_key, half_value, output], 12, 6),
        "three, the last first": ([output, joined(half_key, half_value), query],
                                  [query, half_key, half_value, output], 12, 11),
        "no output": ([value, query, key],
                      [query, key, value, (torch.eye(D_MODEL), torch.zeros(D_MODEL))], 12, 3),
        "shared": ([query, joined(small_key, small_value), output], wide, 2, 0),
        "shared, the last first": ([joined(small_key, small_value), output, query], wide, 2, 1),
        "shared apart": ([query, small_key, small_value, output], wide, 4, 0),
        "shared apart, the other way round": ([output, query, small_value, small_key], wide, 4, 3),
        "all in one": ([joined(query, small_key, small_value), output], wide, 1, 0),
    }  # fmt: skip


@pytest.mark.parametrize("name", layouts())
def test_the_right_order_is_tried_once(name: str) -> None:
    found, right, count, place = layouts()[name]
    tried = orders(found, HEADS, D_MODEL)
    assert len(tried) == count
    assert [at for at, order in enumerate(tried) if same(order, right)] == [place]


@pytest.mark.parametrize(
    ("names", "sorted_names"),
    [
        ("v_proj k_proj q_proj o_proj", "q_proj k_proj v_proj o_proj"),
        ("values keys queries fc_out", "queries keys values fc_out"),
        ("out toKeys toQueries toValues", "toQueries toKeys toValues out"),
        ("W_o W_v W_q W_k", "W_q W_k W_v W_o"),
        ("wk wo wq wv", "wq wk wv wo"),
        ("last query key", "query key last"),
        # A name that says nothing changes nothing.
        ("b a d c", "b a d c"),
    ],
)
def test_matrices_come_in_the_order_of_their_names(names: str, sorted_names: str) -> None:
    module = nn.Module()
    for name in names.split():
        module.add_module(name, nn.Linear(D_MODEL, D_MODEL, bias=name in names[:6]))
    found = named_weights(module, D_MODEL)
    for (weight, bias), name in zip(found, sorted_names.split(), strict=True):
        layer = module.get_submodule(name)
        assert weight.equal(layer.weight)
        assert bias.equal(torch.zeros(D_MODEL) if layer.bias is None else layer.bias)


def test_heads_of_a_list_have_one_name_and_parts_of_one_matrix_keep_their_order() -> None:
    heads = nn.ModuleList(
        nn.ModuleDict({name: nn.Linear(D_MODEL, D_K) for name in ("key", "value", "query")})
        for _ in range(HEADS)
    )
    found = named_weights(nn.ModuleDict({"heads": heads}), D_MODEL)
    for (weight, _), name in zip(found, ("query", "key", "value"), strict=True):
        assert weight.equal(torch.cat([head[name].weight for head in heads]))
    layers = nn.ModuleDict({"out": nn.Linear(D_MODEL, D_MODEL), "qkv": nn.Linear(D_MODEL, 30)})
    parts = [layers["out"].weight, *layers["qkv"].weight.split(D_MODEL)]
    assert all(map(torch.equal, [one for one, _ in named_weights(layers, D_MODEL)], parts))


def test_no_order_is_tried_twice() -> None:
    tried = orders([matrix() for _ in range(4)], HEADS, D_MODEL)
    assert not any(same(tried[a], tried[b]) for a in range(49) for b in range(a))


def test_other_matrices_have_no_order() -> None:
    square, small, smaller = [matrix() for _ in range(5)], matrix(8), matrix(4)
    for found in (
        [],
        square[:1],
        square[:2],
        square,
        [*square[:4], small],
        [*square[:3], small],
        [*square[:2], small, smaller],
        [*square[:2], small, small, small],
        [square[0], small, small],
        [small],
        [small, small],
    ):
        assert orders(found, HEADS, D_MODEL) == []


def test_orders_of_the_same_shapes_are_stacked() -> None:
    square = [(torch.full((6, 6), float(n)), torch.full((6,), -float(n))) for n in range(4)]
    (stacked,) = stack_orders(orders(square, 2, 6))
    assert [(*weight.shape, *bias.shape) for weight, bias in stacked] == [
        (49, 1, 6, 6, 49, 1, 1, 6)
    ] * 4
    for number, order in enumerate(permutations(range(4))):
        for role, n in zip(stacked, order, strict=True):
            assert role[0][number].eq(n).all()
            assert role[1][number].eq(-n).all()
    # Where one matrix may be that of keys and values, there are two kinds, the first one first.
    whole, halves = stack_orders(orders(square[:3], 2, 6))
    assert [len(weight) for weight, _ in (*whole, *halves)] == [6] * 8
    assert whole[1][0].shape[-2:] == (6, 6)
    assert halves[1][0].shape[-2:] == (3, 6)


def test_a_matrix_with_a_single_row_is_none_for_keys_and_values() -> None:
    r"""As the vector of an additive attention."""
    square = [(torch.randn(6, 6), torch.randn(6)) for _ in range(2)]
    assert orders([*square, (torch.randn(1, 6), torch.randn(1))], 2, 6) == []
    assert len(orders([*square, (torch.randn(2, 6), torch.randn(2))], 2, 6)) == 2
