r"""
Pictures of batches, samples and models that nobody has trained: it takes a few seconds.

The result is results/model_drawings.json, to which the pages of these functions refer.
"""

import torch
from torch import Tensor, nn

from benchmarks.library.experiment import Experiment, Report, Runner
from benchmarks.pictures import ACCENT, heat_map, new, svg
from labml_nn.training.data import CharTokenizer
from labml_nn.training.sampling import with_temperature
from labml_nn.transformers.basic.autoregressive_model import (
    AutoregressiveTransformer,
)
from labml_nn.transformers.mha import PrepareForMultiHeadAttention
from labml_nn.transformers.modern.attention import RotaryProjection
from labml_nn.transformers.modern.model import ModernTransformer
from labml_nn.transformers.rms_norm import rms_norm
from labml_nn.transformers.rotary import RotaryPositions, inverse_frequencies

DRAWS = 10_000
TEXT = "First Ci"


def temperatures() -> str:
    r"""How often each of five tokens is drawn, at four temperatures."""
    figure, panels = new(5.4, 2.2, columns=4)
    logits = torch.tensor([4.0, 3.0, 2.0, 1.0, 0.0])
    for axes, temperature in zip(panels, (0.0, 0.5, 1.0, 2.0), strict=True):
        generator = torch.Generator().manual_seed(1)
        tokens = with_temperature(temperature)(logits.expand(DRAWS, -1), generator)
        shares = tokens.bincount(minlength=5) / DRAWS
        axes.bar(range(5), shares.tolist(), color=ACCENT)
        axes.set_title(f"T = {temperature:g}")
        axes.set_xticks(range(5), ["4", "3", "2", "1", "0"])
        axes.set(ylim=(0, 1), xlabel="logit")
        if temperature:
            axes.set_yticks([])
    panels[0].set_ylabel("share of draws")
    return svg(figure, "temperatures")


def influence() -> str:
    r"""How strongly the logits at each position depend on the vector of each token."""
    tokens = CharTokenizer(TEXT).encode(TEXT).unsqueeze(1)
    torch.manual_seed(1)
    model = AutoregressiveTransformer(66, seq_len=len(TEXT))
    x = model.embed(tokens).detach().requires_grad_()
    logits = model.generator(model.encoder(x, model.mask))
    cells = torch.zeros(len(TEXT), len(TEXT))
    for position, one in enumerate(logits[:, 0]):
        (gradient,) = torch.autograd.grad(one.square().sum(), x, retain_graph=True)
        cells[position] = gradient[:, 0].norm(dim=-1)

    # The token's own vector counts most. Its roots make the others visible beside it.
    figure, (axes,) = new(4.6, 3.2)
    names = list(TEXT.replace(" ", "␣"))
    heat_map(axes, cells.sqrt().tolist(), names, names)
    axes.set(xlabel="input", ylabel="output")
    return svg(figure, "influence")


def largest_score(project: nn.Module, factor: float) -> float:
    r"""Of 32 random positions, if the weights for queries and keys are so many times as large."""
    torch.manual_seed(1)
    x = torch.randn(32, 1, 128)
    with torch.no_grad():
        project.linear.weight.normal_(std=factor * 128**-0.5)
        query, key = project(x), project(x.flip(0))
    scores = torch.einsum("ibhd,jbhd->ijbh", query, key) / 32**0.5
    return scores.abs().max().item()


def growing_scores() -> list[dict]:
    r"""The largest score as the weights grow, with normalised queries and keys and without."""
    rotate = RotaryPositions(inverse_frequencies(32), 32)
    made = {
        "As projected": PrepareForMultiHeadAttention(128, 4, 32, bias=False),
        "Normalised": RotaryProjection(128, 4, rotate),
    }
    factors = [1, 2, 4, 8, 16]
    return [
        {"name": name, "points": [[factor, largest_score(one, factor)] for factor in factors]}
        for name, one in made.items()
    ]


@torch.no_grad()
def growing_streams() -> list[dict]:
    r"""The size of a feature of the residual stream after each layer, before any training."""
    torch.manual_seed(1)
    tokens = torch.randint(66, (64, 12))
    classic, modern = AutoregressiveTransformer(66), ModernTransformer(66)
    found: dict[str, list[Tensor]] = {"Classic": [classic.embed(tokens)]}
    for layer in classic.encoder.layers:
        found["Classic"].append(layer(x=found["Classic"][-1], mask=classic.mask))

    # The first layer's values go to all others.
    found["Modern"], first_value = [rms_norm(modern.embedding(tokens))], None
    for layer in modern.layers:
        x, value = layer(found["Modern"][-1], first_value)
        first_value = value if first_value is None else first_value
        found["Modern"].append(x)
    return [
        {
            "name": name,
            "points": [[at, x.square().mean().sqrt().item()] for at, x in enumerate(streams)],
        }
        for name, streams in found.items()
    ]


def rounded() -> list[dict]:
    r"""The relative error of numbers in three formats, largest of 64 numbers around each."""
    lines = []
    torch.manual_seed(1)
    for name in ("float32", "bfloat16", "float16"):
        points = []
        for exponent in range(-32, 21):
            exact = 2.0**exponent * (1 + torch.rand(64, dtype=torch.float64))
            error = ((exact.to(getattr(torch, name)).double() - exact) / exact).abs().max().item()
            points.append([2.0**exponent, min(error, 1.0)])
        lines.append({"name": name, "points": points})
    return lines


def measure(runner: Runner) -> Report:
    r"""Draw them all."""
    return {
        "figures": {
            "loss": {
                "title": "the loss of one prediction: 0 if the model is certain and right, 0.69 at "
                "one half, more and more the less it expected the character",
                "x": {"title": "Probability of the right character", "low": 0, "high": 1},
                "y": {"title": "Loss", "unit": "nats", "low": 0},
                "lines": [
                    {
                        "name": "−ln p",
                        "points": [
                            [at / 66, -torch.tensor(at / 66).log().item()] for at in range(1, 67)
                        ],
                    }
                ],
            },
            "temperatures": {
                "title": f"how often each of five tokens came up in {DRAWS:,} draws",
                "picture": temperatures(),
            },
            "influence": {
                "title": "the longer the gradient of an output for an input, the darker, in the "
                "model before training: no output depends on a later input",
                "picture": influence(),
            },
            "scores": {
                "title": "the largest score of random tokens: with normalised queries and keys it "
                "doesn't depend on the size of the weights",
                "x": {"title": "Weights, times", "scale": "log"},
                "y": {"title": "Largest score", "scale": "log"},
                "lines": growing_scores(),
            },
            "streams": {
                "title": "the size of a feature (root mean square) after each layer, before "
                "training: the modern layers add nothing yet",
                "x": {"title": "After layer"},
                "y": {"title": "Size of a feature", "low": 0},
                "lines": growing_streams(),
            },
            "rounded": {
                "title": "the largest relative error of a rounded number: float16 loses small "
                "numbers and has none above 65,504, bfloat16 has few digits everywhere",
                "x": {"title": "Number", "scale": "log"},
                "y": {"title": "Relative error", "scale": "log"},
                "lines": rounded(),
            },
        },
    }


EXPERIMENT = Experiment(
    title="Batches, samples and untrained models, drawn",
    measure=measure,
    threads=None,
)
