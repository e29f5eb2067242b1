from dataclasses import replace

import pytest
import torch
from torch import nn

from labml_nn.training.loop import TrainConfig, Trainer
from labml_nn.training.utilisation import (
    PEAKS,
    flops_of,
    flops_per_token,
    peak_of,
    utilisation,
)
from labml_nn.transformers.modern.experiment import ModernConfig, make_modern_trainer

TEXT = "to be, or not to be, that is the question. " * 40
CONFIG = ModernConfig(
    steps=3,
    batch_size=5,
    seq_len=13,
    device="cpu",
    precision="float32",
    attention="kernel",
    compile="off",
    d_model=20,
    heads=5,
    n_layers=3,
    d_ff=11,
)


def test_operations_are_those_of_the_formula() -> None:
    r"""Two for each weight of a product, and two for each score and each mean, and all thrice."""
    trainer, tokenizer = make_modern_trainer(CONFIG, TEXT)
    weights = 3 * (4 * 20 * 20 + 3 * 20 * 11) + 20 * len(tokenizer)
    attention = 3 * 2 * 13 * 20
    assert flops_of(trainer) == 3 * 2 * (weights + attention)


def test_counting_moves_no_weight_draws_no_number_and_changes_no_way() -> None:
    trainer, _ = make_modern_trainer(replace(CONFIG, dropout_prob=0.5), TEXT)
    before = [parameter.clone() for parameter in trainer.model.parameters()]
    chance = torch.get_rng_state()
    flops_of(trainer)
    assert torch.get_rng_state().equal(chance)
    for parameter, old in zip(trainer.model.parameters(), before, strict=True):
        assert parameter.equal(old)
        assert parameter.grad is None
    assert all(layer.attention.kernel for layer in trainer.model.layers)


def test_a_linear_layer_has_six_operations_for_each_weight() -> None:
    model = nn.Sequential(nn.Embedding(5, 7), nn.Linear(7, 5))
    assert flops_per_token(model, torch.zeros(11, 1, dtype=torch.long)) == 6 * 35


@pytest.mark.parametrize(
    ("name", "card"),
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
def test_a_card_is_known_by_its_name(name: str, card: str) -> None:
    assert peak_of(name, torch.bfloat16) == peak_of(name, torch.float16) == PEAKS[card]


@pytest.mark.parametrize("name", ["NVIDIA GeForce RTX 4090", "NVIDIA A10G", "NVIDIA L40", ""])
def test_of_other_cards_and_other_numbers_nothing_is_claimed(name: str) -> None:
    assert peak_of(name, torch.bfloat16) is None
    assert peak_of("NVIDIA A100-SXM4-80GB", torch.float32) is None


def make_trainer() -> Trainer:
    config = TrainConfig(steps=2, batch_size=3, seq_len=7, device="cpu")
    return Trainer(nn.Embedding(5, 5), torch.arange(97) % 5, torch.arange(31) % 5, config)


def test_without_a_card_there_is_a_rate_and_no_share() -> None:
    assert utilisation(make_trainer(), 6e3, 2e3) == (12e6, None)


def test_the_share_is_of_the_peak_of_all_cards(monkeypatch: pytest.MonkeyPatch) -> None:
    trainer = make_trainer()
    trainer.device, trainer.dtype = torch.device("cuda"), torch.bfloat16
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda device: "NVIDIA H100 80GB HBM3")
    rate, share = utilisation(trainer, 1e9, 989e3)
    assert rate == pytest.approx(989e12)
    assert share == pytest.approx(1.0)
    monkeypatch.setattr("labml_nn.training.utilisation.place", lambda: (1, 2))
    assert utilisation(trainer, 1e9, 989e3)[1] == pytest.approx(0.5)
    # What was not counted has no share.
    assert utilisation(trainer, 0.0, 989e3) == (0.0, None)


def test_a_model_in_shards_is_not_counted() -> None:
    trainer = make_trainer()
    trainer.config = replace(trainer.config, sharded=True)
    assert flops_of(trainer) == 0.0
