r"""
What can a network with a gate do that one without can hardly do? It can multiply.

Small networks learn the product of two numbers between -1 and 1, from three seeds: two without a
gate, and SwiGLU with fewer weights. Then they get larger numbers than in training. It takes a
few seconds. The result is results/gates.json.
"""

from collections.abc import Callable

import torch
from torch import Tensor, nn

from benchmarks.library.experiment import Experiment, Report, Runner
from benchmarks.library.ranges import Runs, mean_of
from benchmarks.library.tables import column, table
from labml_nn.transformers.feed_forward import FeedForward
from labml_nn.transformers.swiglu import SwiGLU

SEEDS, STEPS, BATCH, TESTS, RATE = (1, 2, 3), 1000, 256, 10_000, 0.01
# How far from zero the two numbers may be: as in training, and beyond it.
RANGES = (1, 2, 4)
NETWORKS: dict[str, Callable[[], nn.Module]] = {
    "ReLU": lambda: FeedForward(2, 24, 0.0),
    "GELU": lambda: FeedForward(2, 24, 0.0, nn.GELU),
    "SwiGLU": lambda: SwiGLU(2, 16),
}


def drawn(size: int, farthest: float) -> tuple[Tensor, Tensor]:
    r"""Pairs of numbers, and their products."""
    x = farthest * (2 * torch.rand(size, 2) - 1)
    return x, x.prod(dim=-1)


def trained(name: str, seed: int) -> dict[str, float]:
    r"""The errors of one network, as shares of the usual size of a product."""
    torch.manual_seed(seed)
    network = NETWORKS[name]()
    optimizer = torch.optim.Adam(network.parameters(), RATE)
    falling = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: 1 - step / STEPS)
    for _ in range(STEPS):
        x, product = drawn(BATCH, 1)
        # The first of the two features is the answer.
        loss = (network(x)[:, 0] - product).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        falling.step()
    found: dict[str, float] = {"weights": sum(p.numel() for p in network.parameters())}
    with torch.no_grad():
        for farthest in RANGES:
            x, product = drawn(TESTS, farthest)
            error = (network(x)[:, 0] - product).square().mean() / product.square().mean()
            found[f"error_{farthest}"] = error.sqrt().item()
        found["three_by_four"] = network(torch.tensor([[3.0, 4.0]]))[0, 0].item()
    return found


def measure(runner: Runner) -> Runs:
    r"""All networks, from each seed."""
    return runner.runs(trained, NETWORKS, SEEDS)


def report(runs: Runs) -> Report:
    r"""A row for each network."""
    names = ["weights", *(f"error_{farthest}" for farthest in RANGES), "three_by_four"]
    rows = [
        {"network": network, **{name: mean_of(found, name) for name in names}}
        for network, found in runs.items()
    ]
    columns = [
        column("network", "Network"),
        column("weights", "Weights", 0),
        column("error_1", "Error up to 1, as trained", 3),
        column("error_2", "up to 2", 3),
        column("error_4", "up to 4", 3),
        column("three_by_four", "3 · 4", 1),
    ]
    return {
        "values": {"steps": STEPS, "seeds": len(SEEDS)},
        "tables": {"products": table(columns, rows)},
    }


EXPERIMENT = Experiment(
    title="Networks that learn to multiply",
    measure=measure,
    report=report,
    small={"SEEDS": (1, 2), "STEPS": 3, "TESTS": 100},
)
