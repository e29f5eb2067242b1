r"""The command."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.results import documents
from benchmarks.results.nanogpt import CARD, Peer, run_script
from benchmarks.results.one_run import ROOT, train
from labml_nn.training.corpora import TINY_SHAKESPEARE, cache_folder, tiny_shakespeare
from labml_nn.training.data import InputError
from labml_nn.transformers.modern.ablation import ROWS


def parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.results",
        description="Train what the pages tell of, and write down what came out.",
    )
    parser.add_argument(
        "what",
        nargs="?",
        choices=["ablation", "modern", "long", "gpu"],
        help="each change from nanoGPT's recipe to the modern one; the recipes modern and classic; "
        "the longer run; the run for a graphics card (default: the first two)",
    )
    parser.add_argument("--text", type=Path, metavar="FILE", help="in place of Tiny Shakespeare")
    parser.add_argument("--nanogpt", type=Path, metavar="DIR", help="a checkout of nanoGPT")
    parser.add_argument(
        "--rows", metavar="NAMES", help=f"of the ablation, with commas: {','.join(ROWS)}"
    )
    parser.add_argument(
        "--seeds", type=int, metavar="INT", help="(default: 1 for the ablation, 3 for recipes)"
    )
    parser.add_argument("--steps", type=int, metavar="INT", help="fewer than usual, to try it")
    parser.add_argument("--run", type=Path, metavar="RUN", help="a finished run: long and gpu")
    parser.add_argument(
        "--runs", type=Path, default=ROOT / "runs" / "results", metavar="DIR", help="what is kept"
    )
    parser.add_argument(
        "--to", type=Path, default=ROOT, metavar="DIR", help="where results/ is written"
    )
    return parser


def corpus() -> Path:
    r"""Tiny Shakespeare as a file, downloaded if it isn't here yet."""
    tiny_shakespeare()
    return cache_folder() / "tiny_shakespeare.txt"


def told(what: str, arguments: argparse.Namespace) -> str:
    r"""The command as anybody would type it, without the folders of this machine."""
    words = ["python -m benchmarks.results", what]
    words += ["--text FILE"] * (arguments.text is not None and not is_tiny(arguments.text))
    for name, sign in (("nanogpt", "DIR"), ("run", "RUN")):
        words += [f"--{name} {sign}"] * (getattr(arguments, name) is not None)
    for name in ("rows", "seeds", "steps"):
        given = getattr(arguments, name)
        words += [f"--{name} {given}"] * (given is not None)
    return " ".join(words)


def is_tiny(text: Path) -> bool:
    r"""Whether a file is what would be downloaded."""
    return text.is_file() and TINY_SHAKESPEARE.matches(text.read_bytes())


def main(argv: Sequence[str] | None = None) -> int:
    arguments = parser().parse_args(argv)
    rows = (arguments.rows or ",".join(ROWS)).split(",")
    if unknown := [name for name in rows if name not in ROWS]:
        print(f"error: there is no row {unknown[0]!r}: use {', '.join(ROWS)}", file=sys.stderr)
        return 2
    try:
        text = (arguments.text or corpus()).resolve()
    except InputError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
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
            peer = run_script(checkout, text, folder, CARD, steps)
        print(documents.long(run.resolve(), arguments.what, command, peer, arguments.to))
        return 0

    if checkout:
        peer = run_script(checkout, text, folder, steps=steps)
    if arguments.what in (None, "ablation"):
        seeds = list(range(1, 1 + (arguments.seeds or 1)))
        command = told("ablation", arguments)
        print(documents.ablation(text, folder, rows, seeds, changes, peer, command, arguments.to))
    if arguments.what in (None, "modern"):
        seeds = list(range(1, 1 + (arguments.seeds or 3)))
        command = told("modern", arguments)
        print(documents.recipes(text, folder, seeds, changes, peer, command, arguments.to))
    return 0


if __name__ == "__main__":
    sys.exit(main())
