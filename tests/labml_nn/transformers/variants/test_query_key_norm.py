r"""Normalised queries and keys, against Qwen3, PyTorch's own functions and loops over numbers."""

import math
from collections.abc import Callable

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from transformers.models.qwen3.configuration_qwen3 import Qwen3Config
from transformers.models.qwen3.modeling_qwen3 import Qwen3Attention

from labml_nn.transformers.fast_attention import mean_of_values
from labml_nn.transformers.mha import causal_mask
from labml_nn.transformers.variants import query_key_norm
from labml_nn.transformers.variants.query_key_norm import (
    NormalisedProjection,
    QueryKeyNormAttention,
    first_temperature,
    gain_of,
    in_transformer,
    largest_weight,
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
)


def attention(**options: float) -> QueryKeyNormAttention:
    r"""In evaluation, as it is at the start."""
    return QueryKeyNormAttention(HEADS, D_MODEL, **options).eval()


def qwen3() -> float:
    r"""Qwen3's attention, weight for weight, without its rotation."""
    config = Qwen3Config(
        hidden_size=D_MODEL,
        num_attention_heads=HEADS,
        num_key_value_heads=HEADS,
        head_dim=D_K,
        attention_bias=True,
        rms_norm_eps=0.01,
        attn_implementation="eager",
    )
    ours = randomised(attention(eps=0.01).double())
    theirs = Qwen3Attention(config, layer_idx=0).double().eval()
    pairs = [
        (ours.query.linear, theirs.q_proj),
        (ours.key.linear, theirs.k_proj),
        (ours.value.linear, theirs.v_proj),
        (ours.output, theirs.o_proj),
        (ours.query.norm, theirs.q_norm),
        (ours.key.norm, theirs.k_norm),
    ]
    copied(pairs)
    given, mask = sequence(), causal_mask(SEQ_LEN_K)
    x = given["query"]
    with all_in_double():
        expected, _ = theirs(x.transpose(0, 1), not_turned(SEQ_LEN_K, D_K), added_mask(mask))
    expected = expected.transpose(0, 1)
    found = ours(**given, mask=mask)
    mine = [x, *(p for one, _ in pairs for p in one.parameters())]
    others = [x, *(p for _, other in pairs for p in other.parameters())]
    return largest_difference(
        [found, *gradients(found, mine)], [expected, *gradients(expected, others)]
    )


def pytorch() -> float:
    r"""The paper's own form: vectors of length one, and a temperature instead of the root."""
    torch.manual_seed(1)
    ours, given, temperature = attention(eps=0.0).double(), inputs(), 3.7
    for part in (ours.query, ours.key):
        nn.init.constant_(part.norm.gain, gain_of(temperature, D_K))
    q, k, v = (
        part.linear(x).unflatten(-1, (HEADS, D_K)).permute(1, 2, 0, 3)
        for part, x in zip((ours.query, ours.key, ours.value), given.values(), strict=True)
    )
    mean = F.scaled_dot_product_attention(
        F.normalize(q, dim=-1),
        F.normalize(k, dim=-1),
        v,
        per_batch().permute(2, 0, 1).unsqueeze(1),
        scale=temperature,
    )
    expected = ours.output(mean.permute(2, 0, 1, 3).flatten(start_dim=2))
    found = ours(**given, mask=per_batch())
    linear = [ours.query.linear, ours.key.linear, ours.value.linear, ours.output]
    variables = [*given.values(), *(p for part in linear for p in part.parameters())]
    return largest_difference(
        [found, *gradients(found, variables)], [expected, *gradients(expected, variables)]
    )


