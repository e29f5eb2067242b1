r"""Calls kernels with rows of numbers of which some are wrong: ANSWER SEED COUNT.

Every tensor names memory that exists, and how large it is; all else may be anything. A kernel that
touches what lies outside is stopped by the address sanitizer.
"""

import pickle
import random
import sys
from array import array
from collections import Counter
from pathlib import Path
from typing import Any

from torch import _memory

# The numbers of an operation, and how many tensors it takes.
SHAPES = {
    "UNARY": (1, 2),
    "BINARY": (1, 3),
    "WHERE": (0, 4),
    "COPY": (0, 2),
    "FILL": (1, 1),
    "ARANGE": (2, 1),
    "TRIANGLE": (2, 2),
    "REDUCE": (1, 2),
    "CUMULATE": (2, 2),
    "MATMUL": (0, 4),
    "SOFTMAX": (4, 2),
    "SOFTMAX_BACKWARD": (3, 3),
    "NORMALISE": (2, 4),
    "NORMALISE_BACKWARD": (1, 4),
    "INDEX": (1, 4),
    "GATHER": (2, 3),
    "RANDOM": (3, 2),
    "ADAMW": (5, 5),
    "GELU_AND_SLOPE": (0, 3),
    "CROSS_ENTROPY": (2, 4),
    "CROSS_ENTROPY_BACKWARD": (2, 4),
}
WRONG = [-1, 0, 1, 2, 5, 13, 2**31, 2**40, 2**62, -(2**63), 2**63 - 1]
SIZES = (4, 8, 8, 4, 1, 1, 1, 2, 2, 2, 8, 16)


def tensor(rnd: random.Random, shape: list[int], dtype: int, kept: list[Any]) -> list[int]:
    r"""A tensor that is right, in memory of just its size."""
    count = 1
    strides: list[int] = []
    for size in reversed(shape):
        strides.insert(0, count)
        count *= size
    n_bytes = max(1, count * SIZES[dtype])
    memory = array("b", bytes(n_bytes))
    # Indices must not all be 0.
    for place in range(0, n_bytes, 8):
        memory[place] = rnd.randrange(4)
    kept.append(memory)
    return [memory.buffer_info()[0], n_bytes, dtype, 0, len(shape), *shape, *strides]


def call(rnd: random.Random, kept: list[Any]) -> list[int]:
    r"""A row for one operation, mostly right."""
    name = rnd.choice(list(SHAPES))
    numbers, tensors = SHAPES[name]
    shape = [rnd.choice([1, 2, 3, 5]) for _ in range(rnd.randrange(4))]
    dtype = rnd.randrange(12) if rnd.random() < 0.3 else 0
    row = [0, _memory.Operation[name], numbers, tensors]
    row += [rnd.choice([0, 1, 2, 3, rnd.choice(WRONG)]) for _ in range(numbers)]
    for place in range(tensors):
        own = list(shape)
        if rnd.random() < 0.3:
            own = [rnd.choice([0, 1, 2, 3]) for _ in range(rnd.randrange(4))]
        kind = 2 if name in ("INDEX", "GATHER") and place >= 2 else dtype
        start = len(row)
        row += tensor(rnd, own, kind, kept)
        # All but address and bytes may be wrong.
        if rnd.random() < 0.4:
            row[rnd.randrange(start + 2, len(row))] = rnd.choice(WRONG)
    if rnd.random() < 0.1:
        row[rnd.choice([1, 2, 3])] = rnd.choice(WRONG)
    row[0] = len(row)
    return row


if __name__ == "__main__":
    chance = random.Random(int(sys.argv[2]))
    counts: Counter[int] = Counter()
    for _ in range(int(sys.argv[3])):
        memories: list[Any] = []
        row = array("q", call(chance, memories))
        counts[_memory._run(row.buffer_info()[0])] += 1
    Path(sys.argv[1]).write_bytes(pickle.dumps(counts))
