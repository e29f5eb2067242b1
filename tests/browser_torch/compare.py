r"""How far two answers are from each other."""

import math
from typing import Any


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
