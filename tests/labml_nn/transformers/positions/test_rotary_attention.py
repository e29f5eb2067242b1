from functools import partial

import torch
from transformers import LlamaConfig
from transformers.models.llama.modeling_llama import LlamaAttention

from labml_nn.transformers.positions.rotary_attention import RotaryAttention
from labml_nn.transformers.rotary import RotaryPositions, inverse_frequencies
from tests.labml_nn.transformers import seam
from tests.labml_nn.transformers.positions.at_the_seam import check_decoding
from tests.labml_nn.transformers.seam import D_K, D_MODEL, HEADS, SEQ_LEN_K, at_the_seam, equals

ROTARY = RotaryPositions(inverse_frequencies(D_K), 29)
# Its table has single precision; here it is as exact as what it is compared with.
ANGLES = torch.arange(29, dtype=torch.float64)[:, None] * inverse_frequencies(D_K)
ROTARY.cos, ROTARY.sin = ANGLES.cos(), ANGLES.sin()
attention = partial(RotaryAttention, HEADS, D_MODEL, rotary=ROTARY)


def llama() -> float:
    turns = torch.arange(SEQ_LEN_K)[:, None] / 10_000 ** (torch.arange(0, D_K, 2).double() / D_K)
    turns = turns.repeat(1, 2)[None]
    theirs = LlamaAttention(LlamaConfig(**seam.CONFIG), layer_idx=0)
    angles = (turns.cos(), turns.sin())
    return seam.from_hugging_face(seam.randomised(attention()), theirs, angles=angles)


ORACLES = {"Hugging Face Llama": llama}
test_it_equals_what_others_compute = equals(ORACLES)
test_at_the_seam = at_the_seam(attention, {}, and_also=(check_decoding,))
