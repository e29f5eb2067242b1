r"""
---
title: Presets
summary: "Each recipe by its name: its model, its optimizers, and the defaults of its settings."
---

`python -m labml_nn.training.engine --preset modern` trains the recipe `modern`. A preset is a line
in the table below. **In:** a name, and what the user has set. **Out:** a [trainer](trainer.py)
for a [text](text.py).

A run keeps the name of its preset, and the name is looked up in the table: a folder from somebody
else never decides which code runs.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import nn

from labml_nn.training.engine import recipes
from labml_nn.training.engine.config import TrainConfig
from labml_nn.training.engine.errors import checking_input
from labml_nn.training.engine.text import Prepared
from labml_nn.training.engine.trainer import Trainer, adamw_for_all


@dataclass(frozen=True)
class Preset:
    r"""
    ## A preset

    * `config` is its configuration
    * `model` makes the model, from the configuration and the number of different tokens
    * `optimizers` makes the optimizers, from the model and the configuration
    * `defaults` are those that differ from the defaults of `config`
    """

    # A class, not an object: the settings come later.
    config: type[TrainConfig]

    # Functions, so that importing this page makes no model.
    model: Callable[[Any, int], nn.Module]
    optimizers: Callable[[nn.Module, Any], list[torch.optim.Optimizer]] = adamw_for_all
    defaults: Mapping[str, Any] = field(default_factory=dict)

    def make_config(self, given: Mapping[str, Any]) -> TrainConfig:
        r"""
        ### The configuration

        What is `given`, and defaults for the rest.
        """
        # Of two values for a name, the later one counts.
        return self.config(**{**self.defaults, **given})

    def make_trainer(self, config: TrainConfig, text: Prepared) -> Trainer:
        r"""
        ### The trainer
        """
        # Before the model, which may take a while to make.
        text.check_length(config.seq_len)

        # The seed decides which weights the model starts with. On the CPU, so that they are the
        # same on every machine; the trainer moves them.
        torch.manual_seed(config.seed)

        # A constructor may refuse sizes that its settings don't know about.
        with checking_input():
            model = self.model(config, len(text.tokenizer))
        return Trainer(model, text.train, text.validation, config, self.optimizers)


# Two thirds of 512, rounded to 16: [SwiGLU](../../transformers/swiglu.py) has three matrices where
# the classic network has two.
MODERN = {"final": 0.0, "schedule": "linear", "d_ff": 336}

# The first one is what is trained if none is named.
PRESETS: dict[str, Preset] = {
    # What the lessons build.
    "classic": Preset(recipes.ClassicConfig, recipes.classic),
    # Slightly fewer weights, and what later models have changed. With the rates [of its
    # page](../../transformers/modern/experiment.py#muon_and_adamw), which suit its size.
    "modern": Preset(
        recipes.ModernConfig,
        recipes.modern,
        recipes.muon_and_adamw,
        MODERN | {"learning_rate": 8e-3, "matrix_learning_rate": 0.016},
    ),
    # Twelve minutes on the two cores where it was recorded, with matrix products in bfloat16.
    "long": Preset(
        recipes.ModernConfig,
        recipes.modern,
        recipes.muon_and_adamw,
        MODERN
        | {"steps": 3600, "batch_size": 8, "seq_len": 256, "d_model": 192, "heads": 6}
        # So many steps see the text seven times. Dropout keeps the model from learning it by heart.
        | {"n_layers": 6, "d_ff": 512, "dropout_prob": 0.1},
    ),
    # The size and the dropout that nanoGPT trains on a GPU, with a third of its steps.
    "gpu": Preset(
        recipes.ModernConfig,
        recipes.modern,
        recipes.muon_and_adamw,
        MODERN
        | {"steps": 1500, "batch_size": 64, "seq_len": 256, "d_model": 384, "heads": 6}
        # They see the text 24 times.
        | {"n_layers": 6, "d_ff": 1024, "dropout_prob": 0.2, "evaluate_every": 250},
    ),
    # One part of the classic transformer exchanged, for comparison.
    "parts": Preset(recipes.PartsConfig, recipes.with_part),
}
