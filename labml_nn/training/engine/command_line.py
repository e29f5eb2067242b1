r"""
---
title: Training on the Command Line
summary: Runs that can be stopped and resumed, and mistakes that are told before the first step.
---

```sh
python -m labml_nn.training.engine --help
python -m labml_nn.training.engine --preset modern --steps 500
python -m labml_nn.training.engine --resume runs/modern/2026-11-21_12-00-00_1f0c
```

**In:** words on the command line. **Out:** a folder with the run, and its result on the terminal.

Training takes long, and a mistake should not. Everything that can be wrong, down to the prompt of
the sample at the very end, is tried before the first step. This page is the order of things:
[decide](plan.py) what to run, make the model, try a [sample](samples.py), open the
[folder](runs.py), [train](train.py), [measure](result.py).
"""

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from labml_nn.training.engine.byte_pairs import BytePairTokenizer
from labml_nn.training.engine.checkpoint import restore
from labml_nn.training.engine.curves import draw
from labml_nn.training.engine.files import replacing, write_json
from labml_nn.training.engine.history import read_history
from labml_nn.training.engine.memory import keep_freed_memory
from labml_nn.training.engine.options import make_parser
from labml_nn.training.engine.plan import choose_preset, prepare_run
from labml_nn.training.engine.presets import PRESETS, Preset
from labml_nn.training.engine.processes import broadcast, process_group, rank
from labml_nn.training.engine.program import one_sentence
from labml_nn.training.engine.result import described, introduced, measure
from labml_nn.training.engine.runs import new_run, newest_good
from labml_nn.training.engine.samples import Writer
from labml_nn.training.engine.text import Prepared
from labml_nn.training.engine.train import say, train
from labml_nn.training.engine.trainer import Trainer


def begin(runs: Path, about: dict[str, Any], text: Prepared) -> Path:
    r"""
    ## Begin a run

    Makes its folder below `runs`.
    """
    # All processes must have the same name for it, and it has random letters.
    run = broadcast(lambda: new_run(runs, about["preset"]))
    if not rank():
        # From here on, the run can be resumed.
        write_json(run / "run.json", about)

        # In the format of the library that learned the byte pairs, for use elsewhere.
        if isinstance(text.tokenizer, BytePairTokenizer):
            with replacing(run / "tokenizer.json") as temporary:
                temporary.write_text(text.tokenizer.document, encoding="utf-8")
    return run


def go_on(run: Path, about: dict[str, Any], trainer: Trainer) -> Path:
    r"""
    ## Go on with a run

    The trainer gets the state of its newest good checkpoint. A run that was killed before its first
    checkpoint has none, and begins again.
    """
    if found := newest_good(run, about):
        state, path, refused = found

        # The trainer was made with the settings of the run, so the shapes fit.
        restore(trainer, state, path)

        # Steps are lost with a damaged checkpoint, and the disk may be at its end. The user should
        # know.
        for sentence in refused if not rank() else []:
            print(f"not used: {sentence}", file=sys.stderr)
    return run


def run_preset(name: str, preset: Preset, arguments: argparse.Namespace) -> int:
    r"""
    ## A whole run

    In [several processes](distributed.py) each does all of this, and rank 0 prints and writes.
    """
    # The allocator is set before anything large is allocated. Then comes what can be refused
    # without a model.
    keep_freed_memory()
    about, config, text = prepare_run(name, preset, arguments)

    # The model has random weights now, those of the seed.
    trainer = preset.make_trainer(config, text)

    # The trainer has decided what was left to the machine. From now on that is a setting, so that
    # the run can't be resumed in another precision.
    config = trainer.config
    about["config"] = asdict(config)

    # One token tries everything that a sample needs.
    writer = Writer(trainer, text, arguments)
    writer.write(1)

    # The folder is made last, so that a mistake leaves none behind.
    if arguments.resume:
        # Absolute, because the result names it.
        run = go_on(arguments.resume.resolve(), about, trainer)
    else:
        run = begin(arguments.runs, about, text)

    # Now it is known what runs, and where.
    say(introduced(trainer, run, text))
    if arguments.resume:
        say(f"from step {trainer.step:,}")

    # A run that is complete can still be resumed, for another sample.
    if trainer.step < config.steps:
        # If it is interrupted, what follows is skipped: a half-trained model has no result.
        train(trainer, run, about, writer, arguments.labml)

    # With shards, each process has a part of the model, so all of them measure and write.
    result = measure(trainer, run, text)

    # From the prompt that was tried at the beginning.
    sample = writer.write(arguments.sample_length)
    if not rank():
        # Before anything is printed, so that a closed terminal loses nothing.
        write_json(run / "result.json", result)

        # The whole history, also of the parts before the run was resumed.
        draw(run / "losses.svg", read_history(run))

    # The sample comes last, because it can be long.
    say(f"{described(result, config.seq_len)}\n\n{sample}")

    # As last line, where a script finds it.
    if arguments.json:
        say(json.dumps(result))

    # A loss that isn't honest is worth less than none: a script must not take it for a success.
    if not result["honest"] and not rank():
        # On the other stream, like all errors.
        print(f"error: {result['honest_sentence']}", file=sys.stderr)
    return int(not result["honest"])


@one_sentence
def main(argv: Sequence[str] | None = None, presets: Mapping[str, Preset] = PRESETS) -> int:
    r"""
    ## The program

    The exit status is 0 for a finished run, 1 for one whose loss isn't honest, 2 for something to
    put right, and as in a shell, 130 after Ctrl-C and 143 after a request to end.
    """
    # First the preset, because it decides which options there are.
    argv = sys.argv[1:] if argv is None else argv
    name = choose_preset(argv, presets)
    preset = presets[name]

    # The words are read once more, now with all options.
    parser = make_parser(name, tuple(presets), preset.config, preset.defaults)
    arguments = parser.parse_args(argv)

    # Nothing happens here unless torchrun has started several processes.
    with process_group():
        return run_preset(name, preset, arguments)
