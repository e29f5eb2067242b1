r"""
What do mistakes in positions, caches, training steps and measurements do to the loss?

Each of them is trained three times at a small size, from the same weights and on the same batches
as what is right. The result is results/rooms.json, to which the pages refer.
"""

from dataclasses import asdict
from statistics import mean
from typing import Any

import torch
from torch import Tensor, nn

from benchmarks.library.experiment import Experiment, Report, Runner
from benchmarks.library.ranges import Runs, numbers
from benchmarks.library.tables import table
from benchmarks.mistakes import COLUMNS
from benchmarks.pictures import ACCENT, INK, SECOND, new, svg
from labml_nn.training.data import prepare, tiny_shakespeare
from labml_nn.training.leaks import honest_loss
from labml_nn.transformers.mistakes.caches import (
    CACHE_EXHIBITS,
    KeysInTurns,
    RightCache,
    RightGrouped,
)
from labml_nn.transformers.mistakes.experiment import (
    SequenceFirst,
    Sizes,
    printed_loss,
)
from labml_nn.transformers.mistakes.measuring import (
    LearnsFirst,
    MoreThanOne,
    RightScore,
    SeenTwice,
)
from labml_nn.transformers.mistakes.position_mistakes import PairsMixed, RightRotary
from labml_nn.transformers.mistakes.right_attention import RightAttention
from labml_nn.transformers.mistakes.right_model import RightModel, RightTraining
from labml_nn.transformers.mistakes.step_mistakes import STEP_EXHIBITS, RightParts

SIZES = asdict(Sizes(64, 4, 2, 32, 16, n_steps=400, n_places=12))
SMALL = asdict(Sizes(16, 4, 1, 8, 4, n_steps=3, n_places=2))
SEEDS = (1, 2, 3)

# Attention, training and measurement of each, and what it is compared with.
Parts = tuple[type[nn.Module], type[RightTraining], type[RightScore], str]
ALL: dict[str, Parts] = {
    "RightRotary": (RightRotary, RightTraining, RightScore, "RightRotary"),
    "PairsMixed": (PairsMixed.make(), RightTraining, RightScore, "RightRotary"),
    "RightGrouped": (RightGrouped, RightTraining, RightScore, "RightGrouped"),
    "KeysInTurns": (KeysInTurns.make(), RightTraining, RightScore, "RightGrouped"),
    "RightParts": (RightAttention, RightParts, RightScore, "RightParts"),
    **{
        one.__name__: (RightAttention, one.make(), RightScore, "RightParts")
        for one in STEP_EXHIBITS
    },
    "RightScore": (RightAttention, RightTraining, RightScore, "RightScore"),
    **{
        one.__name__: (RightAttention, RightTraining, one.make(), "RightScore")
        for one in (SeenTwice, LearnsFirst, MoreThanOne)
    },
}
FAMILIES = {
    "positions": ["PairsMixed"],
    "grouped": ["KeysInTurns"],
    "steps": [one.__name__ for one in STEP_EXHIBITS],
    "measuring": ["SeenTwice", "LearnsFirst", "MoreThanOne"],
}


def trained(
    name: str, train: Tensor, n_vocab: int, sizes: Sizes, seed: int
) -> tuple[RightTraining, nn.Module]:
    r"""A model after its training."""
    attention, training_class, _, _ = ALL[name]
    torch.manual_seed(seed)
    model = RightModel(
        n_vocab,
        sizes.d_model,
        sizes.n_layers,
        sizes.seq_len,
        lambda: attention(sizes.heads, sizes.d_model),
    )
    training = training_class(model, sizes.n_steps)
    windows = train.unfold(0, sizes.seq_len + 1, 1)
    generator = torch.Generator().manual_seed(seed)
    for _ in range(sizes.n_steps):
        chosen = torch.randint(len(windows), (sizes.batch_size,), generator=generator)
        training.step(*training.cut(windows[chosen]))
    return training, model


