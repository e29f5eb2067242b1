r"""
---
title: Recipes by Name
summary: The experiments that can be chosen on the command line, each with its whole configuration.
---

A preset is a name for an experiment: its model, its optimizers, and a default for all that
can be set. `python -m labml_nn.training --preset classic` trains it.

A run keeps the name of its experiment's module. It is looked up *here*, and not imported: a folder
from somebody else decides what is loaded from a table, and never which code runs.
"""

from labml_nn.training.command_line import Experiment
from labml_nn.training.data import InputError
from labml_nn.transformers.basic.autoregressive_experiment import Config as ClassicConfig
from labml_nn.transformers.basic.autoregressive_experiment import make_trainer as make_classic
from labml_nn.transformers.basic.parts_experiment import PartsConfig, make_trainer_with_part
from labml_nn.transformers.modern.ablation import AblationConfig, make_ablation_trainer
from labml_nn.transformers.modern.experiment import ModernConfig, make_modern_trainer
from labml_nn.transformers.modern.gpu_experiment import GpuConfig
from labml_nn.transformers.modern.long_experiment import LongConfig

PRESETS = {
    "modern": Experiment(
        "labml_nn.transformers.modern.experiment", ModernConfig, make_modern_trainer
    ),
    "classic": Experiment(
        "labml_nn.transformers.basic.autoregressive_experiment",
        ClassicConfig,
        make_classic,
    ),
    "parts": Experiment(
        "labml_nn.transformers.basic.parts_experiment", PartsConfig, make_trainer_with_part
    ),
    "long": Experiment(
        "labml_nn.transformers.modern.long_experiment", LongConfig, make_modern_trainer
    ),
    "gpu": Experiment(
        "labml_nn.transformers.modern.gpu_experiment", GpuConfig, make_modern_trainer
    ),
    "ablation": Experiment(
        "labml_nn.transformers.modern.ablation", AblationConfig, make_ablation_trainer
    ),
}


def preset_of(name: str) -> str:
    r"""
    ## Which preset is it?

    `name` is the module of an experiment, as a run keeps it.
    """
    for preset, experiment in PRESETS.items():
        if experiment.name == name:
            return preset
    raise InputError(f"no preset belongs to the experiment {name!r}")
