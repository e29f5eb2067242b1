r"""
---
title: Training on the Command Line
summary: One command that trains any of the recipes, and resumes any run.
---

```sh
python -m labml_nn.training --help
python -m labml_nn.training --preset classic --steps 500
python -m labml_nn.training --resume runs/autoregressive_experiment/2026-11-21_12-00-00_1f0c
```

Which options there are depends on the recipe, so the name of the recipe is read first, and
then [everything](command_line.py#run_experiment).
"""

import sys
from collections.abc import Sequence
from pathlib import Path

from labml_nn.training.command_line import run_experiment
from labml_nn.training.data import InputError
from labml_nn.training.options import Parser
from labml_nn.training.presets import PRESETS, preset_of
from labml_nn.training.runs import read_about


def choose(argv: Sequence[str]) -> str:
    r"""
    ## Which recipe?

    The one that is named, else that of the run that is resumed, else the first.
    """
    parser = Parser(add_help=False, allow_abbrev=False)
    parser.add_argument("--preset", choices=tuple(PRESETS))
    parser.add_argument("--resume", type=Path)
    arguments, _ = parser.parse_known_args(argv)
    if arguments.preset is None and arguments.resume is not None:
        return preset_of(read_about(arguments.resume)["experiment"])
    return arguments.preset or next(iter(PRESETS))


def main(argv: Sequence[str] | None = None) -> int:
    r"""
    ## Train
    """
    argv = sys.argv[1:] if argv is None else argv
    try:
        experiment = PRESETS[choose(argv)]
    except InputError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return run_experiment(
        experiment.name,
        experiment.config_class,
        experiment.make_trainer,
        argv,
        program="labml_nn.training",
        presets=tuple(PRESETS),
    )


if __name__ == "__main__":
    sys.exit(main())
