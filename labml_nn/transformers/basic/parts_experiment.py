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
from labml_nn.transformers import feed_forward, mha, positional_encoding
from labml_nn.transformers.basic.autoregressive_experiment import Config, make_trainer
from labml_nn.transformers.basic.comparison_experiment import put_in_place
from labml_nn.transformers.memory import (
    flash,
    flex,
    grouped_query,
    latent_attention,
    learned_sink,
    sliding_window,
)

# What is not in the table is not to be had: a name never decides which module is imported.
PARTS: Mapping[str, Callable[..., Mapping[str, Callable[[], nn.Module]]]] = {
    "one_head": mha.in_transformer,
    "relu": feed_forward.in_transformer,
    "learned_positions": positional_encoding.in_transformer,
    "flash": flash.in_transformer,
    "flex": flex.in_transformer,
    "multi_query": grouped_query.in_transformer,
    "sliding_window": sliding_window.in_transformer,
    "learned_sink": learned_sink.in_transformer,
    "latent": latent_attention.in_transformer,
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