def losses_of(name: str, seed: int) -> dict[str, float]:
    r"""Train one of them, and measure both losses."""
    sizes = Sizes(**SIZES)
    torch.manual_seed(seed)
    tokenizer, train, validation = prepare(tiny_shakespeare(), sizes.seq_len)
    _, _, score_class, right = ALL[name]
    # The first half of the text may be seen by a mistake, the second never is.
    half = len(validation) // 2
    held_out, unseen = validation[:half], validation[half:]
    rows = held_out.unfold(0, sizes.seq_len + 1, sizes.seq_len)
    if right != "RightScore":
        training, model = trained(name, train, len(tokenizer), sizes, seed)
        first = SequenceFirst(model)
        honest = honest_loss(first, validation, sizes.seq_len, sizes.n_places, sizes.seq_len)
        return {"printed": printed_loss(training, rows, 64), "honest": honest.honest}
    seen = score_class(nn.Linear(1, 1)).training_text(train, held_out)
    _, model = trained(name, seen, len(tokenizer), sizes, seed)
    few = slice(None, 24 * sizes.n_places)
    # Honest is the right measurement of a text that nobody has seen.
    others = unseen.unfold(0, sizes.seq_len + 1, sizes.seq_len)
    return {
        "printed": score_class(model).score(rows[few]).mean().item(),
        "honest": RightScore(model).score(others[few]).mean().item(),
    }


def measure(runner: Runner) -> Runs:
    r"""Each of them, from each seed."""
    return runner.runs(losses_of, ALL, SEEDS)


def rows_of(runs: Runs) -> list[dict[str, float | str]]:
    r"""A row for each, with means over the seeds and the ends of what they gave."""
    rows = []
    for name, ones in runs.items():
        printed = numbers(ones, "printed")
        honest = numbers(ones, "honest")
        right = mean(one["printed"] for one in runs[ALL[name][3]])
        rows.append(
            {
                "mistake": name,
                "printed": mean(printed),
                "lowest": min(printed),
                "highest": max(printed),
                "change": mean(printed) - right,
                "honest": mean(honest),
            }
        )
    return rows


def drawn(rows: dict[str, Any], names: list[str], shown: str) -> str:
    r"""Printed losses as bars, honest ones as dots, and a line at what is right."""
    figure, (axes,) = new(6.4, 0.9 + 0.28 * (len(names) + 1))
    right = ALL[names[0]][3]
    for at, name in enumerate([right, *names]):
        axes.barh([at], [rows[name]["printed"]], height=0.55, color=ACCENT, alpha=0.6)
        axes.plot([rows[name]["honest"]], [at], color=SECOND, marker="o", linestyle="")
    axes.axvline(rows[right]["printed"], color=INK, linewidth=1)
    axes.set_yticks(range(len(names) + 1), [right, *names], fontsize=9)
    axes.invert_yaxis()
    axes.set_xlabel("Bars: printed loss; dots: honest loss (nats); line: what is right")
    return svg(figure, f"rooms-{shown}")


def reading() -> str:
    r"""How far each position is off, after a prompt of five."""
    figure, (axes,) = new(6.4, 2.8)
    torch.manual_seed(1)
    x = torch.randn(3, 12, 24)
    parts = [x[:, :5], *x[:, 5:].split(1, dim=1)]
    right = RightCache(3, 24)
    for exhibit, colour in zip(CACHE_EXHIBITS[:3], (ACCENT, SECOND, INK), strict=True):
        wrong: Any = exhibit.make()(3, 24)
        wrong.load_state_dict(right.state_dict())
        with torch.no_grad():
            far = (wrong.read(parts) - right(x)).abs().amax(dim=(0, 2))
        axes.plot(range(12), far.tolist(), color=colour, marker="o", label=exhibit.__name__)
    axes.set_xlabel("Position; the prompt is 0 to 4")
    axes.set_ylabel("Largest difference")
    axes.legend(frameon=False)
    return svg(figure, "rooms-caches")


def report(runs: Runs) -> Report:
    r"""The table of all of them, their bars, and what caches get wrong."""
    found = rows_of(runs)
    rows = {str(row["mistake"]): row for row in found}
    figures = {
        shown: {"title": shown.capitalize(), "picture": drawn(rows, names, shown)}
        for shown, names in FAMILIES.items()
    }
    mistake, printed, change, honest, _ = COLUMNS
    ends = [printed | {"name": name, "title": name.capitalize()} for name in ("lowest", "highest")]
    return {
        "values": {
            "seeds": len(SEEDS),
            "n_steps": SIZES["n_steps"],
            "seen": rows["SeenTwice"]["printed"],
        },
        "tables": {"rooms": table([mistake, printed, *ends, change, honest], found)},
        "figures": figures | {"caches": {"title": "Caches", "picture": reading()}},
    }


EXPERIMENT = Experiment(
    title="What mistakes in positions, steps and measurements do to the loss",
    measure=measure,
    report=report,
    small={"SIZES": SMALL, "SEEDS": (1, 2)},
)
