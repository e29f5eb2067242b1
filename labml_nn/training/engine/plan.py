r"""
---
title: What to Run
summary: From the words on the command line, or the folder of a run, to settings and a text.
---

Two things can say what to run: options, and the folder of a run that is [resumed](resume.py).
**In:** the words on the command line. **Out:** what the run is about, its configuration, and its
text. All of it is checked before a model is made, because it takes a moment and training takes
hours.
"""

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

from labml_nn.training.engine.config import TrainConfig
from labml_nn.training.engine.errors import InputError
from labml_nn.training.engine.presets import Preset
from labml_nn.training.engine.program import Parser
from labml_nn.training.engine.resume import read_about, resumed_config
from labml_nn.training.engine.source import DEFAULT, open_source, source_of
from labml_nn.training.engine.text import Prepared


def choose_preset(argv: Sequence[str], presets: Mapping[str, Preset]) -> str:
    r"""
    ## The preset

    The one that is named, else that of the run that is resumed, else the first.
    """
    # Which options there are depends on the preset. So a small parser reads these two words first,
    # and leaves all others to the [large one](options.py#make_parser).
    parser = Parser(add_help=False, allow_abbrev=False)
    parser.add_argument("--preset")
    parser.add_argument("--resume", type=Path)

    # Unknown words are no mistake yet.
    arguments, _ = parser.parse_known_args(argv)

    # The name comes from a file that anybody may have written. It is only ever looked up in the
    # table, never imported.
    name = arguments.preset
    if name is None and arguments.resume is not None:
        # Only its name; all else is read when the options are known.
        name = read_about(arguments.resume)["preset"]
        if name not in presets:
            raise InputError(f"{arguments.resume} has an unknown preset, {name!r}")

    # If the option has an unknown name, the large parser says so, with all names.
    return name if name in presets else next(iter(presets))


def prepare_run(
    name: str, preset: Preset, arguments: argparse.Namespace
) -> tuple[dict[str, Any], TrainConfig, Prepared]:
    r"""
    ## Settings and text

    A run that is resumed brings both. Options may say the same once more, and nothing else.
    """
    # The namespace has only the settings that were given.
    names = {field.name for field in fields(preset.config)}
    given = {one: value for one, value in vars(arguments).items() if one in names}

    # Not given, it is empty, and the run or the default decides.
    source = source_of(arguments)

    # What the run is about comes first, and options can only confirm it.
    resumed: dict[str, Any] = {}
    if arguments.resume is not None:
        resumed = read_about(arguments.resume)
        given = resumed_config(arguments.resume, resumed, name, names, given)

    # Here a value that makes no sense is refused, and a text that can't be read.
    config = preset.make_config(given)
    source = source or resumed.get("text", DEFAULT)
    text = open_source(source, config.seq_len)

    # The file may have been edited since. The run would then train on windows that it has never
    # seen, or measure on windows that it has trained on.
    if resumed and resumed["text_checksum"] != text.checksum:
        raise InputError(f"{arguments.resume} was trained on another text")

    # Numbers and texts only, because it goes into a file of JSON and into each checkpoint.
    about = {
        "preset": name,
        # All settings, also those that nobody gave: a default may be another one next year.
        "config": asdict(config),
        "text": source,
        # The text is looked up again; this tells whether it is the same.
        "text_checksum": text.checksum,
        # With these and the weights, the model can be used without the text.
        "symbols": text.tokenizer.symbols,
    }
    return about, config, text
