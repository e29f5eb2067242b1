r"""
---
title: Options of an Experiment
summary: A configuration is one dataclass, and each of its fields an option on the command line.
---

What can be set is written down once, as the fields of a dataclass: name, type and default. The
options of the command line are made from it, so none can be forgotten, and no default can be
another one in another place.

A run that is resumed has its configuration already. So the program has to know which options were
*given*, even if with the value that is the default, and the parser leaves the others out.
"""

import argparse
from dataclasses import Field, fields
from pathlib import Path
from typing import Any, NoReturn

from labml_nn.training.data import InputError
from labml_nn.training.loop import TrainConfig

# What the options mean. Their types and defaults are those of the fields.
HELP = {
    "steps": "training steps",
    "batch_size": "windows in a batch",
    "seq_len": "characters in a window, the context",
    "micro_batches": "parts that a batch is computed in, to save memory",
    "learning_rate": "highest learning rate",
    "matrix_learning_rate": "highest learning rate of matrices",
    "warmup": "share of the steps in which it rises",
    "final": "share of it that is left at the end",
    "schedule": "the way down, cosine or linear",
    "weight_decay": "weight decay of matrices",
    "clip": "greatest length of the gradient",
    "device": "auto, cpu, cuda or mps",
    "precision": "auto, float32, bfloat16 or float16",
    "attention": "auto, kernel or products",
    "compile": "auto, on or off",
    "sharded": "with several processes, split the model over them",
    "record_every": "steps from one record to the next",
    "evaluate_every": "steps from one evaluation to the next",
    "save_every": "steps from one checkpoint to the next",
    "seed": "seed of weights, batches and sample",
    "d_model": "features of a token",
    "heads": "attention heads; they divide --d-model",
    "n_layers": "layers",
    "d_ff": "features inside the feed-forward networks",
    "dropout_prob": "probability of dropout",
    "part": "the part that takes a place in the model",
    "muon": "Muon for the matrices in the layers",
    "in_turn": "each window of the text in turn",
    "rotary": "positions turn queries and keys",
    "rms": "RMSNorm in place of layer normalisation",
    "query_key_norm": "queries and keys are normalised",
    "gated": "SwiGLU in place of GELU",
    "zero_outputs": "the last matrix of each part starts at zero",
    "untied": "a head with its own weights",
    "unit_embedding": "embeddings of variance 1, normalised",
    "smear": "the previous token is mixed in",
    "value_residual": "values of the first layer in the others",
    "smear_parts": "the previous token is mixed in before each part",
    "plain_norms": "norms have no gains",
    "sharp": "scores are larger by half",
    "wide_start": "matrices start with a size that keeps the variance",
}


class Parser(argparse.ArgumentParser):
    r"""
    ## A parser that raises

    By default a mistake prints the list of all options, and the one sentence that matters
    drowns in it.
    """

    def error(self, message: str) -> NoReturn:
        r"""
        ### One sentence
        """
        raise InputError(f"{message}; --help lists the options")


def option_name(field: str) -> str:
    r"""
    ### `d_model` is “--d-model”
    """
    return f"--{field.replace('_', '-')}"


def add_field(group: argparse._ArgumentGroup, field: Field[Any]) -> None:
    r"""
    ## A field as an option

    What isn't given leaves no trace.
    """
    kind: dict[str, Any] = {"type": field.type, "metavar": field.type.__name__.upper()}
    if field.type is bool:
        kind = {"action": argparse.BooleanOptionalAction}
    group.add_argument(
        option_name(field.name),
        default=argparse.SUPPRESS,
        help=f"{HELP[field.name]} (default: {field.default})",
        **kind,
    )


