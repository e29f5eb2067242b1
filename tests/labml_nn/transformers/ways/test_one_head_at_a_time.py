from functools import partial

import pytest
import torch
from torch import Tensor

from labml_nn.transformers.ways.one_head_at_a_time import OneHeadAtATime, answer, causal_attention
from tests.labml_nn.transformers import seam
from tests.labml_nn.transformers.seam import D_MODEL, HEADS, equals, refuses
from tests.labml_nn.transformers.ways.oracles import SequenceFirst, from_pytorch


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
    but=(*seam.HIDDEN, seam.check_idle, seam.check_dropout),
)
test_a_width_that_heads_do_not_divide_is_refused = refuses(
    OneHeadAtATime, "got {heads=}, {d_model=}$", [{"heads": 4, "d_model": 30}]
)


def test_the_last_of_all_queries_is_the_one_by_hand() -> None:
    query, key, value = torch.randn(3, 1, 5, 7, dtype=torch.float64)[..., :4]
    _, mean = answer(query[0, -1].tolist(), key[0].tolist(), value[0].tolist())
    assert causal_attention(query, key, value)[0, -1].tolist() == pytest.approx(mean)
