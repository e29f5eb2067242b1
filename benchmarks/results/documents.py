r"""The files of results, each from its runs."""

import statistics
import time
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from benchmarks.record import ROOT, fingerprints, write
from benchmarks.results.nanogpt import Peer
from benchmarks.results.one_run import Run, train
from labml_nn.training.engine.command_line import load_run
from labml_nn.training.engine.compare import read_result
from labml_nn.training.engine.history import read_history
from labml_nn.training.engine.runs import read_about
from labml_nn.training.sampling import generate
from labml_nn.training.sampling import write as write_text

MODERN = "labml_nn/transformers/modern"
# What makes a run what it is, beside the pages of its own.
LOOP = [
    *[f"labml_nn/training/{name}.py" for name in ("loop", "data", "engine/trainer")],
    *[f"labml_nn/optimizers/{name}.py" for name in ("muon", "schedules")],
]
NANOGPT = "nanoGPT's script as it is"

# Few steps first: the first run that is good enough is the answer.
SHORT = (200, 225, 250, 275, 300, 350, 400, 500)


def shortest(write_some: Callable[[], object], times: int) -> float:
    r"""The seconds of the fastest of some times."""
    found = []
    for _ in range(times):
        start = time.perf_counter()
        write_some()
        found.append(time.perf_counter() - start)
    return min(found)


def writer(model: nn.Module, prompt: Tensor, n_tokens: int, seq_len: int) -> Callable[[], Tensor]:
    r"""Text that fills the context."""
    return lambda: generate(model, prompt, n_tokens, seq_len)


def seeds_of(seeds: list[int]) -> str:
    return ", ".join(map(str, seeds))


def mean(values: Any) -> float:
    return statistics.mean(values)


def peer_values(peer: Peer) -> dict[str, Any]:
    r"""The numbers of nanoGPT's script."""
    values = asdict(peer)
    values.pop("estimates")
    return values


def recipes(
    text: Path,
    folder: Path,
    seeds: list[int],
    changes: dict[str, Any],
    peer: Peer | None,
    command: str,
    root: Path = ROOT,
) -> Path:
    r"""The presets `modern` and `classic` with all seeds, and how soon nanoGPT's loss is passed."""
    sources = fingerprints(
        [
            *(f"{MODERN}/{name}.py" for name in ("experiment", "model", "attention")),
            "labml_nn/transformers/basic/autoregressive_model.py",
            *LOOP,
        ]
    )
    values: dict[str, Any] = {}
    means, table, lines = [], [], []
    for preset in ("modern", "classic"):
        runs = [train(preset, changes | {"seed": seed}, text, folder) for seed in seeds]
        values[preset] = of_runs(runs)
        means.append(row_of(preset, values[preset]) | {"seeds": seeds_of(seeds)})
        for seed, run in zip(seeds, runs, strict=True):
            table.append(row_of(f"{preset}, seed {seed}", of_runs([run])))
            table[-1]["honest"] = run.result["honest_loss"]
        lines.append({"name": preset, "points": runs[0].curve("seconds")})
    if peer is not None:
        values["nanogpt_script"] = peer_values(peer)
        passed = passing(text, folder, changes | {"seed": seeds[0]}, peer)
        values["passing"] = passed
        means.append(row_of("modern, in fewer steps", passed) | {"seeds": str(seeds[0])})
        means.append(row_of(NANOGPT, values["nanogpt_script"]) | {"seeds": "1337"})
        pace = peer.seconds / peer.steps
        points = [[step * pace, loss] for step, _, loss in peer.estimates]
        lines.append({"name": "nanoGPT's script, its own estimates", "points": points})
    columns = [
        {"name": "parameters", "title": "Parameters", "digits": 0},
        {"name": "steps", "title": "Steps", "digits": 0},
        {"name": "loss", "title": "Loss", "unit": "nats", "digits": 3},
        {"name": "seconds", "title": "Training", "unit": "s", "digits": 1},
        {"name": "wall", "title": "Whole command", "unit": "s", "digits": 1},
        {"name": "tokens_per_second", "title": "Tokens a second", "digits": 0},
    ]
    honest = {"name": "honest", "title": "From prefixes", "unit": "nats", "digits": 3}
    return write(
        "modern",
        title="The recipes, beside nanoGPT's" if peer else "The recipes",
        command=command,
        sources=sources,
        values=values,
        tables={
            "means": {
                "columns": [
                    {"name": "run", "title": "Recipe"},
                    *columns,
                    {"name": "seeds", "title": "Seeds"},
                ],
                "rows": means,
            },
            "runs": {
                "columns": [{"name": "run", "title": "Run"}, *columns, honest],
                "rows": table,
            },
        },
        figures={
            "curves": {
                "title": "Validation loss in the course of a training",
                "x": {"title": "Training", "unit": "s", "scale": "linear"},
                "y": {"title": "Validation loss", "unit": "nats a character", "scale": "linear"},
                "lines": lines,
            }
        },
        root=root,
    )


def row_of(name: str, values: dict[str, Any]) -> dict[str, Any]:
    r"""What there is of a run, or of the mean of some, as a row."""
    columns = ("parameters", "steps", "loss", "seconds", "wall", "tokens_per_second")
    return {"run": name} | {column: values[column] for column in columns}


def losses_of(runs: list[Run]) -> dict[str, float]:
    r"""The loss of each seed."""
    return {f"seed_{run.result['seed']}": run.result["val_loss"] for run in runs}


