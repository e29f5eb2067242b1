from functools import partial

import torch

from labml_nn.transformers.ways.folded_heads import NarrowSelfAttention
from tests.labml_nn.transformers import seam
from tests.labml_nn.transformers.seam import D_MODEL, HEADS
from tests.labml_nn.transformers.ways.oracles import CAUSAL, SequenceFirst, from_pytorch


def distance(is_causal: bool) -> float:
    way = NarrowSelfAttention(HEADS, D_MODEL, 0.0, causal=is_causal).double()
    layers = [way.query, way.key, way.value, way.output]
    return from_pytorch(way, layers, CAUSAL if is_causal else torch.ones_like(CAUSAL))


def made(dropout_prob: float = 0.1) -> SequenceFirst:
    way = NarrowSelfAttention(HEADS, D_MODEL, dropout_prob, causal=True)
    return SequenceFirst(way, output="output")


ORACLES = {
    "torch.nn.MultiheadAttention": lambda: distance(True),
    "torch.nn.MultiheadAttention, without a mask": lambda: distance(False),
}
test_equals_its_oracle_with_gradients = seam.equals(ORACLES)
test_at_the_seam = seam.at_the_seam(partial(made), but=(*seam.HIDDEN, seam.check_idle))
test_a_width_that_heads_do_not_divide_is_refused = seam.refuses(
    NarrowSelfAttention, "got {heads=}, {d_model=}$", [{"heads": 4, "d_model": 30}]
)


def test_a_tenth_of_the_weights_is_dropped() -> None:
    assert NarrowSelfAttention(HEADS, D_MODEL).dropout.p == 0.1
