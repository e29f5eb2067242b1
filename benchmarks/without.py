r"""
What fails without each part of the classic transformer?

The model of labml_nn/transformers/basic/autoregressive_model.py is trained with its recipe,
whole and with one part taken out or exchanged, from three seeds each. The result is
results/without.json, to which the pages refer.
"""

import time
from collections.abc import Callable
from contextlib import nullcontext
from functools import partial
from statistics import mean

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from benchmarks.library.experiment import Experiment, Report, Runner
from benchmarks.library.ranges import Runs, mean_of, numbers, spread
from benchmarks.library.tables import column, table
from benchmarks.pictures import heat_map, new, svg
from labml_nn.training import loop
from labml_nn.training.data import RandomWindows, prepare, tiny_shakespeare
from labml_nn.transformers.basic.autoregressive_model import (
    AutoregressiveTransformer,
)
from labml_nn.transformers.mha import MultiHeadAttention
from labml_nn.transformers.models import TransformerLayer

SEEDS = (1, 2, 3)
# What the pictures show: a beginning of eight characters.
BEGINNING = "First Ci"
# Training losses are averaged over so many steps for a point of a curve.
EVERY = 100
STEPS = 1000


class Silent(nn.Module):
    r"""In the place of a sublayer: adds nothing to the residual stream."""

    def forward(
        self, x: Tensor | None = None, *, query: Tensor | None = None, **_: Tensor
    ) -> Tensor:
        return torch.zeros_like(query if x is None else x)


class WithoutResidual(TransformerLayer):
    r"""What a sublayer computes replaces the stream."""

    def forward(self, *, x: Tensor, mask: Tensor | None = None) -> Tensor:
        z = self.norm_self_attn(x)
        x = self.dropout(self.self_attn(query=z, key=z, value=z, mask=mask))
        return self.dropout(self.feed_forward(self.norm_ff(x)))


class Unscaled(MultiHeadAttention):
    r"""The scores are not divided by the root of `d_k`."""

    def get_scores(self, query: Tensor, key: Tensor) -> Tensor:
        return super().get_scores(query * self.d_k**0.5, key)


def in_layers(
    name: str, make: Callable[[], nn.Module]
) -> Callable[[AutoregressiveTransformer], None]:
    r"""Exchanges one part of each layer."""

    def change(model: AutoregressiveTransformer) -> None:
        for layer in model.encoder.layers:
            setattr(layer, name, make())

    return change


def no_norms(model: AutoregressiveTransformer) -> None:
    r"""Nothing is normalised, before the sublayers and at the end."""
    for name in ("norm_self_attn", "norm_ff"):
        in_layers(name, nn.Identity)(model)
    model.encoder.norm = nn.Identity()


def as_class(layer: type[TransformerLayer]) -> Callable[[AutoregressiveTransformer], None]:
    r"""The same parts, put together in another way."""

    def change(model: AutoregressiveTransformer) -> None:
        for one in model.encoder.layers:
            one.__class__ = layer

    return change


def without_positions(model: AutoregressiveTransformer) -> None:
    model.embed.positions = nn.Identity()


def unmasked(model: AutoregressiveTransformer) -> None:
    model.mask.fill_(True)


# Title, arguments of the model, and what is changed in it.
Change = tuple[str, dict[str, object], Callable[[AutoregressiveTransformer], None]]
CHANGES: dict[str, Change] = {
    "whole": ("The whole model", {}, lambda model: None),
    "attention": ("No attention", {}, in_layers("self_attn", Silent)),
    "mask": ("No mask", {}, unmasked),
    "positions": ("No positions", {}, without_positions),
    "feed_forward": ("No feed-forward network", {}, in_layers("feed_forward", Silent)),
    "residual": ("No residual connections", {}, as_class(WithoutResidual)),
    "norm": ("No normalisation", {}, no_norms),
    "scaling": ("Scores not scaled", {"attention": Unscaled}, lambda model: None),
    "one_head": ("One wide head", {"heads": 1}, lambda model: None),
}


def precision() -> Callable[[], object]:
    r"""Matrix products in bfloat16 where the processor has instructions for them."""
    able = torch.cpu.get_capabilities()
    if able.get("avx512_bf16") or able.get("amx_bf16"):
        return partial(torch.autocast, "cpu", torch.bfloat16)
    return nullcontext


@torch.no_grad()
def honest(model: nn.Module, tokens: Tensor, seq_len: int, n_windows: int = 100) -> float:
    r"""The loss of predictions from prefixes alone: no later token is given, so none is seen."""
    windows = tokens[: n_windows * (seq_len + 1)].view(n_windows, seq_len + 1).t()
    model.eval()
    losses = [
        F.cross_entropy(model(windows[:end])[-1], windows[end]).item()
        for end in range(1, seq_len + 1)
    ]
    return mean(losses)


