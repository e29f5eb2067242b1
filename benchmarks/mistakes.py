r"""
What does each mistake do to the loss?

Each of the mistakes of labml_nn/transformers/mistakes is trained from the same weights on the same
batches as the right model, each on one core. The result is results/mistakes.json, to which the
pages refer.

What is trained already is in the file of `--kept`, and isn't trained again.
"""

import argparse
import json
import math
import os
import sys
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict, replace
from multiprocessing import get_context
from pathlib import Path

# As `python benchmarks/mistakes.py` from a checkout, nothing needs to be installed.
ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

import torch  # noqa: E402

from benchmarks.pictures import ACCENT, INK, SECOND, new, svg  # noqa: E402
from benchmarks.record import cores, fingerprints, write  # noqa: E402
from labml_nn.training.device import choose_device, choose_precision  # noqa: E402
from labml_nn.transformers.mistakes.decoding import (  # noqa: E402
    CausalFromTheTop,
    NewestForgotten,
    RightDecoding,
)
from labml_nn.transformers.mistakes.experiment import (  # noqa: E402
    FAMILIES,
    MISTAKES,
    Sizes,
    train_mistake,
)
from labml_nn.transformers.mistakes.one_line import Mistake  # noqa: E402

QUICK = Sizes(32, 4, 2, 16, 6, n_steps=20, n_places=2)


class WithDropout(Mistake):
    r"""The right model, with dropout: what is left on does no harm where there is none."""

    dropout_prob = 0.1


# What another seed alone makes of the right model.
SEEDS = {f"RightAttention, seed {seed}": seed for seed in (2, 3)}
RIGHT = {"RightAttention": Mistake, "RightAttention with dropout": WithDropout}
ALL = RIGHT | {one.__name__: one for one in MISTAKES} | dict.fromkeys(SEEDS, Mistake)
Losses = dict[str, dict[str, float]]
PARTS = ("one_line", "right_attention", "right_model", "projections", "masks", "axes")


def sources() -> list[str]:
    r"""The files that a result depends on."""
    folder = "labml_nn/transformers/mistakes"
    pages = [*PARTS, "model_mistakes", "decoding", "experiment"]
    return [f"{folder}/{page}.py" for page in pages] + [
        "labml_nn/training/leaks.py",
        "benchmarks/mistakes.py",
    ]


def train(name: str, text: str, sizes: Sizes) -> dict[str, float]:
    r"""One of them, in a process of its own."""
    torch.set_num_threads(1)
    return train_mistake(ALL[name], text, sizes, SEEDS.get(name, 1))


def train_all(text: str, sizes: Sizes, kept: Path | None, workers: int) -> Losses:
    r"""All of them, each on one core; what is done is kept at once."""
    losses: Losses = json.loads(kept.read_text()) if kept and kept.exists() else {}
    missing = [name for name in ALL if name not in losses]
    with ProcessPoolExecutor(workers, get_context("spawn")) as pool:
        running = {pool.submit(train, name, text, sizes): name for name in missing}
        for done in as_completed(running):
            losses[running[done]] = done.result()
            if kept:
                beside = kept.with_name(f"{kept.name}.{os.getpid()}.part")
                beside.write_text(json.dumps(losses))
                beside.replace(kept)
            print(f"{len(losses)} trained: {running[done]}", flush=True)
    return losses


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


def drawn(losses: Losses, names: list[str], shown: str) -> str:
    r"""Printed losses as bars, honest ones as dots, and a line at the right model's."""
    figure, (axes,) = new(6.4, 0.9 + 0.28 * len(names))
    for at, name in enumerate(names):
        one = losses[name]
        axes.barh([at], [one["printed"]], height=0.55, color=ACCENT, alpha=0.6)
        axes.plot([one["honest"]], [at], color=SECOND, marker="o", linestyle="")
    axes.axvline(losses["RightAttention"]["printed"], color=INK, linewidth=1)
    axes.set_yticks(range(len(names)), names, fontsize=9)
    axes.invert_yaxis()
    axes.set_xlabel("Bars: printed loss; dots: honest loss (nats); line: the right model")
    return svg(figure, f"mistakes-{shown}")


