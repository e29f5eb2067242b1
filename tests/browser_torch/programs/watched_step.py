r"""The time that each kernel takes in training steps, in the stand-in alone: ANSWER STEPS WIDTH."""

import pickle
import runpy
import sys
import time
from collections import Counter
from pathlib import Path

from torch import _memory as memory

if __name__ == "__main__":
    kernel_of = memory._run
    spent: Counter[str] = Counter()

    def watched(row: int) -> int:
        r"""Calls a kernel; the second number of a row says which."""
        name = memory.Operation(memory._ROW[1]).name
        began = time.perf_counter()
        status = kernel_of(row)
        spent[name] += time.perf_counter() - began
        return status

    memory._run = watched
    began = time.perf_counter()
    runpy.run_path(str(Path(__file__).with_name("step.py")), run_name="__main__")
    seconds = time.perf_counter() - began
    answer = {"seconds": seconds, "kernels": dict(spent)}
    Path(sys.argv[1]).write_bytes(pickle.dumps(answer))
