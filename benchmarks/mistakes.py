r"""
What does each mistake do to the loss, and which tests find it?

Each of the mistakes of labml_nn/transformers/mistakes is trained from the same weights on the same
batches as the right model, each on one core. Then the tests for readers look at each. The result is
results/mistakes.json, to which the pages refer.

What is trained already is in the file of `--kept`, and isn't trained again.
"""

import argparse
import json
import math
import os
import sys
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict, replace
from multiprocessing import get_context
from pathlib import Path

# As `python benchmarks/mistakes.py` from a checkout, nothing needs to be installed.
ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

import torch  # noqa: E402

from benchmarks.record import cores, fingerprints, write  # noqa: E402
from labml_nn.training.device import choose_device, choose_precision  # noqa: E402
from labml_nn.transformers.mistakes.experiment import (  # noqa: E402
    HARMLESS,
    MISTAKES,
    RIGHT,
    Sizes,
    looks_better,
    train_mistake,
)
from labml_nn.transformers.mistakes.verdicts import verdicts  # noqa: E402

QUICK = Sizes(32, 4, 2, 16, 6, n_steps=20, n_places=2)
# What another seed alone makes of the right model.
SEEDS = {f"RightAttention, seed {seed}": seed for seed in (2, 3)}
Losses = dict[str, dict[str, float]]


def sources() -> list[str]:
    r"""The files that a result depends on."""
    folder = ROOT / "labml_nn/transformers/mistakes"
    pages = [path for path in folder.glob("*.py") if path.name != "__init__.py"]
    others = ["labml_nn/training/leaks.py", "benchmarks/mistakes.py"]
    return sorted(path.relative_to(ROOT).as_posix() for path in pages) + others


def train(name: str, text: str, sizes: Sizes) -> dict[str, float]:
    r"""One of them, in a process of its own."""
    torch.set_num_threads(1)
    setup = (RIGHT | MISTAKES | HARMLESS | dict.fromkeys(SEEDS, RIGHT["RightAttention"]))[name]
    return train_mistake(setup, text, sizes, SEEDS.get(name, 1))


def train_all(text: str, sizes: Sizes, kept: Path | None, workers: int) -> Losses:
    r"""All of them, each on one core; what is done is kept at once."""
    losses: Losses = json.loads(kept.read_text()) if kept and kept.exists() else {}
    missing = [name for name in [*RIGHT, *MISTAKES, *HARMLESS, *SEEDS] if name not in losses]
    with ProcessPoolExecutor(workers, get_context("spawn")) as pool:
        running = {pool.submit(train, name, text, sizes): name for name in missing}
        for done in as_completed(running):
            losses[running[done]] = done.result()
            if kept:
                beside = kept.with_name(f"{kept.name}.{os.getpid()}.part")
                beside.write_text(json.dumps(losses))
                beside.replace(kept)
            print(f"{len(losses)} trained: {running[done]}", flush=True)
    return losses


def cell(value: float) -> float | str:
    r"""A number as a table can hold it."""
    return value if math.isfinite(value) else "NaN"


def rows(losses: Losses, found: dict[str, list[str]]) -> list[dict[str, float | str]]:
    r"""A row for what is right, and for each mistake."""
    made = []
    for name, setup in (RIGHT | MISTAKES).items():
        one = losses[name]
        like = next(key for key, plain in RIGHT.items() if plain.dropout_prob == setup.dropout_prob)
        made.append(
            {
                "mistake": name,
                "printed": cell(one["printed"]),
                "change": cell(one["printed"] - losses[like]["printed"]),
                "honest": cell(one["honest"]),
                "gap": cell(one["gap"]),
                "found_by": ", ".join(found.get(name, [])),
            }
        )
    return made


COLUMNS = [
    {"name": "mistake", "title": "Mistake"},
    {"name": "printed", "title": "Printed loss", "unit": "nats", "digits": 3},
    {"name": "change", "title": "Beside the right one", "unit": "nats", "digits": 3},
    {"name": "honest", "title": "Honest loss", "unit": "nats", "digits": 3},
    {"name": "gap", "title": "Honest minus printed", "unit": "nats", "digits": 3},
    {"name": "found_by", "title": "Tests that fail"},
]


def main() -> int:
    r"""Train, look, and write."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--text", type=Path, required=True, metavar="FILE", help="Tiny Shakespeare")
    parser.add_argument("--kept", type=Path, metavar="FILE", help="where losses are kept meanwhile")
    parser.add_argument("--workers", type=int, default=cores(), metavar="N", help="cores to use")
    parser.add_argument("--quick", action="store_true", help="tiny sizes: does it run at all?")
    arguments = parser.parse_args()

    text = arguments.text.read_text(encoding="utf-8")
    # A CPU that has `bfloat16` trains twice as fast with it.
    precise = choose_precision("auto", choose_device("cpu"))
    sizes = replace(QUICK if arguments.quick else Sizes(), bfloat16=precise == torch.bfloat16)
    before = fingerprints(sources())
    losses = train_all(text, sizes, arguments.kept, arguments.workers)
    found = verdicts()

    table = rows(losses, found)
    for row in table:
        numbers = [row[name] for name in ("printed", "honest", "gap")]
        shown = "".join(f"{n:>9}" if isinstance(n, str) else f"{n:9.3f}" for n in numbers)
        print(f"{row['mistake']:30}{shown}  {row['found_by']}")
    better = looks_better(losses)
    alone = [name for name in MISTAKES if found[name] == ["comparison"]]
    print(f"{len(better)} of {len(MISTAKES)} look better than the right model: {', '.join(better)}")
    if arguments.quick:
        return 0

    right = [losses[name]["printed"] for name in ("RightAttention", *SEEDS)]
    write(
        "mistakes",
        title="What mistakes do to the loss",
        command="python benchmarks/mistakes.py --text tiny_shakespeare.txt",
        sources=before,
        values={
            "sizes": asdict(sizes),
            "mistakes": len(MISTAKES),
            "look_better": len(better),
            "found_by_comparison_alone": len(alone),
            "seeds": {"lowest": min(right), "highest": max(right)},
            "size_from_global": cell(losses["SizeFromGlobal"]["printed"]),
        },
        tables={"mistakes": {"columns": COLUMNS, "rows": table}},
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
