r"""
What does one gradient that is far too long do to a training?

A small transformer is trained on Tiny Shakespeare for 200 steps, from three seeds. In the middle
the gradient of one step is 1, 100 or 1,000 times as long, as a broken batch could make it, with
clipping and without. The result is results/odd_batch.json.
"""

import torch
from torch import Tensor, nn

from benchmarks.library.experiment import Experiment, Report, Runner
from benchmarks.library.ranges import Runs, mean_of, numbers, spread
from benchmarks.library.tables import column, table
from labml_nn.training import loop
from labml_nn.training.data import RandomWindows, prepare, tiny_shakespeare
from labml_nn.transformers.basic.autoregressive_model import AutoregressiveTransformer

SEEDS, STEPS, ODD = (1, 2, 3), 200, 100
D_MODEL, HEADS, LAYERS, SEQ_LEN, BATCH = 64, 4, 2, 32, 8
TIMES = (1, 100, 1000)
# How much of the validation text is used.
CHARACTERS = 20_000


def trained(name: str, seed: int) -> dict[str, float]:
    r"""The loss at the end; the name says how long the odd gradient is, and whether it is cut."""
    times, clips = name.split()
    tokenizer, training, validation = prepare(tiny_shakespeare(), SEQ_LEN)
    torch.manual_seed(seed)
    sizes = {"d_model": D_MODEL, "heads": HEADS, "n_layers": LAYERS, "d_ff": 4 * D_MODEL}
    model = AutoregressiveTransformer(len(tokenizer), seq_len=SEQ_LEN, **sizes)
    losses: list[float] = []

    def gradients(model: nn.Module, inputs: Tensor, targets: Tensor) -> Tensor:
        loss = loop.gradients(model, inputs, targets)
        if len(losses) == ODD:
            for weights in model.parameters():
                weights.grad.mul_(int(times))  # type: ignore[union-attr]
        return loss

    loop.train(
        model,
        RandomWindows(training, SEQ_LEN, BATCH, seed).at,
        [loop.adamw(model)],
        STEPS,
        gradients=gradients,
        clip=loop.clip_gradients if clips == "clipped" else lambda model: None,
        after_step=lambda step, loss: losses.append(loss.item()),
    )
    return {"loss": loop.evaluate(model, validation[:CHARACTERS], SEQ_LEN)}


def measure(runner: Runner) -> Runs:
    r"""All lengths, with and without clipping, from each seed."""
    names = [f"{times} {clips}" for times in TIMES for clips in ("whole", "clipped")]
    return runner.runs(trained, names, SEEDS)


def report(runs: Runs) -> Report:
    r"""A row for each length."""
    rows = [
        {
            "times": times,
            **spread("whole", numbers(runs[f"{times} whole"], "loss")),
            "clipped": mean_of(runs[f"{times} clipped"], "loss"),
        }
        for times in TIMES
    ]
    columns = [
        column("times", "Times as long"),
        column("whole", "Without clipping", 3, "nats"),
        column("low", "lowest", 3),
        column("high", "highest", 3),
        column("clipped", "With clipping", 3, "nats"),
    ]
    return {
        "values": {"steps": STEPS, "odd": ODD, "seeds": len(SEEDS)},
        "tables": {"lengths": table(columns, rows)},
    }


EXPERIMENT = Experiment(
    title="One gradient that is far too long",
    measure=measure,
    report=report,
    small={"SEEDS": (1, 2), "STEPS": 3, "ODD": 1, "CHARACTERS": 500},
)
