"""Predict the next letter: python step_NN.py tiny_shakespeare.txt NUMBER_OF_TRAINING_STEPS"""

import sys
from pathlib import Path

import torch
import torch.nn.functional as F

if len(sys.argv) != 3:
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


# How often each letter came after each other one. One more of each, so that none is impossible.
counts = torch.ones(n_vocab, n_vocab)
counts.index_put_((training[:-1], training[1:]), torch.ones(()), accumulate=True)


def model(tokens):
    """Scores for the letter after each token: the row of the token in the table of pairs."""
    return (counts / counts.sum(dim=1, keepdim=True)).log()[tokens]


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
