r"""
---
title: Is This Run Honest?
summary: The honest loss of any run, by one command.
---

```sh
python -m labml_nn.training.honest runs/autoregressive_experiment/2026-11-21_12-00-00_1f0c
```

The model of a run is made again, its newest good checkpoint loaded, and the loss computed
[from prefixes alone](leaks.py). The exit status is 0 where it agrees with the teacher-forced
one, 1 where it doesn't, and 2 where something has to be put right first.
"""

import sys
from argparse import Namespace
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from labml_nn.training.checkpoint import restore
from labml_nn.training.command_line import prepare_run
from labml_nn.training.data import CharTokenizer, InputError
from labml_nn.training.leaks import HonestLoss, honest_loss
from labml_nn.training.loop import Trainer
from labml_nn.training.options import Parser
from labml_nn.training.presets import PRESETS, preset_of
from labml_nn.training.runs import newest_good, read_about


def load_run(run: Path) -> tuple[Trainer, CharTokenizer]:
    r"""
    ## A run as it was

    Its trainer and tokenizer, at the newest good checkpoint.
    """
    experiment = PRESETS[preset_of(read_about(run)["experiment"])]
    about, config, text = prepare_run(
        experiment,
        Namespace(resume=run, corpus=None, text=None, tokens=None, tokenizer=None, n_vocab=None),
    )
    trainer, tokenizer = experiment.make_trainer(config, text)
    about |= {"symbols": tokenizer.symbols, "config": asdict(trainer.config)}
    found = newest_good(run, about)
    if found is None:
        raise InputError(f"{run} has no checkpoint yet")
    state, path, _ = found
    restore(trainer, state, path)
    return trainer, tokenizer


def check_run(run: Path) -> HonestLoss:
    r"""
    ## Its honest loss
    """
    trainer, _ = load_run(run)
    return honest_loss(trainer.model, trainer.validation, trainer.config.seq_len)


def main(argv: Sequence[str] | None = None) -> int:
    r"""
    ## On the command line
    """
    parser = Parser(
        prog="python -m labml_nn.training.honest",
        description="Compute the loss of a run from prefixes alone, and compare it with the "
        "teacher-forced one.",
    )
    parser.add_argument("run", type=Path, metavar="RUN", help="the folder of a run")
    try:
        result = check_run(parser.parse_args(argv).run)
    except InputError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    print(result)
    return int(result.leaks)


if __name__ == "__main__":
    sys.exit(main())
