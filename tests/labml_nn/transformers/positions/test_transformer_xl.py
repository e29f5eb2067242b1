r"""Transformer-XL's scores against loops, against Hugging Face, and against the page's claims."""

import math
from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor
from transformers import XLNetConfig
from transformers.models.xlnet.modeling_xlnet import XLNetRelativeAttention

from labml_nn.transformers.positions.transformer_xl import TransformerXLAttention
from tests.labml_nn.transformers import seam
from tests.labml_nn.transformers.positions.at_the_seam import POSITIONS
from tests.labml_nn.transformers.seam import BATCH_SIZE, D_K, D_MODEL, HEADS, SEQ_LEN_K, SEQ_LEN_Q
from tests.oracles.compare import difference

attention = partial(TransformerXLAttention, HEADS, D_MODEL)


def waves(distance: int) -> list[float]:
    r"""The sines of a distance, and then the cosines."""
    angles = [distance * 10_000 ** (-2 * i / D_MODEL) for i in range(D_MODEL // 2)]
    return [math.sin(angle) for angle in angles] + [math.cos(angle) for angle in angles]


def loops() -> float:
    r"""The four parts of the page's formula, pair by pair."""
    module = seam.randomised(attention())

    def score(q: Tensor, k: Tensor, i: int, j: int, h: int) -> Tensor:
        wave = torch.tensor(waves(i - j), dtype=torch.float64)
        r = module.distance.linear.weight[h * D_K : (h + 1) * D_K] @ wave
        content, distance = module.content_bias[h], module.distance_bias[h]
        return (q @ k + q @ r + content @ k + distance @ r) / math.sqrt(D_K)

    return seam.from_loops(module, seam.some_mask(), score)


def xlnet() -> float:
    r"""It came after Transformer-XL and has the same scores, in both directions."""
    module, given, mask = seam.randomised(attention()), seam.inputs(), seam.some_mask()
    config = XLNetConfig(d_model=D_MODEL, n_head=HEADS, d_inner=1, dropout=0.0)
    other = XLNetRelativeAttention(config).double()
    other.r_w_bias.data, other.r_r_bias.data = (
        part.data.clone() for part in (module.content_bias, module.distance_bias)
    )
    q, k, v = (
        part.linear(x).unflatten(-1, (HEADS, D_K))
        for part, x in zip((module.query, module.key, module.value), given.values(), strict=True)
    )

    # From the longest distance on, and one more that is not used.
    r = torch.tensor(
        [waves(distance) for distance in range(SEQ_LEN_K, -SEQ_LEN_Q, -1)], dtype=torch.float64
    )
    r = module.distance.linear(r).unflatten(-1, (HEADS, D_K)).unsqueeze(1)
    r = r.expand(-1, BATCH_SIZE, -1, -1)
    mean = other.rel_attn_core(q, k, v, r, attn_mask=(~mask.unsqueeze(-1)).double())
    expected = module.output(mean.flatten(start_dim=2))
    ours = [module.content_bias, module.distance_bias]
    named = module.named_parameters()
    shared = [*given.values(), *(p for name, p in named if "_bias" not in name)]
    return difference(
        module(**given, mask=mask),
        expected,
        [*shared, *ours],
        [*shared, other.r_w_bias, other.r_r_bias],
    )


ORACLES: dict[str, Callable[[], float]] = {
    "a loop over scalars": loops,
    "Hugging Face XLNet": xlnet,
}
test_it_equals_what_others_compute = seam.equals(ORACLES)
test_at_the_seam = seam.at_the_seam(
    attention,
    {
        "content_bias": (HEADS, D_K),
        "distance_bias": (HEADS, D_K),
        "distance.linear.weight": (D_MODEL, D_MODEL),
    },
    and_also=POSITIONS,
)


def test_the_biases_start_small() -> None:
    torch.manual_seed(1)
    module = TransformerXLAttention(HEADS, D_MODEL)
    both = torch.stack([module.content_bias, module.distance_bias])
    assert 0.01 < both.std() < 0.03
