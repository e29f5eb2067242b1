r"""
State spaces: what does selection give, and what does a training step cost?

Layers are trained on the last letter among dots, and in a small language model on Tiny Shakespeare
in the place of attention, from three seeds each. Times are the processor's, of a single thread.
It takes about seven minutes of one core.

The result is results/state_spaces.json, to which the pages of labml_nn/state_spaces refer.
"""

import statistics
import time
from collections.abc import Callable, Sequence
from statistics import mean
from typing import Any

import torch
import torch.nn.functional as F
from matplotlib.figure import Figure
from torch import Tensor, nn

from benchmarks.library.experiment import Experiment, Report, Runner
from benchmarks.library.ranges import Found, mean_of, numbers, spread
from benchmarks.library.tables import column
from benchmarks.pictures import ACCENT, heat_map, new, svg
from labml_nn.state_spaces import mamba2
from labml_nn.state_spaces.letters_experiment import (
    N_LETTERS,
    Tagger,
    fixed_mamba,
    last_letters,
)
from labml_nn.state_spaces.mamba import Mamba
from labml_nn.state_spaces.mamba2 import Mamba2, decays, scan_in_chunks
from labml_nn.state_spaces.text_experiment import (
    InPlaceOfAttention,
    language_model,
)
from labml_nn.training.data import RandomWindows, prepare, tiny_shakespeare
from labml_nn.training.loop import adamw, evaluate, train
from labml_nn.transformers.fused_attention import FusedAttention

