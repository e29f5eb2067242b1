from functools import partial

import torch
from torch import Tensor, nn
from transformers import DeepseekV3Config
from transformers.models.deepseek_v3.modeling_deepseek_v3 import DeepseekV3Attention

from labml_nn.transformers.memory.latent_attention import LatentAttention
from labml_nn.transformers.mha import causal_mask
from tests.labml_nn.transformers import seam
from tests.labml_nn.transformers.seam import D_K, D_MODEL, HEADS, SEQ_LEN_K, at_the_seam, equals
from tests.oracles.compare import difference

SIZES = {"d_latent": 13, "d_rotary": 4, "max_len": 11}


attention = partial(LatentAttention, HEADS, D_MODEL, **SIZES)


def key_and_value(module: LatentAttention) -> Tensor:
    r"""In ours all keys come first, in theirs a head's key and value stand together."""
    split = [one.linear.weight.unflatten(0, (HEADS, D_K)) for one in (module.key, module.value)]
    return torch.cat(split, dim=1).flatten(end_dim=1)


def from_deepseek() -> float:
    module, x = seam.randomised(attention()), seam.text()
    config = DeepseekV3Config(
        **seam.CONFIG | {"attention_bias": False},
        q_lora_rank=None,
        kv_lora_rank=SIZES["d_latent"],
        qk_rope_head_dim=SIZES["d_rotary"],
        qk_nope_head_dim=D_K,
        v_head_dim=D_K,
        rope_interleave=False,
    )
    other = DeepseekV3Attention(config, 0).double().eval()
    # DeepSeek's own normalisation rounds to 32 bits on the way; PyTorch's doesn't.
    other.kv_a_layernorm = nn.RMSNorm(SIZES["d_latent"], eps=1e-6).double()
    weights = {
        "q_proj.weight": module.query.linear.weight,
        "kv_a_proj_with_mqa.weight": module.compress.weight,
        "kv_a_layernorm.weight": module.norm.weight,
        "kv_b_proj.weight": key_and_value(module),
        "o_proj.weight": module.output.weight,
    }
    other.load_state_dict({name: weight.detach() for name, weight in weights.items()})
    # A cosine and a sine for each feature: pairs are half the width apart.
    cos, sin = (
        torch.cat([t, t], dim=-1)[None, :SEQ_LEN_K] for t in (module.rotate.cos, module.rotate.sin)
    )
    theirs = dict(other.named_parameters())
    return difference(
        seam.attend(module, x, causal_mask(SEQ_LEN_K)),
        seam.by_hugging_face(other, x, (cos, sin)),
        [x, weights["q_proj.weight"], module.compress.weight, module.norm.weight],
        [x, *(theirs[name] for name in list(weights)[:3])],
    )


ORACLES = {"Hugging Face DeepSeek-V3": from_deepseek}
test_it_equals_what_others_compute = equals(ORACLES)
test_at_the_seam = at_the_seam(attention)


def test_the_parameters_are_these() -> None:
    assert seam.shapes(attention()) == {
        "query.linear.weight": (HEADS * (D_K + 4), D_MODEL),
        "key.linear.weight": (D_MODEL, 13),
        "value.linear.weight": (D_MODEL, 13),
        "compress.weight": (13 + 4, D_MODEL),
        "norm.weight": (13,),
        "output.weight": (D_MODEL, D_MODEL),
    }
