r"""Pastes texts into the museum's page, and keeps all that is told: ANSWER."""

import pickle
import sys
from importlib.util import find_spec
from pathlib import Path

import torch

from wrongline.pasted import check

ATTENTION = """
class Attention(nn.Module):
    def __init__(self, d_model, n_heads, dropout=0.1):
        super().__init__()
        self.heads = n_heads
        self.qkv = nn.Linear(d_model, 3 * d_model)
        self.out = nn.Linear(d_model, d_model)
        self.dropout = nn.Dropout(dropout)
        self.kept = {}

    def forward(self, x, cache=None):
        parts = self.qkv(x).chunk(3, dim=-1)
        q, k, v = (z.unflatten(-1, (self.heads, -1)).transpose(1, 2) for z in parts)
        if cache is not None:
            k, v = torch.cat([cache[0], k], 2), torch.cat([cache[1], v], 2)
        n, m = q.shape[2], k.shape[2]
        ahead = torch.ones(n, m, dtype=torch.bool).triu(1 + m - n)
        scores = q @ k.transpose(-2, -1) / (q.shape[-1] ** 0.5)
        weights = scores.masked_fill(ahead, -1e9).softmax(dim=-1)
        self.kept["weights"] = weights
        return self.out((self.dropout(weights) @ v).transpose(1, 2).flatten(2)), (k, v)
"""
MODEL = """
class Model(nn.Module):
    def __init__(self, vocab_size, n_embd, block_size):
        super().__init__()
        self.tokens = nn.Embedding(vocab_size, n_embd)
        self.positions = nn.Embedding(block_size, n_embd)
        self.head = nn.Linear(n_embd, vocab_size)

    def forward(self, idx, targets=None):
        x = self.tokens(idx) + self.positions(torch.arange(idx.shape[1]))
        return self.head(x.cumsum(1)), None
"""
ENCODER = ATTENTION.replace("class Attention", "class BertAttention").replace(
    "scores.masked_fill(ahead, -1e9)", "scores"
)
FUNCTION = """
def attention(q, k, v, mask=None):
    scores = q @ k.transpose(-2, -1)
    if mask is not None:
        scores = scores.masked_fill(mask.type(torch.ByteTensor) == 0, -1e9)
    return scores.softmax(-1) @ v
"""
PICTURES = """
class Net(nn.Module):
    def __init__(self, patch_size, num_classes):
        super().__init__()
        self.cut = nn.Conv2d(3, 5, patch_size, patch_size)
        self.head = nn.Linear(5, num_classes)

    def forward(self, img):
        return self.head(self.cut(img).mean((2, 3)))
"""
EINOPS = """
from einops import rearrange, repeat
from einops.layers.torch import Rearrange

class CausalAttention(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.to_qkv = nn.Linear(dim, 3 * dim, bias=False)
        self.cut = Rearrange("b n (three h d) -> three b h n d", three=3, h=heads)
        self.to_out = nn.Linear(dim, dim)

    def forward(self, x):
        q, k, v = self.cut(self.to_qkv(x))
        scores = torch.einsum("bhid,bhjd->bhij", q, k) / q.shape[-1] ** 0.5
        ahead = torch.ones(x.shape[1], x.shape[1]).triu(1).bool()
        ahead = repeat(ahead, "i j -> b 1 i j", b=len(x))
        weights = scores.masked_fill(ahead, -1e9).softmax(-1)
        return self.to_out(rearrange(weights @ v, "b h n d -> b n (h d)"))
"""
LLAMA = """
class Attention(nn.Module):
    def __init__(self, dim, n_heads):
        super().__init__()
        self.n_heads = n_heads
        self.wq, self.wk, self.wv, self.wo = (nn.Linear(dim, dim, bias=False) for _ in range(4))

    def forward(self, x, freqs_cis, mask):
        def turned(z):
            pairs = torch.view_as_complex(z.reshape(*z.shape[:-1], -1, 2))
            return torch.view_as_real(pairs * freqs_cis[:, None]).flatten(3).transpose(1, 2)

        q, k, v = (f(x).unflatten(-1, (self.n_heads, -1)) for f in (self.wq, self.wk, self.wv))
        scores = turned(q) @ turned(k).transpose(2, 3) / q.shape[-1] ** 0.5 + mask
        return self.wo((scores.softmax(-1) @ v.transpose(1, 2)).transpose(1, 2).flatten(2))
"""
TEXTS = (
    LLAMA,
    LLAMA.replace(" / q.shape[-1] ** 0.5", ""),
    ATTENTION,
    ATTENTION.replace("triu(1 + m - n)", "triu(1)"),
    ATTENTION.replace("triu(1 + m - n)", "triu(2 + m - n)"),
    ATTENTION.replace("/ (q.shape[-1] ** 0.5)", "* 0.77"),
    MODEL,
    MODEL.replace("x.cumsum(1)", "x + x.mean(1, keepdim=True)"),
    ENCODER,
    FUNCTION,
    PICTURES,
    *([EINOPS] if find_spec("einops") else []),
)

if __name__ == "__main__":
    torch.set_num_threads(1)
    Path(sys.argv[1]).write_bytes(pickle.dumps([list(check(text, {})) for text in TEXTS]))
