r"""Attentions in other people's styles, right or with one mistake."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

import torch
import torch.nn.functional as F
from torch import Tensor, nn

D_MODEL, HEADS = 24, 3
D_K = D_MODEL // HEADS
HIDE = {"inf": -math.inf, "billion": -1e9, "ten thousand": -1e4, "smallest": torch.finfo().min}

# What the comparison must say of each mistake.
SAID = {
    "none": "there is no causal mask",
    "next": "the mask shows the next position too",
    "strict": "a position doesn't see itself",
    "upside down": "the mask is upside down",
    "first only": "the mask is in the first sequence only",
    "after": "the mask comes after the softmax",
    "zeros": "hidden scores are zero",
    "queries": "the softmax is over the queries",
    "heads": "the softmax is over the heads",
    "whole width": "the scores are divided by the root of the whole width",
    "unscaled": "the scores are not scaled",
    "multiplied": "the scores are multiplied by the root",
    "twice": "the scores are divided by the width, not by its root: the scale is applied twice",
    "split": "heads are split by a view",
    "merge": "heads are merged by a view",
    "query for all": "one projection is used for query, key and value",
    "no output": "the output projection is not used",
    "pairs": "rotary pairs are mixed",
    "queries turned": "only queries are turned",
    "in turns": "heads share keys in turns",
}
BY_HAND = {"after", "zeros", "queries", "heads"}
VIEWS = {"split", "merge"}
SCALES = {
    "whole width": D_MODEL**-0.5,
    "unscaled": 1.0,
    "multiplied": D_K**0.5,
    "twice": 1 / D_K,
}
MASKS = {
    "none": lambda n: torch.zeros(n, n, dtype=torch.bool),
    "next": lambda n: torch.ones(n, n, dtype=torch.bool).triu(2),
    "strict": lambda n: torch.ones(n, n, dtype=torch.bool).triu(0),
    "upside down": lambda n: torch.ones(n, n, dtype=torch.bool).tril(0),
}


@dataclass(frozen=True)
class Style:
    r"""One way of writing an attention."""

    mistake: str
    product: str = "matmul"  # or einsum, kernel
    hide: str = "inf"
    fused: bool = False
    first: bool = False  # the sequence first
    added: bool = False  # the mask is added, not filled in

    def __str__(self) -> str:
        kinds = (("fused", self.fused), ("sequence first", self.first), ("added", self.added))
        words = [self.mistake or "right", self.product, self.hide]
        return " ".join(words + [word for word, has in kinds if has])


def turned(z: Tensor, mixed: bool) -> Tensor:
    r"""Rotary positions by complex numbers or, mixed up, by a table for other pairs."""
    angles = torch.arange(z.shape[2])[:, None] * 1e4 ** (-torch.arange(D_K // 2) / (D_K // 2))
    if not mixed:
        pairs = torch.view_as_complex(z.unflatten(-1, (-1, 2)).contiguous())
        return torch.view_as_real(pairs * torch.polar(torch.ones_like(angles), angles)).flatten(-2)
    table = angles.repeat_interleave(2, dim=-1)
    one, two = z.chunk(2, dim=-1)
    return z * table.cos() + torch.cat([-two, one], dim=-1) * table.sin()


class Styled(nn.Module):
    r"""An attention in a style."""

    def __init__(self, style: Style) -> None:
        super().__init__()
        self.style = style
        shared = style.mistake == "in turns"
        # Three heads can't share two keys, six can share three.
        self.heads = 6 if shared else HEADS
        self.d_k = D_MODEL // self.heads
        width = D_MODEL // 2 if shared else D_MODEL
        if style.fused:
            self.qkv = nn.Linear(D_MODEL, D_MODEL + 2 * width)
        else:
            self.to_q = nn.Linear(D_MODEL, D_MODEL)
            self.to_k = nn.Linear(D_MODEL, width, bias=False)
            self.to_v = nn.Linear(D_MODEL, width)
        self.width = width
        self.out = nn.Linear(D_MODEL, D_MODEL)

    def projected(self, x: Tensor) -> list[Tensor]:
        if self.style.fused:
            q, k, v = self.qkv(x).split([D_MODEL, self.width, self.width], dim=-1)
        else:
            q, k, v = self.to_q(x), self.to_k(x), self.to_v(x)
        return [q, q, q] if self.style.mistake == "query for all" else [q, k, v]

    def cut(self, z: Tensor) -> Tensor:
        # Batch, heads, positions, features.
        if self.style.first:
            return z.unflatten(-1, (-1, self.d_k)).permute(1, 2, 0, 3)
        if self.style.mistake == "split":
            return z.contiguous().view(len(z), -1, z.shape[1], self.d_k)
        return z.unflatten(-1, (-1, self.d_k)).transpose(1, 2)

    def forward(self, x: Tensor) -> Tensor:
        style = self.style
        q, k, v = (self.cut(z) for z in self.projected(x))
        if style.mistake in ("pairs", "queries turned"):
            q = turned(q, style.mistake == "pairs")
            k = turned(k, True) if style.mistake == "pairs" else k
        if style.mistake == "in turns":
            k, v = (z.repeat(1, 2, 1, 1) for z in (k, v))
        z = self.attend(q, k, v)
        if style.first:
            z = z.permute(2, 0, 1, 3).reshape(x.shape)
        elif style.mistake == "merge":
            z = z.reshape(x.shape)
        else:
            z = z.transpose(1, 2).reshape(x.shape)
        return z if style.mistake == "no output" else self.out(z)

    def attend(self, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        style, n = self.style, q.shape[2]
        scale = SCALES.get(style.mistake, self.d_k**-0.5)
        hidden = MASKS.get(style.mistake, lambda n: torch.ones(n, n, dtype=torch.bool).triu(1))(n)
        if style.mistake == "first only":
            hidden = torch.stack([hidden, *[torch.zeros_like(hidden)] * (len(q) - 1)])[:, None]
        number = 0.0 if style.mistake == "zeros" else HIDE[style.hide]
        mask = torch.zeros(hidden.shape).masked_fill(hidden, number)
        if style.product == "kernel":
            return F.scaled_dot_product_attention(q, k, v, mask, scale=scale)
        if style.product == "einsum":
            scores = torch.einsum("bhid,bhjd->bhij", q, k) * scale
        else:
            scores = (q * scale) @ k.transpose(-2, -1)
        axis = {"queries": -2, "heads": 1}.get(style.mistake, -1)
        if style.mistake == "after":
            weights = scores.softmax(dim=-1) * ~hidden
        elif style.added and style.mistake != "zeros":
            weights = (scores + mask).softmax(dim=axis)
        else:
            weights = scores.masked_fill(hidden, number).softmax(dim=axis)
        return (
            weights @ v
            if style.product == "matmul"
            else torch.einsum("bhij,bhjd->bhid", weights, v)
        )


def styles(mistakes: tuple[str, ...]) -> Iterator[Style]:
    r"""Every style of every mistake, as far as it can be made so."""
    ways = product(mistakes, ("matmul", "einsum", "kernel"), HIDE, (False, True), (False, True))
    for mistake, kind, hide, fused, first in ways:
        by_hand = kind == "kernel" and mistake in BY_HAND
        by_view = first and mistake in VIEWS
        if not (by_hand or by_view):
            yield Style(mistake, kind, hide, fused, first, added=(fused != first))


WRONG = list(styles(tuple(SAID)))
RIGHT = list(styles(("",)))
