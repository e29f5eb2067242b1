r"""The gated delta rule, against Qwen3-Next's, MiniMax's, all cases of onnx, and loops."""

import math
from collections.abc import Callable
from typing import Any

import pytest
import torch
from hypothesis import given as for_any
from hypothesis import settings
from hypothesis import strategies as st
from onnx.helper import get_attribute_value
from torch import Tensor, nn
from transformers.models.minimax.configuration_minimax import MiniMaxConfig
from transformers.models.minimax.modeling_minimax import MiniMaxLightningAttention
from transformers.models.qwen3_next import modeling_qwen3_next as qwen3_next

from labml_nn.transformers.mha import MultiHeadAttention, causal_mask
from labml_nn.transformers.variants import delta_rule as page
from labml_nn.transformers.variants.delta_rule import (
    DeltaRuleAttention,
    delta_chunks,
    delta_steps,
    in_transformer,
)
from labml_nn.transformers.variants.linear_attention import all_at_once, empty_state
from tests.labml_nn.transformers.variants.seam import (
    BATCH_SIZE,
    D_K,
    D_MODEL,
    HEADS,
    SEAM,
    SEQ_LEN_K,
    all_in_double,
    assert_near,
    gradients,
    inputs,
    largest_difference,
    onnx_cases,
    padding,
    randomised,
    sequence,
)

D_V = 13

# What other attention does with any mask, and queries of another sequence, is not for this one.
CAUSAL_SEAM = {
    name: check
    for name, check in SEAM.items()
    if name
    in (
        "no output depends on a later position",
        "another one starts with other weights",
        "a tenth is dropped unless told otherwise",
    )
}


def attention(**options: float) -> DeltaRuleAttention:
    r"""In evaluation."""
    return DeltaRuleAttention(HEADS, D_MODEL, **options).eval()


def numbers(seq_len: int, seed: int = 1) -> list[Tensor]:
    r"""Query, key of length one, value, logarithm of the decay and share, with gradients."""
    generator = torch.Generator().manual_seed(seed)

    def draw(*shape: int) -> Tensor:
        return torch.randn(
            seq_len, BATCH_SIZE, HEADS, *shape, generator=generator, dtype=torch.float64
        )

    made = [
        draw(5),
        nn.functional.normalize(draw(5), dim=-1),
        draw(D_V),
        nn.functional.logsigmoid(draw(1)),
        draw(1).sigmoid(),
    ]
    return [one.requires_grad_() for one in made]


def rule(way: Callable[..., Any], made: list[Tensor], state: Tensor) -> tuple[Tensor, Tensor]:
    r"""What a way gives."""
    return way(*made[:3], state, *made[3:])


def both_ways(made: list[Tensor], state: Tensor) -> list[tuple[Tensor, Tensor]]:
    r"""Step by step, and in chunks that don't divide the length."""
    query, key, value, log_decay, share = made
    return [
        delta_steps(query, key, value, state, log_decay, share),
        delta_chunks(query, key, value, state, log_decay, share, chunk_len=3),
    ]


def of_qwen(function: str) -> float:
    r"""A function of Qwen3-Next, from a state that isn't empty, with all gradients."""
    made = numbers(7)
    state = torch.randn(BATCH_SIZE, HEADS, 5, D_V, dtype=torch.float64).requires_grad_()
    variables = [*made, state]
    query, key, value, log_decay, share = (one.transpose(0, 1) for one in made)
    with all_in_double():
        expected, last = getattr(qwen3_next, function)(
            query,
            key,
            value,
            log_decay.squeeze(-1),
            share.squeeze(-1),
            initial_state=state,
            output_final_state=True,
        )
    expected = expected.transpose(0, 1) * math.sqrt(5)
    wanted = [expected, last, *gradients(expected, variables), *gradients(last, variables)]
    differences = []
    for found, mine in both_ways(made, state):
        both = [found, mine, *gradients(found, variables), *gradients(mine, variables)]
        differences.append(largest_difference(both, wanted))
    return max(differences)


def minimax() -> float:
    r"""MiniMax's, which decays and doesn't correct."""
    config = MiniMaxConfig(
        hidden_size=D_MODEL,
        num_attention_heads=HEADS,
        num_key_value_heads=HEADS,
        head_dim=D_K,
        num_hidden_layers=2,
        block_size=3,
        layer_types=["linear_attention", "linear_attention"],
    )
    with all_in_double():
        theirs = MiniMaxLightningAttention(config, layer_idx=0).double()
    rate = torch.tensor([0.3, 0.7], dtype=torch.float64)[:, None, None]
    theirs.slope_rate = rate
    theirs.query_decay, theirs.key_decay, theirs.diagonal_decay = theirs.decay_factors(rate)
    theirs.act_fn, theirs.norm, theirs.out_proj = nn.Identity(), nn.Identity(), nn.Identity()
    nn.init.zeros_(theirs.output_gate.weight)

    x = sequence()["query"]
    expected, _ = theirs(x.transpose(0, 1), (x, x), None)
    wanted = 2 * expected.transpose(0, 1)
    q, k, v = theirs.qkv_proj(x).unflatten(-1, (HEADS, 3 * D_K)).chunk(3, dim=-1)
    log_decay = -rate[:, :, 0].expand(len(x), BATCH_SIZE, -1, -1)
    found = delta_steps(q, k, v, empty_state(k, v), log_decay)[0].flatten(start_dim=2)
    variables = [x, theirs.qkv_proj.weight]
    return largest_difference(
        [found, *gradients(found, variables)], [wanted, *gradients(wanted, variables)]
    )


