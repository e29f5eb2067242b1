r"""
---
title: A Run from Its First Step to Its Result
summary: Ctrl-C, samples, records and checkpoints while a run trains, and what it says at its end.
---

The [steps](trainer.py#run_steps) of a run call four functions, and know nothing of files, terminals
or signals. This page passes them:

| function | what it does here |
| --- | --- |
| `record` | appends to the [history](records.py#recording) and to labml, writes a sample |
| `save` | writes a [checkpoint](runs.py#keep) and removes old ones |
| `should_stop` | tells whether Ctrl-C was pressed |
| `progress` | moves the [bar](../progress.py) |

**In:** a [trainer](trainer.py), its text, and the folder of the run. **Out:** the trained model,
and its result: how good it is, whether its loss can be believed, and what it cost.
"""

import argparse
import ctypes
import math
import re
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any

import torch

from labml_nn.training.data import CharTokenizer
from labml_nn.training.engine.config import option_name
from labml_nn.training.engine.errors import InputError, checking_input
from labml_nn.training.engine.processes import lost_process_error, rank
from labml_nn.training.engine.records import labml_tracker, recording
from labml_nn.training.engine.runs import keep
from labml_nn.training.engine.text import Prepared
from labml_nn.training.engine.trainer import Trainer, run_steps
from labml_nn.training.leaks import honest_loss
from labml_nn.training.loop import evaluate
from labml_nn.training.progress import Progress
from labml_nn.training.sampling import generate
from labml_nn.training.strategies import Sampling

# Defaults of the program. A temperature of 0.8 prefers likely letters a little; the [other
# filters](../strategies.py) remove nothing.
SAMPLING = {
    "temperature": (0.8, "below 1 a sample is safer, above 1 more surprising, at 0 greedy"),
    "top_k": (0, "draw from so many of the likeliest tokens; 0 is all"),
    "top_p": (1.0, "draw from the likeliest tokens that together reach this probability"),
    "min_p": (0.0, "draw from tokens with at least this share of the greatest probability"),
}


@contextmanager
def interruptible() -> Iterator[Callable[[], int]]:
    r"""
    ## Stopping between two steps

    You press Ctrl-C, and Python raises `KeyboardInterrupt` at whatever line it is. Or a cluster
    sends SIGTERM, and the program is gone. In the middle of a step some weights are new and some
    are old, and the loss of the step isn't recorded yet. A checkpoint of that moment would not be a
    state that training ever was in.

    So within the block, the first signal is only noted. The function that the block gets returns
    its number, or 0. The steps ask it after each step; if there was a signal, they save and stop.
    """
    # SIGINT is Ctrl-C. SIGTERM is what “kill”, Docker and batch systems send before they use force.
    noted = 0
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}

    def put_back() -> None:
        # What the program did on these signals before the block.
        for number, handler in before.items():
            signal.signal(number, handler)

    def note(number: int, *_: object) -> None:
        # A second Ctrl-C does what it did before the block: the step may be stuck, and then nobody
        # would ask for the note.
        nonlocal noted
        noted = number
        put_back()

    # From here on Python calls `note` between two of its instructions, so a matrix product is
    # never cut short.
    for number in before:
        signal.signal(number, note)

    # Also after an error, so that no later part of the program ignores Ctrl-C.
    try:
        yield lambda: noted
    finally:
        put_back()


class Writer:
    r"""
    ## Samples

    A loss says little to a reader; a line of text says a lot. So a run writes a short sample with
    each evaluation, and a longer one at the end.

    The prompt may be impossible: empty, or with a letter that the training text doesn't have. You
    should not learn that after hours of training. So a writer checks the prompt when it is made,
    and the [program](command_line.py) lets it write one token before the first step.
    """

    def __init__(self, trainer: Trainer, text: Prepared, arguments: argparse.Namespace) -> None:
        r"""
        * `trainer` has the model
        * `text` has the tokenizer, and the first character if there is no prompt
        * `arguments` say how to draw
        """
        # The trainer and not its model: the settings are needed, too.
        self.trainer = trainer
        self.tokenizer = text.tokenizer
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


def add_sample(group: argparse._ArgumentGroup) -> None:
    r"""
    ### The options of a sample

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
    ### How to draw
    """
    # The options have the names of the fields. A value that makes no sense is refused here.
    with checking_input():
        return Sampling(**{name: vars(arguments)[name] for name in SAMPLING})


