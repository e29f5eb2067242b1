import math
from functools import partial

import pytest
import torch
import torch.nn.functional as F
from torch import nn
from transformers.models.qwen3.configuration_qwen3 import Qwen3Config
from transformers.models.qwen3.modeling_qwen3 import Qwen3Attention

from labml_nn.transformers.variants.query_key_norm import QueryKeyNormAttention
from tests.labml_nn.transformers import seam
from tests.labml_nn.transformers.seam import D_K, D_MODEL, HEADS, at_the_seam, equals

attention = partial(QueryKeyNormAttention, HEADS, D_MODEL)


def qwen3() -> float:
    theirs = Qwen3Attention(Qwen3Config(**seam.CONFIG, rms_norm_eps=0.01), layer_idx=0)
    names = seam.PARTS | {"query.norm": "q_norm", "key.norm": "k_norm"}
    return seam.from_hugging_face(seam.randomised(attention(eps=0.01)), theirs, names)


def pytorch() -> float:
    r"""The paper's own form: vectors of length one, and a temperature instead of the root."""
    ours, temperature = attention(eps=0.0).double().eval(), 3.7
    for part in (ours.query, ours.key):
        nn.init.constant_(part.norm.weight, math.sqrt(temperature / math.sqrt(D_K)))
    normalised = partial(F.normalize, dim=-1)
    return seam.from_kernel(ours, seam.some_mask(), changed=normalised, scale=temperature)


ORACLES = {
    "Hugging Face Qwen3": qwen3,
    "scaled_dot_product_attention of normalised vectors": pytorch,
}
test_it_equals_what_others_compute = equals(ORACLES)
test_at_the_seam = at_the_seam(attention, {"query.norm.weight": (D_K,), "key.norm.weight": (D_K,)})


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


def test_the_usual_epsilon_is_that_of_qwen() -> None:
    assert attention().query.norm.eps == attention().key.norm.eps == Qwen3Config().rms_norm_eps


@pytest.mark.parametrize(
    ("factor", "plain", "weight"), [(1, [17.7, 17.0], 0.67), (3, [159.1, 152.7], 0.998)]
)
def test_lengths_decide_the_weights_until_they_are_normalised(
    factor: int, plain: list[float], weight: float
) -> None:
    query, keys = factor * torch.tensor([3.0, 4]), factor * torch.tensor([[3.0, 4], [4, 3]])
    scores = keys @ query / 2**0.5
    assert scores.tolist() == pytest.approx(plain, abs=0.05)
    assert scores.softmax(0)[0].item() == pytest.approx(weight, abs=0.005)
    norm = nn.RMSNorm(2, 1e-6)
    scores = norm(keys) @ norm(query) / 2**0.5
    assert scores.tolist() == pytest.approx([1.41, 1.36], abs=0.005)
    assert scores.softmax(0)[0].item() == pytest.approx(0.51, abs=0.005)


def test_a_head_with_large_features_leaves_the_others_as_they_are() -> None:
    module, x = seam.randomised(attention(eps=0.0)), seam.text()
    before = module.key(x)
    with torch.no_grad():
        module.key.linear.weight[:D_K] *= 100
        module.key.linear.bias[:D_K] *= 100
    torch.testing.assert_close(module.key(x), before)
