r"""
---
title: Recipes and Presets
summary: "Each recipe by its name: its model, its optimizers, and the defaults of its settings."
---

A *recipe* is a class of settings and two functions of them, for its model and its optimizers. The
models themselves are lessons; here they only get their sizes. A *preset* gives a recipe a name and
defaults: `python -m labml_nn.training.engine --preset modern` trains the modern transformer.
**In:** the name of a preset, and what the user has set. **Out:** a [trainer](trainer.py) for a
[text](text.py).

A run keeps the name of its preset, and the name is looked up in the table at the end of this page:
a folder from somebody else never decides which code runs.
"""

import importlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import nn

from labml_nn.training.engine.config import ModelConfig, TrainConfig, setting
from labml_nn.training.engine.errors import checking_input
from labml_nn.training.engine.short_contexts import CausalAttention, CausalModernAttention
from labml_nn.training.engine.text import Prepared
from labml_nn.training.engine.trainer import Trainer, adamw_for_all
from labml_nn.transformers.basic.autoregressive_model import AutoregressiveTransformer
from labml_nn.transformers.basic.comparison_experiment import put_in_place
from labml_nn.transformers.mha import MultiHeadAttention
from labml_nn.transformers.modern import experiment
from labml_nn.transformers.modern.model import ModernTransformer


def sizes(config: ModelConfig) -> dict[str, Any]:
    r"""
    ## The sizes of a model

    As all constructors call them.
    """
    # The context is among them: a model may learn a vector for each of its positions.
    names = ("d_model", "heads", "n_layers", "d_ff", "seq_len", "dropout_prob")

    # By name, so that no two can be exchanged.
    return {name: getattr(config, name) for name in names}


@dataclass(frozen=True)
class ClassicConfig(ModelConfig):
    r"""
    ## The classic transformer

    Its settings.
    """

    # By default the attention that the lessons explain.
    fast: bool = setting(False, "use the fused attention")


def classic(config: ClassicConfig, n_vocab: int) -> nn.Module:
    r"""
    ### Its model

    That of [the lessons](../../transformers/basic/autoregressive_model.py).
    """
    # Both have the same weights and, up to rounding, the same result. The second one takes less
    # time, and for long contexts less memory.
    attention = CausalAttention if config.fast else MultiHeadAttention
    return AutoregressiveTransformer(n_vocab, **sizes(config), attention=attention)


@dataclass(frozen=True)
class ModernConfig(ModelConfig):
    r"""
    ## The modern transformer

    Its settings.
    """

    # The rate of Muon says how far a matrix moves in every direction, that of AdamW how far each
    # number moves. So each has a rate of its own.
    matrix_learning_rate: float = setting(0.02, "highest learning rate of Muon's matrices")

    def __post_init__(self) -> None:
        super().__post_init__()

        # At 0, the matrices would stay random and everything else would train.
        self.check("matrix_learning_rate", "above 0", self.matrix_learning_rate > 0)


def modern(config: ModernConfig, n_vocab: int) -> nn.Module:
    r"""
    ### Its model

    See [its page](../../transformers/modern/model.py).
    """
    # All of its parts are decided on its page.
    model = ModernTransformer(n_vocab, **sizes(config))

    # The same attention with the same weights, by another computation where that takes less time.
    # All layers share one table of rotations.
    rotate = model.layers[0].attention.query.rotate
    for index, layer in enumerate(model.layers):
        # Only the first layer has no values to mix in.
        new = CausalModernAttention(config.heads, config.d_model, rotate, first=index == 0)
        new.load_state_dict(layer.attention.state_dict())
        layer.attention = new
    return model


def muon_and_adamw(model: nn.Module, config: ModernConfig) -> list[torch.optim.Optimizer]:
    r"""
    ### Its optimizers

    Those of [its experiment](../../transformers/modern/experiment.py#muon_and_adamw).
    """
    # Weight decay is a setting here, and the page has it for the matrices only.
    both = experiment.muon_and_adamw(model, config.matrix_learning_rate, config.learning_rate)

    # Muon is the first of the two.
    for group in both[0].param_groups:
        group["weight_decay"] = config.weight_decay
    return both


