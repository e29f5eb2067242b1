r"""Linear attention, against a softmax of logarithms, MiniMax, the cases of onnx, and loops."""

import math
from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given as for_any
from hypothesis import settings
from hypothesis import strategies as st
from onnx.helper import get_attribute_value
from torch import Tensor, nn
from transformers.models.minimax.configuration_minimax import MiniMaxConfig
from transformers.models.minimax.modeling_minimax import MiniMaxLightningAttention

from labml_nn.transformers.mha import MultiHeadAttention, causal_mask
from labml_nn.transformers.variants import linear_attention as page
from labml_nn.transformers.variants.linear_attention import (
    LinearAttention,
    all_at_once,
    divided,
    empty_state,
    feature_map,
    in_chunks,
    in_transformer,
    step_by_step,
    with_ones,
)
from tests.labml_nn.transformers.variants.seam import (
    BATCH_SIZE,
    D_K,
    D_MODEL,
    HEADS,
    MASKS,
    SEAM,
    SEQ_LEN_K,
    SEQ_LEN_Q,
    assert_near,
    check_no_output_depends_on_a_later_position,
    gradients,
    inputs,
    largest_difference,
    onnx_cases,
    padding,
    per_batch,
    randomised,
    sequence,
)

D_V = 13


def attention(**options: float) -> LinearAttention:
    r"""In evaluation, not causal."""
    return LinearAttention(HEADS, D_MODEL, **options).eval()


def causal(**options: float) -> LinearAttention:
    r"""In evaluation, causal by itself."""
    return LinearAttention(HEADS, D_MODEL, causal=True, **options).eval()


def numbers(seq_len: int, seed: int = 1) -> tuple[Tensor, Tensor, Tensor]:
    r"""A query and a key with features of both signs, and a value of another width."""
    generator = torch.Generator().manual_seed(seed)
    query, key = torch.randn(
        2, seq_len, BATCH_SIZE, HEADS, 5, generator=generator, dtype=torch.float64
    )
    value = torch.randn(seq_len, BATCH_SIZE, HEADS, D_V, generator=generator, dtype=torch.float64)
    return query.requires_grad_(), key.requires_grad_(), value.requires_grad_()


def pytorch() -> float:
    r"""PyTorch's attention with the logarithms of the products added to scores of zero."""
    ours, given, mask = randomised(attention().double()), inputs(), per_batch()
    q, k, v = (
        part.linear(x).unflatten(-1, (HEADS, D_K)).permute(1, 2, 0, 3)
        for part, x in zip((ours.query, ours.key, ours.value), given.values(), strict=True)
    )
    logarithms = ((F.elu(q) + 1) @ (F.elu(k) + 1).mT).log()
    hidden = ~mask.permute(2, 0, 1).unsqueeze(1)
    scores = logarithms.masked_fill(hidden, -math.inf)
    mean = F.scaled_dot_product_attention(0 * q, 0 * k, v, scores)
    expected = ours.output(mean.permute(2, 0, 1, 3).flatten(start_dim=2))
    found = ours(**given, mask=mask)
    variables = [*given.values(), *ours.parameters()]
    return largest_difference(
        [found, *gradients(found, variables)], [expected, *gradients(expected, variables)]
    )


