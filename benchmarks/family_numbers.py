r"""
Numbers of the variants' own functions, for the tables of results/family_drawings.json.
"""

from statistics import mean
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from labml_nn.transformers.memory.flash import TiledAttention
from labml_nn.transformers.memory.flash_backward import FlashAttention
from labml_nn.transformers.mha import MultiHeadAttention, causal_mask
from labml_nn.transformers.variants.delta_rule import delta_steps
from labml_nn.transformers.variants.query_key_norm import QueryKeyNormAttention

SEEDS = (1, 2, 3)
LENGTHS = (64, 256, 1024, 2048)


@torch.no_grad()
def recall(n_pairs: int, seed: int, d_k: int = 64) -> dict[str, float]:
    r"""Write pairs, write new values under the same keys, read them: the share that is wrong."""
    torch.manual_seed(seed)
    key = F.normalize(torch.randn(n_pairs, 1, 1, d_k), dim=-1)
    old, value = torch.randn(2, n_pairs, 1, 1, d_k)
    keys, values = torch.cat([key, key]), torch.cat([old, value])
    ones = torch.ones(2 * n_pairs, 1, 1, 1)
    inputs = (keys, keys, values, torch.zeros_like(ones), ones)
    _, state = delta_steps(inputs, torch.zeros(1, 1, d_k, d_k))
    added = torch.einsum("nbhd,nbhv->bhdv", keys, values)
    size = value.square().sum()
    wrong = {}
    for name, one in (("linear", added), ("delta", state)):
        read = torch.einsum("nbhd,bhdv->nbhv", key, one)
        wrong[name] = ((read - value).square().sum() / size).sqrt().item()
    return wrong


@torch.no_grad()
def lengths(factor: float, seed: int) -> dict[str, float]:
    r"""Scores of 64 random tokens if queries and keys are so much longer than fresh ones."""
    found = {}
    for name, kind in (("plain", MultiHeadAttention), ("normed", QueryKeyNormAttention)):
        torch.manual_seed(seed)
        attention = kind(4, 128, 0.0)
        for layer in (attention.query.linear, attention.key.linear):
            layer.weight *= factor
            layer.bias *= factor
        x = torch.randn(64, 1, 128)
        attention(query=x, key=x, value=x)
        scores = attention.get_scores(attention.query(x) / 32**0.5, attention.key(x))
        found[f"{name}_score"] = scores.abs().max().item()
        found[f"{name}_weight"] = attention.attn.amax(dim=1).mean().item()
    return found


def kept_for_backward(attention: nn.Module, seq_len: int) -> int:
    r"""Bytes that a call keeps for its backward pass, without weights and the given tensors."""
    x, mask = torch.randn(seq_len, 1, 64), causal_mask(seq_len)
    storages: dict[int, int] = {}

    def pack(tensor: Tensor) -> Tensor:
        storage = tensor.untyped_storage()
        storages[storage.data_ptr()] = storage.nbytes()
        return tensor

    # All of them are held until the end, so that no two have the same address.
    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        out = attention(query=x, key=x, value=x, mask=mask)
    weights = {one.untyped_storage().data_ptr() for one in attention.parameters()}
    del out
    given = {x.untyped_storage().data_ptr(), mask.untyped_storage().data_ptr()}
    return sum(size for at, size in storages.items() if at not in weights | given)


@torch.no_grad()
def largest_tensor(attention: nn.Module, seq_len: int) -> int:
    r"""Bytes of the largest tensor of numbers that a call without gradients makes."""
    x, mask = torch.randn(seq_len, 1, 64), causal_mask(seq_len)
    with Largest() as found:
        attention(query=x, key=x, value=x, mask=mask)
    return found.bytes


class Largest(TorchDispatchMode):
    r"""Looks at the result of each operation. Masks, which both ways need, don't count."""

    bytes = 0

    def __torch_dispatch__(
        self, function: Any, types: Any, args: Any = (), named: Any = None
    ) -> Any:
        made = function(*args, **(named or {}))
        for one in tree_leaves(made):
            if isinstance(one, Tensor) and one.is_floating_point():
                self.bytes = max(self.bytes, one.numel() * one.element_size())
        return made


def mean_of(runs: list[dict[str, float]]) -> dict[str, float]:
    r"""The mean over the seeds, name by name."""
    return {name: mean(one[name] for one in runs) for name in runs[0]}


def tables() -> dict[str, Any]:
    r"""All of them, as `record.write` takes them."""
    return {
        "recall": {
            "columns": [
                {"name": "pairs", "title": "Pairs"},
                {"name": "linear", "title": "Linear attention", "digits": 2},
                {"name": "delta", "title": "Delta rule", "digits": 2},
            ],
            "rows": [
                {"pairs": str(n), **mean_of([recall(n, seed) for seed in SEEDS])}
                for n in (4, 16, 64)
            ],
        },
        "lengths": {
            "columns": [
                {"name": "factor", "title": "Factor"},
                {"name": "plain_score", "title": "Largest score", "digits": 1},
                {"name": "plain_weight", "title": "Largest weight, mean", "digits": 2},
                {"name": "normed_score", "title": "Normalised: score", "digits": 1},
                {"name": "normed_weight", "title": "weight", "digits": 2},
            ],
            "rows": [
                {"factor": str(n), **mean_of([lengths(n, seed) for seed in SEEDS])}
                for n in (1, 3, 10)
            ],
        },
        "backward": {
            "columns": [
                {"name": "positions", "title": "Positions"},
                {"name": "plain", "title": "Multi-head attention", "unit": "MB", "digits": 2},
                {"name": "tiles", "title": "In tiles", "unit": "MB", "digits": 2},
            ],
            "rows": [
                {
                    "positions": str(n),
                    "plain": kept_for_backward(MultiHeadAttention(4, 64, 0.0), n) / 1e6,
                    "tiles": kept_for_backward(FlashAttention(4, 64), n) / 1e6,
                }
                for n in LENGTHS
            ],
        },
        "largest": {
            "columns": [
                {"name": "positions", "title": "Positions"},
                {"name": "plain", "title": "Multi-head attention", "unit": "MB", "digits": 2},
                {"name": "tiles", "title": "In tiles", "unit": "MB", "digits": 2},
            ],
            "rows": [
                {
                    "positions": str(n),
                    "plain": largest_tensor(MultiHeadAttention(4, 64, 0.0).eval(), n) / 1e6,
                    "tiles": largest_tensor(TiledAttention(4, 64), n) / 1e6,
                }
                for n in LENGTHS
            ],
        },
    }
