r"""
---
title: The Fastest Way to Make a Step
summary: Precision, attention and compilation, chosen by trying them on the machine.
---

The same step can be computed in several ways, and which is fastest depends on the machine:

* **Precision.** Products of [16-bit numbers](device.py) are several times faster than of 32-bit
  ones, where the hardware has instructions for them, and slower where it hasn't.
* **Attention.** [PyTorch's kernel](../transformers/fast_attention.py), or plain products.
* **Compilation.** `torch.compile` makes one loop of many small operations. That takes a while
  first, so it is for runs of some minutes.

Each can be told. Where it is `auto`, it is tried: a few steps in each way, on the model and the
batch that are to be trained with, without moving a weight or drawing a number of chance.

What is tried can come out differently tomorrow, and another way gives other last bits. So another
way than the usual one has to be faster by a tenth, a run that takes only seconds is not worth a
trial at all, and the choice becomes a part of the run's configuration, where it can be read,
recorded, and told the next time.
"""

import shutil
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace

import torch
from torch import Tensor, nn

from labml_nn.training.data import InputError
from labml_nn.training.device import autocast, choose_precision
from labml_nn.training.sharded import is_sharded, layers_of

# Shorter runs than this, in seconds, are left to the usual way, and so are longer ones that would
# end before a compiler has paid.
WORTH_A_TRIAL, WORTH_COMPILING = 10.0, 150.0


@dataclass(frozen=True)
class Way:
    r"""
    ## A way to make a step
    """

    precision: str
    attention: str
    compile: str

    def __str__(self) -> str:
        compiled = "compiled" if self.compile == "on" else "not compiled"
        return f"{self.precision}, attention by {self.attention}, {compiled}"


def usual_way(way: Way, device: torch.device, seq_len: int) -> Way:
    r"""
    ## Without a trial

    What `auto` is where nothing was tried. What is told stays.
    """
    for name, value, known in (
        ("attention", way.attention, ("auto", "kernel", "products")),
        ("compile", way.compile, ("auto", "on", "off")),
    ):
        if value not in known:
            raise InputError(f"unknown {name} {value!r}: use {known[0]}, {known[1]} or {known[2]}")
    precision = str(choose_precision(way.precision, device)).removeprefix("torch.")

    # Measured on two kinds of CPU: with 16 bits, products are faster below 512 positions.
    short = device.type == "cpu" and precision != "float32" and seq_len < 512
    attention = ("products" if short else "kernel") if way.attention == "auto" else way.attention

    # On a card a compiler pays nearly always. There it needs Triton, which isn't everywhere.
    able = device.type == "cuda" and torch.utils._triton.has_triton()
    compile = ("on" if able else "off") if way.compile == "auto" else way.compile
    return Way(precision, attention, compile)


def take(way: Way, model: nn.Module) -> Callable[[Tensor], Tensor]:
    r"""
    ## Prepare the model

    Returns what is to be called in its place.
    """
    for module in model.modules():
        if hasattr(module, "kernel"):
            module.kernel = way.attention == "kernel"
    return compiled(model) if way.compile == "on" else model


def compiled(model: nn.Module) -> Callable[[Tensor], Tensor]:
    r"""
    ## Compile the model, or its layers

    On a CPU the model is compiled as a whole: each call of something that is compiled takes a
    tenth of a thousandth of a second, which counts where a step takes ten of them.

    On a card the steps are larger and the compiler is slower. The layers of a model are alike, so
    each is compiled on its own: the compiler needs to see only one of each kind, and is done in a
    fraction of the time. [Shards](sharded.py) are put together layer by layer anyway.

    Whoever calls the model itself, to evaluate it or to write with it, gets it as it was: its
    batches have other shapes, and the compiler would begin anew.
    """
    on_cpu = all(parameter.device.type == "cpu" for parameter in model.parameters())
    found = [] if on_cpu and not is_sharded(model) else layers_of(model)
    layers = [(layer, torch.compile(layer.forward)) for layer in found]
    if not layers:
        return torch.compile(model)

    def predict(tokens: Tensor) -> Tensor:
        for layer, forward in layers:
            layer.forward = forward
        try:
            return model(tokens)
        finally:
            for layer, _ in layers:
                del layer.forward

    return predict


