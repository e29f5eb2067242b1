r"""Where a training step in the page goes."""

import re

import pytest

from benchmarks.browser_step import GROUPS, PYTHON, REST, STEPS, parted
from benchmarks.record import ROOT


def test_each_kernel_of_a_group_is_one_of_the_stand_in() -> None:
    text = (ROOT / "browser_torch/torch/_memory.py").read_text(encoding="utf-8")
    there = set(re.findall(r"(?m)^    ([A-Z][A-Z_0-9]*) = \d+$", text))
    assert {kernel for kernels in GROUPS.values() for kernel in kernels} <= there


def test_what_no_kernel_takes_is_python_s() -> None:
    found = parted(2.0, {"MATMUL": 0.75, "COPY": 0.5, "GATHER": 0.125, "RANDOM": 0.25})
    each = {one: time * STEPS / 1000 for one, time in found.items() if time}
    assert each == pytest.approx(
        {"matrix products": 0.75, "copies and indices": 0.625, REST: 0.25, PYTHON: 0.375}
    )
