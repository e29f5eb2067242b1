r"""
---
title: What Each Change Is Worth
summary: From nanoGPT's recipe to the modern one, a few changes at a time, each a run of its own.
---

The [modern recipe](experiment.py) is better than the best known small one, that of
[nanoGPT](https://github.com/karpathy/nanoGPT). By which of its changes? Here the way from the one
to the other is walked in ten runs on Tiny Shakespeare, with one [model with switches](switches.py).
The loss is that over the whole validation text, in nats a character.

[Loss against steps](../../../results/ablation.json#figures.steps)

A change that learns more in a step may need more time for it. So here are the same curves against
the seconds of training. The runs were made one after another, on two cores of a machine that does
nothing else; its seconds still differ by a tenth or two from one run to the next.

[Loss against seconds](../../../results/ablation.json#figures.seconds)

[Each row with its loss, and what it costs](../../../results/ablation.json#tables.rows)

Seeds alone make a difference of about 0.01, so small differences in one run say nothing. And the
changes were chosen by this very text and loss; that makes the last rows look a little better than
they are.

A re-implementation is not quite the original: there is one token more, for unknown characters, and
in the rows with Muon the embedding has no weight decay. All rows are computed in the way that is
[usual](../../training/speed.py#usual_way) on the machine, and none is compiled. `make results`
makes them again, and beside a checkout of nanoGPT its own script as well.
"""

import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from labml_nn.training.batches import RandomWindows
from labml_nn.training.command_line import run_experiment
from labml_nn.training.data import CharTokenizer, prepare
from labml_nn.training.loop import Trainer, adamw
from labml_nn.transformers.modern.experiment import ModernConfig, muon_and_adamw
from labml_nn.transformers.modern.switches import SwitchedTransformer, Switches


@dataclass(frozen=True)
class AblationConfig(Switches, ModernConfig):
    r"""
    ## The recipe

    With these values it is nanoGPT's. The model's part of it are the
    [switches](switches.py#Switches).
    """

    learning_rate: float = 1e-3
    final: float = 0.1
    schedule: str = "cosine"
    d_ff: int = 512

    # Muon for the matrices of the layers, and each window in turn, not at random places.
    muon: bool = False
    in_turn: bool = False


@dataclass(frozen=True)
class Row:
    r"""
    ## A row

    What it is called, what it changes, and the row that it goes on from.
    """

    title: str
    changes: dict[str, Any]
    after: str | None = None


ROWS = {
    "nanogpt": Row("nanoGPT's recipe, written again", {}),
    "rate": Row("three times its learning rate", {"learning_rate": 3e-3}, "nanogpt"),
    "rotary": Row(
        "+ rotary positions, RMSNorm, normalised queries and keys",
        {"rotary": True, "rms": True, "query_key_norm": True},
        "rate",
    ),
    "gated": Row(
        "+ SwiGLU, outputs that start at zero",
        {"gated": True, "d_ff": 336, "zero_outputs": True},
        "rotary",
    ),
    "muon": Row("nanoGPT's recipe with Muon, nothing else", {"muon": True}, "nanogpt"),
    "all": Row("all of the above", {"muon": True}, "gated"),
    "untied": Row(
        "+ linear decay to zero, a head of its own, unit embeddings",
        {"schedule": "linear", "final": 0.0, "untied": True, "unit_embedding": True},
        "all",
    ),
    "smear": Row(
        "+ the previous token, values of the first layer",
        {"smear": True, "value_residual": True},
        "untied",
    ),
    "turn": Row("+ each window in turn", {"in_turn": True}, "smear"),
    "modern": Row(
        "+ the previous token in each part, sharper scores: the modern recipe",
        {"smear_parts": True, "plain_norms": True, "sharp": True, "wide_start": True},
        "turn",
    ),
}


def changes_of(name: str) -> dict[str, Any]:
    r"""
    ## All that a row changes

    Its own changes, after those of the rows before it.
    """
    row = ROWS[name]
    return (changes_of(row.after) if row.after else {}) | row.changes


def make_ablation_trainer(config: AblationConfig, text: str) -> tuple[Trainer, CharTokenizer]:
    r"""
    ## Put it together

    As for the [modern recipe](experiment.py#make_modern_trainer).
    """
    torch.manual_seed(config.seed)
    tokenizer, train, validation = prepare(text, config.seq_len)
    model = SwitchedTransformer(
        config,
        n_vocab=len(tokenizer),
        d_model=config.d_model,
        heads=config.heads,
        n_layers=config.n_layers,
        d_ff=config.d_ff,
        seq_len=config.seq_len,
        dropout_prob=config.dropout_prob,
    )
    optimizers = muon_and_adamw if config.muon else adamw
    trainer = Trainer(model, train, validation, config, optimizers)
    if not config.in_turn:
        trainer.batches = RandomWindows(
            trainer.train, config.seq_len, config.batch_size, config.seed
        )
    return trainer, tokenizer


def main(argv: Sequence[str] | None = None) -> int:
    r"""
    ## On the command line

    Every switch is an option. `python -m labml_nn.transformers.modern.ablation --muon` trains the
    row “muon”, and `make results` all of them.
    """
    return run_experiment(
        "labml_nn.transformers.modern.ablation", AblationConfig, make_ablation_trainer, argv
    )


def example(
    n_pairs: int = 2,
    batch_size: int = 3,
    heads: int = 5,
    seq_len: int = 7,
    d_ff: int = 11,
    n_vocab: int = 13,
) -> list[Tensor]:
    r"""
    ## Example

    Two layers and one step, of the first row and of the last.
    """
    config = AblationConfig(
        steps=1,
        batch_size=batch_size,
        seq_len=seq_len,
        device="cpu",
        precision="float32",
        d_model=heads * 2 * n_pairs,
        heads=heads,
        n_layers=2,
    )
    text = "".join(chr(97 + index % n_vocab) for index in range(20 * n_vocab * seq_len))
    losses = []
    for name in ("nanogpt", "modern"):
        row = replace(config, **changes_of(name) | {"d_ff": d_ff})
        trainer, _ = make_ablation_trainer(row, text)
        losses.append(trainer.train_step())
    return losses


if __name__ == "__main__":
    sys.exit(main())
