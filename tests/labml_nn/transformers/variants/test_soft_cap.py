r"""Capped scores, against Gemma 2 and loops over numbers."""

import math
from collections.abc import Callable

import pytest
import torch
from torch import nn
from transformers.models.gemma2.configuration_gemma2 import Gemma2Config
from transformers.models.gemma2.modeling_gemma2 import Gemma2Attention

from labml_nn.transformers.mha import causal_mask
from labml_nn.transformers.variants import soft_cap as page
from labml_nn.transformers.variants.soft_cap import SoftCapAttention, in_transformer, soft_cap
from tests.labml_nn.transformers.variants import seam
from tests.labml_nn.transformers.variants.seam import BATCH_SIZE, D_K, D_MODEL, HEADS
from tests.oracles.compare import largest
from tests.oracles.hugging_face import added_mask

# Most scores are beyond it.
CAP = 0.7


def attention(cap: float = CAP) -> SoftCapAttention:
    r"""With a low cap."""
    return SoftCapAttention(HEADS, D_MODEL, cap=cap)


def gemma2() -> float:
    r"""Gemma 2's attention, weight for weight, without its rotation."""
    config = Gemma2Config(
        hidden_size=D_MODEL,
        num_attention_heads=HEADS,
        num_key_value_heads=HEADS,
        head_dim=D_K,
        query_pre_attn_scalar=D_K,
        attention_bias=True,
        attn_logit_softcapping=CAP,
        attn_implementation="eager",
    )
    ours = seam.randomised(attention())
    theirs = Gemma2Attention(config, layer_idx=1).double().eval()
    names = {"query.linear": "q_proj", "key.linear": "k_proj", "value.linear": "v_proj"}
    seam.copied(ours, theirs, names | {"output": "o_proj"})
    given, mask = seam.sequence(), causal_mask(seam.SEQ_LEN_K)
    x = given["query"]
    with seam.all_in_double():
        turn = seam.not_turned(seam.SEQ_LEN_K, D_K)
        expected, _ = theirs(x.transpose(0, 1), turn, added_mask(mask))
    return largest(
        seam.found_and_gradients(ours(**given, mask=mask), ours, x),
        seam.found_and_gradients(expected.transpose(0, 1), theirs, x),
    )


def loops() -> float:
    r"""Each score from Python's own numbers, and those of hidden keys left out."""
    module, given, mask = seam.randomised(attention()), seam.inputs(), seam.per_batch()
    module.output = nn.Identity()
    parts = zip((module.query, module.key, module.value), given.values(), strict=True)
    q, k, v = (part(x).tolist() for part, x in parts)
    found, worst = module(**given, mask=mask).tolist(), 0.0
    for i in range(seam.SEQ_LEN_Q):
        for b in range(BATCH_SIZE):
            seen = [j for j in range(seam.SEQ_LEN_K) if mask[i, j, b]]
            for h in range(HEADS):
                weights = {}
                for j in seen:
                    product = sum(x * y for x, y in zip(q[i][b][h], k[j][b][h], strict=True))
                    weights[j] = math.exp(CAP * math.tanh(product / math.sqrt(D_K) / CAP))
                for d in range(D_K):
                    mean = sum(weights[j] * v[j][b][h][d] for j in seen) / sum(weights.values())
                    worst = max(worst, abs(mean - found[i][b][h * D_K + d]))
    return worst


ORACLES: dict[str, Callable[[], float]] = {
    "Hugging Face Gemma 2": gemma2,
    "a loop over scalars": loops,
}


@pytest.mark.parametrize("oracle", ORACLES)
def test_it_equals_what_others_compute(oracle: str) -> None:
    assert ORACLES[oracle]() < 1e-10


@pytest.mark.parametrize("check", seam.SEAM)
def test_it_takes_the_place_of_other_attention(check: Callable[[seam.Make], None]) -> None:
    check(attention)


def test_the_parameters_are_those_of_attention() -> None:
    seam.check_parameters(attention, {})


def test_the_table_of_the_page() -> None:
    scores = torch.tensor([1.0, 10, 50, 100, 1000], dtype=torch.float64, requires_grad=True)
    capped = soft_cap(scores, 50.0)
    capped.sum().backward()
    assert [round(x, 2) for x in capped.tolist()] == [1.0, 9.87, 38.08, 48.2, 50.0]
    assert [round(x, 3) for x in scores.grad.tolist()] == [1.0, 0.961, 0.42, 0.071, 0.0]
    three = torch.tensor([100.0, 90, 10])
    assert [round(x, 5) for x in three.softmax(0).tolist()] == [0.99995, 0.00005, 0]
    assert [round(x, 2) for x in soft_cap(three, 50.0).softmax(0).tolist()] == [0.7, 0.3, 0]


def test_the_answers_of_the_exercises() -> None:
    scores = torch.tensor([3.0, 4.0], dtype=torch.float64)
    lost = (scores - soft_cap(scores, 50.0)).tolist()
    assert [round(x, 3) for x in lost] == [0.004, 0.009]
    eight = torch.tensor([-1e9] + [1e9] * 7, dtype=torch.float64)
    assert round(soft_cap(eight, 2.0).softmax(0)[0].item(), 4) == 0.0026
    hidden = soft_cap(torch.tensor([1.0, 2.0, -math.inf]), 2.0)
    assert [round(x, 2) for x in hidden.tolist()] == [0.92, 1.52, -2.0]
    assert round(hidden.softmax(0)[2].item(), 2) == 0.02


@pytest.mark.parametrize("cap", [0.0, -50.0, math.nan])
def test_a_cap_that_is_not_positive_is_refused(cap: float) -> None:
    with pytest.raises(ValueError, match=f"must be positive, got {cap}"):
        attention(cap)


def test_the_cap_of_gemma_is_the_default_and_a_lower_one_is_for_the_small_transformer() -> None:
    assert SoftCapAttention(HEADS, D_MODEL).cap == Gemma2Config().attn_logit_softcapping
    parts = in_transformer(d_model=D_MODEL, heads=HEADS, seq_len=7, dropout_prob=0.5)
    assert seam.check_part_for_the_transformer(parts, SoftCapAttention).cap == 5.0


def test_the_example_has_the_table() -> None:
    assert [round(x, 2) for x in page.example()[0].tolist()] == [1.0, 9.87, 38.08, 48.2, 50.0]
