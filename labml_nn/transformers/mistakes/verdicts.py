r"""
---
title: Which Test Finds Which Mistake
summary: Every mistake of the museum is put to the tests, and so is what is right.
---

The tests [for an attention](attention_tests.py) and [for a model](model_tests.py) are only worth
something if they fail where they should, and nowhere else. Here each mistake is put to them. This
site's own tests assert, for every mistake, exactly which of them fail.

What one sees:

* The **comparison** finds nearly everything that is wrong inside an attention. It is the only one
  that sees a wrong scale, and the only one that can't be had without an implementation by somebody
  else.
* **The future** and **prefixes** find every leak, of whatever kind.
* What is wrong *around* an attention, in the data or the loss, no test of an attention finds.
* **Shapes** alone find only what doesn't run.
"""

import torch

from labml_nn.transformers.mistakes.attention_tests import find_mistakes
from labml_nn.transformers.mistakes.decoding import (
    CausalFromTheTop,
    EmptyRows,
    NewestForgotten,
    RightDecoding,
)
from labml_nn.transformers.mistakes.experiment import HARMLESS, MISTAKES, RIGHT, Setup
from labml_nn.transformers.mistakes.model_tests import Whole
from labml_nn.transformers.mistakes.projections import WidthAsFloat, WidthUnchecked
from labml_nn.transformers.mistakes.right_attention import RightAttention
from labml_nn.transformers.mistakes.right_model import RightModel, RightTraining

# What can't be trained, or trains as the right one does.
UNTRAINED = {
    kind.__name__: Setup(attention=kind)
    for kind in (WidthAsFloat, WidthUnchecked, EmptyRows, CausalFromTheTop, NewestForgotten)
}
WRONG = MISTAKES | HARMLESS | UNTRAINED
FLAWLESS = RIGHT | {"RightDecoding": Setup(attention=RightDecoding)}


def whole_of(setup: Setup, seq_len: int = 8, batch_size: int = 4, n_vocab: int = 11) -> Whole:
    r"""
    ## A model and its training, to be tested

    Small, but deep enough to miss a residual.
    """
    torch.manual_seed(1)
    model = setup.model(n_vocab, 32, 4, 3, seq_len, setup.attention, setup.dropout_prob)
    text = torch.randint(n_vocab, (batch_size, seq_len + 1))
    text[:, 0] = torch.arange(batch_size)
    training = setup.training(model, 1)
    inputs, targets = training.cut(text)
    return Whole(
        model,
        inputs,
        targets,
        loss=training.loss,
        make_step=lambda model: setup.training(model, 40, 1e-2).step,
        n_steps=40,
    )


def verdict(setup: Setup) -> dict[str, str]:
    r"""
    ## What the tests say of one

    The attention alone; and the whole, where that is what is wrong.
    """
    is_whole = (setup.model, setup.training) != (RightModel, RightTraining)
    return find_mistakes(
        lambda d_model, heads: setup.attention(d_model, heads, 0.5),
        masked=RightAttention.forward,
        decode=getattr(setup.attention, "decode", None),
        whole=whole_of(setup) if is_whole else None,
    )


def verdicts() -> dict[str, list[str]]:
    r"""
    ## Of all of them

    From the name of the mistake to the names of the tests that fail.
    """
    return {name: list(verdict(setup)) for name, setup in WRONG.items()}


def example() -> dict[str, str]:
    r"""
    ## Example

    The most dangerous line of the museum.
    """
    return verdict(MISTAKES["ViewForSplit"])
