r"""Record the curves that a reader's browser trains again, with PyTorch.

Writes results/train_here.json: `python benchmarks/train_here.py`. The page calls the same function
with the same seed, so its curve lies on the recorded one.
"""

import sys
from pathlib import Path

# As `python benchmarks/train_here.py` from a checkout, nothing needs to be installed.
ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

import torch  # noqa: E402

from benchmarks.record import write  # noqa: E402
from labml_nn.course.train_here import STEPS, train_here  # noqa: E402

SOURCES = [
    "labml_nn/course/one_attention.py",
    "labml_nn/course/steps.py",
    "labml_nn/course/train_here.py",
    "labml_nn/training/data.py",
    "labml_nn/training/loop.py",
    "labml_nn/transformers/basic/autoregressive_model.py",
    "labml_nn/transformers/feed_forward.py",
    "labml_nn/transformers/mha.py",
    "labml_nn/transformers/models.py",
    "labml_nn/transformers/modern/model.py",
    "labml_nn/transformers/positional_encoding.py",
]

# Without its mask this one is the clearest.
UNMASKED = "One transformer layer"

# The steps of the recorded curve: the page draws all of them.
EVERY = 2


def main() -> None:
    torch.set_num_threads(1)
    lines, rows = [], []
    for name, masked in [*((name, True) for name in STEPS), (UNMASKED, False)]:
        points: list[list[float]] = []
        validation = 0.0
        for told in train_here(name, STEPS[name], masked=masked, samples=1):
            if "loss" in told and (told["step"] == 1 or told["step"] % EVERY == 0):
                points.append([told["step"], told["loss"]])
            validation = told.get("validation", validation)
        label = name if masked else f"{name}, without the mask"
        lines.append({"name": label, "points": points})
        rows.append({"model": label, "steps": STEPS[name], "loss": validation})
        print(f"{label}: {validation:.3f}", flush=True)
    write(
        "train_here",
        title="Models of the course, half as wide, as a browser trains them",
        command="python benchmarks/train_here.py",
        sources=SOURCES,
        tables={
            "models": {
                "columns": [
                    {"name": "model", "title": "Model"},
                    {"name": "steps", "title": "Steps", "digits": 0},
                    {"name": "loss", "title": "Loss on unseen text", "unit": "nats", "digits": 3},
                ],
                "rows": rows,
            }
        },
        figures={
            "losses": {
                "title": "The loss of each step",
                "x": {"title": "Steps"},
                "y": {"title": "Loss", "unit": "nats"},
                "lines": lines,
            }
        },
    )


if __name__ == "__main__":
    main()
