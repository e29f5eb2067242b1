r"""Normalised queries and keys, against Qwen3's and the paper's own form."""

import math
from collections.abc import Callable
from functools import partial

import pytest
import torch
import torch.nn.functional as F
from torch import nn
from transformers.models.qwen3.configuration_qwen3 import Qwen3Config
from transformers.models.qwen3.modeling_qwen3 import Qwen3Attention

from labml_nn.transformers.mha import MultiHeadAttention
from labml_nn.transformers.rms_norm import rms_norm
from labml_nn.transformers.variants import query_key_norm as page
from labml_nn.transformers.variants.query_key_norm import (
    NormalisedProjection,
    QueryKeyNormAttention,
    in_transformer,
)
from tests.labml_nn.transformers import seam
from tests.labml_nn.transformers.seam import D_K, D_MODEL, HEADS, at_the_seam, equals
from tests.oracles.compare import difference, largest

attention = partial(QueryKeyNormAttention, HEADS, D_MODEL)


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
    names = seam.PARTS | {"query.norm": "q_norm", "key.norm": "k_norm"}
    return seam.from_hugging_face(
        seam.randomised(attention(eps=0.01)), Qwen3Attention(config, layer_idx=0), names
    )


def pytorch() -> float:
    r"""The paper's own form: vectors of length one, and a temperature instead of the root."""
    ours, given, temperature = attention(eps=0.0).double().eval(), seam.inputs(), 3.7
    for part in (ours.query, ours.key):
        nn.init.constant_(part.norm.weight, math.sqrt(temperature / math.sqrt(D_K)))
    parts = zip((ours.query, ours.key, ours.value), given.values(), strict=True)
    q, k, v = (p.linear(x).unflatten(-1, (HEADS, D_K)).permute(1, 2, 0, 3) for p, x in parts)
    q, k = F.normalize(q, dim=-1), F.normalize(k, dim=-1)
    mask = seam.some_mask().permute(2, 0, 1).unsqueeze(1)
    mean = F.scaled_dot_product_attention(q, k, v, mask, scale=temperature)
    expected = ours.output(mean.permute(2, 0, 1, 3).flatten(start_dim=2))
    linear = [ours.query.linear, ours.key.linear, ours.value.linear, ours.output]
    variables = [*given.values(), *(p for layer in linear for p in layer.parameters())]
    return difference(ours(**given, mask=seam.some_mask()), expected, variables, variables)


ORACLES: dict[str, Callable[[], float]] = {
    "Hugging Face Qwen3": qwen3,
    "scaled_dot_product_attention of normalised vectors": pytorch,
}
test_it_equals_what_others_compute = equals(ORACLES)
test_at_the_seam = at_the_seam(attention, {"query.norm.weight": (D_K,), "key.norm.weight": (D_K,)})


def test_the_eps_is_that_of_qwen3_unless_asked_otherwise() -> None:
    assert attention().query.norm.eps == attention().key.norm.eps == Qwen3Config().rms_norm_eps


def test_longer_queries_and_keys_change_nothing_and_longer_values_do() -> None:
    module, given = attention(eps=0.0).double().eval(), seam.inputs()
    expected = module(**given)
    for part in (module.query, module.key):
        part.linear.weight.data *= 100
        part.linear.bias.data *= 100
    assert largest([module(**given)], [expected]) < 1e-10
    module.value.linear.weight.data *= 100
    assert largest([module(**given)], [expected]) > 1


def test_a_head_with_large_features_does_not_change_the_others() -> None:
    projection = NormalisedProjection(D_MODEL, HEADS, D_K, bias=False, eps=0.0).double()
    x = seam.inputs()["query"]
    expected = projection(x)
    projection.linear.weight.data[:D_K] *= 100
    assert largest([projection(x)], [expected]) < 1e-10


def test_no_score_is_larger_than_the_bound_and_one_can_reach_it() -> None:
    module, given = seam.randomised(attention(eps=0.0)), seam.inputs()
    query = 1000 * given["query"]
    scores = module.get_scores(module.query(query) / math.sqrt(D_K), module.key(given["key"]))
    bound = module.largest_score().item()
    assert 0 < scores.abs().max().item() <= bound

    one = torch.zeros(D_K, dtype=torch.float64)
    one[(module.query.norm.weight * module.key.norm.weight).abs().argmax()] = 1.0
    reached = (module.query.norm(one) * module.key.norm(one)).sum().abs() / math.sqrt(D_K)
    assert reached.item() == pytest.approx(bound)


def test_the_table_of_the_page() -> None:
    torch.manual_seed(0)
    plain, x = MultiHeadAttention(4, 128), torch.randn(64, 1, 128)
    rows = []
    for factor in (1, 3, 10):
        q, k = factor * plain.query(x), factor * plain.key(x)
        row = [factor]
        for query, key in ((q, k), (rms_norm(q), rms_norm(k))):
            scores = plain.get_scores(query / math.sqrt(32), key)
            row.append(round(scores.abs().max().item(), 1))
            row.append(round(scores.softmax(dim=1).amax(dim=1).mean().item(), 2))
        rows.append(row)
    expected = [[1, 1.5, 0.03, 3.6, 0.1], [3, 13.3, 0.46, 3.6, 0.1], [10, 148.0, 0.94, 3.6, 0.1]]
    assert rows == [pytest.approx(row, abs=0.11) for row in expected]


def test_the_answers_of_the_exercises() -> None:
    def weight(score: float, others: int) -> float:
        return torch.tensor([score] + [0.0] * others).softmax(0)[0].item()

    found = [weight(math.sqrt(32), 63), weight(1.0, 63), weight(math.sqrt(32), 999)]
    assert [round(one, 2) for one in found] == [0.82, 0.04, 0.22]
    assert round(math.log2(64**2 - 64)) == 12


def test_the_part_for_the_transformer_is_this_attention() -> None:
    assert type(seam.made_for_the_transformer(in_transformer)) is QueryKeyNormAttention


def test_the_example_knows_its_bound() -> None:
    assert page.example()[1].item() == pytest.approx(math.sqrt(2))