def loops() -> float:
    r"""Each score from Python's own numbers."""
    module, given, mask = randomised(attention().double()), inputs(), per_batch()
    module.output = nn.Identity()
    q = module.query.linear(given["query"]).unflatten(-1, (HEADS, D_K)).tolist()
    k = module.key.linear(given["key"]).unflatten(-1, (HEADS, D_K)).tolist()
    v = module.value.linear(given["value"]).unflatten(-1, (HEADS, D_K)).tolist()
    q_gain, k_gain = module.query.norm.gain.tolist(), module.key.norm.gain.tolist()
    found, worst = module(**given, mask=mask).tolist(), 0.0
    for i in range(SEQ_LEN_Q):
        for b in range(BATCH_SIZE):
            for h in range(HEADS):
                weights = []
                for j in range(SEQ_LEN_K):
                    q_size = math.sqrt(sum(x * x for x in q[i][b][h]) / D_K + 1e-6)
                    k_size = math.sqrt(sum(x * x for x in k[j][b][h]) / D_K + 1e-6)
                    score = sum(
                        q[i][b][h][d] / q_size * q_gain[d] * k[j][b][h][d] / k_size * k_gain[d]
                        for d in range(D_K)
                    )
                    weights.append(math.exp(score / math.sqrt(D_K)) * mask[i, j, b].item())
                for d in range(D_K):
                    mean = sum(w * v[j][b][h][d] for j, w in enumerate(weights)) / sum(weights)
                    worst = max(worst, abs(mean - found[i][b][h * D_K + d]))
    return worst


ORACLES: dict[str, Callable[[], float]] = {
    "Hugging Face Qwen3": qwen3,
    "scaled_dot_product_attention of normalised vectors": pytorch,
    "a loop over scalars": loops,
}


@pytest.mark.parametrize("oracle", ORACLES)
def test_it_equals_what_others_compute(oracle: str) -> None:
    assert ORACLES[oracle]() < 1e-10


@pytest.mark.parametrize("check", SEAM)
def test_it_takes_the_place_of_other_attention(check: str) -> None:
    SEAM[check](attention)


@pytest.mark.parametrize("mask", MASKS)
def test_both_ways_agree(mask: str) -> None:
    module, given = randomised(attention().double()), inputs()
    variables = [*given.values(), *module.parameters()]
    assert module.fused
    fused = module(**given, mask=MASKS[mask])
    module.fused = False
    readable = module(**given, mask=MASKS[mask])
    assert_near(fused, readable)
    found, expected = gradients(fused, variables), gradients(readable, variables)
    assert largest_difference(found, expected) < 1e-10


def test_the_fused_way_leaves_scores_to_the_kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    lengths = []

    def remember(query: Tensor, key: Tensor, *more: Tensor) -> Tensor:
        lengths.extend([query.norm(dim=-1), key.norm(dim=-1)])
        return mean_of_values(query, key, *more)

    monkeypatch.setattr("labml_nn.transformers.mha.mean_of_values", remember)
    attention(eps=0.0).double()(**inputs())
    assert_near(lengths[0], torch.ones_like(lengths[0]))
    assert_near(lengths[1], torch.full_like(lengths[1], math.sqrt(D_K)))


def test_louder_queries_and_keys_change_nothing_and_louder_values_do() -> None:
    module, given = attention(eps=0.0).double(), inputs()
    expected = module(**given)
    for part in (module.query, module.key):
        part.linear.weight.data *= 100
        part.linear.bias.data *= 100
    assert_near(module(**given), expected)
    module.value.linear.weight.data *= 100
    assert largest_difference([module(**given)], [expected]) > 1


def test_the_projection_is_normalised_last() -> None:
    projection = randomised(NormalisedProjection(D_MODEL, HEADS, D_K, True, eps=0.1).double())
    x = inputs()["query"]
    expected = F.rms_norm(projection.linear(x).unflatten(-1, (HEADS, D_K)), (D_K,), eps=0.1)
    assert_near(projection(x), expected * projection.norm.gain)


def test_a_loud_head_does_not_quieten_the_others() -> None:
    projection = NormalisedProjection(D_MODEL, HEADS, D_K, bias=False, eps=0.0).double()
    x = inputs()["query"]
    expected = projection(x)
    projection.linear.weight.data[:D_K] *= 100
    assert_near(projection(x), expected)


