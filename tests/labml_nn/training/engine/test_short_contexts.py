r"""The two attentions that choose between kernel and products compute what their bases compute."""

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from labml_nn.training.device import autocast
from labml_nn.training.engine import short_contexts
from labml_nn.transformers.fused_attention import FusedAttention
from labml_nn.transformers.modern.attention import ModernAttention
from labml_nn.transformers.rotary import RotaryPositions, inverse_frequencies

N_SEQ, N_BATCH, HEADS, D_K = 7, 3, 5, 2
BITS = pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])


def projected(dtype: torch.dtype) -> list[torch.Tensor]:
    return [torch.randn(N_BATCH, HEADS, N_SEQ, D_K).to(dtype) for _ in range(3)]


@pytest.mark.parametrize("scale", [None, 0.3])
def test_products_are_the_kernel_and_never_see_the_future(scale: float | None) -> None:
    torch.manual_seed(1)
    q, k, v = projected(torch.bfloat16)
    # Scores around 50, which 16 bits would round by up to 0.1.
    q, k = 8 * q, 8 * k
    with autocast(torch.device("cpu"), torch.bfloat16):
        found = short_contexts.causal_attention(q, k, v, scale)
    expected = F.scaled_dot_product_attention(
        q.double(), k.double(), v.double(), is_causal=True, scale=scale
    )
    assert found.double() == pytest.approx(expected.numpy(), abs=0.02)

    k[:, :, -1], v[:, :, -1] = 100.0, 100.0
    with autocast(torch.device("cpu"), torch.bfloat16):
        again = short_contexts.causal_attention(q, k, v, scale)
    assert again[:, :, :-1].equal(found[:, :, :-1])


def test_32_bits_long_contexts_and_other_devices_take_the_kernel(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    called = []
    kernel = F.scaled_dot_product_attention
    monkeypatch.setattr(
        F, "scaled_dot_product_attention", lambda *a, **k: called.append(a) or kernel(*a, **k)
    )
    for long, dtype, expected in (
        (N_SEQ + 1, torch.bfloat16, 0),
        (N_SEQ, torch.bfloat16, 1),
        (N_SEQ + 1, torch.float32, 1),
        (N_SEQ + 1, torch.float64, 1),
    ):
        called.clear()
        monkeypatch.setattr(short_contexts, "LONG", long)
        short_contexts.causal_attention(*projected(dtype))
        assert len(called) == expected
    short_contexts.causal_attention(*(one.to("meta") for one in projected(torch.bfloat16)))
    assert len(called) == 2


@BITS
def test_dropped_weights_are_made_up_for(dtype: torch.dtype) -> None:
    q, k, _ = projected(dtype)
    # As many values of 1 as there are keys: without dropout the mean is 1.
    ones = torch.ones(N_BATCH, HEADS, N_SEQ, D_K, dtype=dtype)
    found = short_contexts.causal_attention(q, k, ones, dropout_prob=0.5)[:, :, 0].float()
    assert sorted(found.unique().tolist()) == pytest.approx([0.0, 2.0], abs=0.02)


SIZES = (HEADS, HEADS * D_K, 0.4)


def the_same(base: nn.Module, ours: nn.Module, dtype: torch.dtype, **given: object) -> None:
    r"""With the weights of the one, the other computes the same."""
    ours.load_state_dict(base.state_dict())
    with autocast(torch.device("cpu"), dtype):
        expected, found = base(**given), ours(**given)
    tolerance = 1e-5 if dtype is torch.float32 else 0.02
    torch.testing.assert_close(found, expected, rtol=tolerance, atol=tolerance)


@BITS
def test_the_classic_one_is_fused_attention(dtype: torch.dtype) -> None:
    x = torch.randn(N_SEQ, N_BATCH, HEADS * D_K)
    base = FusedAttention(*SIZES, is_causal=True).eval()
    ours = short_contexts.CausalAttention(*SIZES).eval()
    the_same(base, ours, dtype, query=x, key=x, value=x)

    plain = ours(query=x, key=x, value=x)
    assert not ours.train()(query=x, key=x, value=x).allclose(plain)


@BITS
@pytest.mark.parametrize(("is_first", "has_value"), [(True, True), (False, True), (False, False)])
def test_the_modern_one_is_that_of_its_page(
    is_first: bool, has_value: bool, dtype: torch.dtype
) -> None:
    rotate = RotaryPositions(inverse_frequencies(D_K), N_SEQ)
    arguments = (HEADS, HEADS * D_K, rotate, is_first)
    base = ModernAttention(*arguments)
    if not is_first:
        nn.init.constant_(base.mix, 0.7)
    x, value = torch.randn(N_SEQ, N_BATCH, HEADS * D_K), torch.randn(N_SEQ, N_BATCH, HEADS, D_K)
    ours = short_contexts.CausalModernAttention(*arguments)
    the_same(base, ours, dtype, x=x, first_value=value.to(dtype) if has_value else None)
