r"""
---
title: Training on the Command Line
summary: Runs that can be stopped and resumed, and mistakes that are told in one sentence.
---

```sh
python -m labml_nn.training.engine --help
python -m labml_nn.training.engine --preset modern --steps 500
python -m labml_nn.training.engine --resume runs/modern/2026-11-21_12-00-00_1f0c
```

Training takes long, and a mistake should not. Everything that can be wrong, down to the prompt of
the sample at the very end, is tried before the first step.
"""

import argparse
import json
import math
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

import torch

from labml_nn.training.byte_pairs import BytePairTokenizer
from labml_nn.training.data import CharTokenizer
from labml_nn.training.engine.checkpoint import restore
from labml_nn.training.engine.compare import draw
from labml_nn.training.engine.config import TrainConfig
from labml_nn.training.engine.distributed import (
    broadcast,
    lost_process_error,
    process_group,
    rank,
)
from labml_nn.training.engine.errors import InputError, checking_input
from labml_nn.training.engine.files import replacing, write_json
from labml_nn.training.engine.history import read_history, recording
from labml_nn.training.engine.memory import keep_freed_memory, peak_memory
from labml_nn.training.engine.options import (
    Parser,
    make_parser,
    one_sentence,
    option_name,
    sampling_of,
)
from labml_nn.training.engine.presets import PRESETS, Preset
from labml_nn.training.engine.recorder import labml_tracker
from labml_nn.training.engine.runs import MAY_CHANGE, keep, new_run, newest_good, read_about
from labml_nn.training.engine.text import CORPORA, Prepared, prepare_text, read_text
from labml_nn.training.engine.token_file import open_tokens
from labml_nn.training.engine.trainer import Trainer
from labml_nn.training.leaks import honest_loss
from labml_nn.training.loop import evaluate
from labml_nn.training.progress import Progress
from labml_nn.training.sampling import generate


@contextmanager
def interruptible() -> Iterator[Callable[[], int]]:
    r"""
    ## Stop between two steps

    In the middle of a step some weights are new and some are old. So the first Ctrl-C, or the
    first request to end, only notes the number of the signal for the loop, which looks after each
    step. A second one works as it always does.
    """
    noted = 0
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}

    def put_back() -> None:
        for number, handler in before.items():
            signal.signal(number, handler)

    def note(number: int, *_: object) -> None:
        nonlocal noted
        noted = number
        put_back()

    for number in before:
        signal.signal(number, note)
    try:
        yield lambda: noted
    finally:
        put_back()


def choose_preset(argv: Sequence[str], presets: dict[str, Preset]) -> str:
    r"""
    ## The preset

    Which options there are depends on it, so it is read first: the one that is named, else that of
    the run that is resumed, else the first.
    """
    parser = Parser(add_help=False, allow_abbrev=False)
    parser.add_argument("--preset")
    parser.add_argument("--resume", type=Path)
    arguments, _ = parser.parse_known_args(argv)
    name = arguments.preset
    if name is None and arguments.resume is not None:
        name = read_about(arguments.resume)["preset"]
        if name not in presets:
            raise InputError(f"{arguments.resume} has an unknown preset, {name!r}")

    # An unknown name is left to the parser of all options.
    return name if name in presets else next(iter(presets))


def prepare_run(
    name: str, preset: Preset, arguments: argparse.Namespace
) -> tuple[dict[str, Any], TrainConfig, Prepared]:
    r"""
    ## What to run

    Returns what the run is about, its configuration, and the text. A run that is resumed brings all
    three. Options may say the same once more, and nothing else.
    """
    names = [field.name for field in fields(preset.config)]
    given = {one: vars(arguments)[one] for one in names if one in arguments}
    source = source_of(arguments)
    about: dict[str, Any] = {}
    if arguments.resume is not None:
        about = read_about(arguments.resume)
        given = resumed_config(arguments.resume, about, name, names, given)
        source = source or about["text"]
    source = source or {"corpus": next(iter(CORPORA))}

    config = preset.make_config(given)
    if "tokens" in source:
        text = open_tokens(Path(source["tokens"]))
    else:
        named = CORPORA.get(source.get("corpus"))
        content = named() if named else read_text(Path(source["file"]))
        with checking_input():
            text = prepare_text(content, config.seq_len, source.get("n_vocab"))
    if about and about["text_checksum"] != text.checksum:
        raise InputError(f"{arguments.resume} was trained on another text")
    return (
        {
            "preset": name,
            "config": asdict(config),
            "text": source,
            "text_checksum": text.checksum,
            "symbols": text.tokenizer.symbols,
        },
        config,
        text,
    )


