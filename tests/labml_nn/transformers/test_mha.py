r"""Attention against loops over numbers, against PyTorch's, and against what its page claims."""

import copy
import io
import math
import pickle
import statistics
from collections import Counter
from collections.abc import Callable

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor, nn

from labml_nn.transformers import fast_attention, mha
from labml_nn.transformers.mha import (
    MultiHeadAttention,
    PrepareForMultiHeadAttention,
    causal_mask,
    sees_a_key,
    spread_of_scores,
)
from tests.oracles import hugging_face, onnx_cases
from tests.oracles.compare import difference, gradients, largest

SEQ_LEN_Q, SEQ_LEN_K, BATCH_SIZE, HEADS, D_K = 5, 7, 3, 2, 11
D_MODEL = HEADS * D_K

both_ways = pytest.mark.parametrize("fused", [True, False], ids=["fused", "readable"])


def attention(
    fused: bool, dtype: torch.dtype = torch.float64, **options: float
) -> MultiHeadAttention:
    r"""An attention without dropout, unless the options say otherwise."""
    torch.manual_seed(1)
    made = MultiHeadAttention(HEADS, D_MODEL, **{"dropout_prob": 0.0, **options}).to(dtype)
    made.fused = fused
    return made


def inputs(
    seq_len_q: int = SEQ_LEN_Q, seq_len_k: int = SEQ_LEN_K, dtype: torch.dtype = torch.float64
) -> dict[str, Tensor]:
    r"""A query, a key and a value, all different, with gradients."""
    torch.manual_seed(2)
    lengths = {"query": seq_len_q, "key": seq_len_k, "value": seq_len_k}
    return {
        name: torch.randn(length, BATCH_SIZE, D_MODEL).to(dtype).requires_grad_()
        for name, length in lengths.items()
    }


def padding(seq_len_q: int, seq_len_k: int) -> Tensor:
    r"""Each sequence of keys ends at a length of its own."""
    lengths = torch.tensor([seq_len_k, 2, 3])
    return (torch.arange(seq_len_k)[:, None] < lengths)[None]


def one_for_all(seq_len_q: int, seq_len_k: int) -> Tensor:
    r"""One mask for the whole batch, in which every query sees a key."""
    return per_batch(seq_len_q, seq_len_k)[..., 2:]


def per_batch(seq_len_q: int, seq_len_k: int) -> Tensor:
    r"""Any mask in which every query sees a key."""
    generator = torch.Generator().manual_seed(3)
    mask = torch.rand(seq_len_q, seq_len_k, BATCH_SIZE, generator=generator) < 0.4
    mask[:, 1] = True
    return mask


def with_idle(seq_len_q: int, seq_len_k: int) -> Tensor:
    r"""Two queries see nothing, in different sequences."""
    mask = per_batch(seq_len_q, seq_len_k)
    mask[2, :, 1] = False
    mask[0, :, 2] = False
    return mask


def no_mask(seq_len_q: int, seq_len_k: int) -> None:
    r"""All queries see all keys."""
    return None


def causal(seq_len_q: int, seq_len_k: int) -> Tensor:
    r"""The first rows of a causal mask of the keys' length."""
    return causal_mask(seq_len_k)[:seq_len_q]


MASKS = [no_mask, causal, padding, one_for_all, per_batch]
LENGTHS = [(SEQ_LEN_Q, SEQ_LEN_K), (SEQ_LEN_K, SEQ_LEN_K)]
each_mask = pytest.mark.parametrize("make_mask", MASKS, ids=lambda make: make.__name__)
each_mask_and_idle = pytest.mark.parametrize(
    "make_mask", [*MASKS, with_idle], ids=lambda make: make.__name__
)
each_length = pytest.mark.parametrize("lengths", LENGTHS, ids=["cross", "square"])

Maker = Callable[[int, int], Tensor | None]


def linear_by_hand(layer: nn.Linear, x: list[float]) -> list[float]:
    r"""A linear layer on one vector, number by number."""
    weight, bias = layer.weight.tolist(), layer.bias.tolist()
    return [
        sum(w * f for w, f in zip(row, x, strict=True)) + b
        for row, b in zip(weight, bias, strict=True)
    ]


def attention_by_hand(
    module: MultiHeadAttention, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None
) -> Tensor:
    r"""The formula of the paper in Python's own numbers: no tensor takes part in the arithmetic."""
    visible = torch.ones(len(query), len(key), BATCH_SIZE, dtype=torch.bool)
    visible = (visible if mask is None else visible & mask).tolist()
    result = torch.empty_like(query)
    for b in range(BATCH_SIZE):
        q = [linear_by_hand(module.query.linear, x) for x in query[:, b].tolist()]
        k = [linear_by_hand(module.key.linear, x) for x in key[:, b].tolist()]
        v = [linear_by_hand(module.value.linear, x) for x in value[:, b].tolist()]
        for i in range(len(q)):
            joined = []
            for head in range(HEADS):
                features = range(head * D_K, (head + 1) * D_K)
                weights = [
                    math.exp(sum(q[i][d] * k[j][d] for d in features) / math.sqrt(D_K))
                    * visible[i][j][b]
                    for j in range(len(k))
                ]
                total = sum(weights)
                for d in features:
                    mean = sum(w * v[j][d] for j, w in enumerate(weights))
                    joined.append(mean / total if total else 0.0)
            result[i, b] = torch.tensor(linear_by_hand(module.output, joined), dtype=query.dtype)
    return result


