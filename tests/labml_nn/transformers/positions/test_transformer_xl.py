import math
from functools import partial

import torch
from transformers import XLNetConfig
from transformers.models.xlnet.modeling_xlnet import XLNetRelativeAttention

from labml_nn.transformers.positions.transformer_xl import TransformerXLAttention
from tests.labml_nn.transformers import seam
from tests.labml_nn.transformers.positions.at_the_seam import check_decoding
from tests.labml_nn.transformers.seam import BATCH_SIZE, D_K, D_MODEL, HEADS, SEQ_LEN_K, SEQ_LEN_Q
from tests.oracles.compare import difference

attention = partial(TransformerXLAttention, HEADS, D_MODEL)


def waves(distance: int) -> list[float]:
    angles = [distance * 10_000 ** (-2 * i / D_MODEL) for i in range(D_MODEL // 2)]
    return [math.sin(angle) for angle in angles] + [math.cos(angle) for angle in angles]


def xlnet() -> float:
    r"""It came after Transformer-XL and has the same scores, in both directions."""
    module, given, mask = seam.randomised(attention()), seam.inputs(), seam.some_mask()
    config = XLNetConfig(d_model=D_MODEL, n_head=HEADS, d_inner=1, dropout=0.0)
    other = XLNetRelativeAttention(config).double()
    other.r_w_bias, other.r_r_bias = module.content_bias, module.distance_bias
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
    variables = [*given.values(), *module.parameters()]
    return difference(module(**given, mask=mask), expected, variables, variables)


ORACLES = {"Hugging Face XLNet": xlnet}
test_it_equals_what_others_compute = seam.equals(ORACLES)
test_at_the_seam = seam.at_the_seam(
    attention,
    {
        "content_bias": (HEADS, D_K),
        "distance_bias": (HEADS, D_K),
        "distance.linear.weight": (D_MODEL, D_MODEL),
    },
    and_also=(check_decoding,),
)


def test_the_biases_start_small() -> None:
    torch.manual_seed(1)
    module = TransformerXLAttention(HEADS, D_MODEL)
    both = torch.stack([module.content_bias, module.distance_bias])
    assert 0.01 < both.std() < 0.03
