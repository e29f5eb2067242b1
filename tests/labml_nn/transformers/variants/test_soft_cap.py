import math
from functools import partial

import torch
from transformers.models.gemma2.configuration_gemma2 import Gemma2Config
from transformers.models.gemma2.modeling_gemma2 import Gemma2Attention

from labml_nn.transformers.variants.soft_cap import SoftCapAttention, soft_cap
from tests.labml_nn.transformers import seam
from tests.labml_nn.transformers.seam import D_K, D_MODEL, HEADS, at_the_seam, equals

# Most scores are beyond it.
CAP = 0.7
attention = partial(SoftCapAttention, HEADS, D_MODEL, cap=CAP)


def gemma2() -> float:
    config = Gemma2Config(**seam.CONFIG, query_pre_attn_scalar=D_K, attn_logit_softcapping=CAP)
    theirs = Gemma2Attention(config, layer_idx=1)
    return seam.from_hugging_face(seam.randomised(attention()), theirs)


ORACLES = {"Hugging Face Gemma 2": gemma2}
test_it_equals_what_others_compute = equals(ORACLES)
test_at_the_seam = at_the_seam(attention, {})
test_a_cap_that_is_not_positive_is_refused = seam.refuses(
    attention, "must be positive, got ", [{"cap": cap} for cap in (0.0, -50.0, math.nan)]
)


def test_the_table_of_the_page_and_the_cap_of_gemma() -> None:
    assert SoftCapAttention(HEADS, D_MODEL).cap == Gemma2Config().attn_logit_softcapping
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