def torch_attention(module: MultiHeadAttention) -> nn.MultiheadAttention:
    r"""PyTorch's attention with the same weights."""
    other = nn.MultiheadAttention(D_MODEL, HEADS).to(module.output.weight.dtype)
    mine = [module.query.linear, module.key.linear, module.value.linear]
    other.load_state_dict(
        {
            "in_proj_weight": torch.cat([layer.weight for layer in mine]),
            "in_proj_bias": torch.cat([layer.bias for layer in mine]),
            "out_proj.weight": module.output.weight,
            "out_proj.bias": module.output.bias,
        }
    )
    return other


def torch_mask(mask: Tensor | None, seq_len_q: int) -> Tensor | None:
    r"""PyTorch's attention wants true where it must *not* look, batch and heads first."""
    full = mask.expand(seq_len_q, -1, BATCH_SIZE) if mask is not None else None
    return None if full is None else ~full.permute(2, 0, 1).repeat_interleave(HEADS, dim=0)


def assert_near(actual: Tensor, expected: Tensor, tolerance: float) -> None:
    r"""No two numbers are further apart than the tolerance."""
    torch.testing.assert_close(actual, expected, rtol=tolerance, atol=tolerance)


def distance_to_torch() -> float:
    r"""From PyTorch's attention, both ways, with each kind of mask and of lengths."""
    return max(
        one_distance_to_torch(fused, lengths, make_mask)
        for fused in (True, False)
        for lengths in LENGTHS
        for make_mask in MASKS
    )


def one_distance_to_torch(fused: bool, lengths: tuple[int, int], make_mask: Maker) -> float:
    r"""In the result, and in the gradients of the sequences and of all weights."""
    module, sequences, mask = attention(fused), inputs(*lengths), make_mask(*lengths)
    other = torch_attention(module)
    theirs, _ = other(*sequences.values(), attn_mask=torch_mask(mask, lengths[0]))
    mine = module(**sequences, mask=mask)
    parts = [module.query.linear, module.key.linear, module.value.linear]
    weights = [*(part.weight for part in parts), *(part.bias for part in parts)]
    mine = [mine, *gradients(mine, [*sequences.values(), *weights, *module.output.parameters()])]
    both = [other.in_proj_weight, other.in_proj_bias, *other.out_proj.parameters()]
    return largest(
        [*mine[:4], torch.cat(mine[4:7]), torch.cat(mine[7:10]), *mine[10:]],
        [theirs, *gradients(theirs, [*sequences.values(), *both])],
    )


def distance_to_loops() -> float:
    r"""From numbers of Python's own, both ways, with idle queries too."""
    found = 0.0
    for fused in (True, False):
        for make_mask in (no_mask, causal, with_idle):
            module, sequences = attention(fused), inputs()
            mask = make_mask(SEQ_LEN_Q, SEQ_LEN_K)
            expected = attention_by_hand(module, **sequences, mask=mask)
            found = max(found, largest([module(**sequences, mask=mask)], [expected]))
    return found


def distance_to_gpt2() -> float:
    r"""From the attention of GPT-2, whose layers keep their weights transposed and joined."""
    theirs = hugging_face.gpt2_attention(HEADS, D_MODEL)
    module, mask = attention(True), causal_mask(SEQ_LEN_K)
    joined = zip(
        theirs.c_attn.weight.T.split(D_MODEL), theirs.c_attn.bias.split(D_MODEL), strict=True
    )
    with torch.no_grad():
        for part, (weight, bias) in zip(
            (module.query, module.key, module.value), joined, strict=True
        ):
            part.linear.weight.copy_(weight)
            part.linear.bias.copy_(bias)
        module.output.weight.copy_(theirs.c_proj.weight.T)
        module.output.bias.copy_(theirs.c_proj.bias)
    x = inputs()["key"]
    mine = module(query=x, key=x, value=x, mask=mask)
    given_mask = hugging_face.added_mask(mask)
    expected = theirs(x.transpose(0, 1).contiguous(), attention_mask=given_mask)[0].transpose(0, 1)
    parts = [module.query.linear, module.key.linear, module.value.linear]
    found = gradients(mine, [x, module.output.bias, *(part.bias for part in parts)])
    return largest(
        [mine, *found[:2], torch.cat(found[2:])],
        [expected, *gradients(expected, [x, theirs.c_proj.bias, theirs.c_attn.bias])],
    )


def reason_against(case: onnx_cases.Case) -> str:
    r"""Why a case can't be said with this attention, or nothing."""
    query, _, value = onnx_cases.heads_first(case)
    reasons = {
        "fewer heads of keys than of queries": onnx_cases.grouped(case),
        "values of another width than keys": query.shape[-1] != value.shape[-1],
        "wants the scores before the softmax": onnx_cases.asks_for_scores(case),
    }
    return next((reason for reason, holds in reasons.items() if holds), "")