def source_of(arguments: argparse.Namespace) -> dict[str, Any]:
    r"""
    ### Which text?

    Nothing, if no option says it.
    """
    source: dict[str, Any] = {}
    if arguments.corpus is not None:
        source["corpus"] = arguments.corpus
    if arguments.text is not None:
        source["file"] = str(arguments.text.resolve())
    if arguments.tokens is not None:
        source["tokens"] = str(arguments.tokens.resolve())
    if arguments.n_vocab is not None:
        if "tokens" in source:
            raise InputError("--tokens has a vocabulary of its own: leave out --n-vocab")
        source = source or {"corpus": next(iter(CORPORA))}
        source["n_vocab"] = arguments.n_vocab
    return source


def resumed_config(
    run: Path, about: dict[str, Any], name: str, names: list[str], given: dict[str, Any]
) -> dict[str, Any]:
    r"""
    ### The configuration of a resumed run

    An option that contradicts it is an `InputError`.
    """
    config = about["config"]
    if about["preset"] != name:
        raise InputError(f"{run} is a run of the preset {about['preset']}")
    if unknown := set(config) ^ set(names):
        raise InputError(
            f"{run} is a run of another version of this program, which differs in "
            f"{', '.join(sorted(unknown))}"
        )
    for one, value in given.items():
        if one not in MAY_CHANGE and value not in ("auto", config[one]):
            raise InputError(
                f"{run} has {one}={config[one]}, not {value}: leave out {option_name(one)}, or "
                "start a new run"
            )
    return config | {one: given[one] for one in MAY_CHANGE & given.keys()}


class Writer:
    r"""
    ## Samples
    """

    def __init__(self, trainer: Trainer, text: Prepared, arguments: argparse.Namespace) -> None:
        r"""
        * `trainer` has the model
        * `text` has the tokenizer, and the first character if there is no prompt
        * `arguments` say how to draw
        """
        self.trainer, self.tokenizer = trainer, text.tokenizer

        # A token may be a part of a character, so several are decoded.
        self.prompt = arguments.prompt
        if self.prompt is None:
            self.prompt = text.tokenizer.decode(text.train[:8])[0]
        if not self.prompt:
            raise InputError("the prompt is empty: give at least one character to go on from")
        if isinstance(text.tokenizer, CharTokenizer):
            unknown = sorted(set(self.prompt) - set(text.tokenizer.symbols))
            if unknown:
                raise InputError(f"the training text has no {', '.join(map(repr, unknown))}")
        with checking_input():
            self.sampling = sampling_of(arguments)

    def write(self, n_tokens: int) -> str:
        r"""
        ### Write

        The same seed gives the same text.
        """
        config = self.trainer.config
        tokens = self.tokenizer.encode(self.prompt).to(self.trainer.device).unsqueeze(1)
        generator = torch.Generator().manual_seed(config.seed)
        tokens = generate(
            self.trainer.model, tokens, n_tokens, config.seq_len, self.sampling, generator
        )
        return self.tokenizer.decode(tokens[:, 0].cpu())


def say(text: str) -> None:
    r"""
    ### Print on rank 0
    """
    if not rank():
        print(text, flush=True)


def train(trainer: Trainer, run: Path, about: dict[str, Any], writer: Writer, labml: bool) -> None:
    r"""
    ## The steps

    With a [progress bar](../progress.py) on a terminal, and a line and a short sample for each
    evaluation. A run that is stopped raises `KeyboardInterrupt` when its checkpoint is written.
    """
    with ExitStack() as stack:
        interrupted = stack.enter_context(interruptible())
        progress, steps, trackers = None, iter(()), []
        if not rank():
            trackers.append(stack.enter_context(recording(run, trainer.step)))
            if labml:
                tracker = labml_tracker(run, about["preset"], about["config"])
                trackers.append(stack.enter_context(tracker))
            progress = Progress()
            # Closed, its bar is out of the way of what is printed next.
            steps = (step for step in progress(range(trainer.step, trainer.config.steps)))
            stack.enter_context(closing(steps))
            next(steps)

        def record(step: int, values: dict[str, float]) -> None:
            # All ranks compute the sample, because the shards of a model are on all of them.
            sample = writer.write(60) if "loss.validation" in values else ""
            for tracker in trackers:
                tracker(step, values)
            if progress is not None:
                progress.record(step, values)
            if progress is not None and sample:
                progress.write(f"    {sample!r}")

        try:
            with lost_process_error():
                trainer.run(
                    record,
                    lambda is_best: keep(run, trainer, about, is_best),
                    lambda: interrupted() != 0,
                    lambda: next(steps, None),
                )
        except InputError as error:
            raise InputError(f"{error}; the checkpoints of {run} are kept") from error
        if trainer.step < trainer.config.steps:
            say(f"stopped after step {trainer.step:,}; --resume {run} goes on")
            raise KeyboardInterrupt(interrupted() or signal.SIGTERM)


