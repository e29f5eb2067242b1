r"""Linear biases against loops, against Hugging Face, and against what their page claims."""

import math
from collections.abc import Callable

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor
from transformers.models.bloom.modeling_bloom import _get_alibi_slopes, build_alibi_tensor

from labml_nn.transformers.mha import MultiHeadAttention, causal_mask
from labml_nn.transformers.positions import alibi
from labml_nn.transformers.positions.alibi import AlibiAttention, moved_penalties, slopes
from tests.labml_nn.transformers.positions.at_the_seam import (
    BATCH_SIZE,
    CHECKS,
    D_K,
    D_MODEL,
    HEADS,
    SEQ_LEN_K,
    SEQ_LEN_Q,
    any_mask,
    apart,
    by_loops,
    check_types,
    inputs,
    made,
    with_gradients,
)


def attention() -> AlibiAttention:
    r"""One without dropout. Three heads are no power of two."""
    return AlibiAttention(HEADS, D_MODEL, 0.0)


def loops(seq_len_q: int, mask: Tensor | None) -> float:
    r"""The formula, one number after the other."""
    module, given = made(attention), inputs(seq_len_q)

    def score(q: Tensor, k: Tensor, i: int, j: int, h: int) -> Tensor:
        return (q * k).sum() / math.sqrt(D_K) - [1 / 16, 1 / 256, 1 / 4][h] * abs(i - j)

    variables = [*given.values(), *module.parameters()]
    expected = by_loops(module, **given, mask=mask, score=score)
    return apart(
        with_gradients(module(**given, mask=mask), *variables),
        with_gradients(expected, *variables),
    )


def loops_under_a_causal_mask() -> float:
    r"""As many queries as keys, so that the penalties need not be written down."""
    module, given, mask = made(attention), inputs(SEQ_LEN_K), causal_mask(SEQ_LEN_K)

    def score(q: Tensor, k: Tensor, i: int, j: int, h: int) -> Tensor:
        return (q * k).sum() / math.sqrt(D_K) - [1 / 16, 1 / 256, 1 / 4][h] * (i - j)

    variables = [*given.values(), *module.parameters()]
    expected = by_loops(module, **given, mask=mask, score=score)
    return apart(
        with_gradients(module(**given, mask=mask), *variables),
        with_gradients(expected, *variables),
    )


def bloom() -> float:
    r"""It adds the slope times the place of the key, which for the softmax is the same."""
    module, x = made(attention), inputs()["key"]
    found = module(query=x, key=x, value=x, mask=causal_mask(SEQ_LEN_K))

    ones = torch.ones(BATCH_SIZE, SEQ_LEN_K, dtype=torch.long)
    theirs = build_alibi_tensor(ones, HEADS, torch.float64).view(BATCH_SIZE, HEADS, 1, SEQ_LEN_K)
    future = torch.full((SEQ_LEN_K, SEQ_LEN_K), -math.inf, dtype=torch.float64).triu(1)
    q, k, v = (
        part.linear(x).view(SEQ_LEN_K, BATCH_SIZE, HEADS, D_K).permute(1, 2, 0, 3)
        for part in (module.query, module.key, module.value)
    )
    mean = F.scaled_dot_product_attention(q, k, v, theirs + future)
    expected = module.output(mean.permute(2, 0, 1, 3).flatten(start_dim=2))
    variables = [x, *module.parameters()]
    return apart(with_gradients(found, *variables), with_gradients(expected, *variables))


ORACLES: dict[str, Callable[[], float]] = {
    "a loop over scalars": lambda: loops(SEQ_LEN_K, None),
    "a loop over scalars, with a mask": lambda: loops(SEQ_LEN_Q, any_mask()),
    "a loop over scalars, with a causal mask": loops_under_a_causal_mask,
    "Hugging Face BLOOM": bloom,
}


@pytest.mark.parametrize("oracle", ORACLES)
def test_it_equals_what_others_compute(oracle: str) -> None:
    assert ORACLES[oracle]() < 1e-10


