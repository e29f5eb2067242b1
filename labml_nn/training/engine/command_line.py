r"""
---
title: An Experiment on the Command Line
summary: Runs that can be stopped and resumed, results that are checked, mistakes in one sentence.
---

What experiments have in common when they are started in a terminal. An experiment
brings its recipe, a [TrainConfig](loop.py#TrainConfig) with some more fields, and a function
that makes a trainer from it; each field becomes [an option](options.py), and the rest is here.

Training takes long, and a mistake should not. Everything that can be wrong, down to
the prompt of the sample that is printed at the very end, is tried before the first step.
"""

import argparse
import json
import math
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

import torch

from labml_nn.training.byte_pairs import BytePairTokenizer, prepare_pairs
from labml_nn.training.checkpoint import restore
from labml_nn.training.corpora import read_corpus
from labml_nn.training.data import CharTokenizer, InputError, Prepared
from labml_nn.training.distributed import (
    first_goes_first,
    from_first,
    is_first,
    joined,
    noticing,
    speaker,
)
from labml_nn.training.files import replacing
from labml_nn.training.leaks import honest_loss
from labml_nn.training.loop import TrainConfig, Trainer, evaluate
from labml_nn.training.memory import StepMemory, keep_freed
from labml_nn.training.options import given_fields, make_parser, option_name, vocabulary
from labml_nn.training.progress import Progress
from labml_nn.training.recorder import ignore, recording
from labml_nn.training.runs import (
    MAY_CHANGE,
    keep,
    new_run,
    newest_good,
    read_about,
    text_checksum,
    write_json,
)
from labml_nn.training.sampling import complete
from labml_nn.training.strategies import Sampling
from labml_nn.training.token_file import open_tokens
from labml_nn.training.utilisation import flops_of, utilisation

MakeTrainer = Callable[[TrainConfig, str | Prepared], tuple[Trainer, CharTokenizer]]


@dataclass(frozen=True)
class Experiment:
    r"""
    ## An experiment

    * `name` is its module
    * `config_class` has a field with a default for each option of the recipe
    * `make_trainer` makes a trainer and a tokenizer from a configuration and a text
    """

    name: str
    config_class: type[TrainConfig]
    make_trainer: MakeTrainer


