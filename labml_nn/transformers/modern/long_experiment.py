r"""
---
title: A Longer Run on Two Cores
summary: The modern transformer with more layers and a longer context, trained on a CPU.
---

A graphics card is the usual place for a model with a context of 256 characters, and the best known
one for this text has 10.65 million parameters: nanoGPT's, whose own page gives 1.4697 for it.
This page has [the modern model](model.py) with a quarter of those parameters, and a CPU.

It sees the text about seven times. So it can learn it by heart, and dropout matters, which in
[the short run](experiment.py) would only be in the way.

One command trains it, `python -m labml_nn.training --preset long`.

[What the run came to](../../../results/long.json#tables.run)

[Its validation loss](../../../results/long.json#figures.curve)

The loss is that over the whole validation text. The one
[from prefixes alone](../../training/leaks.py) is that of 512 predictions in it, at which the two
agree; over so few it comes out differently.

[What the model writes](../../../results/long.json#tables.sample)

[How fast it writes, up to the end of its context](../../../results/long.json#tables.writing)
"""

import sys
from collections.abc import Sequence
from dataclasses import dataclass

from torch import Tensor

from labml_nn.training.command_line import run_experiment
from labml_nn.transformers.modern.experiment import ModernConfig, make_modern_trainer


@dataclass(frozen=True)
class LongConfig(ModernConfig):
    r"""
    ## The recipe

    What is different from [the short one](experiment.py#ModernConfig).
    """

    steps: int = 3600
    batch_size: int = 8
    seq_len: int = 256
    d_model: int = 192
    heads: int = 6
    n_layers: int = 6
    d_ff: int = 512
    dropout_prob: float = 0.1


def main(argv: Sequence[str] | None = None) -> int:
    r"""
    ## On the command line

    `python -m labml_nn.transformers.modern.long_experiment --help` lists the options. See
    [what it does](../../training/command_line.py#run_experiment).
    """
    return run_experiment(
        "labml_nn.transformers.modern.long_experiment", LongConfig, make_modern_trainer, argv
    )


def example(
    n_pairs: int = 2,
    batch_size: int = 3,
    heads: int = 5,
    seq_len: int = 7,
    d_ff: int = 11,
    n_vocab: int = 13,
) -> Tensor:
    r"""
    ## Example

    Two layers and one step.
    """
    config = LongConfig(
        steps=1,
        batch_size=batch_size,
        seq_len=seq_len,
        device="cpu",
        precision="float32",
        d_model=heads * 2 * n_pairs,
        heads=heads,
        n_layers=2,
        d_ff=d_ff,
    )
    text = "".join(chr(97 + index % n_vocab) for index in range(20 * n_vocab * seq_len))
    trainer, _ = make_modern_trainer(config, text)
    return trainer.train_step()


if __name__ == "__main__":
    sys.exit(main())
