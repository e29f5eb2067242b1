from functools import partial

import torch

from labml_nn.transformers.ways.folded_heads import NarrowSelfAttention, fold, unfold
from tests.labml_nn.transformers import seam
from tests.labml_nn.transformers.seam import BATCH_SIZE, D_K, D_MODEL, HEADS, SEQ_LEN_K
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
test_at_the_seam = seam.at_the_seam(partial(made), but=(seam.check_hidden_keys, seam.check_idle))
test_a_width_that_heads_do_not_divide_is_refused = seam.refuses(
    NarrowSelfAttention, "got {heads=}, {d_model=}$", [{"heads": 4, "d_model": 30}]
)


def test_a_folded_sequence_is_one_head_of_one_sequence() -> None:
    x = torch.randn(BATCH_SIZE, SEQ_LEN_K, HEADS, D_K)
    for n, one in enumerate(fold(x)):
        assert torch.equal(one, x[n // HEADS, :, n % HEADS])
    assert torch.equal(unfold(fold(x), HEADS), x.flatten(start_dim=2))


def test_the_parameters_are_these_and_a_tenth_of_the_weights_is_dropped() -> None:
    module = NarrowSelfAttention(HEADS, D_MODEL)
    parts, shapes = ("query", "key", "value", "output"), {"weight": (60, 60), "bias": (60,)}
    expected = {f"{part}.{kind}": shape for part in parts for kind, shape in shapes.items()}
    assert seam.shapes(module) == expected
    assert module.dropout.p == 0.1
