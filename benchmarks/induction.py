r"""
Which heads copy what followed before, when do they appear in training, and are they needed?

Small models of attention alone are trained for 600 steps on random parts that repeat, from three
seeds. The heads of the model with two layers are measured, knocked out and patched. The result is
results/induction.json, to which the pages of labml_nn/inside refer.
"""

import math
import time
from collections.abc import Callable, Sequence
from itertools import accumulate
from statistics import mean
from typing import Any

import torch
from torch import Tensor, nn

from benchmarks.library.charts import axis, line, line_chart, picture
from benchmarks.library.experiment import Experiment, Report, Runner
from benchmarks.library.ranges import Found, Runs, mean_of, numbers, spread
from benchmarks.library.tables import column, table
from benchmarks.pictures import heat_map, new, svg
from labml_nn.inside.induction import (
    AttentionOnly,
    RepeatedParts,
    following,
    induction_score,
)
from labml_nn.inside.induction_experiment import fit, measure, repeated_loss
from labml_nn.inside.patching import (
    Head,
    knock_out,
    preference,
    record,
    restored,
    swap,
)
from labml_nn.transformers.mha import MultiHeadAttention

SEEDS, STEPS, EVERY = (1, 2, 3), 600, 10
# The last token of the texts to patch is that of position 4; an answer is one position later.
PART, KEY, OTHER_KEY = 16, 4, 10


class Normalised(MultiHeadAttention):
    r"""Attention that reads a normalised copy of the stream."""

    def __init__(self, heads: int, d_model: int) -> None:
        super().__init__(heads, d_model, 0.0, bias=False)
        self.norm = nn.LayerNorm(d_model)

    def forward(
        self, *, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None
    ) -> Tensor:
        x = self.norm(query)
        return super().forward(query=x, key=x, value=x, mask=mask)


def normalised() -> AttentionOnly:
    r"""With the normalisations of the usual model, also before the logits."""
    model = AttentionOnly()
    model.layers = nn.ModuleList(Normalised(4, 64) for _ in range(2))
    model.generator = nn.Sequential(nn.LayerNorm(64), model.generator)
    return model


def without_positions() -> AttentionOnly:
    r"""Order is known from the mask alone."""
    model = AttentionOnly()
    model.embed.positions = nn.Identity()
    return model


def wide() -> RepeatedParts:
    r"""Parts of 10 to 23 tokens, not seen in training."""
    return RepeatedParts(batch_size=200, seed=0)


def pieces() -> tuple[Tensor, Tensor]:
    r"""A part of sixteen tokens, and then nine of them, from another place than the first."""
    part = RepeatedParts(32, 16, 200, 16, 16, seed=0).at(0)[0]
    start = 3 + torch.arange(200) % 5
    tokens = torch.cat([part, part.gather(0, start + torch.arange(9)[:, None])])
    return tokens[:-1], tokens[1:]


# For each model how it is made, the lengths of its parts, and its steps.
MODELS: dict[str, tuple[Callable[[], AttentionOnly], tuple[int, int], int]] = {
    "Two layers": (AttentionOnly, (10, 23), STEPS),
    "One layer": (lambda: AttentionOnly(n_layers=1), (10, 23), STEPS),
    "One layer, 1,800 steps": (lambda: AttentionOnly(n_layers=1), (10, 23), 3 * STEPS),
    "One layer, eight heads": (lambda: AttentionOnly(heads=8, n_layers=1), (10, 23), STEPS),
    "Two layers of one head": (lambda: AttentionOnly(heads=1), (10, 23), STEPS),
    "Two layers, normalised": (normalised, (10, 23), STEPS),
    "Two layers, no positions": (without_positions, (10, 23), STEPS),
    "One layer, parts of 16": (lambda: AttentionOnly(n_layers=1), (16, 16), STEPS),
    "Two layers, parts of 16": (AttentionOnly, (16, 16), STEPS),
}


