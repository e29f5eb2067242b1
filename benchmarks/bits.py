r"""
What does one wrong bit of a weight do to a model?

Small models of letters, built as GPT-2, are trained from three seeds. Then one bit at a time is
turned: each of the 32 bits of a number, in weights drawn at random. By how much does the loss rise?
The result is results/bits.json, to which labml_nn/pretrained/download.py refers. It takes four
minutes of one core.
"""

import math
from collections.abc import Mapping
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from benchmarks.library.experiment import Experiment, Report, Runner
from benchmarks.library.tables import column, table
from benchmarks.pretrained import BATCH_SIZE, SEQ_LEN, TRAINING, VALIDATION, fresh, with_weights
from labml_nn.training.data import RandomWindows, fixed_windows
from labml_nn.training.loop import adamw, train

SEEDS = (1, 2, 3)
STEPS = 1000
# So many weights for each bit, and so many windows of the text for each loss.
WEIGHTS, WINDOWS = 100, 40
# A rise of the loss from which on it is called harm, in nats.
HARM = 0.01
# The parts of a number in 32 bits, from the lowest bit to the highest.
PARTS = {
    "fraction, its lower half": range(12),
    "fraction, its upper half": range(12, 23),
    "exponent, but for its highest bit": range(23, 30),
    "exponent, its highest bit": range(30, 31),
    "sign": range(31, 32),
}


def trained(seed: int) -> dict[str, Tensor]:
    r"""The weights of a model."""
    torch.manual_seed(seed)
    model = fresh("gpt2")
    batches = RandomWindows(TRAINING, SEQ_LEN, BATCH_SIZE, seed)
    train(model, batches.at, [adamw(model)], STEPS)
    return model.state_dict()


def turn(tensor: Tensor, place: int, bit: int) -> None:
    r"""Turn a bit of a number; a second call turns it back."""
    numbers = tensor.view(-1).view(torch.int32)
    # The highest one is the sign of a whole number, too.
    numbers[place] ^= -(2**31) if bit == 31 else 2**bit


def loss_of(model: nn.Module) -> float:
    r"""The loss on the beginning of the validation text."""
    inputs, targets = fixed_windows(VALIDATION, SEQ_LEN)[0]
    logits = model(inputs[:, :WINDOWS])
    return F.cross_entropy(logits.flatten(0, 1), targets[:, :WINDOWS].flatten()).item()


@torch.no_grad()
def turned(seed: int, weights: Mapping[str, Tensor]) -> list[list[float | None]]:
    r"""For each bit, by how much the loss rises for some weights; None if it is no number."""
    model = with_weights("gpt2", weights)
    tensors = [one.data for one in model.parameters()]
    owners = torch.cat([torch.full((one.numel(),), at) for at, one in enumerate(tensors)])
    places = torch.cat([torch.arange(one.numel()) for one in tensors])
    generator = torch.Generator().manual_seed(seed)
    right = loss_of(model)
    rises: list[list[float | None]] = []
    for bit in range(32):
        rises.append([])
        for chosen in torch.randint(len(owners), (WEIGHTS,), generator=generator).tolist():
            tensor, place = tensors[owners[chosen]], int(places[chosen])
            turn(tensor, place, bit)
            rise = loss_of(model) - right
            turn(tensor, place, bit)
            rises[-1].append(rise if math.isfinite(rise) else None)
    assert loss_of(model) == right
    return rises


def row(name: str, rises: list[float | None]) -> dict[str, Any]:
    r"""What a wrong bit of a part does."""
    numbers = [rise for rise in rises if rise is not None]
    harm = sum(rise > HARM for rise in numbers)
    lost = len(rises) - len(numbers)
    return {
        "part": name,
        "harm": 100 * (harm + lost) / len(rises),
        "lost": 100 * lost / len(rises),
        "most": max(map(abs, numbers)),
    }


def measure(runner: Runner) -> list[list[list[float | None]]]:
    r"""Train the models, and turn bits of each."""
    models = runner.all([(trained, seed) for seed in SEEDS])
    jobs = zip(SEEDS, models, strict=True)
    return runner.all([(turned, seed, weights) for seed, weights in jobs])


def report(runs: list[list[list[float | None]]]) -> Report:
    r"""The rise of the loss, by the part of the number."""
    rows = [
        row(name, [rise for run in runs for bit in bits for rise in run[bit]])
        for name, bits in PARTS.items()
    ]
    rows.append(row("any", [rise for run in runs for bit in run for rise in bit]))
    columns = [
        column("part", "The wrong bit"),
        column("harm", "Loss higher by more than 0.01 nats", 1, "%"),
        column("lost", "The loss is no number", 1, "%"),
        column("most", "Largest change of the loss", 4, "nats"),
    ]
    bits = sum(len(bit) for run in runs for bit in run)
    return {"values": {"bits": bits, "harm": HARM}, "tables": {"parts": table(columns, rows)}}


EXPERIMENT = Experiment(
    title="One wrong bit in the weights of a small GPT-2",
    measure=measure,
    report=report,
    small={"SEEDS": (1, 2), "STEPS": 2, "WEIGHTS": 1, "WINDOWS": 2},
)