def said_with_attention(
    case: onnx_cases.Case, dtype: torch.dtype, fused: bool
) -> dict[str, Tensor]:
    r"""A case of ONNX's: linear layers pass on what they get, and a subclass changes the scores."""
    query, key, value = (t.to(dtype) for t in onnx_cases.heads_first(case))
    heads, d_k = query.shape[1], query.shape[3]

    def get_scores(self: MultiHeadAttention, q: Tensor, k: Tensor) -> Tensor:
        scores = MultiHeadAttention.get_scores(self, q, k).permute(2, 3, 0, 1)
        changed = onnx_cases.changed_scores(case, scores)
        return changed.masked_fill(hidden, -math.inf).permute(2, 3, 0, 1)

    # A mask here is the same for all heads, so what differs between them is done with the scores.
    visible = onnx_cases.visible(case)
    per_head = visible is not None and visible.shape[1] > 1
    hidden = ~visible & visible.any(dim=-1, keepdim=True) if per_head else torch.tensor(False)
    mask = None if visible is None else visible.any(dim=1).permute(1, 2, 0)
    changes = per_head or onnx_cases.adds_numbers(case) or "softcap" in case.attributes
    variant = type("Variant", (MultiHeadAttention,), {"get_scores": get_scores})
    module = (variant if changes else MultiHeadAttention)(heads, heads * d_k, 0.0, bias=False)
    for layer in (module.query.linear, module.key.linear, module.value.linear, module.output):
        nn.init.eye_(layer.weight)
    module.to(dtype).fused = fused and not changes
    module.query.linear.weight.data *= onnx_cases.scale_of(case) * math.sqrt(d_k)
    module.keep_attn = "qk_matmul_output" in case.outputs

    sequences = [t.permute(2, 0, 1, 3).flatten(start_dim=2) for t in (query, key, value)]
    x = module(query=sequences[0], key=sequences[1], value=sequences[2], mask=mask)
    x = x.unflatten(-1, (heads, d_k)).permute(1, 2, 0, 3)
    weights = {"qk_matmul_output": module.attn.permute(2, 3, 0, 1)} if module.keep_attn else {}
    return {"Y": onnx_cases.heads_last(case, x), **weights}


ONNX = onnx_cases.cases("Attention")
SAID = [case for case in ONNX if not reason_against(case)]


def distance_to_onnx() -> float:
    r"""From ONNX's reference in numpy, in double precision, both ways."""
    return max(
        largest(
            [said_with_attention(case, torch.float64, fused)["Y"]], [onnx_cases.in_double(case)]
        )
        for case in SAID
        for fused in (True, False)
    )


# Whom it is compared with, and how far it is from them at most.
ORACLES: dict[str, Callable[[], float]] = {
    "torch.nn.MultiheadAttention": distance_to_torch,
    "a loop over scalars": distance_to_loops,
    "Hugging Face GPT-2": distance_to_gpt2,
    "ONNX Attention": distance_to_onnx,
}


@pytest.mark.parametrize("oracle", ORACLES)
def test_it_is_what_others_compute(oracle: str) -> None:
    assert ORACLES[oracle]() < 1e-10


@both_ways
@pytest.mark.parametrize("case", SAID, ids=lambda case: case.name)
def test_it_gives_what_a_case_of_onnx_says(fused: bool, case: onnx_cases.Case) -> None:
    found = said_with_attention(case, case.inputs["Q"].dtype, fused)
    assert all(onnx_cases.near(case, name, result) for name, result in found.items())


def test_all_cases_of_onnx_but_these_can_be_said() -> None:
    assert len(ONNX) == 93
    assert Counter(map(reason_against, ONNX)) == {
        "": 49,
        "fewer heads of keys than of queries": 17,
        "values of another width than keys": 15,
        "wants the scores before the softmax": 12,
    }


@both_ways
@each_length
@each_mask_and_idle
def test_equals_loops_over_numbers(fused: bool, lengths: tuple[int, int], make_mask: Maker) -> None:
    module, given_inputs, mask = attention(fused), inputs(*lengths), make_mask(*lengths)
    output = module(**given_inputs, mask=mask)
    assert_near(output, attention_by_hand(module, **given_inputs, mask=mask), 1e-12)


@both_ways
@each_length
@each_mask
@pytest.mark.parametrize("need_weights", [True, False])
@pytest.mark.parametrize(
    ("dtype", "tolerance"), [(torch.float64, 1e-12), (torch.float32, 1e-5)], ids=["64", "32"]
)
def test_equals_the_attention_of_pytorch_with_its_gradients(
    fused: bool,
    lengths: tuple[int, int],
    make_mask: Maker,
    need_weights: bool,
    dtype: torch.dtype,
    tolerance: float,
) -> None:
    module, given_inputs = attention(fused, dtype), inputs(*lengths, dtype)
    mask = make_mask(*lengths)
    other = torch_attention(module)
    theirs, _ = other(
        *given_inputs.values(), attn_mask=torch_mask(mask, lengths[0]), need_weights=need_weights
    )
    mine = module(**given_inputs, mask=mask)
    assert_near(mine, theirs, tolerance)

    sequences = list(given_inputs.values())
    parts = [module.query.linear, module.key.linear, module.value.linear]
    my_gradients = gradients(
        mine,
        [
            *sequences,
            *(part.weight for part in parts),
            *(part.bias for part in parts),
            *module.output.parameters(),
        ],
    )
    their_gradients = gradients(
        theirs,
        [*sequences, other.in_proj_weight, other.in_proj_bias, *other.out_proj.parameters()],
    )
    joined = [
        *my_gradients[:3],
        torch.cat(my_gradients[3:6]),
        torch.cat(my_gradients[6:9]),
        *my_gradients[9:],
    ]
    for actual, expected in zip(joined, their_gradients, strict=True):
        assert_near(actual, expected, tolerance)


@each_length
@each_mask
def test_kept_weights_are_those_of_pytorch(lengths: tuple[int, int], make_mask: Maker) -> None:
    module, given_inputs, mask = attention(True), inputs(*lengths), make_mask(*lengths)
    module.keep_attn = True
    module(**given_inputs, mask=mask)
    _, weights = torch_attention(module)(
        *given_inputs.values(),
        attn_mask=torch_mask(mask, lengths[0]),
        average_attn_weights=False,
    )
    assert_near(module.attn, weights.permute(2, 3, 0, 1), 1e-12)


