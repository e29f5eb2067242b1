r"""
What do the two recipes reach, and what do the models write?

The classic and the modern transformer are trained with the recipes of their pages, from three seeds
each, with matrix products in bfloat16 where the processor has them. The result is
results/recipes.json, to which the pages refer. What is trained already is kept in the files of
`--kept` and isn't trained again.
"""

import argparse
import json
import os
import sys
from functools import partial
from pathlib import Path
from statistics import mean

# As `python benchmarks/recipes.py` from a checkout, nothing needs to be installed.
ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

import torch  # noqa: E402
from torch import Tensor  # noqa: E402

from benchmarks.record import fingerprints, write  # noqa: E402
from benchmarks.without import honest, precision  # noqa: E402
from labml_nn.optimizers.schedules import linear  # noqa: E402
from labml_nn.training import sampling  # noqa: E402
from labml_nn.training.data import RandomWindows, prepare, tiny_shakespeare  # noqa: E402
from labml_nn.training.loop import adamw, evaluate, gradients, learning_rate, train  # noqa: E402
from labml_nn.transformers.basic.autoregressive_model import (  # noqa: E402
    AutoregressiveTransformer,
)
from labml_nn.transformers.modern.experiment import muon_and_adamw  # noqa: E402
from labml_nn.transformers.modern.model import ModernTransformer  # noqa: E402

SEEDS, STEPS, SEQ_LEN, BATCH_SIZE = (1, 2, 3), 2000, 64, 12
# After so many steps the first model of each recipe shows what it writes.
SHOWN = (0, 100, 500, 2000)
TEMPERATURES = (0.2, 0.8, 1.5)
PROMPT, WRITTEN = "ROMEO:\n", 160
SOURCES = [
    "labml_nn/optimizers/muon.py",
    "labml_nn/optimizers/schedules.py",
    "labml_nn/training/data.py",
    "labml_nn/training/loop.py",
    "labml_nn/training/sampling.py",
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
    "benchmarks/recipes.py",
    "benchmarks/without.py",
]
RECIPES = {
    "classic": (AutoregressiveTransformer, lambda model: [adamw(model)], learning_rate),
    "modern": (ModernTransformer, muon_and_adamw, linear),
}


def run(recipe: str, seed: int) -> dict[str, object]:
    r"""Trains one model, and lets the first one write."""
    tokenizer, training, validation = prepare(tiny_shakespeare(), SEQ_LEN)
    make, optimizers, schedule = RECIPES[recipe]
    torch.manual_seed(seed)
    model = make(len(tokenizer), seq_len=SEQ_LEN)

    def sample(temperature: float) -> str:
        chosen = torch.Generator().manual_seed(1)
        return sampling.write(model, tokenizer, PROMPT, WRITTEN, SEQ_LEN, temperature, chosen)

    curve: list[list[float]] = []
    written = {0: sample(0.8)}
    losses: list[Tensor] = []

    def after_step(step: int, loss: Tensor) -> None:
        losses.append(loss)
        if step % 100 == 0:
            curve.append([step, torch.stack(losses[-100:]).mean().item()])
        if step in SHOWN and seed == 1:
            written[step] = sample(0.8)

    train(
        *(model, RandomWindows(training, SEQ_LEN, BATCH_SIZE, seed).at, optimizers(model), STEPS),
        schedule=schedule,
        gradients=partial(gradients, context=precision()),
        after_step=after_step,
    )
    return {
        "loss": evaluate(model, validation, SEQ_LEN),
        "honest": honest(model, validation, SEQ_LEN),
        "parameters": sum(p.numel() for p in model.parameters()),
        "curve": curve,
        "written": written,
        "hot": {temperature: sample(temperature) for temperature in TEMPERATURES},
    }


def main() -> None:
    r"""Train what isn't trained, and write down what came out."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kept", type=Path, default=ROOT / "runs/recipes")
    parser.add_argument("recipes", nargs="*", default=list(RECIPES))
    options = parser.parse_args()
    torch.set_num_threads(1)
    options.kept.mkdir(parents=True, exist_ok=True)
    sources = fingerprints(SOURCES)
    for seed in SEEDS:
        for recipe in options.recipes:
            path = options.kept / f"{recipe}-{seed}.json"
            if path.exists() and json.loads(path.read_text())["sources"] == sources:
                continue
            found = run(recipe, seed) | {"sources": sources}
            beside = path.with_name(f"{path.name}.{os.getpid()}.part")
            beside.write_text(json.dumps(found))
            beside.replace(path)
            print(f"{recipe}, seed {seed}: {found['loss']:.4f}", flush=True)

    paths = {(r, s): options.kept / f"{r}-{s}.json" for r in RECIPES for s in SEEDS}
    if not all(path.exists() for path in paths.values()):
        print("not all are there yet: nothing is written to results/")
        return
    runs = {key: json.loads(path.read_text()) for key, path in paths.items()}
    if any(one["sources"] != sources for one in runs.values()):
        sys.exit("error: some runs are of other sources; run this without names")
    rows = [
        {
            "recipe": recipe,
            "loss": mean(runs[recipe, seed]["loss"] for seed in SEEDS),
            "low": min(runs[recipe, seed]["loss"] for seed in SEEDS),
            "high": max(runs[recipe, seed]["loss"] for seed in SEEDS),
            "honest": mean(runs[recipe, seed]["honest"] for seed in SEEDS),
            "parameters": runs[recipe, 1]["parameters"],
        }
        for recipe in RECIPES
    ]
    write(
        "recipes",
        title="The classic and the modern recipe",
        command="python benchmarks/recipes.py",
        sources=sources,
        tables={
            "losses": {
                "columns": [
                    {"name": "recipe", "title": "Recipe"},
                    {"name": "loss", "title": "Loss, mean of three", "unit": "nats", "digits": 3},
                    {"name": "low", "title": "lowest", "digits": 3},
                    {"name": "high", "title": "highest", "digits": 3},
                    {"name": "honest", "title": "from prefixes alone", "digits": 3},
                    {"name": "parameters", "title": "Parameters"},
                ],
                "rows": rows,
            },
            "written": {
                "columns": [
                    {"name": "steps", "title": "Steps"},
                    {"name": "text", "title": "What the classic model writes"},
                ],
                "rows": [
                    {"steps": f"{int(step):,}", "text": text}
                    for step, text in runs["classic", 1]["written"].items()
                ],
            },
            "temperatures": {
                "columns": [
                    {"name": "temperature", "title": "Temperature"},
                    {"name": "text", "title": "What the classic model writes"},
                ],
                "rows": [
                    {"temperature": temperature, "text": text}
                    for temperature, text in runs["classic", 1]["hot"].items()
                ],
            },
        },
        figures={
            "curves": {
                "title": "Training loss",
                "x": {"title": "Steps"},
                "y": {"title": "Loss, mean of 100 steps", "unit": "nats"},
                "lines": [
                    {"name": recipe.capitalize(), "points": runs[recipe, 1]["curve"]}
                    for recipe in RECIPES
                ],
            }
        },
    )


if __name__ == "__main__":
    main()
