r"""
How low does the loss get with each step of the course?

Letters are counted, and then the models of labml_nn/course/steps.py are trained for 400 steps,
from three seeds each. The result is results/course.json, to which the pages refer. What is trained
already is kept in the file of `--kept` and isn't trained again.
"""

import argparse
import json
import math
import os
import sys
import time
from pathlib import Path
from statistics import mean
from typing import Any

# As `python benchmarks/course.py` from a checkout, nothing needs to be installed.
ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

import torch  # noqa: E402
from matplotlib.lines import Line2D  # noqa: E402
from matplotlib.patches import Patch  # noqa: E402

from benchmarks.pictures import ACCENT, INK, SECOND, new, svg  # noqa: E402
from benchmarks.record import fingerprints, write  # noqa: E402
from labml_nn.course.steps import steps_of_course  # noqa: E402
from labml_nn.training.counting import BackOff, count_letters, count_pairs  # noqa: E402
from labml_nn.training.data import RandomWindows, prepare, tiny_shakespeare  # noqa: E402
from labml_nn.training.loop import evaluate  # noqa: E402

SEEDS, STEPS, SEQ_LEN, BATCH_SIZE = (1, 2, 3), 400, 64, 12
SOURCES = [
    "labml_nn/course/one_attention.py",
    "labml_nn/course/steps.py",
    "labml_nn/optimizers/muon.py",
    "labml_nn/optimizers/schedules.py",
    "labml_nn/training/counting.py",
    "labml_nn/training/data.py",
    "labml_nn/training/loop.py",
    "labml_nn/transformers/basic/autoregressive_model.py",
    "labml_nn/transformers/feed_forward.py",
    "labml_nn/transformers/mha.py",
    "labml_nn/transformers/models.py",
    "labml_nn/transformers/modern/attention.py",
    "labml_nn/transformers/modern/experiment.py",
    "labml_nn/transformers/modern/model.py",
    "labml_nn/transformers/positional_encoding.py",
    "labml_nn/transformers/rms_norm.py",
    "labml_nn/transformers/rotary.py",
    "labml_nn/transformers/swiglu.py",
    "benchmarks/course.py",
]
TOKENIZER, TRAINING, VALIDATION = prepare(tiny_shakespeare(), SEQ_LEN)


def counted() -> dict[str, float]:
    r"""The losses of guessing and of counting, by the names of the steps."""
    letters = count_letters(TRAINING, len(TOKENIZER))
    pairs = count_pairs(TRAINING, len(TOKENIZER))
    text, validation = TOKENIZER.decode(TRAINING), TOKENIZER.decode(VALIDATION)
    longer = BackOff(text, 4, TOKENIZER.symbols)
    return {
        "Guessing": math.log(len(TOKENIZER)),
        "Counted letters": -letters[VALIDATION].log().mean().item(),
        "Counted pairs": -pairs[VALIDATION[:-1], VALIDATION[1:]].log().mean().item(),
        "Counting four letters back": longer.loss(validation, SEQ_LEN),
    }


def trained(name: str, seed: int) -> dict[str, float]:
    r"""Trains the model of a step."""
    make, fit = steps_of_course(len(TOKENIZER), seq_len=SEQ_LEN)[name]
    torch.manual_seed(seed)
    model, start = make(), time.perf_counter()
    fit(model, RandomWindows(TRAINING, SEQ_LEN, BATCH_SIZE, seed), STEPS)
    return {
        "seconds": time.perf_counter() - start,
        "loss": evaluate(model, VALIDATION, SEQ_LEN),
        "parameters": sum(parameter.numel() for parameter in model.parameters()),
    }


def run_all(kept: Path) -> dict[str, dict[str, float]]:
    r"""All runs, one seed after the other; each is kept as soon as it is done."""
    found = json.loads(kept.read_text()) if kept.exists() else {}
    # Runs of other sources must not be written down as runs of these.
    sources = fingerprints(SOURCES)
    if found.setdefault("sources", sources) != sources:
        sys.exit(f"error: {kept} holds runs of other sources; delete it, or name another --kept")
    runs = {}
    for seed in SEEDS:
        for name in steps_of_course(len(TOKENIZER)):
            runs[f"{name}, {seed}"] = lambda name=name, seed=seed: trained(name, seed)
    for key, run in ({"counted": counted} | runs).items():
        if key not in found:
            found[key] = run()
            beside = kept.with_name(f"{kept.name}.{os.getpid()}.part")
            beside.write_text(json.dumps(found))
            beside.replace(kept)
            print(key, found[key], flush=True)
    return found


def bars(rows: list[dict[str, Any]]) -> str:
    r"""One for each step: counted in one colour, trained in another, and the seeds as a line."""
    figure, (axes,) = new(6.4, 4.6)
    for at, row in enumerate(rows):
        counted = row["low"] == "–"
        axes.barh(at, row["loss"], color=SECOND if counted else ACCENT, alpha=0.6, height=0.7)
        axes.text(row["loss"] + 0.05, at, f"{row['loss']:.2f}", va="center", fontsize=10)
        if not counted:
            axes.plot([row["low"], row["high"]], [at, at], color=INK, linewidth=2)
    # What the colours and the short lines are.
    named = [
        Patch(color=SECOND, alpha=0.6, label="counted"),
        Patch(color=ACCENT, alpha=0.6, label="trained, mean of three seeds"),
        Line2D([], [], color=INK, linewidth=2, label="lowest to highest seed"),
    ]
    figure.legend(handles=named, loc="outside upper left", frameon=False, fontsize=11, ncols=2)
    axes.set_yticks(range(len(rows)), [row["step"] for row in rows], fontsize=11)
    axes.invert_yaxis()
    axes.set_xlabel("Loss (nats)", fontsize=12)
    axes.tick_params(labelsize=11)
    axes.tick_params(axis="y", length=0)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    return svg(figure, "course-steps")


def main() -> None:
    r"""Train what isn't trained, and write down what came out."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kept", type=Path, default=ROOT / "runs/course.json")
    kept = parser.parse_args().kept
    torch.set_num_threads(1)
    kept.parent.mkdir(parents=True, exist_ok=True)
    found = run_all(kept)

    rows = [
        {"step": name, "loss": loss, "low": "–", "high": "–", "parameters": "–"}
        for name, loss in found["counted"].items()
    ]
    for name in steps_of_course(len(TOKENIZER)):
        runs = [found[f"{name}, {seed}"] for seed in SEEDS]
        losses = [one["loss"] for one in runs]
        rows.append(
            {
                "step": name,
                "loss": mean(losses),
                "low": min(losses),
                "high": max(losses),
                "parameters": runs[0]["parameters"],
            }
        )
    write(
        "course",
        title="The steps of the course",
        command="python benchmarks/course.py",
        sources=found["sources"],
        values={
            "steps": STEPS,
            "seconds": mean(
                sum(found[f"{name}, {seed}"]["seconds"] for name in steps_of_course(66))
                for seed in SEEDS
            ),
        },
        tables={
            "steps": {
                "columns": [
                    {"name": "step", "title": "Step"},
                    {"name": "loss", "title": "Loss", "unit": "nats", "digits": 3},
                    {"name": "low", "title": "lowest", "digits": 3},
                    {"name": "high", "title": "highest", "digits": 3},
                    {"name": "parameters", "title": "Parameters"},
                ],
                "rows": rows,
            },
        },
        figures={
            "steps": {"title": "The loss after each step of the course", "picture": bars(rows)}
        },
    )


if __name__ == "__main__":
    main()
