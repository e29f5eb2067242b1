r"""
What do the variants of attention do for the small transformer?

Each takes the place of multi-head attention in a small transformer, which is trained on Tiny
Shakespeare from three seeds. Besides the loss, this measures what the pages of the variants speak
of: the largest score, with the usual learning rate and with ten times that; the weight on the first
token; what a window costs a model that was trained without one; and how much of its weight a head
gives to tokens that don't matter. None of it depends on how busy the machine is.

The result is results/families.json.
"""

from collections.abc import Callable
from importlib import import_module
from statistics import mean
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from benchmarks.library.experiment import Experiment, Report, Runner
from benchmarks.library.ranges import Runs, mean_curve, mean_of, means, numbers, spread
from benchmarks.library.tables import column
from benchmarks.pictures import ACCENT, SECOND, new, svg
from labml_nn.training import loop
from labml_nn.training.data import RandomWindows, prepare, tiny_shakespeare
from labml_nn.transformers.basic.autoregressive_model import (
    AutoregressiveTransformer,
)
from labml_nn.transformers.basic.comparison_experiment import put_in_place
from labml_nn.transformers.memory.attention_sinks import SinkAttention
from labml_nn.transformers.mha import MultiHeadAttention, causal_mask
from labml_nn.transformers.variants.differential_attention import (
    DifferentialAttention,
)

SEEDS = (1, 2, 3)
SIZES = {"d_model": 64, "heads": 4, "d_ff": 256, "seq_len": 64, "dropout_prob": 0.0}
LAYERS, STEPS, RATE = 2, 500, 3e-3
# A window of a quarter of the context, which is that of the page's `in_transformer`.
WINDOW = 16
# The title of each row, and its page. The first is the model without a change.
VARIANTS = {
    "multi-head attention": None,
    "one head of keys": "memory/grouped_query",
    "window of 16, one sink": "memory/attention_sinks",
    "latents": "memory/latent_attention",
    "learned sink": "memory/learned_sink",
    "soft cap of 5": "variants/soft_cap",
    "normalised queries and keys": "variants/query_key_norm",
    "differential": "variants/differential_attention",
    "gated": "variants/gated_attention",
    "linear": "variants/linear_attention",
    "gated delta rule": "variants/delta_rule",
}
# Those whose scores have a limit are also trained with ten times the learning rate.
LIMITED = ("multi-head attention", "soft cap of 5", "normalised queries and keys")


def in_model(name: str, n_vocab: int) -> AutoregressiveTransformer:
    r"""The small transformer with the variant, as the variant's page puts it there."""
    sizes = (SIZES["d_model"], SIZES["heads"], LAYERS, SIZES["d_ff"], SIZES["seq_len"])
    model = AutoregressiveTransformer(n_vocab, *sizes)
    if VARIANTS[name]:
        page = import_module(f"labml_nn.transformers.{VARIANTS[name].replace('/', '.')}")
        put_in_place(model, page.in_transformer(**SIZES))
    return model


@torch.no_grad()
def seen(model: AutoregressiveTransformer, inputs: Tensor) -> dict[str, float]:
    r"""The largest score, and the mean weight that later positions give to the first token."""
    scores, weights = [], []
    hidden = ~causal_mask(len(inputs)).unsqueeze(-1)
    attentions = [layer.self_attn for layer in model.encoder.layers]
    for attention in attentions:
        if hasattr(attention, "get_scores"):

            def get_scores(query: Tensor, key: Tensor, plain: Callable) -> Tensor:
                found = plain(query, key)
                scores.append(found.masked_fill(hidden, 0).abs().max().item())
                return found

            plain = attention.get_scores
            attention.get_scores = lambda query, key, plain=plain: get_scores(query, key, plain)
    model.eval()
    model(inputs)
    for attention in attentions:
        vars(attention).pop("get_scores", None)
        if getattr(attention, "attn", None) is not None:
            weights.append(attention.attn[WINDOW:, 0].mean().item())
    model.train()
    return {"score": max(scores, default=0), "first": mean(weights or [0])}


