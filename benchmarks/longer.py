r"""
Where do the losses of counting and of a transformer part?

The classic transformer is trained for more and more steps, and on more and more of the text, and
compared with counted letters. The result is results/longer.json, to which the course refers. It
takes half an hour on two cores.
"""

import torch

from benchmarks.library.experiment import Experiment, Report, Runner
from labml_nn.training.counting import BackOff
from labml_nn.training.data import RandomWindows, prepare, tiny_shakespeare
from labml_nn.training.loop import adamw, evaluate, train
from labml_nn.transformers.basic.autoregressive_model import (
    AutoregressiveTransformer,
)
from labml_nn.transformers.fused_attention import FusedAttention

SEQ_LEN, BATCH_SIZE, SEED = 64, 12, 1
LENGTHS = (250, 500, 1000, 2000, 4000, 8000)
# One of so many parts of the training text, its beginning, and the steps for it.
PARTS, STEPS = (64, 16, 4, 1), 2000
TOKENIZER, TRAINING, VALIDATION = prepare(tiny_shakespeare(), SEQ_LEN)


def trained(steps: int, part: int = 1) -> float:
    r"""The validation loss of the classic model after so many steps on a part of the text."""
    torch.manual_seed(SEED)
    model = AutoregressiveTransformer(len(TOKENIZER), attention=FusedAttention)
    tokens = TRAINING[: len(TRAINING) // part]
    train(model, RandomWindows(tokens, SEQ_LEN, BATCH_SIZE, SEED).at, [adamw(model)], steps)
    return evaluate(model, VALIDATION, SEQ_LEN)


def counted(part: int = 1) -> float:
    r"""The validation loss of counting in a part of the text, with the best length of context."""
    text = TOKENIZER.decode(TRAINING[: len(TRAINING) // part])
    validation = TOKENIZER.decode(VALIDATION)
    return min(BackOff(text, n, TOKENIZER.symbols).loss(validation, SEQ_LEN) for n in range(1, 6))


def measure(runner: Runner) -> dict[str, dict[int, float]]:
    r"""Count in each part of the text, and train for longer, and on less."""
    counts = runner.all([(counted, part) for part in PARTS])
    losses = runner.all([(trained, steps) for steps in LENGTHS])
    texts = runner.all([(trained, STEPS, *([part] if part > 1 else [])) for part in PARTS])
    return {
        "counts": dict(zip(PARTS, counts, strict=True)),
        "losses": dict(zip(LENGTHS, losses, strict=True)),
        "texts": dict(zip(PARTS, texts, strict=True)),
    }


def report(found: dict[str, dict[int, float]]) -> Report:
    r"""Losses by steps, and by the length of the text."""
    counts, losses, texts = found["counts"], found["losses"], found["texts"]
    sizes = {part: len(TRAINING) // part for part in PARTS}
    return {
        "values": {
            "counted": counts[1],
            "steps": {str(steps): loss for steps, loss in losses.items()},
            "texts": {
                str(part): {"characters": sizes[part], "counted": counts[part], "trained": loss}
                for part, loss in texts.items()
            },
        },
        "figures": {
            "steps": {
                "title": "The loss of a longer training",
                "x": {"title": "Steps", "scale": "log"},
                "y": {"title": "Loss", "unit": "nats"},
                "lines": [
                    {"name": "Classic transformer", "points": [[*one] for one in losses.items()]},
                    {
                        "name": "Counting four letters back",
                        "points": [[steps, counts[1]] for steps in LENGTHS],
                    },
                ],
            },
            "texts": {
                "title": "The loss with more text",
                "x": {"title": "Characters of training text", "scale": "log"},
                "y": {"title": "Loss", "unit": "nats"},
                "lines": [
                    {
                        "name": "Classic transformer, 2,000 steps",
                        "points": [[sizes[part], texts[part]] for part in PARTS],
                    },
                    {
                        "name": "Counting, best context",
                        "points": [[sizes[part], counts[part]] for part in PARTS],
                    },
                ],
            },
        },
    }


EXPERIMENT = Experiment(
    title="Counting and training, for longer and on more text",
    measure=measure,
    report=report,
    small={"LENGTHS": (1, 2), "STEPS": 2, "PARTS": (4, 1)},
    threads=None,
)
