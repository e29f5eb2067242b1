r"""What happens to each kind of positions in texts longer than those of training?

    python benchmarks/extrapolation.py --text FILE

The small transformer is trained with each of them, with windows of 64 characters, from the same
seed. Then its loss over the beginning of the held-out tenth is measured with windows of 64 to 512.
It writes `results/extrapolation.json`, which the page `positions/extrapolation.py` shows. The
losses depend on the text, not on how busy the machine is.
"""

import argparse
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from itertools import repeat
from multiprocessing import get_context
from pathlib import Path

import torch

# As `python benchmarks/extrapolation.py` from a checkout, nothing needs to be installed.
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks import record
from labml_nn.training.corpora import read_text
from labml_nn.training.data import prepare
from labml_nn.training.loop import Trainer
from labml_nn.transformers.basic.autoregressive_experiment import Config
from labml_nn.transformers.positions.extrapolation import (
    losses_at,
    losses_by_position,
    make_model,
    use_table,
    ways,
)
from labml_nn.transformers.positions.rotary_scaling import scaled

LENGTHS = [64, 128, 256, 512]
KINDS = {
    "interpolation": "rotary, interpolation",
    "ntk": "rotary, NTK",
    "yarn": "rotary, YaRN",
}

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


def measure(way: str, config: Config, path: Path) -> tuple[dict, dict]:
    r"""Train one, and return its losses by length and by position, by its name.

    Where there is a table to scale, so are those of each kind of scaling.
    """
    torch.set_num_threads(1)
    start = time.perf_counter()
    tokenizer, train, validation = prepare(read_text(path), config.seq_len)
    held_out = validation[: WINDOWS * max(LENGTHS) + 1]
    model = make_model(way, len(tokenizer), config, max(LENGTHS))
    trainer = Trainer(model, train, validation, config)
    while trainer.step < config.steps:
        trainer.train_step()
    print(f"{way}: {time.perf_counter() - start:.0f} s", file=sys.stderr, flush=True)

    lengths, positions = {}, {}
    turn = getattr(model.encoder.layers[0].self_attn, "turn", None)
    for kind, title in [(None, way), *(KINDS.items() if turn else [])]:
        lengths[title] = losses_at(model, held_out, LENGTHS, kind, config.seq_len)
        use_table(model, scaled(turn, kind, max(LENGTHS), config.seq_len) if kind else turn)
        losses = losses_by_position(model, held_out, max(LENGTHS)).view(-1, BIN).mean(dim=1)
        use_table(model, turn)
        positions[title] = [[(at + 1) * BIN, loss.item()] for at, loss in enumerate(losses)]
    return lengths, positions


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--text", type=Path, required=True, help="a text in UTF-8")
    parser.add_argument("--steps", type=int, default=500)
    parser.add_argument("--d-model", type=int, default=64)
    parser.add_argument("--layers", type=int, default=3)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--processes", type=int, default=1, help="how many are trained at a time")
    options = parser.parse_args()
    fingerprints = record.fingerprints(SOURCES)

    config = Config(
        steps=options.steps,
        d_model=options.d_model,
        d_ff=4 * options.d_model,
        n_layers=options.layers,
        seed=options.seed,
        device="cpu",
        precision="float32",
        attention="kernel",
        compile="off",
    )
    names = list(ways(config.d_model, config.heads, 0.0, max(LENGTHS)))
    curves: dict[str, dict[int, float]] = {}
    positions: dict[str, list[list[float]]] = {}
    with ProcessPoolExecutor(options.processes, get_context("spawn")) as pool:
        for lengths, along in pool.map(measure, names, repeat(config), repeat(options.text)):
            curves |= lengths
            positions |= along
    print(f"{'positions':>22}", *(f"{length:6}" for length in LENGTHS))
    for name, losses in curves.items():
        print(f"{name:>22}", *(f"{loss:6.3f}" for loss in losses.values()))

    rows = [
        {"positions": name, **{f"at{length}": loss for length, loss in losses.items()}}
        for name, losses in curves.items()
    ]
    columns = [{"name": "positions", "title": "Positions"}] + [
        {"name": f"at{length}", "title": str(length), "unit": "nats", "digits": 3}
        for length in LENGTHS
    ]
    loss = {"title": "Loss", "unit": "nats a character"}
    path = record.write(
        "extrapolation",
        title="Trained on windows of 64 characters, evaluated on longer ones",
        command="python benchmarks/extrapolation.py --text FILE",
        sources=fingerprints,
        values={
            "steps": config.steps,
            "d_model": config.d_model,
            "n_layers": config.n_layers,
            "trained_len": config.seq_len,
            "seed": config.seed,
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
