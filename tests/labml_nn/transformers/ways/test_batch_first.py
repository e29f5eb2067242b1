from functools import partial

import torch
from torch import Tensor, nn

from labml_nn.transformers.ways.batch_first import BatchFirstAttention, ScaledDotProductAttention
from tests.labml_nn.transformers import seam
from tests.labml_nn.transformers.seam import BATCH_SIZE, D_MODEL, HEADS, SEQ_LEN_K, equals, refuses
from tests.labml_nn.transformers.ways.oracles import CAUSAL, SequenceFirst, by_pytorch, sequences
from tests.oracles.compare import difference

PADDING = (torch.arange(SEQ_LEN_K) < torch.tensor([SEQ_LEN_K, 2, 3])[:, None])[:, None, None]


def any_mask() -> Tensor:
    r"""A mask for each sequence and each head, in which every query sees a key."""
    shape = (BATCH_SIZE, HEADS, SEQ_LEN_K, SEQ_LEN_K)
    visible = torch.rand(shape, generator=torch.Generator().manual_seed(3)) < 0.4
    visible[..., 1] = True
    return visible


def from_pytorch(visible: Tensor) -> float:
    module, x = BatchFirstAttention(D_MODEL, HEADS, 0.0).double(), sequences()
    layers, variables = [module.W_q, module.W_k, module.W_v, module.W_o], [x, *module.parameters()]
    mine = torch.cat([one.flatten() for one in module(x, visible)])
    theirs = torch.cat([one.flatten() for one in by_pytorch(x, layers, visible)])
    return difference(mine, theirs, variables, variables)


def made(dropout_prob: float = 0.1) -> SequenceFirst:
    way = BatchFirstAttention(D_MODEL, HEADS, dropout_prob)
    return SequenceFirst(way, output="W_o", takes_mask=True)


ORACLES = {
    "torch.nn.MultiheadAttention": lambda: max(map(from_pytorch, (CAUSAL, PADDING, any_mask())))
}
test_equals_its_oracle_with_gradients = equals(ORACLES)
test_at_the_seam = seam.at_the_seam(partial(made), but=(seam.check_hidden_keys_of_another,))
test_a_width_that_heads_do_not_divide_is_refused = refuses(
    BatchFirstAttention, "got {num_heads=}, {embed_dim=}$", [{"num_heads": 4, "embed_dim": 30}]
)


def test_a_tenth_of_the_weights_is_dropped_and_those_before_dropout_are_returned() -> None:
    usual = BatchFirstAttention(D_MODEL, HEADS), ScaledDotProductAttention()
    found = {one.p for made in usual for one in made.modules() if isinstance(one, nn.Dropout)}
    assert found == {0.1}
    module = BatchFirstAttention(D_MODEL, HEADS, dropout=0.5)
    _, weights = module(sequences().float())
    torch.testing.assert_close(weights.sum(dim=-1), torch.ones(BATCH_SIZE, HEADS, SEQ_LEN_K))
