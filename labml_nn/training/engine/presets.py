r"""
---
title: Presets
summary: "Each recipe by its name: its model, its optimizers, and the defaults of its settings."
---

`python -m labml_nn.training.engine --preset modern` trains the recipe `modern`. A preset is a line
in the table below. A run keeps the name of its preset, and the name is looked up in the table: a
folder from somebody else never decides which code runs.

Most presets import their model only when it is made, so that a mistake in one page stops only the
presets that use it.
"""

import importlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import nn

from labml_nn.training.engine.config import ModelConfig, TrainConfig, setting
from labml_nn.training.engine.errors import checking_input
from labml_nn.training.engine.text import Prepared
from labml_nn.training.engine.trainer import Trainer, adamw_for_all
from labml_nn.transformers.basic.autoregressive_model import AutoregressiveTransformer
from labml_nn.transformers.basic.comparison_experiment import put_in_place
from labml_nn.transformers.fused_attention import FusedAttention
from labml_nn.transformers.mha import MultiHeadAttention


@dataclass(frozen=True)
class ClassicConfig(ModelConfig):
    r"""
    ## Settings of the classic transformer
    """

    fast: bool = setting(False, "use the fused attention")


@dataclass(frozen=True)
class PartsConfig(ClassicConfig):
    r"""
    ## Settings of the classic transformer with another part
    """

    part: str = setting("one_head", "the part that is exchanged")

    def __post_init__(self) -> None:
        super().__post_init__()
        self.check("part", f"one of {', '.join(sorted(PARTS))}", self.part in PARTS)


@dataclass(frozen=True)
class ModernConfig(ModelConfig):
    r"""
    ## Settings of the modern transformer
    """

    matrix_learning_rate: float = setting(0.02, "highest learning rate of Muon's matrices")

    def __post_init__(self) -> None:
        super().__post_init__()
        self.check("matrix_learning_rate", "above 0", self.matrix_learning_rate > 0)


@dataclass(frozen=True)
class Preset:
    r"""
    ## A preset

    * `config` is its configuration
    * `model` makes the model, from the configuration and the number of different tokens
    * `optimizers` makes the optimizers, from the model and the configuration
    * `defaults` are those that differ from the defaults of `config`
    """

    config: type[TrainConfig]
    model: Callable[[Any, int], nn.Module]
    optimizers: Callable[[nn.Module, Any], list[torch.optim.Optimizer]] = adamw_for_all
    defaults: Mapping[str, Any] = field(default_factory=dict)

    def make_config(self, given: Mapping[str, Any]) -> TrainConfig:
        r"""
        ### The configuration

        What is `given`, and defaults for the rest.
        """
        return self.config(**{**self.defaults, **given})

    def make_trainer(self, config: TrainConfig, text: Prepared) -> Trainer:
        r"""
        ### The trainer

        The seed decides which weights the model starts with.
        """
        text.check_length(config.seq_len)
        torch.manual_seed(config.seed)
        with checking_input():
            model = self.model(config, len(text.tokenizer))
        return Trainer(model, text.train, text.validation, config, self.optimizers)


def sizes(config: ModelConfig) -> dict[str, Any]:
    r"""
    ### The sizes of a model

    As its constructor calls them.
    """
    names = ("d_model", "heads", "n_layers", "d_ff", "seq_len", "dropout_prob")
    return {name: getattr(config, name) for name in names}


def classic(config: ClassicConfig, n_vocab: int) -> nn.Module:
    r"""
    ## The classic transformer

    That of [the lessons](../../transformers/basic/autoregressive_model.py).
    """
    attention = FusedAttention if config.fast else MultiHeadAttention
    return AutoregressiveTransformer(n_vocab, **sizes(config), attention=attention)


def modern(config: ModernConfig, n_vocab: int) -> nn.Module:
    r"""
    ## The modern transformer

    See [its page](../../transformers/modern/model.py).
    """
    from labml_nn.transformers.modern.model import ModernTransformer

    return ModernTransformer(n_vocab, **sizes(config))


def muon_and_adamw(model: nn.Module, config: ModernConfig) -> list[torch.optim.Optimizer]:
    r"""
    ### Its optimizers

    Those of [its experiment](../../transformers/modern/experiment.py#muon_and_adamw).
    """
    from labml_nn.transformers.modern.experiment import muon_and_adamw as make_both

    muon, others = make_both(model, config.matrix_learning_rate, config.learning_rate)
    for group in muon.param_groups:
        group["weight_decay"] = config.weight_decay
    return [muon, others]


# Each part and the page that has it, in a function `in_transformer`.
PARTS = {
    "one_head": "mha",
    "relu": "feed_forward",
    "learned_positions": "positional_encoding",
    "rms_norm": "rms_norm",
    "swiglu": "swiglu",
    "flash": "memory.flash_backward",
    "flex": "memory.flex",
    "multi_query": "memory.grouped_query",
    "sliding_window": "memory.sliding_window",
    "learned_sink": "memory.learned_sink",
    "latent": "memory.latent_attention",
    "query_key_norm": "variants.query_key_norm",
    "soft_cap": "variants.soft_cap",
    "differential": "variants.differential_attention",
    "gated": "variants.gated_attention",
    "linear": "variants.linear_attention",
    "delta_rule": "variants.delta_rule",
    "shaw": "positions.shaw_relative",
    "transformer_xl": "positions.transformer_xl",
    "alibi": "positions.alibi",
    "rotary": "positions.rotary_attention",
}


def with_part(config: PartsConfig, n_vocab: int) -> nn.Module:
    r"""
    ## The classic transformer with another part

    The plain model is made first, so what isn't exchanged starts with the same weights.
    """
    model = classic(config, n_vocab)
    page = importlib.import_module(f"labml_nn.transformers.{PARTS[config.part]}")
    parts = page.in_transformer(
        d_model=config.d_model,
        heads=config.heads,
        d_ff=config.d_ff,
        seq_len=config.seq_len,
        dropout_prob=config.dropout_prob,
    )

    put_in_place(model, parts)
    return model


MODERN = {"final": 0.0, "schedule": "linear", "d_ff": 336}

# The first one is what is trained if none is named.
PRESETS: dict[str, Preset] = {
    "classic": Preset(ClassicConfig, classic),
    "modern": Preset(ModernConfig, modern, muon_and_adamw, MODERN),
    # Twelve minutes on the two cores where it was recorded, with matrix products in bfloat16.
    "long": Preset(
        ModernConfig,
        modern,
        muon_and_adamw,
        MODERN
        | {"steps": 3600, "batch_size": 8, "seq_len": 256, "d_model": 192, "heads": 6}
        | {"n_layers": 6, "d_ff": 512, "dropout_prob": 0.1},
    ),
    # The size and the dropout that nanoGPT trains on a GPU, with a third of its steps.
    "gpu": Preset(
        ModernConfig,
        modern,
        muon_and_adamw,
        MODERN
        | {"steps": 1500, "batch_size": 64, "seq_len": 256, "d_model": 384, "heads": 6}
        | {"n_layers": 6, "d_ff": 1024, "dropout_prob": 0.2, "evaluate_every": 250},
    ),
    "parts": Preset(PartsConfig, with_part),
}
