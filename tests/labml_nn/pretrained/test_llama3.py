import json
from functools import partial
from pathlib import Path

import pytest
import torch
from torch import nn
from transformers import LlamaConfig
from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS

from labml_nn.pretrained import llama3 as page
from labml_nn.pretrained.checkpoint import read_file, write_file
from labml_nn.transformers.rotary import inverse_frequencies
from tests.labml_nn.pretrained import folders
from tests.labml_nn.pretrained.folders import LLAMA, SCALED, TOKENS, WEIGHTS, distance, saved
from tests.labml_nn.transformers.seam import equals

PLAIN, SLOWER = inverse_frequencies(4), inverse_frequencies(4, 100.0)
SLOWER = page.scaled_frequencies(SLOWER, SCALED)


TIED = [partial(folders.llama, tie_word_embeddings=tied) for tied in (True, False)]
ORACLES = {
    "Hugging Face Llama": partial(folders.from_transformers, page.load_llama3, TIED, PLAIN),
}
test_the_logits_are_those_of_transformers = equals(ORACLES)


def test_with_scaled_frequencies_in_a_new_and_in_an_old_file(tmp_path: Path) -> None:
    theirs = folders.llama(rope_parameters=SCALED)
    folder = saved(theirs, tmp_path)
    assert distance(page.load_llama3, folder, theirs, SLOWER) < 1e-10
    found = page.load_llama3(folder).encoder.layers[1].self_attn.rotary
    path = folder / "config.json"
    config = json.loads(path.read_text())
    rope = config.pop("rope_parameters")
    config |= {"rope_theta": rope.pop("rope_theta"), "rope_scaling": rope}
    path.write_text(json.dumps(config))
    old = page.load_llama3(folder).encoder.layers[1].self_attn.rotary
    assert torch.equal(found.cos, old.cos) and torch.equal(found.sin, old.sin)
    assert found.max_len == 29
    assert page.rotary_of(config | {"head_dim": 10, "rope_scaling": None}).cos.shape == (29, 5)
    angles = torch.atan2(found.sin[1], found.cos[1])
    assert angles.tolist() == pytest.approx(SLOWER.tolist(), abs=1e-6)


def test_frequencies_are_those_of_llama_3_1() -> None:
    scaling = {"factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0}
    scaling["original_max_position_embeddings"] = 8192
    rope = {"rope_type": "llama3", "rope_theta": 500_000.0, **scaling}
    config = LlamaConfig(hidden_size=128, num_attention_heads=1, rope_parameters=rope)
    theirs, _ = ROPE_INIT_FUNCTIONS["llama3"](config, None)
    ours = page.scaled_frequencies(inverse_frequencies(128, 500_000.0), scaling)
    torch.testing.assert_close(ours.float(), theirs, rtol=1e-5, atol=0)


def test_another_scaling_is_refused() -> None:
    for rope in ({"rope_type": "default", "partial_factor": 0.5}, {"rope_type": "unheard"}):
        with pytest.raises(ValueError, match="rotary positions of the kind .* are not here"):
            page.rotary_of(LLAMA | {"rope_parameters": rope | {"rope_theta": 1e4}})


test_a_model_that_computes_something_else_is_refused = folders.refuses(
    page.load_llama3,
    {
        "config.json has hidden_act=": partial(folders.llama, hidden_act="gelu"),
        "config.json has use_sliding_window=": partial(folders.llama, use_sliding_window=True),
        "left over: .*layers.0.self_attn.*bias'": partial(folders.llama, attention_bias=True),
        "left over: .*layers.0.mlp.*bias'": partial(folders.llama, mlp_bias=True),
        "has model_type='qwen3', and needed is 'llama'": folders.qwen3,
    },
)


def test_a_second_embedding_in_the_file_must_be_the_first(tmp_path: Path) -> None:
    theirs = folders.llama(tie_word_embeddings=True)
    path = saved(theirs, tmp_path) / WEIGHTS
    tensors = {name: tensor.clone() for name, tensor in read_file(path).items()}
    embedding = tensors["model.embed_tokens.weight"]
    write_file(path, tensors | {"lm_head.weight": embedding})
    assert distance(page.load_llama3, tmp_path, theirs, PLAIN) < 1e-10
    write_file(path, tensors | {"lm_head.weight": embedding + 1})
    with pytest.raises(ValueError, match="lm_head.weight differs from model.embed_tokens.weight"):
        page.load_llama3(tmp_path)


def test_layers_share_their_angles_and_nothing_is_dropped() -> None:
    model = page.Llama(LLAMA | {"tie_word_embeddings": False, "rope_theta": 1e4})
    layers = model.encoder.layers
    assert layers[0].self_attn.rotary is layers[1].self_attn.rotary
    assert {one.p for one in model.modules() if isinstance(one, nn.Dropout)} == {0.0}
    assert {one.eps for one in model.modules() if hasattr(one, "eps")} == {0.01}
    assert model.to("meta")(TOKENS.to("meta")).is_meta
