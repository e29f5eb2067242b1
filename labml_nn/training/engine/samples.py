r"""
---
title: Samples of a Run
summary: A prompt that is checked before training, and text that the same seed writes again.
---

A loss says little to a reader; a line of text says a lot. So a run writes a short sample with each
evaluation, and a longer one at the end. **In:** a trainer, its text, and how to draw. **Out:** text
that goes on from a prompt.

The prompt may be impossible: empty, or with a letter that the training text doesn't have. You
should not learn that after hours of training. So a writer checks the prompt when it is made, and
the [program](command_line.py) lets it write one token before the first step.
"""

import argparse

import torch

from labml_nn.training.data import CharTokenizer
from labml_nn.training.engine.config import option_name
from labml_nn.training.engine.errors import InputError, checking_input
from labml_nn.training.engine.text import Prepared
from labml_nn.training.engine.trainer import Trainer
from labml_nn.training.sampling import generate
from labml_nn.training.strategies import Sampling

# Defaults of the program. A temperature of 0.8 prefers likely letters a little, and the text still
# isn't the same each time; the [other filters](../strategies.py) remove nothing.
SAMPLING = {
    "temperature": (0.8, "below 1 a sample is safer, above 1 more surprising, at 0 greedy"),
    "top_k": (0, "draw from so many of the likeliest tokens; 0 is all"),
    "top_p": (1.0, "draw from the likeliest tokens that together reach this probability"),
    "min_p": (0.0, "draw from tokens with at least this share of the greatest probability"),
}


def add_sample(group: argparse._ArgumentGroup) -> None:
    r"""
    ## The options

    They belong to the program, not to the run: a finished run can be resumed just to write with
    another prompt.
    """
    # The default isn't known yet: it is in the text.
    group.add_argument("--prompt", metavar="TEXT", help="(default: first character of the text)")
    group.add_argument(
        # Half a screen, in a few seconds.
        "--sample-length",
        type=int,
        default=500,
        metavar="INT",
        help="tokens (default: 500)",
    )

    # The type of an option is that of its default: “--top-k 0.5” is a mistake, “--top-p 1” isn't.
    for name, (default, meaning) in SAMPLING.items():
        group.add_argument(
            option_name(name),
            type=type(default),
            default=default,
            metavar=type(default).__name__.upper(),
            # The meaning stands in the table, beside the default.
            help=f"{meaning} (default: {default})",
        )


def sampling_of(arguments: argparse.Namespace) -> Sampling:
    r"""
    ## How to draw
    """
    # The options have the names of the fields. A value that makes no sense is refused here.
    with checking_input():
        return Sampling(**{name: vars(arguments)[name] for name in SAMPLING})


class Writer:
    r"""
    ## A writer
    """

    def __init__(self, trainer: Trainer, text: Prepared, arguments: argparse.Namespace) -> None:
        r"""
        * `trainer` has the model
        * `text` has the tokenizer, and the first character if there is no prompt
        * `arguments` say how to draw
        """
        # The trainer and not its model: the settings are needed, too.
        self.trainer, self.tokenizer = trainer, text.tokenizer
        self.sampling = sampling_of(arguments)

        # Without a prompt, the model goes on from the first character of the text. One token may be
        # less than that: “é” is two bytes, and a byte pair may end between them.
        self.prompt = arguments.prompt
        if self.prompt is None:
            self.prompt = text.tokenizer.decode(text.train[:8])[0]
        if not self.prompt:
            # There must be something to predict from.
            raise InputError("the prompt is empty: give at least one character to go on from")

        # Byte pairs can spell any character. A tokenizer of characters has one token for all that
        # it doesn't know, and the model was never trained on that one.
        if isinstance(text.tokenizer, CharTokenizer):
            unknown = sorted(set(self.prompt) - set(text.tokenizer.symbols))
            if unknown:
                # All of them at once, or you would correct one after the other.
                raise InputError(f"the training text has no {', '.join(map(repr, unknown))}")

    def write(self, n_tokens: int) -> str:
        r"""
        ### Write

        The same model and the same seed give the same text.
        """
        # One column: a batch of one sequence.
        tokens = self.tokenizer.encode(self.prompt).to(self.trainer.device).unsqueeze(1)

        # A generator of its own: a sample must not change which features dropout drops in the next
        # step. Seeded anew each time, it makes samples of different steps comparable.
        config = self.trainer.config
        generator = torch.Generator().manual_seed(config.seed)

        # The model goes on from the prompt, token by token.
        tokens = generate(
            self.trainer.model, tokens, n_tokens, config.seq_len, self.sampling, generator
        )

        # The one column, on the CPU, where the tokenizer is.
        return self.tokenizer.decode(tokens[:, 0].cpu())
