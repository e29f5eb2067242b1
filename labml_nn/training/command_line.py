r"""
---
title: An Experiment on the Command Line
summary: Options, a run that can be interrupted, and mistakes told in one sentence.
---

What experiments have in common when they are started in a terminal. An experiment
brings its recipe, a [TrainConfig](loop.py#TrainConfig) with some more fields, and a function
that makes a trainer from it; each field becomes an option, and the rest is here.

Training takes long, and a mistake should not. Everything that can be wrong, down to
the prompt of the sample that is printed at the very end, is tried before the first step.
"""

import argparse
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, fields
from pathlib import Path
from typing import NoReturn

import torch

from labml_nn.training.checkpoint import load_checkpoint, restore, save_checkpoint
from labml_nn.training.corpora import read_corpus
from labml_nn.training.data import CharTokenizer, InputError
from labml_nn.training.loop import TrainConfig, Trainer, evaluate
from labml_nn.training.progress import Progress
from labml_nn.training.recorder import new_run, recording
from labml_nn.training.sampling import complete
from labml_nn.training.strategies import Sampling

# What the options mean. Their types and defaults are those of the fields.
HELP = {
    "steps": "training steps",
    "batch_size": "windows in a batch",
    "seq_len": "characters in a window, the context",
    "learning_rate": "highest learning rate",
    "matrix_learning_rate": "highest learning rate of matrices",
    "warmup": "share of the steps in which it rises",
    "final": "share of it that is left at the end",
    "schedule": "how it falls, cosine or linear",
    "weight_decay": "weight decay of matrices",
    "clip": "greatest length of the gradient",
    "device": "auto, cpu, cuda or mps",
    "precision": "auto, float32, bfloat16 or float16",
    "attention": "auto, kernel or products",
    "compile": "auto, on or off",
    "record_every": "steps from one record to the next",
    "evaluate_every": "steps from one evaluation and checkpoint to the next",
    "seed": "seed of weights, batches and sample",
    "d_model": "features of a token",
    "heads": "attention heads; they divide --d-model",
    "n_layers": "layers",
    "d_ff": "features inside the feed-forward networks",
    "dropout_prob": "probability of dropout",
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


def make_parser(name: str, config_class: type[TrainConfig]) -> Parser:
    r"""
    ## Options

    * `name` is the module, as it stands after `python -m`
    * `config_class` has a field with a default for each option of the recipe
    """
    parser = Parser(
        prog=f"python -m {name}",
        description="Train a model to write, character by character. The run, its losses and its "
        "checkpoint go to a new folder below --runs.",
        epilog="Ctrl-C finishes the step and saves.",
        allow_abbrev=False,
    )

    text = parser.add_argument_group("text").add_mutually_exclusive_group()
    text.add_argument(
        "--corpus",
        default="tiny_shakespeare",
        metavar="NAME",
        help="tiny_shakespeare, downloaded once (default), or python, the sources of Python's "
        "library, which needs no network",
    )
    text.add_argument("--text", type=Path, metavar="FILE", help="a text of your own, in UTF-8")

    recipe = parser.add_argument_group("recipe")
    for field in fields(config_class):
        recipe.add_argument(
            f"--{field.name.replace('_', '-')}",
            type=field.type,
            default=field.default,
            metavar=field.type.__name__.upper(),
            help=f"{HELP[field.name]} (default: %(default)s)",
        )

    run = parser.add_argument_group("run")
    run.add_argument(
        "--runs",
        type=Path,
        default=Path("runs"),
        metavar="DIR",
        help="folder that runs go to (default: %(default)s)",
    )
    run.add_argument(
        "--resume", type=Path, metavar="FILE", help="a checkpoint to continue from, up to --steps"
    )

    sample = parser.add_argument_group("sample")
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
    sample.add_argument(
        "--temperature",
        type=float,
        default=0.8,
        metavar="FLOAT",
        help="below 1 it takes fewer risks (default: %(default)s)",
    )
    sample.add_argument(
        "--top-k", type=int, metavar="INT", help="draw from the likeliest (default: from all)"
    )
    return parser


@contextmanager
def interruptible() -> Iterator[Callable[[], bool]]:
    r"""
    ## Ctrl-C between two steps

    In the middle of a step some weights are new and some are old, which is no state to
    save. So the first Ctrl-C only leaves a note for the loop, which looks after each step.
    A second one works as it always does.
    """
    interrupted = False

    def note(*_: object) -> None:
        nonlocal interrupted
        interrupted = True
        signal.signal(signal.SIGINT, signal.default_int_handler)

    previous = signal.signal(signal.SIGINT, note)
    try:
        yield lambda: interrupted
    finally:
        signal.signal(signal.SIGINT, previous)


MakeTrainer = Callable[[TrainConfig, str], tuple[Trainer, CharTokenizer]]


def run_experiment(
    name: str,
    config_class: type[TrainConfig],
    make_trainer: MakeTrainer,
    argv: Sequence[str] | None = None,
) -> int:
    r"""
    ## The whole of it

    The result is the exit status: 0 for a finished run, 2 for something to put right, and
    130, as shells have it, after Ctrl-C.
    """
    try:
        arguments = make_parser(name, config_class).parse_args(argv)
        chosen = {field.name: getattr(arguments, field.name) for field in fields(config_class)}
        train(name.rpartition(".")[2], config_class(**chosen), make_trainer, arguments)
    except InputError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130
    return 0


def train(
    name: str, config: TrainConfig, make_trainer: MakeTrainer, arguments: argparse.Namespace
) -> None:
    r"""
    ## Train, and tell
    """
    text = read_corpus(arguments.corpus, arguments.text)
    trainer, tokenizer = make_trainer(config, text)

    def sample(length: int) -> str:
        return complete(
            trainer.model,
            tokenizer,
            text[0] if arguments.prompt is None else arguments.prompt,
            length,
            config.seq_len,
            Sampling(arguments.temperature, arguments.top_k),
            torch.Generator().manual_seed(config.seed),
        )

    # One character tries all that a sample needs.
    sample(1)
    if arguments.resume is not None:
        state = load_checkpoint(arguments.resume)
        if state["about"]["symbols"] != tokenizer.symbols:
            raise InputError(f"{arguments.resume} was trained on a text with other characters")
        restore(trainer, state, arguments.resume)

    # The folder is made last, so that a mistake leaves none behind.
    path = new_run(arguments.runs, name)
    about = {"config": asdict(trainer.config), "symbols": tokenizer.symbols}

    def save() -> None:
        save_checkpoint(path / "checkpoint.pt", trainer, about)

    n_parameters = sum(parameter.numel() for parameter in trainer.model.parameters())
    print(
        f"{len(text):,} characters of {len(tokenizer)} kinds, {n_parameters:,} parameters, "
        f"on {trainer.device} in {trainer.way}\nrun {path}",
        flush=True,
    )

    # What is recorded is shown as well, and the last loss is kept for the end.
    progress = Progress()
    last: dict[str, float] = {}
    with interruptible() as interrupted, recording(path, about["config"]) as write:

        def record(step: int, values: dict[str, float]) -> None:
            write(step, values)
            progress.record(step, values)
            last.update(values)

        trainer.run(record, progress, save, interrupted)
        if trainer.step < config.steps:
            print(f"stopped after step {trainer.step:,}; --resume {path / 'checkpoint.pt'} goes on")
            raise KeyboardInterrupt

    # Resumed at its end, a run has no step to make and has measured nothing.
    if not last:
        save()
        last["loss.validation"] = evaluate(trainer.model, trainer.validation, config.seq_len)
    n_tokens = trainer.step * config.batch_size * config.seq_len
    print(
        f"validation loss {last['loss.validation']:.4f} nats a character, over the whole "
        f"validation text in windows of {config.seq_len}\n"
        f"{trainer.step:,} steps in {trainer.seconds:.1f} seconds, "
        f"{n_tokens / trainer.seconds:,.0f} tokens a second\n"
        f"checkpoint {path / 'checkpoint.pt'}\n\n{sample(arguments.sample_length)}"
    )