@torch.no_grad()
def dissect(model: AttentionOnly) -> dict[str, Any]:
    r"""What knocking out and patching does, for each head and for each layer."""
    inputs, targets = wide().at(0)
    n_heads = model.layers[0].heads
    heads: list[list[Head]] = [[(layer, head)] for layer in (0, 1) for head in range(n_heads)]
    layers: list[list[Head]] = [[(layer, head) for head in range(n_heads)] for layer in (0, 1)]
    clean = RepeatedParts(32, PART + KEY + 1, 200, PART, PART, seed=0).at(0)[0]
    right, wrong = clean[KEY + 1], clean[OTHER_KEY + 1]
    texts = {"keys": swap(clean, KEY, OTHER_KEY), "answers": swap(clean, KEY + 1, OTHER_KEY + 1)}

    def one(removed: list[Head]) -> dict[str, float]:
        r"""The effects of some heads."""
        return {
            "zero": repeated_loss(knock_out(model, inputs, removed), inputs, targets)[0],
            "mean": repeated_loss(knock_out(model, inputs, removed, True), inputs, targets)[0],
            **{
                name: restored(model, clean, text, removed, right, wrong).item()
                for name, text in texts.items()
            },
        }

    return {
        "heads": [one(removed) for removed in heads],
        "layers": [one(removed) for removed in layers],
        # One head after the other, in the order of their numbers.
        "removed": [
            repeated_loss(knock_out(model, inputs, some), inputs, targets)[0]
            for some in accumulate([[head] for head in layers[1]])
        ],
        "clean": preference(model(clean), right, wrong).item(),
        "swapped": {
            name: preference(model(text), right, wrong).item() for name, text in texts.items()
        },
        "sizes": [output.square().mean().sqrt().item() for output in record(model, clean)],
    }


def trained(name: str, seed: int) -> dict[str, Any]:
    r"""Train one model and measure it."""
    make, (shortest, longest), steps = MODELS[name]
    held_out = RepeatedParts(32, 32, 200, shortest, longest, seed=0).at(0)
    torch.manual_seed(seed)
    model = make()
    curve: list[list[float]] = []
    paused = 0.0

    def after_step(step: int, loss: Tensor) -> None:
        nonlocal paused
        if step == 1 or step % EVERY == 0:
            began = time.process_time()
            now, _, scores = measure(model, *held_out)
            curve.append([step, now, scores[1].max().item(), scores[0].max().item()])
            paused += time.process_time() - began

    sequences = RepeatedParts(32, 32, 32, shortest, longest, seed)
    started = time.process_time()
    fit(model, sequences, steps, after_step)
    seconds = time.process_time() - started - paused
    loss, right, scores = measure(model, *held_out)
    inputs, targets = pieces()
    with torch.no_grad():
        other_loss, other_right = repeated_loss(model(inputs), inputs, targets)
    found: dict[str, Any] = {
        "loss": loss,
        "right": 100 * right,
        "scores": scores.tolist(),
        "curve": curve,
        "seconds": seconds,
        "parameters": sum(p.numel() for p in model.parameters()),
        "pieces": 100 * other_right,
        "pieces_loss": other_loss,
    }
    if name == "Two layers":
        found["dissected"] = dissect(model)
        # A part of twelve tokens, twice.
        inputs = held_out[0]
        (chosen,) = (inputs[12] == inputs[0]).nonzero()[:1].T
        model(inputs[:24, chosen])
        kinds = [(0, scores[0]), (1, scores[1])]
        found["attention"] = [
            model.layers[layer].attn[:, :, 0, int(kind[layer].argmax())].tolist()
            for layer, kind in kinds
        ]
        found["tokens"] = inputs[:24, chosen].flatten().tolist()
    return found


def measure_all(runner: Runner) -> Runs:
    r"""Each model, from each seed."""
    return runner.runs(trained, MODELS, SEEDS)


