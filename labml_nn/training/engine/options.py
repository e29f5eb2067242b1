r"""
---
title: Options on the Command Line
summary: Each field of a configuration is an option, so that no default can be wrong in the help.
---

The options are made from the fields of a [configuration](config.py). A list of options beside it
would be a second place for each name, type and default, and one day the two would differ.

**In:** a preset and its configuration. **Out:** a parser. The namespace that it makes has a value
for each setting that was *given*, even if it is the default, and none for the others. A
[resumed run](resume.py) needs to know: “--steps 2000” can contradict the run, and no option can't.
"""

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import Field, fields
from pathlib import Path
from types import NoneType
from typing import Any, get_args

from labml_nn.training.engine.config import TrainConfig, option_name
from labml_nn.training.engine.program import Parser
from labml_nn.training.engine.samples import SAMPLING
from labml_nn.training.engine.source import DEFAULT
from labml_nn.training.engine.text import CORPORA


def add_field(group: argparse._ArgumentGroup, field: Field[Any], default: Any) -> None:
    r"""
    ## A field as an option
    """
    # The type of the field turns “--steps many” into a sentence. `bool | None` is a switch that
    # needn't be set; of its types, the one that isn't None counts.
    kinds = [kind for kind in get_args(field.type) if kind is not NoneType] or [field.type]
    kind: dict[str, Any] = {"type": kinds[0], "metavar": kinds[0].__name__.upper()}

    # A switch needs a word for off, too: “--compile” and “--no-compile”.
    if kinds[0] is bool:
        kind = {"action": argparse.BooleanOptionalAction}

    # The default is shown and not set: `SUPPRESS` leaves out of the namespace what wasn't given.
    shown = "" if default is None else f" (default: {default})"
    group.add_argument(
        option_name(field.name),
        default=argparse.SUPPRESS,
        help=f"{field.metadata['help']}{shown}",
        **kind,
    )


def add_text(group: argparse._ArgumentGroup) -> None:
    r"""
    ## Which text
    """
    # A run learns one text, so two of these contradict each other.
    one_of = group.add_mutually_exclusive_group()
    one_of.add_argument(
        "--corpus", choices=tuple(CORPORA), help=f"(default: {DEFAULT['corpus']})"
    )
    one_of.add_argument("--text", type=Path, metavar="FILE", help="a text of your own, in UTF-8")
    one_of.add_argument("--tokens", type=Path, metavar="FILE", help="a file of tokens")
    group.add_argument(
        "--n-vocab", type=int, metavar="INT", help="so many byte pairs, in place of characters"
    )


def add_sample(group: argparse._ArgumentGroup) -> None:
    r"""
    ## How to write

    These belong to the program, not to the run: a finished run can be resumed just to write with
    another prompt.
    """
    group.add_argument("--prompt", metavar="TEXT", help="(default: first character of the text)")
    group.add_argument(
        "--sample-length", type=int, default=500, metavar="INT", help="tokens (default: 500)"
    )

    # A float as default makes an option of a float.
    for name, (default, meaning) in SAMPLING.items():
        group.add_argument(
            option_name(name),
            type=type(default),
            default=default,
            metavar=type(default).__name__.upper(),
            help=f"{meaning} (default: {default})",
        )


def make_parser(
    preset: str, presets: Sequence[str], config: type[TrainConfig], defaults: Mapping[str, Any]
) -> Parser:
    r"""
    ## All options

    Those of one of the `presets`: its `config`, and the defaults that differ from the config's.
    """
    # An abbreviation such as “--step” would mean something else as soon as there is another option
    # that begins with it.
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
    add_text(parser.add_argument_group("text"))

    # What every preset has is about training; what a preset adds is about its model.
    training, model = parser.add_argument_group("training"), parser.add_argument_group("model")
    own = {field.name for field in fields(TrainConfig)}
    for field in fields(config):
        default = defaults.get(field.name, field.default)
        add_field(training if field.name in own else model, field, default)

    # Where the run is, and who is told.
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
    add_sample(parser.add_argument_group("sample"))
    return parser
