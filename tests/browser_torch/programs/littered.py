r"""Runs a program where memory for results is never empty: ANSWER PROGRAM ARGUMENTS…

What a result is written to holds what was left there: here numbers that are none, and bools that
are true.
"""

import runpy
import sys
from array import array
from pathlib import Path

from torch import _memory

if __name__ == "__main__":
    _memory._freed.take = lambda count: array("q", [-1]) * count
    answer, program, *rest = sys.argv[1:]
    path = str(Path(__file__).with_name(f"{program}.py"))
    sys.argv = [path, answer, *rest]
    runpy.run_path(path, run_name="__main__")