@given(
    seq_len_q=st.integers(1, 5),
    seq_len_k=st.integers(1, 5),
    batch_size=st.integers(1, 3),
    heads=st.integers(1, 3),
    d_k=st.integers(1, 4),
    share_queries=st.booleans(),
    share_batch=st.booleans(),
    visible=st.floats(0, 1),
    seed=st.integers(0, 9),
)
def test_both_ways_agree_for_any_lengths_and_any_mask(
    seq_len_q: int,
    seq_len_k: int,
    batch_size: int,
    heads: int,
    d_k: int,
    share_queries: bool,
    share_batch: bool,
    visible: float,
    seed: int,
) -> None:
    torch.manual_seed(seed)
    module = MultiHeadAttention(heads, heads * d_k, dropout_prob=0.0).double()
    query = torch.randn(seq_len_q, batch_size, heads * d_k, dtype=torch.float64)
    key, value = torch.randn(2, seq_len_k, batch_size, heads * d_k, dtype=torch.float64)
    mask = torch.rand(seq_len_q, seq_len_k, batch_size) < visible
    mask = mask[: seq_len_q - share_queries * (seq_len_q - 1)]
    mask = mask[..., : batch_size - share_batch * (batch_size - 1)]
    variables = [query.requires_grad_(), key.requires_grad_(), *module.parameters()]

    fused = module(query=query, key=key, value=value, mask=mask)
    module.fused = False
    readable = module(query=query, key=key, value=value, mask=mask)
    assert_near(fused, readable, 1e-12)
    for one, other in zip(gradients(fused, variables), gradients(readable, variables), strict=True):
        assert_near(one, other, 1e-12)


@both_ways
def test_gradients_are_those_of_finite_differences(fused: bool) -> None:
    module = attention(fused)
    mask = with_idle(SEQ_LEN_Q, SEQ_LEN_K)
    sequences = inputs()

    def attend(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        return module(query=query, key=key, value=value, mask=mask)

    assert torch.autograd.gradcheck(attend, tuple(sequences.values()), fast_mode=True)


@both_ways
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16, torch.float16])
def test_masked_rows_give_zero_output_and_finite_gradients(fused: bool, dtype: torch.dtype) -> None:
    module, given_inputs = attention(fused, dtype), inputs(dtype=dtype)
    output = module(**given_inputs, mask=with_idle(SEQ_LEN_Q, SEQ_LEN_K))
    assert torch.equal(output[2, 1], module.output.bias)
    assert torch.equal(output[0, 2], module.output.bias)

    found = gradients(output, [*given_inputs.values(), *module.parameters()])
    assert all(gradient.isfinite().all() for gradient in found)
    assert not found[0][2, 1].any()
    assert not found[0][0, 2].any()
    assert found[0][2, 0].any()


@both_ways
@pytest.mark.parametrize(
    ("dtype", "queries", "keys"),
    [(torch.float32, 1e4, 1e36), (torch.float16, 3e3, 3e3)],
    ids=["32", "16"],
)
def test_masked_rows_stay_finite_where_hidden_keys_are_huge(
    fused: bool, dtype: torch.dtype, queries: float, keys: float
) -> None:
    module, given_inputs = attention(fused, dtype), inputs(dtype=dtype)
    huge = {
        "query": given_inputs["query"] * torch.tensor([1, queries, 1], dtype=dtype)[:, None],
        "key": given_inputs["key"] * torch.tensor([1, keys, 1], dtype=dtype)[:, None],
        "value": given_inputs["value"],
    }
    scores = module.get_scores(module.query(huge["query"]), module.key(huge["key"]))
    assert not scores[:, :, 1].isfinite().all()

    nothing_in_1 = torch.tensor([True, False, True]).expand(1, SEQ_LEN_K, -1)
    output = module(**huge, mask=nothing_in_1)
    assert torch.equal(output[:, 1], module.output.bias.expand(SEQ_LEN_Q, -1))
    found = gradients(output, [*given_inputs.values(), *module.parameters()])
    assert all(gradient.isfinite().all() for gradient in found)


@pytest.mark.parametrize("make_mask", [causal, padding, per_batch], ids=lambda make: make.__name__)
@each_length
def test_where_all_queries_see_a_key_nothing_is_done_for_idle_ones(
    lengths: tuple[int, int], make_mask: Maker
) -> None:
    assert sees_a_key(make_mask(*lengths).unsqueeze(-1)) is None


@each_length
def test_idle_queries_are_found(lengths: tuple[int, int]) -> None:
    mask = with_idle(*lengths)
    expected = [[any(mask[i, :, b].tolist()) for b in range(BATCH_SIZE)] for i in range(lengths[0])]
    assert sees_a_key(mask.unsqueeze(-1))[:, 0, :, 0].tolist() == expected
    assert not all(map(all, expected))


def test_one_row_without_a_key_is_idle_even_if_all_others_see_themselves() -> None:
    mask = causal_mask(SEQ_LEN_K).unsqueeze(-1).clone()
    mask[0] = False
    assert sees_a_key(mask).flatten().tolist() == [False] + [True] * (SEQ_LEN_K - 1)


def test_a_query_that_comes_after_all_keys_can_be_idle() -> None:
    mask = torch.eye(SEQ_LEN_K, SEQ_LEN_Q, dtype=torch.bool)[..., None, None]
    idle = SEQ_LEN_K - SEQ_LEN_Q
    assert sees_a_key(mask).flatten().tolist() == [True] * SEQ_LEN_Q + [False] * idle


def test_where_nobody_can_look_any_query_may_be_idle() -> None:
    mask = causal_mask(SEQ_LEN_K, device="meta").unsqueeze(-1)
    assert sees_a_key(mask).shape == (SEQ_LEN_K, 1, 1, 1)


