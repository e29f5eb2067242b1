r"""Training steps of a small transformer, and the least time of one: ANSWER STEPS WIDTH."""

import pickle
import sys
import time
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import Tensor, nn

LAYERS, HEADS, BATCH, LENGTH, VOCABULARY = 4, 4, 12, 32, 65


class Block(nn.Module):
    r"""Attention to what came before, and a network for each place."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x: Tensor) -> Tensor:
        r"""In the same shape."""
        batch, length, width = x.shape
        heads = (batch, length, HEADS, width // HEADS)
        q, k, v = (one.view(heads).transpose(1, 2) for one in self.qkv(self.norm1(x)).chunk(3, 2))
        seen = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(seen.transpose(1, 2).reshape(batch, length, width))
        return x + self.down(F.gelu(self.up(self.norm2(x))))


class Model(nn.Module):
    r"""Blocks between a table of tokens and places, and the scores."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.tokens = nn.Embedding(VOCABULARY, width)
        self.places = nn.Embedding(LENGTH, width)
        self.blocks = nn.Sequential(*(Block(width) for _ in range(LAYERS)))
        self.norm, self.scores = nn.LayerNorm(width), nn.Linear(width, VOCABULARY)

    def forward(self, text: Tensor) -> Tensor:
        r"""A score for each token at each place."""
        x = self.tokens(text) + self.places(torch.arange(text.shape[1]))
        return self.scores(self.norm(self.blocks(x)))


if __name__ == "__main__":
    torch.set_num_threads(1)
    torch.manual_seed(0)
    model = Model(int(sys.argv[3]))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    text = torch.randint(0, VOCABULARY, (BATCH, LENGTH + 1))
    least = float("inf")
    for _ in range(int(sys.argv[2])):
        begun = time.process_time()
        loss = F.cross_entropy(model(text[:, :-1]).flatten(0, 1), text[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        least = min(least, time.process_time() - begun)
    Path(sys.argv[1]).write_bytes(pickle.dumps({"seconds": least, "loss": loss.item()}))
