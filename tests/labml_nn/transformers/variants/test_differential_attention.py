r"""Differential attention, against DiffLlama's and loops over numbers."""

import math
from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn
from transformers.models.diffllama.configuration_diffllama import DiffLlamaConfig
from transformers.models.diffllama.modeling_diffllama import DiffLlamaAttention, lambda_init_fn

from labml_nn.transformers.mha import MultiHeadAttention, causal_mask
from labml_nn.transformers.variants import differential_attention
from labml_nn.transformers.variants.differential_attention import (
    DifferentialAttention,
    first_lambda,
    in_transformer,
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
    added_mask,
    all_in_double,
    assert_near,
    copied,
    gradients,
    inputs,
    largest_difference,
    not_turned,
    per_batch,
    randomised,
    sequence,
    with_idle,
)

D_HALF = D_K // 2
DEPTH = 4


def attention(**options: float) -> DifferentialAttention:
    r"""In evaluation, in a layer in the middle."""
    return DifferentialAttention(HEADS, D_MODEL, **{"depth": DEPTH, **options}).eval()


def halves_first(rows: Tensor) -> Tensor:
    r"""From all of the first head, then all of the second, to the first halves of all heads."""
    return rows.unflatten(0, (HEADS, 2, D_HALF)).transpose(0, 1).flatten(0, 2)


def diff_llama() -> float:
    r"""DiffLlama's attention, weight for weight, without its rotation."""
    config = DiffLlamaConfig(
        hidden_size=D_MODEL,
        num_attention_heads=2 * HEADS,
        num_key_value_heads=2 * HEADS,
        head_dim=2,
        attention_bias=True,
        attention_dropout=0.0,
        rms_norm_eps=0.01,
        attn_implementation="eager",
    )
    # An odd width couldn't be turned, and is refused before anybody has tried.
    config.head_dim = D_HALF
    ours = randomised(attention(eps=0.01).double())
    theirs = DiffLlamaAttention(config, layer_idx=DEPTH - 1).double().eval()
    copied([(ours.output, theirs.o_proj)])
    parts = [
        (ours.query.linear, theirs.q_proj),
        (ours.key.linear, theirs.k_proj),
        (ours.value.linear, theirs.v_proj),
    ]
    with torch.no_grad():
        for one, other in parts:
            other.weight.copy_(halves_first(one.weight))
            other.bias.copy_(halves_first(one.bias))
        for index, (query, key) in enumerate(
            [(theirs.lambda_q1, theirs.lambda_k1), (theirs.lambda_q2, theirs.lambda_k2)]
        ):
            query.copy_(ours.lambda_query[index])
            key.copy_(ours.lambda_key[index])

    given, mask = sequence(), causal_mask(SEQ_LEN_K)
    x = given["query"]
    with all_in_double():
        expected, _ = theirs(x.transpose(0, 1), not_turned(SEQ_LEN_K, D_HALF), added_mask(mask))
    expected = expected.transpose(0, 1)
    found = ours(**given, mask=mask)
    linear = [p for one, _ in parts for p in one.parameters()]
    mine = gradients(
        found, [x, *linear, *ours.output.parameters(), ours.lambda_query, ours.lambda_key]
    )
    others = gradients(
        expected,
        [
            x,
            *(p for _, other in parts for p in other.parameters()),
            *theirs.o_proj.parameters(),
            *(theirs.lambda_q1, theirs.lambda_q2, theirs.lambda_k1, theirs.lambda_k2),
        ],
    )
    mine[1:7] = [halves_first(one) for one in mine[1:7]]
    mine[-2:] = [*mine[-2], *mine[-1]]
    return largest_difference([found, *mine], [expected, *others])


def loops() -> float:
    r"""Both maps, their difference and its size from Python's own numbers."""
    module, given, mask = randomised(attention().double()), inputs(), with_idle()
    module.output = nn.Identity()
    q = module.query(given["query"]).tolist()
    k = module.key(given["key"]).tolist()
    v = module.value(given["value"]).tolist()
    products = (module.lambda_query * module.lambda_key).tolist()
    share = math.exp(sum(products[0])) - math.exp(sum(products[1]))
    start = 0.8 - 0.6 * math.exp(-0.3 * (DEPTH - 1))
    found, worst = module(**given, mask=mask).tolist(), 0.0
    for i in range(SEQ_LEN_Q):
        for b in range(BATCH_SIZE):
            seen = [j for j in range(SEQ_LEN_K) if mask[i, j, b]]
            for h in range(HEADS):
                maps = []
                for half in (range(D_HALF), range(D_HALF, D_K)):
                    scores = [sum(q[i][b][h][d] * k[j][b][h][d] for d in half) for j in seen]
                    weights = [math.exp(score / math.sqrt(D_HALF)) for score in scores]
                    maps.append([weight / sum(weights) for weight in weights])
                both = [one - (share + start) * other for one, other in zip(*maps, strict=True)]
                head = [
                    sum(w * v[j][b][h][d] for j, w in zip(seen, both, strict=True))
                    for d in range(D_K)
                ]
                size = math.sqrt(sum(x * x for x in head) / D_K + 1e-5)
                for d in range(D_K):
                    expected = (1 - start) * head[d] / size
                    worst = max(worst, abs(expected - found[i][b][h * D_K + d]))
    return worst


