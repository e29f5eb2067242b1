r"""
What does a vision transformer need to read digits, and can two encoders name what they never saw?

Classifiers of drawn digits and pairs of encoders for images and captions are trained for 800 steps,
from three seeds, whole and with one part of them left out or changed. The result is
results/images.json, to which the pages of labml_nn/images refer.
"""

import time
from collections.abc import Callable, Sequence
from itertools import groupby
from statistics import mean
from typing import Any

import torch
import torch.nn.functional as F
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import PathPatch
from matplotlib.path import Path as Outline
from torch import Tensor, nn

from benchmarks.library.experiment import Experiment, Report, Runner
from benchmarks.library.ranges import Found, Runs, ends, mean_of, numbers
from benchmarks.library.tables import table
from benchmarks.pictures import ACCENT, INK, heat_map, new, svg
from labml_nn.images.clip import CLIP
from labml_nn.images.digits import DISTORTIONS, Pairs, caption, digits_at, draw
from labml_nn.images.experiment import (
    SIZES,
    classifier,
    digit_gradients,
    image_and_text_model,
    judge,
    looks,
    pair_gradients,
)
from labml_nn.images.vit import ViT, patches
from labml_nn.training.loop import adamw, train
from labml_nn.transformers.fused_attention import FusedAttention

SEEDS, STEPS, N_IMAGES = (1, 2, 3), 800, 20


# Digits


def linear() -> nn.Module:
    r"""A template for each digit."""
    return nn.Sequential(nn.Flatten(), nn.Linear(64, 10))


def convolutions() -> nn.Module:
    r"""A small convolutional network."""
    layers: list[nn.Module] = [nn.Unflatten(1, (1, 8))]
    for channels, wider in ((1, 16), (16, 32), (32, 64)):
        layers += [nn.Conv2d(channels, wider, 3, padding=1), nn.ReLU()]
        layers += [nn.MaxPool2d(2)] if wider == 32 else []
    return nn.Sequential(*layers, nn.AdaptiveMaxPool2d(1), nn.Flatten(), nn.Linear(64, 10))


def without_positions() -> nn.Module:
    r"""A bag of patches."""
    model = classifier()
    nn.init.zeros_(model[0].positions).requires_grad_(False)
    return model


def small_positions() -> nn.Module:
    r"""With the usual beginning."""
    model = classifier()
    for one in (model[0].positions, model[0].class_token):
        nn.init.normal_(one, std=0.02)
    return model


class MeanOfPatches(ViT):
    r"""The mean of what became of the patches, in place of the class token's vector."""

    def forward(self, images: Tensor) -> Tensor:
        kept: list[Tensor] = []
        hook = self.encoder.register_forward_hook(lambda module, given, x: kept.append(x))
        super().forward(images)
        hook.remove()
        return kept[0][1:].mean(dim=0)


def mean_of_patches() -> nn.Module:
    r"""The same parameters, read in another way."""
    vit = MeanOfPatches(16, 2, *SIZES, attention=FusedAttention)
    return nn.Sequential(vit, nn.Linear(SIZES[0], 10))


MODELS: dict[str, Callable[[], nn.Module]] = {
    "linear layer": linear,
    "no positions": without_positions,
    "vision transformer": classifier,
    "positions start at 0.02": small_positions,
    "mean of patches": mean_of_patches,
    "four registers": lambda: classifier(n_registers=4),
    "patches of 4 × 4": lambda: classifier(4),
    "convolutions": convolutions,
}
DISTORTED = {"nothing": {}, "everything": DISTORTIONS} | {
    name: {name: one} for name, one in DISTORTIONS.items()
}


@torch.no_grad()
def outliers(model: nn.Sequential, images: Tensor) -> float:
    r"""The longest vector of a patch after the last layer, in lengths of the median one."""
    kept: list[Tensor] = []
    vit = model[0]
    hook = vit.encoder.layers[-1].register_forward_hook(lambda module, given, x: kept.append(x))
    vit(images)
    hook.remove()
    lengths = kept[0][-16:].norm(dim=2)
    return (lengths.amax(dim=0) / lengths.median(dim=0).values).mean().item()


