r"""Comparisons for tests."""

from typing import Any

from torch._dtypes import bfloat16, float16, float32, float64
from torch._making import as_tensor
from torch._reductions import isclose
from torch._tensor import Tensor

_TOLERANCES = {
    float32: (1.3e-6, 1e-5),
    float64: (1e-7, 1e-7),
    bfloat16: (1.6e-2, 1e-5),
    float16: (1e-3, 1e-5),
}


def assert_close(
    actual: Any,
    expected: Any,
    *,
    rtol: float | None = None,
    atol: float | None = None,
    equal_nan: bool = False,
    check_dtype: bool = True,
    msg: Any = None,
    **options: Any,
) -> None:
    r"""Raises AssertionError unless both are nearly equal."""
    if isinstance(actual, (list, tuple)):
        for one, other in zip(actual, expected, strict=True):
            assert_close(one, other, rtol=rtol, atol=atol, equal_nan=equal_nan)
        return
    a = actual if isinstance(actual, Tensor) else as_tensor(actual)
    b = expected if isinstance(expected, Tensor) else as_tensor(expected)
    if a.shape != b.shape:
        raise AssertionError(
            f"The values for attribute 'shape' do not match: {a.shape} != {b.shape}."
        )
    if check_dtype and a.dtype is not b.dtype:
        raise AssertionError(
            f"The values for attribute 'dtype' do not match: {a.dtype} != {b.dtype}."
        )
    usual = _TOLERANCES.get(a.dtype, (0.0, 0.0))
    rtol, atol = usual[0] if rtol is None else rtol, usual[1] if atol is None else atol
    a, b = a.detach().double(), b.detach().double()
    near = isclose(a, b, rtol, atol, equal_nan)
    if bool(near.all()):
        return
    wrong = int((~near).sum())
    largest = (a - b).abs().max().item()
    said = (
        f"Tensor-likes are not close!\n\nMismatched elements: {wrong} / {a.numel()} "
        f"({100 * wrong / a.numel():.1f}%)\nGreatest absolute difference: {largest} "
        f"(up to {atol} allowed)"
    )
    raise AssertionError(msg(said) if callable(msg) else msg or said)


def assert_allclose(
    actual: Any, expected: Any, rtol: float | None = None, atol: float | None = None, **options: Any
) -> None:
    r"""Raises AssertionError unless both are nearly equal, whatever their types are."""
    assert_close(actual, expected, rtol=rtol, atol=atol, check_dtype=False)