def attention(one: Found) -> str:
    r"""What the best head of each kind looks at in one run: a row for each query."""
    figure, all_axes = new(6.4, 3.6, columns=2)
    letters = ["ABCDEFGHIJKLMNOPQRSTUVWXYZ123456"[token] for token in one["tokens"]]
    names = ("previous token, layer 1", "induction, layer 2")
    for axes, weights, name in zip(all_axes, one["attention"], names, strict=True):
        heat_map(axes, weights, letters, letters)
        axes.tick_params(labelsize=6)
        axes.set_title(name, fontsize=10)
    return svg(figure, "induction-attention")


def row(name: str, runs: Sequence[Found]) -> dict[str, Any]:
    r"""What the table says about a model."""
    kinds = [[max(map(max, one["scores"][kind])) for one in runs] for kind in (0, 1)]
    return {
        "model": name,
        "parameters": runs[0]["parameters"],
        **spread("loss", numbers(runs, "loss")),
        "right": mean_of(runs, "right"),
        "pieces": mean_of(runs, "pieces"),
        "previous": mean(kinds[0]),
        "induction": mean(kinds[1]),
    }


def first_step(one: Found, at_place: int, limit: float, rising: bool) -> int:
    r"""The first measured step at which a curve is beyond a limit."""
    return next(at[0] for at in one["curve"] if (at[at_place] > limit) == rising)


def even() -> float:
    r"""The induction score of a head that looks at all positions evenly."""
    inputs, _ = wide().at(0)
    n = len(inputs)
    attn = torch.ones(n, n).tril() / torch.arange(1, n + 1)[:, None]
    return induction_score(attn[:, :, None, None].expand(n, n, 200, 1), inputs).item()


def idle(runs: Sequence[Found]) -> dict[str, float]:
    r"""Of the heads of layer 2 with a score above one half, the one that is missed least."""
    heads = [
        (effects["zero"] - one["loss"], at, score)
        for at, one in enumerate(runs)
        for score, effects in zip(one["scores"][1][1], one["dissected"]["heads"][4:], strict=True)
        if score > 0.5
    ]
    worth, at, score = min(heads)
    others = [(other, more) for more, seed, other in heads if seed == at and more > worth]
    loss = runs[at]["loss"]
    return {
        "seed": SEEDS[at],
        "score": score,
        "none": loss,
        "without": loss + worth,
        "others_score": min(others)[0],
        "others_without": loss + min(more for _, more in others),
    }


def head_rows(runs: Sequence[Found]) -> list[dict[str, Any]]:
    r"""The heads of the first seed, and whole layers as means of all seeds."""
    one = runs[0]
    rows = []
    for at, effects in enumerate(one["dissected"]["heads"]):
        layer, head = divmod(at, 4)
        previous, induction = (one["scores"][kind][layer][head] for kind in (0, 1))
        rows.append(
            {
                "head": f"layer {layer + 1}, head {head + 1}",
                "previous": previous,
                "induction": induction,
                **effects,
            }
        )
    for layer in (0, 1):
        effects = one["dissected"]["layers"][layer]
        rows.append(
            {
                "head": f"all of layer {layer + 1}",
                "previous": "–",
                "induction": "–",
                **effects,
            }
        )
    return rows