@contextmanager
def interruptible() -> Iterator[Callable[[], int]]:
    r"""
    ## Stop between two steps

    In the middle of a step some weights are new and some are old, which is no state to
    save. So the first Ctrl-C, or the first polite request of a system that wants its machine
    back, only leaves a note for the loop, which looks after each step: the number of the signal. A
    second one works as it always does.
    """
    noted = 0
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}

    def note(number: int, *_: object) -> None:
        nonlocal noted
        noted = number
        for each, handler in before.items():
            signal.signal(each, handler)

    for number in before:
        signal.signal(number, note)
    try:
        yield lambda: noted
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def run_experiment(
    name: str,
    config_class: type[TrainConfig],
    make_trainer: MakeTrainer,
    argv: Sequence[str] | None = None,
    program: str = "",
    presets: tuple[str, ...] = (),
) -> int:
    r"""
    ## The whole of it

    * `name` is the module of the experiment, which also names the folder of its runs
    * `config_class` and `make_trainer` are those of an [Experiment](command_line.py#Experiment)
    * `argv` are the arguments, by default those of the program
    * `program` and `presets` are for a program that has several experiments

    The result is the exit status: 0 for a finished run, 1 for one whose loss is not honest, 2 for
    something to put right, and as shells have it, 130 after Ctrl-C and 143 after a request to end.
    """
    experiment = Experiment(name, config_class, make_trainer)
    try:
        arguments = make_parser(program or name, config_class, presets).parse_args(argv)
        with joined():
            return train(experiment, arguments)
    except InputError as error:
        print(f"{speaker()}error: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt as stop:
        return 128 + (stop.args or (signal.SIGINT,))[0]


def prepare_run(
    experiment: Experiment, arguments: argparse.Namespace
) -> tuple[dict[str, Any], TrainConfig, str | Prepared]:
    r"""
    ## What to run

    Returns what the run is about, its configuration, and the text. A run that is resumed brings all
    three. Options may say the same once more, and nothing else.
    """
    given = given_fields(arguments, experiment.config_class)
    source = {"corpus": arguments.corpus, "file": arguments.text and str(arguments.text.resolve())}
    source |= tokens_of(arguments)
    about: dict[str, Any] = {}
    if arguments.resume is not None:
        about = read_about(arguments.resume)
        if about["experiment"] != experiment.name:
            raise InputError(f"{arguments.resume} is a run of {about['experiment']}")
        for name, value in given.items():
            same = name in MAY_CHANGE or value in ("auto", about["config"].get(name))
            if not same:
                raise InputError(
                    f"{arguments.resume} has {name}={about['config'].get(name)}, not {value}: "
                    f"leave out {option_name(name)}, or start a new run"
                )
        unknown = set(about["config"]) ^ {field.name for field in fields(experiment.config_class)}
        if unknown:
            raise InputError(
                f"{arguments.resume} is a run of another version of this program, which differs in "
                f"{', '.join(sorted(unknown))}"
            )
        given = about["config"] | {name: given[name] for name in MAY_CHANGE & given.keys()}
        # Tokens are made as they were, and compared.
        if source == {"corpus": None, "file": None}:
            source = about["text"]
        elif "n_vocab" in about["text"]:
            source["n_vocab"] = about["text"]["n_vocab"]

    config = experiment.config_class(**given)
    file = arguments.text or (Path(source["file"]) if source["file"] else None)
    with first_goes_first():
        if "tokens" in source:
            text, checksum = open_tokens(Path(source["tokens"]))
        else:
            text = read_corpus(source["corpus"] or "tiny_shakespeare", file)
            checksum = text_checksum(text)
        if "n_vocab" in source:
            text = prepare_pairs(text, config.seq_len, source["n_vocab"])
    if about and about["text_checksum"] != checksum:
        raise InputError(f"{arguments.resume} was trained on another text")
    symbols = {"symbols": about.get("symbols", ""), "text_checksum": checksum}
    about = {"experiment": experiment.name, "config": asdict(config), "text": source, **symbols}
    return about, config, text


def tokens_of(arguments: argparse.Namespace) -> dict[str, Any]:
    r"""
    ### Other tokens than characters

    Those [in a file](token_file.py), or [byte pairs](byte_pairs.py) of a text.
    """
    if arguments.tokens is not None:
        if arguments.tokenizer is not None or arguments.n_vocab is not None:
            raise InputError("--tokens has its own tokenizer: leave out --tokenizer and --n-vocab")
        return {"tokens": str(arguments.tokens.resolve())}
    n_vocab = vocabulary(arguments)
    return {} if n_vocab is None else {"n_vocab": n_vocab}


def described(text: str | Prepared, tokenizer: Any) -> str:
    r"""
    ### How much text?
    """
    if isinstance(text, str):
        return f"{len(text):,} characters of {len(tokenizer) - 1} kinds"
    return f"{len(text.train) + len(text.validation):,} tokens of {len(tokenizer)} kinds"


def save_tokenizer(run: Path, tokenizer: Any) -> None:
    r"""
    ### What the tokens mean

    Characters stand in “run.json”; byte pairs have a file of their own.
    """
    if isinstance(tokenizer, BytePairTokenizer):
        with replacing(run / "tokenizer.json") as temporary:
            temporary.write_text(tokenizer.document, encoding="utf-8")


def train(experiment: Experiment, arguments: argparse.Namespace) -> int:
    r"""
    ## Train, and tell

    Of [several processes](distributed.py) all do all of this, and the first one tells.
    """
    keep_freed()
    about, config, text = prepare_run(experiment, arguments)
    trainer, tokenizer = experiment.make_trainer(config, text)
    # What was left to the machine is settled now, and stays so.
    config = trainer.config
    about |= {"symbols": tokenizer.symbols, "config": asdict(config)}

    # A token may be a part of a character, so some are looked at for the first one.
    beginning = tokenizer.decode(trainer.train[:8])[0]
    n_characters = text.n_characters if isinstance(text, Prepared) else len(trainer.validation)

    def sample(length: int) -> str:
        return complete(
            trainer.model,
            tokenizer,
            beginning if arguments.prompt is None else arguments.prompt,
            length,
            config.seq_len,
            Sampling(**{one.name: vars(arguments)[one.name] for one in fields(Sampling)}),
            torch.Generator().manual_seed(config.seed),
        )

    # One character tries all that a sample needs.
    sample(1)
    run = arguments.resume and arguments.resume.resolve()
    found = newest_good(run, about) if run else None
    if found:
        state, path, wrong = found
        restore(trainer, state, path)
        for sentence in wrong if is_first() else []:
            print(f"not used: {sentence}", file=sys.stderr)

    flops = flops_of(trainer)

    # The folder is made last, so that a mistake leaves none behind.
    if not run:
        run = from_first(lambda: new_run(arguments.runs, experiment.name.rpartition(".")[2]))
        if is_first():
            write_json(run / "run.json", about)
            save_tokenizer(run, tokenizer)
    n_parameters = sum(parameter.numel() for parameter in trainer.model.parameters())
    say = print if is_first() else ignore
    say(
        f"{described(text, tokenizer)}, {n_parameters:,} parameters, "
        f"on {trainer.device} in {trainer.way}\nrun {run}"
        + (f"\nfrom step {trainer.step:,}" if arguments.resume else ""),
        flush=True,
    )

    # What is recorded is shown as well, with a short sample where the loss is measured.
    progress, memory = Progress(), StepMemory(trainer.device)
    latest: dict[str, float] = {}
    records = recording(run, about["config"], trainer.step) if is_first() else nullcontext(ignore)
    with interruptible() as interrupted, records as write:

        def record(step: int, values: dict[str, float]) -> None:
            latest.update(values)
            written = sample(60) if "loss.validation" in values else ""
            if is_first():
                write(step, values)
                progress.record(step, values)
            if is_first() and written:
                progress.write(f"    {written!r}")

        try:
            with noticing():
                trainer.run(
                    record,
                    lambda steps: memory(progress(steps) if is_first() else steps),
                    lambda best: keep(run, trainer, about, best),
                    lambda: interrupted() != 0,
                )
        except InputError as error:
            raise InputError(f"{error}; the checkpoints of {run} are kept") from error
        if trainer.step < config.steps:
            say(f"stopped after step {trainer.step:,}; --resume {run} goes on", flush=True)
            raise KeyboardInterrupt(interrupted() or signal.SIGTERM)

    # The last word has a loss that comes from prefixes alone.
    honest = honest_loss(trainer.model, trainer.validation, config.seq_len)
    n_tokens = trainer.step * config.batch_size * config.seq_len
    # The last step has been evaluated already, unless the run was complete before.
    loss = latest.get("loss.validation")
    if loss is None:
        loss = evaluate(trainer.model, trainer.validation, config.seq_len)
    per_character = loss * len(trainer.validation) / n_characters
    rate, share = utilisation(trainer, flops, n_tokens / trainer.seconds)
    result = {
        "val_loss": loss,
        "val_loss_per_character": per_character,
        "bits_per_character": per_character / math.log(2),
        "best_val_loss": trainer.best,
        "honest_loss": honest.honest,
        "honest": not honest.leaks,
        "tokens_per_second": n_tokens / trainer.seconds,
        "seconds": trainer.seconds,
        "flops_per_second": rate,
        "flop_utilisation": share,
        "step_memory": memory.peak,
        "parameters": n_parameters,
        "steps": trainer.step,
        "seed": config.seed,
        "run": str(run),
    }
    written = sample(arguments.sample_length)
    unit = "character" if isinstance(tokenizer, CharTokenizer) else "token"
    if is_first():
        write_json(run / "result.json", result)
    say(
        f"validation loss {loss:.4f} nats a {unit}, over the whole "
        f"validation text in windows of {config.seq_len}\n"
        f"{per_character:.4f} nats or {per_character / math.log(2):.4f} bits a character\n"
        f"{honest}\n"
        f"{trainer.step:,} steps in {trainer.seconds:.1f} seconds, "
        f"{result['tokens_per_second']:,.0f} tokens a second, at most "
        f"{memory.peak / 1e6:,.0f} MB of memory\n"
        f"{rate / 1e9:,.1f} GFLOP/s in products of the model"
        + ("" if share is None else f", {share:.1%} of what the hardware does at most")
        + "\n"
        f"run {run}\n\n{written}"
    )
    if arguments.json:
        say(json.dumps(result), flush=True)
    if honest.leaks:
        say(f"error: {honest}", file=sys.stderr)
    return int(honest.leaks)