def test_no_score_is_larger_than_the_bound_and_some_reach_it() -> None:
    module = randomised(attention(eps=0.0).double())
    for part in (module.query, module.key):
        part.linear.weight.data *= 1000
    x = inputs()
    scores = module.get_scores(module.query(x["query"]) / math.sqrt(D_K), module.key(x["key"]))
    bound = module.largest_score().item()
    assert 0 < scores.abs().max().item() <= bound

    gains = module.query.norm.gain * module.key.norm.gain
    one = torch.zeros(D_K, dtype=torch.float64)
    one[gains.abs().argmax()] = 1.0
    normed = module.query.norm(one) * module.key.norm(one) / math.sqrt(D_K)
    assert normed.sum().abs().item() == pytest.approx(bound)


@pytest.mark.parametrize("temperature", [0.5, 7.0])
def test_equal_gains_are_a_temperature(temperature: float) -> None:
    module, given = attention(eps=0.0).double(), inputs()
    for part in (module.query, module.key):
        nn.init.constant_(part.norm.gain, gain_of(temperature, D_K))
    q, k = module.query(given["query"]), module.key(given["key"])
    found = module.get_scores(q / math.sqrt(D_K), k)
    cosines = torch.cosine_similarity(
        module.query.linear(given["query"]).unflatten(-1, (HEADS, D_K))[:, None],
        module.key.linear(given["key"]).unflatten(-1, (HEADS, D_K))[None],
        dim=-1,
    )
    assert_near(found, temperature * cosines)


def test_a_gain_of_one_is_the_root_of_the_width() -> None:
    assert gain_of(4.0, 16) == 1.0


def test_the_first_temperature_is_that_of_the_paper() -> None:
    assert first_temperature(2) == 1.0
    assert first_temperature(100) == pytest.approx(math.log(9900) / math.log(2))
    with pytest.raises(ValueError, match="length of at least 2, got 1"):
        first_temperature(1)


@pytest.mark.parametrize("temperature", [1.0, 5.0])
def test_the_sharpest_softmax_is_that_of_opposite_keys(temperature: float) -> None:
    scores = torch.full((1000,), -temperature, dtype=torch.float64)
    scores[3] = temperature
    expected = scores.softmax(dim=0)[3].item()
    assert largest_weight(temperature, 1000) == pytest.approx(expected)
    assert largest_weight(1.0, 1000) < 0.01


def test_the_parameters_are_those_of_attention_and_two_gains() -> None:
    square, row, feature = (D_MODEL, D_MODEL), (D_MODEL,), (D_K,)
    assert {name: tuple(p.shape) for name, p in attention().state_dict().items()} == {
        "query.linear.weight": square,
        "query.linear.bias": row,
        "query.norm.gain": feature,
        "key.linear.weight": square,
        "key.linear.bias": row,
        "key.norm.gain": feature,
        "value.linear.weight": square,
        "value.linear.bias": row,
        "output.weight": square,
        "output.bias": row,
    }
    assert not [name for name in attention(bias=False).state_dict() if name.endswith("bias")]


def test_the_part_for_the_transformer_is_this_attention() -> None:
    parts = in_transformer(d_model=D_MODEL, heads=HEADS, seq_len=7, dropout_prob=0.3)
    assert list(parts) == ["self_attn"]
    made = parts["self_attn"]()
    assert type(made) is QueryKeyNormAttention
    assert (made.d_k, made.dropout.p) == (D_K, 0.3)
    assert made is not parts["self_attn"]()


def test_the_example_shows_two_temperatures() -> None:
    torch.manual_seed(8)
    started, tempered = query_key_norm.example(7, 3, 5, 2)
    assert started.shape == tempered.shape == (7, 3, 10)
    assert not torch.equal(started, tempered)
