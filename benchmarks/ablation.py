r"""
What is each part of the modern recipe worth?

The modern transformer is trained with each of the changes of
labml_nn/transformers/modern/ablation.py, from three seeds each. The result is
results/ablation.json, to which that page refers.

What is trained already is kept in the file of `--kept` and isn't trained again.
"""

import argparse
import json
import os
import sys
import time
from pathlib import Path
from statistics import mean

# As `python benchmarks/ablation.py` from a checkout, nothing needs to be installed.
ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

import torch  # noqa: E402

from benchmarks.pictures import ACCENT, new, svg  # noqa: E402
from benchmarks.record import fingerprints, write  # noqa: E402
from labml_nn.training.data import RandomWindows, prepare, tiny_shakespeare  # noqa: E402
from labml_nn.training.loop import evaluate  # noqa: E402
from labml_nn.transformers.modern.ablation import CHANGES, fit_changed  # noqa: E402
from labml_nn.transformers.modern.model import ModernTransformer  # noqa: E402

SEEDS = (1, 2, 3)
STEPS, SEQ_LEN, BATCH_SIZE = 600, 64, 12
SOURCES = [
    "labml_nn/optimizers/muon.py",
    "labml_nn/optimizers/schedules.py",
    "labml_nn/training/data.py",
    "labml_nn/training/loop.py",
    "labml_nn/transformers/feed_forward.py",
    "labml_nn/transformers/mha.py",
    "labml_nn/transformers/modern/ablation.py",
    "labml_nn/transformers/modern/attention.py",
    "labml_nn/transformers/modern/experiment.py",
    "labml_nn/transformers/modern/model.py",
    "labml_nn/transformers/positional_encoding.py",
    "labml_nn/transformers/rms_norm.py",
    "labml_nn/transformers/rotary.py",
    "labml_nn/transformers/swiglu.py",
    "benchmarks/ablation.py",
]


def run(name: str, seed: int, steps: int) -> dict[str, float]:
    r"""Trains one model and measures it."""
    tokenizer, training, validation = prepare(tiny_shakespeare(), SEQ_LEN)
    torch.manual_seed(seed)
    model = ModernTransformer(len(tokenizer), seq_len=SEQ_LEN)
    start = time.perf_counter()
    fit_changed(name, model, RandomWindows(training, SEQ_LEN, BATCH_SIZE, seed), steps)
    seconds = time.perf_counter() - start
    parameters = sum(p.numel() for p in model.parameters() if p.requires_grad)
    loss = evaluate(model, validation, SEQ_LEN)
    return {"loss": loss, "seconds": seconds, "parameters": parameters}


def run_all(kept: Path, steps: int, names: list[str]) -> dict[str, dict[str, float]]:
    r"""All runs, one seed after the other; each is kept as soon as it is done."""
    found = json.loads(kept.read_text()) if kept.exists() else {}
    for seed in SEEDS:
        for name in names:
            key = f"{name}, {steps} steps, seed {seed}"
            if key not in found:
                found[key] = one = run(name, seed, steps)
                beside = kept.with_name(f"{kept.name}.{os.getpid()}.part")
                beside.write_text(json.dumps(found))
                beside.replace(kept)
                print(f"{key}: {one['loss']:.4f}, {one['seconds']:.0f} s", flush=True)
    return found


def rows_of(found: dict[str, dict[str, float]], steps: int) -> list[dict[str, object]]:
    r"""One row for each change. What is below the spread of the whole recipe is called noise."""
    rows: list[dict[str, object]] = []
    for name in CHANGES:
        runs = [found[f"{name}, {steps} steps, seed {seed}"] for seed in SEEDS]
        losses = [one["loss"] for one in runs]
        row = {"change": name, "loss": mean(losses), "low": min(losses), "high": max(losses)}
        row["worth"] = row["loss"] - (rows[0]["loss"] if rows else row["loss"])
        spread = (rows[0]["high"] - rows[0]["low"]) if rows else 0.0
        row["noise"] = "yes" if rows and abs(row["worth"]) <= spread else "–"
        row["parameters"] = runs[0]["parameters"]
        row["seconds"] = mean(one["seconds"] for one in runs)
        rows.append(row)
    return rows


def spread(rows: list[dict[str, object]]) -> str:
    r"""From the lowest to the highest loss of each change, over the band of the whole recipe."""
    figure, (axes,) = new(6.4, 4.6)
    axes.axvspan(rows[0]["low"], rows[0]["high"], color=ACCENT, alpha=0.2, linewidth=0)
    for at, row in enumerate(rows):
        axes.plot([row["low"], row["high"]], [at, at], color=ACCENT, linewidth=3)
        axes.plot([row["loss"]], [at], color=ACCENT, marker="o")
    axes.set_yticks(range(len(rows)), [row["change"] for row in rows], fontsize=11)
    axes.invert_yaxis()
    axes.set_xlabel("Validation loss (nats)", fontsize=12)
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)
    return svg(figure, "ablation-spread")


def main() -> None:
    r"""Train what isn't trained, and write down what came out."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--kept", type=Path, default=ROOT / "runs/ablation.json")
    parser.add_argument("--steps", type=int, default=STEPS, help="others are kept, not written")
    parser.add_argument("names", nargs="*", default=list(CHANGES), help="which (default: all)")
    options = parser.parse_args()
    torch.set_num_threads(1)
    options.kept.parent.mkdir(parents=True, exist_ok=True)
    sources = fingerprints(SOURCES)
    found = run_all(options.kept, options.steps, options.names)
    missing = [n for n in CHANGES for s in SEEDS if f"{n}, {STEPS} steps, seed {s}" not in found]
    if missing:
        print(f"{len(missing)} runs are missing: nothing is written to results/")
        return
    rows = rows_of(found, STEPS)
    columns = [
        {"name": "change", "title": "Change"},
        {"name": "loss", "title": "Loss, mean of three seeds", "unit": "nats", "digits": 3},
        {"name": "worth", "title": "The part is worth", "unit": "nats", "digits": 3},
        {"name": "noise", "title": "Within the noise"},
        {"name": "low", "title": "lowest", "digits": 3},
        {"name": "high", "title": "highest", "digits": 3},
        {"name": "parameters", "title": "Parameters"},
        {"name": "seconds", "title": "Training", "unit": "s", "digits": 0},
    ]

    write(
        "ablation",
        title=f"The modern recipe, whole and with one change at a time: {STEPS} steps",
        command="python benchmarks/ablation.py",
        sources=sources,
        tables={"changes": {"columns": columns, "rows": rows}},
        figures={"spread": {"title": "Loss of three seeds", "picture": spread(rows)}},
    )


if __name__ == "__main__":
    main()