def decoding() -> str:
    r"""How far each position is off, decoded two at a time."""
    figure, (axes,) = new(6.4, 2.6)
    torch.manual_seed(1)
    x = torch.randn(3, 12, 24)
    right = RightDecoding(24, 3)
    for kind, colour in ((CausalFromTheTop, ACCENT), (NewestForgotten, SECOND)):
        wrong = kind.make()(24, 3)
        wrong.load_state_dict(right.state_dict())
        with torch.no_grad():
            far = (wrong.decode(x) - right(x)).abs().amax(dim=(0, 2))
        axes.plot(range(12), far.tolist(), color=colour, marker="o", label=kind.__name__)
    axes.set_xlabel("Position")
    axes.set_ylabel("Largest difference")
    axes.legend(frameon=False)
    return svg(figure, "mistakes-decoding")


def figures(losses: Losses) -> dict[str, dict[str, str]]:
    r"""One picture of all, and one for each family."""
    trained = [one.__name__ for one in MISTAKES]
    made = {"losses": {"title": "All", "picture": drawn(losses, trained, "losses")}}
    for family, exhibits in FAMILIES.items():
        names = [one.__name__ for one in exhibits if one in MISTAKES]
        if family != "decoding":
            made[family] = {"title": family, "picture": drawn(losses, names, family)}
    return made | {"decoding": {"title": "Decoding", "picture": decoding()}}


COLUMNS = [
    {"name": "mistake", "title": "Mistake"},
    {"name": "printed", "title": "Printed loss", "unit": "nats", "digits": 3},
    {"name": "change", "title": "Beside the right one", "unit": "nats", "digits": 3},
    {"name": "honest", "title": "Honest loss", "unit": "nats", "digits": 3},
    {"name": "gap", "title": "Honest minus printed", "unit": "nats", "digits": 3},
]


def main() -> int:
    r"""Train, look, and write."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--text", type=Path, required=True, metavar="FILE", help="Tiny Shakespeare")
    parser.add_argument("--kept", type=Path, metavar="FILE", help="where losses are kept meanwhile")
    parser.add_argument("--workers", type=int, default=cores(), metavar="N", help="cores to use")
    parser.add_argument("--quick", action="store_true", help="tiny sizes: does it run at all?")
    arguments = parser.parse_args()

    text = arguments.text.read_text(encoding="utf-8")
    # A CPU that has `bfloat16` trains twice as fast with it.
    precise = choose_precision("auto", choose_device("cpu"))
    sizes = replace(QUICK if arguments.quick else Sizes(), bfloat16=precise == torch.bfloat16)
    before = fingerprints(sources())
    losses = train_all(text, sizes, arguments.kept, arguments.workers)
    table = rows(losses)
    for row in table:
        numbers = [row[name] for name in ("printed", "honest", "gap")]
        shown = "".join(f"{n:>9}" if isinstance(n, str) else f"{n:9.3f}" for n in numbers)
        print(f"{row['mistake']:30}{shown}")
    better = looks_better(losses)
    print(f"{len(better)} of {len(MISTAKES)} look better than the right model: {', '.join(better)}")
    if arguments.quick:
        return 0

    right = [losses[name]["printed"] for name in ("RightAttention", *SEEDS)]
    write(
        "mistakes",
        title="What mistakes do to the loss",
        command="python benchmarks/mistakes.py --text tiny_shakespeare.txt",
        sources=before,
        values={
            "sizes": asdict(sizes),
            "mistakes": len(MISTAKES),
            "look_better": len(better),
            "seeds": {"lowest": min(right), "highest": max(right)},
        },
        tables={"mistakes": {"columns": COLUMNS, "rows": table}},
        figures=figures(losses),
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
