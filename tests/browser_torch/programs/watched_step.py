r"""
The time that each kernel takes in training steps, and the modules whose functions are called.

In the stand-in alone: ANSWER STEPS WIDTH.
"""

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
    program = str(Path(__file__).with_name("step.py"))
    began = time.perf_counter()
    runpy.run_path(program, run_name="__main__")
    seconds = time.perf_counter() - began
    answer = {"seconds": seconds, "kernels": dict(spent)}

    # Once more, since to look takes time.
    called: set[str] = set()
    sys.setprofile(lambda frame, event, argument: called.add(frame.f_code.co_filename))
    runpy.run_path(program, run_name="__main__")
    sys.setprofile(None)
    folder = str(Path(memory.__file__).parent)
    answer["modules"] = sorted(one for one in called if one.startswith(folder))
    Path(sys.argv[1]).write_bytes(pickle.dumps(answer))
