r"""The GPU that isn't there, in a process of its own: PyTorch can't forget it once it is there."""

from pathlib import Path

from tests.literate.projects import succeed


def test_a_gpu_that_isn_t_there_and_the_notebooks_on_it(repository: Path) -> None:
    r"""What is tested is in `on_fake_gpu.py`. From then on, `fork_rng` would ask the GPU."""
    succeed(repository, "pytest", "-q", "-p", "no:xdist", "tests/benchmarks/on_fake_gpu.py")
