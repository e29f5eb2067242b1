r"""
What do experts give at the same work for each token, and who keeps them busy?

A small transformer with one of several layers in the place of its feed-forward network is trained
on Tiny Shakespeare for 1,000 steps, from three seeds. The loads of the experts are those of 200
windows of the validation text. The result is results/experts.json, to which the pages of
labml_nn/experts refer.
"""

import time
from collections import Counter
from collections.abc import Callable, Sequence
from statistics import mean
from typing import Any

import torch
from torch import Tensor, nn

from benchmarks.library.experiment import Experiment, Report, Runner
from benchmarks.library.ranges import Found, Runs, drawn, mean_of, numbers, spread
from benchmarks.library.tables import column, table
from benchmarks.pictures import ACCENT, INK, heat_map, new, svg
from labml_nn.experts.balancing import BiasedRouter, routers
from labml_nn.experts.experiment import (
    D_FF,
    D_MODEL,
    N_ACTIVE,
    N_EXPERTS,
    fit_balanced,
    held_out_load,
    small_model,
)
from labml_nn.experts.mixture import Mixture
from labml_nn.experts.shared_expert import SharedMixture
from labml_nn.training.data import (
    CharTokenizer,
    RandomWindows,
    fixed_windows,
    prepare,
    tiny_shakespeare,
)
from labml_nn.training.loop import adamw, evaluate, train
from labml_nn.transformers.swiglu import SwiGLU

SEEDS, STEPS, SEQ_LEN, BATCH_SIZE = (1, 2, 3), 1000, 64, 16