def trained(name: str, seed: int, rate: float) -> dict[str, object]:
    r"""Trains one model and measures it."""
    tokenizer, training, validation = prepare(tiny_shakespeare(), SIZES["seq_len"])
    torch.manual_seed(seed)
    model = in_model(name, len(tokenizer))
    batches = RandomWindows(training, SIZES["seq_len"], 12, seed)
    inputs = batches.at(0)[0]
    curve = [[0, seen(model, inputs)["score"]]]

    def after_step(step: int, loss: Tensor) -> None:
        if name in LIMITED and step % 25 == 0:
            curve.append([step, seen(model, inputs)["score"]])

    loop.train(model, batches.at, [loop.adamw(model, rate)], STEPS, after_step=after_step)
    found = {
        "loss": loop.evaluate(model, validation, SIZES["seq_len"]),
        "parameters": sum(parameter.numel() for parameter in model.parameters()),
        "curve": curve if name in LIMITED else None,
        **seen(model, validation[: 12 * 64].view(12, 64).t()),
    }
    if name == "multi-head attention" and rate == RATE:
        found["windows"] = {
            str(n_sinks): with_window(model, validation, n_sinks) for n_sinks in (0, 1, 4)
        }
    return found


def with_window(model: AutoregressiveTransformer, tokens: Tensor, n_sinks: int) -> float:
    r"""The loss of a trained model that only now gets a window."""
    for layer in model.encoder.layers:
        sizes = {"window": WINDOW, "n_sinks": n_sinks}
        attention = SinkAttention(SIZES["heads"], SIZES["d_model"], 0.0, **sizes)
        attention.load_state_dict(layer.self_attn.state_dict())
        layer.self_attn = attention
    return loop.evaluate(model, tokens, SIZES["seq_len"])


class Finder(nn.Module):
    r"""One attention that must find, among 32 noisy tokens, the one with the query's name."""

    def __init__(self, attention: nn.Module, names: int = 64, answers: int = 16) -> None:
        super().__init__()
        self.names, self.answers = nn.Embedding(names, 32), nn.Embedding(answers, 32)
        self.attention, self.logits = attention, nn.Linear(32, answers)

    def forward(self, names: Tensor, answers: Tensor, asked: Tensor) -> Tensor:
        tokens = self.names(names) + self.answers(answers)
        tokens = tokens + torch.randn_like(tokens)
        query = self.names(asked)[None]
        query = query + torch.randn_like(query)
        x = self.attention(query=query, key=tokens, value=tokens)
        return self.logits(x[0])


def find(attention: Callable[[], nn.Module], seed: int, steps: int = 600) -> dict[str, float]:
    r"""Train it, and see how much of the weight goes to the 31 tokens that don't matter."""
    torch.manual_seed(seed)
    model = Finder(attention())
    optimizer = torch.optim.Adam(model.parameters(), 3e-3)

    def batch() -> tuple[Tensor, ...]:
        names = torch.rand(64, 64).argsort(dim=0)[:32]
        answers, at = torch.randint(16, (32, 64)), torch.randint(32, (1, 64))
        return names, answers, names.gather(0, at)[0], answers.gather(0, at)[0], at

    for _ in range(steps):
        names, answers, asked, right, at = batch()
        loss = F.cross_entropy(model(names, answers, asked), right)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    torch.manual_seed(0)
    measured = []
    for _ in range(10):
        names, answers, asked, right, at = batch()
        with torch.no_grad():
            logits = model(names, answers, asked)
        weights = model.attention.attn[0].mean(dim=-1)
        share = weights.gather(0, at)[0].abs() / weights.abs().sum(dim=0)
        hits = (logits.argmax(dim=-1) == right).double().mean().item()
        measured.append({"noise": 1 - share.mean().item(), "right": hits})
    return means(measured)


def score_curves(runs: dict[float, Runs]) -> str:
    r"""The largest score while training, with both learning rates."""
    figure, all_axes = new(4.6, 3.2, columns=2)
    styles = dict(zip(LIMITED, ((ACCENT, "-"), (SECOND, "-"), (ACCENT, ":")), strict=True))
    for axes, (rate, of_rate) in zip(all_axes, runs.items(), strict=True):
        for name in LIMITED:
            curves = [one["curve"] for one in of_rate[name]]
            steps = [step for step, _ in curves[0]]
            middle = [y for _, y in mean_curve(curves)]
            axes.plot(steps, middle, color=styles[name][0], linestyle=styles[name][1], label=name)
        axes.set(yscale="log", ylim=(1, 200), xlabel="step", xticks=[0, 250, 500])
        axes.set_title("the usual rate" if rate == RATE else "ten times the rate", fontsize=9)
    all_axes[0].set(ylabel="largest score")
    figure.legend(*all_axes[0].get_legend_handles_labels(), loc="outside lower left", fontsize=8)
    return svg(figure, "scores")