def make_parser(
    program: str, config_class: type[TrainConfig], presets: tuple[str, ...] = ()
) -> Parser:
    r"""
    ## All options

    * `program` is the module, as it stands after `python -m`
    * `config_class` has a field with a default for each option of the recipe
    * `presets` are the names of recipes to choose from, if there is a choice
    """
    parser = Parser(
        prog=f"python -m {program}",
        usage="%(prog)s [options]",
        description="Train a model to write, character by character. The run, its losses and its "
        "checkpoints go to a new folder below --runs.",
        epilog="Ctrl-C, or a polite kill, finishes the step and saves; --resume goes on with the "
        "same bits.",
        allow_abbrev=False,
    )
    if presets:
        parser.add_argument(
            "--preset",
            choices=presets,
            help=f"the recipe: {', '.join(presets)} (default: {presets[0]}, or that of the run "
            "that is resumed); the defaults below are those of the chosen one",
        )

    text = parser.add_argument_group("text").add_mutually_exclusive_group()
    text.add_argument(
        "--corpus",
        metavar="NAME",
        help="tiny_shakespeare, downloaded once (default), or python, the sources of Python's "
        "library, which needs no network",
    )
    text.add_argument("--text", type=Path, metavar="FILE", help="a text of your own, in UTF-8")

    text.add_argument(
        "--tokens", type=Path, metavar="FILE", help="a file of tokens, for texts of any length"
    )
    add_tokenizer(parser.add_argument_group("tokens"))

    own = {field.name for field in fields(TrainConfig)}
    recipe, model = parser.add_argument_group("recipe"), parser.add_argument_group("model")
    for field in fields(config_class):
        add_field(recipe if field.name in own else model, field)

    run = parser.add_argument_group("run")
    run.add_argument(
        "--runs",
        type=Path,
        default=Path("runs"),
        metavar="DIR",
        help="folder that runs go to (default: %(default)s)",
    )
    run.add_argument(
        "--resume",
        type=Path,
        metavar="RUN",
        help="the folder of a run, to go on from its newest good checkpoint; it brings its recipe "
        "and its text",
    )
    run.add_argument(
        "--json",
        action="store_true",
        help="end with the result on a line of its own, as a JSON object",
    )
    add_sample(parser.add_argument_group("sample"))
    return parser


def add_tokenizer(parser: argparse.ArgumentParser | argparse._ArgumentGroup) -> None:
    r"""
    ## Which tokens?
    """
    parser.add_argument(
        "--tokenizer",
        choices=("characters", "byte-pairs"),
        help="what the tokens are (default: characters)",
    )
    parser.add_argument(
        "--n-vocab", type=int, metavar="INT", help="number of byte pairs (default: 1024)"
    )


def vocabulary(arguments: argparse.Namespace) -> int | None:
    r"""
    ### How many byte pairs?

    For characters there is no such number.
    """
    if arguments.tokenizer == "byte-pairs":
        return 1024 if arguments.n_vocab is None else arguments.n_vocab
    if arguments.n_vocab is not None:
        raise InputError("--n-vocab is for --tokenizer byte-pairs: characters are as many as are")
    return None


def add_sample(sample: argparse._ArgumentGroup) -> None:
    r"""
    ## Options of the sample

    Those of [the draw](strategies.py#Sampling), a prompt and a length. They may differ each time
    that a run is resumed.
    """
    sample.add_argument(
        "--prompt", metavar="TEXT", help="what it continues (default: first character of the text)"
    )
    sample.add_argument(
        "--sample-length",
        type=int,
        default=500,
        metavar="INT",
        help="characters (default: %(default)s)",
    )
    shares = {
        "--temperature": (0.8, "below 1 it takes fewer risks, at 0 none"),
        "--top-p": (1.0, "draw from the likeliest that together reach this probability"),
        "--min-p": (0.0, "draw from those with at least this share of the likeliest"),
        "--repetition": (1.0, "above 1 what is in the text already becomes less likely"),
    }
    for name, (default, meaning) in shares.items():
        sample.add_argument(
            name,
            type=float,
            default=default,
            metavar="FLOAT",
            help=f"{meaning} (default: {default})",
        )
    sample.add_argument(
        "--top-k", type=int, metavar="INT", help="draw from the likeliest (default: from all)"
    )


def given_fields(arguments: argparse.Namespace, config_class: type[TrainConfig]) -> dict[str, Any]:
    r"""
    ## What was given of the configuration
    """
    names = [field.name for field in fields(config_class)]
    return {name: vars(arguments)[name] for name in names if name in arguments}
