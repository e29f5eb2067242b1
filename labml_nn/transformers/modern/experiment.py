r"""
---
title: Training a Modern Transformer
summary: The modern transformer learns to write, with Muon for its matrices.
paper:
  title: "Muon: An optimizer for hidden layers in neural networks"
  authors: Jordan et al.
  year: 2024
  link: https://kellerjordan.github.io/posts/muon/
---

The same text, steps and sizes as for the
[classic transformer](../basic/autoregressive_experiment.py), with [the modern model](model.py) and
two optimizers: [Muon](../../optimizers/muon.py) for the matrices in the layers,
[AdamW](../../optimizers/adamw.py) for everything else.

Both on Tiny Shakespeare, with the loss over the whole validation text in nats a character, the mean
of the seeds:

[The two recipes](../../../results/modern.json#tables.means)

[Both in the course of a training](../../../results/modern.json#figures.curves)

[Each run, and its loss from prefixes alone](../../../results/modern.json#tables.runs)

The loss [from prefixes alone](../../training/leaks.py) is that of 512 predictions in this text, at
which it agrees with the other one; over so few it comes out differently.

nanoGPT's script ends at [1.898](../../../results/modern.json#values.nanogpt_script.loss). With
[275](../../../results/modern.json#values.passing.steps) steps in all, the modern recipe passes that
after [8.0](../../../results/modern.json#values.passing.times_faster) times less training.

What each part of the recipe is worth is on [a page of its own](ablation.py). The recipe was
searched for with this text and this loss, one seed at a time; so what came out looks a little
better than it is.
"""

import sys
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from labml_nn.optimizers.muon import Muon
from labml_nn.training.command_line import run_experiment
from labml_nn.training.data import CharTokenizer, InputError, prepare
from labml_nn.training.device import choose_precision
from labml_nn.training.joined import in_stacks, side_by_side
from labml_nn.training.loop import TrainConfig, Trainer
from labml_nn.transformers.modern.model import ModernTransformer


@dataclass(frozen=True)
class ModernConfig(TrainConfig):
    r"""
    ## The recipe

    The sizes of the model, and [how to train](../../training/loop.py#TrainConfig) it.
    """

    # AdamW's rate, for embedding, head and scalars, and Muon's, for the matrices.
    learning_rate: float = 3e-3
    matrix_learning_rate: float = 0.02
    final: float = 0.0
    schedule: str = "linear"

    d_model: int = 128
    heads: int = 4
    n_layers: int = 4
    d_ff: int = 336
    dropout_prob: float = 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("d_model", "heads", "n_layers", "d_ff"):
            if getattr(self, name) < 1:
                raise InputError(f"{name} must be at least 1, got {getattr(self, name)}")
        if self.d_model % (2 * self.heads):
            raise InputError(
                "d_model must be a multiple of twice the heads, got "
                f"d_model={self.d_model} and heads={self.heads}"
            )
        if not 0 < self.matrix_learning_rate:
            raise InputError(
                f"matrix_learning_rate must be above 0, got {self.matrix_learning_rate}"
            )
        if not 0 <= self.dropout_prob < 1:
            raise InputError(
                f"dropout_prob must be at least 0 and below 1, got {self.dropout_prob}"
            )


def muon_and_adamw(model: nn.Module, config: ModernConfig) -> list[torch.optim.Optimizer]:
    r"""
    ## Two optimizers

    Weight decay is for the matrices alone. Its products have 16 bits wherever the training has.
    """
    matrices = [p for p in model.layers.parameters() if p.dim() >= 2]
    chosen = {id(p) for p in matrices}
    others = [p for p in model.parameters() if id(p) not in chosen]

    device = others[0].device
    precision = choose_precision(config.precision, device)
    return [
        Muon(
            in_stacks(matrices),
            config.matrix_learning_rate,
            config.weight_decay,
            dtype=torch.float32 if precision is torch.float32 else torch.bfloat16,
        ),
        torch.optim.AdamW(
            side_by_side(others),
            config.learning_rate,
            betas=(0.9, 0.99),
            eps=1e-10,
            weight_decay=0.0,
            fused=device.type in ("cpu", "cuda"),
        ),
    ]


def make_modern_trainer(config: ModernConfig, text: str) -> tuple[Trainer, CharTokenizer]:
    r"""
    ## Put it together

    The seed decides how the weights start and which batches come, so the same `config` and
    text give the same run.
    """
    torch.manual_seed(config.seed)
    tokenizer, train, validation = prepare(text, config.seq_len)
    model = ModernTransformer(
        n_vocab=len(tokenizer),
        d_model=config.d_model,
        heads=config.heads,
        n_layers=config.n_layers,
        d_ff=config.d_ff,
        seq_len=config.seq_len,
        dropout_prob=config.dropout_prob,
    )
    return Trainer(model, train, validation, config, muon_and_adamw), tokenizer


def main(argv: Sequence[str] | None = None) -> int:
    r"""
    ## On the command line

    `python -m labml_nn.transformers.modern.experiment --help` lists the options. See
    [what it does](../../training/command_line.py#run_experiment).
    """
    return run_experiment(
        "labml_nn.transformers.modern.experiment", ModernConfig, make_modern_trainer, argv
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
    config = ModernConfig(
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

    # An alphabet, over and over.
    text = "".join(chr(97 + index % n_vocab) for index in range(20 * n_vocab * seq_len))
    trainer, _ = make_modern_trainer(config, text)
    return trainer.train_step()


if __name__ == "__main__":
    sys.exit(main())