def read_digits(name: str, seed: int) -> dict[str, Any]:
    r"""Train one classifier and measure it."""
    torch.manual_seed(seed)
    by = DISTORTED.get(name, DISTORTIONS)
    model = linear() if name in DISTORTED else MODELS[name]()
    started = time.process_time()
    train(
        model,
        lambda step: digits_at(step, seed, by=by),
        [adamw(model)],
        STEPS,
        gradients=digit_gradients,
    )
    found: dict[str, Any] = {"seconds": time.process_time() - started}
    images, digits = digits_at(0, 0, 2000, by)
    with torch.no_grad():
        found["loss"], found["accuracy"] = judge(model(images), digits)
    found["parameters"] = sum(p.numel() for p in model.parameters() if p.requires_grad)
    if name in ("vision transformer", "four registers"):
        found["outliers"] = outliers(model, images)
    if name == "vision transformer":
        found["looks"] = looks(model, images[:8]).tolist()
    return found


# Images and words


def frozen_scale(pairs: Pairs) -> nn.Module:
    r"""Cosines as logits."""
    model = image_and_text_model(pairs)
    nn.init.zeros_(model.log_scale).requires_grad_(False)
    return model


def one_direction(model: nn.Module, images: Tensor, tokens: Tensor) -> Tensor:
    r"""Which text belongs to each image, but not the other way round."""
    logits = model(images, tokens)
    loss = F.cross_entropy(logits, torch.arange(len(logits)))
    loss.backward()
    return loss.detach()


class Numbers(Pairs):
    r"""The number of the caption in place of its text."""

    def at(self, step: int) -> tuple[Tensor, Tensor]:
        r"""The texts of all captions differ."""
        images, texts = super().at(step)
        return images, (texts.T[:, None] == self.texts.T).all(dim=2).int().argmax(dim=1)


class Classifier(nn.Module):
    r"""A score for each caption, whatever it says."""

    def __init__(self, pairs: Pairs) -> None:
        super().__init__()
        self.images = ViT(8, 4, *SIZES, attention=FusedAttention)
        self.head = nn.Linear(SIZES[0], len(pairs.scenes))

    def forward(self, images: Tensor, texts: Tensor | None = None) -> Tensor:
        r"""The texts are ignored."""
        return self.head(self.images(images))


# The batches, the model and the gradients of each.
Way = tuple[type[Pairs], Callable[[Pairs], nn.Module], Callable[..., Tensor]]
WAYS: dict[str, Way] = {
    "classifier of 110": (Numbers, Classifier, digit_gradients),
    "two encoders": (Pairs, image_and_text_model, pair_gradients),
    "no temperature": (Pairs, frozen_scale, pair_gradients),
    "texts for images only": (Pairs, image_and_text_model, one_direction),
}


def compare(name: str, seed: int) -> dict[str, Any]:
    r"""Train one pair of encoders and measure it."""
    make_pairs, make, gradients = WAYS[name]
    pairs = make_pairs(seed)
    torch.manual_seed(seed)
    model = make(pairs)
    started = time.process_time()
    train(model, pairs.at, [adamw(model)], STEPS, gradients=gradients)
    found: dict[str, Any] = {"seconds": time.process_time() - started}
    images, numbers = pairs.held_out(N_IMAGES)
    with torch.no_grad():
        logits = model(images, pairs.texts)
    found["loss"], _ = judge(logits, numbers)
    new = pairs.unseen[numbers]
    found["seen"], found["unseen"] = (judge(logits[of], numbers[of])[1] for of in (~new, new))

    # Wrong in nothing but the order of the two digits.
    named = pairs.scenes[logits.argmax(dim=1)]
    right = pairs.scenes[numbers]
    ordered = (right[:, 0] != right[:, 1]) & (right[:, 1] < 10)
    swapped = (named == right.flip(1)).all(dim=1)
    found["swapped"] = swapped[ordered].float().mean().item()
    found["parameters"] = sum(p.numel() for p in model.parameters() if p.requires_grad)
    if isinstance(model, CLIP):
        found["scale"] = model.log_scale.exp().item()
    if name == "two encoders":
        # Mean cosines of the images of each new caption with each of these captions.
        columns = pairs.unseen.nonzero().flatten()
        cosines = (logits / found["scale"]).view(len(pairs.scenes), N_IMAGES, -1).mean(dim=1)
        found["cosines"] = cosines[columns][:, columns].tolist()
        found["nearest"] = logits[:, columns].topk(5, dim=0).indices.T.tolist()
    return found


