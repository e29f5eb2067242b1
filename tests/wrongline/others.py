r"""A small model as other people write them, with parts that a test can replace."""

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

N_VOCAB = 17
WIDTH = 12


def texts(rows: int = 3, length: int = 10) -> Tensor:
    r"""Texts of tokens, the same each time."""
    return torch.randint(N_VOCAB, (rows, length), generator=torch.Generator().manual_seed(3))


class Mixing(nn.Module):
    r"""Self-attention with two heads; `sees` tells which of `n` keys the last `t` queries see."""

    def __init__(self) -> None:
        super().__init__()
        self.parts, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)

    def sees(self, t: int, n: int) -> Tensor:
        return torch.arange(n) <= torch.arange(n - t, n)[:, None]

    def forward(self, x: Tensor, hidden: Tensor | None = None, new: int = 0) -> Tensor:
        q, k, v = (z.unflatten(-1, (2, -1)).transpose(1, 2) for z in self.parts(x).chunk(3, -1))
        t, n = new or x.shape[1], x.shape[1]
        scores = q[:, :, n - t :] @ k.mT / math.sqrt(WIDTH / 2)
        scores = scores.masked_fill(~self.sees(t, n), -1e9)
        if hidden is not None:
            scores = scores.masked_fill(hidden[:, None], -1e9)
        return self.out((scores.softmax(-1) @ v).transpose(1, 2).flatten(2))


class Small(nn.Module):
    r"""Tokens and positions, one layer, logits; `logits` may be told what was read before."""

    def __init__(self, mixing: Callable[[], nn.Module] = Mixing, longest: int = 48) -> None:
        super().__init__()
        torch.manual_seed(1)
        self.tokens, self.places = nn.Embedding(N_VOCAB, WIDTH), nn.Embedding(longest, WIDTH)
        self.mixing, self.head = mixing(), nn.Linear(WIDTH, N_VOCAB)

    def embed(self, tokens: Tensor, first: int = 0) -> Tensor:
        return self.tokens(tokens) + self.places(torch.arange(first, first + tokens.shape[1]))

    def logits(self, tokens: Tensor, past: Tensor | None = None) -> tuple[Tensor, Tensor]:
        new = tokens.shape[1]
        first = 0 if past is None else past.shape[1]
        x = self.embed(tokens, first)
        x = x if past is None else torch.cat([past, x], dim=1)
        return self.head(x[:, -new:] + self.mixing(x, new=new)), x

    def forward(self, tokens: Tensor) -> Any:
        return self.logits(tokens)[0]
