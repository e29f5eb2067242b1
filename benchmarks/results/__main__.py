r"""The command."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import labml_nn.training
from benchmarks.results import documents
from benchmarks.results.nanogpt import GPU, Peer, run_script
from benchmarks.results.one_run import ROOT, train


def parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.results",
        description="Train what the pages tell of, and write down what came out.",
    )
    parser.add_argument(
        "what",
        nargs="?",
        default="modern",
        choices=["modern", "long", "gpu"],
        help="the recipes modern and classic; the longer run; the run for a GPU (default: modern)",
    )
    parser.add_argument("--text", type=Path, metavar="FILE", help="in place of Tiny Shakespeare")
    parser.add_argument("--nanogpt", type=Path, metavar="DIR", help="a checkout of nanoGPT")
    parser.add_argument("--seeds", type=int, default=3, metavar="INT", help="(default: 3)")
    parser.add_argument("--steps", type=int, metavar="INT", help="fewer than usual, to try it")
    parser.add_argument("--run", type=Path, metavar="RUN", help="a finished run: long and gpu")
    parser.add_argument(
        "--runs", type=Path, default=ROOT / "runs" / "results", metavar="DIR", help="what is kept"
    )
    parser.add_argument(
        "--to", type=Path, default=ROOT, metavar="DIR", help="where results/ is written"
    )
    return parser


# The text of the package.
TINY_SHAKESPEARE = Path(str(labml_nn.training.__file__)).with_name("tiny_shakespeare.txt")


def told(what: str, arguments: argparse.Namespace) -> str:
    r"""The command as anybody would type it, without the folders of this machine."""
    words = ["python -m benchmarks.results", what]
    words += ["--text FILE"] * (arguments.text is not None)
    for name, sign in (("nanogpt", "DIR"), ("run", "RUN")):
        words += [f"--{name} {sign}"] * (getattr(arguments, name) is not None)
    words += [f"--seeds {arguments.seeds}"] * (arguments.seeds != 3)
    words += [f"--steps {arguments.steps}"] * (arguments.steps is not None)
    return " ".join(words)


def main(argv: Sequence[str] | None = None) -> int:
    arguments = parser().parse_args(argv)
    text = (arguments.text or TINY_SHAKESPEARE).resolve()
    folder = arguments.runs.resolve()
    peer: Peer | None = None
    checkout, steps = arguments.nanogpt and arguments.nanogpt.resolve(), arguments.steps
    changes: dict[str, Any] = {}
    if steps is not None:
        changes["steps"] = steps

    if arguments.what in ("long", "gpu"):
        run = arguments.run
        if run is None:
            run = Path(train(arguments.what, changes, text, folder).result["run"])
        command = told(arguments.what, arguments)
        if checkout and arguments.what == "gpu":
            peer = run_script(checkout, text, folder, GPU, steps)
        print(documents.long(run.resolve(), arguments.what, command, peer, arguments.to))
        return 0

    if checkout:
        peer = run_script(checkout, text, folder, steps=steps)
    seeds = list(range(1, 1 + arguments.seeds))
    command = told("modern", arguments)
    print(documents.recipes(text, folder, seeds, changes, peer, command, arguments.to))
    return 0


if __name__ == "__main__":
    sys.exit(main())
