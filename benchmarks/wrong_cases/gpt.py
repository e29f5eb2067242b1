r"""A small GPT as it is published everywhere, with a cache, padding and documents."""

import math
from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from benchmarks.wrong_cases.case import N_VOCAB

HEADS, D_MODEL, LONGEST = 3, 24, 128

# A layer's keys and values, `[batch_size, heads, seq_len, d_k]`.
Past = tuple[Tensor, Tensor]


class Attention(nn.Module):
    r"""Causal self-attention. Whatever an author gets wrong is a method of its own."""

    def __init__(self, layer: int) -> None:
        super().__init__()
        self.layer = layer
        # Without a bias: that of keys has a gradient of rounding errors, which Adam makes large.
        self.c_attn = nn.Linear(D_MODEL, 3 * D_MODEL, bias=False)
        self.c_proj = nn.Linear(D_MODEL, D_MODEL)

    def projected(self, x: Tensor) -> tuple[Tensor, ...]:
        return self.c_attn(x).chunk(3, dim=-1)

    def sees(self, n_new: int, n_all: int) -> Tensor:
        r"""Which keys the new queries see: they are the last ones."""
        return torch.ones(n_new, n_all, dtype=torch.bool).tril(n_all - n_new)

    def joined(self, past: Past, key: Tensor, value: Tensor) -> Past:
        r"""What is in the cache, and what is new."""
        return torch.cat([past[0], key], dim=2), torch.cat([past[1], value], dim=2)

    def kept(self, key: Tensor, value: Tensor) -> Past:
        r"""What goes into the cache."""
        return key, value

    def bias(self, n_new: int, n_all: int) -> Tensor | float:
        r"""What is added to the scores."""
        return 0.0

    def hidden(self, mask: Tensor | None, documents: Tensor | None) -> Tensor | None:
        r"""What else is hidden, `[batch_size, 1, queries or 1, keys]`."""
        found = None if mask is None else ~mask[:, None, None].bool()
        if documents is not None:
            others = documents[:, None, :, None] != documents[:, None, None]
            found = others if found is None else found | others
        return found

    def turned(self, query: Tensor, key: Tensor, n_read: int) -> tuple[Tensor, Tensor]:
        r"""For rotary positions."""
        return query, key

    def forward(
        self,
        x: Tensor,
        past: Past | None = None,
        mask: Tensor | None = None,
        documents: Tensor | None = None,
    ) -> tuple[Tensor, Past]:
        query, key, value = (
            z.unflatten(-1, (HEADS, -1)).transpose(1, 2) for z in self.projected(x)
        )
        query, key = self.turned(query, key, 0 if past is None else past[0].shape[2])
        if past is not None:
            key, value = self.joined(past, key, value)
        n_new, n_all = query.shape[2], key.shape[2]
        scores = query @ key.mT / math.sqrt(query.shape[-1]) + self.bias(n_new, n_all)
        hidden = ~self.sees(n_new, n_all)
        also = self.hidden(mask, documents)
        hidden = hidden if also is None else hidden | also[..., -n_all:]
        # The lowest number: a row without any key has even weights, and no NaN.
        weights = scores.masked_fill(hidden, torch.finfo(scores.dtype).min).softmax(dim=-1)
        z = (weights @ value).transpose(1, 2).flatten(2)
        return self.c_proj(z), self.kept(key, value)


class Block(nn.Module):
    r"""Attention, and a small network."""

    def __init__(self, layer: int, attention: Callable[[int], nn.Module]) -> None:
        super().__init__()
        self.ln_1, self.ln_2 = self.norm(), self.norm()
        self.attn = attention(layer)
        self.mlp = nn.Sequential(
            nn.Linear(D_MODEL, 4 * D_MODEL), nn.GELU(), nn.Linear(4 * D_MODEL, D_MODEL)
        )

    def norm(self) -> nn.Module:
        return nn.LayerNorm(D_MODEL)

    def network(self, x: Tensor) -> Tensor:
        found: Tensor = self.mlp(x)
        return found

    def forward(self, x: Tensor, *others: Any) -> tuple[Tensor, Past]:
        z, past = self.attn(self.ln_1(x), *others)
        x = x + z
        return x + self.network(self.ln_2(x)), past


class Gpt(nn.Module):
    r"""Tokens and positions, two blocks, logits."""

    attention: Callable[[int], nn.Module] = Attention
    block: Callable[..., nn.Module] = Block
    n_layers = 2

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(1)
        self.wte, self.wpe = nn.Embedding(N_VOCAB, D_MODEL), nn.Embedding(LONGEST, D_MODEL)
        kind = type(self)
        self.h = nn.ModuleList(kind.block(one, kind.attention) for one in range(self.n_layers))
        self.ln_f = nn.LayerNorm(D_MODEL)
        self.lm_head = nn.Linear(D_MODEL, N_VOCAB, bias=False)

    def positions(self, tokens: Tensor, n_read: int, mask: Tensor | None) -> Tensor:
        r"""With padding on the left, the first token of a text has position 0 all the same."""
        n = tokens.shape[1]
        if mask is None:
            return torch.arange(n_read, n_read + n)
        return (mask.long().cumsum(dim=1) - 1).clamp(min=0)[:, -n:]

    def forward(
        self,
        input_ids: Tensor,
        attention_mask: Tensor | None = None,
        past_key_values: list[Past] | None = None,
        use_cache: bool = False,
        document_ids: Tensor | None = None,
    ) -> Any:
        n_read = 0 if past_key_values is None else self.read(past_key_values)
        x = self.wte(input_ids)
        x = x + self.wpe(self.positions(input_ids, n_read, attention_mask))
        new = []
        for index, block in enumerate(self.h):
            past = None if past_key_values is None else past_key_values[index]
            x, found = block(x, past, attention_mask, document_ids)
            new.append(found)
        logits = self.lm_head(self.ln_f(x))
        return (logits, new) if use_cache else logits

    def read(self, past: list[Past]) -> int:
        r"""How many tokens were read before."""
        return past[0][0].shape[2]


def with_attention(kind: type[Attention], name: str = "Model") -> type[Gpt]:
    r"""The model with another attention."""
    return type(name, (Gpt,), {"attention": kind})


def with_block(kind: type[Block], name: str = "Model") -> type[Gpt]:
    r"""The model with another block."""
    return type(name, (Gpt,), {"block": kind})


def rms(x: Tensor, axes: tuple[int, ...] = (-1,)) -> Tensor:
    r"""Divided by the root of the mean of squares."""
    return x * (x.square().mean(dim=axes, keepdim=True) + 1e-6).rsqrt()


def alibi(n_new: int, n_all: int, first: int) -> Tensor:
    r"""A bias by distance, for queries that begin at position `first`: `[n_new, n_all]`."""
    return -0.5 * (torch.arange(n_all) - torch.arange(first, first + n_new)[:, None]).abs()


def counted(logits: Tensor, targets: Tensor) -> Tensor:
    r"""The sum of the losses of what counts."""
    return F.cross_entropy(logits.flatten(0, 1), targets.flatten(), reduction="sum")
