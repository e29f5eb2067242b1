"""Predict the next letter: python step_NN.py tiny_shakespeare.txt NUMBER_OF_TRAINING_STEPS"""

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


# Row i has the scores of the letters after letter i. With zeros, it guesses at first.
model = nn.Embedding(n_vocab, n_vocab)
nn.init.zeros_(model.weight)


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


optimizer = torch.optim.AdamW(model.parameters(), lr=0.03, betas=(0.9, 0.99))
for step in range(STEPS):
    # Windows at random places; the target of each letter is the letter after it.
    places = torch.arange(SEQ_LEN)[:, None] + torch.randint(n_training - SEQ_LEN, (12,))
    logits = model(training[places])
    loss = F.cross_entropy(logits.flatten(0, 1), training[places + 1].flatten())
    model.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 100 == 99:
        print(f"step {step + 1}: loss {loss.item():.3f}")
print(f"validation loss: {evaluate():.3f}")
print(write(validation[:16, None], SEQ_LEN - 16))