def train(trainer: Trainer, run: Path, about: dict[str, Any], writer: Writer, labml: bool) -> None:
    r"""
    ## Train a run to its end

    * `trainer` may have made some of the steps already
    * `run` is the folder of the run, and `about` [what it is about](command_line.py#prepare_run)
    * `writer` writes the samples
    * `labml` says whether to record with labml, too

    A run that is stopped raises `KeyboardInterrupt` when its checkpoint is written.
    """
    # All of these have an end: a file is closed, a bar is left, signals work as before.
    with ExitStack() as stack:
        # In every process, because each gets the signal.
        interrupted = stack.enter_context(interruptible())
        progress = Progress()
        records = []
        steps = iter(())

        # Only rank 0 has a file and a bar. In the other processes the list stays empty.
        if not rank():
            records.append(stack.enter_context(recording(run, trainer.step)))

            # Beside the history, not in its place: the figure and the table need that one.
            if labml:
                tracker = labml_tracker(run, about["preset"], about["config"])
                records.append(stack.enter_context(tracker))

            # The numbers at the end of the bar, and a line for each evaluation.
            records.append(progress.record)

            # The bar wraps a loop, and the loop is elsewhere. So it wraps a generator, and each
            # step takes one item. Closed, the bar is out of the way of what is printed next.
            steps = (step for step in progress(range(trainer.step, trainer.config.steps)))
            stack.enter_context(closing(steps))

            # Up to the first item, which belongs to the step that comes.
            next(steps)

        def record(step: int, values: dict[str, float]) -> None:
            for one in records:
                # The history comes first: if anything else fails, the numbers are there.
                one(step, values)

            # All ranks compute the sample, because the shards of a model are on all of them.
            if "loss.validation" in values:
                # About one line on a terminal.
                sample = writer.write(60)
                if not rank():
                    progress.write(f"    {sample!r}")

        # Whatever goes wrong in the middle of a run, the user wants to know what is left of it.
        try:
            with lost_process_error():
                run_steps(
                    trainer,
                    record,
                    # With the folder and what the run is about, before `is_best`.
                    partial(keep, run, trainer, about),
                    # Was a signal noted?
                    lambda: interrupted() != 0,
                    # One step further; `None` when there is no bar.
                    lambda: next(steps, None),
                )
        except InputError as error:
            raise InputError(f"{error}; the checkpoints of {run} are kept") from error

        # Another rank may have got the signal. All of them have stopped then, and SIGTERM is what
        # torchrun sends.
        if trainer.step < trainer.config.steps:
            say(f"stopped after step {trainer.step:,}; --resume {run} goes on")

            # Not an error, and still no success: the exit status tells.
            raise KeyboardInterrupt(interrupted() or signal.SIGTERM)


def say(text: str) -> None:
    r"""
    ### Print on rank 0

    Otherwise two processes would print everything twice.
    """
    # At once, also into a file: after a crash the last line matters most.
    if not rank():
        print(text, flush=True)


def keep_freed_memory() -> None:
    r"""
    ## Memory

    If the C library gives freed memory back to Linux, it comes back as empty pages, and each has
    to be filled with zeros first. A step of the classic preset then asks for about 300 pages; if
    they are kept, for about ten. What that saves depends on the machine. On the one where we
    counted the pages, a step took as long as before.
    """
    # Other systems and other C libraries don't have the function `mallopt`, and stay as they are.
    with suppress(OSError, AttributeError, TypeError):
        # Without a name: the library that Python itself runs on.
        library = ctypes.CDLL(None)

        # Numbers from “malloc.h”: the size from which a block is mapped on its own, and how much
        # may be unused before it is given back.
        mmap_threshold = -3
        trim_threshold = -1

        # 32 MB and 1 GB: more than the tensors of such a model need.
        library.mallopt(mmap_threshold, 1 << 25)
        library.mallopt(trim_threshold, 1 << 30)


def peak_memory(device: torch.device) -> int:
    r"""
    ### The peak, in bytes

    Weights, gradients and optimizer state are in memory all the time. The rest of a step are
    *activations*, the intermediate results that the backward pass needs, and they grow with the
    batch. If they are too many, the program ends with an error of PyTorch on a GPU, and with no
    word at all where the system kills it. Then compute a batch in
    [micro-batches](mixed_precision.py). The most memory that was in use so far tells how much
    larger a batch may be.

    On a GPU, that is the memory of all tensors. Elsewhere it is that of the whole program, PyTorch
    included, and 0 if the system can't tell.
    """
    # PyTorch counts what it gives out. Elsewhere memory is the system's business.
    if device.type == "cuda":
        return torch.cuda.max_memory_allocated(device)

    # Linux has the *high water mark* of each process in a file of text. Its `getrusage` also counts
    # the program that started this one: a small run started by a large one would seem large.
    with suppress(OSError):
        status = Path("/proc/self/status").read_text(encoding="utf-8")
        if found := re.search(r"VmHWM:\s*(\d+) kB", status):
            return int(found[1]) * 1024

    # Other systems don't have that file. Windows doesn't have this module either.
    with suppress(ImportError):
        import resource

        # macOS counts bytes, others kilobytes.
        unit = 1 if sys.platform == "darwin" else 1024
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
    return 0


