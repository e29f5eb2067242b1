r"""
Where do the losses of counting and of a transformer part?

The classic transformer is trained for more and more steps, and on more and more of the text, and
compared with counted letters. The result is results/longer.json, to which the course refers. It
takes half an hour on two cores.
"""

import sys
from pathlib import Path

# As `python benchmarks/longer.py` from a checkout, nothing needs to be installed.
ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

import torch  # noqa: E402

from benchmarks.record import fingerprints, write  # noqa: E402
from labml_nn.training.counting import BackOff  # noqa: E402
from labml_nn.training.data import RandomWindows, prepare, tiny_shakespeare  # noqa: E402
from labml_nn.training.loop import adamw, evaluate, train  # noqa: E402
from labml_nn.transformers.basic.autoregressive_model import (  # noqa: E402
    AutoregressiveTransformer,
)
from labml_nn.transformers.fused_attention import FusedAttention  # noqa: E402

SEQ_LEN, BATCH_SIZE, SEED = 64, 12, 1
LENGTHS = (250, 500, 1000, 2000, 4000, 8000)
# One of so many parts of the training text, its beginning, and the steps for it.
PARTS, STEPS = (64, 16, 4, 1), 2000
SOURCES = [
    "labml_nn/training/counting.py",
    "labml_nn/training/data.py",
    "labml_nn/training/loop.py",
    "labml_nn/transformers/basic/autoregressive_model.py",
    "labml_nn/transformers/feed_forward.py",
    "labml_nn/transformers/fused_attention.py",
    "labml_nn/transformers/mha.py",
    "labml_nn/transformers/models.py",
    "labml_nn/transformers/positional_encoding.py",
    "benchmarks/longer.py",
]
TOKENIZER, TRAINING, VALIDATION = prepare(tiny_shakespeare(), SEQ_LEN)


def trained(steps: int, part: int = 1) -> float:
    r"""The validation loss of the classic model after so many steps on a part of the text."""
    torch.manual_seed(SEED)
    model = AutoregressiveTransformer(len(TOKENIZER), attention=FusedAttention)
    tokens = TRAINING[: len(TRAINING) // part]
    train(model, RandomWindows(tokens, SEQ_LEN, BATCH_SIZE, SEED).at, [adamw(model)], steps)
    loss = evaluate(model, VALIDATION, SEQ_LEN)
    print(f"classic, {steps} steps, 1/{part} of the text: {loss:.4f}", flush=True)
    return loss


def counted(part: int = 1) -> float:
    r"""The validation loss of counting in a part of the text, with the best length of context."""
    text = TOKENIZER.decode(TRAINING[: len(TRAINING) // part])
    validation = TOKENIZER.decode(VALIDATION)
    losses = [BackOff(text, n, TOKENIZER.symbols).loss(validation, SEQ_LEN) for n in range(1, 6)]
    print(f"counted, 1/{part} of the text: {losses}", flush=True)
    return min(losses)


def main() -> None:
    r"""Train, count, and write down what came out."""
    sources = fingerprints(SOURCES)
    counts = {part: counted(part) for part in PARTS}
    losses = {steps: trained(steps) for steps in LENGTHS}
    texts = {part: losses[STEPS] if part == 1 else trained(STEPS, part) for part in PARTS}
    sizes = {part: len(TRAINING) // part for part in PARTS}
    write(
        "longer",
        title="Counting and training, for longer and on more text",
        command="python benchmarks/longer.py",
        sources=sources,
        values={
            "counted": counts[1],
            "steps": {str(steps): loss for steps, loss in losses.items()},
            "texts": {
                str(part): {"characters": sizes[part], "counted": counts[part], "trained": loss}
                for part, loss in texts.items()
            },
        },
        figures={
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
    )


if __name__ == "__main__":
    main()
