r"""
Curves and pictures of functions: nothing is trained, and it takes a few seconds.

The result is results/drawings.json, to which the pages of these functions refer.
"""

import sys
from pathlib import Path

# As `python benchmarks/drawings.py` from a checkout, nothing needs to be installed.
ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

import torch  # noqa: E402
import torch.nn.functional as F  # noqa: E402

from benchmarks.pictures import heat_map, new, svg  # noqa: E402
from benchmarks.record import write  # noqa: E402
from labml_nn.training.loop import learning_rate  # noqa: E402
from labml_nn.transformers.positional_encoding import sinusoidal_positions  # noqa: E402

SOURCES = [
    "labml_nn/training/loop.py",
    "labml_nn/transformers/positional_encoding.py",
    "benchmarks/drawings.py",
]
WIDTHS = (4, 16, 32, 64, 128)


def sines() -> str:
    r"""The encodings of 24 positions, 16 features each: a row is a position."""
    figure, (axes,) = new(5, 4)
    encodings = sinusoidal_positions(16, 24)
    heat_map(axes, encodings.tolist())
    axes.set(xlabel="feature", ylabel="position", aspect="auto")
    axes.set_xticks([0.5, 4.5, 8.5, 12.5, 15.5], ["0", "4", "8", "12", "15"])
    axes.set_yticks([0.5, 5.5, 10.5, 15.5, 20.5], ["0", "5", "10", "15", "20"])
    return svg(figure, "sines")


def largest_weight(d_k: int, scale: float) -> float:
    r"""The mean of the largest of 64 attention weights, of random queries and keys."""
    torch.manual_seed(1)
    query, key = torch.randn(1000, 1, d_k), torch.randn(1000, 64, d_k)
    scores = (query * key).sum(dim=-1) * scale
    return scores.softmax(dim=-1).amax(dim=-1).mean().item()


def main() -> None:
    r"""Draw them all."""
    x = torch.linspace(-4, 4, 81)
    encodings = sinusoidal_positions(128, 101)
    near = (encodings[50] * encodings).sum(dim=-1)
    write(
        "drawings",
        title="Functions of the lessons, drawn",
        command="python benchmarks/drawings.py",
        sources=SOURCES,
        tables={
            "scale": {
                "columns": [
                    {"name": "d_k", "title": "Features of a head"},
                    {"name": "unscaled", "title": "Largest weight, unscaled", "digits": 2},
                    {"name": "scaled", "title": "Scaled", "digits": 2},
                ],
                "rows": [
                    {
                        "d_k": f"{d_k}",
                        "unscaled": largest_weight(d_k, 1),
                        "scaled": largest_weight(d_k, d_k**-0.5),
                    }
                    for d_k in WIDTHS
                ],
            }
        },
        figures={
            "sines": {
                "title": "each row is the vector of one position; one colour is positive, the "
                "other negative",
                "picture": sines(),
            },
            "distance": {
                "title": "Dot product of two encodings",
                "x": {"title": "Distance of the positions"},
                "y": {"title": "Dot product"},
                "lines": [
                    {
                        "name": "Position 50 and another",
                        "points": [[at - 50, near[at].item()] for at in range(101)],
                    }
                ],
            },
            "activations": {
                "title": "Activations",
                "x": {"title": "Input"},
                "y": {"title": "Output"},
                "lines": [
                    {"name": name, "points": list(zip(x.tolist(), y.tolist(), strict=True))}
                    for name, y in (("ReLU", F.relu(x)), ("GELU", F.gelu(x)), ("Swish", F.silu(x)))
                ],
            },
            "schedule": {
                "title": "Learning rate",
                "x": {"title": "Step of 2,000"},
                "y": {"title": "Share of the highest rate"},
                "lines": [
                    {
                        "name": "Up, then half a cosine down",
                        "points": [
                            [step, learning_rate(step, 2000)] for step in range(0, 2000, 20)
                        ],
                    }
                ],
            },
        },
    )


if __name__ == "__main__":
    main()