def measure(trainer: Trainer, run: Path, text: Prepared) -> dict[str, Any]:
    r"""
    ## The result

    At its end a run says how good its model is and what that cost, in words, in “result.json”, and
    with `--json` as the last line of its output.

    The last word about a model is whether its loss can be believed. A model that sees the character
    that it has to predict has a wonderful loss and writes gibberish. So each run ends with the
    [honest loss](../leaks.py), from prefixes alone. If it differs, the program fails.
    """
    # The same loss that the history has, of the weights that the last checkpoint has.
    config = trainer.config
    loss = evaluate(trainer.model, trainer.validation, config.seq_len)

    # The honest loss makes a pass for each prefix. On a GPU a pass of a short one takes as long as
    # that of a long one, and all of them take longer than the evaluation. So there it makes a
    # quarter of them: a leak is nearly everywhere.
    fewer = {} if trainer.device.type == "cpu" else {"n_places": 8, "n_lengths": 16}
    honest = honest_loss(trainer.model, trainer.validation, config.seq_len, **fewer)

    # A byte pair is several characters, so its loss is several times that of a character. Only per
    # character can losses of different tokenizers be compared.
    per_character = loss * len(trainer.validation) / text.n_characters

    # `seconds` is the time of the steps, without evaluations and samples.
    n_tokens = trainer.step * config.batch_size * config.seq_len
    return {
        # In nats a token, as on all pages.
        "val_loss": loss,
        "val_loss_per_character": per_character,
        # One bit is $\ln 2$ nats. Papers about compression and about bytes use bits.
        "bits_per_character": per_character / math.log(2),
        # That of the checkpoint “best-….pt”. It is lower than the last one if the model has begun
        # to learn the text by heart.
        "best_val_loss": trainer.best,
        # From prefixes alone; it is that of a few windows, so it isn't `val_loss`.
        "honest_loss": honest.honest,
        "honest": not honest.leaks,
        "honest_sentence": str(honest),
        # All windows of all processes.
        "tokens_per_second": n_tokens / trainer.seconds,
        # Of all parts of the run, if it was resumed.
        "seconds": trainer.seconds,
        # Of this part only.
        "peak_memory": peak_memory(trainer.device),
        # Weights that two layers share are counted once.
        "parameters": sum(one.numel() for one in trainer.model.parameters()),
        # What somebody needs to compare two results.
        "steps": trainer.step,
        "seed": config.seed,
        # So that a script finds the checkpoints.
        "run": str(run),
    }


def introduced(trainer: Trainer, run: Path, text: Prepared) -> str:
    r"""
    ### Before the first step

    What somebody who reads the log needs to repeat the run.
    """
    # A wrong file shows in the size of the text, a wrong preset in that of the model.
    n_parameters = sum(one.numel() for one in trainer.model.parameters())
    compiled = "compiled" if trainer.config.compile else "not compiled"
    if trainer.config.cuda_graph:
        compiled = "recorded as a CUDA graph"
    return (
        f"{text}, {n_parameters:,} parameters, on {trainer.device} in "
        f"{trainer.config.precision}, {compiled}\nrun {run}"
    )


def described(result: dict[str, Any], seq_len: int) -> str:
    r"""
    ### The result in words

    `seq_len` belongs to the loss: a longer context makes it lower, with the same model.
    """
    # What it reached, whether that is to be believed, what it cost, and where it is.
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


def example() -> torch.Tensor:
    r"""
    ## Example

    ### Exercises

    ??? question "Ten million parameters, AdamW, `float32`. How much is in memory all the time?"
        160 MB: 4 bytes each for weight, gradient and AdamW's two averages. Activations come on top.

    ??? question "You double `batch_size`. What else doubles?"
        The activations. Weights, gradients and the optimizer's state stay as they are.

    ??? question "How many bytes does the matrix below take?"
        1009 · 499 · 4 = 2,013,964, because a number in `float32` has four bytes.
    """
    keep_freed_memory()

    # Two megabytes must be below the peak, if the system tells it.
    matrix = torch.zeros(1009, 499)
    assert peak_memory(matrix.device) == 0 or peak_memory(matrix.device) > matrix.nbytes
    return matrix
