r"""
---
title: Options on the Command Line
summary: Each field of a configuration is an option, and each mistake is told in one sentence.
---

The options are made from the fields of a [configuration](config.py), so none can be forgotten, and
no default can be another one in another place.

A run that is resumed has its configuration already. So the program has to know which options were
*given*, even with a value that is the default. The parser leaves the others out.
"""

import argparse
import functools
import signal
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import Field, fields
from pathlib import Path
from types import NoneType
from typing import Any, NoReturn, get_args

from labml_nn.training.engine.config import TrainConfig
from labml_nn.training.engine.distributed import error_prefix
from labml_nn.training.engine.errors import InputError
from labml_nn.training.engine.text import CORPORA
from labml_nn.training.strategies import Sampling

# What a sample can be drawn with; the defaults are those of the program.
SAMPLING = {
    "temperature": (0.8, "below 1 a sample is safer, above 1 more surprising, at 0 greedy"),
    "top_k": (0, "draw from so many of the likeliest tokens; 0 is all"),
    "top_p": (1.0, "draw from the likeliest tokens that together reach this probability"),
    "min_p": (0.0, "draw from tokens with at least this share of the greatest probability"),
}


class Parser(argparse.ArgumentParser):
    r"""
    ## A parser that raises

    Python's own prints all options after a mistake, and the sentence that matters is hard to find.
    """

    def error(self, message: str) -> NoReturn:
        raise InputError(f"{message}; --help lists the options")


def one_sentence(main: Callable[..., int]) -> Callable[..., int]:
    r"""
    ## Errors of a program

    An `InputError` becomes one line, and the exit status 2. Ctrl-C becomes 130, as in a shell.
    """

    @functools.wraps(main)
    def program(*args: Any, **kwargs: Any) -> int:
        try:
            return main(*args, **kwargs)
        except InputError as error:
            sys.stderr.write(f"{error_prefix()}error: {error}\n")
            return 2
        except KeyboardInterrupt as stop:
            return 128 + (stop.args or (signal.SIGINT,))[0]

    return program


def option_name(field: str) -> str:
    r"""
    ### `d_model` is “--d-model”
    """
    return f"--{field.replace('_', '-')}"


def add_field(group: argparse._ArgumentGroup, field: Field[Any], default: Any) -> None:
    r"""
    ## A field as an option
    """
    # `bool | None` is a switch that needn't be set.
    kinds = [kind for kind in get_args(field.type) if kind is not NoneType] or [field.type]
    kind: dict[str, Any] = {"type": kinds[0], "metavar": kinds[0].__name__.upper()}
    if kinds[0] is bool:
        kind = {"action": argparse.BooleanOptionalAction}
    shown = "" if default is None else f" (default: {default})"
    group.add_argument(
        option_name(field.name),
        default=argparse.SUPPRESS,
        help=f"{field.metadata['help']}{shown}",
        **kind,
    )


def make_parser(
    preset: str, presets: Sequence[str], config: type[TrainConfig], defaults: Mapping[str, Any]
) -> Parser:
    r"""
    ## All options

    Those of one of the `presets`: its `config`, and the defaults that differ from the config's.
    """
    parser = Parser(
        prog="python -m labml_nn.training.engine",
        usage="%(prog)s [options]",
        description="Train a model to write. The run, with its losses, checkpoints and figures, "
        "goes to a new folder below --runs.",
        epilog="Ctrl-C finishes the step and saves; --resume continues with the same bits.",
        allow_abbrev=False,
    )
    parser.add_argument(
        "--preset",
        choices=presets,
        help=f"{', '.join(presets)} (default: {presets[0]}, or that of the run that is resumed); "
        f"the defaults below are those of {preset}",
    )

    text = parser.add_argument_group("text")
    source = text.add_mutually_exclusive_group()
    source.add_argument(
        "--corpus", choices=tuple(CORPORA), help=f"(default: {next(iter(CORPORA))})"
    )
    source.add_argument("--text", type=Path, metavar="FILE", help="a text of your own, in UTF-8")
    source.add_argument("--tokens", type=Path, metavar="FILE", help="a file of tokens")
    add_n_vocab(text)

    training, model = parser.add_argument_group("training"), parser.add_argument_group("model")
    own = {field.name for field in fields(TrainConfig)}
    for field in fields(config):
        default = defaults.get(field.name, field.default)
        add_field(training if field.name in own else model, field, default)

    run = parser.add_argument_group("run")
    run.add_argument(
        "--runs", type=Path, default=Path("runs"), metavar="DIR", help="(default: %(default)s)"
    )
    run.add_argument(
        "--resume",
        type=Path,
        metavar="RUN",
        help="the folder of a run, to go on from its newest good checkpoint, with its settings "
        "and its text",
    )
    run.add_argument("--json", action="store_true", help="print the result as JSON, as last line")
    run.add_argument("--labml", action="store_true", help="record with labml, too")

    sample = parser.add_argument_group("sample")
    sample.add_argument("--prompt", metavar="TEXT", help="(default: first character of the text)")
    sample.add_argument(
        "--sample-length", type=int, default=500, metavar="INT", help="tokens (default: 500)"
    )
    for name, (default, meaning) in SAMPLING.items():
        sample.add_argument(
            option_name(name),
            type=type(default),
            default=default,
            metavar=type(default).__name__.upper(),
            help=f"{meaning} (default: {default})",
        )
    return parser


def add_n_vocab(parser: argparse.ArgumentParser | argparse._ArgumentGroup) -> None:
    r"""
    ### Byte pairs
    """
    parser.add_argument(
        "--n-vocab", type=int, metavar="INT", help="so many byte pairs, in place of characters"
    )


def sampling_of(arguments: argparse.Namespace) -> Sampling:
    r"""
    ### How to draw a sample
    """
    return Sampling(**{name: vars(arguments)[name] for name in SAMPLING})
