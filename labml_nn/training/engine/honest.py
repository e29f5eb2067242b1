r"""
---
title: The Honest Loss of a Run
summary: The loss from prefixes alone, of any run, by one command.
---

```sh
python -m labml_nn.training.engine.honest runs/classic/2026-11-21_12-00-00_1f0c
```

The model of a run is made again, its newest good checkpoint is loaded, and the loss is computed
[from prefixes alone](../leaks.py). The exit status is 0 if it agrees with the teacher-forced one, 1
if it doesn't, and 2 if something has to be put right first.
"""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from labml_nn.training.engine.checkpoint import restore
from labml_nn.training.engine.command_line import choose_preset, prepare_run
from labml_nn.training.engine.errors import InputError
from labml_nn.training.engine.options import Parser, make_parser, one_sentence
from labml_nn.training.engine.presets import PRESETS
from labml_nn.training.engine.runs import newest_good
from labml_nn.training.engine.trainer import Trainer
from labml_nn.training.leaks import honest_loss


def load_run(run: Path) -> tuple[Trainer, Any]:
    r"""
    ## Load a run

    Its trainer and tokenizer, at the newest good checkpoint.
    """
    # As if the run was resumed.
    argv = [f"--resume={run}"]
    name = choose_preset(argv, PRESETS)
    preset = PRESETS[name]
    parser = make_parser(name, tuple(PRESETS), preset.config, preset.defaults)
    about, config, text = prepare_run(name, preset, parser.parse_args(argv))
    trainer = preset.make_trainer(config, text)
    found = newest_good(run, about)
    if found is None:
        raise InputError(f"{run} has no checkpoint yet")
    state, path, _ = found
    restore(trainer, state, path)
    return trainer, text.tokenizer


@one_sentence
def main(argv: Sequence[str] | None = None) -> int:
    r"""
    ## On the command line
    """
    parser = Parser(
        prog="python -m labml_nn.training.engine.honest",
        description="Compute the loss of a run from prefixes alone, and compare it with the "
        "teacher-forced one.",
    )
    parser.add_argument("run", type=Path, metavar="RUN", help="the folder of a run")
    trainer, _ = load_run(parser.parse_args(argv).run)
    result = honest_loss(trainer.model, trainer.validation, trainer.config.seq_len)
    print(result)
    return int(result.leaks)


if __name__ == "__main__":
    sys.exit(main())
