r"""Trains mistakes of the museum, and keeps all that is told: ANSWER STEPS NAME…"""

import pickle
import sys
from pathlib import Path

import torch

from labml_nn.transformers.mistakes.experiment import Sizes
from labml_nn.transformers.mistakes.train_here import EXHIBITS, train_here

TEXT = (
    "Before we proceed any further, hear me speak. You are all resolved rather to die than to "
    "famish? Resolved. First, you know Caius Marcius is chief enemy to the people. "
) * 4


if __name__ == "__main__":
    torch.set_num_threads(1)
    steps = int(sys.argv[2])
    sizes = Sizes(32, 4, 2, 16, 6, n_steps=steps, n_places=1)
    answers = {
        name: list(train_here(name, steps, samples=1, letters=7, text=TEXT, sizes=sizes))
        for name in sys.argv[3:] or EXHIBITS
    }
    Path(sys.argv[1]).write_bytes(pickle.dumps(answers))