SEEDS, SEQ_LEN, STEPS, TASK_STEPS, WIDTH = (1, 2, 3), 64, 500, 400, 32
FURTHEST = (4, 8, 16, 32, 64)  # dots since the last letter: at most so many
TASK: dict[str, Callable[[], nn.Module]] = {
    "fixed": lambda: fixed_mamba(WIDTH, WIDTH),
    "mamba": lambda: Mamba(WIDTH, WIDTH),
    "mamba2": lambda: Mamba2(4, WIDTH, WIDTH // 4),
}
# In the place of attention, for so many heads and features.
TEXT: dict[str, Callable[[int, int], nn.Module]] = {
    "mamba": lambda heads, d_model: Mamba(d_model, d_model),
    "mamba2": lambda heads, d_model: Mamba2(heads, d_model, d_model // heads),
    "fixed": lambda heads, d_model: fixed_mamba(d_model, d_model),
    "no_convolution": lambda heads, d_model: Mamba(d_model, d_model, width=1),
}
TITLES = {
    "attention": "Attention",
    "mamba": "Mamba",
    "mamba2": "Mamba-2",
    "fixed": "Mamba, fixed weights",
    "no_convolution": "Mamba, no convolution",
}
TOKENIZER, TRAINING, VALIDATION = prepare(tiny_shakespeare(), SEQ_LEN)


def new_model(name: str, seed: int) -> nn.Module:
    r"""A small language model."""
    torch.manual_seed(seed)
    if name == "attention":
        return language_model(len(TOKENIZER), SEQ_LEN, FusedAttention)
    make = TEXT[name]
    return language_model(
        len(TOKENIZER),
        SEQ_LEN,
        lambda heads, d_model, dropout_prob: InPlaceOfAttention(make(heads, d_model)),
    )


def trained_tagger(name: str, seed: int) -> Tagger:
    r"""A layer that has learned the task."""
    torch.manual_seed(seed)
    model = Tagger(TASK[name](), WIDTH)
    train(model, lambda step: last_letters(step, seed), [adamw(model, 1e-2)], TASK_STEPS)
    return model


@torch.no_grad()
def judged(model: Tagger) -> dict[str, object]:
    r"""How often it is right, in all and by the number of dots since the last letter."""
    tokens, targets = last_letters(0, seed=0, batch_size=256)
    logits = model(tokens)
    right = logits.argmax(dim=-1) == targets
    positions = torch.arange(len(tokens)).unsqueeze(1)
    dots = positions - (positions * (tokens < N_LETTERS)).cummax(dim=0).values
    low, found = 0, {}
    for high in FURTHEST:
        found[str(high)] = right[(dots > low) & (dots <= high)].float().mean().item()
        low = high
    loss = F.cross_entropy(logits.flatten(0, 1), targets.flatten()).item()
    return {"right": right.float().mean().item(), "loss": loss, "distance": found}


@torch.no_grad()
def steps_of(model: Tagger) -> tuple[list[str], list[float]]:
    r"""The stream of one text, and the mean step of all channels at each position."""
    tokens, _ = last_letters(1, seed=0, seq_len=48, batch_size=1)
    found: list[Tensor] = []
    hook = model.layer.steps.register_forward_hook(lambda _, given, x: found.append(x))
    model(tokens)
    hook.remove()
    names = [chr(97 + one) if one < N_LETTERS else "." for one in tokens[:, 0].tolist()]
    return names, F.softplus(found[0])[:, 0].mean(dim=-1).tolist()


def one_text(name: str, seed: int) -> dict[str, float]:
    r"""The loss of a language model, and its number of parameters."""
    model = new_model(name, seed)
    train(model, RandomWindows(TRAINING, SEQ_LEN, 12, seed).at, [adamw(model)], STEPS)
    found = {"loss": evaluate(model, VALIDATION, SEQ_LEN)}
    if (name, seed) == ("mamba2", SEEDS[0]):
        found["decays"] = trained_decays(model)
    return found | {"parameters": sum(p.numel() for p in model.parameters())}


@torch.no_grad()
def trained_decays(model: nn.Module) -> list[list[list[float]]]:
    r"""What is left of 32 letters, in the slowest and the fastest head of the first layer."""
    found: list[Tensor] = []
    original = mamba2.decays
    mamba2.decays = lambda log_kept: found.append(log_kept) or original(log_kept)
    model(VALIDATION[:32, None])
    mamba2.decays = original
    order = found[0].mean(dim=(0, 1)).argsort(descending=True)
    left = decays(found[0])[:, :, 0]
    return [left[:, :, head].tolist() for head in (order[0], order[-1])]


TURNS = 30


def step_times(turns: int | None = None) -> dict[str, float]:
    r"""How many times as long a training step takes as one with attention; all take turns."""
    batches = RandomWindows(TRAINING, SEQ_LEN, 12, 1)
    models = {name: new_model(name, 1) for name in ("attention", *TEXT)}
    times: dict[str, list[float]] = {name: [] for name in (*models, "short")}
    original = mamba2.scan_in_chunks
    for turn in range(turns or TURNS):
        for name in times:
            model = models["mamba2" if name == "short" else name]
            if name == "short":
                mamba2.scan_in_chunks = lambda *given: scan_in_chunks(*given, chunk_len=8)
            start = time.thread_time()
            x, y = batches.at(turn)
            F.cross_entropy(model(x).flatten(0, 1), y.flatten()).backward()
            times[name].append(time.thread_time() - start)
            mamba2.scan_in_chunks = original
    medians = {name: statistics.median(one) for name, one in times.items()}
    ratios = {name: one / medians["attention"] for name, one in medians.items()}
    return ratios | {"short": medians["short"] / medians["mamba2"]}


def measure(runner: Runner) -> dict[str, Any]:
    r"""Layers that learn the task, language models, and the times of their steps."""
    return {
        "task": runner.runs(one_task, TASK, SEEDS),
        "text": runner.runs(one_text, ("attention", *TEXT), SEEDS),
        "times": step_times(),
    }


def one_task(name: str, seed: int) -> dict[str, object]:
    r"""A layer that is trained on the task, judged; and the steps of one of them."""
    model = trained_tagger(name, seed)
    steps = list(steps_of(model)) if (name, seed) == ("mamba", SEEDS[0]) else []
    return judged(model) | {"steps": steps}


def bars(names: list[str], values: list[float]) -> Figure:
    r"""The mean step of 32 channels at each token of a stream."""
    figure, (axes,) = new(7.0, 2.4)
    axes.bar(range(len(values)), values, color=ACCENT)
    axes.set_xticks(range(len(names)), names, family="monospace")
    axes.tick_params(axis="x", length=0)
    axes.set_ylabel("mean step")
    return figure


def triangles(left: list[list[list[float]]]) -> Figure:
    r"""What is left at each letter (rows) of what each earlier one has written (columns)."""
    text = TOKENIZER.decode(VALIDATION[:32]).replace("\n", "¶")
    figure, axes = new(7.2, 3.8, 2)
    for one, cells, title in zip(axes, left, ("slowest head", "fastest head"), strict=True):
        heat_map(one, cells, list(text))
        one.set(title=title, xticks=[])
    return figure


def report(found: dict[str, Any]) -> Report:
    r"""Of the task and of the language models."""
    task, text, times = found["task"], found["text"], found["times"]

    def distance(runs: Sequence[Found]) -> list[list[float]]:
        return [[high, mean(one["distance"][str(high)] for one in runs)] for high in FURTHEST]

    names, steps = task["mamba"][0]["steps"]
    return {
        "values": {"chunks": times["short"]},
        "tables": {
            "last_letter": {
                "columns": [
                    column("layer", "Layer"),
                    column("right", "Right", 3),
                    column("low", "Lowest", 3),
                    column("high", "Highest of three seeds", 3),
                    column("loss", "Loss", 3),
                ],
                "rows": [
                    {
                        "layer": TITLES[name],
                        **spread("right", numbers(runs, "right")),
                        "loss": mean_of(runs, "loss"),
                    }
                    for name, runs in task.items()
                ],
            },
            "losses": {
                "columns": [
                    column("layer", "Layer"),
                    column("loss", "Validation loss", 3),
                    column("low", "Lowest", 3),
                    column("high", "Highest of three seeds", 3),
                    column("parameters", "Parameters", 0),
                    column("times", "Time of a step", 2),
                ],
                "rows": [
                    {
                        "layer": TITLES[name],
                        **spread("loss", numbers(runs, "loss")),
                        "parameters": runs[0]["parameters"],
                        "times": times[name],
                    }
                    for name, runs in text.items()
                ],
            },
        },
        "figures": {
            "distance": {
                "title": "How often the last letter is known, by the dots since then",
                "x": {"title": "At most so many dots since the last letter", "scale": "log"},
                "y": {"title": "Right", "low": 0},
                "lines": [
                    {"name": TITLES[name], "points": distance(runs)} for name, runs in task.items()
                ],
            },
            "steps": {
                "title": str(bars.__doc__).rstrip("."),
                "picture": svg(bars(names, steps), "state_spaces-steps"),
            },
            "decays": {
                "title": str(triangles.__doc__).rstrip("."),
                "picture": svg(triangles(text["mamba2"][0]["decays"]), "state_spaces-decays"),
            },
        },
    }


EXPERIMENT = Experiment(
    title="Mamba and Mamba-2: letters among dots, and small language models",
    measure=measure,
    report=report,
    small={"SEEDS": (1, 2), "STEPS": 2, "TASK_STEPS": 2, "TURNS": 2},
)
