r"""
---
title: The Result of a Run
summary: Its loss in three units, whether the loss is honest, and what the run cost.
---

At its end a run says how good its model is and what that cost, in words, in “result.json”, and with
`--json` as the last line of its output. **In:** a trainer and its text. **Out:** named numbers.

The last word about a model is whether its loss can be believed. A model that sees the character
that it has to predict has a wonderful loss and writes gibberish. So each run ends with the
[honest loss](../leaks.py), from prefixes alone. If it differs, the program fails.
"""

import math
from pathlib import Path
from typing import Any

from labml_nn.training.engine.memory import peak_memory
from labml_nn.training.engine.text import Prepared
from labml_nn.training.engine.trainer import Trainer
from labml_nn.training.leaks import honest_loss
from labml_nn.training.loop import evaluate


def introduced(trainer: Trainer, run: Path, text: Prepared) -> str:
    r"""
    ## Before the first step

    What somebody who reads the log needs to repeat the run.
    """
    # A wrong file shows in the size of the text, a wrong preset in that of the model.
    n_parameters = sum(one.numel() for one in trainer.model.parameters())
    compiled = "compiled" if trainer.config.compile else "not compiled"
    return (
        f"{text}, {n_parameters:,} parameters, on {trainer.device} in "
        f"{trainer.config.precision}, {compiled}\nrun {run}"
    )


def measure(trainer: Trainer, run: Path, text: Prepared) -> dict[str, Any]:
    r"""
    ## Measure
    """
    # The same loss that the history has, of the weights that the last checkpoint has.
    config = trainer.config
    loss = evaluate(trainer.model, trainer.validation, config.seq_len)
    honest = honest_loss(trainer.model, trainer.validation, config.seq_len)

    # A byte pair is several characters, so its loss is several times that of a character. Only per
    # character can losses of different tokenizers be compared.
    per_character = loss * len(trainer.validation) / text.n_characters

    # `seconds` is the time of the steps, without evaluations and samples.
    n_tokens = trainer.step * config.batch_size * config.seq_len
    return {
        # In nats a token, as on all pages.
        "val_loss": loss,
        "val_loss_per_character": per_character,
        # One bit is $\ln 2$ nats. Papers about compression and about bytes use bits.
        "bits_per_character": per_character / math.log(2),
        # That of the checkpoint “best-….pt”. It is lower than the last one if the model has begun
        # to learn the text by heart.
        "best_val_loss": trainer.best,
        # From prefixes alone; it is that of a few windows, so it isn't `val_loss`.
        "honest_loss": honest.honest,
        "honest": not honest.leaks,
        "honest_sentence": str(honest),
        # All windows of all processes.
        "tokens_per_second": n_tokens / trainer.seconds,
        # Of all parts of the run, if it was resumed.
        "seconds": trainer.seconds,
        # Of this part only.
        "peak_memory": peak_memory(trainer.device),
        # Weights that two layers share are counted once.
        "parameters": sum(one.numel() for one in trainer.model.parameters()),
        # What somebody needs to compare two results.
        "steps": trainer.step,
        "seed": config.seed,
        # So that a script finds the checkpoints.
        "run": str(run),
    }


def described(result: dict[str, Any], seq_len: int) -> str:
    r"""
    ## In words

    `seq_len` belongs to the loss: a longer context makes it lower, with the same model.
    """
    # What it reached, whether that is to be believed, what it cost, and where it is.
    return (
        f"validation loss {result['val_loss']:.4f} nats a token, over the whole validation text "
        f"in windows of {seq_len}\n"
        f"{result['val_loss_per_character']:.4f} nats or {result['bits_per_character']:.4f} bits "
        f"a character\n{result['honest_sentence']}\n"
        f"{result['steps']:,} steps in {result['seconds']:.1f} seconds, "
        f"{result['tokens_per_second']:,.0f} tokens a second, at most "
        f"{result['peak_memory'] / 1e6:,.0f} MB of memory\n"
        f"run {result['run']}"
    )
