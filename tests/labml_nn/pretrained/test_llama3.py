from functools import partial
from pathlib import Path

import pytest
from torch import nn

from labml_nn.pretrained import llama3 as page
from labml_nn.pretrained.checkpoint import read_file, write_file
from labml_nn.pretrained.llama_frequencies import scaled_frequencies
from labml_nn.transformers.rotary import inverse_frequencies
from tests.labml_nn.pretrained import folders
from tests.labml_nn.pretrained.folders import LLAMA, SCALED, TOKENS, WEIGHTS, distance, saved
from tests.labml_nn.transformers.seam import equals

PLAIN = inverse_frequencies(4)
SLOWER = scaled_frequencies(inverse_frequencies(4, 100.0), SCALED)
TIED = [partial(folders.llama, tie_word_embeddings=tied) for tied in (True, False)]
ORACLES = {
    "Hugging Face Llama": partial(folders.from_transformers, page.load_llama3, TIED, PLAIN),
}
test_the_logits_are_those_of_transformers = equals(ORACLES)


def test_with_scaled_frequencies(tmp_path: Path) -> None:
    theirs = folders.llama(rope_parameters=SCALED)
    assert distance(page.load_llama3, saved(theirs, tmp_path), theirs, SLOWER) < 1e-10


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
