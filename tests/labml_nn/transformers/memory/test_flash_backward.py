from functools import partial

import pytest
import torch

from labml_nn.transformers.memory.flash_backward import FlashAttention, Tiled
from labml_nn.transformers.mha import causal_mask
from tests.labml_nn.transformers import seam
from tests.labml_nn.transformers.memory.test_flash import from_kernel
from tests.labml_nn.transformers.seam import D_MODEL, HEADS, SEQ_LEN_K, at_the_seam, equals

attention = partial(FlashAttention, HEADS, D_MODEL)
ORACLES = {
    "F.scaled_dot_product_attention": lambda: from_kernel(Tiled.apply),
    "multi-head attention": lambda: max(
        seam.from_module(seam.randomised(attention(size=size)), mask)
        for size in (3, 64)
        for mask in (None, seam.some_mask(SEQ_LEN_K, idle=True))
    ),
}
test_it_equals_what_others_compute = equals(ORACLES)
test_at_the_seam = at_the_seam(
    partial(attention, size=3), {}, but=(seam.check_device, seam.check_dropout)
)


def test_memory_grows_with_the_length_and_not_with_its_square() -> None:
    r"""All that is kept for the backward pass, but the mask, and the largest tensor on the way."""
    kept = []
    for length in (64, 128):
        x = torch.randn(1, 1, length, 5, requires_grad=True)
        saved: list[int] = []
        with torch.autograd.graph.saved_tensors_hooks(
            lambda t, saved=saved: saved.append(0 if t.dtype == torch.bool else t.numel()) or t,
            lambda t: t,
        ):
            Tiled.apply(x, x, x, causal_mask(length)[None, None, ..., 0], 8)
        kept.append(sum(saved))
    assert kept[1] == 2 * kept[0]


def test_gradients_of_gradients_are_refused() -> None:
    x = torch.randn(1, 1, 7, 5, requires_grad=True)
    output = Tiled.apply(x, x, x, causal_mask(7)[None, None, ..., 0], 3)
    (gradient,) = torch.autograd.grad(output.square().sum(), x, create_graph=True)
    with pytest.raises(RuntimeError, match="once_differentiable"):
        gradient.sum().backward()
