r"""Folders of small random models, written by the library transformers."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory
from unittest.mock import patch

import pytest
import torch
from torch import Tensor, nn
from transformers import (
    GPT2Config,
    GPT2LMHeadModel,
    LlamaConfig,
    LlamaForCausalLM,
    PreTrainedModel,
    Qwen3Config,
    Qwen3ForCausalLM,
)
from transformers.utils import logging

from tests.oracles.compare import largest
from tests.oracles.hugging_face import all_in_double, randomise

WEIGHTS = "model.safetensors"
N_VOCAB, SEQ_LEN, BATCH_SIZE = 17, 7, 3
TOKENS = torch.randint(N_VOCAB, (SEQ_LEN, BATCH_SIZE), generator=torch.Generator().manual_seed(2))
ENDS = {"bos_token_id": 0, "eos_token_id": 0}
# Heads of 4 features; those of Qwen3 have 10 and would have 4.
LLAMA = {
    "vocab_size": N_VOCAB, "hidden_size": 24, "intermediate_size": 13, "num_attention_heads": 6,
    "num_key_value_heads": 2, "num_hidden_layers": 2, "max_position_embeddings": 29,
    "rms_norm_eps": 0.01, **ENDS,
}  # fmt: skip
# One turn in 11 positions is few, two are many: a Llama's first pair is between, its other slow.
SCALED = {
    "rope_type": "llama3", "rope_theta": 100.0, "factor": 8.0, "low_freq_factor": 1.0,
    "high_freq_factor": 2.0, "original_max_position_embeddings": 11,
}  # fmt: skip


def gpt2(**options: object) -> PreTrainedModel:
    sizes = {"vocab_size": N_VOCAB, "n_embd": 20, "n_head": 5, "n_layer": 2, "n_positions": 11}
    eps = {"layer_norm_epsilon": 0.01}
    return made(GPT2LMHeadModel, GPT2Config(**(sizes | eps | ENDS | options)))


def llama(**options: object) -> PreTrainedModel:
    return made(LlamaForCausalLM, LlamaConfig(**(LLAMA | options)))


def qwen3(**options: object) -> PreTrainedModel:
    return made(Qwen3ForCausalLM, Qwen3Config(**(LLAMA | {"head_dim": 10} | options)))


@contextmanager
def in_double() -> Iterator[None]:
    r"""As `all_in_double`, and angles too, which are cast by other names of 32 bits."""
    single = patch.object(torch, "float", torch.float64)
    cast = patch.object(Tensor, "float", Tensor.double)
    with all_in_double(), single, cast:
        yield


def made(kind: type[PreTrainedModel], config: object) -> PreTrainedModel:
    r"""A random model in double precision, its table of angles too."""
    with in_double():
        return randomise(kind(config))


def saved(model: PreTrainedModel, folder: Path, **options: object) -> Path:
    logging.disable_progress_bar()
    model.save_pretrained(folder, **options)
    return folder


def logits(model: PreTrainedModel, tokens: Tensor = TOKENS) -> Tensor:
    r"""Theirs, with the sequence first."""
    with in_double(), torch.no_grad():
        return model(tokens.t()).logits.transpose(0, 1)


def exact(model: nn.Module, frequencies: Tensor) -> nn.Module:
    r"""Our model with cosines and sines in double precision; the pages keep them in single."""
    rotary = model.encoder.layers[0].self_attn.rotary
    angles = torch.arange(rotary.max_len)[:, None] * frequencies
    rotary.cos, rotary.sin = angles.cos(), angles.sin()
    return model


Make = Callable[[], PreTrainedModel]
Load = Callable[..., nn.Module]


def distance(
    load: Load, folder: Path, theirs: nn.Module, frequencies: Tensor | None = None,
    dtype: torch.dtype = torch.float64,
) -> float:  # fmt: skip
    r"""How far our logits are from theirs."""
    with torch.no_grad():
        model = load(folder, dtype)
        ours = (model if frequencies is None else exact(model, frequencies))(TOKENS)
    assert not model.training and ours.dtype == dtype
    return largest([ours.double()], [logits(theirs)])


def from_transformers(
    load: Load, makes: Sequence[Make], frequencies: Tensor | None = None
) -> float:
    r"""How far the logits are from those of transformers, from one file and from shards."""
    furthest = 0.0
    for make, size in product(makes, ("5GB", "2KB")):
        theirs = make()
        with TemporaryDirectory() as there:
            folder = saved(theirs, Path(there), max_shard_size=size)
            assert (folder / WEIGHTS).exists() == (size == "5GB")
            furthest = max(furthest, distance(load, folder, theirs, frequencies))
            # As it is used.
            assert distance(load, folder, theirs, dtype=torch.float32) < 1e-5
    return furthest


def refuses(load: Load, cases: Mapping[str, Make]) -> Callable:
    r"""The test that each of these models is refused, with this sentence."""

    @pytest.mark.parametrize("sentence", cases)
    def test(tmp_path: Path, sentence: str) -> None:
        with pytest.raises(ValueError, match=sentence):
            load(saved(cases[sentence](), tmp_path))

    return test
