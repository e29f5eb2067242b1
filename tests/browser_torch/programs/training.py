r"""Trains models of the course and keeps the loss of every step: ANSWER STEPS D_MODEL NAME…"""

import pickle
import sys
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from labml_nn.course import steps
from labml_nn.training.data import CharTokenizer, RandomWindows

SEQ_LEN, BATCH_SIZE = 16, 6
TEXT = (
    "Before we proceed any further, hear me speak. You are all resolved rather to die than to "
    "famish? Resolved. First, you know Caius Marcius is chief enemy to the people. "
) * 4


if __name__ == "__main__":
    torch.set_num_threads(1)

    def observed(train: Any, *args: Any, **options: Any) -> None:
        r"""The loop of the lessons, which tells each loss."""

        def keep(step: int, loss: Tensor) -> None:
            answers[current].append(loss.item())

        train(*args, **options, after_step=keep)

    steps.train = partial(observed, steps.train)
    tokenizer = CharTokenizer(TEXT)
    text = tokenizer.encode(TEXT)
    answers: dict[str, list[float]] = {}
    for current in sys.argv[4:]:
        answers[current] = []
        n_vocab = len(tokenizer)
        made = steps.steps_of_course(n_vocab, int(sys.argv[3]), 4, SEQ_LEN)[current]
        torch.manual_seed(1)
        batches = RandomWindows(text, SEQ_LEN, BATCH_SIZE, 1)
        steps.fit(made[0](), batches, int(sys.argv[2]), made[1])
    Path(sys.argv[1]).write_bytes(pickle.dumps(answers))
