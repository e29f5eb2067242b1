import math
from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor
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


def test_the_usual_cap_is_that_of_gemma() -> None:
    assert SoftCapAttention(HEADS, D_MODEL).cap == Gemma2Config().attn_logit_softcapping


def squared_distance(weights: Tensor) -> Tensor:
    return (weights - torch.tensor([0.0, 1.0, 0.0])).square().sum()


def steps_until_half(
    bend: Callable,
    kind: type[torch.optim.Optimizer],
    rate: float,
    loss: Callable[[Tensor], Tensor] = squared_distance,
) -> int:
    r"""How many steps the second of three scores needs for half of the weight."""
    scores = torch.tensor([100.0, 90.0, 10.0], requires_grad=True)
    optimizer = kind([scores], lr=rate)
    for step in range(5000):
        weights = bend(scores).softmax(dim=0)
        if weights[1] > 0.5:
            return step
        optimizer.zero_grad()
        loss(weights).backward()
        optimizer.step()
    return 5000


def test_a_cap_helps_gradient_descent_and_not_adam() -> None:
    capped = partial(soft_cap, cap=50.0)
    assert 2700 < steps_until_half(torch.clone, torch.optim.SGD, 1.0) < 2900
    assert 90 < steps_until_half(capped, torch.optim.SGD, 1.0) < 110
    assert 40 < steps_until_half(torch.clone, torch.optim.Adam, 0.1) < 50
    assert 45 < steps_until_half(capped, torch.optim.Adam, 0.1) < 55


def test_a_loss_of_the_weight_s_logarithm_needs_no_cap() -> None:
    sgd = partial(steps_until_half, kind=torch.optim.SGD, rate=1.0, loss=lambda w: -w[1].log())
    assert (sgd(torch.clone), sgd(partial(soft_cap, cap=50.0))) == (6, 99)