def minimax() -> float:
    r"""MiniMax's, which works in blocks and doesn't divide, with a decay of zero."""
    config = MiniMaxConfig(
        hidden_size=D_MODEL,
        num_attention_heads=HEADS,
        num_key_value_heads=HEADS,
        head_dim=D_K,
        num_hidden_layers=2,
        block_size=3,
        layer_types=["linear_attention", "linear_attention"],
    )
    theirs = MiniMaxLightningAttention(config, layer_idx=0).double()
    rate = torch.zeros(HEADS, 1, 1, dtype=torch.float64)
    theirs.slope_rate = rate
    decays = [decay.double() for decay in theirs.decay_factors(rate)]
    theirs.query_decay, theirs.key_decay, within = decays
    # What comes later is told from what came before by the sign of the decay, and zero has none.
    theirs.diagonal_decay = within.tril()
    theirs.act_fn, theirs.norm, theirs.out_proj = nn.Identity(), nn.Identity(), nn.Identity()
    nn.init.zeros_(theirs.output_gate.weight)

    x = sequence()["query"]
    expected, _ = theirs(x.transpose(0, 1), (x, x), None)
    projected = theirs.qkv_proj(x).unflatten(-1, (HEADS, 3 * D_K))
    q, k, v = projected.chunk(3, dim=-1)
    # A gate that has learned nothing lets half through.
    wanted = 2 * expected.transpose(0, 1)
    variables = [x, theirs.qkv_proj.weight]
    wanted_gradients = gradients(wanted, variables)
    visible = causal_mask(len(x)).unsqueeze(-1)
    differences = []
    for found in (
        all_at_once(q, k, v, visible),
        step_by_step(q, k, v, empty_state(k, v))[0],
        in_chunks(q, k, v, empty_state(k, v), 4)[0],
    ):
        flat = found.flatten(start_dim=2)
        differences.append(
            largest_difference([flat, *gradients(flat, variables)], [wanted, *wanted_gradients])
        )
    return max(differences)


def loops() -> float:
    r"""Each weight from Python's own numbers, for causal attention with padding."""
    module, given = randomised(causal().double()), sequence()
    module.output = nn.Identity()
    x = given["query"]
    q, k, v = (part(x).tolist() for part in (module.query, module.key, module.value))
    mask = padding()
    found = module(**given, mask=mask & causal_mask(SEQ_LEN_K)).tolist()

    def feature(number: float) -> float:
        return math.exp(min(number, 0)) + max(number, 0)

    worst = 0.0
    for i in range(SEQ_LEN_K):
        for b in range(BATCH_SIZE):
            for h in range(HEADS):
                weights = [
                    sum(feature(q[i][b][h][d]) * feature(k[j][b][h][d]) for d in range(D_K))
                    * mask[0, j, b].item()
                    for j in range(i + 1)
                ]
                for d in range(D_K):
                    mean = sum(w * v[j][b][h][d] for j, w in enumerate(weights)) / sum(weights)
                    worst = max(worst, abs(mean - found[i][b][h * D_K + d]))
    return worst


ORACLES: dict[str, Callable[[], float]] = {
    "scaled_dot_product_attention over logarithms": pytorch,
    "Hugging Face MiniMax": minimax,
    "a loop over scalars": loops,
}


@pytest.mark.parametrize("oracle", ORACLES)
def test_it_equals_what_others_compute(oracle: str) -> None:
    assert ORACLES[oracle]() < 1e-10


# The cases of the operator that say how a state is updated by adding alone.
EXPRESSED = ["test_linear_attention_linear", "test_linear_attention_linear_t1_no_past"]
# In the others the state forgets or corrects itself: test_delta_rule.py passes them all.
NOT_EXPRESSED = {
    "test_linear_attention_gated": "the state decays",
    "test_linear_attention_gated_per_head_decay": "the state decays",
    "test_linear_attention_delta": "the delta rule corrects the state",
    "test_linear_attention_gated_delta": "decay and delta rule",
    "test_linear_attention_gated_delta_beta_scalar": "decay and delta rule",
    "test_linear_attention_gated_delta_gqa": "decay and delta rule, fewer heads of keys",
    "test_linear_attention_gated_delta_mqa": "decay and delta rule, fewer heads of keys",
    "test_linear_attention_decode_step": "decay and delta rule",
    "test_linear_attention_prefill_with_past": "decay and delta rule",
    "test_linear_attention_no_past_explicit_zeros": "decay and delta rule",
    "test_linear_attention_explicit_scale": "decay and delta rule",
    "test_linear_attention_fp16": "decay and delta rule, fewer heads of keys",
}


def test_every_case_of_onnx_is_expressed_or_listed() -> None:
    cases = onnx_cases("LinearAttention", "linear_attention")
    assert set(cases) == {*EXPRESSED, *NOT_EXPRESSED}
    assert len(cases) == 14