def of_runs(runs: list[Run]) -> dict[str, Any]:
    r"""The means, and each loss."""
    results = [run.result for run in runs]
    losses = [result["val_loss"] for result in results]
    return {
        "loss": mean(losses),
        "losses": losses_of(runs),
        "spread": max(losses) - min(losses),
        "seconds": mean(result["seconds"] for result in results),
        "wall": mean(run.wall for run in runs),
        "tokens_per_second": mean(result["tokens_per_second"] for result in results),
        "parameters": results[0]["parameters"],
        "steps": results[0]["steps"],
        "seeds": len(runs),
    }


def passing(text: Path, folder: Path, changes: dict[str, Any], peer: Peer) -> dict[str, Any]:
    r"""The shortest training of the modern recipe that reaches nanoGPT's final loss."""
    found: Run | None = None
    for steps in SHORT:
        found = train("modern", changes | {"steps": steps}, text, folder)
        if found.result["val_loss"] <= peer.loss:
            break
    assert found is not None
    return of_runs([found]) | {
        "reached": found.result["val_loss"] <= peer.loss,
        # Step for step, and command for command.
        "times_faster": peer.seconds / found.result["seconds"],
        "times_faster_wall": peer.wall / found.wall,
    }


def long(run: Path, name: str, command: str, peer: Peer | None = None, root: Path = ROOT) -> Path:
    r"""What a finished run of a preset reached, wrote, and how fast it writes."""
    about, history = read_about(run), read_history(run)
    sources = fingerprints(
        [*(f"{MODERN}/{page}.py" for page in ("experiment", "model", "attention")), *LOOP]
    )
    trainer, tokenizer = load_run(run)
    config = trainer.config
    known = Run(read_result(run), history, 0.0)
    result = known.result
    prompt = tokenizer.decode(trainer.train[:1])
    generator = torch.Generator().manual_seed(config.seed)
    sample = write_text(
        trainer.model, tokenizer, prompt, 500, config.seq_len, temperature=0.8, generator=generator
    )
    speeds = {}
    for batch_size in (1, 16):
        start = trainer.train[:1].unsqueeze(1).expand(1, batch_size).contiguous()
        n_tokens = config.seq_len - 1
        write_some = writer(trainer.model, start, n_tokens, config.seq_len)
        speeds[f"texts_{batch_size}"] = n_tokens * batch_size / shortest(write_some, 3)
    values = {
        **{"loss": result["val_loss"], "honest_loss": result["honest_loss"]},
        **{"best_loss": result["best_val_loss"], "seconds": result["seconds"]},
        **{"minutes": result["seconds"] / 60, "parameters": result["parameters"]},
        **{"millions": result["parameters"] / 1e6, "steps": result["steps"]},
        **{"tokens_per_second": result["tokens_per_second"], "seed": result["seed"]},
        "epochs": config.steps * config.batch_size * config.seq_len / len(trainer.train),
        "writing": speeds,
        "sample": sample,
        "precision": config.precision,
    }
    rows = [
        {
            "recipe": name,
            "parameters": result["parameters"],
            "steps": result["steps"],
            "minutes": result["seconds"] / 60,
            "loss": result["val_loss"],
            "honest": result["honest_loss"],
            "tokens": result["tokens_per_second"],
        }
    ]
    if peer is not None:
        values["nanogpt_script"] = peer_values(peer)
        values["times_faster"] = peer.seconds / result["seconds"]
        rows.append(
            {
                **{"recipe": NANOGPT, "parameters": peer.parameters, "steps": peer.steps},
                **{"minutes": peer.seconds / 60, "loss": peer.loss},
                "tokens": peer.tokens_per_second,
            }
        )
    curves = [
        {"name": "validation", "points": [[x / 60, y] for x, y in known.curve("seconds")]},
    ]
    return write(
        name,
        title=f"A finished run of the preset {about['preset']}",
        command=command,
        sources=sources,
        values=values,
        tables={
            "run": {
                "columns": [
                    {"name": "recipe", "title": "Recipe"},
                    {"name": "parameters", "title": "Parameters", "digits": 0},
                    {"name": "steps", "title": "Steps", "digits": 0},
                    {"name": "minutes", "title": "Training", "unit": "minutes", "digits": 1},
                    {"name": "loss", "title": "Loss", "unit": "nats", "digits": 3},
                    {"name": "honest", "title": "From prefixes", "unit": "nats", "digits": 3},
                    {"name": "tokens", "title": "Tokens a second", "digits": 0},
                ],
                "rows": rows,
            },
            # A page shows tables; a text is one of lines.
            "sample": {
                "columns": [{"name": "line", "title": "What it writes"}],
                "rows": [{"line": line} for line in sample.split("\n") if line],
            },
            "writing": {
                "columns": [
                    {"name": "texts", "title": "Texts at once", "digits": 0},
                    {"name": "speed", "title": "Writing", "unit": "tokens/s", "digits": 0},
                ],
                "rows": [
                    {"texts": batch_size, "speed": speeds[f"texts_{batch_size}"]}
                    for batch_size in (1, 16)
                ],
            },
        },
        figures={
            "curve": {
                "title": "Validation loss",
                "x": {"title": "Training", "unit": "minutes", "scale": "linear"},
                "y": {"title": "Loss", "unit": "nats a character", "scale": "linear"},
                "lines": curves,
            }
        },
        root=root,
    )
