"""Predict the next letter: python longer_contexts.py tiny_shakespeare.txt"""

import sys
from pathlib import Path

import torch
import torch.nn.functional as F

if len(sys.argv) != 2:
    sys.exit(__doc__)
torch.manual_seed(1)
SEQ_LEN = 64

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


def contexts(tokens, length):
    """A number for the last `length` letters at each position; too near the beginning, -1."""
    code = torch.zeros_like(tokens)
    for back in range(length):
        code = code * n_vocab + tokens.roll(back, 0)
    code[: max(0, length - 1)] = -1
    return code


# For each length, the contexts of the training text, and how often each letter came after them.
tables = []
for length in range(5):
    code = contexts(training, length)[:-1]
    known, row = code[code >= 0].unique(return_inverse=True)
    counts = torch.zeros(len(known), n_vocab)
    counts.index_put_((row, training[1:][code >= 0]), torch.ones(()), accumulate=True)
    tables.append((known, counts))


def model(tokens):
    """Scores for the letter after each token, from the shortest context to the longest."""
    p = torch.full((*tokens.shape, n_vocab), 1 / n_vocab)
    for length, (known, counts) in enumerate(tables):
        code = contexts(tokens, length)
        row = torch.searchsorted(known, code.contiguous()).clamp(max=len(known) - 1)
        # A context with many different letters after it relies more on the shorter one.
        different = (counts[row] > 0).sum(dim=-1, keepdim=True)
        mixed = (counts[row] + different * p) / (counts[row].sum(dim=-1, keepdim=True) + different)
        p = torch.where((known[row] == code).unsqueeze(-1), mixed, p)
    return p.log()


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


print(f"validation loss: {evaluate():.3f}")
