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

    def forward(self, x):
        # The features are shared out among the heads: `[seq_len, batch_size, heads, d_k]`.
        split = HEADS, D_MODEL // HEADS
        query = self.query(x).unflatten(-1, split)
        key = self.key(x).unflatten(-1, split)
        value = self.value(x).unflatten(-1, split)
        scores = torch.einsum("ibhd,jbhd->ijbh", query, key) / split[1] ** 0.5
        # What comes later gets no weight.
        later = torch.ones(len(x), len(x), dtype=torch.bool).triu(1)
        weights = scores.masked_fill(later[..., None, None], -math.inf).softmax(dim=1)
        return self.output(torch.einsum("ijbh,jbhd->ibhd", weights, value).flatten(2))


class Layer(nn.Module):
    """Attention and a network of two layers, each of which adds to what it gets."""

    def __init__(self):
        super().__init__()
        self.norm_attention = nn.LayerNorm(D_MODEL)
        self.attention = Attention()
        self.norm_network = nn.LayerNorm(D_MODEL)
        self.network = nn.Sequential(
            nn.Linear(D_MODEL, 4 * D_MODEL), nn.GELU(), nn.Linear(4 * D_MODEL, D_MODEL)
        )

    def forward(self, x):
        x = x + self.attention(self.norm_attention(x))
        return x + self.network(self.norm_network(x))


def sines():
    """A vector for each position: waves of many lengths, `[seq_len, 1, d_model]`."""
    frequencies = 10_000 ** (-torch.arange(0, D_MODEL, 2) / D_MODEL)
    angles = torch.arange(SEQ_LEN)[:, None] * frequencies
    return torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(1).unsqueeze(1)


class Model(nn.Module):
    """A vector for each letter, layers, and scores for the next letter."""

    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(n_vocab, D_MODEL)
        # The embeddings begin small and are scaled up. So each step moves them eleven times as far.
        nn.init.normal_(self.embed.weight, std=D_MODEL**-0.5)
        self.register_buffer("positions", sines())
        self.layers = nn.Sequential(*(Layer() for _ in range(N_LAYERS)))
        self.norm = nn.LayerNorm(D_MODEL)
        self.logits = nn.Linear(D_MODEL, n_vocab)

    def forward(self, tokens):
        x = self.embed(tokens) * D_MODEL**0.5 + self.positions[: len(tokens)]
        x = self.layers(x)
        return self.logits(self.norm(x))


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


@torch.no_grad()
def write(tokens, n_letters):
    """Goes on from tokens, `[seq_len, 1]`. All of them go through the model for each new letter."""
    for _ in range(n_letters):
        new = model(tokens)[-1].softmax(dim=-1).multinomial(1).T
        tokens = torch.cat([tokens, new])
    return "".join(letters[token] for token in tokens[:, 0])


def share(step):
    """The share of the highest learning rate: it rises for the first steps, then falls."""
    rising = max(1, round(0.05 * STEPS))
    if step < rising:
        return (step + 1) / rising
    done = (step - rising) / max(1, STEPS - rising)
    return 0.1 + 0.9 * (1 + math.cos(math.pi * done)) / 2


optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3, betas=(0.9, 0.99))
schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, share)
for step in range(STEPS):
    # Windows at random places; the target of each letter is the letter after it.
    places = torch.arange(SEQ_LEN)[:, None] + torch.randint(n_training - SEQ_LEN, (12,))
    logits = model(training[places])
    loss = F.cross_entropy(logits.flatten(0, 1), training[places + 1].flatten())
    model.zero_grad()
    loss.backward()
    # One odd batch would stay in AdamW's mean of squares, and make many later steps too short.
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    schedule.step()
    if step % 100 == 99:
        print(f"step {step + 1}: loss {loss.item():.3f}")
print(f"validation loss: {evaluate():.3f}")
print(write(validation[:16, None], SEQ_LEN - 16))
