from pathlib import Path

import pytest
import torch

from labml_nn.pretrained import qwen3 as page
from labml_nn.pretrained.llama3 import load_llama3
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


@pytest.mark.parametrize(
    "setting",
    [{"hidden_act": "gelu"}, {"use_sliding_window": True}],
    ids=str,
)
def test_a_model_that_computes_something_else_is_refused(
    tmp_path: Path, setting: dict[str, object]
) -> None:
    with pytest.raises(ValueError, match=f"config.json has {next(iter(setting))}="):
        page.load_qwen3(saved(folders.qwen3(**setting), tmp_path))


def test_llamas_are_refused_and_without_the_norms_names_are_left_over(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="has model_type='llama', and needed is 'qwen3'"):
        page.load_qwen3(saved(folders.llama(), tmp_path / "llama"))
    folder = saved(folders.qwen3(), tmp_path / "qwen3")
    with pytest.raises(ValueError, match=r"missing in the checkpoint: \[\]; left over: .*k_norm"):
        load_llama3(folder, model_type="qwen3")


def test_the_example_has_the_width_of_the_model_and_its_heads_have_their_own() -> None:
    assert page.example().shape == (7, 11, 30)
    queries, keys = 1024 * 2048, 1024 * 1024
    assert 2 * queries + 2 * keys == 6_291_456
