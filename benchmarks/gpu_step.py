r"""
What a training step on a GPU consists of: its kernels, how long they take, and how long it takes.

The preset for a GPU makes some steps, plain and with a CUDA graph, from the same weights. `gpu`
records what is found here; by itself, this prints it:

    python -m benchmarks.gpu_step                # on a machine with a CUDA GPU; half a minute
    python -m benchmarks.gpu_step --device cpu   # anywhere, with tiny sizes: it shows that it runs
"""

import argparse
import json
import statistics
import sys
import time
from typing import Any

import torch
from torch import Tensor
from torch.autograd import DeviceType
from torch.profiler import profile

from labml_nn.training.data import tiny_shakespeare
from labml_nn.training.engine.presets import PRESETS
from labml_nn.training.engine.text import prepare_text
from labml_nn.training.engine.trainer import Trainer
from labml_nn.training.loop import train

# Steps before the clock starts, and steps that are timed.
FIRST = 10
TIMED = 60
PROFILED = 3
TINY = {
    "steps": 100,
    "batch_size": 2,
    "seq_len": 8,
    "d_model": 12,
    "heads": 2,
    "n_layers": 2,
    "d_ff": 16,
}


def made(device: str, cuda_graph: bool) -> Trainer:
    r"""A trainer of the preset, at its first step."""
    sizes = TINY if device == "cpu" else {}
    preset = PRESETS["gpu"]
    config = preset.make_config({"device": device, "cuda_graph": cuda_graph, **sizes})
    return preset.make_trainer(config, prepare_text(tiny_shakespeare(), config.seq_len, None))


def wait(trainer: Trainer) -> None:
    r"""Until the GPU is done."""
    if trainer.device.type == "cuda":
        torch.cuda.synchronize()


def steps(trainer: Trainer, n: int) -> tuple[list[float], list[float]]:
    r"""The milliseconds of each of `n` steps, with all that the GPU does in it, and its loss."""
    times: list[float] = []
    losses: list[float] = []
    began = time.perf_counter()

    def after_step(step: int, loss: Tensor) -> None:
        nonlocal began
        wait(trainer)
        times.append(1000 * (time.perf_counter() - began))
        losses.append(loss.item())
        began = time.perf_counter()

    train(
        trainer.replica,
        trainer.batch_at,
        [trainer.mixed],
        n,
        # The rates of the first steps of the whole run.
        schedule=lambda step, _: trainer.share_of_rate(step, trainer.config.steps),
        gradients=trainer.gradients,
        clip=trainer.mixed.clip,
        after_step=after_step,
    )
    return times, losses


def kernels(trainer: Trainer) -> dict[str, float]:
    r"""How many kernels a step has, copies in memory included, and their milliseconds together."""
    with profile(acc_events=True) as profiled:
        steps(trainer, PROFILED)
    found = [
        one
        for one in profiled.key_averages()
        # PyTorch marks the time of an optimizer's step on the GPU, too. That is no kernel.
        if one.device_type != DeviceType.CPU and not one.key.startswith("Optimizer.")
    ]
    microseconds = sum(one.self_device_time_total for one in found)
    return {
        "kernels": round(sum(one.count for one in found) / PROFILED),
        "busy": microseconds / PROFILED / 1000,
    }


def measured(device: str = "cuda") -> dict[str, Any]:
    r"""
    Both ways.

    * `step` is the median of the milliseconds of a step, and `busy` how long the GPU computes in it
    * `apart` is the largest difference of a loss in the first steps from that of a plain run:
      a GPU may add numbers in another order each time, so two plain runs differ, too
    """
    expected = steps(made(device, cuda_graph=False), FIRST)[1]
    found: dict[str, Any] = {}
    for name, cuda_graph in (("plain", False), ("graph", True)):
        trainer = made(device, cuda_graph)
        losses = steps(trainer, FIRST)[1]
        apart = max(abs(a - b) for a, b in zip(losses, expected, strict=True))
        times, _ = steps(trainer, TIMED)
        step = statistics.median(times)
        found[name] = {"step": step, "apart": apart, **kernels(trainer)}
    return found


def main(arguments: list[str] | None = None) -> int:
    r"""Print what is found."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--device", default="cuda", choices=("cuda", "cpu"))
    device = parser.parse_args(arguments).device
    if device == "cuda" and not torch.cuda.is_available():
        print("there is no CUDA GPU here; --device cpu runs it anywhere", file=sys.stderr)
        return 1
    print(json.dumps(measured(device), indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