def ways() -> dict[str, Callable[[Tensor, Tensor, Tensor], Tensor]]:
    r"""From query, key and value to the sums."""
    return {
        "at once": lambda q, k, v: all_at_once(q, k, v, causal_mask(len(q)).unsqueeze(-1)),
        "steps": lambda q, k, v: step_by_step(q, k, v, empty_state(k, v))[0],
        "chunks": lambda q, k, v: in_chunks(q, k, v, empty_state(k, v), 3)[0],
    }


@pytest.mark.parametrize("way", ways())
@pytest.mark.parametrize("name", EXPRESSED)
def test_the_cases_of_onnx_come_out_the_same(name: str, way: str) -> None:
    case: Any = onnx_cases("LinearAttention", "linear_attention")[name]
    attributes = {one.name: get_attribute_value(one) for one in case.model.graph.node[0].attribute}
    heads = attributes["q_num_heads"]
    given, (expected, state) = case.data_sets[0]
    q, k, v = (
        torch.tensor(one).double().transpose(0, 1).unflatten(-1, (heads, -1)) for one in given
    )
    found = ways()[way](q / math.sqrt(q.shape[-1]), k, v).flatten(start_dim=2)
    assert largest_difference([found], [torch.tensor(expected).transpose(0, 1)]) < 1e-6
    _, last = in_chunks(q, k, v, empty_state(k, v), 3)
    assert largest_difference([last], [torch.tensor(state)]) < 1e-6


# That the masks of the seam can be any is for attention that isn't causal.
@pytest.mark.parametrize("check", SEAM)
def test_it_takes_the_place_of_other_attention(check: str) -> None:
    SEAM[check](attention)


def test_causal_attention_sees_the_past_only() -> None:
    check_no_output_depends_on_a_later_position(causal)


@settings(max_examples=20)
@for_any(seq_len=st.integers(1, 9), chunk_len=st.integers(1, 11), seed=st.integers(0, 9))
def test_three_ways_and_their_gradients_are_equal(seq_len: int, chunk_len: int, seed: int) -> None:
    query, key, value = numbers(seq_len, seed)
    variables = [query, key, value]
    q, k, v = feature_map(query), feature_map(key), with_ones(value)
    at_once = divided(all_at_once(q, k, v, causal_mask(seq_len).unsqueeze(-1)))
    steps, last = step_by_step(q, k, v, empty_state(k, v))
    chunks, last_chunk = in_chunks(q, k, v, empty_state(k, v), chunk_len)
    expected = [at_once, *gradients(at_once, variables)]
    for found in (divided(steps), divided(chunks)):
        assert largest_difference([found, *gradients(found, variables)], expected) < 1e-10
    assert_near(last_chunk, last)


def test_a_state_that_is_not_empty_is_gone_on_with() -> None:
    q, k, v = numbers(9)
    whole, last = step_by_step(q, k, v, empty_state(k, v))
    for way in (step_by_step, in_chunks):
        begun, state = way(q[:4], k[:4], v[:4], empty_state(k, v))
        end, state = way(q[4:], k[4:], v[4:], state)
        assert_near(torch.cat([begun, end]), whole)
        assert_near(state, last)


def test_the_state_has_one_size_and_is_the_sum_of_the_products() -> None:
    q, k, v = numbers(9)
    expected = sum(k[j][..., :, None] * v[j][..., None, :] for j in range(9))
    assert_near(step_by_step(q, k, v, empty_state(k, v))[1], expected)
    assert empty_state(k, v).shape == (BATCH_SIZE, HEADS, 5, D_V)
    assert empty_state(k[:1], v[:1]).shape == (BATCH_SIZE, HEADS, 5, D_V)


@pytest.mark.parametrize("cuts", [[1] * 7, [3, 4], [7], [1, 5, 1]], ids=str)
def test_a_text_in_pieces_gives_what_the_whole_gives(cuts: list[int]) -> None:
    module, given = randomised(causal().double()), sequence()
    whole, state, pieces = module(**given, mask=causal_mask(SEQ_LEN_K)), None, []
    for piece in given["query"].split(cuts):
        result, state = module.extend(piece, state)
        pieces.append(result)
        assert state.shape == (BATCH_SIZE, HEADS, D_K, D_K + 1)
    assert_near(torch.cat(pieces), whole)