@pytest.mark.parametrize("check", CHECKS)
def test_at_the_seam(check: Callable[[Callable[[], AlibiAttention]], None]) -> None:
    check(attention)


def test_fewer_bits_stay_as_many_and_near() -> None:
    bounds = {torch.float32: 1e-5, torch.bfloat16: 0.1, torch.float16: 0.02}
    check_types(attention, bounds)


def test_late_penalties_are_exact_with_few_bits() -> None:
    module = attention().bfloat16()
    text = torch.zeros(301, 1, HEADS, 1, dtype=torch.bfloat16)
    assert module.get_bias(text[:1], text)[0, :, 0, 1].tolist() == [
        (j - 300) / 256 for j in range(301)
    ]


def test_it_takes_the_fast_way() -> None:
    assert attention().fused


def test_under_a_causal_mask_the_kernel_reads_one_number_for_each_distance(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    kernel, seen = F.scaled_dot_product_attention, []

    def remember(q: Tensor, k: Tensor, v: Tensor, mask: Tensor, *more: float, **how: float):  # noqa: ANN202
        seen.append(mask)
        return kernel(q, k, v, mask, *more, **how)

    monkeypatch.setattr(F, "scaled_dot_product_attention", remember)
    x = inputs(SEQ_LEN_K, dtype=torch.bfloat16)["key"]
    attention().bfloat16()(query=x, key=x, value=x, mask=causal_mask(SEQ_LEN_K))
    assert seen[0].shape == (1, HEADS, SEQ_LEN_K, SEQ_LEN_K)
    assert seen[0].untyped_storage().nbytes() == HEADS * (2 * SEQ_LEN_K - 1) * 4
    assert seen[0][0, 1, 0].tolist() == [(j + 1 - SEQ_LEN_K) / 256 for j in range(SEQ_LEN_K)]


def causal_and_not(module: AlibiAttention, dtype: torch.dtype) -> list[Tensor]:
    r"""Under the causal mask, and under one that can't be recognised: it is one for each text."""
    x = inputs(SEQ_LEN_K, dtype=dtype)["key"]
    masks = causal_mask(SEQ_LEN_K), causal_mask(SEQ_LEN_K).repeat(1, 1, BATCH_SIZE)
    return [module(query=x, key=x, value=x, mask=mask) for mask in masks]


@pytest.mark.parametrize("kernel", [True, False])
@pytest.mark.parametrize(
    ("dtype", "bound"),
    [
        (torch.float64, 1e-12),
        (torch.float32, 1e-5),
        (torch.bfloat16, 0.1),
        (torch.float16, 0.02),
    ],
)
def test_a_causal_mask_gives_the_same_recognised_or_not(
    kernel: bool, dtype: torch.dtype, bound: float
) -> None:
    module = made(attention, dtype)
    module.kernel = kernel
    one, other = causal_and_not(module, dtype)
    assert one.dtype is dtype
    assert apart([one.double()], [other.double()]) < bound


def test_a_causal_mask_gives_the_same_under_autocast() -> None:
    module = made(attention, torch.float32)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        one, other = causal_and_not(module, torch.float32)
    assert one.dtype is torch.bfloat16
    assert apart([one.float()], [other.float()]) < 0.1


@pytest.mark.parametrize("kernel", [True, False])
def test_weights_are_dropped_under_a_causal_mask_while_it_trains(kernel: bool) -> None:
    module = made(lambda: AlibiAttention(HEADS, D_MODEL, 0.5))
    module.kernel = kernel
    x = inputs()["key"]
    once, again = (module(query=x, key=x, value=x, mask=causal_mask(SEQ_LEN_K)) for _ in range(2))
    assert not torch.equal(once, again)
    one, other = causal_and_not(module.eval(), torch.float64)
    assert apart([one], [other]) < 1e-12


def test_weights_of_a_causal_mask_can_be_kept_and_are_gone_afterwards() -> None:
    module = made(attention)
    module.keep_attn = True
    one, other = causal_and_not(module, torch.float64)
    assert apart([one], [other]) < 1e-12
    assert module.attn.shape == (SEQ_LEN_K, SEQ_LEN_K, BATCH_SIZE, HEADS)
    module.keep_attn = False
    plain, _ = causal_and_not(module, torch.float64)
    assert apart([plain], [one]) < 1e-12
    assert module.attn is None


def refuse(*tensors: Tensor, **named: float) -> Tensor:
    r"""In the place of what must not be called."""
    raise AssertionError("this way was not to be taken")


def test_the_readable_way_is_taken_under_a_causal_mask_too(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    module = made(attention)
    fused, _ = causal_and_not(module, torch.float64)
    module.fused = False
    monkeypatch.setattr(alibi, "mean_of_values", refuse)
    readable, _ = causal_and_not(module, torch.float64)
    assert apart([readable], [fused]) < 1e-12


def test_the_kernel_is_not_asked_by_who_does_not_want_it(monkeypatch: pytest.MonkeyPatch) -> None:
    module = made(attention)
    expected, _ = causal_and_not(module, torch.float64)
    module.kernel = False
    monkeypatch.setattr(F, "scaled_dot_product_attention", refuse)
    assert apart(causal_and_not(module, torch.float64)[:1], [expected]) < 1e-12


def test_a_mask_for_another_length_is_refused() -> None:
    x = inputs()["key"]
    with pytest.raises(ValueError, match="mask has shape"):
        attention().double()(query=x, key=x, value=x, mask=causal_mask(SEQ_LEN_K - 1))


def test_tensors_that_do_not_fit_are_refused_under_a_causal_mask() -> None:
    module, x, mask = attention().double(), inputs()["key"], causal_mask(SEQ_LEN_K)
    with pytest.raises(ValueError, match=r"key \[7, 2, 66\] and value \[6, 2, 66\]"):
        module(query=x, key=x, value=x[1:], mask=mask)
    with pytest.raises(ValueError, match="expected query"):
        module(query=x[:, :1], key=x, value=x, mask=mask)


def test_a_single_key_that_all_may_see_makes_no_causal_mask() -> None:
    module, x = made(attention), inputs()["key"]
    mask = torch.ones(1, 1, 1, dtype=torch.bool)
    found = module(query=x, key=x[:1], value=x[:1], mask=mask)
    assert apart([found], [module(query=x, key=x[:1], value=x[:1])]) < 1e-12


@pytest.mark.parametrize(("seq_len_q", "seq_len_k"), [(1, 1), (1, 5), (3, 5), (5, 5), (5, 3)])
def test_penalties_of_queries_in_reverse_order(seq_len_q: int, seq_len_k: int) -> None:
    module = attention().double()
    for future in (True, False):
        found = module.penalties(seq_len_q, seq_len_k, torch.float64, future)
        for h, slope in enumerate((1 / 16, 1 / 256, 1 / 4)):
            for r in range(seq_len_q):
                far = [seq_len_k - 1 - r - j for j in range(seq_len_k)]
                hidden = [math.inf if d < 0 and not future else abs(d) for d in far]
                assert found[h, r].tolist() == [-slope * d for d in hidden]


@pytest.mark.parametrize("heads", range(1, 35))
def test_slopes_are_those_of_hugging_face(heads: int) -> None:
    assert len(slopes(heads)) == heads
    assert slopes(heads) == pytest.approx(_get_alibi_slopes(heads, "cpu").tolist(), rel=1e-6)


def test_slopes_are_those_of_the_paper() -> None:
    assert slopes(8) == [1 / 2**power for power in range(1, 9)]


@pytest.mark.parametrize("heads", [1, 2, 4, 16, 128])
def test_each_slope_of_a_power_of_two_is_the_one_before_times_the_same(heads: int) -> None:
    found = slopes(heads)
    assert found[-1] == pytest.approx(2**-8)
    assert [two / one for one, two in zip(found, found[1:], strict=False)] == pytest.approx(
        [found[0]] * (heads - 1)
    )


@pytest.mark.parametrize("heads", [3, 5, 6, 12, 31])
def test_no_two_heads_have_the_same_slope(heads: int) -> None:
    assert len(set(slopes(heads))) == heads
    assert all(2**-8 <= slope < 1 for slope in slopes(heads))


@pytest.mark.parametrize("heads", [0, -2])
def test_no_heads_are_refused(heads: int) -> None:
    with pytest.raises(ValueError, match=f"heads must be at least 1, got {heads}"):
        slopes(heads)


@pytest.mark.parametrize("shift", [1, 5, 200])
def test_penalties_see_distance_alone(shift: int) -> None:
    assert moved_penalties(0).shape == (7, 7, 1, 5)
    assert torch.equal(moved_penalties(shift), moved_penalties(0))


def test_a_key_after_the_query_is_as_far_as_one_before_it() -> None:
    found = moved_penalties(0, 4, 1)[..., 0, 0] * -256
    assert found.tolist() == [[0, 1, 2, 3], [1, 0, 1, 2], [2, 1, 0, 1], [3, 2, 1, 0]]


@pytest.mark.parametrize("first", ["padding", "short", "long"])
def test_the_first_mask_seen_changes_nothing_later(first: str) -> None:
    r"""As it did where the penalties were made of that mask, and kept."""
    x = inputs(11)["query"]
    padding = torch.ones(1, 7, BATCH_SIZE, dtype=torch.bool)
    padding[:, :3, 0] = False
    masks = {"padding": padding, "short": causal_mask(2), "long": causal_mask(11)}
    fresh, used = made(attention), made(attention)
    y = x[: masks[first].shape[1]]
    used(query=y, key=y, value=y, mask=masks[first])
    y = x[:7]
    one, other = (module(query=y, key=y, value=y, mask=causal_mask(7)) for module in (fresh, used))
    assert torch.equal(one, other)


def test_far_keys_get_less() -> None:
    module = made(attention)
    module.keep_attn = True
    x = inputs()["key"][:1].expand(SEQ_LEN_K, -1, -1)
    module(query=x, key=x, value=x, mask=causal_mask(SEQ_LEN_K))
    assert (module.attn[-1, 1:] > module.attn[-1, :-1]).all()


def test_nothing_is_learned_but_attention() -> None:
    module = attention()
    plain = MultiHeadAttention(HEADS, D_MODEL)
    shapes = {name: p.shape for name, p in module.state_dict().items()}
    assert shapes == {name: p.shape for name, p in plain.state_dict().items()}
    assert dict(module.named_buffers()).keys() == {"slopes"}


def test_arguments_are_those_of_attention() -> None:
    module = AlibiAttention(HEADS, D_MODEL, 0.25, bias=False)
    assert module.dropout.p == 0.25
    assert module.output.bias is None
    usual = AlibiAttention(HEADS, D_MODEL)
    assert usual.dropout.p == 0.1
    assert usual.output.bias is not None


def test_in_a_transformer_nothing_is_added_to_tokens() -> None:
    parts = alibi.in_transformer(d_model=D_MODEL, heads=HEADS, dropout_prob=0.25, d_ff=1)
    one, other = parts["self_attn"](), parts["self_attn"]()
    assert one.dropout.p == 0.25
    assert not torch.equal(one.query.linear.weight, other.query.linear.weight)
    x = torch.randn(2, BATCH_SIZE, D_MODEL)
    assert parts["positions"]()(x) is x


def test_the_example_gives_the_end_of_the_whole() -> None:
    whole, end, penalties = alibi.example(5, 2, 3, 2, 7)
    assert whole.shape == (5, 3, 14)
    assert end.shape == (2, 3, 14)
    assert penalties.shape == (5, 5, 1, 2)
