r"""
What do the two recipes reach, and what do the models write?

The classic and the modern transformer are trained with the recipes of their pages, from three seeds
each, with matrix products in bfloat16 where the processor has them. The result is
results/recipes.json, to which the pages refer.
"""

from functools import partial

import torch
from torch import Tensor

from benchmarks.library.experiment import Experiment, Report, Runner
from benchmarks.library.ranges import Runs, mean_of, numbers, spread
from benchmarks.library.tables import column
from benchmarks.without import honest, precision
from labml_nn.optimizers.schedules import linear
from labml_nn.training import sampling
from labml_nn.training.data import RandomWindows, prepare, tiny_shakespeare
from labml_nn.training.loop import adamw, evaluate, gradients, learning_rate, train
from labml_nn.transformers.basic.autoregressive_model import (
    AutoregressiveTransformer,
)
from labml_nn.transformers.modern.experiment import muon_and_adamw
from labml_nn.transformers.modern.model import ModernTransformer

SEEDS, STEPS, SEQ_LEN, BATCH_SIZE = (1, 2, 3), 2000, 64, 12
# After so many steps the first model of each recipe shows what it writes.
SHOWN = (0, 100, 500, 2000)
TEMPERATURES = (0.2, 0.8, 1.5)
PROMPT, WRITTEN = "ROMEO:\n", 160
RECIPES = {
    "classic": (AutoregressiveTransformer, lambda model: [adamw(model)], learning_rate),
    "modern": (ModernTransformer, muon_and_adamw, linear),
}


def trained(recipe: str, seed: int) -> dict[str, object]:
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


def measure(runner: Runner) -> Runs:
    r"""Both recipes, from each seed."""
    return runner.runs(trained, RECIPES, SEEDS)


def report(runs: Runs) -> Report:
    r"""The losses, and what the first classic model writes."""
    rows = [
        {
            "recipe": recipe,
            **spread("loss", numbers(found, "loss")),
            "honest": mean_of(found, "honest"),
            "parameters": found[0]["parameters"],
        }
        for recipe, found in runs.items()
    ]
    first = runs["classic"][0]
    return {
        "tables": {
            "losses": {
                "columns": [
                    column("recipe", "Recipe"),
                    column("loss", "Loss, mean of three", 3, "nats"),
                    column("low", "lowest", 3),
                    column("high", "highest", 3),
                    column("honest", "from prefixes alone", 3),
                    column("parameters", "Parameters"),
                ],
                "rows": rows,
            },
            "written": {
                "columns": [
                    column("steps", "Steps"),
                    column("text", "What the classic model writes"),
                ],
                "rows": [
                    {"steps": f"{int(step):,}", "text": text}
                    for step, text in first["written"].items()
                ],
            },
            "temperatures": {
                "columns": [
                    column("temperature", "Temperature"),
                    column("text", "What the classic model writes"),
                ],
                "rows": [
                    {"temperature": temperature, "text": text}
                    for temperature, text in first["hot"].items()
                ],
            },
        },
        "figures": {
            "curves": {
                "title": "Training loss",
                "x": {"title": "Steps"},
                "y": {"title": "Loss, mean of 100 steps", "unit": "nats"},
                "lines": [
                    {"name": recipe.capitalize(), "points": found[0]["curve"]}
                    for recipe, found in runs.items()
                ],
            }
        },
    }


EXPERIMENT = Experiment(
    title="The classic and the modern recipe",
    measure=measure,
    report=report,
    small={"SEEDS": (1, 2), "STEPS": 100, "SHOWN": (0, 100)},
)
