r"""
What does each part of fine-tuning on dialogues do, and what do preferences do to the model?

Three models read the facts, and are fine-tuned with one thing changed at a time; then each learns
from pairs of answers, with several values of beta. The result is results/dialogues.json, to which
the pages of fine-tuning on dialogues and preferences refer. It takes ten minutes of one core.
"""

import math
import random
import time
from collections.abc import Callable, Mapping, Sequence
from statistics import mean
from typing import Any

import torch
import torch.nn.functional as F
from matplotlib.figure import Figure
from torch import Tensor

from benchmarks.library.charts import Line, axis, line, line_chart, picture
from benchmarks.library.experiment import Experiment, Report, Runner
from benchmarks.library.ranges import Found, ends, mean_curve, mean_of, numbers
from benchmarks.library.tables import column, table
from benchmarks.pictures import heat_map, new, svg
from labml_nn.fine_tuning import dialogue_experiment as answering
from labml_nn.fine_tuning import packing
from labml_nn.fine_tuning import preference_experiment as preferring
from labml_nn.fine_tuning.dialogues import (
    IGNORED,
    ChatTokenizer,
    side_by_side,
)
from labml_nn.fine_tuning.facts import (
    Fact,
    all_facts,
    dialogue,
    share_right,
    split_facts,
    text_to_read,
)
from labml_nn.fine_tuning.packing import PackedTransformer, pack
from labml_nn.fine_tuning.preferences import log_probabilities
from labml_nn.training.loop import adamw, train
from labml_nn.training.sampling import draw, generate, greedy
from labml_nn.transformers.mha import causal_mask

SEEDS = (1, 2, 3)
Weights = Mapping[str, Tensor]
READING, STEPS, PREFERRING = 2000, 80, 40
KEYS = ("taught", "stops", "loss")
MARGINS = [half / 2 for half in range(-10, 11)]
BETAS = (0.05, 0.1, 0.5, 1.0)

FACTS = all_facts()
TAUGHT, HELD_OUT = split_facts(FACTS)
TEXT = text_to_read(FACTS)
TOKENIZER = ChatTokenizer(TEXT)
BEGIN, ASSISTANT, END = (TOKENIZER.marks[f"<{name}>"] for name in ("begin", "assistant", "end"))


def reader(seed: int) -> dict[str, Any]:
    r"""The weights of a model that has read the text, and the seconds that it took."""
    torch.manual_seed(seed)
    model = answering.small_model(TOKENIZER)
    start = time.process_time()
    batch_at = answering.text_batches(TOKENIZER.encode(TEXT), seed)
    train(model, batch_at, [adamw(model)], READING)
    return {"weights": model.state_dict(), "seconds": time.process_time() - start}


def with_weights(weights: Weights) -> PackedTransformer:
    r"""A model that was trained."""
    model = answering.small_model(TOKENIZER)
    model.load_state_dict(weights)
    return model


def continuations(model: PackedTransformer, prompts: Sequence[str]) -> list[str]:
    r"""The 40 likeliest letters after each prompt, with the end of another line before it."""
    before = "what is the past of go? what is the capital of peru? what is the opposite of war?"
    lines = [f"{before}\n{prompt}"[-len(before) :] for prompt in prompts]
    tokens = torch.stack([TOKENIZER.encode(line) for line in lines], dim=1)
    new = generate(model, tokens, 40, answering.SEQ_LEN, greedy)[len(before) :]
    return [TOKENIZER.decode(column) for column in new.t()]


def before_tuning(seed: int, weights: Weights) -> dict[str, float]:
    r"""What the model that has only read does with held-out facts."""
    model = with_weights(weights)

    def right(prompts: list[str]) -> float:
        found = zip(continuations(model, prompts), HELD_OUT, strict=True)
        return mean(new.startswith((fact.short, fact.sentence)) for new, fact in found)

    asked = [f"{fact.question} " for fact in HELD_OUT]
    shown = TAUGHT[0]
    return {
        "told": right([fact.sentence.removesuffix(fact.short) for fact in HELD_OUT]),
        "asked": right(asked),
        "goes_on": mean(one.startswith("what is") for one in continuations(model, asked)),
        "shown": right([f"{shown.question} {shown.short} {one}" for one in asked]),
    }


class Mixed(PackedTransformer):
    r"""The dialogues of a window see each other, or their positions run on."""

    seen, run_on = False, False

    def forward(self, tokens: Tensor) -> Tensor:
        mask, positions = packing.apart(tokens, self.begin)
        if self.training and self.seen:
            mask = causal_mask(len(tokens))
        if self.training and self.run_on:
            positions = torch.arange(len(tokens))[:, None].expand(tokens.shape)
        encode = self.embed.positions
        x = self.embed.tokens(tokens) + encode.encodings[positions].squeeze(2)
        return self.generator(self.encoder(encode.dropout(x), mask))


