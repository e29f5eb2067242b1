from dataclasses import fields, replace

import pytest
import torch

from labml_nn.optimizers.muon import Muon
from labml_nn.training.batches import RandomWindows, ShuffledWindows
from labml_nn.training.joined import parts_of
from labml_nn.training.options import HELP
from labml_nn.transformers.modern.ablation import (
    ROWS,
    AblationConfig,
    changes_of,
    main,
    make_ablation_trainer,
)
from labml_nn.transformers.modern.experiment import ModernConfig, make_modern_trainer

TEXT = "to be, or not to be, that is the question. " * 40
# Nothing is tried out in a test.
TOLD = {"device": "cpu", "precision": "float32", "attention": "kernel", "compile": "off"}
SMALL = {"batch_size": 5, "seq_len": 13, "d_model": 20, "heads": 5, "n_layers": 2, "d_ff": 11}


def test_the_last_row_is_the_modern_recipe_to_the_last_bit() -> None:
    given = {**TOLD, **SMALL, "attention": "products", "steps": 20, "warmup": 0.2, "seed": 3}
    ours, _ = make_ablation_trainer(AblationConfig(**changes_of("modern") | given), TEXT)
    theirs, _ = make_modern_trainer(ModernConfig(**given), TEXT)
    losses = [[trainer.train_step().item() for _ in range(5)] for trainer in (ours, theirs)]
    assert losses[0] == losses[1]


def test_the_last_row_has_the_settings_of_the_modern_recipe() -> None:
    row, modern = AblationConfig(**changes_of("modern")), ModernConfig()
    differing = [
        field.name
        for field in fields(ModernConfig)
        if getattr(row, field.name) != getattr(modern, field.name)
    ]
    assert differing == []


def test_the_first_row_is_nanogpts_recipe() -> None:
    config = AblationConfig()
    # From its `config/train_shakespeare_char.py` and the command for a CPU in its README.
    assert (config.steps, config.batch_size, config.seq_len) == (2000, 12, 64)
    assert (config.n_layers, config.heads, config.d_model, config.dropout_prob) == (4, 4, 128, 0.0)
    assert (config.learning_rate, config.final, config.schedule) == (1e-3, 0.1, "cosine")
    assert (config.weight_decay, config.clip, config.warmup * config.steps) == (0.1, 1.0, 100)
    trainer, _ = make_ablation_trainer(replace(config, **TOLD, **SMALL), TEXT)
    (optimizer,) = trainer.optimizers
    assert isinstance(optimizer, torch.optim.AdamW)
    decay = {
        (part.dim() >= 2, group["weight_decay"])
        for group in optimizer.param_groups
        for whole in group["params"]
        for part in parts_of(whole)
    }
    assert decay == {(True, 0.1), (False, 0.0)}
    assert {group["betas"] for group in optimizer.param_groups} == {(0.9, 0.99)}
    assert isinstance(trainer.batches, RandomWindows)


def test_each_row_changes_what_it_says_and_nothing_else() -> None:
    assert next(iter(ROWS)) == "nanogpt"
    assert changes_of("all") == changes_of("gated") | changes_of("muon")
    names = list(ROWS)
    for name, row in ROWS.items():
        before = changes_of(row.after) if row.after else {}
        assert {key: before.get(key) for key in row.changes} != row.changes or name == "nanogpt"
        assert changes_of(name) == before | row.changes
        assert row.after is None or names.index(row.after) < names.index(name)
        AblationConfig(**changes_of(name))


@pytest.mark.parametrize("name", ROWS)
def test_each_row_learns(name: str) -> None:
    given = {**TOLD, **SMALL, "steps": 40, "learning_rate": 0.01}
    trainer, _ = make_ablation_trainer(AblationConfig(**changes_of(name) | given), TEXT)
    config = trainer.config
    assert isinstance(trainer.optimizers[0], Muon) is config.muon
    assert isinstance(trainer.batches, ShuffledWindows) is config.in_turn
    losses = [trainer.train_step().item() for _ in range(30)]
    assert losses[-1] < 0.9 * losses[0]


def test_every_setting_is_an_option(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--help"])
    out = capsys.readouterr().out
    for field in fields(AblationConfig):
        assert f"--{field.name.replace('_', '-')}" in out
        assert field.name in HELP
