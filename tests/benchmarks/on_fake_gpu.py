r"""
The GPU that isn't there refuses what CUDA refuses, counts right, and runs each notebook.

`test_fake_gpu.py` runs this in a process of its own.
"""

import tomllib
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from torch import nn

from benchmarks.fake_gpu import GIB, T4, Card, fake_gpu
from benchmarks.notebook_counts import FILE, FOLDER, chooses_a_gpu, name_of, run, trains
from labml_nn.training.data import tiny_shakespeare
from labml_nn.transformers.modern.experiment import muon_and_adamw
from labml_nn.transformers.modern.model import ModernTransformer
from tests.kernels import FORM

# One that has bfloat16.
A100 = replace(T4, name="A100", capability=(8, 0))
ON_GPU = sorted(path for path in FOLDER.rglob("*.ipynb") if chooses_a_gpu(path))
# An attention, and the training of both recipes.
SAMPLE = (
    "transformers/basic/autoregressive_experiment",
    "transformers/mha",
    "transformers/modern/experiment",
)


def test_a_mixture_of_devices_is_refused() -> None:
    with fake_gpu():
        layer = nn.Linear(3, 5).to("cuda")
        assert layer(torch.randn(7, 3, device="cuda")).shape == (7, 5)
        with pytest.raises(RuntimeError, match="at least two devices"):
            layer(torch.randn(7, 3))
        with pytest.raises(RuntimeError, match="at least two devices"):
            torch.randn(7, device="cuda") + torch.randn(7)


def test_operations_bytes_and_memory_are_counted() -> None:
    m, k, n = 1009, 103, 211
    with fake_gpu() as counts:
        a, b = torch.empty(m, k, device="cuda"), torch.empty(k, n, device="cuda")
        assert (counts.held, counts.kernels) == (4 * (m * k + k * n), 0)
        c = a @ b
        assert counts.flops == 2 * m * k * n
        assert counts.read_and_written == 4 * (m * k + k * n + m * n)
        assert counts.kernels == 1
        del a, b
        d = c.t() + 1
        del c
        assert counts.held == 4 * m * n
        assert counts.peak == 4 * max(m * k + k * n + m * n, 2 * m * n)
        assert d.is_cuda and d.shape == (n, m)


def test_the_program_starts_kernels_while_the_gpu_computes() -> None:
    card = replace(T4, flops={4: 1e9}, bandwidth=1e9, start=1e-4)
    with fake_gpu(card) as counts:
        small = torch.empty(2, 3, device="cuda")
        for _ in range(5):
            small = small + 1
        assert counts.seconds == pytest.approx(5 * 1e-4)
        large = torch.empty(101, 103, device="cuda")
        large @ large.t()
        # The product takes longer than all starts together.
        product = 2 * 101 * 103 * 101 / 1e9
        sums = 5 * 2 * 4 * 2 * 3 / 1e9
        assert counts.seconds == pytest.approx(product + sums, rel=0.02)
    with fake_gpu(replace(card, waits=True)) as counts:
        small = torch.empty(2, 3, device="cuda")
        large @ large.t()
        small = small + 1
        assert counts.seconds == pytest.approx(product + 1e-4)


@pytest.mark.parametrize(
    "path",
    [
        pytest.param(
            path, id=name_of(path), marks=[] if name_of(path) in SAMPLE else pytest.mark.whole
        )
        for path in ON_GPU
    ],
)
def test_a_notebook_runs_where_there_is_a_gpu(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    counts, names = run(
        path, {**FORM, "corpus": "shakespeare", "steps": 1}, T4, tiny_shakespeare()[:4000]
    )
    # Something was computed there, and in what a T4 computes with.
    assert counts.flops > 0
    assert counts.peak < T4.memory / GIB * GIB
    tensors = [one for one in names.values() if isinstance(one, nn.Module | torch.Tensor)]
    assert not any(torch.bfloat16 in _types(one) for one in tensors)


def test_each_that_trains_for_a_minute_goes_to_a_gpu() -> None:
    counted = tomllib.loads(FILE.read_text(encoding="utf-8"))
    long = {name for name, takes in counted.items() if takes["cores"] >= 1}
    assert long <= {f"labml_nn/{name_of(path)}.py" for path in ON_GPU}


def test_the_head_of_each_says_what_it_takes() -> None:
    counted = tomllib.loads(FILE.read_text(encoding="utf-8"))
    names = [name_of(path) for path in ON_GPU if trains(path)]
    assert [name for name in names if "gpu" not in counted.get(f"labml_nn/{name}.py", {})] == []


def _types(value: nn.Module | torch.Tensor) -> set[torch.dtype]:
    r"""What is kept in fewer bits, as a buffer, is made 32 bits before it is computed with."""
    is_module = isinstance(value, nn.Module)
    return {one.dtype for one in value.parameters()} if is_module else {value.dtype}


@pytest.mark.parametrize(("card", "dtype"), [(T4, torch.float32), (A100, torch.bfloat16)])
def test_muon_computes_in_what_a_gpu_computes_with(card: Card, dtype: torch.dtype) -> None:
    with fake_gpu(card):
        model = ModernTransformer(13, 20, 5, 2, 11, 7).to("cuda")
        muon, _ = muon_and_adamw(model)
        assert muon.dtype is dtype
