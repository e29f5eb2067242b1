from dataclasses import replace

import pytest
import torch

from labml_nn.optimizers.muon import Muon
from labml_nn.training.data import InputError
from labml_nn.training.joined import parameters_in, parts_of
from labml_nn.transformers.modern.experiment import ModernConfig, main, make_modern_trainer

TEXT = "to be, or not to be, that is the question. " * 40
# Nothing is tried out in a test.
TOLD = {"device": "cpu", "precision": "float32", "attention": "kernel", "compile": "off"}
CONFIG = ModernConfig(
    steps=30,
    batch_size=5,
    seq_len=13,
    **TOLD,
    d_model=20,
    heads=5,
    n_layers=2,
    d_ff=11,
)


def test_the_recipe_has_no_more_parameters_than_nanogpt() -> None:
    text = "".join(chr(code) for code in range(33, 33 + 65)) * 40
    trainer, tokenizer = make_modern_trainer(replace(ModernConfig(), **TOLD), text)
    # One more for what is unknown.
    assert len(tokenizer) == 66
    assert sum(p.numel() for p in trainer.model.parameters()) <= 804_096


def test_matrices_of_the_layers_go_to_muon_and_each_parameter_to_one() -> None:
    trainer, _ = make_modern_trainer(CONFIG, TEXT)
    muon, adamw = trainer.optimizers
    assert isinstance(muon, Muon)
    assert isinstance(adamw, torch.optim.AdamW)
    assert [group["fused"] for group in adamw.param_groups] == [True]
    names = {id(p): name for name, p in trainer.model.named_parameters()}
    first, second = (
        [names[id(part)] for whole in parameters_in([o]) for part in parts_of(whole)]
        for o in (muon, adamw)
    )
    assert sorted(first + second) == sorted(names.values())
    smears = {
        f"layers.{i}.smear_{part}.share" for i in (0, 1) for part in ("attention", "feed_forward")
    }
    assert set(second) == smears | {
        "embedding.weight",
        "smear.share",
        "head.weight",
        "layers.1.attention.mix",
    }


def test_a_text_is_learned() -> None:
    trainer, _ = make_modern_trainer(replace(CONFIG, steps=150, learning_rate=0.02), TEXT)
    history: list[dict[str, float]] = []
    trainer.run(lambda step, values: history.append(values))
    assert history[-1]["loss.validation"] < 1.0


def test_the_same_seed_gives_the_same_run_and_another_another() -> None:
    losses = []
    for seed in (1, 1, 2):
        trainer, _ = make_modern_trainer(replace(CONFIG, seed=seed), TEXT)
        losses.append([trainer.train_step().item() for _ in range(4)])
    assert losses[0] == losses[1] != losses[2]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"d_ff": 0}, "d_ff must be at least 1"),
        ({"heads": 4}, "a multiple of twice the heads, got d_model=20 and heads=4"),
        ({"matrix_learning_rate": 0.0}, "matrix_learning_rate must be above 0"),
        ({"dropout_prob": 1.0}, "dropout_prob must be at least 0 and below 1"),
    ],
)
def test_sizes_without_sense_are_refused(changes: dict, message: str) -> None:
    with pytest.raises(InputError, match=message):
        replace(CONFIG, **changes)


def test_the_command_line_has_its_options(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--help"])
    assert "--matrix-learning-rate" in capsys.readouterr().out
