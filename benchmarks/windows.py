r"""
How short can a window be, and must the model be trained with it?

The small transformer of two layers is trained on Tiny Shakespeare with windows of several lengths,
from three seeds. The one without a window also gets each window after its training. The result is
results/windows.json.
"""

import torch
from torch import Tensor

from benchmarks.library.experiment import Experiment, Report, Runner
from benchmarks.library.ranges import Runs, numbers, spread
from benchmarks.library.tables import column, table
from labml_nn.training import loop
from labml_nn.training.data import RandomWindows, prepare, tiny_shakespeare
from labml_nn.transformers.basic.autoregressive_model import AutoregressiveTransformer
from labml_nn.transformers.memory.sliding_window import SlidingWindowAttention, window_mask
from labml_nn.transformers.mha import MultiHeadAttention

SEEDS, STEPS = (1, 2, 3), 500
D_MODEL, HEADS, LAYERS, SEQ_LEN = 64, 4, 2, 64
# The last one hides nothing.
WINDOWS = (2, 4, 8, 16, 32, 64)


def trained(window: int, seed: int) -> dict[str, float]:
    r"""The loss of a model that was trained with the window; without one, also of all windows."""
    tokenizer, training, validation = prepare(tiny_shakespeare(), SEQ_LEN)
    torch.manual_seed(seed)

    def attention(heads: int, d_model: int, dropout_prob: float) -> MultiHeadAttention:
        return SlidingWindowAttention(heads, d_model, dropout_prob, window=window)

    sizes = (D_MODEL, HEADS, LAYERS, 4 * D_MODEL, SEQ_LEN)
    model = AutoregressiveTransformer(len(tokenizer), *sizes, attention=attention)
    batches = RandomWindows(training, SEQ_LEN, 12, seed)
    loop.train(model, batches.at, [loop.adamw(model)], STEPS)

    def loss(mask: Tensor) -> float:
        model.mask = mask
        return loop.evaluate(model, validation, SEQ_LEN)

    found = {"loss": loss(model.mask)}
    if window == SEQ_LEN:
        found |= {str(one): loss(window_mask(SEQ_LEN, one)) for one in WINDOWS}
    return found


def measure(runner: Runner) -> Runs:
    r"""All windows, from each seed."""
    return runner.runs(trained, WINDOWS, SEEDS)


def report(runs: Runs) -> Report:
    r"""A row for each window."""
    plain = runs[SEQ_LEN]
    rows = [
        {
            "window": str(window) if window < SEQ_LEN else "none",
            "reach": min(LAYERS * (window - 1) + 1, SEQ_LEN),
            **spread("loss", numbers(runs[window], "loss")),
            "after": sum(numbers(plain, str(window))) / len(plain),
        }
        for window in WINDOWS
    ]
    columns = [
        column("window", "Window"),
        column("reach", "Receptive field"),
        column("loss", "Trained with it", 3),
        column("low", "lowest", 3),
        column("high", "highest", 3),
        column("after", "Put on afterwards", 3),
    ]
    return {
        "values": {"steps": STEPS, "layers": LAYERS, "seq_len": SEQ_LEN, "seeds": len(SEEDS)},
        "tables": {"windows": table(columns, rows)},
    }


EXPERIMENT = Experiment(
    title="Windows of several lengths, in training and afterwards",
    measure=measure,
    report=report,
    small={"SEEDS": (1, 2), "STEPS": 3},
)
