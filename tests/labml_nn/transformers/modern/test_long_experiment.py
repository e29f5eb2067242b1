from dataclasses import fields, replace

import pytest

from labml_nn.training.presets import PRESETS, preset_of
from labml_nn.transformers.modern.experiment import ModernConfig, make_modern_trainer
from labml_nn.transformers.modern.long_experiment import LongConfig, main


def test_the_model_has_about_a_quarter_of_the_parameters_of_nanogpts() -> None:
    text = "".join(chr(code) for code in range(33, 33 + 65)) * 400
    told = {"device": "cpu", "precision": "float32", "attention": "kernel", "compile": "off"}
    trainer, _ = make_modern_trainer(replace(LongConfig(), **told), text)
    assert 0.2 < sum(p.numel() for p in trainer.model.parameters()) / 10.65e6 < 0.3


def test_it_sees_seven_times_the_text_of_a_million_characters() -> None:
    config = LongConfig()
    assert 7 <= config.steps * config.batch_size * config.seq_len / 1_003_854 < 7.5


def test_it_is_a_preset_with_the_options_of_the_short_one(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert [field.name for field in fields(LongConfig)] == [f.name for f in fields(ModernConfig)]
    assert (
        PRESETS[preset_of("labml_nn.transformers.modern.long_experiment")].config_class
        is LongConfig
    )
    with pytest.raises(SystemExit):
        main(["--help"])
    assert "--matrix-learning-rate" in capsys.readouterr().out