def loops() -> float:
    r"""The whole layer from Python's own numbers, with padding that neither writes nor forgets."""
    module, given = randomised(attention().double()), sequence()
    module.output = nn.Identity()
    x = given["query"]
    q, k, v = (part(x).tolist() for part in (module.query, module.key, module.value))
    decays, shares = module.decay(x).tolist(), module.share(x).tolist()
    mask = padding()
    found, worst = module(**given, mask=mask & causal_mask(SEQ_LEN_K)).tolist(), 0.0
    features = range(D_K)
    for b in range(BATCH_SIZE):
        for h in range(HEADS):
            state = [[0.0] * D_K for _ in features]
            for i in range(SEQ_LEN_K):
                q_size = math.sqrt(sum(f * f for f in q[i][b][h]))
                k_size = math.sqrt(sum(f * f for f in k[i][b][h]))
                key = [f / k_size for f in k[i][b][h]]
                alpha = 1 / (1 + math.exp(-decays[i][b][h]))
                beta = 1 / (1 + math.exp(-shares[i][b][h]))
                present = mask[0, i, b].item()
                for e in features:
                    column = [state[d][e] * (alpha if present else 1) for d in features]
                    there = sum(key[d] * column[d] for d in features)
                    new = beta * present * (v[i][b][h][e] - there)
                    for d in features:
                        state[d][e] = column[d] + key[d] * new
                read = [
                    sum(q[i][b][h][d] / q_size * state[d][e] for d in features) for e in features
                ]
                size = math.sqrt(sum(f * f for f in read) / D_K + 1e-6)
                for e in features:
                    worst = max(worst, abs(read[e] / size - found[i][b][h * D_K + e]))
    return worst


ORACLES: dict[str, Callable[[], float]] = {
    "Hugging Face Qwen3-Next, step by step": lambda: of_qwen("torch_recurrent_gated_delta_rule"),
    "Hugging Face Qwen3-Next, in chunks": lambda: of_qwen("torch_chunk_gated_delta_rule"),
    "Hugging Face MiniMax": minimax,
    "a loop over scalars": loops,
}


@pytest.mark.parametrize("oracle", ORACLES)
def test_it_equals_what_others_compute(oracle: str) -> None:
    assert ORACLES[oracle]() < 1e-10


CASES = onnx_cases("LinearAttention", "linear_attention")


@pytest.mark.parametrize("name", CASES)
def test_every_case_of_onnx_comes_out_the_same(name: str) -> None:
    case = CASES[name]
    node = case.model.graph.node[0]
    settings_of = {one.name: get_attribute_value(one) for one in node.attribute}
    given, (expected, last) = case.data_sets[0]
    present = [one for one in node.input if one]
    named = {one: torch.tensor(t).double() for one, t in zip(present, given, strict=True)}
    heads, key_heads = settings_of["q_num_heads"], settings_of["kv_num_heads"]

    def split(name: str, n_heads: int) -> Tensor | None:
        found = named.get(name)
        return None if found is None else found.transpose(0, 1).unflatten(-1, (n_heads, -1))

    query, key, value = split("query", heads), split("key", key_heads), split("value", key_heads)
    scale = settings_of.get("scale", 1 / math.sqrt(query.shape[-1]))
    log_decay = split("decay", key_heads)
    share = named.get("beta")
    share = None if share is None else share.transpose(0, 1).unsqueeze(-1)
    state = named.get("past_state", empty_state(key, value))

    # Where keys have fewer heads, each is for a group of queries that are next to one another.
    groups = query.unflatten(2, (key_heads, -1)).unbind(3)
    results = [delta_steps(scale * one, key, value, state, log_decay, share) for one in groups]
    found = torch.stack([one for one, _ in results], dim=3).flatten(start_dim=2)
    tolerance = {"test_linear_attention_fp16": 2e-3}.get(name, 1e-6)
    assert largest_difference([found], [torch.tensor(expected).transpose(0, 1)]) < tolerance
    assert largest_difference([results[0][1]], [torch.tensor(last)]) < tolerance


