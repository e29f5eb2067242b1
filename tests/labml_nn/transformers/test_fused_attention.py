r"""The kernel against multi-head attention, and PyTorch's own module."""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn

from labml_nn.transformers.fused_attention import FusedAttention
from labml_nn.transformers.mha import MultiHeadAttention, causal_mask
from tests.labml_nn.transformers.memory.at_the_seam import (
    D_MODEL,
    HEADS,
    SEQ_LEN,
    attend,
    check_at_the_seam,
    from_module,
    parameters_of_heads,
    randomise,
    shapes,
    some_mask,
    text,
)
from tests.oracles.compare import difference


def attention(is_causal: bool = False) -> FusedAttention:
    return randomise(FusedAttention(HEADS, D_MODEL, 0.0, is_causal=is_causal))


def from_pytorch(is_causal: bool) -> float:
    r"""Its mask is true where nothing may be seen."""
    module, x = attention(is_causal), text()
    other = nn.MultiheadAttention(D_MODEL, HEADS).double()
    parts = [module.query.linear, module.key.linear, module.value.linear]
    other.load_state_dict(
        {
            "in_proj_weight": torch.cat([part.weight for part in parts]),
            "in_proj_bias": torch.cat([part.bias for part in parts]),
            "out_proj.weight": module.output.weight,
            "out_proj.bias": module.output.bias,
        }
    )
    mask = causal_mask(SEQ_LEN)
    theirs, _ = other(x, x, x, attn_mask=~mask[..., 0], need_weights=False)
    mine = attend(module, x, None if is_causal else mask)
    return difference(mine, theirs, [x, module.output.weight], [x, other.out_proj.weight])


def from_readable(mask: Tensor | None) -> float:
    return from_module(attention(), MultiHeadAttention(HEADS, D_MODEL, 0.0).double(), mask)


ORACLES: dict[str, Callable[[], float]] = {
    "torch.nn.MultiheadAttention": lambda: max(map(from_pytorch, [True, False])),
    "multi-head attention": lambda: max(
        map(from_readable, [None, causal_mask(SEQ_LEN), some_mask(), some_mask()[:1]])
    ),
}


@pytest.mark.parametrize("oracle", ORACLES)
def test_it_equals(oracle: str) -> None:
    assert ORACLES[oracle]() < 1e-10


def test_at_the_seam() -> None:
    check_at_the_seam(lambda: FusedAttention(HEADS, D_MODEL, 0.0))


def test_with_the_flag_no_output_depends_on_a_later_position() -> None:
    module, x = attention(is_causal=True), text().detach()
    changed = x.clone()
    changed[-1] += 1
    before, after = attend(module, x), attend(module, changed)
    assert torch.equal(before[:-1], after[:-1])
    assert (before[-1] != after[-1]).any()


def test_a_mask_besides_the_flag_is_refused() -> None:
    with pytest.raises(ValueError, match="pass no mask"):
        attend(attention(is_causal=True), text(), causal_mask(SEQ_LEN))


def test_it_has_the_parameters_of_multi_head_attention() -> None:
    assert shapes(attention()) == parameters_of_heads()


def test_weights_are_dropped_in_training_only() -> None:
    module, x = FusedAttention(HEADS, D_MODEL, 1.0), text(torch.float32)
    assert torch.equal(attend(module, x)[2, 1], module.output.bias)
    assert not torch.equal(attend(module.eval(), x)[2, 1], module.output.bias)
    assert module.attn is None
