r"""
What does each mistake do to the loss, and which tests find it?

Each of the mistakes of labml_nn/transformers/mistakes is trained from the same weights on the same
batches as the right model, one after the other, on one core. Then the tests for readers look at
each. The result is results/mistakes.json, to which the pages refer. With --large the model is twice
as deep and twice as wide, and nothing is written.

What is trained already is in the file of `--kept`, and isn't trained again.
"""

import argparse
import json
import math
import os
import sys
from dataclasses import asdict, replace
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

import torch  # noqa: E402

from benchmarks.record import fingerprints, write  # noqa: E402
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
LARGE = Sizes(128, 4, 4, n_places=24)


def sources() -> list[str]:
    r"""The files that a result depends on, but for the tests."""
    folder = ROOT / "labml_nn/transformers/mistakes"
    pages = [path for path in folder.glob("*.py") if path.name != "__init__.py"]
    others = ["labml_nn/training/leaks.py", "benchmarks/mistakes.py"]
    return sorted(path.relative_to(ROOT).as_posix() for path in pages) + others


def cell(value: float) -> float | str:
    r"""A number as a table can hold it."""
    return value if math.isfinite(value) else "NaN"


def main() -> int:
    r"""Train, look, and write."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--text", type=Path, required=True, metavar="FILE", help="Tiny Shakespeare")
    parser.add_argument("--kept", type=Path, metavar="FILE", help="where losses are kept meanwhile")
    size = parser.add_mutually_exclusive_group()
    size.add_argument("--quick", action="store_true", help="tiny sizes: does it run at all?")
    size.add_argument("--large", action="store_true", help="four layers, a width of 128")
    arguments = parser.parse_args()

    text = arguments.text.read_text(encoding="utf-8")
    # A CPU that has `bfloat16` trains twice as fast with it.
    precise = choose_precision("auto", choose_device("cpu"))
    sizes = QUICK if arguments.quick else LARGE if arguments.large else Sizes()
    sizes = replace(sizes, bfloat16=precise == torch.bfloat16)
    before = fingerprints(sources())

    kept = arguments.kept
    losses = json.loads(kept.read_text()) if kept and kept.exists() else {}
    runs = [(name, setup, 1) for name, setup in (RIGHT | MISTAKES | HARMLESS).items()]
    # What another seed alone makes of the right one.
    runs += [(f"RightAttention, seed {seed}", RIGHT["RightAttention"], seed) for seed in (2, 3)]
    for name, setup, seed in runs:
        if name not in losses:
            losses[name] = train_mistake(setup, text, sizes, seed)
            if kept:
                beside = kept.with_name(f"{kept.name}.{os.getpid()}.part")
                beside.write_text(json.dumps(losses))
                beside.replace(kept)
        one = losses[name]
        print(f"{name:30}{one['printed']:8.4f}{one['honest']:8.4f}{one['gap']:+9.4f}", flush=True)

    found = verdicts()
    rows = []
    for name, setup in (RIGHT | MISTAKES).items():
        one = losses[name]
        right = next(
            key for key, plain in RIGHT.items() if plain.dropout_prob == setup.dropout_prob
        )
        rows.append(
            {
                "mistake": name,
                "printed": cell(one["printed"]),
                "change": cell(one["printed"] - losses[right]["printed"]),
                "honest": cell(one["honest"]),
                "gap": cell(one["gap"]),
                "found_by": ", ".join(found[name]) if name in found else "",
            }
        )
    better = looks_better(losses)
    alone = [name for name in MISTAKES if found[name] == ["comparison"]]
    print(f"{len(better)} of {len(MISTAKES)} look better than the right model: {', '.join(better)}")
    if arguments.quick or arguments.large:
        return 0

    columns = [
        {"name": "mistake", "title": "Mistake"},
        {"name": "printed", "title": "Printed loss", "unit": "nats", "digits": 3},
        {"name": "change", "title": "Beside the right one", "unit": "nats", "digits": 3},
        {"name": "honest", "title": "Honest loss", "unit": "nats", "digits": 3},
        {"name": "gap", "title": "Honest minus printed", "unit": "nats", "digits": 3},
        {"name": "found_by", "title": "Tests that fail"},
    ]
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
            "losses": {
                name: {key: cell(value) for key, value in one.items()}
                for name, one in losses.items()
            },
        },
        tables={"mistakes": {"columns": columns, "rows": rows}},
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
