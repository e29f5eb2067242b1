from functools import partial

import torch
import torch.nn.functional as F
from transformers import GptOssConfig
from transformers.models.gpt_oss.modeling_gpt_oss import GptOssAttention

from labml_nn.transformers.memory.learned_sink import LearnedSinkAttention
from tests.labml_nn.transformers import seam
from tests.labml_nn.transformers.seam import D_K, D_MODEL, HEADS, at_the_seam, equals

attention = partial(LearnedSinkAttention, HEADS, D_MODEL)


def from_gpt_oss() -> float:
    config = GptOssConfig(**seam.CONFIG, num_hidden_layers=1, layer_types=["full_attention"])
    ours, theirs = seam.randomised(attention()), GptOssAttention(config, 0).double()
    theirs.sinks.data.copy_(ours.sinks)
    return seam.from_hugging_face(ours, theirs, angles=seam.no_turn(D_K // 2))


ORACLES = {"Hugging Face gpt-oss": from_gpt_oss}
test_it_equals_what_others_compute = equals(ORACLES)
test_at_the_seam = at_the_seam(attention, {"sinks": (HEADS,)})


def test_two_biases_do_what_a_value_of_the_sink_would() -> None:
    module, x = seam.randomised(attention()), seam.text()
    before, value = seam.attend(module, x), torch.randn(HEADS, D_K, dtype=torch.float64)
    gone = 1 - module.attn.sum(dim=1)
    expected = before + F.linear((gone[..., None] * value).flatten(2), module.output.weight)
    with torch.no_grad():
        module.value.linear.bias -= value.flatten()
        module.output.bias += module.output.weight @ value.flatten()
    torch.testing.assert_close(seam.attend(module, x), expected)


def test_sinks_start_at_zero() -> None:
    assert not attention().sinks.any()
