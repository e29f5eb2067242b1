r"""No right attention is called wrong: those of this site, of PyTorch and of nanoGPT."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from labml_nn.transformers.fused_attention import FusedAttention
from labml_nn.transformers.memory.flash import TiledAttention
from labml_nn.transformers.memory.flash_backward import FlashAttention
from labml_nn.transformers.memory.flex import FlexAttention
from labml_nn.transformers.memory.grouped_query import GroupedQueryAttention
from labml_nn.transformers.memory.latent_attention import LatentAttention
from labml_nn.transformers.memory.learned_sink import LearnedSinkAttention
from labml_nn.transformers.memory.sliding_window import SlidingWindowAttention
from labml_nn.transformers.mha import MultiHeadAttention
from labml_nn.transformers.mistakes.caches import RightCache, RightGrouped
from labml_nn.transformers.mistakes.masks import MaskUnused
from labml_nn.transformers.mistakes.position_mistakes import RightRotary
from labml_nn.transformers.mistakes.right_attention import RightAttention
from labml_nn.transformers.positions.alibi import AlibiAttention
from labml_nn.transformers.positions.rotary_attention import RotaryAttention
from labml_nn.transformers.positions.shaw_relative import ShawAttention
from labml_nn.transformers.positions.transformer_xl import TransformerXLAttention
from labml_nn.transformers.rotary import RotaryPositions, inverse_frequencies
from labml_nn.transformers.variants.delta_rule import DeltaRuleAttention
from labml_nn.transformers.variants.gated_attention import GatedAttention
from labml_nn.transformers.variants.linear_attention import LinearAttention
from labml_nn.transformers.variants.query_key_norm import QueryKeyNormAttention
from labml_nn.transformers.variants.soft_cap import SoftCapAttention
from labml_nn.transformers.ways.batch_first import BatchFirstAttention
from labml_nn.transformers.ways.folded_heads import NarrowSelfAttention
from wrongline.attention_tests import check_attention, find_mistakes

D_MODEL, HEADS = 24, 3


def at_the_seam(attention: nn.Module, x: Tensor) -> Tensor:
    r"""The sequence first, with keywords, as all attentions of this site are called."""
    x = x.transpose(0, 1)
    mask = torch.ones(len(x), len(x), dtype=torch.bool).tril().unsqueeze(-1)
    return attention(query=x, key=x, value=x, mask=mask).transpose(0, 1)


def without_mask(attention: nn.Module, x: Tensor) -> Tensor:
    x = x.transpose(0, 1)
    return attention(query=x, key=x, value=x).transpose(0, 1)


class NanoGPT(nn.Module):
    r"""One layer for three projections, and the kernel of PyTorch."""

    def __init__(self) -> None:
        super().__init__()
        self.c_attn = nn.Linear(D_MODEL, 3 * D_MODEL)
        self.c_proj = nn.Linear(D_MODEL, D_MODEL)

    def forward(self, x: Tensor) -> Tensor:
        b, n, c = x.shape
        parts = self.c_attn(x).split(c, dim=2)
        q, k, v = (z.view(b, n, HEADS, c // HEADS).transpose(1, 2) for z in parts)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.c_proj(y.transpose(1, 2).contiguous().view(b, n, c))


def pytorchs(attention: nn.Module, x: Tensor) -> Tensor:
    hidden = torch.ones(x.shape[1], x.shape[1], dtype=torch.bool).triu(1)
    return attention(x, x, x, attn_mask=hidden, need_weights=False)[0]


def batch_first(attention: nn.Module, x: Tensor) -> Tensor:
    mask = torch.ones(x.shape[1], x.shape[1], dtype=torch.bool).tril()
    return attention(x, mask=mask)[0]


def plain(attention: nn.Module, x: Tensor) -> Tensor:
    return attention(x)


sizes = (HEADS, D_MODEL)
Call = Callable[[nn.Module, Tensor], Tensor]
RIGHT: dict[str, tuple[Callable[[], nn.Module], Call]] = {
    "mha": (lambda: MultiHeadAttention(*sizes), at_the_seam),
    "fused": (lambda: FusedAttention(*sizes, is_causal=True), without_mask),
    "tiled": (lambda: TiledAttention(*sizes), at_the_seam),
    "flash": (lambda: FlashAttention(*sizes), at_the_seam),
    "flex": (lambda: FlexAttention(*sizes), at_the_seam),
    "grouped": (lambda: GroupedQueryAttention(*sizes, key_heads=1), at_the_seam),
    "latent": (
        lambda: LatentAttention(*sizes, d_latent=8, d_rotary=4, max_len=64),
        at_the_seam,
    ),
    "sink": (lambda: LearnedSinkAttention(*sizes), at_the_seam),
    "window": (lambda: SlidingWindowAttention(*sizes, window=3), at_the_seam),
    "rotary": (
        lambda: RotaryAttention(*sizes, rotary=RotaryPositions(inverse_frequencies(8), 64)),
        at_the_seam,
    ),
    "shaw": (lambda: ShawAttention(*sizes), at_the_seam),
    "transformer_xl": (lambda: TransformerXLAttention(*sizes), at_the_seam),
    "delta": (lambda: DeltaRuleAttention(*sizes), at_the_seam),
    "gated": (lambda: GatedAttention(*sizes), at_the_seam),
    "normalised": (lambda: QueryKeyNormAttention(*sizes), at_the_seam),
    "soft cap": (lambda: SoftCapAttention(*sizes), at_the_seam),
    "folded heads": (lambda: NarrowSelfAttention(*sizes, causal=True), plain),
    "batch first": (lambda: BatchFirstAttention(D_MODEL, HEADS), batch_first),
    "the museum's": (lambda: RightAttention(HEADS, D_MODEL, 0.1), plain),
    "the museum's rotary": (lambda: RightRotary(HEADS, D_MODEL), plain),
    "PyTorch": (lambda: nn.MultiheadAttention(D_MODEL, HEADS, 0.1, batch_first=True), pytorchs),
    "nanoGPT": (NanoGPT, plain),
}


@pytest.mark.parametrize("name", RIGHT)
def test_right_ones_pass(name: str) -> None:
    make, call = RIGHT[name]
    torch.manual_seed(0)
    check_attention(make(), HEADS, D_MODEL, call=call)


def test_alibi_with_four_heads_passes() -> None:
    check_attention(AlibiAttention(4, D_MODEL), 4, D_MODEL, call=at_the_seam)
    check_attention(RightGrouped(6, D_MODEL), 6, D_MODEL)


def test_linear_attention_is_of_another_kind_and_its_properties_hold() -> None:
    # The search for a name goes through all there is. A narrow one has fewer ways to be cut.
    linear = LinearAttention(3, 15)
    found = find_mistakes(linear, 3, 15, call=at_the_seam)
    assert found == {}
    assert "- unusual: comparison: another result than the formula's" in found.table
    check_attention(linear, 3, 15, call=at_the_seam, weights=None)


def test_another_result_than_the_formulas_is_a_warning() -> None:
    attention = nn.MultiheadAttention(D_MODEL, HEADS, bias=False, batch_first=True)
    hidden = torch.ones(7, 7, dtype=torch.bool).triu(1)

    def call(attention: nn.Module, x: Tensor) -> Tensor:
        n, smaller = x.shape[1], (D_MODEL // HEADS) ** -0.5
        return attention(smaller * x, x, x, attn_mask=hidden[:n, :n], need_weights=False)[0]

    with pytest.warns(UserWarning, match="^unusual: the scores are divided by the width"):
        check_attention(attention, HEADS, D_MODEL, call=call, only=["comparison"])


def test_a_tuple_and_a_failing_call_are_told_in_a_sentence() -> None:
    class Pair(RightAttention):
        def forward(self, x: Tensor) -> tuple[Tensor, None]:
            return super().forward(x), None

    said = find_mistakes(Pair(3, 24), 3, 24, call=lambda attention, x: attention(x))
    assert "a tuple of 2" in said["runs"]
    check_attention(Pair(3, 24), 3, 24)
    said = find_mistakes(nn.MultiheadAttention(24, 3), 3, 24)["runs"]
    assert "TypeError" in said
    assert "say by `call`" in said
    narrow = find_mistakes(nn.Linear(24, 8), 3, 24)["runs"]
    assert narrow.startswith("an input of [5, 7, 24] gives [5, 7, 8]")
    other = find_mistakes(nn.Identity(), 3, 24, call=lambda attention, x: {"output": x})["runs"]
    assert other.startswith("an input of [5, 7, 24] gives dict; say")


def test_an_attention_may_keep_something_of_its_last_call() -> None:
    class Keeps(RightCache):
        def forward(self, *given: Any) -> Tensor:
            self.kept = super().forward(*given)
            return self.kept

    attention = Keeps(3, 24)
    output = attention(torch.randn(2, 5, 24))
    options = {
        "read": lambda attention, parts: attention.read(parts),
        "shifted": lambda attention, x, by: attention(x, by),
    }
    assert find_mistakes(attention, 3, 24, **options) == {}
    # Yours has what it had.
    assert attention.kept is output
    assert output.grad_fn is not None


def test_an_output_without_a_gradient_is_told_and_a_module_without_weights_has_one() -> None:
    found = find_mistakes(nn.Identity(), 3, 24, call=lambda attention, x: x.detach())
    assert list(found) == ["runs"]
    assert found["runs"].startswith("no gradient comes back")
    wanted = []
    options = {"call": lambda attention, x: wanted.append(x.requires_grad) or 2 * x}
    assert find_mistakes(nn.Identity(), 3, 24, **options) == {}
    # The first call is for its gradient, and the next is as any other.
    assert wanted[0] is True
    assert False in wanted


def test_an_error_is_told_with_its_innermost_line() -> None:
    def fails(attention: nn.Module, x: Tensor) -> Tensor:
        return {"a": x}["b"]

    said = find_mistakes(nn.Identity(), 3, 24, call=fails)["runs"]
    assert said.startswith("the call fails with KeyError: 'b' (line ")
    assert 'return {"a": x}["b"])' in said


def test_the_line_of_an_error_is_yours_and_not_pytorchs() -> None:
    def fails(attention: nn.Module, x: Tensor) -> Tensor:
        return attention(x.double())

    said = find_mistakes(nn.Linear(24, 24), 3, 24, call=fails)["runs"]
    assert said.endswith(
        "return attention(x.double())); it gets `float32`; say by `call` how to call it"
    )


def test_a_mistake_in_a_bias_that_is_still_zero_is_found() -> None:
    class Leaks(RightAttention):
        def forward(self, x: Tensor) -> Tensor:
            return super().forward(x) + self.output.bias * x.roll(-1, 1)

    attention = Leaks(3, 24)
    nn.init.zeros_(attention.output.bias)
    assert list(find_mistakes(attention, 3, 24, weights=None)) == ["nothing_from_the_future"]


def test_the_same_numbers_go_in_whatever_the_callers_are() -> None:
    inputs = []
    for seed in (3, 5):
        torch.manual_seed(seed)
        find_mistakes(nn.Identity(), 3, 24, call=lambda attention, x: inputs.append(x))
        assert torch.initial_seed() == seed
    assert inputs[0].equal(inputs[1])


def test_a_leak_in_training_does_not_leave_the_attention_there() -> None:
    # With dropout still on, an output would depend on the company.
    found = find_mistakes(MaskUnused.make()(3, 24, 0.5), 3, 24)
    assert list(found) == ["comparison", "nothing_from_the_future"]


def test_a_cache_and_positions_are_tried_if_one_says_how() -> None:
    options = {
        "read": lambda attention, parts: attention.read(parts),
        "shifted": lambda attention, x, by: attention(x, by),
    }
    assert find_mistakes(RightCache(3, 24), 3, 24, **options) == {}


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float64])
def test_an_attention_of_any_precision_is_tested_with_32_bits(dtype: torch.dtype) -> None:
    attention = NanoGPT().to(dtype)
    before = attention.c_attn.weight.detach().clone()
    check_attention(attention, HEADS, D_MODEL)
    # Yours keeps its numbers.
    assert attention.c_attn.weight.equal(before)
    assert attention.c_attn.weight.dtype == dtype
    found = find_mistakes(MaskUnused.make()(HEADS, D_MODEL).to(dtype), HEADS, D_MODEL)
    assert found["comparison"] == "there is no causal mask"


class NoNumbers(nn.MultiheadAttention):
    r"""Zero is divided by zero, for all positions or for the first one."""

    first = slice(None)

    def forward(self, x: Tensor) -> Tensor:  # type: ignore[override]
        output, _ = super().forward(x, x, x, need_weights=False)
        zeros = torch.zeros_like(output)
        return output + zeros.index_fill(1, torch.arange(x.shape[1])[self.first], torch.nan)


def test_an_output_without_numbers_is_told_alone() -> None:
    attention = NoNumbers(24, 3, batch_first=True)
    for attention.first in (slice(None), slice(1)):  # all, and the first
        found = find_mistakes(attention, 3, 24)
        (said,) = [one for one in found.verdicts if one.test == "comparison"]
        assert [*found] == ["stays_finite"] and said.kind == "not tried"
