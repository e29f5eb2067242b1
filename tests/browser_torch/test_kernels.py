r"""Kernels never touch memory outside of their tensors, whatever they are asked for."""

import shutil
from collections import Counter

import pytest

from tests.browser_torch.edits import edits_of, outcomes, pages
from tests.browser_torch.worlds import STAND_IN, run

needs_gcc = pytest.mark.skipif(
    shutil.which("gcc") is None, reason="the address sanitizer comes with gcc"
)
REASONS = range(8)


@needs_gcc
def test_rows_with_wrong_numbers_are_refused() -> None:
    rows = 20_000
    counts: Counter[int] = run(STAND_IN, "rows", "1", f"{rows}", sanitized=True)
    # Some were right, and each way of being wrong came up. (6 is an index out of range.)
    assert set(counts) == set(REASONS)
    assert counts[0] > rows // 20


@needs_gcc
def test_edited_pages_damage_no_memory() -> None:
    edits = [one for path in pages(5) for one in edits_of(path, 3)]
    assert len(outcomes(STAND_IN, edits, sanitized=True)) == len(edits) == 15


@needs_gcc
@pytest.mark.whole
@pytest.mark.parametrize("part", range(6))
def test_many_edited_pages_damage_no_memory(part: int) -> None:
    edits = [one for path in pages(60)[part::6] for one in edits_of(path, 34)]
    assert len(outcomes(STAND_IN, edits, sanitized=True)) == len(edits)