def seconds_of(
    loss: Callable[[Way, Callable[[Tensor], Tensor]], Tensor],
    ways: list[Way],
    model: nn.Module,
    device: torch.device,
    times: int = 4,
) -> list[float]:
    r"""
    ## How long a step takes

    In each of the `ways`. They take turns, so that a busy moment of the machine is as hard on one
    as on the other, and the shortest of some times counts, because whatever else a machine does
    only makes it longer. `loss` computes a loss in that way; gradients are computed, and thrown
    away.
    """
    shortest = [float("inf")] * len(ways)
    try:
        with torch.random.fork_rng([device] if device.type == "cuda" else []):
            for attempt in range(times + 1):
                for index, way in enumerate(ways):
                    predict = take(way, model)
                    start = time.perf_counter()
                    loss(way, predict).backward()
                    if device.type == "cuda":
                        torch.cuda.synchronize(device)
                    # The first time a compiler may be at work.
                    if attempt:
                        shortest[index] = min(shortest[index], time.perf_counter() - start)
    finally:
        model.zero_grad()
    return shortest


def fastest_way(
    told: Way,
    model: nn.Module,
    device: torch.device,
    seq_len: int,
    n_steps: int,
    loss: Callable[[Way, Callable[[Tensor], Tensor]], Tensor],
) -> Way:
    r"""
    ## Try, and choose

    `told` is the configuration, `n_steps` the number of steps to come.
    """
    best = usual_way(told, device, seq_len)
    if "auto" not in (told.precision, told.attention, told.compile) or device.type != "cpu":
        return best

    # The compiler comes last, in the way that is fastest without it: what it makes for the others
    # would be thrown away.
    best = replace(best, compile="off")
    [shortest] = seconds_of(loss, [best], model, device)
    if shortest * n_steps >= WORTH_A_TRIAL:
        best, shortest = better(loss, ways_like(best, told), model, device)

    on = replace(best, compile="on")
    if told.compile != "auto":
        return on if told.compile == "on" else best
    if shortest * n_steps > WORTH_COMPILING and shutil.which("g++") is not None:
        # Headers can be missing, or a folder can't be written to. Nobody asked for a compiler, so
        # nobody is stopped by one; `--compile on` shows what is wrong with it.
        with suppress(RuntimeError, OSError):
            best, _ = better(loss, [best, on], model, device)
    return best


def ways_like(usual: Way, told: Way) -> list[Way]:
    r"""
    ### What there is to try

    The usual way first, and whatever differs from it where nothing was told.
    """
    precisions = ("float32", "bfloat16") if told.precision == "auto" else (usual.precision,)
    attentions = ("kernel", "products") if told.attention == "auto" else (usual.attention,)
    others = [Way(p, a, usual.compile) for p in precisions for a in attentions]
    return [usual, *(way for way in others if way != usual)]


def better(
    loss: Callable[[Way, Callable[[Tensor], Tensor]], Tensor],
    ways: list[Way],
    model: nn.Module,
    device: torch.device,
) -> tuple[Way, float]:
    r"""
    ### Is another way better than the first?

    The fastest, if it is faster by a tenth, and its time.
    """
    seconds = seconds_of(loss, ways, model, device)
    fastest = min(range(len(ways)), key=seconds.__getitem__)
    chosen = fastest if seconds[fastest] < 0.9 * seconds[0] else 0
    return ways[chosen], seconds[chosen]


def example(seq_len: int = 7, batch_size: int = 3, d_model: int = 5) -> Tensor:
    r"""
    ## Example

    A single linear layer, for which nothing is worth a trial.
    """
    model, x = nn.Linear(d_model, d_model), torch.randn(seq_len, batch_size, d_model)
    device = torch.device("cpu")

    def loss(way: Way, predict: Callable[[Tensor], Tensor]) -> Tensor:
        with autocast(device, getattr(torch, way.precision)):
            return predict(x).square().mean()

    way = fastest_way(Way("float32", "auto", "auto"), model, device, seq_len, 10, loss)
    return take(way, model)(x)
