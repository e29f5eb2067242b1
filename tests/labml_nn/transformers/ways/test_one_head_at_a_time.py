from functools import partial

import pytest
import torch
from torch import Tensor, nn

from labml_nn.transformers.ways.one_head_at_a_time import OneHeadAtATime, answer, causal_attention
from tests.labml_nn.transformers import seam
from tests.labml_nn.transformers.seam import D_K, D_MODEL, HEADS, equals, refuses
from tests.labml_nn.transformers.ways.oracles import SequenceFirst, from_pytorch

# The words of the page: the cat sat.
KEYS = [[2.0, 0.0, 0.0, 0.0], [0.0, 2.0, 0.0, 0.0], [0.0, 0.0, 2.0, 0.0]]
VALUES = [[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]]


def below_each_other(module: OneHeadAtATime, name: str) -> dict[str, Tensor]:
    parts = [getattr(head, name) for head in module.heads]
    return {kind: torch.cat([getattr(one, kind) for one in parts]) for kind in ("weight", "bias")}


def distance() -> float:
    way = OneHeadAtATime(HEADS, D_MODEL).double()
    layers = [below_each_other(way, name) for name in ("query", "key", "value")]
    return from_pytorch(way, [*layers, way.projection])


ORACLES = {"torch.nn.MultiheadAttention": distance}
test_equals_its_oracle_with_gradients = equals(ORACLES)
test_at_the_seam = seam.at_the_seam(
    partial(lambda: SequenceFirst(OneHeadAtATime(HEADS, D_MODEL), output="projection")),
    but=(seam.check_hidden_keys, seam.check_idle, seam.check_dropout),
)
test_a_width_that_heads_do_not_divide_is_refused = refuses(
    OneHeadAtATime, "got {heads=}, {d_model=}$", [{"heads": 4, "d_model": 30}]
)


def test_by_hand_the_numbers_are_those_of_the_page() -> None:
    weights, mean = answer([0.0, 2.0, 0.0, 0.0], KEYS, VALUES)
    assert [round(one, 2) for one in weights] == [0.11, 0.79, 0.11]
    assert [round(one, 2) for one in mean] == [0.79, 0.11]
    _, mean = answer([0.0] * 4, KEYS, VALUES)
    assert [round(one, 2) for one in mean] == [0.33, 0.33]


def test_the_last_of_all_queries_is_the_one_by_hand() -> None:
    query, key, value = torch.randn(3, 1, 5, 7, dtype=torch.float64)[..., :4]
    _, mean = answer(query[0, -1].tolist(), key[0].tolist(), value[0].tolist())
    assert causal_attention(query, key, value)[0, -1].tolist() == pytest.approx(mean)


@pytest.mark.parametrize("heads", [1, 12])
def test_any_number_of_heads_has_as_many_weights(heads: int) -> None:
    def size(module: nn.Module) -> int:
        return sum(p.numel() for p in module.parameters())

    assert size(OneHeadAtATime(heads, D_MODEL)) == 4 * (D_MODEL * D_MODEL + D_MODEL)


def test_the_parameters_are_these() -> None:
    names = [
        f"heads.{head}.{layer}" for head in range(HEADS) for layer in ("query", "key", "value")
    ]
    rows = dict.fromkeys(names, D_K) | {"projection": D_MODEL}
    expected: dict[str, tuple[int, ...]] = {}
    for name, n in rows.items():
        expected |= {f"{name}.weight": (n, D_MODEL), f"{name}.bias": (n,)}
    assert seam.shapes(OneHeadAtATime(HEADS, D_MODEL)) == expected
