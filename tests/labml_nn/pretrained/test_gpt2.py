from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

from labml_nn.pretrained import gpt2 as page
from labml_nn.pretrained.checkpoint import read_file, write_file
from tests.labml_nn.models import sees_only_the_past
from tests.labml_nn.pretrained import folders
from tests.labml_nn.pretrained.folders import TOKENS, logits, saved
from tests.oracles.compare import largest

WEIGHTS = "model.safetensors"


@pytest.fixture(scope="module")
def theirs() -> nn.Module:
    return folders.gpt2()


@pytest.fixture
def folder(theirs: nn.Module, tmp_path: Path) -> Path:
    return saved(theirs, tmp_path)


def distance(folder: Path, theirs: nn.Module, dtype: torch.dtype = torch.float64) -> float:
    with torch.no_grad():
        model = page.load_gpt2(folder, dtype)
        ours = model(TOKENS)
    assert not model.training
    assert ours.dtype == dtype
    return largest([ours.double()], [logits(theirs)])


def changed(folder: Path, change: object) -> None:
    r"""The file with other tensors: `change` gets theirs."""
    tensors = {name: tensor.clone() for name, tensor in read_file(folder / WEIGHTS).items()}
    write_file(folder / WEIGHTS, change(tensors))


@pytest.mark.parametrize("size", ["5GB", "2KB"])
def test_the_logits_are_those_of_transformers_from_one_file_and_from_shards(
    theirs: nn.Module, tmp_path: Path, size: str
) -> None:
    folder = saved(theirs, tmp_path, max_shard_size=size)
    assert (folder / WEIGHTS).exists() == (size == "5GB")
    assert distance(folder, theirs) < 1e-10
    assert distance(folder, theirs, torch.float32) < 1e-5


def test_another_width_inside_is_read(tmp_path: Path) -> None:
    theirs = folders.gpt2(n_inner=13)
    assert distance(saved(theirs, tmp_path), theirs) < 1e-10


def test_the_form_of_the_published_file_is_read(theirs: nn.Module, folder: Path) -> None:
    def published(tensors: dict[str, Tensor]) -> dict[str, Tensor]:
        found = {name.removeprefix("transformer."): one for name, one in tensors.items()}
        for number in (0, 1):
            found[f"h.{number}.attn.bias"] = torch.ones(1, 1, 11, 11).tril()
            found[f"h.{number}.attn.masked_bias"] = torch.tensor(-1e4)
        return found | {"lm_head.weight": found["wte.weight"]}

    changed(folder, published)
    assert distance(folder, theirs) < 1e-10


def test_another_head_than_the_embedding_is_refused(folder: Path) -> None:
    changed(folder, lambda found: found | {"lm_head.weight": 2 * found["transformer.wte.weight"]})
    with pytest.raises(ValueError, match="lm_head.weight differs from wte.weight"):
        page.load_gpt2(folder)


@pytest.mark.parametrize(
    "setting",
    [
        {"activation_function": "gelu"},
        {"scale_attn_weights": False},
        {"scale_attn_by_inverse_layer_idx": True},
    ],
    ids=str,
)
def test_a_model_that_computes_something_else_is_refused(
    tmp_path: Path, setting: dict[str, object]
) -> None:
    with pytest.raises(ValueError, match=f"config.json has {next(iter(setting))}="):
        page.load_gpt2(saved(folders.gpt2(**setting), tmp_path))


def test_other_kinds_and_other_heads_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="has model_type='llama', and needed is 'gpt2'"):
        page.load_gpt2(saved(folders.llama(), tmp_path))
    with pytest.raises(ValueError, match="lm_head.weight differs from wte.weight"):
        page.load_gpt2(saved(folders.gpt2(tie_word_embeddings=False), tmp_path / "untied"))
    with pytest.raises(ValueError, match="left over: .*crossattention"):
        page.load_gpt2(saved(folders.gpt2(add_cross_attention=True), tmp_path / "cross"))


def test_a_missing_name_another_layer_and_another_shape_are_refused(folder: Path) -> None:
    first = read_file(folder / WEIGHTS)
    first = {name: tensor.clone() for name, tensor in first.items()}
    bias = "transformer.h.1.attn.c_attn.bias"
    cases = {
        r"missing in the checkpoint: \['h.1.attn.c_attn.bias'\]; left over: \[\]": {bias: None},
        r"left over: \['h.2.ln_1.bias'\]": {"transformer.h.2.ln_1.bias": torch.ones(20)},
        r"h.1.attn.c_attn.bias gives .* \[21\] for .*1.self_attn.query": {bias: torch.ones(61)},
    }
    for sentence, change in cases.items():
        tensors = {name: one for name, one in (first | change).items() if one is not None}
        write_file(folder / WEIGHTS, tensors)
        with pytest.raises(ValueError, match=sentence):
            page.load_gpt2(folder)


@pytest.mark.parametrize(
    "wrong",
    [
        {"self_attn.output": ("attn.c_proj", page.as_it_is)},
        {
            "self_attn.query.linear": page.LAYER["self_attn.key.linear"],
            "self_attn.key.linear": page.LAYER["self_attn.query.linear"],
        },
    ],
    ids=["not transposed", "queries and keys exchanged"],
)
def test_a_wrong_rule_has_right_shapes_and_other_logits(
    folder: Path, theirs: nn.Module, wrong: dict
) -> None:
    with torch.no_grad():
        ours = page.load_gpt2(folder, torch.float64, page.LAYER | wrong)(TOKENS)
    assert largest([ours], [logits(theirs)]) > 0.01


def test_the_model_sees_only_the_past_and_its_longest_text() -> None:
    model = page.GPT2(17, 20, 5, 2, 13, 7).double().eval()
    sees_only_the_past(model, TOKENS, lambda token: (token + 1) % 17)
    with pytest.raises(RuntimeError):
        model(torch.cat([TOKENS, TOKENS]))
    normed = [one for one in model.modules() if hasattr(one, "eps")]
    assert {(type(one), one.eps) for one in normed} == {(nn.LayerNorm, 1e-5)}
    assert len(normed) == 5
    assert model.to("meta")(TOKENS.to("meta")).is_meta


def test_there_is_no_dropout_and_the_logits_have_no_weights_of_their_own() -> None:
    with torch.device("meta"):
        model = page.GPT2(50257, 768, 12, 12, 3072, 1024)
    assert sum(p.numel() for p in model.parameters()) == 124_439_808
    assert {one.p for one in model.modules() if isinstance(one, nn.Dropout)} == {0.0}
    assert model.tokens.weight.numel() == 38_597_376