def test_attention_that_is_not_causal_can_not_go_on() -> None:
    with pytest.raises(ValueError, match="isn't causal"):
        attention().extend(torch.zeros(1, BATCH_SIZE, D_MODEL))


@pytest.mark.parametrize(
    "mask",
    [
        None,
        causal_mask(SEQ_LEN_K),
        padding(),
        padding() & causal_mask(SEQ_LEN_K),
        padding()[..., 1:2],
    ],
    ids=["none", "causal", "padding", "both", "padding for all"],
)
def test_causal_attention_is_the_other_kind_with_a_causal_mask(mask: Tensor | None) -> None:
    module, other, given = causal().double(), attention().double(), sequence()
    other.load_state_dict(module.state_dict())
    everything = torch.ones(1, 1, 1, dtype=torch.bool) if mask is None else mask
    expected = other(**given, mask=causal_mask(SEQ_LEN_K) & everything)
    module.keep_attn = other.keep_attn = True
    assert_near(module(**given, mask=mask), expected)
    other(**given, mask=causal_mask(SEQ_LEN_K) & everything)
    assert_near(module.attn, other.attn)


@pytest.mark.parametrize("mask", MASKS)
def test_kept_weights_take_the_mean(mask: str) -> None:
    module, given = randomised(attention().double()), inputs()
    module.keep_attn = True
    found = module(**given, mask=MASKS[mask])
    mean = torch.einsum("ijbh,jbhd->ibhd", module.attn, module.value(given["value"]))
    assert_near(found, module.output(mean.flatten(start_dim=2)))
    assert (module.attn >= 0).all()
    assert_near(module.attn.sum(dim=1)[1], torch.ones(BATCH_SIZE, HEADS, dtype=torch.float64))


@pytest.mark.parametrize("keep", [True, False])
def test_numbers_are_never_read_without_a_mask_for_each_query(keep: bool) -> None:
    r"""A tensor on the meta device has none."""
    module = causal().to("meta")
    module.keep_attn = keep
    x = torch.empty(SEQ_LEN_K, BATCH_SIZE, D_MODEL, device="meta")
    visible = torch.empty(1, SEQ_LEN_K, 1, dtype=torch.bool, device="meta")
    assert module(query=x, key=x, value=x).shape == x.shape
    assert module(query=x, key=x, value=x, mask=visible).shape == x.shape


def test_padding_costs_no_products() -> None:
    module, given = attention().double(), inputs()
    expected = module(**given, mask=padding().expand(SEQ_LEN_Q, -1, -1))
    assert_near(module(**given, mask=padding()), expected)


def largest_saved_for_backward(module: LinearAttention, seq_len: int, mask: Tensor | None) -> int:
    r"""Bytes of the largest memory that a forward pass leaves for the backward pass."""
    sizes = []

    def measure(tensor: Tensor) -> Tensor:
        sizes.append(tensor.untyped_storage().nbytes())
        return tensor

    x = torch.randn(seq_len, BATCH_SIZE, D_MODEL)
    with torch.autograd.graph.saved_tensors_hooks(measure, lambda tensor: tensor):
        module(query=x, key=x, value=x, mask=mask)
    return max(sizes)


