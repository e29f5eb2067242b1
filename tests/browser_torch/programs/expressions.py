r"""What a reader may type: each line gives a value, or fails: ANSWER."""

import pickle
import sys
import warnings
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from plain import plain
from torch import nn

LINES = Path(__file__).with_name("expressions.txt").read_text().splitlines()


def names() -> dict[str, Any]:
    r"""What the lines can use, new for each of them."""
    torch.manual_seed(0)
    return {
        "torch": torch,
        "nn": nn,
        "F": F,
        "a": torch.arange(12.0).view(3, 4) / 4 - 1,
        "b": torch.arange(1, 13).view(3, 4),
        "v": torch.tensor([3.0, -1.0, 2.0, 0.5]),
        "m": torch.tensor([True, False, True, False]),
        "w": torch.ones(3, 4, requires_grad=True),
        "r": torch.randn(3, 4),
    }


def outcome(line: str) -> tuple[Any, ...]:
    r"""The value and how it is printed, or the error."""
    known = names()
    *before, last = line.split(";")
    try:
        for one in before:
            exec(one.strip(), known)
        value = eval(last.strip(), known)
        return "ok", plain(value), repr(value)
    except Exception as error:
        return "error", type(error).__name__, str(error)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    answers = {line: outcome(line) for line in LINES if line and not line.startswith("#")}
    Path(sys.argv[1]).write_bytes(pickle.dumps(answers))