Change = Callable[[answering.BatchAt], answering.BatchAt]


def with_targets(change: Callable[[Tensor, Tensor], Tensor]) -> Change:
    r"""The same batches with other targets."""
    return lambda batch_at: (
        lambda step: (
            batch_at(step)[0],
            change(*batch_at(step)),
        )
    )


def everything(inputs: Tensor, targets: Tensor) -> Tensor:
    r"""All tokens count but those that begin a dialogue or fill a window."""
    tokens = torch.cat([inputs[1:], targets[-1:].clamp(min=BEGIN)])
    tokens = torch.where(targets == IGNORED, tokens, targets)
    return tokens.masked_fill(tokens == BEGIN, IGNORED)


CHANGES: dict[str, tuple[Change, dict[str, object]]] = {
    "as on the page": (lambda batch_at: batch_at, {}),
    "questions count, too": (with_targets(everything), {}),
    "the end doesn't count": (
        with_targets(lambda inputs, targets: targets.masked_fill(targets == END, IGNORED)),
        {},
    ),
    "a mask, no restart": (lambda batch_at: batch_at, {"run_on": True}),
    "neither mask nor restart": (lambda batch_at: batch_at, {"seen": True, "run_on": True}),
    "five times the rate": (lambda batch_at: batch_at, {"rate": 1e-3}),
    "nothing read before": (lambda batch_at: batch_at, {"scratch": True}),
}


def tuned(name: str, seed: int, weights: Weights) -> dict[str, Any]:
    r"""A fine-tuned model, what it can do, and its right answers on the way."""
    change, settings = CHANGES[name]
    base = with_weights(weights)
    torch.manual_seed(seed)
    model = base if "scratch" not in settings else answering.small_model(TOKENIZER)
    model.__class__ = Mixed
    model.seen, model.run_on = "seen" in settings, "run_on" in settings
    batch_at = change(answering.packed_batches(TOKENIZER, TAUGHT, seed))
    curve: list[list[float]] = []
    looked = 0.0

    def measure(step: int, loss: Tensor) -> None:
        nonlocal looked
        begin = time.process_time()
        if name in ("as on the page", "five times the rate") and step % 20 == 0:
            curve.append([step, right(model, HELD_OUT)])
        looked += time.process_time() - begin

    start = time.process_time()
    rate = settings.get("rate", answering.FINE_TUNING_RATE)
    train(model, batch_at, [adamw(model, rate)], STEPS, after_step=measure)
    seconds = time.process_time() - start - looked
    model.eval()
    with torch.no_grad():
        inputs, targets = answering.packed_batches(TOKENIZER, HELD_OUT, 1)(0)
        loss = F.cross_entropy(model(inputs).flatten(0, 1), targets.flatten()).item()
    given = answering.ask(model, TOKENIZER, HELD_OUT)
    found = {
        "taught": right(model, TAUGHT),
        "held_out": share_right(HELD_OUT, given),
        "stops": mean(len(one) < 40 for one in given),
        "loss": loss,
        "seconds": seconds,
    }
    return {"weights": model.state_dict(), "found": found, "curve": curve}


def right(model: PackedTransformer, facts: Sequence[Fact]) -> float:
    r"""The share of right answers, each the likeliest."""
    return share_right(facts, answering.ask(model, TOKENIZER, facts))


def answered(seed: int, weights: Weights) -> dict[str, Any]:
    r"""What a fine-tuned model draws, and the log-probabilities of its pairs."""
    model = fine_tuned(weights)
    return {"drawn": drawn(model), "pairs": of_pairs(model, HELD_OUT)}


def fine_tuned(weights: Weights) -> PackedTransformer:
    r"""A model that was fine-tuned as on the page."""
    model = with_weights(weights)
    model.__class__ = Mixed
    return model.eval()


def drawn(model: PackedTransformer) -> dict[str, float]:
    r"""Answers to held-out questions that are drawn, two for each."""
    generator = torch.Generator().manual_seed(1)
    asked = HELD_OUT * 2
    given = answering.ask(model, TOKENIZER, asked, draw, generator)
    return {"short": preferring.share_short(given), "right": share_right(asked, given)}


@torch.no_grad()
def of_pairs(model: PackedTransformer, facts: Sequence[Fact]) -> list[float]:
    r"""The mean log-probability of chosen and of rejected answers."""
    halves = log_probabilities(model, *preferring.pairs(TOKENIZER, facts)).chunk(2)
    return [one.mean().item() for one in halves]


