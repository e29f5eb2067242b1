r"""
---
title: The Size for a Graphics Card
summary: The modern transformer at the size and the dropout that nanoGPT trains on a card.
---

The best known small model for this text has 10.65 million parameters, six layers, a width of 384
and a context of 256 characters, and learns on a graphics card: nanoGPT's
[“train_shakespeare_char”](https://github.com/karpathy/nanoGPT), whose page gives a loss of
1.4697, the best of its estimates, after about three minutes on an A100. This page has
[the modern model](model.py) in that size.

On a card, training takes what the card has: [16-bit products](../../training/device.py) in
`bfloat16`, or `float16` with a scaled loss where the card is too old for that; [PyTorch's
attention kernel](../fast_attention.py); a compiled model; fused AdamW. The whole text lies on the
card, and no step waits for its result: the losses are read where
[something is recorded](../../training/loop.py#Trainer.run). At the end the run tells
[how much of the card](../../training/utilisation.py) the model had.

**What is waiting.** The numbers of this page, loss and time beside nanoGPT's on the same card,
need a card, and none was there when the site was built. The same code is tested on a CPU,
in small; `python -m benchmarks.results gpu` trains it, and writes down what came out with the
name of the card.
"""

import sys
from collections.abc import Sequence
from dataclasses import dataclass

from torch import Tensor

from labml_nn.training.command_line import run_experiment
from labml_nn.transformers.modern.experiment import ModernConfig, make_modern_trainer


@dataclass(frozen=True)
class GpuConfig(ModernConfig):
    r"""
    ## The recipe

    What is different from [the short one](experiment.py#ModernConfig). The steps see the text about
    25 times, a third of what nanoGPT makes.
    """

    steps: int = 1500
    batch_size: int = 64
    seq_len: int = 256
    d_model: int = 384
    heads: int = 6
    n_layers: int = 6
    d_ff: int = 1024
    dropout_prob: float = 0.2
    evaluate_every: int = 250


def main(argv: Sequence[str] | None = None) -> int:
    r"""
    ## On the command line

    `python -m labml_nn.transformers.modern.gpu_experiment --help` lists the options. See
    [what it does](../../training/command_line.py#run_experiment).
    """
    return run_experiment(
        "labml_nn.transformers.modern.gpu_experiment", GpuConfig, make_modern_trainer, argv
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
    config = GpuConfig(
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
