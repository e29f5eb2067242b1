r"""
What does fused attention save?

One call forward and backward, hiding the future, of MultiHeadAttention, of FusedAttention with a
mask and with its flag, and of PyTorch's nn.MultiheadAttention with and without the weights as a
second result. Times are medians of rounds
in which each has its turn, so that a busy machine is as hard on one as on the other. Memory is what
a fresh process needs at most, beyond what it held before the call; the median of three processes.
"""

import argparse
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import torch
from torch import Tensor, nn

from labml_nn.transformers.fused_attention import FusedAttention
from labml_nn.transformers.mha import MultiHeadAttention, causal_mask

# Positions, sequences in a batch, heads, features, rounds.
FULL = (1024, 4, 8, 512, 7)
QUICK = (128, 2, 4, 64, 3)
# The memory of each kind is measured in a process of its own.
ITSELF = (sys.executable, "-m", "benchmarks", "attention")
# What the others are compared with.
BASE = "fused, flag"

Attend = Callable[[Tensor, Tensor], Tensor]


def ours(attention: nn.Module, flag: bool = False) -> Attend:
    r"""An attention of the site, as a function of a sequence and a mask."""
    return lambda x, mask: attention(query=x, key=x, value=x, mask=None if flag else mask)


def theirs(heads: int, d_model: int, need_weights: bool) -> Attend:
    r"""PyTorch's attention, whose mask is true where it must not look."""
    attention = nn.MultiheadAttention(d_model, heads)

    def attend(x: Tensor, mask: Tensor) -> Tensor:
        result, _ = attention(x, x, x, attn_mask=~mask[..., 0], need_weights=need_weights)
        return result

    return attend


KINDS: dict[str, Callable[[int, int], Attend]] = {
    "fused, flag": lambda heads, d_model: ours(
        FusedAttention(heads, d_model, 0.0, is_causal=True), flag=True
    ),
    "fused, mask": lambda heads, d_model: ours(FusedAttention(heads, d_model, 0.0)),
    "readable": lambda heads, d_model: ours(MultiHeadAttention(heads, d_model, 0.0)),
    "torch, no weights": lambda heads, d_model: theirs(heads, d_model, need_weights=False),
    "torch, weights": lambda heads, d_model: theirs(heads, d_model, need_weights=True),
}


def step(attend: Attend, x: Tensor, mask: Tensor) -> None:
    r"""Forward and backward once."""
    attend(x, mask).sum().backward()


def seconds(sizes: tuple[int, ...]) -> dict[str, float]:
    r"""The median time of a step of each kind."""
    seq_len, batch_size, heads, d_model, rounds = sizes
    attends = {name: make(heads, d_model) for name, make in KINDS.items()}
    x = torch.randn(seq_len, batch_size, d_model, requires_grad=True)
    mask = causal_mask(seq_len)
    taken: dict[str, list[float]] = {name: [] for name in KINDS}
    for _ in range(rounds + 1):
        for name, attend in attends.items():
            start = time.perf_counter()
            step(attend, x, mask)
            taken[name].append(time.perf_counter() - start)
    # The first round warms up.
    return {name: statistics.median(times[1:]) for name, times in taken.items()}


def status(field: str) -> int:
    r"""A number of bytes that Linux tells about this process."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(f"{field}:"):
            return int(line.split()[1]) * 1024
    raise ValueError(f"/proc/self/status has no line {field}")


def extra_bytes(name: str, sizes: tuple[int, ...]) -> int:
    r"""How much more memory than before this process needs at most for one step."""
    seq_len, batch_size, heads, d_model, _ = sizes
    attend = KINDS[name](heads, d_model)
    x = torch.randn(seq_len, batch_size, d_model, requires_grad=True)
    mask = causal_mask(seq_len)
    # What is set up once, at the first step of any size, is not counted.
    step(attend, x[:2].detach().requires_grad_(), mask[:2, :2])
    Path("/proc/self/clear_refs").write_text("5")  # the peak so far is forgotten
    before = status("VmHWM")
    step(attend, x, mask)
    return status("VmHWM") - before


def main() -> int:
    r"""Print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="small sizes: does it run at all?")
    parser.add_argument("--memory-of", choices=KINDS, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    sizes = QUICK if arguments.quick else FULL
    if arguments.memory_of:
        print(extra_bytes(arguments.memory_of, sizes))
        return 0
    if not Path("/proc/self/clear_refs").exists():
        print("attention.py: needs Linux, whose /proc tells the peak of memory.", file=sys.stderr)
        return 1

    memory = {}
    for name in KINDS:
        command = [*ITSELF, *sys.argv[1:], "--memory-of", name]
        memory[name] = statistics.median(
            int(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)
            for _ in range(3)
        )
    times = seconds(sizes)

    seq_len, batch_size, heads, d_model, rounds = sizes
    print(f"One step forward and backward, {torch.get_num_threads()} threads, {rounds} rounds:")
    print(f"{seq_len} positions, batch of {batch_size}, {heads} heads, {d_model} features\n")
    print(f"{'':18}{'time':>10}{'':>9}{'extra memory':>16}{'':>9}")
    for name in KINDS:
        print(
            f"{name:18}{times[name] * 1e3:>7.1f} ms{times[name] / times[BASE]:>7.1f} x"
            f"{memory[name] / 2**20:>12.1f} MiB{memory[name] / memory[BASE]:>7.1f} x"
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
