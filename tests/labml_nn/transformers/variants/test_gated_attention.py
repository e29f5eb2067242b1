from functools import partial

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from transformers.models.qwen3_next.configuration_qwen3_next import Qwen3NextConfig
from transformers.models.qwen3_next.modeling_qwen3_next import Qwen3NextAttention

from labml_nn.transformers.mha import MultiHeadAttention
from labml_nn.transformers.variants.gated_attention import GatedAttention
from tests.labml_nn.transformers import seam
from tests.labml_nn.transformers.seam import D_K, D_MODEL, HEADS
from tests.oracles.compare import largest

attention = partial(GatedAttention, HEADS, D_MODEL)


def qwen3_next() -> float:
    ours = seam.randomised(attention())
    theirs = Qwen3NextAttention(Qwen3NextConfig(**seam.CONFIG), layer_idx=0).double()
    theirs.q_norm, theirs.k_norm = nn.Identity(), nn.Identity()
    names = {"key.linear": "k_proj", "value.linear": "v_proj", "gated_output": "o_proj"}

    # Theirs has a head's query features, then its gate's, then those of the next head.
    def interleaved(query: Tensor, gate: Tensor) -> Tensor:
        both = [one.unflatten(0, (HEADS, D_K)) for one in (query, gate)]
        return torch.stack(both, dim=1).flatten(0, 2)

    query, gate = ours.query.linear, ours.gate
    theirs.q_proj.weight.data.copy_(interleaved(query.weight, gate.weight))
    theirs.q_proj.bias.data.copy_(interleaved(query.bias, gate.bias))

    return seam.from_hugging_face(ours, theirs, names)


ORACLES = {"Hugging Face Qwen3-Next": qwen3_next}
test_it_equals_what_others_compute = seam.equals(ORACLES)
test_at_the_seam = seam.at_the_seam(
    attention, {"gate.weight": (D_MODEL, D_MODEL), "gate.bias": (D_MODEL,)}
)


def test_without_biases_the_gate_has_none_either() -> None:
    assert not [name for name in attention(bias=False).state_dict() if "bias" in name]


def test_with_open_gates_it_is_plain_attention() -> None:
    module, plain = seam.randomised(attention()), MultiHeadAttention(HEADS, D_MODEL).double().eval()
    names = {name: name for name in ("query", "key", "value")}
    seam.copied(module, plain, names | {"gated_output": "output"})
    module.gate.bias.data.fill_(100.0)
    found, expected = (one(**seam.inputs(), mask=seam.some_mask()) for one in (module, plain))
    assert largest([found], [expected]) < 1e-10


def test_of_normalised_tokens_two_gates_in_three_start_around_a_half() -> None:
    x = F.layer_norm(torch.randn(1000, 128), (128,))
    gates = torch.sigmoid(GatedAttention(4, 128).gate(x))
    middle = ((0.36 < gates) & (gates < 0.64)).double().mean().item()
    assert middle == pytest.approx(2 / 3, abs=0.03)