def finish(trainer: Trainer, run: Path, text: Prepared, latest: float | None) -> dict[str, Any]:
    r"""
    ## The result

    The losses, and what they cost. The last word about a model has a loss that comes from
    [prefixes alone](../leaks.py).
    """
    config = trainer.config
    honest = honest_loss(trainer.model, trainer.validation, config.seq_len)

    # The last step has been evaluated already, unless the run was complete before.
    loss = latest
    if loss is None:
        loss = evaluate(trainer.model, trainer.validation, config.seq_len)

    # Losses of different tokenizers compare only per character.
    per_character = loss * len(trainer.validation) / text.n_characters
    n_tokens = trainer.step * config.batch_size * config.seq_len
    return {
        "val_loss": loss,
        "val_loss_per_character": per_character,
        "bits_per_character": per_character / math.log(2),
        "best_val_loss": trainer.best,
        "honest_loss": honest.honest,
        "honest": not honest.leaks,
        "honest_sentence": str(honest),
        "tokens_per_second": n_tokens / trainer.seconds,
        "seconds": trainer.seconds,
        "peak_memory": peak_memory(trainer.device),
        "parameters": sum(one.numel() for one in trainer.model.parameters()),
        "steps": trainer.step,
        "seed": config.seed,
        "run": str(run),
    }


def described(result: dict[str, Any], seq_len: int) -> str:
    r"""
    ### The result in words
    """
    return (
        f"validation loss {result['val_loss']:.4f} nats a token, over the whole validation text "
        f"in windows of {seq_len}\n"
        f"{result['val_loss_per_character']:.4f} nats or {result['bits_per_character']:.4f} bits "
        f"a character\n{result['honest_sentence']}\n"
        f"{result['steps']:,} steps in {result['seconds']:.1f} seconds, "
        f"{result['tokens_per_second']:,.0f} tokens a second, at most "
        f"{result['peak_memory'] / 1e6:,.0f} MB of memory\n"
        f"run {result['run']}"
    )


def run_preset(name: str, preset: Preset, arguments: argparse.Namespace) -> int:
    r"""
    ## A whole run

    In [several processes](distributed.py) each does all of this, and rank 0 prints and writes.
    """
    keep_freed_memory()
    about, config, text = prepare_run(name, preset, arguments)
    trainer = preset.make_trainer(config, text)

    # What was left to the machine is decided now, and stays so.
    config = trainer.config
    about["config"] = asdict(config)
    writer = Writer(trainer, text, arguments)

    # One token tries everything that a sample needs.
    writer.write(1)
    run = arguments.resume and arguments.resume.resolve()
    found = newest_good(run, about) if run else None
    if found:
        state, path, refused = found
        restore(trainer, state, path)
        for sentence in refused if not rank() else []:
            print(f"not used: {sentence}", file=sys.stderr)

    # The folder is made last, so that a mistake leaves none behind.
    if not run:
        run = broadcast(lambda: new_run(arguments.runs, name))
        if not rank():
            write_json(run / "run.json", about)
            if isinstance(text.tokenizer, BytePairTokenizer):
                with replacing(run / "tokenizer.json") as temporary:
                    temporary.write_text(text.tokenizer.document, encoding="utf-8")
    n_parameters = sum(one.numel() for one in trainer.model.parameters())
    compiled = "compiled" if config.compile else "not compiled"
    say(
        f"{text}, {n_parameters:,} parameters, on {trainer.device} in {config.precision}, "
        f"{compiled}\nrun {run}"
    )
    if arguments.resume:
        say(f"from step {trainer.step:,}")

    is_complete = trainer.step == config.steps
    if not is_complete:
        train(trainer, run, about, writer, arguments.labml)
    history = read_history(run) if not rank() and not is_complete else []
    latest = broadcast(lambda: history[-1][1]["loss.validation"] if history else None)
    result = finish(trainer, run, text, latest)
    sample = writer.write(arguments.sample_length)
    if not rank():
        write_json(run / "result.json", result)
        draw(run / "losses.svg", read_history(run))
    say(f"{described(result, config.seq_len)}\n\n{sample}")
    if arguments.json:
        say(json.dumps(result))
    if not result["honest"] and not rank():
        print(f"error: {result['honest_sentence']}", file=sys.stderr)
    return int(not result["honest"])


@one_sentence
def main(argv: Sequence[str] | None = None, presets: dict[str, Preset] = PRESETS) -> int:
    r"""
    ## The program

    The exit status is 0 for a finished run, 1 for one whose loss isn't honest, 2 for something to
    put right, and as in a shell, 130 after Ctrl-C and 143 after a request to end.
    """
    argv = sys.argv[1:] if argv is None else argv
    name = choose_preset(argv, presets)
    preset = presets[name]
    parser = make_parser(name, tuple(presets), preset.config, preset.defaults)
    arguments = parser.parse_args(argv)
    with process_group():
        return run_preset(name, preset, arguments)
