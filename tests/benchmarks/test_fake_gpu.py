r"""The GPU that isn't there, in a process of its own: PyTorch can't forget it once it is there.

What is tested is in `on_fake_gpu.py`. From then on, `fork_rng` would ask the GPU.
"""

from pathlib import Path

import pytest

from tests.literate.projects import succeed

COMMAND = ("pytest", "-q", "-p", "no:xdist", "tests/benchmarks/on_fake_gpu.py")


def test_a_gpu_that_isn_t_there_and_some_notebooks_on_it(repository: Path) -> None:
    succeed(repository, *COMMAND)


@pytest.mark.whole
def test_every_notebook_on_a_gpu_that_isn_t_there(repository: Path) -> None:
    succeed(repository, *COMMAND, "-m", "whole")