def preferred(seed: int, beta: float | None, weights: Weights) -> dict[str, Any]:
    r"""What training on pairs does; without a beta, fine-tuning on the chosen answers alone."""
    model = fine_tuned(weights)
    curve = [[0, *of_pairs(model, HELD_OUT)]]

    def measure(step: int, loss: Tensor) -> None:
        if step % 10 == 0:
            curve.append([step, *of_pairs(model, HELD_OUT)])

    batch_at = preferring.pair_batches(TOKENIZER, TAUGHT, seed)
    if beta is None:

        def chosen_only(step: int) -> tuple[Tensor, Tensor]:
            inputs, targets = batch_at(step)
            half = inputs.shape[1] // 2
            return inputs[:, :half], targets[:, :half]

        train(model, chosen_only, [adamw(model, rate=1e-4)], PREFERRING, after_step=measure)
    else:
        recipe = preferring.preference_recipe(model, beta)
        train(model, batch_at, steps=PREFERRING, after_step=measure, **recipe)
    model.eval()
    found = drawn(model) | {"greedy": right(model, HELD_OUT)}
    found |= {"chosen": curve[-1][1], "rejected": curve[-1][2]}
    return {"found": found, "curve": curve}


def filled() -> dict[str, float]:
    r"""The share of tokens that belong to a dialogue: twelve side by side, and in windows."""
    draws = random.Random(1)
    rendered = [
        TOKENIZER.render(dialogue(one, draws.choice(["short", "sentence"])))
        for one in draws.choices(TAUGHT, k=1200)
    ]
    size = sum(len(one) for one, _ in rendered)
    made = {
        "side": sum(
            side_by_side(rendered[at : at + 12], BEGIN)[0].numel() for at in range(0, 1200, 12)
        ),
        "packed": pack(rendered, 129, BEGIN)[0].numel(),
        "long": pack(rendered, 513, BEGIN)[0].numel(),
    }
    return {name: size / tokens for name, tokens in made.items()}


def window() -> Figure:
    r"""Which token may look at which, in a window of two dialogues and a rest."""
    figure, (axes,) = new(4.6, 4.6)
    said = [("hot?", "cold."), ("up?", "down.")]
    tokens, _ = pack(
        [
            TOKENIZER.render(
                [{"role": "user", "content": one}, {"role": "assistant", "content": other}]
            )
            for one, other in said
        ],
        30,
        BEGIN,
    )
    mask, _ = packing.apart(tokens, BEGIN)
    short = {"<begin>": "B", "<user>": "U", "<assistant>": "A", "<end>": "E"}
    names = [TOKENIZER.decode(one) for one in tokens]
    names = [short.get(one, one) for one in names]
    heat_map(axes, mask[..., 0].double().tolist(), names, names)
    axes.set(xlabel="looked at", ylabel="looks")
    return figure


def lines(curves: dict[str, list[list[float]]]) -> list[Line]:
    r"""A line for each curve."""
    return [line(name, points) for name, points in curves.items()]


def three(name: str, found: Sequence[Found]) -> dict[str, float]:
    r"""Mean, lowest and highest of the seeds, each with the name before it."""
    values = numbers(found, name)
    return {name: mean(values), **ends(values, f"{name}_")}


def measure(runner: Runner) -> dict[str, Any]:
    r"""Let three models read, fine-tune each in every way, and go on with pairs of answers."""
    read = runner.all([(reader, seed) for seed in SEEDS])

    def from_each(function: Callable, *about: Any, models: Sequence[Found] = read) -> list[Any]:
        r"""A run for each seed, from the weights of a model."""
        pairs = zip(SEEDS, models, strict=True)
        return runner.all([(function, seed, *about, one["weights"]) for seed, one in pairs])

    changes = {}
    for name in CHANGES:
        pairs = zip(SEEDS, read, strict=True)
        changes[name] = runner.all([(tuned, name, seed, one["weights"]) for seed, one in pairs])
    answerers = changes["as on the page"]
    return {
        "read": read,
        "before": from_each(before_tuning),
        "changes": changes,
        "answered": from_each(answered, models=answerers),
        "preferred": {
            beta: from_each(preferred, beta, models=answerers) for beta in (*BETAS, None)
        },
    }


def of_changes(changes: dict[float, Any]) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    r"""What each change of the fine-tuning leads to, and its curve."""
    rows = []
    curves = {}
    for name, runs in changes.items():
        found = [one["found"] for one in runs]
        means_of_row = {key: mean_of(found, key) for key in KEYS}
        rows.append({"change": name} | three("held_out", found) | means_of_row)
        if runs[0]["curve"]:
            curves[name] = mean_curve([one["curve"] for one in runs])
    return rows, curves


