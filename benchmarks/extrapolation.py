r"""What happens to each kind of positions in texts longer than those of training?

The small transformer is trained with each of them, with windows of 64 characters of Tiny
Shakespeare, from the same three seeds. Then its loss over the beginning of the held-out tenth is
measured with windows of 64 to 512. The means of the seeds go to `results/extrapolation.json`, which
the page `positions/extrapolation.py` shows. They don't depend on how busy the machine is.
"""

from statistics import mean
from typing import Any

import torch

from benchmarks.library.experiment import Experiment, Report, Runner
from benchmarks.library.tables import column
from labml_nn.training.data import prepare, tiny_shakespeare
from labml_nn.transformers.positions.extrapolation import (
    KINDS,
    losses_at,
    losses_by_position,
    make_model,
    train_short,
    use_rotary,
)
from labml_nn.transformers.positions.rotary_scaling import scaled_rotary

SEEDS = (1, 2, 3)
LENGTHS = [64, 128, 256, 512]
HEADS = 4
SCALINGS = {
    "interpolation": "rotary, interpolation",
    "ntk": "rotary, NTK",
    "yarn": "rotary, YaRN",
}

# The windows of training.
TRAINED_LEN = 64

# Losses by position are put together in bins of this many positions.
BIN = 32

# That many windows of the greatest length are measured, so that no length leaves a rest.
WINDOWS = 32


D_MODEL, LAYERS, STEPS = 64, 3, 500


def trained(kind: str, seed: int) -> dict[str, Any]:
    r"""Train one, and return its losses by length and by position, by its name.

    A rotary one is measured with each kind of scaling as well.
    """
    tokenizer, tokens, validation = prepare(tiny_shakespeare(), TRAINED_LEN)
    held_out = validation[: WINDOWS * max(LENGTHS) + 1]
    torch.manual_seed(seed)
    model = make_model(kind, len(tokenizer), max(LENGTHS), D_MODEL, HEADS, LAYERS)
    train_short(model, tokens, TRAINED_LEN, STEPS, seed)
    lengths: dict[str, dict[int, float]] = {kind: losses_at(model, held_out, LENGTHS)}
    positions = {kind: in_bins(model, held_out)}
    for scaling, title in SCALINGS.items() if kind == "rotary" else []:
        # A table for each length: the longer the text, the more the frequencies are stretched.
        lengths[title] = {}
        for length in LENGTHS:
            d_k = D_MODEL // HEADS
            use_rotary(model, scaled_rotary(scaling, d_k, length, TRAINED_LEN))
            lengths[title] |= losses_at(model, held_out, [length])

        # The last one is for the longest windows.
        positions[title] = in_bins(model, held_out)
    return {"lengths": lengths, "positions": positions}


def in_bins(model: torch.nn.Module, tokens: torch.Tensor) -> list[list[float]]:
    r"""The losses along the longest windows, in bins."""
    losses = losses_by_position(model, tokens, max(LENGTHS)).view(-1, BIN).mean(dim=1)
    return [[(at + 1) * BIN, loss.item()] for at, loss in enumerate(losses)]


def measure(runner: Runner) -> list[dict[str, Any]]:
    r"""All kinds of positions, from each seed; those of one kind stand together."""
    return runner.all([(trained, kind, seed) for kind in KINDS for seed in SEEDS])


def report(trainings: list[dict[str, Any]]) -> Report:
    r"""Losses by the length of the window, and along the longest one."""
    found: dict[str, list[dict[str, float]]] = {}
    along: dict[str, list[list[list[float]]]] = {}
    for one in trainings:
        for name, losses in one["lengths"].items():
            found.setdefault(name, []).append(losses)
            along.setdefault(name, []).append(one["positions"][name])
    curves = {
        name: {length: mean(one[str(length)] for one in runs) for length in LENGTHS}
        for name, runs in found.items()
    }
    positions = {
        name: [[bins[0][0], mean(loss for _, loss in bins)] for bins in zip(*runs, strict=True)]
        for name, runs in along.items()
    }
    # How far the seeds are apart, at the length where they are furthest apart.
    spreads = {
        name: max(
            max(one[str(n)] for one in runs) - min(one[str(n)] for one in runs) for n in LENGTHS
        )
        for name, runs in found.items()
    }
    rows = [
        {
            "positions": name,
            **{f"at{length}": loss for length, loss in losses.items()},
            "spread": spreads[name],
        }
        for name, losses in curves.items()
    ]
    columns = [column("positions", "Positions")] + [
        {"name": f"at{length}", "title": str(length), "unit": "nats", "digits": 3}
        for length in LENGTHS
    ]
    columns.append(column("spread", "Seeds apart, at most", 3))
    loss = {"title": "Loss", "unit": "nats a character"}
    return {
        "values": {
            "steps": STEPS,
            "d_model": D_MODEL,
            "n_layers": LAYERS,
            "trained_len": TRAINED_LEN,
            "seeds": len(SEEDS),
            "evaluated": WINDOWS * max(LENGTHS),
        },
        "tables": {"losses": {"columns": columns, "rows": rows}},
        "figures": {
            "lengths": {
                "title": "Loss in longer windows than those of training",
                "x": {"title": "Characters in a window", "scale": "log"},
                "y": loss,
                "lines": [
                    {"name": name, "points": [[length, one] for length, one in losses.items()]}
                    for name, losses in curves.items()
                ],
            },
            "positions": {
                "title": f"Loss along windows of {max(LENGTHS)} characters",
                "x": {"title": "Position in the window"},
                "y": loss,
                "lines": [{"name": name, "points": points} for name, points in positions.items()],
            },
        },
    }


EXPERIMENT = Experiment(
    title="Trained on windows of 64 characters, evaluated on longer ones",
    measure=measure,
    report=report,
    small={"SEEDS": (1, 2), "STEPS": 2, "WINDOWS": 2},
)
