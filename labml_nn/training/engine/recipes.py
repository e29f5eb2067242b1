r"""
---
title: Recipes
summary: Which models the command trains, with the settings that only they have.
---

A recipe is a class of settings and two functions of them, for its model and its optimizers. **In:**
a configuration, and the number of different tokens. **Out:** a model that the
[trainer](trainer.py) can train. The models themselves are lessons; here they only get their sizes.
The [presets](presets.py) give recipes a name.
"""

import importlib
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

from labml_nn.training.engine.config import ModelConfig, setting
from labml_nn.training.engine.short_contexts import CausalAttention, CausalModernAttention
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
    ## Settings of the classic transformer
    """

    # By default the attention that the lessons explain.
    fast: bool = setting(False, "use the fused attention")


def classic(config: ClassicConfig, n_vocab: int) -> nn.Module:
    r"""
    ### The classic transformer

    That of [the lessons](../../transformers/basic/autoregressive_model.py).
    """
    # Both have the same weights and, up to rounding, the same result. The second one takes less
    # time, and for long contexts less memory.
    attention = CausalAttention if config.fast else MultiHeadAttention
    return AutoregressiveTransformer(n_vocab, **sizes(config), attention=attention)


@dataclass(frozen=True)
class ModernConfig(ModelConfig):
    r"""
    ## Settings of the modern transformer
    """

    # Muon makes each step of a matrix about as long as every other, whatever its gradient. So it
    # needs a rate of its own.
    matrix_learning_rate: float = setting(0.02, "highest learning rate of Muon's matrices")

    def __post_init__(self) -> None:
        super().__post_init__()

        # At 0, the matrices would stay random and everything else would train.
        self.check("matrix_learning_rate", "above 0", self.matrix_learning_rate > 0)


def modern(config: ModernConfig, n_vocab: int) -> nn.Module:
    r"""
    ### The modern transformer

    See [its page](../../transformers/modern/model.py).
    """
    # All of its parts are decided on its page.
    model = ModernTransformer(n_vocab, **sizes(config))

    # The same attention with the same weights, by another computation where that takes less time.
    # All layers share one table of rotations.
    rotate = model.layers[0].attention.query.rotate
    for index, layer in enumerate(model.layers):
        # Only the first layer has no values to mix in.
        new = CausalModernAttention(config.d_model, config.heads, rotate, first=index == 0)
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
    # The same result with less memory, or attention to fewer keys.
    "flash": "memory.flash_backward",
    "flex": "memory.flex",
    "multi_query": "memory.grouped_query",
    "sliding_window": "memory.sliding_window",
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
    ## Settings of the classic transformer with another part
    """

    # The default is the simplest of them.
    part: str = setting("one_head", "the part that is exchanged")

    def __post_init__(self) -> None:
        # Anything else would import a module that the user names.
        super().__post_init__()
        self.check("part", f"one of {', '.join(sorted(PARTS))}", self.part in PARTS)


def with_part(config: PartsConfig, n_vocab: int) -> nn.Module:
    r"""
    ### The classic transformer with another part
    """
    # The plain model is made first, so what isn't exchanged starts with the same weights. Then two
    # runs differ in the part alone.
    model = classic(config, n_vocab)

    # Only now, because there are twenty pages and one of them is needed. Its name was checked when
    # the configuration was made.
    page = importlib.import_module(f"labml_nn.transformers.{PARTS[config.part]}")
    known = sizes(config)

    # A part belongs to one layer, so it needn't know how many there are.
    del known["n_layers"]

    # Each layer gets a new part, and keeps the rest.
    put_in_place(model, page.in_transformer(**known))
    return model