# What stands in the place of the network, and how its experts are balanced.
Layer = Callable[[], nn.Module]
SIZES = (D_MODEL, D_FF, N_EXPERTS, N_ACTIVE)
LAYERS: dict[str, tuple[Layer, str]] = {
    "one small network": (lambda: SwiGLU(D_MODEL, N_ACTIVE * D_FF), "no balancing"),
    "one large network": (lambda: SwiGLU(D_MODEL, N_EXPERTS * D_FF), "no balancing"),
    "experts, no balancing": (lambda: Mixture(*SIZES), "no balancing"),
    "experts, loss": (lambda: Mixture(*SIZES), "loss"),
    "experts, bias": (lambda: Mixture(*SIZES, router=BiasedRouter), "bias"),
    # Half as wide, twice as many; then one of them for every token.
    "experts of half the width": (
        lambda: Mixture(D_MODEL, D_FF // 2, 2 * N_EXPERTS, 2 * N_ACTIVE, router=BiasedRouter),
        "bias",
    ),
    "half the width, one shared": (
        lambda: SharedMixture(D_MODEL, D_FF // 2, 2 * N_EXPERTS - 1, 2 * N_ACTIVE - 1),
        "bias",
    ),
}


COLUMNS = [
    column("layer", "In place of the network"),
    column("parameters", "Parameters"),
    column("active", "Active"),
    column("most", "Greatest load", 2),
    column("least", "Least load", 2),
    column("loss", "Loss", 3, "nats"),
    column("low", "lowest", 3),
    column("high", "highest", 3),
    column("seconds", "Training", 0, "s"),
]
SIZES_AND_TIME = ("parameters", "active", "seconds")


def active(model: nn.Module) -> int:
    r"""The parameters that one token goes through."""
    idle = 0
    for layer in model.modules():
        if isinstance(layer, Mixture):
            one = sum(p.numel() for p in layer.experts[0].parameters())
            idle += one * (len(layer.experts) - layer.router.n_active)
    return sum(p.numel() for p in model.parameters()) - idle


@torch.no_grad()
def letters(model: nn.Module, tokenizer: CharTokenizer, tokens: Tensor) -> dict[str, Any]:
    r"""
    For each layer: which share of the choices of a frequent letter goes to which expert, and how
    often the best guess from the letter alone is right about the first choice.
    """
    inputs = fixed_windows(tokens, SEQ_LEN)[0][0][:, :200]
    model.eval()
    model(inputs)
    frequent = [token for token, _ in Counter(inputs.flatten().tolist()).most_common(20)]
    names = [tokenizer.symbols[token] for token in frequent]
    found: dict[str, Any] = {"letters": names, "shares": [], "guessed": []}
    for router in routers(model):
        n_experts = router.scores.shape[1]
        rows = []
        for token in frequent:
            chosen = router.chosen[inputs.flatten() == token].flatten()
            rows.append((torch.bincount(chosen, minlength=n_experts) / len(chosen)).tolist())
        found["shares"].append(rows)
        first = router.chosen[:, 0]
        pairs = Counter(zip(inputs.flatten().tolist(), first.tolist(), strict=True))
        best: dict[int, int] = {}
        for (token, _), count in pairs.items():
            best[token] = max(best.get(token, 0), count)
        found["guessed"].append(sum(best.values()) / len(first))
    return found


def trained(name: str, seed: int) -> dict[str, Any]:
    r"""Train one model and measure it."""
    tokenizer, training, validation = prepare(tiny_shakespeare(), SEQ_LEN)
    make, way = LAYERS[name]
    torch.manual_seed(seed)
    model = small_model(len(tokenizer), SEQ_LEN, make)
    batches = RandomWindows(training, SEQ_LEN, BATCH_SIZE, seed)
    started = time.process_time()
    mixed = bool(list(routers(model)))
    if mixed:
        greatest = fit_balanced(way, model, batches, STEPS)
    else:
        train(model, batches.at, [adamw(model)], STEPS)
    found = {
        "seconds": time.process_time() - started,
        "loss": evaluate(model, validation, SEQ_LEN),
        "parameters": sum(p.numel() for p in model.parameters()),
        "active": active(model),
    }
    if mixed:
        found["loads"] = held_out_load(model, validation, SEQ_LEN).tolist()
        found["greatest"] = greatest.view(-1, 20, greatest.shape[1]).mean(dim=1).tolist()
        found["letters"] = letters(model, tokenizer, validation)
    return found


def measure(runner: Runner) -> Runs:
    r"""Each layer, from each seed."""
    return runner.runs(trained, LAYERS, SEEDS)


def loads(runs: Runs, ways: tuple[str, ...]) -> str:
    r"""A bar for each expert of the second layer, of the first seed; 1 is an equal share."""
    figure, all_axes = new(6.4, 2.4, columns=len(ways))
    highest = max(max(runs[way][0]["loads"][-1]) for way in ways)
    for axes, way in zip(all_axes, ways, strict=True):
        axes.bar(range(1, N_EXPERTS + 1), runs[way][0]["loads"][-1], color=ACCENT)
        axes.axhline(1, color=INK, linewidth=0.8, linestyle="--")
        axes.set(ylim=(0, 1.05 * highest), xticks=[1, N_EXPERTS], xlabel="expert")
        axes.set_title(way, fontsize=10)
        for side in ("top", "right"):
            axes.spines[side].set_visible(False)
    all_axes[0].set_ylabel("load")
    return svg(figure, "experts-loads")


def map_of_letters(runs: Runs) -> str:
    r"""Which share of a letter's choices goes to which expert of the first layer."""
    figure, (axes,) = new(6.4, 5.2)
    one = runs["experts, bias"][0]["letters"]
    names = [{" ": "space", "\n": "line"}.get(name, name) for name in one["letters"]]
    heat_map(axes, one["shares"][0], names, [str(n + 1) for n in range(N_EXPERTS)])
    axes.set_xlabel("expert")
    return svg(figure, "experts-letters")


def row(name: str, runs: Sequence[Found]) -> dict[str, Any]:
    r"""What the table says about a layer."""
    loads = [layer for one in runs for layer in one.get("loads", ())]
    return {
        "layer": name,
        "parameters": runs[0]["parameters"],
        "active": runs[0]["active"],
        **spread("loss", numbers(runs, "loss")),
        "most": mean(map(max, loads)) if loads else "–",
        "least": mean(map(min, loads)) if loads else "–",
        "seconds": mean_of(runs, "seconds"),
    }


def change(runs: Runs, name: str, other: str) -> dict[str, float]:
    r"""By how much the loss changes with another layer, seed by seed: the least and the most."""
    both = zip(runs[name], runs[other], strict=True)
    found = [new["loss"] - old["loss"] for old, new in both]
    return {"least": min(found), "most": max(found)}


def report(runs: Runs) -> Report:
    r"""The losses, the loads, and which letters go where."""
    balanced = ("experts, no balancing", "experts, loss", "experts, bias")
    losses = {name: numbers(of, "loss") for name, of in runs.items()}
    rows = [row(name, of) for name, of in runs.items()]
    guessed = [one["letters"]["guessed"] for one in runs["experts, bias"]]
    return {
        "values": {
            "steps": STEPS,
            "change": {
                "loss": change(runs, "experts, no balancing", "experts, loss"),
                "bias": change(runs, "experts, no balancing", "experts, bias"),
                "half": change(runs, "experts, bias", "experts of half the width"),
                "shared": change(runs, "experts, bias", "half the width, one shared"),
            },
            # The greatest load in the second layer without balancing, in means of 20 steps.
            "unbalanced": {
                "first": mean(one["greatest"][0][-1] for one in runs[balanced[0]]),
                "peak": mean(max(at[-1] for at in one["greatest"]) for one in runs[balanced[0]]),
                "last": mean(one["greatest"][-1][-1] for one in runs[balanced[0]]),
            },
            # How much of what the large network is better than the small one.
            "gained": (rows[0]["loss"] - rows[3]["loss"]) / (rows[0]["loss"] - rows[1]["loss"]),
            "guessed": {
                "first": mean(layers[0] for layers in guessed),
                "second": mean(layers[1] for layers in guessed),
            },
            "highest": max(load for one in runs[balanced[0]] for load in map(max, one["loads"])),
            "notebook_seconds": sum(one["seconds"] for one in rows if one["layer"] in balanced),
        },
        "tables": {
            "layers": table(COLUMNS, rows),
            "balancing": table(
                [one for one in COLUMNS if one["name"] not in SIZES_AND_TIME],
                [one for one in rows if one["layer"] in balanced],
            ),
        },
        "figures": {
            "losses": {
                "title": "The loss with each layer",
                "picture": drawn(losses, "Loss (nats)", "experts-losses"),
            },
            "loads": {
                "title": "The load of each expert of the second layer",
                "picture": loads(runs, balanced),
            },
            "letters": {
                "title": "Which experts of the first layer a letter goes to",
                "picture": map_of_letters(runs),
            },
            "greatest": {
                "title": "The greatest load in the second layer",
                "x": {"title": "Step"},
                "y": {"title": "Greatest load", "low": 1},
                "lines": [
                    {
                        "name": way,
                        "points": [
                            [20 * at + 20, load[-1]]
                            for at, load in enumerate(runs[way][0]["greatest"])
                        ],
                    }
                    for way in balanced
                ],
            },
        },
    }


EXPERIMENT = Experiment(
    title="Experts in a small transformer",
    measure=measure,
    report=report,
    small={"SEEDS": (1, 2), "STEPS": 20},
)
