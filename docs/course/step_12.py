"""Predict the next letter: python step_NN.py tiny_shakespeare.txt NUMBER_OF_TRAINING_STEPS"""

import math
import sys
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import nn

if len(sys.argv) != 3:
    sys.exit(__doc__)
torch.manual_seed(1)
SEQ_LEN = 64
STEPS = int(sys.argv[2])
D_MODEL = 128
HEADS = 4
N_LAYERS = 4

# The last tenth of the text is never trained on. It judges the model.
text = Path(sys.argv[1]).read_text(encoding="utf-8")
n_training = len(text) * 9 // 10

# A number for each letter of the training text, and one for any letter that isn't in it.
letters = [*sorted(set(text[:n_training])), "\N{REPLACEMENT CHARACTER}"]
n_vocab = len(letters)
number = {letter: index for index, letter in enumerate(letters)}
tokens = torch.tensor([number.get(letter, n_vocab - 1) for letter in text])
training = tokens[:n_training]
validation = tokens[n_training:]


class Attention(nn.Module):
    """In each head, a position compares its query with the keys so far, and takes their values."""

    def __init__(self):
        super().__init__()
        self.query = nn.Linear(D_MODEL, D_MODEL)
        self.key = nn.Linear(D_MODEL, D_MODEL)
        self.value = nn.Linear(D_MODEL, D_MODEL)
        self.output = nn.Linear(D_MODEL, D_MODEL)
        # While the model writes: the keys and values of the letters so far.
        self.cache = None

    def forward(self, x):
        # The features are shared out among the heads: `[seq_len, batch_size, heads, d_k]`.
        split = HEADS, D_MODEL // HEADS
        query = self.query(x).unflatten(-1, split)
        key = self.key(x).unflatten(-1, split)
        value = self.value(x).unflatten(-1, split)
        start = 0 if self.cache is None else len(self.cache[0])
        query = rotate(query, start)
        key = rotate(key, start)
        if self.cache is not None:
            key = torch.cat([self.cache[0], key])
            value = torch.cat([self.cache[1], value])
            self.cache = key, value
        scores = torch.einsum("ibhd,jbhd->ijbh", query, key) / split[1] ** 0.5
        # What comes later gets no weight. The queries are the last of the positions.
        later = torch.ones(len(key), len(key), dtype=torch.bool).triu(1)[-len(x) :]
        weights = scores.masked_fill(later[..., None, None], -math.inf).softmax(dim=1)
        return self.output(torch.einsum("ijbh,jbhd->ibhd", weights, value).flatten(2))


class Layer(nn.Module):
    """Attention and a network of two layers, each of which adds to what it gets."""

    def __init__(self):
        super().__init__()
        self.norm_attention = nn.LayerNorm(D_MODEL)
        self.attention = Attention()
        self.norm_network = nn.LayerNorm(D_MODEL)
        self.gate_and_value = nn.Linear(D_MODEL, 2 * 336)
        self.output = nn.Linear(336, D_MODEL)

    def forward(self, x):
        x = x + self.attention(self.norm_attention(x))
        gate, value = self.gate_and_value(self.norm_network(x)).chunk(2, dim=-1)
        return x + self.output(F.silu(gate) * value)


def rotate(x, start):
    """Rotates pairs of features, `[seq_len, batch_size, heads, d_k]`, more at each position."""
    frequencies = 10_000 ** (-torch.arange(0, x.shape[-1], 2) / x.shape[-1])
    angles = torch.arange(start, start + len(x))[:, None, None, None] * frequencies
    turned = torch.complex(*x.chunk(2, dim=-1)) * torch.polar(torch.ones_like(angles), angles)
    return torch.cat([turned.real, turned.imag], dim=-1)


class Model(nn.Module):
    """A vector for each letter, layers, and scores for the next letter."""

    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(n_vocab, D_MODEL)
        # The embeddings begin small and are scaled up. So each step moves them eleven times as far.
        nn.init.normal_(self.embed.weight, std=D_MODEL**-0.5)
        self.layers = nn.Sequential(*(Layer() for _ in range(N_LAYERS)))
        self.norm = nn.LayerNorm(D_MODEL)
        self.logits = nn.Linear(D_MODEL, n_vocab)

    def forward(self, tokens):
        x = self.embed(tokens) * D_MODEL**0.5
        x = self.layers(x)
        return self.logits(self.norm(x))


@torch.no_grad()
def write(tokens, n_letters):
    """Goes on from tokens, `[seq_len, 1]`. Only the new letter goes through the model."""
    empty = torch.zeros(0, 1, HEADS, D_MODEL // HEADS)
    for layer in model.layers:
        layer.attention.cache = empty, empty
    new = tokens
    for _ in range(n_letters):
        new = model(new)[-1].softmax(dim=-1).multinomial(1).T
        tokens = torch.cat([tokens, new])
    for layer in model.layers:
        layer.attention.cache = None
    return "".join(letters[token] for token in tokens[:, 0])


model = Model()


@torch.no_grad()
def evaluate():
    """The cross entropy: the mean of -ln p of the letter that comes next."""
    losses = []
    for window in validation.unfold(0, SEQ_LEN + 1, SEQ_LEN).split(64):
        # A window is a column: `[seq_len, batch_size]`.
        inputs = window.T[:-1]
        targets = window.T[1:]
        logits = model(inputs)
        losses.append(F.cross_entropy(logits.flatten(0, 1), targets.flatten(), reduction="none"))
    return torch.cat(losses).mean().item()


def share(step):
    """The share of the highest learning rate: it rises for the first steps, then falls."""
    rising = max(1, round(0.05 * STEPS))
    if step < rising:
        return (step + 1) / rising
    done = (step - rising) / max(1, STEPS - rising)
    return 0.1 + 0.9 * (1 + math.cos(math.pi * done)) / 2


# Muon for the matrices of the layers, AdamW for the rest.
matrices = [p for p in model.layers.parameters() if p.dim() == 2]
others = [p for p in model.parameters() if p not in set(matrices)]
muon = torch.optim.Muon(matrices, lr=0.016)
adamw = torch.optim.AdamW(others, lr=8e-3, betas=(0.9, 0.99))
schedules = [torch.optim.lr_scheduler.LambdaLR(one, share) for one in (muon, adamw)]
for step in range(STEPS):
    # Windows at random places; the target of each letter is the letter after it.
    places = torch.arange(SEQ_LEN)[:, None] + torch.randint(n_training - SEQ_LEN, (12,))
    logits = model(training[places])
    loss = F.cross_entropy(logits.flatten(0, 1), training[places + 1].flatten())
    model.zero_grad()
    loss.backward()
    # One odd batch would stay in AdamW's mean of squares, and make many later steps too short.
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    for one in (muon, adamw, *schedules):
        one.step()
    if step % 100 == 99:
        print(f"step {step + 1}: loss {loss.item():.3f}")
print(f"validation loss: {evaluate():.3f}")
print(write(validation[:16, None], SEQ_LEN - 16))
