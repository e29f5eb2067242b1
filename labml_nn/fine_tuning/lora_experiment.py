r"""
---
title: Shakespeare Learns Python
summary: Fine-tune a small transformer in full and with an adapter, and see what each forgets.
---
"""

import string

import torch
from torch import Tensor, nn

from labml_nn.fine_tuning.lora import LoRALinear, adapt, adapter
from labml_nn.training.data import CharTokenizer, RandomWindows
from labml_nn.training.loop import adamw, evaluate, train
from labml_nn.training.sampling import write
from labml_nn.transformers.basic.autoregressive_experiment import read_text
from labml_nn.transformers.basic.autoregressive_model import AutoregressiveTransformer


def two_texts(first: str, second: str) -> tuple[CharTokenizer, tuple[Tensor, ...]]:
    r"""
    ## Two texts, one alphabet

    The training and the validation part of each.
    """
    # Printable ASCII. The letters of the first text alone would not do: a model's embedding has a
    # row for each token, and Shakespeare has no brackets.
    tokenizer = CharTokenizer(string.printable)
    parts = []
    for text in (first, second):
        # As always, the last tenth is not trained on.
        n_train = len(text) * 9 // 10
        parts += [tokenizer.encode(text[:n_train]), tokenizer.encode(text[n_train:])]
    return tokenizer, tuple(parts)


def learn(
    model: nn.Module, tokens: Tensor, steps: int, rate: float, seq_len: int = 64, seed: int = 1
) -> list[float]:
    r"""
    ## Train it, or a part of it

    The loss of each step.
    """
    # What is frozen has no gradient, and the optimizer passes it over. So one function serves for
    # the base model, for full fine-tuning and for adapters.
    losses: list[float] = []
    batches = RandomWindows(tokens, seq_len, 12, seed)
    train(
        model, batches.at, [adamw(model, rate)], steps,
        after_step=lambda step, loss: losses.append(loss.item()),
    )
    return losses
