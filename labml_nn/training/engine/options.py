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

Options that are no settings stand where they are used: those of [the text](source.py#add_text) and
of [the sample](samples.py#add_sample).
"""

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import Field, fields
from pathlib import Path
from types import NoneType
from typing import Any, get_args

from labml_nn.training.engine.config import TrainConfig, option_name
from labml_nn.training.engine.program import Parser
from labml_nn.training.engine.samples import add_sample
from labml_nn.training.engine.source import add_text


def add_field(group: argparse._ArgumentGroup, field: Field[Any], default: Any) -> None:
    r"""
    ## A field as an option
    """
    # The type of the field turns “--steps many” into a sentence. `bool | None` is a switch that
    # needn't be set; of its types, the one that isn't None counts.
    kinds = [kind for kind in get_args(field.type) if kind is not NoneType] or [field.type]

    # The metavar is the word in the help: “--steps INT”.
    kind: dict[str, Any] = {"type": kinds[0], "metavar": kinds[0].__name__.upper()}

    # A switch needs a word for off, too: “--compile” and “--no-compile”.
    if kinds[0] is bool:
        kind = {"action": argparse.BooleanOptionalAction}

    # The default is shown and not set: `SUPPRESS` leaves out of the namespace what wasn't given.
    shown = "" if default is None else f" (default: {default})"
    group.add_argument(
        # With hyphens; in the namespace they become underscores again.
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
    # An abbreviation such as “--step” would mean something else as soon as there is another option
    # that begins with it.
    parser = Parser(
        # The name that works in a shell; by itself it would be “__main__.py”.
        prog="python -m labml_nn.training.engine",
        # Python would list all options here, and once more below.
        usage="%(prog)s [options]",
        # What people see first, and last, below the options.
        description="Train a model to write. The run, with its losses, checkpoints and figures, "
        "goes to a new folder below --runs.",
        epilog="Ctrl-C finishes the step and saves; --resume continues with the same bits.",
        allow_abbrev=False,
    )
    parser.add_argument(
        # A preset changes defaults, so the help says whose defaults it shows.
        "--preset",
        # The first parser took any word; this one tells which there are.
        choices=presets,
        help=f"{', '.join(presets)} (default: {presets[0]}, or that of the run that is resumed); "
        f"the defaults below are those of {preset}",
    )
    add_text(parser.add_argument_group("text"))

    # What every preset has is about training; what a preset adds is about its model.
    training, model = parser.add_argument_group("training"), parser.add_argument_group("model")
    own = {field.name for field in fields(TrainConfig)}
    for field in fields(config):
        # A preset may have a better one.
        default = defaults.get(field.name, field.default)
        add_field(training if field.name in own else model, field, default)

    # Where the run is, and who is told.
    run = parser.add_argument_group("run")
    run.add_argument(
        # A folder for each preset is made in there.
        "--runs",
        type=Path,
        default=Path("runs"),
        metavar="DIR",
        help="(default: %(default)s)",
    )
    run.add_argument(
        # The one option that takes the place of nearly all others.
        "--resume",
        type=Path,
        metavar="RUN",
        help="the folder of a run, to go on from its newest good checkpoint, with its settings "
        "and its text",
    )

    # For scripts: everything else that is printed is for people.
    run.add_argument("--json", action="store_true", help="print the result as JSON, as last line")

    # Off by default, because it writes into your home folder.
    run.add_argument("--labml", action="store_true", help="record with labml, too")

    # Last, because it matters least: nothing that is trained depends on it.
    add_sample(parser.add_argument_group("sample"))
    return parser
