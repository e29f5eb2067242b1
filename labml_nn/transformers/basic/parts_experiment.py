r"""
---
title: Any Part, by Its Name
summary: The small transformer is trained with one of the parts that this site describes.
---

Each page with a part that can stand in the
[autoregressive transformer](autoregressive_experiment.py) says what it takes the place of, in a
function `in_transformer`. Here these functions have names, so that a part can be tried without a
line of code:

```sh
python -m labml_nn.training --preset parts --part learned_positions
```

Runs are compared by `python -m labml_nn.training.compare`. The
[notebooks](comparison_experiment.py) of the pages show two of them side by side.
"""

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from torch import nn

from labml_nn.training.command_line import run_experiment
from labml_nn.training.data import CharTokenizer, InputError, Prepared
from labml_nn.training.loop import Trainer
from labml_nn.transformers.basic.autoregressive_experiment import Config, make_trainer
from labml_nn.transformers.basic.comparison_experiment import put_in_place
from labml_nn.transformers.feed_forward import in_transformer as relu_parts
from labml_nn.transformers.memory.flash import in_transformer as flash_parts
from labml_nn.transformers.memory.flex import in_transformer as flex_parts
from labml_nn.transformers.memory.grouped_query import in_transformer as multi_query_parts
from labml_nn.transformers.memory.latent_attention import in_transformer as latent_parts
from labml_nn.transformers.memory.learned_sink import in_transformer as learned_sink_parts
from labml_nn.transformers.memory.sliding_window import in_transformer as sliding_window_parts
from labml_nn.transformers.mha import in_transformer as one_head_parts
from labml_nn.transformers.positional_encoding import in_transformer as learned_positions_parts
from labml_nn.transformers.positions.alibi import in_transformer as alibi_parts
from labml_nn.transformers.positions.rotary_attention import in_transformer as rotary_parts
from labml_nn.transformers.positions.shaw_relative import in_transformer as shaw_parts
from labml_nn.transformers.positions.transformer_xl import in_transformer as transformer_xl_parts
from labml_nn.transformers.rms_norm import in_transformer as rms_norm_parts
from labml_nn.transformers.swiglu import in_transformer as swiglu_parts
from labml_nn.transformers.variants.delta_rule import in_transformer as delta_rule_parts
from labml_nn.transformers.variants.differential_attention import (
    in_transformer as differential_parts,
)
from labml_nn.transformers.variants.gated_attention import in_transformer as gated_parts
from labml_nn.transformers.variants.linear_attention import in_transformer as linear_parts
from labml_nn.transformers.variants.query_key_norm import in_transformer as query_key_norm_parts
from labml_nn.transformers.variants.soft_cap import in_transformer as soft_cap_parts

# What is not in the table is not to be had: a name never decides which module is imported.
PARTS: Mapping[str, Callable[..., Mapping[str, Callable[[], nn.Module]]]] = {
    "one_head": one_head_parts,
    "flash": flash_parts,
    "flex": flex_parts,
    "multi_query": multi_query_parts,
    "sliding_window": sliding_window_parts,
    "learned_sink": learned_sink_parts,
    "latent": latent_parts,
    "query_key_norm": query_key_norm_parts,
    "soft_cap": soft_cap_parts,
    "differential": differential_parts,
    "gated": gated_parts,
    "linear": linear_parts,
    "delta_rule": delta_rule_parts,
    "learned_positions": learned_positions_parts,
    "shaw": shaw_parts,
    "transformer_xl": transformer_xl_parts,
    "alibi": alibi_parts,
    "rotary": rotary_parts,
    "relu": relu_parts,
    "swiglu": swiglu_parts,
    "rms_norm": rms_norm_parts,
}


@dataclass(frozen=True)
class PartsConfig(Config):
    r"""
    ## The recipe

    That of [the plain model](autoregressive_experiment.py#Config), and the name of a part.
    """

    part: str = "one_head"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.part not in PARTS:
            raise InputError(f"unknown part {self.part!r}: there are {', '.join(sorted(PARTS))}")


def make_trainer_with_part(
    config: PartsConfig, text: str | Prepared
) -> tuple[Trainer, CharTokenizer]:
    r"""
    ## Put it together

    The plain model is made first, so that all that stays is as it would be without the part.
    """
    plain, tokenizer = make_trainer(config, text)
    parts = PARTS[config.part](
        d_model=config.d_model,
        heads=config.heads,
        d_ff=config.d_ff,
        seq_len=config.seq_len,
        dropout_prob=config.dropout_prob,
    )
    put_in_place(plain.model, parts)

    # The optimizer of the plain one knows the parts that are gone.
    return Trainer(plain.model, plain.train, plain.validation, config), tokenizer


def main(argv: Sequence[str] | None = None) -> int:
    r"""
    ## On the command line

    `python -m labml_nn.transformers.basic.parts_experiment --help` lists the options. See
    [what it does](../../training/command_line.py#run_experiment).
    """
    name = "labml_nn.transformers.basic.parts_experiment"
    return run_experiment(name, PartsConfig, make_trainer_with_part, argv)


def make_small(part: str) -> Trainer:
    r"""
    ## A small one

    Two layers that learn an alphabet, over and over.
    """
    config = PartsConfig(
        steps=30,
        batch_size=3,
        seq_len=7,
        device="cpu",
        precision="float32",
        attention="kernel",
        compile="off",
        d_model=16,
        heads=4,
        n_layers=2,
        d_ff=11,
        part=part,
    )
    text = "".join(chr(97 + index % 12) for index in range(2000))
    trainer, _ = make_trainer_with_part(config, text)
    return trainer


if __name__ == "__main__":
    sys.exit(main())