def test_onnx_has_fourteen_cases() -> None:
    assert len(CASES) == 14


@pytest.mark.parametrize("check", CAUSAL_SEAM)
def test_it_takes_the_place_of_other_attention(check: str) -> None:
    CAUSAL_SEAM[check](attention)


@settings(max_examples=20)
@for_any(seq_len=st.integers(1, 9), chunk_len=st.integers(1, 11), seed=st.integers(0, 9))
def test_both_ways_and_their_gradients_are_equal(seq_len: int, chunk_len: int, seed: int) -> None:
    made = numbers(seq_len, seed)
    state = torch.randn(BATCH_SIZE, HEADS, 5, D_V, dtype=torch.float64).requires_grad_()
    variables = [*made, state]
    steps, last = rule(delta_steps, made, state)
    chunks, last_chunk = delta_chunks(*made[:3], state, *made[3:], chunk_len=chunk_len)
    assert (
        largest_difference(
            [chunks, *gradients(chunks, variables), *gradients(last_chunk, variables)],
            [steps, *gradients(steps, variables), *gradients(last, variables)],
        )
        < 1e-10
    )
    assert_near(last_chunk, last)


def test_without_decay_and_share_it_is_linear_attention() -> None:
    query, key, value, *_ = numbers(7)
    found, _ = delta_steps(query, key, value, empty_state(key, value))
    assert_near(found, all_at_once(query, key, value, causal_mask(7).unsqueeze(-1)))


def test_a_whole_share_replaces_what_was_under_the_key() -> None:
    _, key, value, _, share = numbers(2)
    key = key[:1].expand(2, -1, -1, -1)
    both = delta_steps(key, key, value, empty_state(key, value), None, torch.ones_like(share))
    assert_near(both[0], value)
    alone = delta_steps(
        key[1:], key[1:], value[1:], empty_state(key, value), None, torch.ones_like(share[1:])
    )
    assert_near(both[1], alone[1])


def test_a_decay_to_nothing_leaves_the_last_token_and_no_infinities() -> None:
    made = numbers(7)
    made[3] = torch.full_like(made[3], -1000.0).requires_grad_()
    state = empty_state(made[1], made[2])
    for found, _ in both_ways(made, state):
        alone = [one[-1:] for one in made]
        assert_near(found[-1:], rule(delta_steps, alone, state)[0])
        assert all(one.isfinite().all() for one in gradients(found, made))


def test_a_decay_for_each_feature_of_the_key_forgets_that_feature() -> None:
    query, key, value, _, _ = numbers(2)
    log_decay = torch.zeros(2, BATCH_SIZE, HEADS, 5, dtype=torch.float64)
    log_decay[1, ..., 3] = -math.inf
    _, last = delta_steps(query, key, value, empty_state(key, value), log_decay)
    assert_near(last[:, :, 3], key[1, ..., 3:4] * value[1])
    kept = key[0, ..., 2:3] * value[0] + key[1, ..., 2:3] * value[1]
    assert_near(last[:, :, 2], kept)


@pytest.mark.parametrize("cuts", [[1] * 7, [3, 4], [1, 5, 1]], ids=str)
def test_a_text_in_pieces_gives_what_the_whole_gives(cuts: list[int]) -> None:
    module, given = randomised(attention().double()), sequence()
    whole, state, pieces = module(**given, mask=causal_mask(SEQ_LEN_K)), None, []
    for piece in given["query"].split(cuts):
        result, state = module.extend(piece, state)
        pieces.append(result)
        assert state.shape == (BATCH_SIZE, HEADS, D_K, D_K)
    assert_near(torch.cat(pieces), whole)


def test_padding_writes_nothing_and_nothing_is_forgotten_for_it() -> None:
    module, given = randomised(attention().double()), sequence()
    left = torch.arange(SEQ_LEN_K)[None, :, None] >= 2
    found = module(**given, mask=left)
    x = given["query"][2:]
    assert_near(found[2:], module(query=x, key=x, value=x))
    assert torch.equal(found[:2], module.output.bias.expand(2, BATCH_SIZE, -1))
    assert all(
        one.isfinite().all() for one in gradients(found, [given["query"], *module.parameters()])
    )
    between = torch.ones(1, SEQ_LEN_K, BATCH_SIZE, dtype=torch.bool)
    between[0, 3, 1] = False
    order = [0, 1, 2, 4, 5, 6]
    x = given["query"][order]
    found = module(**given, mask=between)[order]
    assert_near(found[:, 1], module(query=x, key=x, value=x)[:, 1])