@both_ways
@each_length
@each_mask_and_idle
def test_to_have_looked_at_the_mask_changes_no_bit(
    fused: bool, lengths: tuple[int, int], make_mask: Maker, monkeypatch: pytest.MonkeyPatch
) -> None:
    module, given_inputs, mask = attention(fused), inputs(*lengths), make_mask(*lengths)
    variables = [*given_inputs.values(), *module.parameters()]
    looked = module(**given_inputs, mask=mask)
    monkeypatch.setattr(mha, "can_look", lambda mask: False)
    monkeypatch.setattr(fast_attention, "can_look", lambda mask: False)
    unseen = module(**given_inputs, mask=mask)
    assert torch.equal(looked, unseen)
    for one, other in zip(gradients(looked, variables), gradients(unseen, variables), strict=True):
        assert torch.equal(one, other)


def test_compiled_it_is_one_graph_and_computes_the_same() -> None:
    module, given_inputs = attention(True), inputs(SEQ_LEN_K, SEQ_LEN_K)
    mask = causal_mask(SEQ_LEN_K)
    variables = [*given_inputs.values(), *module.parameters()]
    mine = module(**given_inputs, mask=mask)
    compiled = torch.compile(module, backend="aot_eager", fullgraph=True)(**given_inputs, mask=mask)
    assert difference(mine, compiled, variables, variables) < 1e-12


@both_ways
def test_scores_beyond_16_bits_stay_finite_once_scaled(fused: bool) -> None:
    module = MultiHeadAttention(heads=1, d_model=64, dropout_prob=0.0)
    for layer in (module.query.linear, module.key.linear):
        nn.init.eye_(layer.weight)
        nn.init.zeros_(layer.bias)
    module.half().fused = fused
    x = torch.full((2, 1, 64), 64, dtype=torch.float16)
    assert (x * x).sum(dtype=torch.float32) / 2 > torch.finfo(torch.float16).max
    output = module(query=x, key=x, value=x)
    assert_near(output, module.output(module.value.linear(x)), 1e-3)


@both_ways
def test_a_hidden_key_gets_no_weight_however_little_the_visible_ones_fit(fused: bool) -> None:
    module = MultiHeadAttention(heads=1, d_model=3, dropout_prob=0.0).double()
    for layer in (module.query.linear, module.key.linear):
        nn.init.eye_(layer.weight)
        nn.init.zeros_(layer.bias)
    module.fused = fused
    query = torch.full((1, 1, 3), 1e10, dtype=torch.float64)
    key = torch.cat([-query, torch.zeros_like(query)])
    value = torch.randn(2, 1, 3, dtype=torch.float64)
    output = module(query=query, key=key, value=value, mask=torch.tensor([[[True], [False]]]))
    assert_near(output, module.output(module.value.linear(value[:1])), 1e-12)


@both_ways
def test_no_output_depends_on_a_later_position(fused: bool) -> None:
    module = attention(fused)
    x = torch.randn(SEQ_LEN_K, BATCH_SIZE, D_MODEL, dtype=torch.float64, requires_grad=True)
    output = module(query=x, key=x, value=x, mask=causal_mask(SEQ_LEN_K))
    for position in range(SEQ_LEN_K):
        (gradient,) = torch.autograd.grad(output[position].sum(), x, retain_graph=True)
        depends = gradient.abs().sum(dim=(1, 2)) > 0
        assert depends.tolist() == [other <= position for other in range(SEQ_LEN_K)]


@both_ways
def test_sequences_of_a_batch_do_not_see_one_another(fused: bool) -> None:
    module, given_inputs, mask = attention(fused), inputs(), per_batch(SEQ_LEN_Q, SEQ_LEN_K)
    together = module(**given_inputs, mask=mask)
    for b in range(BATCH_SIZE):
        alone = {name: x[:, b : b + 1] for name, x in given_inputs.items()}
        assert_near(together[:, b : b + 1], module(**alone, mask=mask[..., b : b + 1]), 1e-12)


def test_attention_does_not_know_the_order_of_the_keys() -> None:
    module, given_inputs = attention(True), inputs()
    order = [3, 6, 0, 2, 5, 1, 4]
    shuffled = {**given_inputs, "key": given_inputs["key"][order]}
    shuffled["value"] = given_inputs["value"][order]
    assert_near(module(**shuffled), module(**given_inputs), 1e-12)


@both_ways
def test_dropout_acts_in_training_only(fused: bool) -> None:
    module, given_inputs = attention(fused, dropout_prob=0.5), inputs()
    without = attention(fused)(**given_inputs)
    assert not torch.equal(module(**given_inputs), module(**given_inputs))
    assert not torch.equal(module(**given_inputs), without)
    module.eval()
    assert torch.equal(module(**given_inputs), without)


@both_ways
def test_dropout_keeps_the_mean(fused: bool) -> None:
    module = attention(fused, dropout_prob=0.25)
    x = inputs()["query"][:, :1].detach()
    many = x.expand(-1, 20_000, -1)
    mean = module(query=many, key=many, value=many).mean(dim=1)
    expected = module.eval()(query=x, key=x, value=x)[:, 0]
    assert_near(mean, expected, 0.01)


@both_ways
def test_when_every_weight_is_dropped_the_bias_remains(fused: bool) -> None:
    module = attention(fused, dropout_prob=1.0)
    output = module(**inputs())
    assert torch.equal(output, module.output.bias.expand_as(output))


@pytest.mark.parametrize("probability", [-0.1, 1.5])
def test_a_dropout_that_is_no_probability_is_refused(probability: float) -> None:
    with pytest.raises(ValueError, match=str(probability)):
        MultiHeadAttention(HEADS, D_MODEL, dropout_prob=probability)


def test_a_tenth_of_the_weights_is_dropped_unless_asked_otherwise() -> None:
    assert MultiHeadAttention(HEADS, D_MODEL).dropout.p == 0.1


