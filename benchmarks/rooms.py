r"""
What do mistakes in positions, caches, training steps and measurements do to the loss?

Each of them is trained three times at a small size, from the same weights and on the same batches
as what is right. The result is results/rooms.json, to which the pages refer. What is trained
already is in the file of `--kept`, as long as the sources are the same.
"""

import argparse
import json
import sys
from hashlib import sha256
from pathlib import Path
from statistics import mean
from typing import Any

# As `python benchmarks/rooms.py` from a checkout, nothing needs to be installed.
ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

import torch  # noqa: E402
from torch import Tensor, nn  # noqa: E402

from benchmarks.mistakes import COLUMNS  # noqa: E402
from benchmarks.pictures import ACCENT, INK, SECOND, new, svg  # noqa: E402
from benchmarks.record import fingerprints, write  # noqa: E402
from labml_nn.training.data import prepare  # noqa: E402
from labml_nn.training.leaks import honest_loss  # noqa: E402
from labml_nn.transformers.mistakes.caches import (  # noqa: E402
    CACHE_EXHIBITS,
    KeysInTurns,
    RightCache,
    RightGrouped,
)
from labml_nn.transformers.mistakes.experiment import (  # noqa: E402
    SequenceFirst,
    Sizes,
    printed_loss,
)
from labml_nn.transformers.mistakes.measuring import (  # noqa: E402
    LearnsFirst,
    MoreThanOne,
    RightScore,
    SeenTwice,
)
from labml_nn.transformers.mistakes.position_mistakes import PairsMixed, RightRotary  # noqa: E402
from labml_nn.transformers.mistakes.right_attention import RightAttention  # noqa: E402
from labml_nn.transformers.mistakes.right_model import RightModel, RightTraining  # noqa: E402
from labml_nn.transformers.mistakes.step_mistakes import STEP_EXHIBITS, RightParts  # noqa: E402

SIZES = Sizes(64, 4, 2, 32, 16, n_steps=400, n_places=12)
QUICK = Sizes(16, 4, 1, 8, 4, n_steps=3, n_places=2)
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
Losses = dict[str, dict[str, float]]


def sources() -> list[str]:
    r"""The files that a result depends on."""
    pages = ["one_line", "right_attention", "right_model", "experiment", "position_mistakes"]
    pages += ["caches", "step_mistakes", "measuring"]
    return [f"labml_nn/transformers/mistakes/{page}.py" for page in pages] + [
        "labml_nn/training/leaks.py",
        "benchmarks/rooms.py",
    ]


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
        lambda: attention(sizes.d_model, sizes.heads),
    )
    training = training_class(model, sizes.n_steps)
    windows = train.unfold(0, sizes.seq_len + 1, 1)
    generator = torch.Generator().manual_seed(seed)
    for _ in range(sizes.n_steps):
        chosen = torch.randint(len(windows), (sizes.batch_size,), generator=generator)
        training.step(*training.cut(windows[chosen]))
    return training, model


def measure(name: str, text: str, sizes: Sizes, seed: int) -> dict[str, float]:
    r"""Train one of them, and measure both losses."""
    torch.manual_seed(seed)
    tokenizer, train, validation = prepare(text, sizes.seq_len)
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


def train_all(text: str, sizes: Sizes, kept: Path | None) -> dict[str, list[dict[str, float]]]:
    r"""All of them, from each seed; what is done is kept at once."""
    made_of = json.dumps([fingerprints(sources()), torch.__version__, repr(sizes)], sort_keys=True)
    key = sha256((made_of + text).encode()).hexdigest()[:16]
    lines = kept.read_text().splitlines() if kept and kept.exists() else []
    done = {
        tuple(one["what"]): one["losses"] for one in map(json.loads, lines) if one["key"] == key
    }
    for number, (name, seed) in enumerate([(name, seed) for name in ALL for seed in SEEDS], 1):
        if (name, seed) in done:
            continue
        done[name, seed] = measure(name, text, sizes, seed)
        if kept:
            with kept.open("a") as file:
                one = {"key": key, "what": [name, seed], "losses": done[name, seed]}
                file.write(json.dumps(one) + "\n")
        print(
            f"{number} of {len(ALL) * len(SEEDS)}: {name}, seed {seed}: {done[name, seed]}",
            flush=True,
        )
    return {name: [done[name, seed] for seed in SEEDS] for name in ALL}


def rows_of(losses: dict[str, list[dict[str, float]]]) -> list[dict[str, float | str]]:
    r"""A row for each, with means over the seeds and the ends of what they gave."""
    rows = []
    for name, ones in losses.items():
        printed, honest = ([one[kind] for one in ones] for kind in ("printed", "honest"))
        right = mean(one["printed"] for one in losses[ALL[name][3]])
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
    right = RightCache(24, 3)
    for exhibit, colour in zip(CACHE_EXHIBITS[:3], (ACCENT, SECOND, INK), strict=True):
        wrong: Any = exhibit.make()(24, 3)
        wrong.load_state_dict(right.state_dict())
        with torch.no_grad():
            far = (wrong.read(parts) - right(x)).abs().amax(dim=(0, 2))
        axes.plot(range(12), far.tolist(), color=colour, marker="o", label=exhibit.__name__)
    axes.set_xlabel("Position; the prompt is 0 to 4")
    axes.set_ylabel("Largest difference")
    axes.legend(frameon=False)
    return svg(figure, "rooms-caches")


def main() -> int:
    r"""Train, look, and write."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--text", type=Path, required=True, metavar="FILE", help="Tiny Shakespeare")
    parser.add_argument("--kept", type=Path, metavar="FILE", help="where losses are kept meanwhile")
    parser.add_argument("--quick", action="store_true", help="tiny sizes: does it run at all?")
    arguments = parser.parse_args()
    # The parts are small: one core is as fast as several.
    torch.set_num_threads(1)
    before = fingerprints(sources())
    text = arguments.text.read_text(encoding="utf-8")
    losses = train_all(text, QUICK if arguments.quick else SIZES, arguments.kept)
    table = rows_of(losses)
    rows = {str(row["mistake"]): row for row in table}
    for row in table:
        print("  ".join(f"{n:.3f}" if isinstance(n, float) else f"{n:20}" for n in row.values()))
    if arguments.quick:
        return 0
    figures = {
        shown: {"title": shown.capitalize(), "picture": drawn(rows, names, shown)}
        for shown, names in FAMILIES.items()
    }
    figures["caches"] = {"title": "Caches", "picture": reading()}
    mistake, printed, change, honest, _ = COLUMNS
    ends = [printed | {"name": name, "title": name.capitalize()} for name in ("lowest", "highest")]
    write(
        "rooms",
        title="What mistakes in positions, steps and measurements do to the loss",
        command="python benchmarks/rooms.py --text tiny_shakespeare.txt",
        sources=before,
        values={
            "seeds": len(SEEDS),
            "n_steps": SIZES.n_steps,
            "seen": rows["SeenTwice"]["printed"],
        },
        tables={"rooms": {"columns": [mistake, printed, *ends, change, honest], "rows": table}},
        figures=figures,
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
