r"""
Curves and pictures of functions: nothing is trained, and it takes a few seconds.

The result is results/drawings.json, to which the pages of these functions refer.
"""

import torch
import torch.nn.functional as F
from matplotlib.axes import Axes

from benchmarks.library.experiment import Experiment, Report, Runner
from benchmarks.library.tables import column
from benchmarks.pictures import ACCENT, INK, SECOND, heat_map, new, svg
from labml_nn.training.data import CharTokenizer
from labml_nn.training.loop import learning_rate
from labml_nn.transformers.kv_cache import CachedTransformer
from labml_nn.transformers.positional_encoding import sinusoidal_positions
from labml_nn.transformers.rms_norm import rms_norm
from labml_nn.transformers.rotary import RotaryPositions, inverse_frequencies

WIDTHS = (4, 16, 32, 64, 128)


def sines() -> str:
    r"""The encodings of 24 positions, 16 features each: a row is a position."""
    figure, (axes,) = new(4.6, 3.4)
    encodings = sinusoidal_positions(16, 24)
    heat_map(axes, encodings.tolist())
    axes.set(xlabel="feature", ylabel="position", aspect="auto")
    axes.set_xticks([0.5, 4.5, 8.5, 12.5, 15.5], ["0", "4", "8", "12", "15"])
    axes.set_yticks([0.5, 5.5, 10.5, 15.5, 20.5], ["0", "5", "10", "15", "20"])
    return svg(figure, "sines")


def circle(axes: Axes, radius: float) -> None:
    r"""A thin one around zero."""
    angles = torch.linspace(0, 2 * torch.pi, 73)
    axes.plot(radius * angles.cos(), radius * angles.sin(), color=INK, linewidth=0.5)


def arrows() -> str:
    r"""The arrow (1, 0) as a query and as a key, at two places, two positions from each other."""
    figure, panels = new(4.6, 2.6, columns=2)
    rotate = RotaryPositions(inverse_frequencies(2), 1006)
    for axes, first in zip(panels, (3, 1003), strict=True):
        turned = rotate(torch.tensor([1.0, 0.0]).expand(3, 1, 1, 2), first)[[2, 0], 0, 0]
        names = (f"query at {first + 2:,}", f"key at {first:,}")
        looks = ((ACCENT, -1.3), (SECOND, -1.6))
        for (x, y), (colour, below), name in zip(turned.tolist(), looks, names, strict=True):
            axes.plot([0, x], [0, y], color=colour)
            axes.plot([x], [y], color=colour, marker="o")
            axes.text(0, below, name, color=colour, ha="center", va="center")
        circle(axes, 1.0)
        product = (turned[0] * turned[1]).sum().item()
        axes.set_title(f"dot product {product:.2f}".replace("-", "−"), fontsize=10)
        axes.set(xticks=[], yticks=[], aspect="equal", xlim=(-1.4, 1.4), ylim=(-1.75, 1.1))
        axes.set_axis_off()
    return svg(figure, "arrows")


def normalised() -> str:
    r"""Twenty tokens of two features, each joined to what a normalisation makes of it."""
    figure, panels = new(4.6, 2.7, columns=2)
    torch.manual_seed(1)
    tokens = torch.randn(20, 2) + torch.tensor([1.5, 0.5])
    made = {"RMSNorm": rms_norm(tokens), "layer normalisation": F.layer_norm(tokens, (2,))}
    circle(panels[0], 2**0.5)
    for axes, (name, after) in zip(panels, made.items(), strict=True):
        for old, new_one in zip(tokens.tolist(), after.tolist(), strict=True):
            joined = zip(old, new_one, strict=True)
            axes.plot(*joined, color=INK, alpha=0.3, linewidth=0.6)
        for points, colour in ((tokens, SECOND), (after, ACCENT)):
            axes.plot(*points.T.tolist(), color=colour, marker="o", markersize=3, linestyle="")
        axes.set_title(name, fontsize=10)
        axes.set(aspect="equal", xlabel="feature 1", xlim=(-2.2, 4), ylim=(-2.2, 3))
    panels[0].set_ylabel("feature 2")
    return svg(figure, "normalised")


def in_pieces() -> str:
    r"""Attention weights in a model of one layer and head: three tokens, then two more."""
    text = "First"
    tokens = CharTokenizer(text).encode(text).unsqueeze(1)
    torch.manual_seed(1)
    model = CachedTransformer(6, 16, 1, 1, 32, 5)
    cells = torch.zeros(5, 5)
    for start, end, sign in ((0, 3, -1), (3, 5, 1)):
        model(tokens[:end])
        cells[start:end, :end] = sign * model.encoder.layers[0].self_attn.attn[:, :, 0, 0]
    figure, (axes,) = new(4.6, 2.6)
    heat_map(axes, cells.tolist(), list(text), list(text))
    axes.set(xlabel="key", ylabel="query")
    return svg(figure, "pieces")


def largest_weight(d_k: int, scale: float) -> float:
    r"""The mean of the largest of 64 attention weights, of random queries and keys."""
    torch.manual_seed(1)
    query, key = torch.randn(1000, 1, d_k), torch.randn(1000, 64, d_k)
    scores = (query * key).sum(dim=-1) * scale
    return scores.softmax(dim=-1).amax(dim=-1).mean().item()


def measure(runner: Runner) -> Report:
    r"""Draw them all."""
    x = torch.linspace(-4, 4, 81)
    encodings = sinusoidal_positions(128, 101)
    near = (encodings[50] * encodings).sum(dim=-1)
    return {
        "tables": {
            "scale": {
                "columns": [
                    column("d_k", "Features of a head"),
                    column("unscaled", "Largest weight, unscaled", 2),
                    column("scaled", "Scaled", 2),
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
        "figures": {
            "sines": {
                "title": "each row is the vector of one position; one colour is positive, the "
                "other negative",
                "picture": sines(),
            },
            "arrows": {
                "title": "each position turns both by one radian, so the angle between them is two",
                "picture": arrows(),
            },
            "normalised": {
                "title": "two features for each of 20 tokens, before and after: RMSNorm puts them "
                "on a circle, layer normalisation on two points",
                "picture": normalised(),
            },
            "pieces": {
                "title": "the first call computes the rows of three characters, the second one "
                "those of two more, and needs all five columns",
                "picture": in_pieces(),
            },
            "gate": {
                "title": "A hidden feature of SwiGLU",
                "x": {"title": "Gate, before Swish"},
                "y": {"title": "Hidden feature"},
                "lines": [
                    {
                        "name": f"Value {value}".replace("-", "−"),
                        "points": list(zip(x.tolist(), (F.silu(x) * value).tolist(), strict=True)),
                    }
                    for value in (1, 0.5, -1)
                ],
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
    }


EXPERIMENT = Experiment(
    title="Functions of the lessons, drawn",
    measure=measure,
    threads=None,
)