def of_preferences(measured: dict[str, Any]) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    r"""Before the training on pairs and after it, with each beta; and its curves."""
    first = [one["drawn"] for one in measured["answered"]]
    pairs = [one["pairs"] for one in measured["answered"]]
    asked = [one["found"] for one in measured["changes"]["as on the page"]]
    start = {"training": "before"} | three("short", first)
    start["right"] = mean_of(first, "right")
    start["greedy"] = mean_of(asked, "held_out")
    start["chosen"] = mean(one[0] for one in pairs)
    start["rejected"] = mean(one[1] for one in pairs)
    rows = [start]
    curves = {}
    for beta, runs in measured["preferred"].items():
        found = [one["found"] for one in runs]
        name = f"beta {beta:g}" if beta else "chosen answers only"
        shares = {key: mean_of(found, key) for key in ("right", "greedy", "chosen", "rejected")}
        rows.append({"training": name} | three("short", found) | shares)
        curves[name] = {
            way: mean_curve([one["curve"] for one in runs], place)
            for way, place in (("chosen", 1), ("rejected", 2))
        }
    return rows, curves


def tables_of(changes: list[dict[str, Any]], preferences: list[dict[str, Any]]) -> dict[str, Any]:
    r"""Right answers after each change of the fine-tuning, and after the training on pairs."""
    return {
        "changes": table(
            [
                column("change", "Fine-tuning"),
                column("held_out", "Right, held out", 2),
                column("held_out_low", "Lowest", 2),
                column("held_out_high", "Highest of three seeds", 2),
                column("taught", "Right, taught", 2),
                column("stops", "Answers that end", 2),
                column("loss", "Loss, held out", 3, "nats"),
            ],
            changes,
        ),
        "preferences": table(
            [
                column("training", "Trained on pairs with"),
                column("short", "Short, drawn", 2),
                column("short_low", "Lowest", 2),
                column("short_high", "Highest of three seeds", 2),
                column("right", "Right, drawn", 2),
                column("greedy", "Right, likeliest", 2),
                column("chosen", "ln p of chosen", 1, "nats"),
                column("rejected", "ln p of rejected", 1, "nats"),
            ],
            preferences,
        ),
    }


def figures_of(curves: dict[str, Any], falls: dict[str, Any]) -> dict[str, Any]:
    r"""How both trainings go, the loss of a pair, and the mask."""
    return {
        "curves": line_chart(
            "Right answers to held-out questions",
            x=axis("Steps of fine-tuning"),
            y=axis("Share"),
            lines=lines(curves),
        ),
        "pairs": line_chart(
            "Log-probability of answers to held-out questions",
            x=axis("Steps on pairs"),
            y=axis("ln p", unit="nats"),
            lines=lines(
                {
                    f"{way}, {name}": falls[name][way]
                    for name in ("beta 0.05", "beta 1")
                    for way in ("chosen", "rejected")
                }
            ),
        ),
        "margin": line_chart(
            "A pair's loss and its weight in the gradient",
            x=axis("Margin"),
            y=axis("Loss (nats), weight"),
            lines=lines(
                {
                    "loss": [[m, math.log1p(math.exp(-m))] for m in MARGINS],
                    "weight": [[m, 1 / (1 + math.exp(m))] for m in MARGINS],
                }
            ),
        ),
        "window": picture("Which token may look at which", svg(window(), "dialogues-window")),
    }


def report(measured: dict[str, Any]) -> Report:
    r"""What each part of the fine-tuning does, and what the pairs do."""
    changes, curves = of_changes(measured["changes"])
    preferences, falls = of_preferences(measured)
    before = measured["before"]
    read = measured["read"]
    seconds = [one["found"]["seconds"] for one in measured["changes"]["as on the page"]]
    parameters = sum(one.numel() for one in with_weights(read[0]["weights"]).parameters())
    return {
        "values": {
            "before": {key: mean(one[key] for one in before) for key in before[0]},
            "filled": filled(),
            "parameters": parameters,
            "seconds": {"reading": mean_of(read, "seconds"), "fine_tuning": mean(seconds)},
        },
        "tables": tables_of(changes, preferences),
        "figures": figures_of(curves, falls),
    }


EXPERIMENT = Experiment(
    title="Fine-tuning on dialogues, and preferences",
    measure=measure,
    report=report,
    small={"SEEDS": (1, 2), "READING": 2, "STEPS": 2, "PREFERRING": 10},
    threads=None,
)