@torch.no_grad()
def seen(model: AutoregressiveTransformer, tokens: Tensor) -> dict[str, object]:
    r"""For the pictures: attention weights, and the size of the residual stream, of each layer."""
    attention, stream = [], []
    hooks = [
        layer.register_forward_pre_hook(
            lambda module, given, named: stream.append(named["x"].square().mean().sqrt().item()),
            with_kwargs=True,
        )
        for layer in model.encoder.layers
    ]
    last = model.encoder.norm.register_forward_pre_hook(
        lambda module, given: stream.append(given[0].square().mean().sqrt().item())
    )
    model(tokens)
    for hook in (*hooks, last):
        hook.remove()
    for layer in model.encoder.layers:
        attention.append(layer.self_attn.attn[:, :, 0].permute(2, 0, 1).tolist())
    return {"attention": attention, "stream": stream}


def trained(name: str, seed: int) -> dict[str, object]:
    r"""Trains one model and measures it."""
    tokenizer, training, validation = prepare(tiny_shakespeare(), 64)
    _, arguments, change = CHANGES[name]
    torch.manual_seed(seed)
    model = AutoregressiveTransformer(len(tokenizer), **arguments)
    change(model)
    losses: list[Tensor] = []
    start = time.perf_counter()
    loop.train(
        model,
        RandomWindows(training, 64, 12, seed).at,
        [loop.adamw(model)],
        STEPS,
        gradients=partial(loop.gradients, context=precision()),
        after_step=lambda step, loss: losses.append(loss),
    )
    seconds = time.perf_counter() - start
    found = {} if name != "whole" else seen(model, tokenizer.encode(BEGINNING).unsqueeze(1))
    return found | {
        "loss": loop.evaluate(model, validation, 64),
        "honest": honest(model, validation, 64) if name in ("whole", "mask") else None,
        "parameters": sum(parameter.numel() for parameter in model.parameters()),
        "seconds": seconds,
        "curve": torch.stack(losses).view(-1, EVERY).mean(1).tolist(),
    }


def measure(runner: Runner) -> Runs:
    r"""Each model, from each seed."""
    return runner.runs(trained, CHANGES, SEEDS)


def heads(layers: list[list[list[list[float]]]]) -> str:
    r"""The first head of each layer, as a picture."""
    letters = list(BEGINNING.replace(" ", "␣"))
    figure, all_axes = new(10, 2.9, columns=len(layers))
    for index, (axes, weights) in enumerate(zip(all_axes, layers, strict=True)):
        heat_map(axes, weights[0], letters, letters)
        axes.set_title(f"layer {index + 1}", fontsize=9)
    return svg(figure, "attention")


def report(runs: Runs) -> Report:
    r"""The losses, and what the whole model looks like inside."""
    rows = [
        {
            "model": CHANGES[name][0],
            **spread("loss", numbers(found, "loss")),
            "honest": mean_of(found, "honest") if found[0]["honest"] else "–",
            "parameters": found[0]["parameters"],
        }
        for name, found in runs.items()
    ]
    columns = [
        column("model", "Model"),
        column("loss", "Loss, mean of three seeds", 3, "nats"),
        column("low", "lowest", 3),
        column("high", "highest", 3),
        column("honest", "from prefixes alone", 3),
        column("parameters", "Parameters"),
    ]
    steps = [EVERY * (index + 1) for index in range(STEPS // EVERY)]
    return {
        "tables": {"without": table(columns, rows)},
        "figures": {
            "curves": {
                "title": "Training loss",
                "x": {"title": "Steps"},
                "y": {"title": "Loss", "unit": "nats"},
                "lines": [
                    {
                        "name": CHANGES[name][0],
                        "points": [
                            [step, mean(one["curve"][index] for one in runs[name])]
                            for index, step in enumerate(steps)
                        ],
                    }
                    for name in (
                        "whole",
                        "attention",
                        "positions",
                        "feed_forward",
                        "residual",
                        "norm",
                    )
                ],
            },
            "attention": {
                "title": "a row is a query, and its weights sum to one; the future is empty",
                "picture": heads(runs["whole"][0]["attention"]),
            },
            "stream": {
                "title": "The size of the residual stream",
                "x": {"title": "Layers passed"},
                "y": {"title": "Root mean square of its features"},
                "lines": [
                    {
                        "name": f"Seed {seed}",
                        "points": list(enumerate(one["stream"])),
                    }
                    for seed, one in zip(SEEDS, runs["whole"], strict=True)
                ],
            },
        },
    }


EXPERIMENT = Experiment(
    title="The classic transformer, whole and without each of its parts",
    measure=measure,
    report=report,
    small={"SEEDS": (1, 2), "STEPS": 4, "EVERY": 2},
)
