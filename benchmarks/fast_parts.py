r"""
What some measures of “Making it fast” save by themselves, at several sizes.

The result is results/fast_parts.json, to which those pages refer. Everything takes turns, and the
fastest turn counts, so other work on the machine hardly shows. It takes two minutes and a C++
compiler.
"""

import time
from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from benchmarks.library.experiment import Experiment, Report, Runner
from labml_nn.training.fast.compiled import between_products
from labml_nn.training.fast.one_projection import from_three
from labml_nn.transformers.basic.autoregressive_model import (
    AutoregressiveTransformer,
)
from labml_nn.transformers.mha import MultiHeadAttention

# The small transformer has 128 features, and its batches 768 tokens.
WIDTHS, TOKENS = (32, 64, 128, 256, 512), (192, 768, 3072, 12288, 49152)
TURNS = 60
Work = Callable[[], object]


def fastest(works: dict[str, Work]) -> dict[str, float]:
    r"""Milliseconds of each, in the fastest of so many turns."""
    found: dict[str, list[float]] = {name: [] for name in works}
    for turn in range(TURNS + 3):
        for name, work in works.items():
            begin = time.perf_counter()
            work()
            if turn >= 3:
                found[name].append(1000 * (time.perf_counter() - begin))
    return {name: min(times) for name, times in found.items()}


def projections(width: int) -> dict[str, Work]:
    r"""Queries, keys and values of a batch, forward only."""
    three = MultiHeadAttention(4, width, dropout_prob=0.0)
    one, x = from_three(three), torch.randn(64, 12, width)
    parts = (three.query, three.key, three.value)
    return {
        "Three products": torch.no_grad()(lambda: [part(x) for part in parts]),
        "One product": torch.no_grad()(lambda: one.project(x)),
    }


def optimizers(width: int) -> dict[str, Work]:
    r"""A step of AdamW for the small transformer, with layers of another width."""
    steps: dict[str, Work] = {}
    for name, how in (("Loop", {"foreach": False}), ("Lists", {"foreach": True})):
        steps[name] = stepping(width, **how)
    return steps | {"Fused": stepping(width, fused=True)}


def stepping(width: int, **how: bool) -> Work:
    r"""PyTorch's own AdamW, with gradients that stay the same."""
    model = AutoregressiveTransformer(66, width, d_ff=4 * width)
    for parameter in model.parameters():
        parameter.grad = torch.randn_like(parameter)
    return torch.optim.AdamW(model.parameters(), 1e-3, betas=(0.9, 0.99), **how).step


def small_operations(tokens: int) -> dict[str, Work]:
    r"""What stands between two matrix products, eagerly and compiled."""
    x, stream = torch.randn(2, tokens, 128)
    bias = torch.randn(128)
    torch._dynamo.reset()
    compiled: Callable[..., Tensor] = torch.compile(between_products, dynamic=False)
    return {
        "Eager": lambda: between_products(x, bias, stream),
        "Compiled": lambda: compiled(x, bias, stream),
    }


def lines(make: Callable[[int], dict[str, Work]], sizes: Sequence[int]) -> list[dict]:
    r"""One for each way, one point for each size."""
    points: dict[str, list[list[float]]] = {}
    for size in sizes:
        for name, milliseconds in fastest(make(size)).items():
            points.setdefault(name, []).append([size, milliseconds])
        print(make.__name__, size, {name: f"{one[-1][1]:.3f}" for name, one in points.items()})
    return [{"name": name, "points": found} for name, found in points.items()]


def measure(runner: Runner) -> Report:
    r"""Measure all of them."""
    figures = {
        "projections": (
            "queries, keys and values of 768 tokens, in three products and in one",
            "Features",
            lines(projections, WIDTHS),
        ),
        "optimizers": (
            "a step of AdamW for all parameters of the small transformer",
            "Features of the model",
            lines(optimizers, WIDTHS),
        ),
        "small_operations": (
            "bias, GELU, sum and normalisation of tokens with 128 features",
            "Tokens",
            lines(small_operations, TOKENS),
        ),
    }
    return {
        "figures": {
            name: {
                "title": title,
                "x": {"title": size, "scale": "log"},
                "y": {"title": "Time", "unit": "ms", "scale": "log"},
                "lines": found,
            }
            for name, (title, size, found) in figures.items()
        },
    }


EXPERIMENT = Experiment(
    title="Some measures by themselves, at several sizes",
    measure=measure,
    small={"WIDTHS": (32, 64), "TOKENS": (192, 768), "TURNS": 2},
    threads=None,
)