def test_memory_grows_with_the_length_and_not_with_its_square() -> None:
    for make in (attention, causal):
        short, long = (largest_saved_for_backward(make(), n, None) for n in (256, 1024))
        assert long <= 4 * short
    rows = causal_mask(1024)
    assert largest_saved_for_backward(causal(), 1024, rows) == rows.numel()
    assert largest_saved_for_backward(attention(), 1024, rows) > 16 * rows.numel()


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_the_feature_map_is_elu_and_one_and_exact_far_below_zero(dtype: torch.dtype) -> None:
    x = torch.linspace(-30, 30, 61, dtype=dtype, requires_grad=True)
    assert_near(feature_map(x), F.elu(x) + 1, 1e-6)
    small = torch.tensor([-18.0, -40.0, -80.0], dtype=dtype)
    expected = torch.tensor([math.exp(one) for one in small.tolist()], dtype=dtype)
    torch.testing.assert_close(feature_map(small), expected, rtol=1e-6, atol=0)
    assert not (F.elu(small.float()) + 1).any()
    (slope,) = torch.autograd.grad(feature_map(x).sum(), x)
    assert_near(slope, torch.where(x > 0, 1.0, x.exp()).detach(), 1e-6)


def test_huge_numbers_leave_finite_gradients() -> None:
    x = torch.tensor([-1e30, 1e4, -100.0, 0.0], requires_grad=True)
    feature_map(x).sum().backward()
    assert x.grad.isfinite().all()


def test_a_long_sum_of_16_bits_keeps_growing() -> None:
    module = causal().bfloat16()
    x = torch.ones(2000, 1, D_MODEL, dtype=torch.bfloat16)
    _, state = module.extend(x)
    _, half = module.extend(x[:1000])
    assert state.dtype is torch.float32
    torch.testing.assert_close(state, 2 * half, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize(
    "mask",
    [
        torch.ones(SEQ_LEN_K, SEQ_LEN_K, 1, dtype=torch.bool),
        causal_mask(SEQ_LEN_K).flip(0),
        causal_mask(SEQ_LEN_K)
        & torch.ones(SEQ_LEN_K, SEQ_LEN_K, dtype=torch.bool).triu(-2)[..., None],
    ],
    ids=["everything", "upside down", "window"],
)
def test_causal_attention_refuses_a_mask_that_says_something_else(mask: Tensor) -> None:
    with pytest.raises(ValueError, match="mask of 7 queries is not the causal one"):
        causal().double()(**sequence(), mask=mask)


def test_causal_attention_refuses_another_sequence() -> None:
    with pytest.raises(ValueError, match="of 5 queries to 7 keys"):
        causal().double()(**inputs())


def test_causal_attention_checks_a_mask_as_all_do() -> None:
    with pytest.raises(ValueError, match="mask has dtype"):
        causal().double()(**sequence(), mask=padding().double())


def test_dropout_is_of_features_and_keeps_their_mean() -> None:
    module, given = attention(dropout_prob=0.25).double(), inputs(1)
    module.output = nn.Identity()
    expected = module(**given)[0, 0]
    module.train()
    torch.manual_seed(3)
    found = torch.stack([module(**given)[0, 0] for _ in range(100)])
    kept = found != 0
    assert_near(found, torch.where(kept, expected / 0.75, 0.0))
    assert kept.double().mean().item() == pytest.approx(0.75, abs=0.05)


def test_the_parameters_are_those_of_attention() -> None:
    plain = MultiHeadAttention(HEADS, D_MODEL).state_dict()
    shapes = {name: p.shape for name, p in plain.items()}
    assert {name: p.shape for name, p in attention().state_dict().items()} == shapes
    assert not [name for name in attention(bias=False).state_dict() if name.endswith("bias")]


def test_the_part_for_the_transformer_is_causal() -> None:
    parts = in_transformer(d_model=D_MODEL, heads=HEADS, seq_len=7, dropout_prob=0.3)
    assert list(parts) == ["self_attn"]
    made = parts["self_attn"]()
    assert type(made) is LinearAttention
    assert (made.causal, made.d_k, made.dropout.p) == (True, D_K, 0.3)


def test_the_example_has_three_ways_that_agree() -> None:
    torch.manual_seed(8)
    at_once, steps, state, chunks, means, whole, begun, end, crossed = page.example()
    assert_near(steps, at_once, 1e-4)
    assert_near(chunks, at_once, 1e-4)
    assert state.shape == (3, 5, 2, 13)
    assert means.shape == (7, 3, 5, 13)
    assert whole.shape == begun.shape == crossed.shape == (7, 3, 10)
    assert end.shape == (2, 3, 10)
