r"""
What does each of the four ways of writing attention cost?

One call forward and backward for one sequence under a causal mask, by its number of positions: the
four ways with the same weights, and PyTorch's scaled_dot_product_attention with the same
projections, with which all of them are compared. Times are medians of rounds in which each has its
turn, another one first in each round. Memory is the most that PyTorch's allocator has handed out at
any moment of the call, beyond what it had before: no matter how busy the machine is, it is the same
number each time.

The results are written to results/ways.json, from which the site draws its figures.
"""

import os
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import accumulate
from operator import itemgetter

import torch
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention
from torch.profiler import ProfilerActivity, profile

from benchmarks.library.experiment import Experiment, Report, Runner
from benchmarks.library.tables import column
from labml_nn.transformers.mha import MultiHeadAttention
from labml_nn.transformers.ways.side_by_side import attend, four_ways

HEADS, D_MODEL = 8, 256
LENGTHS = (64, 128, 256, 512, 1024, 2048, 4096)
# At most so many rounds for a length.
MOST_ROUNDS = 40
NAMES = ("sequence first", "batch first", "folded heads", "one head at a time")
KERNEL = "PyTorch's kernel"
MIB = 2**20

# A step of a given length: the sequence, forward and backward.
Step = Callable[[Tensor], None]


def rounds(seq_len: int) -> int:
    r"""How often a length is measured: short ones are cheap, and noisy."""
    return max(5, min(40, 20 * 512 // seq_len))


def kernel(attention: MultiHeadAttention, x: Tensor) -> Tensor:
    r"""The projections of an attention, and PyTorch's kernel between them."""
    layers = (attention.query, attention.key, attention.value)
    query, key, value = (layer(x).transpose(1, 2) for layer in layers)
    mean = scaled_dot_product_attention(query, key, value, is_causal=True)
    return attention.output(mean.transpose(1, 2).flatten(start_dim=2))


def steps() -> dict[str, Step]:
    r"""The four ways and the kernel, each as a step."""
    ways = four_ways(HEADS, D_MODEL)
    first = ways["sequence first"]

    def step_of(name: str) -> Step:
        return lambda x: attend(name, ways[name], x).sum().backward()

    found = {name: step_of(name) for name in NAMES}
    found[KERNEL] = lambda x: kernel(first, x).sum().backward()
    return found


def sequence(seq_len: int) -> Tensor:
    r"""One sequence."""
    return torch.randn(1, seq_len, D_MODEL, requires_grad=True)


def seconds(seq_len: int, most: int) -> dict[str, float]:
    r"""The median time of a step of each, in no more rounds than `most`."""
    todo = list(steps().items())
    x = sequence(seq_len)
    taken: dict[str, list[float]] = {name: [] for name, _ in todo}

    # The first round warms up; then each in turn begins a round.
    for _ in range(min(rounds(seq_len), most) + 1):
        for name, step in todo:
            start = time.perf_counter()
            step(x)
            taken[name].append(time.perf_counter() - start)
        todo = todo[1:] + todo[:1]
    return {name: statistics.median(times[1:]) for name, times in taken.items()}


@contextmanager
def errors_hidden() -> Iterator[None]:
    r"""The profiler reports each start and stop, past Python's own streams."""
    sys.stderr.flush()
    kept = os.dup(2)
    with open(os.devnull, "wb") as nowhere:
        os.dup2(nowhere.fileno(), 2)
    try:
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)


def extra_bytes(step: Step, seq_len: int) -> int:
    r"""The most that PyTorch holds at any moment of one step, beyond what it held before."""
    x = sequence(seq_len)

    # Gradients of the weights are there from the first step on, and are only added to.
    step(sequence(2))
    measured = profile(activities=[ProfilerActivity.CPU], profile_memory=True)
    with errors_hidden(), measured as profiler:
        step(x)
    events = profiler.profiler.kineto_results.events()
    changes = [(one.start_ns(), one.nbytes()) for one in events if one.name() == "[memory]"]
    return max(accumulate(size for _, size in sorted(changes, key=itemgetter(0))))


def figure(title: str, what: str, unit: str, numbers: dict[str, dict[int, float]]) -> dict:
    r"""The lines of a figure, one for each way."""
    lines = [
        {"name": name, "points": [[seq_len, value] for seq_len, value in found.items()]}
        for name, found in numbers.items()
    ]
    return {
        "title": title,
        "x": {"title": "Positions", "scale": "log"},
        "y": {"title": what, "unit": unit, "scale": "log"},
        "lines": lines,
    }


def by_length(numbers: dict[str, dict[int, float]], unit: str, digits: int) -> dict:
    r"""The same numbers in rows, one for each way."""
    lengths = next(iter(numbers.values()))
    columns = [column("way", "Way")]
    columns += [
        {"name": str(length), "title": f"{length:,} positions", "unit": unit, "digits": digits}
        for length in lengths
    ]
    rows = [
        {"way": name, **{str(length): value for length, value in found.items()}}
        for name, found in numbers.items()
    ]
    return {"columns": columns, "rows": rows}


def measure(runner: Runner) -> Report:
    r"""Time and memory of each way, by the number of positions."""
    milliseconds: dict[str, dict[int, float]] = {name: {} for name in (*NAMES, KERNEL)}
    mebibytes: dict[str, dict[int, float]] = {name: {} for name in (*NAMES, KERNEL)}
    for seq_len in LENGTHS:
        for name, taken in seconds(seq_len, MOST_ROUNDS).items():
            milliseconds[name][seq_len] = taken * 1e3
        for name, step in steps().items():
            mebibytes[name][seq_len] = extra_bytes(step, seq_len) / MIB

    return {
        "values": {
            "heads": HEADS,
            "d_model": D_MODEL,
            "threads": torch.get_num_threads(),
            "rounds": {str(n): min(rounds(n), MOST_ROUNDS) for n in LENGTHS},
        },
        "tables": {
            "time": by_length(milliseconds, "ms", 1),
            "memory": by_length(mebibytes, "MiB", 1),
        },
        "figures": {
            "time": figure("Time of a step of each way", "Time", "ms", milliseconds),
            "memory": figure("Extra memory of a step of each way", "Memory", "MiB", mebibytes),
        },
    }


EXPERIMENT = Experiment(
    title="Four ways of writing attention",
    measure=measure,
    small={"LENGTHS": (64, 128), "MOST_ROUNDS": 2},
    threads=None,
)