# Each part and the page that has it, in a function `in_transformer`. A test compares the table with
# the pages.
PARTS = {
    # Parts of the classic transformer, as they were before or came later.
    "one_head": "mha",
    "relu": "feed_forward",
    "learned_positions": "positional_encoding",
    "rms_norm": "rms_norm",
    "swiglu": "swiglu",
    # Of the pages on memory: the same result in blocks, fewer keys and values, windows, and sinks.
    "flash": "memory.flash_backward",
    "flex": "memory.flex",
    "multi_query": "memory.grouped_query",
    "sliding_window": "memory.sliding_window",
    "attention_sinks": "memory.attention_sinks",
    "learned_sink": "memory.learned_sink",
    "latent": "memory.latent_attention",
    # Other scores, other weights, or no softmax at all.
    "query_key_norm": "variants.query_key_norm",
    "soft_cap": "variants.soft_cap",
    "differential": "variants.differential_attention",
    "gated": "variants.gated_attention",
    "linear": "variants.linear_attention",
    "delta_rule": "variants.delta_rule",
    # Positions that change the scores, not the embedding.
    "shaw": "positions.shaw_relative",
    "transformer_xl": "positions.transformer_xl",
    "alibi": "positions.alibi",
    "rotary": "positions.rotary_attention",
}


@dataclass(frozen=True)
class PartsConfig(ClassicConfig):
    r"""
    ## The classic transformer with another part

    Its settings.
    """

    # The default is the simplest of them.
    part: str = setting("one_head", "the part that is exchanged")

    def __post_init__(self) -> None:
        # Anything else would import a module that the user names.
        super().__post_init__()
        self.check("part", f"one of {', '.join(sorted(PARTS))}", self.part in PARTS)


def with_part(config: PartsConfig, n_vocab: int) -> nn.Module:
    r"""
    ### Its model
    """
    # The plain model is made first, so what isn't exchanged starts with the same weights. Then two
    # runs differ in the part alone.
    model = classic(config, n_vocab)

    # Only now, because there are more than twenty pages and one of them is needed. Its name was
    # checked when the configuration was made.
    page = importlib.import_module(f"labml_nn.transformers.{PARTS[config.part]}")
    known = sizes(config)

    # A part belongs to one layer, so it needn't know how many there are.
    del known["n_layers"]

    # Each layer gets a new part, and keeps the rest.
    put_in_place(model, page.in_transformer(**known))
    return model


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
    "classic": Preset(ClassicConfig, classic),
    # Slightly fewer weights, and what later models have changed. With the rates [of its
    # page](../../transformers/modern/experiment.py#muon_and_adamw), which suit its size.
    "modern": Preset(
        ModernConfig,
        modern,
        muon_and_adamw,
        MODERN | {"learning_rate": 8e-3, "matrix_learning_rate": 0.016},
    ),
    # [58](../../../results/long.json#values.minutes) minutes on two cores that others used, too,
    # with matrix products in bfloat16. [What it reached](../../../docs/long_run.md).
    "long": Preset(
        ModernConfig,
        modern,
        muon_and_adamw,
        MODERN
        | {"steps": 3600, "batch_size": 8, "seq_len": 256, "d_model": 192, "heads": 6}
        # So many steps see the text seven times. Dropout keeps the model from learning it by heart.
        | {"n_layers": 6, "d_ff": 512, "dropout_prob": 0.1},
    ),
    # The size and the dropout that nanoGPT trains on a GPU. [What it
    # reached](../../../docs/on_a_gpu.md).
    "gpu": Preset(
        ModernConfig,
        modern,
        muon_and_adamw,
        MODERN
        | {"steps": 350, "batch_size": 64, "seq_len": 256, "d_model": 384, "heads": 6}
        # They see the text six times. The model has ten times as many parameters as the text has
        # letters. Our guess is that with many more steps it would learn the text by heart.
        | {"n_layers": 6, "d_ff": 1024, "dropout_prob": 0.2, "evaluate_every": 175}
        | {"learning_rate": 8e-3, "matrix_learning_rate": 0.045}
        # [Compiling](../../../docs/on_a_gpu.md#beside-nanogpt) takes longer than so few steps would
        # save. With recorded kernels a step took
        # [18](../../../results/gpu.json#values.steps.graph.step) ms in place of
        # [48](../../../results/gpu.json#values.steps.plain.step).
        | {"compile": False, "cuda_graph": True},
    ),
    # One part of the classic transformer exchanged, for comparison.
    "parts": Preset(PartsConfig, with_part),
}
