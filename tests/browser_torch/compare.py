r"""How far two answers are from each other, and whether two errors are the same."""

import math
from typing import Any

import torch
from packaging.version import Version

# The release whose errors the stand-in raises is 2.13. Since 2.14, PyTorch raises a special kind of
# RuntimeError for what it doesn't do with booleans, in the same words.
SPECIAL_KINDS = {"NotImplementedError"} if Version(torch.__version__) >= Version("2.14") else set()


def depends_on_the_build(own: tuple[Any, ...]) -> bool:
    r"""
    Whether the stand-in, a build for the CPU, refuses what a build for GPUs would look for.

    If PyTorch is such a build here, then it does it or says something else.
    """
    refused = own[0] == "error" and own[2] == "Torch not compiled with CUDA enabled"
    return refused and torch.version.cuda is not None


def same_error(own: tuple[Any, ...], known: tuple[Any, ...]) -> bool:
    r"""Whether an error of the stand-in ("error", its type, its text) has the type of PyTorch's."""
    if known[1] in SPECIAL_KINDS and own[1] == "RuntimeError":
        return own[2] == known[2]
    return own[1] == known[1]


def difference(a: Any, b: Any, path: str = "") -> tuple[float, str]:
    r"""The largest difference, relative to the largest number of its tensor if that is above 1."""
    if isinstance(a, tuple) and isinstance(b, tuple) and a[:1] == b[:1] == ("tensor",):
        return _of_tensors(a, b, path)
    if isinstance(a, dict) and isinstance(b, dict):
        if a.keys() != b.keys():
            return math.inf, f"{path}: keys {sorted(set(a) ^ set(b))}"
        return max((difference(a[key], b[key], f"{path}.{key}") for key in a), default=(0.0, path))
    if isinstance(a, list) and isinstance(b, list):
        if len(a) != len(b):
            return math.inf, f"{path}: {len(a)} and {len(b)} entries"
        pairs = enumerate(zip(a, b, strict=True))
        return max(
            (difference(one, other, f"{path}[{place}]") for place, (one, other) in pairs),
            default=(0.0, path),
        )
    if isinstance(a, float) and isinstance(b, (float, int)):
        return _of_numbers(a, b, max(1.0, abs(b))), path
    return (0.0, path) if a == b else (math.inf, f"{path}: {a!r:.80} and {b!r:.80}")


def _of_numbers(a: float, b: float, scale: float) -> float:
    if a == b or a != a and b != b:
        return 0.0
    return abs(a - b) / scale if math.isfinite(a - b) else math.inf


def _of_tensors(a: tuple[Any, ...], b: tuple[Any, ...], path: str) -> tuple[float, str]:
    if a[1:3] != b[1:3]:
        return math.inf, f"{path}: {a[1:3]} and {b[1:3]}"
    finite = [abs(one) for one in b[3] if math.isfinite(one)]
    scale = max(1.0, max(finite, default=1.0))
    pairs = zip(a[3], b[3], strict=True)
    return max((_of_numbers(one, other, scale) for one, other in pairs), default=0.0), path
