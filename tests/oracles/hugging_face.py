r"""Parts of models of the library transformers, small, with random weights; nothing is loaded."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from types import ModuleType
from typing import Any
from unittest.mock import patch

import torch
from torch import Tensor, nn
from transformers import GPT2Config, LlamaConfig
from transformers.models.gpt2 import modeling_gpt2
from transformers.models.llama import modeling_llama

# Cosines and sines, for every position.
Angles = tuple[Tensor, Tensor]


class Double:
    r"""PyTorch, but for a name: who asks for 32 bits gets 64."""

    float32 = float = torch.float64

    def __getattr__(self, name: str) -> Any:
        return getattr(torch, name)


@contextmanager
def in_double(module: ModuleType) -> Iterator[None]:
    r"""Some parts of models compute in 32 bits whatever they get. Let them use 64 in here, so that
    a difference is one of formulas and not of rounding.
    """
    with patch.object(module, "torch", Double()):
        yield


@contextmanager
def all_in_double() -> Iterator[None]:
    r"""The same for all modules; what isn't theirs must not need 32 bits in here."""
    with patch.object(torch, "float32", torch.float64):
        yield


def randomise(module: nn.Module, seed: int = 1) -> nn.Module:
    r"""Random weights everywhere, in double precision, and no dropout."""
    generator = torch.Generator().manual_seed(seed)
    for parameter in module.double().parameters():
        noise = torch.randn(parameter.shape, generator=generator, dtype=torch.float64)
        parameter.data.copy_(noise / 2)
    return module.eval()


def added_mask(mask: Tensor) -> Tensor:
    r"""`[seq_len_q, seq_len_k, batch_size]`, true where a query may attend, as numbers that are
    added to scores `[batch_size, heads, seq_len_q, seq_len_k]`.
    """
    shown = mask.permute(2, 0, 1).unsqueeze(1)
    return torch.zeros(shown.shape, dtype=torch.float64).masked_fill(~shown, -torch.inf)


def copied(ours: nn.Module, theirs: nn.Module, names: Mapping[str, str]) -> None:
    r"""Our parameters into theirs, from our name of a part to theirs."""
    for mine, other in names.items():
        theirs.get_submodule(other).load_state_dict(ours.get_submodule(mine).state_dict())


def no_turn(width: int) -> Angles:
    r"""The cosines and the sines of angles of zero."""
    zeros = torch.zeros(1, 1, width, dtype=torch.float64)
    return zeros + 1, zeros


def by_hugging_face(
    theirs: nn.Module, x: Tensor, angles: Angles, mask: Tensor | None = None
) -> Tensor:
    r"""Their attention, batch first, under the causal mask, turned by the angles."""
    mask = added_mask(torch.ones(len(x), len(x)).tril().unsqueeze(-1) > 0) if mask is None else mask
    with all_in_double():
        output, _ = theirs.double().eval()(x.transpose(0, 1), angles, mask)
    return output.transpose(0, 1)


def gpt2(heads: int, d_model: int, d_ff: int, **options: Any) -> GPT2Config:
    r"""A small GPT-2."""
    sizes = {"n_embd": d_model, "n_head": heads, "n_inner": d_ff, "n_layer": 2}
    return GPT2Config(**sizes, **options, attn_implementation="eager")


def gpt2_attention(heads: int, d_model: int) -> nn.Module:
    r"""The attention of its layers, called with a sequence, batch first, and “attention_mask”."""
    return randomise(modeling_gpt2.GPT2Attention(gpt2(heads, d_model, 4 * d_model), layer_idx=0))


def transposed(layer: nn.Module) -> dict[str, Tensor]:
    r"""What a linear layer has to load to do what one of GPT-2's does."""
    return {"weight": layer.weight.T, "bias": layer.bias}


def attention_from_gpt2(theirs: nn.Module, ours: nn.Module) -> None:
    r"""Their parameters into ours; they have three layers in one."""
    three = (each.chunk(3) for each in transposed(theirs.c_attn).values())
    for part, weight, bias in zip((ours.query, ours.key, ours.value), *three, strict=True):
        getattr(part, "linear", part).load_state_dict({"weight": weight, "bias": bias})
    ours.output.load_state_dict(transposed(theirs.c_proj))


def gpt2_layer(heads: int, d_model: int, d_ff: int) -> nn.Module:
    r"""One of its layers, called in the same way."""
    return randomise(modeling_gpt2.GPT2Block(gpt2(heads, d_model, d_ff), layer_idx=0))


def llama_network(d_model: int, d_ff: int) -> nn.Module:
    r"""The feed-forward network of its layers."""
    config = LlamaConfig(
        hidden_size=d_model, intermediate_size=d_ff, num_attention_heads=1, head_dim=2
    )
    return randomise(modeling_llama.LlamaMLP(config))


def llama_norm(d_model: int, eps: float) -> nn.Module:
    r"""Its normalisation; call it `in_double(modeling_llama)`."""
    return randomise(modeling_llama.LlamaRMSNorm(d_model, eps))