@pytest.mark.parametrize("kernel", [True, False])
def test_the_kernel_is_called_when_it_is_chosen(
    kernel: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    fused, seen = torch.nn.functional.scaled_dot_product_attention, []

    def remember(*tensors: Tensor, **named: float) -> Tensor:
        seen.append(tensors)
        return fused(*tensors, **named)

    monkeypatch.setattr(torch.nn.functional, "scaled_dot_product_attention", remember)
    module = attention(True)
    module.kernel = kernel
    assert_near(module(**inputs()), attention(False)(**inputs()), 1e-12)
    assert len(seen) == kernel


def test_weights_are_kept_only_when_asked_for() -> None:
    module, given_inputs = attention(True, dropout_prob=0.5), inputs()
    module(**given_inputs)
    assert module.attn is None

    module.keep_attn = True
    mask = with_idle(SEQ_LEN_Q, SEQ_LEN_K)
    module(**given_inputs, mask=mask)
    assert module.attn.shape == (SEQ_LEN_Q, SEQ_LEN_K, BATCH_SIZE, HEADS)
    assert not module.attn.requires_grad
    sums = mask.any(dim=1, keepdim=True).unsqueeze(-1).double().expand(-1, -1, -1, HEADS)
    assert_near(module.attn.sum(dim=1, keepdim=True), sums, 1e-12)
    assert not module.attn[~mask.unsqueeze(-1).expand_as(module.attn)].any()

    module.keep_attn = False
    module(**given_inputs)
    assert module.attn is None


def test_the_readable_way_keeps_no_weights_either() -> None:
    module = attention(False)
    module(**inputs())
    assert module.attn is None


def largest_saved_for_backward(fused: bool, mask: Tensor) -> int:
    r"""Bytes of the largest memory that a forward pass leaves for the backward pass."""
    sizes = []

    def measure(tensor: Tensor) -> Tensor:
        sizes.append(tensor.untyped_storage().nbytes())
        return tensor

    module = attention(fused)
    x = torch.randn(97, BATCH_SIZE, D_MODEL, dtype=torch.float64)
    with torch.autograd.graph.saved_tensors_hooks(measure, lambda tensor: tensor):
        module(query=x, key=x, value=x, mask=mask)
    return max(sizes)


def test_the_fused_way_does_not_keep_the_scores() -> None:
    scores = 97 * 97 * BATCH_SIZE * HEADS * torch.float64.itemsize
    assert largest_saved_for_backward(False, causal_mask(97)) >= scores
    assert largest_saved_for_backward(True, causal_mask(97)) <= scores / (BATCH_SIZE * HEADS)


@pytest.mark.parametrize("make_mask", [causal, padding, per_batch], ids=lambda make: make.__name__)
def test_a_mask_is_never_written_out_for_each_sequence_or_head(
    make_mask: Maker, monkeypatch: pytest.MonkeyPatch
) -> None:
    fused, seen = torch.nn.functional.scaled_dot_product_attention, []

    def remember(
        q: Tensor, k: Tensor, v: Tensor, mask: Tensor, *more: float, **named: float
    ) -> Tensor:
        seen.append(mask)
        return fused(q, k, v, mask, *more, **named)

    monkeypatch.setattr(torch.nn.functional, "scaled_dot_product_attention", remember)
    mask = make_mask(SEQ_LEN_Q, SEQ_LEN_K).clone()
    attention(True)(**inputs(), mask=mask)
    assert seen[0].untyped_storage().nbytes() == mask.numel()


@both_ways
def test_numbers_are_never_read_on_the_way(fused: bool) -> None:
    r"""A tensor on the meta device has none: reading one is an error, as it is a wait on a GPU."""
    module = attention(fused).to("meta")
    x = torch.empty(SEQ_LEN_K, BATCH_SIZE, D_MODEL, dtype=torch.float64, device="meta")
    output = module(query=x, key=x, value=x, mask=causal_mask(SEQ_LEN_K, device="meta"))
    assert output.shape == x.shape


def test_scores_of_a_subclass_are_never_passed_over() -> None:
    def indifferent(self: MultiHeadAttention, query: Tensor, key: Tensor) -> Tensor:
        return torch.zeros(len(query), len(key), BATCH_SIZE, HEADS, dtype=query.dtype)

    variant = type("Variant", (MultiHeadAttention,), {"get_scores": indifferent})
    heir = type("Heir", (variant,), {})
    for kind in (variant, heir):
        module = kind(HEADS, D_MODEL, dropout_prob=0.0).double()
        given_inputs = inputs()
        mean = module.value.linear(given_inputs["value"]).mean(dim=0, keepdim=True)
        expected = module.output(mean).expand(SEQ_LEN_Q, -1, -1)
        assert_near(module(**given_inputs), expected, 1e-12)


def test_a_subclass_with_the_same_scores_is_fused() -> None:
    def any_mask(self: MultiHeadAttention, mask: Tensor, *shapes: torch.Size) -> Tensor:
        return (mask != 0).unsqueeze(-1)

    variant = type("Variant", (MultiHeadAttention,), {"prepare_mask": any_mask})
    assert variant(HEADS, D_MODEL).fused
    module = variant(HEADS, D_MODEL, dropout_prob=0.0).double()
    mask = per_batch(SEQ_LEN_Q, SEQ_LEN_K)
    fused = module(**inputs(), mask=mask.float())
    module.fused = False
    assert_near(fused, module(**inputs(), mask=mask), 1e-12)


def biased(batch_size: int) -> MultiHeadAttention:
    r"""A variant that adds the same numbers to its scores each time."""
    generator = torch.Generator().manual_seed(7)
    numbers = torch.randn(SEQ_LEN_Q, SEQ_LEN_K, batch_size, HEADS, generator=generator)

    def get_bias(self: MultiHeadAttention, query: Tensor, key: Tensor) -> Tensor:
        return numbers.double()

    torch.manual_seed(1)
    variant = type("Variant", (MultiHeadAttention,), {"get_bias": get_bias})
    return variant(HEADS, D_MODEL, dropout_prob=0.0).double()


@pytest.mark.parametrize("batch_size", [1, BATCH_SIZE])
@pytest.mark.parametrize("make_mask", [no_mask, padding, one_for_all, with_idle])
def test_a_bias_is_added_both_ways(batch_size: int, make_mask: Maker) -> None:
    module, given_inputs, mask = biased(batch_size), inputs(), make_mask(SEQ_LEN_Q, SEQ_LEN_K)
    assert module.fused
    fused = module(**given_inputs, mask=mask)
    module.keep_attn = True
    assert_near(module(**given_inputs, mask=mask), fused, 1e-12)

    # The weights without it, times its exponential, are those with it.
    weights = module.attn
    plain = attention(False)
    plain.keep_attn = True
    assert (plain(**given_inputs, mask=mask) - fused).abs().max() > 0.01
    expected = plain.attn * module.get_bias(given_inputs["query"], given_inputs["key"]).exp()
    sums = expected.sum(dim=1, keepdim=True)
    assert_near(weights, expected / sums.where(sums > 0, 1), 1e-12)


def test_a_mean_of_a_subclass_is_never_passed_over() -> None:
    def first(self: MultiHeadAttention, attn: Tensor, value: Tensor) -> Tensor:
        return value[:1].expand(len(attn), -1, -1, -1)

    variant = type("Variant", (MultiHeadAttention,), {"get_mean": first})
    module, given_inputs = variant(HEADS, D_MODEL, dropout_prob=0.0).double(), inputs()
    expected = module.output(module.value.linear(given_inputs["value"][:1]))
    assert_near(module(**given_inputs), expected.expand(SEQ_LEN_Q, -1, -1), 1e-12)


def test_what_a_subclass_projects_is_attended_to() -> None:
    def double(self: MultiHeadAttention, *sequences: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        query, key, value = MultiHeadAttention.project(self, *sequences)
        return query, key, 2 * value

    variant = type("Variant", (MultiHeadAttention,), {"project": double})
    torch.manual_seed(1)
    module = variant(HEADS, D_MODEL, dropout_prob=0.0, bias=False).double()
    assert module.fused
    given_inputs = inputs()
    expected = 2 * attention(True, bias=False)(**given_inputs)
    assert_near(module(**given_inputs), expected, 1e-12)


def test_get_scores_is_given_the_scaled_query() -> None:
    module, given_inputs, seen = attention(False), inputs(), []

    def remember(query: Tensor, key: Tensor) -> Tensor:
        seen.append(query)
        return MultiHeadAttention.get_scores(module, query, key)

    module.get_scores = remember
    module(**given_inputs)
    expected = module.query.linear(given_inputs["query"]) / math.sqrt(D_K)
    assert_near(seen[0].flatten(start_dim=2), expected, 1e-12)


@pytest.mark.parametrize(("d_model", "heads"), [(30, 4), (30, 0), (30, -3), (0, 2), (2, 4)])
def test_a_width_that_heads_do_not_divide_is_refused(d_model: int, heads: int) -> None:
    with pytest.raises(ValueError, match=f"d_model={d_model} and heads={heads}$"):
        MultiHeadAttention(heads, d_model)


@both_ways
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.int64, torch.uint8])
def test_a_mask_of_numbers_is_refused(fused: bool, dtype: torch.dtype) -> None:
    mask = per_batch(SEQ_LEN_Q, SEQ_LEN_K).to(dtype)
    with pytest.raises(ValueError, match=rf"dtype {dtype}, expected torch\.bool.*pass mask != 0"):
        attention(fused)(**inputs(), mask=mask)