def loss_ranges(rows: list[dict[str, Any]]) -> str:
    r"""The loss of each variant: a dot for the mean, a line from the lowest seed to the highest."""
    figure, (axes,) = new(4.6, 2.8)
    for at, row in enumerate(reversed(rows)):
        axes.plot([row["low"], row["high"]], [at, at], color=ACCENT)
        axes.plot([row["loss"]], [at], color=ACCENT, marker="o")
    names = [row["attention"].replace("queries and keys", "keys") for row in reversed(rows)]
    axes.set_yticks(range(len(rows)), names, fontsize=8)
    axes.set(xlabel="loss")
    return svg(figure, "losses")


# What must be found, and the layers that have to find it.
SEARCHES: dict[str, Callable[[], nn.Module]] = {
    "two heads": lambda: MultiHeadAttention(2, 32, 0.0),
    "one head": lambda: MultiHeadAttention(1, 32, 0.0),
    "one differential head": lambda: DifferentialAttention(1, 32, 0.0),
}


def searched(name: str, seed: int) -> dict[str, float]:
    r"""One of them, trained to find."""
    return find(SEARCHES[name], seed)


def measure(runner: Runner) -> tuple[dict[float, Runs], Runs]:
    r"""All variants at the usual rate, some at ten times of it, and those that search."""
    rates = {
        RATE: runner.runs(trained, VARIANTS, SEEDS, RATE),
        10 * RATE: runner.runs(trained, LIMITED, SEEDS, 10 * RATE),
    }
    return rates, runner.runs(searched, SEARCHES, SEEDS)


def report(found: tuple[dict[float, Runs], Runs]) -> Report:
    r"""Losses, limits of scores, and the noise of those that search."""
    rates, searches = found
    rows = [
        {
            "attention": name,
            **spread("loss", numbers(runs, "loss")),
            "parameters": runs[0]["parameters"],
            "first": mean_of(runs, "first") or "–",
        }
        for name, runs in rates[RATE].items()
    ]
    limits = [
        {
            "run": name if rate == RATE else f"{name}, ten times the rate",
            "score": mean_of(of_rate[name], "score"),
            **spread("loss", numbers(of_rate[name], "loss")),
        }
        for rate, of_rate in rates.items()
        for name in LIMITED
    ]
    plain = rates[RATE]["multi-head attention"]
    return {
        "values": {
            "steps": STEPS,
            "layers": LAYERS,
            **{name: SIZES[name] for name in ("d_model", "heads", "seq_len")},
            "seeds": len(SEEDS),
            "windows": {
                name: mean(one["windows"][n_sinks] for one in plain)
                for name, n_sinks in (("none", "0"), ("one", "1"), ("four", "4"))
            },
        },
        "tables": {
            "losses": {
                "columns": [
                    column("attention", "Attention"),
                    column("loss", "Loss, mean of three seeds", 3),
                    column("low", "lowest", 3),
                    column("high", "highest", 3),
                    column("parameters", "Parameters"),
                    column("first", "Weight on the first token", 3),
                ],
                "rows": rows,
            },
            "limits": {
                "columns": [
                    column("run", "Attention"),
                    column("score", "Largest score", 1),
                    column("loss", "Loss", 3),
                    column("low", "lowest", 3),
                    column("high", "highest", 3),
                ],
                "rows": limits,
            },
            "noise": {
                "columns": [
                    column("attention", "Attention"),
                    column("noise", "Weight on the other 31 tokens", 3),
                    column("right", "Right answers", 3),
                ],
                "rows": [{"attention": name, **means(runs)} for name, runs in searches.items()],
            },
        },
        "figures": {
            "scores": {
                "title": "The largest score while training, mean of three seeds",
                "picture": score_curves(rates),
            },
            "losses": {
                "title": "Loss after 500 steps: mean and range of three seeds",
                "picture": loss_ranges(rows),
            },
        },
    }


EXPERIMENT = Experiment(
    title="Variants of attention in a small transformer, and what each is about",
    measure=measure,
    report=report,
    small={"SEEDS": (1, 2), "STEPS": 25},
)
