r"""
What does each mistake do to the loss?

Each of the mistakes of labml_nn/transformers/mistakes is trained from the same weights on the same
batches as the right model, each on one core. The result is results/mistakes.json, to which the
pages refer.
"""

import math
from dataclasses import asdict

import torch

from benchmarks.library.experiment import Experiment, Report, Runner
from benchmarks.library.tables import column, table
from benchmarks.mistakes_drawings import charts
from benchmarks.pictures import ACCENT, SECOND, new, svg
from labml_nn.training.data import tiny_shakespeare
from labml_nn.training.device import choose_device, choose_precision
from labml_nn.transformers.mistakes.decoding import (
    CausalFromTheTop,
    NewestForgotten,
    RightDecoding,
)
from labml_nn.transformers.mistakes.experiment import (
    FAMILIES,
    MISTAKES,
    Sizes,
    train_mistake,
)
from labml_nn.transformers.mistakes.one_line import Mistake

SIZES = asdict(Sizes())
SMALL = asdict(Sizes(32, 4, 2, 16, 6, n_steps=3, n_places=2))


class WithDropout(Mistake):
    r"""The right model, with dropout: what is left on does no harm where there is none."""

    dropout_prob = 0.1


# What another seed alone makes of the right model.
SEEDS = {f"RightAttention, seed {seed}": seed for seed in (2, 3)}
RIGHT = {"RightAttention": Mistake, "RightAttention with dropout": WithDropout}
ALL = RIGHT | {one.__name__: one for one in MISTAKES} | dict.fromkeys(SEEDS, Mistake)
Losses = dict[str, dict[str, float]]


def trained(name: str, seed: int, bfloat16: bool) -> dict[str, float]:
    r"""The losses of one of them."""
    sizes = Sizes(**SIZES | {"bfloat16": bfloat16})
    return train_mistake(ALL[name], tiny_shakespeare(), sizes, seed)


def has_bfloat16() -> bool:
    r"""Whether the CPU has products of `bfloat16`: it trains twice as fast with them."""
    return choose_precision("auto", choose_device("cpu")) == torch.bfloat16


def measure(runner: Runner) -> Losses:
    r"""All of them, by their names."""
    fast = has_bfloat16()
    found = runner.all([(trained, name, SEEDS.get(name, 1), fast) for name in ALL])
    return dict(zip(ALL, found, strict=True))


def cell(value: float) -> float | str:
    r"""A number as a table can hold it."""
    return value if math.isfinite(value) else "NaN"


def like(name: str) -> str:
    r"""The right model that was trained with the same dropout."""
    dropout = ALL[name].dropout_prob
    return next(right for right, one in RIGHT.items() if one.dropout_prob == dropout)


def rows(losses: Losses) -> list[dict[str, float | str]]:
    r"""A row for what is right, and for each mistake."""
    return [
        {
            "mistake": name,
            "printed": cell(losses[name]["printed"]),
            "change": cell(losses[name]["printed"] - losses[like(name)]["printed"]),
            "honest": cell(losses[name]["honest"]),
            "gap": cell(losses[name]["gap"]),
        }
        for name in ALL
        if name not in SEEDS
    ]


def looks_better(losses: Losses, by: float = 0.1) -> list[str]:
    r"""Whose printed loss is lower than the right one's, by more than another seed could do."""
    return [name for name in ALL if losses[name]["printed"] < losses[like(name)]["printed"] - by]


def decoding() -> str:
    r"""How far each position is off, decoded two at a time."""
    figure, (axes,) = new(6.4, 2.6)
    torch.manual_seed(1)
    x = torch.randn(3, 12, 24)
    right = RightDecoding(3, 24)
    for kind, colour in ((CausalFromTheTop, ACCENT), (NewestForgotten, SECOND)):
        wrong = kind.make()(3, 24)
        wrong.load_state_dict(right.state_dict())
        with torch.no_grad():
            far = (wrong.decode(x) - right(x)).abs().amax(dim=(0, 2))
        axes.plot(range(12), far.tolist(), color=colour, marker="o", label=kind.__name__)
    axes.set_xlabel("Position")
    axes.set_ylabel("Largest difference")
    axes.legend(frameon=False)
    return svg(figure, "mistakes-decoding")


def families() -> dict[str, list[str]]:
    r"""The mistakes of each family that has bars, by their names."""
    return {
        family: [one.__name__ for one in exhibits]
        for family, exhibits in FAMILIES.items()
        if family != "decoding"
    }


def figures(rows: list[dict[str, float | str]]) -> dict[str, dict[str, str]]:
    r"""One picture of all, and one for each family."""
    decoded = {"title": "Decoding", "picture": decoding()}
    return charts(rows, families()) | {"decoding": decoded}


COLUMNS = [
    column("mistake", "Mistake"),
    column("printed", "Printed loss", 3, "nats"),
    column("change", "Beside the right one", 3, "nats"),
    column("honest", "Honest loss", 3, "nats"),
    column("gap", "Honest minus printed", 3, "nats"),
]


def report(losses: Losses) -> Report:
    r"""The table of all of them, and their bars."""
    right = [losses[name]["printed"] for name in ("RightAttention", *SEEDS)]
    return {
        "values": {
            "sizes": SIZES | {"bfloat16": has_bfloat16()},
            "mistakes": len(MISTAKES),
            "look_better": len(looks_better(losses)),
            "seeds": {"lowest": min(right), "highest": max(right)},
        },
        "tables": {"mistakes": table(COLUMNS, rows(losses))},
        "figures": figures(rows(losses)),
    }


EXPERIMENT = Experiment(
    title="What mistakes do to the loss",
    measure=measure,
    report=report,
    small={"SIZES": SMALL},
)