@both_ways
@pytest.mark.parametrize(
    "shape",
    [(5, 7), (7,), (), (5, 7, 3, 1), (7, 5, 3), (5, 1, 3), (1, 1, 1), (2, 7, 3), (5, 7, 2)],
    ids=str,
)
def test_a_mask_of_another_shape_is_refused(fused: bool, shape: tuple[int, ...]) -> None:
    with pytest.raises(ValueError) as caught:
        attention(fused)(**inputs(), mask=torch.ones(shape, dtype=torch.bool))
    assert f"mask has shape {list(shape)}, expected" in str(caught.value)
    assert "[seq_len_q, seq_len_k, batch_size] = [5, 7, 3]" in str(caught.value)


@pytest.mark.parametrize(
    ("names", "shape"),
    [
        (["query"], (5, 22)),
        (["query"], (5, 3, 22, 1)),
        (["query"], (5, 3, 11)),
        (["query"], (5, 1, 22)),
        (["key"], (1, 3, 22)),
        (["key"], (6, 3, 22)),
        (["key"], (7, 1, 22)),
        (["value"], (7, 22)),
        (["value"], (7, 3, 1)),
        (["value"], (7, 1, 22)),
        (["value"], (8, 3, 22)),
        (["key", "value"], (7, 3, 11)),
        (["key", "value"], (7, 1, 22)),
        (["query", "key", "value"], (7, 3, 11)),
        (["query", "key", "value"], (7, 22)),
        (["query", "key", "value"], (7, 3, 22, 1)),
    ],
    ids=str,
)
def test_inputs_that_do_not_fit_together_are_refused(
    names: list[str], shape: tuple[int, ...]
) -> None:
    wrong = dict.fromkeys(names, torch.zeros(shape, dtype=torch.float64))
    with pytest.raises(ValueError) as caught:
        attention(True)(**{**inputs(), **wrong})
    assert all(f"{name} {list(shape)}" in str(caught.value) for name in names)
    assert "[seq_len_q, batch_size, 22]" in str(caught.value)
    assert "[seq_len_k, batch_size, 22]" in str(caught.value)


