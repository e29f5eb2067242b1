import pytest
import torch
from torch import nn

from labml_nn.training.engine.presets import ModernConfig, modern
from labml_nn.training.engine.utilisation import PEAKS, flops_per_token, peak_of, utilisation

CPU = torch.device("cpu")


def make_model(dropout_prob: float = 0.0) -> nn.Module:
    config = ModernConfig(
        seq_len=13, d_model=20, heads=5, n_layers=3, d_ff=11, dropout_prob=dropout_prob
    )
    return modern(config, n_vocab=17)


def test_operations_are_those_of_the_formula() -> None:
    r"""Six for each weight of a matrix; the kernel of a CPU isn't counted."""
    weights = 3 * (4 * 20 * 20 + 3 * 20 * 11) + 20 * 17
    assert flops_per_token(make_model(), torch.zeros(13, 1, dtype=torch.long)) == 6 * weights


def test_counting_moves_no_weight_and_draws_no_number() -> None:
    model = make_model(dropout_prob=0.5)
    before = [parameter.clone() for parameter in model.parameters()]
    state = torch.get_rng_state()
    flops_per_token(model, torch.zeros(13, 1, dtype=torch.long))
    assert torch.get_rng_state().equal(state)
    for parameter, old in zip(model.parameters(), before, strict=True):
        assert parameter.equal(old)
        assert parameter.grad is None


@pytest.mark.parametrize(
    ("name", "gpu"),
    [
        ("NVIDIA A100-SXM4-80GB", "A100"),
        ("NVIDIA H100 80GB HBM3", "H100"),
        ("NVIDIA H100 PCIe", "H100 PCIe"),
        ("NVIDIA H200", "H200"),
        ("NVIDIA L4", "L4"),
        ("NVIDIA L40S", "L40S"),
        ("Tesla T4", "T4"),
        ("Tesla V100-SXM2-16GB", "V100"),
    ],
)
def test_a_gpu_is_known_by_its_name(name: str, gpu: str) -> None:
    assert peak_of(name, torch.bfloat16) == peak_of(name, torch.float16) == PEAKS[gpu]


@pytest.mark.parametrize("name", ["NVIDIA GeForce RTX 4090", "NVIDIA A10G", "NVIDIA L40", ""])
def test_of_other_GPUs_and_other_numbers_nothing_is_claimed(name: str) -> None:
    assert peak_of(name, torch.bfloat16) is None
    assert peak_of("NVIDIA A100-SXM4-80GB", torch.float32) is None


def test_without_a_gpu_there_is_no_share() -> None:
    assert utilisation(12e6, CPU, torch.float32) is None


def test_the_share_is_of_the_peak_of_all_gpus(monkeypatch: pytest.MonkeyPatch) -> None:
    cuda = torch.device("cuda")
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda device: "NVIDIA H100 80GB HBM3")
    assert utilisation(989e12, cuda, torch.bfloat16) == pytest.approx(1.0)
    monkeypatch.setattr("labml_nn.training.engine.utilisation.world_size", lambda: 2)
    assert utilisation(989e12, cuda, torch.bfloat16) == pytest.approx(0.5)
    # What was not counted has no share.
    assert utilisation(0.0, cuda, torch.bfloat16) is None
