r"""What happens to each kind of positions in texts longer than those of training?

    python benchmarks/extrapolation.py

The small transformer is trained with each of them, with windows of 64 characters of Tiny
Shakespeare, from the same three seeds. Then its loss over the beginning of the held-out tenth is
measured with windows of 64 to 512. The means of the seeds go to `results/extrapolation.json`, which
the page `positions/extrapolation.py` shows. They don't depend on how busy the machine is.
"""

import argparse
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from itertools import product
from multiprocessing import get_context
from pathlib import Path
from statistics import mean

import torch

# As `python benchmarks/extrapolation.py` from a checkout, nothing needs to be installed.
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks import record
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

FOLDER = "labml_nn/transformers"
SOURCES = [
    f"{FOLDER}/mha.py",
    f"{FOLDER}/positional_encoding.py",
    f"{FOLDER}/rotary.py",
    *(
        f"{FOLDER}/positions/{name}.py"
        for name in (
            "shaw_relative",
            "transformer_xl",
            "alibi",
            "rotary_attention",
            "rotary_scaling",
            "extrapolation",
        )
    ),
]


def measure(job: tuple[str, int, argparse.Namespace]) -> tuple[dict, dict]:
    r"""Train one, and return its losses by length and by position, by its name.

    A rotary one is measured with each kind of scaling as well.
    """
    kind, seed, options = job
    torch.set_num_threads(1)
    start = time.perf_counter()
    tokenizer, tokens, validation = prepare(tiny_shakespeare(), TRAINED_LEN)
    held_out = validation[: WINDOWS * max(LENGTHS) + 1]
    torch.manual_seed(seed)
    model = make_model(kind, len(tokenizer), max(LENGTHS), options.d_model, HEADS, options.layers)
    train_short(model, tokens, TRAINED_LEN, options.steps, seed)
    print(f"{kind}, seed {seed}: {time.perf_counter() - start:.0f} s", file=sys.stderr, flush=True)
    lengths = {kind: losses_at(model, held_out, LENGTHS)}
    positions = {kind: in_bins(model, held_out)}
    for scaling, title in SCALINGS.items() if kind == "rotary" else []:
        # A table for each length: the longer the text, the more the frequencies are stretched.
        lengths[title] = {}
        for length in LENGTHS:
            d_k = options.d_model // HEADS
            use_rotary(model, scaled_rotary(scaling, d_k, length, TRAINED_LEN))
            lengths[title] |= losses_at(model, held_out, [length])

        # The last one is for the longest windows.
        positions[title] = in_bins(model, held_out)
    return lengths, positions


def in_bins(model: torch.nn.Module, tokens: torch.Tensor) -> list[list[float]]:
    r"""The losses along the longest windows, in bins."""
    losses = losses_by_position(model, tokens, max(LENGTHS)).view(-1, BIN).mean(dim=1)
    return [[(at + 1) * BIN, loss.item()] for at, loss in enumerate(losses)]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--steps", type=int, default=500)
    parser.add_argument("--d-model", type=int, default=64)
    parser.add_argument("--layers", type=int, default=3)
    parser.add_argument("--seeds", type=int, nargs="+", default=SEEDS)
    parser.add_argument("--processes", type=int, default=1, help="how many are trained at a time")
    options = parser.parse_args()
    fingerprints = record.fingerprints(SOURCES)

    found: dict[str, list[dict[int, float]]] = {}
    along: dict[str, list[list[list[float]]]] = {}
    with ProcessPoolExecutor(options.processes, get_context("spawn")) as pool:
        for lengths, windows in pool.map(measure, product(KINDS, options.seeds, [options])):
            for name, losses in lengths.items():
                found.setdefault(name, []).append(losses)
                along.setdefault(name, []).append(windows[name])
    curves = {
        name: {length: mean(one[length] for one in runs) for length in LENGTHS}
        for name, runs in found.items()
    }
    positions = {
        name: [[bins[0][0], mean(loss for _, loss in bins)] for bins in zip(*runs, strict=True)]
        for name, runs in along.items()
    }
    # How far the seeds are apart, at the length where they are furthest apart.
    spreads = {
        name: max(max(one[n] for one in runs) - min(one[n] for one in runs) for n in LENGTHS)
        for name, runs in found.items()
    }
    print(f"{'positions':>22}", *(f"{length:6}" for length in LENGTHS), "spread")
    for name, losses in curves.items():
        numbers = [*losses.values(), spreads[name]]
        print(f"{name:>22}", *(f"{number:6.3f}" for number in numbers))

    rows = [
        {
            "positions": name,
            **{f"at{length}": loss for length, loss in losses.items()},
            "spread": spreads[name],
        }
        for name, losses in curves.items()
    ]
    columns = [{"name": "positions", "title": "Positions"}] + [
        {"name": f"at{length}", "title": str(length), "unit": "nats", "digits": 3}
        for length in LENGTHS
    ]
    columns.append({"name": "spread", "title": "Seeds apart, at most", "digits": 3})
    loss = {"title": "Loss", "unit": "nats a character"}
    path = record.write(
        "extrapolation",
        title="Trained on windows of 64 characters, evaluated on longer ones",
        command="python benchmarks/extrapolation.py",
        sources=fingerprints,
        values={
            "steps": options.steps,
            "d_model": options.d_model,
            "n_layers": options.layers,
            "trained_len": TRAINED_LEN,
            "seeds": len(options.seeds),
            "evaluated": WINDOWS * max(LENGTHS),
        },
        tables={"losses": {"columns": columns, "rows": rows}},
        figures={
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
    )
    print(path)


if __name__ == "__main__":
    main()
