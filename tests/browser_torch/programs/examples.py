r"""Runs the examples of pages: ANSWER MODULE…"""

import contextlib
import importlib
import io
import pickle
import signal
import sys
import time
import traceback
import warnings
from pathlib import Path
from typing import Any

import torch
from plain import plain


class TooLate(BaseException):
    r"""An example takes longer than a minute."""


def too_late(*_: Any) -> None:
    r"""The alarm."""
    raise TooLate


def example(name: str) -> tuple[str, Any]:
    r"""What a page's example gave, or how it failed."""
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            module = importlib.import_module(name)
            torch.manual_seed(0)
            return "ok", plain(module.example())
    except (Exception, TooLate) as error:
        frames = traceback.extract_tb(error.__traceback__)
        places = [f"{Path(one.filename).name}:{one.lineno}" for one in frames[-3:]]
        return "failed", f"{type(error).__name__}: {error} ({', '.join(places)})"


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    # Time of the processor: a busy machine makes no example late.
    signal.signal(signal.SIGPROF, too_late)
    torch.set_num_threads(1)
    answers = {}
    for module_name in sys.argv[2:]:
        signal.setitimer(signal.ITIMER_PROF, 60)
        start = time.perf_counter()
        answers[module_name] = (*example(module_name), time.perf_counter() - start)
        signal.setitimer(signal.ITIMER_PROF, 0)
    Path(sys.argv[1]).write_bytes(pickle.dumps(answers))
