from functools import partial
from pathlib import Path

import torch
from torch import nn

from labml_nn.pretrained import gpt2 as page
from labml_nn.pretrained.checkpoint import read_file, write_file
from tests.labml_nn.pretrained import folders
from tests.labml_nn.pretrained.folders import TOKENS, WEIGHTS, distance, saved
from tests.labml_nn.transformers.seam import equals

ORACLES = {
    "Hugging Face GPT-2": partial(folders.from_transformers, page.load_gpt2, [folders.gpt2]),
}
test_the_logits_are_those_of_transformers = equals(ORACLES)


def test_the_form_of_the_published_file_and_another_width_inside_are_read(tmp_path: Path) -> None:
    theirs = folders.gpt2(n_inner=13)
    tensors = read_file(saved(theirs, tmp_path) / WEIGHTS)
    found = {name.removeprefix("transformer."): one.clone() for name, one in tensors.items()}
    for number in (0, 1):
        found[f"h.{number}.attn.bias"] = torch.ones(1, 1, 11, 11).tril()
        found[f"h.{number}.attn.masked_bias"] = torch.tensor(-1e4)
    write_file(tmp_path / WEIGHTS, found | {"lm_head.weight": found["wte.weight"]})
    assert distance(page.load_gpt2, tmp_path, theirs) < 1e-10


test_a_model_that_computes_something_else_is_refused = folders.refuses(
    page.load_gpt2,
    {
        "has activation_function=": partial(folders.gpt2, activation_function="gelu"),
        "has scale_attn_weights=": partial(folders.gpt2, scale_attn_weights=False),
        "_by_inverse_layer_idx=": partial(folders.gpt2, scale_attn_by_inverse_layer_idx=True),
        "head.weight differs from wte.": partial(folders.gpt2, tie_word_embeddings=False),
        "left over: .*crossattention": partial(folders.gpt2, add_cross_attention=True),
        "has model_type='llama', and needed is 'gpt2'": folders.llama,
    },
)


def test_there_is_no_dropout_and_the_logits_have_no_weights_of_their_own() -> None:
    with torch.device("meta"):
        model = page.GPT2(50257, 768, 12, 12, 3072, 1024)
    assert sum(p.numel() for p in model.parameters()) == 124_439_808
    assert {one.p for one in model.modules() if isinstance(one, nn.Dropout)} == {0.0}
    normed = {(type(one), one.eps) for one in model.modules() if hasattr(one, "eps")}
    assert normed == {(nn.LayerNorm, 1e-5)}
    assert model(TOKENS.to("meta")).is_meta