def test_the_parameters_are_these() -> None:
    shapes = {name: tuple(p.shape) for name, p in attention(True).state_dict().items()}
    assert shapes == {
        "query.linear.weight": (22, 22),
        "query.linear.bias": (22,),
        "key.linear.weight": (22, 22),
        "key.linear.bias": (22,),
        "value.linear.weight": (22, 22),
        "value.linear.bias": (22,),
        "output.weight": (22, 22),
        "output.bias": (22,),
    }


def test_without_biases_only_weights_are_left() -> None:
    names = attention(True, bias=False).state_dict().keys()
    assert sorted(names) == [
        "key.linear.weight",
        "output.weight",
        "query.linear.weight",
        "value.linear.weight",
    ]


def test_saved_weights_give_the_same_numbers_in_another_attention() -> None:
    module, given_inputs = attention(True), inputs()
    saved = io.BytesIO()
    torch.save(module.state_dict(), saved)
    saved.seek(0)
    torch.manual_seed(5)
    other = MultiHeadAttention(HEADS, D_MODEL, dropout_prob=0.0).double()
    assert not torch.equal(other(**given_inputs), module(**given_inputs))
    other.load_state_dict(torch.load(saved, weights_only=True))
    assert torch.equal(other(**given_inputs), module(**given_inputs))


def test_copies_and_pickles_attend_alike() -> None:
    module, given_inputs = attention(True), inputs()
    module.keep_attn = True
    output = module(**given_inputs)
    for other in (copy.deepcopy(module), pickle.loads(pickle.dumps(module))):
        assert torch.equal(other.attn, module.attn)
        assert torch.equal(other(**given_inputs), output)


@both_ways
@each_mask_and_idle
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16, torch.float16])
def test_results_have_the_type_of_the_inputs(
    fused: bool, make_mask: Maker, dtype: torch.dtype
) -> None:
    mask = make_mask(SEQ_LEN_Q, SEQ_LEN_K)
    output = attention(fused, dtype)(**inputs(dtype=dtype), mask=mask)
    assert output.dtype == dtype
    exact = attention(fused)(**{n: x.double() for n, x in inputs(dtype=dtype).items()}, mask=mask)
    assert_near(output.double(), exact, 8 * torch.finfo(dtype).eps)


@both_ways
def test_automatic_mixed_precision_gives_16_bits_near_the_exact_numbers(fused: bool) -> None:
    module, given_inputs = attention(fused, torch.float32), inputs(dtype=torch.float32)
    mask = with_idle(SEQ_LEN_Q, SEQ_LEN_K)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        output = module(**given_inputs, mask=mask)
    assert output.dtype == torch.bfloat16
    assert_near(output.float(), module(**given_inputs, mask=mask), 0.03)
    assert all(g.isfinite().all() for g in gradients(output, list(module.parameters())))


def test_heads_are_neighbouring_features_of_one_projection() -> None:
    prepare = PrepareForMultiHeadAttention(D_MODEL, heads=3, d_k=5, bias=True)
    x = torch.randn(4, 7, 2, D_MODEL)
    result = prepare(x)
    assert result.shape == (4, 7, 2, 3, 5)
    for head in range(3):
        rows = slice(head * 5, (head + 1) * 5)
        expected = x @ prepare.linear.weight[rows].T + prepare.linear.bias[rows]
        assert_near(result[..., head, :], expected, 1e-5)


def test_many_heads_have_as_many_parameters_as_one() -> None:
    one, eleven = (
        sum(p.numel() for p in MultiHeadAttention(heads, D_MODEL).parameters()) for heads in (1, 11)
    )
    assert one == eleven


def test_causal_mask_shows_each_position_itself_and_the_past() -> None:
    mask = causal_mask(4)
    assert mask.dtype == torch.bool
    assert mask.shape == (4, 4, 1)
    assert mask[..., 0].int().tolist() == [[1, 0, 0, 0], [1, 1, 0, 0], [1, 1, 1, 0], [1, 1, 1, 1]]
    assert causal_mask(4, device="meta").device.type == "meta"


@pytest.mark.parametrize("d_k", [4, 64])
def test_scores_spread_with_the_root_of_the_width(d_k: int) -> None:
    torch.manual_seed(6)
    assert spread_of_scores(d_k, 20_000) == pytest.approx(math.sqrt(d_k), rel=0.03)


def test_the_spread_is_that_of_a_thousand_products_of_random_queries_and_keys() -> None:
    torch.manual_seed(6)
    queries, keys = torch.randn(2, 1000, 5).tolist()
    scores = [
        sum(q * k for q, k in zip(query, key, strict=True))
        for query, key in zip(queries, keys, strict=True)
    ]
    torch.manual_seed(6)
    assert spread_of_scores(5).item() == pytest.approx(statistics.stdev(scores))


def test_the_example_attends_the_same_both_ways_but_for_dropout() -> None:
    torch.manual_seed(7)
    fused, readable, causal_square, spread = mha.example(2, 3, 5, 7, 11, 13)
    assert fused.shape == readable.shape == (2, 7, 11 * 13)
    assert torch.equal(fused[:, 0], readable[:, 0])
    assert torch.equal(causal_square, causal_mask(5))
    assert spread > 0
