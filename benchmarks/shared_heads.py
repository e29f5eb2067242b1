r"""
Sharing heads between queries: do the keys cost anything, or the values? And what if the groups are
mixed up?

The small transformer of benchmarks/families.py is trained from two seeds. All of its four heads
share the keys alone, or the values alone; or two heads share a head of both, and after the training
they take theirs in turns. The result is results/shared_heads.json.
"""

import torch
from torch import Tensor

from benchmarks.library.experiment import Experiment, Report, Runner
from benchmarks.library.ranges import Runs, mean_of, numbers, spread
from benchmarks.library.tables import column, low_and_high, table
from labml_nn.training import loop
from labml_nn.training.data import RandomWindows, prepare, tiny_shakespeare
from labml_nn.transformers.basic.autoregressive_model import AutoregressiveTransformer
from labml_nn.transformers.memory.grouped_query import GroupedQueryAttention, PrepareSharedHeads
from labml_nn.transformers.mha import MultiHeadAttention, PrepareForMultiHeadAttention

SEEDS, STEPS, SEQ_LEN, BATCH_SIZE = (1, 2, 3), 500, 64, 12
D_MODEL, HEADS, LAYERS = 64, 4, 2
KEYS, VALUES, BOTH = "the keys alone", "the values alone", "two heads of keys and values"


class KeysInTurns(PrepareForMultiHeadAttention):
    r"""The heads 0 1 0 1, where their queries were trained with 0 0 1 1."""

    def forward(self, x: Tensor) -> Tensor:
        return super().forward(x).repeat(1, 1, HEADS // self.heads, 1)


def attention(name: str) -> MultiHeadAttention:
    r"""Attention that shares what the name says."""
    if name == BOTH:
        return GroupedQueryAttention(HEADS, D_MODEL, 0.0, key_heads=2)
    made = MultiHeadAttention(HEADS, D_MODEL, 0.0)
    shared = PrepareSharedHeads(D_MODEL, 1, HEADS, D_MODEL // HEADS, bias=True)
    setattr(made, "key" if name == KEYS else "value", shared)
    return made


def in_turns(shared: PrepareSharedHeads) -> KeysInTurns:
    r"""The same weights, for other heads."""
    made = KeysInTurns(D_MODEL, shared.heads, shared.d_k, bias=True)
    made.load_state_dict(shared.state_dict())
    return made


def trained(name: str, seed: int) -> dict[str, float]:
    r"""The loss of one model; and with groups, that of the same weights in turns."""
    tokenizer, training, validation = prepare(tiny_shakespeare(), SEQ_LEN)
    torch.manual_seed(seed)
    sizes = (D_MODEL, HEADS, LAYERS, 4 * D_MODEL, SEQ_LEN)
    model = AutoregressiveTransformer(len(tokenizer), *sizes)
    for layer in model.encoder.layers:
        layer.self_attn = attention(name)
    batches = RandomWindows(training, SEQ_LEN, BATCH_SIZE, seed)
    loop.train(model, batches.at, [loop.adamw(model)], STEPS)
    found = {"loss": loop.evaluate(model, validation, SEQ_LEN)}
    if name == BOTH:
        for layer in model.encoder.layers:
            layer.self_attn.key = in_turns(layer.self_attn.key)
            layer.self_attn.value = in_turns(layer.self_attn.value)
        found["turns"] = loop.evaluate(model, validation, SEQ_LEN)
    return found


def measure(runner: Runner) -> Runs:
    r"""Each of them from the first two seeds."""
    return runner.runs(trained, (BOTH, KEYS, VALUES), SEEDS[:2])


def report(found: Runs) -> Report:
    r"""The losses, and what mixed groups come to."""
    rows = [
        {"shared": name, **spread("loss", numbers(runs, "loss"))} for name, runs in found.items()
    ]
    columns = [
        column("shared", "Shared"),
        column("loss", "Loss", 3, "nats"),
        *low_and_high(),
    ]
    return {
        "values": {
            "steps": STEPS,
            "seeds": len(found[BOTH]),
            "turns": mean_of(found[BOTH], "turns"),
        },
        "tables": {"shared": table(columns, rows)},
    }


EXPERIMENT = Experiment(
    title="Shared keys, shared values, and groups that are mixed up",
    measure=measure,
    report=report,
    small={"SEEDS": (1, 2), "STEPS": 2},
)