ORACLES: dict[str, Callable[[], float]] = {
    "Hugging Face DiffLlama": diff_llama,
    "a loop over scalars": loops,
}


@pytest.mark.parametrize("oracle", ORACLES)
def test_it_equals_what_others_compute(oracle: str) -> None:
    assert ORACLES[oracle]() < 1e-10


@pytest.mark.parametrize("check", SEAM)
def test_it_takes_the_place_of_other_attention(check: str) -> None:
    SEAM[check](attention)


@pytest.mark.parametrize("kernel", [True, False])
@pytest.mark.parametrize("mask", MASKS)
def test_both_ways_agree(mask: str, kernel: bool) -> None:
    module, given = randomised(attention().double()), inputs()
    variables = [*given.values(), *module.parameters()]
    assert module.fused
    module.kernel = kernel
    fused = module(**given, mask=MASKS[mask])
    module.fused = False
    readable = module(**given, mask=MASKS[mask])
    assert_near(fused, readable)
    found, expected = gradients(fused, variables), gradients(readable, variables)
    assert largest_difference(found, expected) < 1e-10


def test_the_fused_way_asks_the_kernel_twice_and_with_one_width(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    kernel, seen = torch.nn.functional.scaled_dot_product_attention, []

    def remember(q: Tensor, k: Tensor, v: Tensor, *more: float, **named: float) -> Tensor:
        seen.append((q.shape[-1], k.shape[-1], v.shape[-1], v.data_ptr()))
        return kernel(q, k, v, *more, **named)

    monkeypatch.setattr(torch.nn.functional, "scaled_dot_product_attention", remember)
    module = attention().double()
    module(**inputs())
    assert len(seen) == 2
    module.kernel = False
    module(**inputs())
    module.fused, module.kernel = False, True
    module(**inputs())
    assert module.attn is None
    assert len(seen) == 2
    assert seen[0] == seen[1]
    assert seen[0][:3] == (D_K, D_K, D_K)


def test_kept_weights_are_the_difference_and_their_rows_sum_to_what_is_left() -> None:
    module, given = randomised(attention().double()), inputs()
    module.keep_attn = True
    for _ in range(2):
        module(**given, mask=per_batch())
    left = 1 - module.subtracted_share()
    assert_near(module.attn.sum(dim=1), left.expand(SEQ_LEN_Q, BATCH_SIZE, HEADS))
    assert module.attn.min() < 0 < module.attn.max()
    value = module.value(given["value"])
    mean = torch.einsum("ijbh,jbhd->ibhd", module.attn, value)
    size = (mean.square().mean(dim=-1, keepdim=True) + module.eps).sqrt()
    module.output = nn.Identity()
    expected = (1 - module.lambda_init) * mean / size
    assert_near(module(**given, mask=per_batch()), expected.flatten(start_dim=2))


def test_weights_of_idle_queries_are_zero() -> None:
    module = attention().double()
    module.keep_attn = True
    module(**inputs(), mask=with_idle())
    assert not module.attn[2, :, 1].any()
    assert module.attn[2, :, 0].any()


@pytest.mark.parametrize("fused", [True, False])
def test_idle_queries_stay_finite_where_hidden_keys_are_huge(fused: bool) -> None:
    module, given = attention(), inputs(dtype=torch.float32)
    module.fused = fused
    given["query"], given["key"] = 1e4 * given["query"], 1e36 * given["key"]
    nothing = torch.zeros(1, SEQ_LEN_K, 1, dtype=torch.bool)
    output = module(**given, mask=nothing)
    assert torch.equal(output, module.output.bias.expand_as(output))


def test_an_error_names_what_is_wrong() -> None:
    given = inputs()
    with pytest.raises(ValueError, match=r"key \[7, 3, 44\] and value \[6, 3, 44\]"):
        attention().double()(**{**given, "value": given["value"][:-1]})


def test_what_both_maps_share_cancels() -> None:
    module, given = attention().double(), inputs()
    with torch.no_grad():
        for part in (module.query.linear, module.key.linear):
            for whole in (part.weight, part.bias):
                rows = whole.unflatten(0, (HEADS, 2, D_HALF))
                rows[:, 1] = rows[:, 0]
        module.lambda_query.zero_()
    module.lambda_init = 1.0
    module.keep_attn = True
    module(**given)
    assert_near(module.attn, torch.zeros_like(module.attn))


def test_each_head_has_the_same_size_however_loud_its_values() -> None:
    module, given = attention(eps=0.0).double(), inputs()
    module.output = nn.Identity()
    heads = module(**given).unflatten(-1, (HEADS, D_K))
    size = heads.square().mean(dim=-1).sqrt()
    assert_near(size, torch.full_like(size, 1 - first_lambda(DEPTH)))
    module.value.linear.weight.data *= 100
    module.value.linear.bias.data *= 100
    assert_near(module(**given).unflatten(-1, (HEADS, D_K)), heads)


@pytest.mark.parametrize("depth", [1, 2, 5, 28])
def test_the_first_lambda_is_that_of_others(depth: int) -> None:
    assert first_lambda(depth) == pytest.approx(lambda_init_fn(depth - 1))
    assert attention(depth=depth).lambda_init == first_lambda(depth)


def test_a_layer_is_the_first_unless_told_otherwise() -> None:
    assert DifferentialAttention(HEADS, D_MODEL).lambda_init == first_lambda(1)


def test_the_first_lambda_goes_from_one_fifth_to_four() -> None:
    assert first_lambda(1) == pytest.approx(0.2)
    assert first_lambda(100) == pytest.approx(0.8)
    with pytest.raises(ValueError, match="counted from 1, got depth=0"):
        first_lambda(0)


def test_lambda_starts_near_the_first_one() -> None:
    torch.manual_seed(9)
    shares = torch.stack([attention().subtracted_share() for _ in range(200)])
    assert shares.mean().item() == pytest.approx(first_lambda(DEPTH), abs=0.02)
    assert 0.03 < shares.std().item() < 0.07
    made = [attention() for _ in range(50)]
    for name in ("lambda_query", "lambda_key"):
        vectors = torch.stack([getattr(one, name) for one in made])
        assert vectors.std().item() == pytest.approx(0.1, abs=0.02)


@pytest.mark.parametrize(("heads", "d_model"), [(2, 6), (3, 9)])
def test_a_width_without_halves_is_refused(heads: int, d_model: int) -> None:
    with pytest.raises(ValueError, match=f"twice the heads, got d_model={d_model} and"):
        DifferentialAttention(heads, d_model)


def test_the_parameters_are_those_of_attention_and_four_vectors() -> None:
    plain = MultiHeadAttention(HEADS, D_MODEL).state_dict()
    expected = {name: tuple(p.shape) for name, p in plain.items()}
    expected |= {"lambda_query": (2, D_HALF), "lambda_key": (2, D_HALF)}
    assert {name: tuple(p.shape) for name, p in attention().state_dict().items()} == expected
    assert not [name for name in attention(bias=False).state_dict() if name.endswith("bias")]


def test_the_parts_for_the_transformer_know_their_depths() -> None:
    parts = in_transformer(d_model=D_MODEL, heads=2 * HEADS, seq_len=7, dropout_prob=0.3)
    assert list(parts) == ["self_attn"]
    made = [parts["self_attn"]() for _ in range(3)]
    assert [type(one) for one in made] == [DifferentialAttention] * 3
    assert [one.lambda_init for one in made] == [first_lambda(depth) for depth in (1, 2, 3)]
    assert (made[0].d_k, made[0].dropout.p) == (D_K, 0.3)
    single = in_transformer(d_model=D_MODEL, heads=1, dropout_prob=0.0)["self_attn"]()
    assert single.d_k == D_MODEL


def test_the_example_hides_a_position_and_shows_the_sums_of_rows() -> None:
    torch.manual_seed(8)
    fused, readable, row_sums = differential_attention.example(7, 11, 3, 5, 2)
    assert fused.shape == readable.shape == (7, 3, 20)
    assert row_sums.shape == (7, 3, 5)
    assert_near(row_sums, row_sums[:1, :1, :1].expand_as(row_sums), 1e-5)