def measure(runner: Runner) -> Runs:
    r"""All classifiers and all pairs of encoders, from each seed."""
    read = runner.runs(read_digits, [*DISTORTED, *MODELS], SEEDS)
    return read | runner.runs(compare, WAYS, SEEDS)


# Pictures


def ink(axes: Axes, images: list[list[Tensor]]) -> None:
    r"""Rows of images, the darker the pixel the darker the square; white ones are left out."""
    alike: dict[float, list[Outline]] = {}
    for i, row in enumerate(images):
        for j, image in enumerate(row):
            for y, line in enumerate((5 * image.clamp(0, 1)).round().int().tolist()):
                # Neighbours of one shade are one rectangle.
                x = 0
                for shade, same in groupby(line):
                    left, top = j * (len(line) + 1) + x, i * (len(image) + 1) + y
                    width = len(list(same))
                    shape = [(0, 0), (width, 0), (width, 1), (0, 1), (0, 0)]
                    corners = [(left + across, top + down) for across, down in shape]
                    alike.setdefault(shade / 5, []).append(Outline(corners, closed=True))
                    x += width
    for shade, squares in alike.items():
        if shade:
            path = Outline.make_compound_path(*squares)
            axes.add_patch(PathPatch(path, color=INK, alpha=shade, linewidth=0))
    width = len(images[0]) * (images[0][0].shape[1] + 1) - 1
    axes.set(xlim=(0, width), ylim=(len(images) * (images[0][0].shape[0] + 1) - 1, 0))
    axes.set(aspect="equal", xticks=[], yticks=[])
    for side in axes.spines.values():
        side.set_visible(False)


def some_digits() -> str:
    r"""All digits without distortion, and three times with it."""
    generator, digits = torch.Generator().manual_seed(1), torch.arange(10)
    rows = [draw(digits, generator, {})] + [draw(digits, generator) for _ in range(3)]
    figure, (axes,) = new(6.4, 2.7)
    ink(axes, [list(row) for row in rows])
    return svg(figure, "images-digits")


def cut() -> str:
    r"""A digit, and the sequence of its patches."""
    image = draw(torch.tensor([7]), torch.Generator().manual_seed(5), {"slant": 0.3})
    figure = Figure((6.4, 1.3), layout="constrained")
    whole, sequence = figure.subplots(1, 2, width_ratios=[1, 6])
    ink(whole, [[image[0]]])
    for at in range(0, 9, 2):
        whole.plot([at, at], [0, 8], color=ACCENT, linewidth=0.8, clip_on=False)
        whole.plot([0, 8], [at, at], color=ACCENT, linewidth=0.8, clip_on=False)
    ink(sequence, [[one.view(2, 2) for one in patches(image, 2)[:, 0]]])
    for at in range(16):
        edges = [3 * at, 3 * at + 2]
        sequence.fill_between(edges, 0, 2, facecolor="none", edgecolor=ACCENT, clip_on=False)
    sequence.set_xticks([3 * at + 1 for at in range(16)], [str(at + 1) for at in range(16)])
    sequence.tick_params(length=0)
    return svg(figure, "images-patches")


def where(weights: list[list[list[float]]]) -> str:
    r"""Digits, and below each the weights of its patches in the eyes of the class token."""
    images, _ = digits_at(0, 0, 2000)
    figure = Figure((6.4, 1.9), layout="constrained")
    above, below = figure.subplots(2, 8)
    for column in range(8):
        ink(above[column], [[images[column]]])
        heat_map(below[column], weights[column])
        below[column].set(xticks=[], yticks=[])
    return svg(figure, "images-looks")


def similarities(found: dict[str, Any], names: list[str]) -> str:
    r"""Images of each new caption down, captions across."""
    figure, (axes,) = new(6.4, 5.2)
    heat_map(axes, found["cosines"], names)
    axes.set_xticks([j + 0.5 for j in range(len(names))], names, rotation=60, ha="right")
    axes.set_ylabel("images of")
    return svg(figure, "images-similarities")


