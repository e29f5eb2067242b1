from functools import partial

import pytest
import torch
from torch import Tensor, nn

from labml_nn.transformers.mha import causal_mask
from labml_nn.transformers.variants.cross_attention import (
    CrossAttention,
    LayerWithMemory,
    padding_mask,
)
from tests.labml_nn.transformers import seam
from tests.labml_nn.transformers.seam import D_MODEL, HEADS, SEQ_LEN_K, SEQ_LEN_Q
from tests.oracles.compare import difference, largest

D_FF = 13


attention = partial(CrossAttention, HEADS, D_MODEL)


def layer() -> LayerWithMemory:
    return seam.randomised(LayerWithMemory(d_model=D_MODEL, heads=HEADS, d_ff=D_FF))


def padding(*lengths: int) -> Tensor:
    return padding_mask(torch.tensor(lengths or (SEQ_LEN_K, 2, 3)), SEQ_LEN_K)


def both() -> tuple[Tensor, Tensor]:
    given = seam.inputs()
    return given["query"], given["key"]


def pytorch() -> float:
    r"""PyTorch's attention, with its mask of padding, true where nothing is to be seen."""
    ours = seam.randomised(attention())
    theirs = seam.joined(ours, nn.MultiheadAttention(D_MODEL, HEADS))
    x, memory = both()
    expected, _ = theirs(x, memory, memory, key_padding_mask=~padding()[0].T)
    found = ours.recall(x, ours.remember(memory, padding()))
    return difference(found, expected, [x, memory], [x, memory])


def pytorch_layer() -> float:
    ours = layer()
    theirs = nn.TransformerDecoderLayer(D_MODEL, HEADS, D_FF, norm_first=True).double().eval()
    seam.joined(ours.self_attn, theirs.self_attn)
    seam.joined(ours.cross_attn, theirs.multihead_attn)
    norms = {"norm_self_attn": "norm1", "norm_cross_attn": "norm2", "norm_ff": "norm3"}
    network = {"feed_forward.layer1": "linear1", "feed_forward.layer2": "linear2"}
    seam.copied(ours, theirs, norms | network)
    x, memory = both()
    mask = causal_mask(SEQ_LEN_Q)
    expected = theirs(x, memory, tgt_mask=~mask[..., 0], memory_key_padding_mask=~padding()[0].T)
    found = ours(x=x, memory=memory, mask=mask, visible=padding())
    mine = [p for name in norms for p in ours.get_submodule(name).parameters()]
    others = [p for name in norms.values() for p in theirs.get_submodule(name).parameters()]
    return difference(found, expected, [x, memory, *mine], [x, memory, *others])


def loops() -> float:
    r"""One memory is empty."""
    module, (x, memory), mask = seam.randomised(attention()), both(), padding(SEQ_LEN_K, 0, 3)
    found = module.recall(x, module.remember(memory, mask))
    return largest(
        [found], [seam.by_loops(module, {"query": x, "key": memory, "value": memory}, mask)]
    )


ORACLES = {
    "torch.nn.MultiheadAttention": pytorch,
    "torch.nn.TransformerDecoderLayer": pytorch_layer,
    "a loop over scalars": loops,
}
test_it_equals_what_others_compute = seam.equals(ORACLES)
test_at_the_seam = seam.at_the_seam(attention, {})


@pytest.mark.parametrize(("options", "probability"), [({}, 0.1), ({"dropout_prob": 0.3}, 0.3)])
def test_all_parts_of_a_layer_drop_out(options: dict[str, float], probability: float) -> None:
    parts = LayerWithMemory(d_model=D_MODEL, heads=HEADS, d_ff=D_FF, **options).modules()
    assert {part.p for part in parts if isinstance(part, nn.Dropout)} == {probability}


def test_the_mask_of_padding_is_where_the_lengths_are() -> None:
    assert padding().sum(dim=1).tolist() == [[SEQ_LEN_K, 2, 3]]
    assert padding_mask(torch.empty(3, device="meta"), SEQ_LEN_K).device.type == "meta"


def test_a_mask_that_does_not_fit_the_memory_is_refused() -> None:
    _, memory = both()
    for visible in (padding()[:, 1:], padding().double(), padding().expand(2, -1, -1)):
        with pytest.raises(ValueError, match="expected a mask of torch.bool"):
            attention().double().remember(memory, visible)
