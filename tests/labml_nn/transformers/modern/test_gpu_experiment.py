from dataclasses import fields, replace

import pytest
import torch

from labml_nn.training.presets import PRESETS, preset_of
from labml_nn.transformers.modern.experiment import ModernConfig, make_modern_trainer
from labml_nn.transformers.modern.gpu_experiment import GpuConfig, main

# The sizes of `config/train_shakespeare_char.py` of nanoGPT.
NANOGPT = {
    **{"n_layers": 6, "heads": 6, "d_model": 384, "seq_len": 256, "batch_size": 64},
    "dropout_prob": 0.2,
}
TOLD = {"device": "cpu", "precision": "float32", "attention": "kernel", "compile": "off"}


def test_it_has_the_sizes_and_the_dropout_of_nanogpts() -> None:
    assert {name: getattr(GpuConfig(), name) for name in NANOGPT} == NANOGPT


def test_it_has_no_more_parameters_than_nanogpts() -> None:
    text = "".join(chr(code) for code in range(33, 33 + 65)) * 400
    trainer, _ = make_modern_trainer(replace(GpuConfig(), **TOLD), text)
    # Of embedding and head, positions, layers, and gains.
    nanogpt = 65 * 384 + 256 * 384 + 6 * 12 * 384**2 + 13 * 384
    assert nanogpt - 256 * 384 == 10_646_784
    assert 10.6e6 < sum(p.numel() for p in trainer.model.parameters()) <= nanogpt


def test_it_makes_less_than_a_third_of_the_steps() -> None:
    assert GpuConfig().steps <= 5000 / 3


def test_its_steps_are_made_on_a_cpu_too_with_dropout_and_16_bits() -> None:
    small = {"batch_size": 4, "seq_len": 11, "d_model": 24, "d_ff": 40, "n_layers": 2}
    config = replace(GpuConfig(), **TOLD | small | {"precision": "bfloat16", "steps": 30})
    trainer, _ = make_modern_trainer(config, "to be, or not to be, that is the question. " * 40)
    losses = [trainer.train_step().item() for _ in range(30)]
    assert losses[-1] < 0.9 * losses[0]
    assert trainer.dtype is torch.bfloat16


def test_it_is_a_preset_with_the_options_of_the_short_one(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert [field.name for field in fields(GpuConfig)] == [f.name for f in fields(ModernConfig)]
    name = preset_of("labml_nn.transformers.modern.gpu_experiment")
    assert (name, PRESETS[name].config_class) == ("gpu", GpuConfig)
    with pytest.raises(SystemExit):
        main(["--help"])
    assert "--dropout-prob FLOAT probability of dropout (default: 0.2)" in " ".join(
        capsys.readouterr().out.split()
    )
