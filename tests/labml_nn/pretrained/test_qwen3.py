from pathlib import Path

import pytest
import torch

from labml_nn.pretrained import qwen3 as page
from labml_nn.transformers.rotary import inverse_frequencies
from tests.labml_nn.pretrained import folders
from tests.labml_nn.pretrained.folders import TOKENS, exact, logits, saved
from tests.oracles.compare import largest

FREQUENCIES = inverse_frequencies(10, 100.0)
ROPE = {"rope_type": "default", "rope_theta": 100.0}


@pytest.mark.parametrize("size", ["5GB", "2KB"])
@pytest.mark.parametrize("tied", [True, False])
def test_the_logits_are_those_of_transformers_from_one_file_and_from_shards(
    tmp_path: Path, size: str, tied: bool
) -> None:
    theirs = folders.qwen3(tie_word_embeddings=tied, rope_parameters=ROPE)
    folder = saved(theirs, tmp_path, max_shard_size=size)
    with torch.no_grad():
        ours = exact(page.load_qwen3(folder, torch.float64), FREQUENCIES)(TOKENS)
        single = page.load_qwen3(folder)(TOKENS)
    assert largest([ours], [logits(theirs)]) < 1e-10
    assert largest([single], [logits(theirs).float()]) < 1e-5


test_a_llama_is_refused = folders.refuses(
    page.load_qwen3, {"has model_type='llama', and needed is 'qwen3'": folders.llama}
)