@pytest.mark.parametrize(
    "mask", [None, causal_mask(SEQ_LEN_K), padding(), padding() & causal_mask(SEQ_LEN_K)]
)
def test_kept_weights_take_the_sum_that_is_read(mask: Tensor | None) -> None:
    module, given = randomised(attention().double()), sequence()
    assert module(**given, mask=mask) is not None
    assert module.attn is None
    module.keep_attn = True
    found = module(**given, mask=mask)
    assert module.attn.shape == (SEQ_LEN_K, SEQ_LEN_K, BATCH_SIZE, HEADS)
    assert not module.attn.requires_grad
    read = torch.einsum("ijbh,jbhd->ibhd", module.attn, module.value(given["value"]))
    expected = page.rms_norm(read).flatten(start_dim=2)
    assert_near(found, module.output(expected))
    assert module.attn.min() < 0
    assert not module.attn[~causal_mask(SEQ_LEN_K)[..., 0]].any()


def test_queries_read_and_keys_decide() -> None:
    module, given = randomised(attention().double()), sequence()
    three = {name: given["query"] * (index + 1) - index for index, name in enumerate(given)}
    seen = {"decay": [], "share": []}
    module.decay.register_forward_hook(lambda _, given, __: seen["decay"].append(given[0]))
    module.share.register_forward_hook(lambda _, given, __: seen["share"].append(given[0]))
    module(**three)
    assert seen["decay"][0] is three["key"]
    assert seen["share"][0] is three["key"]


@pytest.mark.parametrize(
    ("dtype", "bound"), [(torch.float32, 2e-5), (torch.float16, 0.03), (torch.bfloat16, 0.2)]
)
def test_precision_is_kept(dtype: torch.dtype, bound: float) -> None:
    torch.manual_seed(4)
    module = attention()
    expected = module.double()(**sequence())
    found = module.to(dtype)(**sequence(dtype=dtype))
    assert found.dtype is dtype
    assert largest_difference([found], [expected]) < bound
    assert module.extend(sequence(dtype=dtype)["query"])[1].dtype is torch.float32


@pytest.mark.parametrize("keep", [True, False])
def test_numbers_are_never_read_without_a_mask_for_each_query(keep: bool) -> None:
    r"""A tensor on the meta device has none."""
    module = attention().to("meta")
    module.keep_attn = keep
    x = torch.empty(SEQ_LEN_K, BATCH_SIZE, D_MODEL, device="meta")
    visible = torch.empty(1, SEQ_LEN_K, 1, dtype=torch.bool, device="meta")
    assert module(query=x, key=x, value=x).shape == x.shape
    assert module(query=x, key=x, value=x, mask=visible).shape == x.shape


def test_dropout_acts_in_training_only() -> None:
    module, given = attention(dropout_prob=0.5).double(), sequence()
    assert torch.equal(module(**given), module(**given))
    module.train()
    assert not torch.equal(module(**given), module(**given))


def test_what_is_remembered_starts_to_fade_after_dozens_of_tokens() -> None:
    module = attention()
    nn.init.zeros_(module.decay.weight)
    factor = module.decay(torch.zeros(1, D_MODEL)).sigmoid()
    half = math.log(0.5) / factor.log()
    assert ((24 < half) & (half < 60)).all()


def test_other_sequences_and_masks_are_refused() -> None:
    with pytest.raises(ValueError, match="of 5 queries to 7 keys"):
        attention().double()(**inputs())
    with pytest.raises(ValueError, match="not the causal one"):
        attention().double()(**sequence(), mask=causal_mask(SEQ_LEN_K).flip(0))
    with pytest.raises(ValueError, match="expected query"):
        attention().double()(**{**sequence(), "key": inputs()["key"][:, :1]})


def test_the_parameters_are_those_of_attention_and_two_small_layers() -> None:
    plain = MultiHeadAttention(HEADS, D_MODEL).state_dict()
    expected = {name: tuple(p.shape) for name, p in plain.items()}
    for name in ("decay", "share"):
        expected |= {f"{name}.weight": (HEADS, D_MODEL), f"{name}.bias": (HEADS,)}
    assert {name: tuple(p.shape) for name, p in attention().state_dict().items()} == expected
    names = [name for name in attention(bias=False).state_dict() if name.endswith("bias")]
    assert names == ["decay.bias", "share.bias"]


def test_the_part_for_the_transformer_is_this_attention() -> None:
    parts = in_transformer(d_model=D_MODEL, heads=HEADS, seq_len=7, dropout_prob=0.3)
    assert list(parts) == ["self_attn"]
    made = parts["self_attn"]()
    assert type(made) is DeltaRuleAttention
    assert (made.causal, made.d_k, made.dropout.p) == (True, D_K, 0.3)


def test_the_example_has_two_ways_that_agree() -> None:
    torch.manual_seed(8)
    steps, last, chunks, whole, begun, end = page.example()
    assert_near(chunks, steps, 1e-4)
    assert last.shape == (3, 5, 2, 11)
    assert whole.shape == begun.shape == (7, 3, 10)
    assert end.shape == (2, 3, 10)