def nearest(found: dict[str, Any], names: list[str], pairs: Pairs) -> str:
    r"""The four nearest images of 2,200 for three of the new captions."""
    images, _ = pairs.held_out(N_IMAGES)
    chosen = [names.index(one) for one in ("two sevens", "a two and a seven", "a seven and a two")]
    figure = Figure((6.4, 2.2))
    axes = figure.add_axes((0.25, 0.02, 0.74, 0.96))
    ink(axes, [[images[place] for place in found["nearest"][at][:4]] for at in chosen])
    places = [9 * at + 4 for at in range(len(chosen))]
    axes.set_yticks(places, [names[at] for at in chosen], fontsize=9)
    axes.tick_params(length=0)
    return svg(figure, "images-nearest")


# The file


def row(name: str, runs: Sequence[Found], keys: tuple[str, ...]) -> dict[str, Any]:
    r"""The means of three seeds; the lowest and the highest of the first of `keys`."""
    means = {key: mean_of(runs, key) if key in runs[0] else "–" for key in keys}
    lowest_and_highest = ends(numbers(runs, keys[0]))
    return {"name": name, "parameters": runs[0]["parameters"]} | means | lowest_and_highest


COLUMNS = {
    "name": {"title": "Model"},
    "parameters": {"title": "Parameters"},
    "seen": {"title": "Seen captions right", "digits": 3},
    "unseen": {"title": "New captions right", "digits": 3},
    "accuracy": {"title": "Right", "digits": 3},
    "low": {"title": "lowest", "digits": 3},
    "high": {"title": "highest", "digits": 3},
    "loss": {"title": "Loss", "unit": "nats", "digits": 3},
    "seconds": {"title": "Training", "unit": "s", "digits": 1},
}


def chosen(rows: list[dict[str, Any]], columns: str, title: str = "Model") -> dict[str, Any]:
    r"""Some of the columns."""
    names = columns.split()
    titles = COLUMNS | {"name": {"title": title}}
    return table([{"name": name} | titles[name] for name in names], rows)


def report(runs: Runs) -> Report:
    r"""The tables of digits and of captions, and the pictures."""
    measured = ("accuracy", "loss", "seconds")
    digits = [row(name, runs[name], measured) for name in MODELS]
    distorted = [row(name, runs[name], measured) for name in DISTORTED]
    ways = [row(name, runs[name], ("unseen", "seen", "loss", "seconds")) for name in WAYS]
    pairs = Pairs(1)
    names = [caption(*scene) for scene in pairs.scenes[pairs.unseen].tolist()]
    first = runs["two encoders"][0]
    return {
        "values": {
            "steps": STEPS,
            "outliers": {
                "without": mean_of(runs["vision transformer"], "outliers"),
                "with": mean_of(runs["four registers"], "outliers"),
            },
            "scale": mean_of(runs["two encoders"], "scale"),
            "swapped": mean_of(runs["two encoders"], "swapped"),
            "seconds": mean(
                a["seconds"] + b["seconds"]
                for a, b in zip(runs["vision transformer"], runs["two encoders"], strict=True)
            ),
        },
        "tables": {
            "models": chosen(digits, "name parameters accuracy low high loss seconds"),
            "digits": chosen(distorted, "name accuracy low high loss", "Distorted by"),
            "ways": chosen(ways, "name parameters seen unseen low high loss seconds"),
        },
        "figures": {
            "digits": {"title": "Drawn digits", "picture": some_digits()},
            "patches": {"title": "A seven and its patches", "picture": cut()},
            "looks": {
                "title": "What the class token looks at",
                "picture": where(runs["vision transformer"][0]["looks"]),
            },
            "similarities": {
                "title": "Cosines of new images and captions",
                "picture": similarities(first, names),
            },
            "nearest": {
                "title": "The nearest images of three new captions",
                "picture": nearest(first, names, pairs),
            },
        },
    }


EXPERIMENT = Experiment(
    title="Images of digits, read and named",
    measure=measure,
    report=report,
    small={"SEEDS": (1, 2), "STEPS": 2},
)