def values_of(runs: Runs) -> dict[str, Any]:
    r"""When the models with two layers learn, and what their layers are worth."""
    two = runs["Two layers"]
    cut = [one["dissected"] for one in two]
    guessing = math.log(32)
    again = following(wide().at(0)[0]).any(dim=1).float().mean().item()
    return {
        "steps": STEPS,
        "guessing": guessing,
        "even": even(),
        "again": 100 * again,
        # The best induction score after the first step.
        "start": mean(one["curve"][0][2] for one in two),
        "seconds": mean(one["seconds"] for one in two),
        # The first measured step at which the loss is below half of that of guessing, and at
        # which a score of some head is above one half or above 0.3.
        "half": {
            "loss": {
                str(seed): first_step(one, 1, guessing / 2, False)
                for seed, one in zip(SEEDS, two, strict=True)
            },
            "score": {
                str(seed): first_step(one, 2, 0.5, True)
                for seed, one in zip(SEEDS, two, strict=True)
            },
            "previous": {
                str(seed): first_step(one, 3, 0.3, True)
                for seed, one in zip(SEEDS, two, strict=True)
            },
        },
        "idle": idle(two),
        "knocked": {
            "none": mean(one["loss"] for one in two),
            "first": mean(each["layers"][0]["zero"] for each in cut),
            "second": mean(each["layers"][1]["zero"] for each in cut),
            "first_mean": mean(each["layers"][0]["mean"] for each in cut),
            "second_mean": mean(each["layers"][1]["mean"] for each in cut),
        },
        "patched": {
            f"{name}_{text}": mean(each["layers"][layer][text] for each in cut)
            for layer, name in enumerate(("first", "second"))
            for text in ("keys", "answers")
        },
        "preference": {
            "clean": mean(each["clean"] for each in cut),
            "keys": mean(each["swapped"]["keys"] for each in cut),
            "answers": mean(each["swapped"]["answers"] for each in cut),
        },
    }


def tables_of(runs: Runs) -> dict[str, Any]:
    r"""The models, the heads of those with two layers, and what is lost without some of these."""
    two = runs["Two layers"]
    cut = [one["dissected"] for one in two]
    return {
        "models": table(
            [
                column("model", "Model"),
                column("parameters", "Parameters"),
                column("loss", "Loss where it repeats", 3, "nats"),
                column("low", "lowest", 3),
                column("high", "highest", 3),
                column("right", "Right", 1, "%"),
                column("pieces", "Right in pieces", 1, "%"),
                column("previous", "Best previous-token score", 2),
                column("induction", "Best induction score", 2),
            ],
            [row(name, of) for name, of in runs.items()],
        ),
        "heads": table(
            [
                column("head", "Head"),
                column("previous", "Previous token", 2),
                column("induction", "Induction", 2),
                column("zero", "Loss, set to zero", 3),
                column("mean", "Loss, set to its mean", 3),
                column("keys", "Restored, keys swapped", 2),
                column("answers", "Restored, answers swapped", 2),
            ],
            head_rows(two),
        ),
        "removed": table(
            [
                column("number", "Heads of layer 2 set to zero"),
                column("loss", "Loss where it repeats", 3, "nats"),
                column("low", "lowest", 3),
                column("high", "highest", 3),
            ],
            [
                {"number": number, **spread("loss", of)}
                for number, of in enumerate(
                    [
                        [one["loss"] for one in two],
                        *zip(*(each["removed"] for each in cut), strict=True),
                    ]
                )
            ],
        ),
    }


def figures_of(runs: Runs) -> dict[str, Any]:
    r"""How the loss and the scores of the heads change in training, and what two heads look at."""
    two = runs["Two layers"]
    return {
        "loss": line_chart(
            "The loss where the sequence repeats",
            x=axis("Step"),
            y=axis("Loss", unit="nats", low=0),
            lines=[
                line(f"{name.lower()}, seed {seed}", [at[:2] for at in one["curve"]])
                for name in ("Two layers", "One layer")
                for seed, one in zip(SEEDS, runs[name], strict=True)
            ],
        ),
        "score": line_chart(
            "The best induction score and the best previous-token score",
            x=axis("Step"),
            y=axis("Score", low=0, high=1),
            lines=[
                line(f"{name}, seed {seed}", [[at[0], at[place]] for at in one["curve"]])
                for name, place in (("induction", 2), ("previous token", 3))
                for seed, one in zip(SEEDS, two, strict=True)
            ],
        ),
        "attention": picture("What the best head of each kind looks at", attention(two[0])),
    }


def report(runs: Runs) -> Report:
    r"""What the models have learned, and what their heads are worth."""
    return {"values": values_of(runs), "tables": tables_of(runs), "figures": figures_of(runs)}


EXPERIMENT = Experiment(
    title="Induction heads in models of attention alone",
    measure=measure_all,
    report=report,
    small={"SEEDS": (1, 2), "STEPS": 40},
)
