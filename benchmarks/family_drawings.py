r"""
Pictures and numbers of the variants' own functions: nothing is trained, and it takes a few seconds.

The result is results/family_drawings.json, to which the pages of these functions refer.
"""

import re
from collections import Counter
from collections.abc import Callable, Sequence
from statistics import mean

import torch
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from torch import Tensor

from benchmarks.family_numbers import SEEDS, recall, tables
from benchmarks.library.experiment import Experiment, Report, Runner
from benchmarks.pictures import ACCENT, INK, SECOND, heat_map, new, svg
from labml_nn.basics import byte_pairs
from labml_nn.optimizers import schedules
from labml_nn.optimizers.adamw import AdamW
from labml_nn.optimizers.muon import singular_values
from labml_nn.training import strategies
from labml_nn.training.data import tiny_shakespeare
from labml_nn.transformers.mha import causal_mask
from labml_nn.transformers.positions.alibi import AlibiAttention
from labml_nn.transformers.positions.rotary_pairs import rotate_neighbours
from labml_nn.transformers.positions.rotary_scaling import scaled_rotary
from labml_nn.transformers.positions.shaw_relative import distances
from labml_nn.transformers.positions.transformer_xl import encode_distances
from labml_nn.transformers.rotary import RotaryPositions, inverse_frequencies
from labml_nn.transformers.variants import linear_attention
from labml_nn.transformers.variants.cross_attention import padding_mask
from labml_nn.transformers.variants.soft_cap import soft_cap


def grid(axes: Axes, cells: Tensor, title: str, texts: Sequence[Sequence[object]] = ()) -> None:
    r"""Queries down, keys across, with a text in each square."""
    heat_map(axes, cells.double().tolist())
    axes.set_title(title, fontsize=9)
    axes.set_xticks([])
    axes.set_yticks([])
    # Texts must be read on any shade.
    for patch in axes.patches if texts else []:
        patch.set_alpha(patch.get_alpha() / 2)
    for i, row in enumerate(texts):
        for j, text in enumerate(row):
            axes.text(j + 0.5, i + 0.5, str(text), ha="center", va="center", fontsize=8)


def plot(axes: Axes, x: Sequence, lines: dict[str, Sequence], **labels: object) -> None:
    r"""Lines of up to four kinds, named in a legend."""
    styles = ((ACCENT, "-"), (SECOND, "-"), (INK, ":"), (ACCENT, "--"))
    for (name, y), (colour, style) in zip(lines.items(), styles, strict=False):
        axes.plot(x, y, color=colour, linestyle=style, label=name)
    axes.set(**labels)
    axes.legend(frameon=False, fontsize=8)


def alibi() -> Figure:
    r"""The weights of eight positions if all scores are equal, in each of four heads."""
    figure, all_axes = new(4.6, 1.7, columns=4)
    nothing = torch.zeros(8, 1, 4, 5)
    scores = AlibiAttention(4, 20).get_scores(nothing, nothing)[:, :, 0]
    weights = scores.masked_fill(~causal_mask(8), -torch.inf).softmax(dim=1)
    for head, axes in enumerate(all_axes):
        grid(axes, weights[..., head], f"slope 1/{4 ** (head + 1)}")
    return figure


def turned() -> Figure:
    r"""The dot product of two equal vectors at growing distances."""
    figure, (axes,) = new(4.6, 2.6)
    one = torch.ones(65, 1, 1, 32) / 32**0.5
    plain = (one[0] * one).sum(dim=-1).flatten()
    rotary = RotaryPositions(inverse_frequencies(32), 65)(one)
    lines = {"rotated": (rotary[64] * rotary).sum(dim=-1).flatten().flip(0), "not rotated": plain}
    plot(axes, range(65), lines, xlabel="distance", ylabel="dot product")
    return figure


def pairs() -> Figure:
    r"""What one position does to six features: input across, output down."""
    figure, all_axes = new(4.6, 2.6, columns=2)
    features = torch.eye(6).view(6, 1, 1, 6).transpose(0, 2).expand(2, 1, 6, 6)
    frequencies = inverse_frequencies(6, base=10.0)
    made = {
        "neighbours": rotate_neighbours(features, frequencies),
        "halves": RotaryPositions(frequencies, 2)(features),
    }
    for axes, (name, x) in zip(all_axes, made.items(), strict=True):
        heat_map(axes, x[1, 0].T.tolist(), "012345", "012345")
        axes.set_title(name, fontsize=9)
    return figure


def scaled() -> Figure:
    r"""The angles at the last position, in turns."""
    figure, (axes,) = new(4.6, 2.8)
    lines = {"trained, position 63": inverse_frequencies(32) * 63}
    for name in ("interpolation", "ntk", "yarn"):
        rotary = scaled_rotary(name, 32, 512, 64)
        step = torch.atan2(rotary.sin[1].flatten(), rotary.cos[1].flatten())[:16]
        lines[f"{name}, position 511"] = step * 511
    turns = {name: (angle / (2 * torch.pi)).tolist() for name, angle in lines.items()}
    plot(axes, range(16), turns, xlabel="pair", ylabel="turns", yscale="log")
    return figure


def vectors() -> Figure:
    r"""The vector of each query and key, by distance, cut at 3."""
    figure, (axes,) = new(4.6, 2.8)
    far = distances(8, 8).clamp(-3, 3)
    grid(axes, far, "query down, key across", far.tolist())
    return figure


def waves() -> Figure:
    r"""A row for each distance; one colour is positive, the other negative."""
    figure, (axes,) = new(4.6, 2.8)
    heat_map(axes, encode_distances(torch.arange(24)[:, None], 16)[:, 0].tolist())
    axes.set(xlabel="feature", ylabel="distance", aspect="auto")
    return figure


def padding() -> Figure:
    r"""What all queries of each sequence may see, where keys beyond its length are padding."""
    figure, (axes,) = new(4.6, 2.0)
    grid(axes, padding_mask(torch.tensor([5, 3, 7]), 7)[0].T, "three sequences down, keys across")
    return figure


def found_again() -> Figure:
    r"""The error of reading; 1 is what answering zero has."""
    figure, (axes,) = new(4.6, 2.6)
    numbers = (2, 4, 8, 16, 24, 32, 48, 64, 96)
    wrong = {n: [recall(n, seed) for seed in SEEDS] for n in numbers}
    lines = {
        title: [mean(one[name] for one in wrong[n]) for n in numbers]
        for title, name in (("linear attention", "linear"), ("delta rule", "delta"))
    }
    plot(axes, numbers, lines, xlabel="pairs in 64 rows", ylabel="error", ylim=(0, None))
    return figure


def differences() -> Figure:
    r"""The key that matters is number 5; the first 16 of 64 weights."""
    figure, all_axes = new(4.6, 2.1, columns=3)
    first = torch.zeros(64).index_fill(0, torch.tensor(5), 4.0).softmax(dim=0)
    second = torch.full((64,), 1 / 64)
    maps = {"first map": first, "second map": second, "first − ½ second": first - second / 2}
    for axes, (name, weights) in zip(all_axes, maps.items(), strict=True):
        axes.bar(range(16), weights[:16], color=ACCENT)
        axes.set_title(name, fontsize=9)
        axes.set(ylim=(0, 0.5), xlabel="key")
    return figure


def flat() -> Figure:
    r"""The weights of the same ten random queries and keys."""
    figure, all_axes = new(4.6, 2.6, columns=2)
    torch.manual_seed(1)
    query, key = torch.randn(2, 10, 1, 1, 32)
    scores = torch.einsum("ibhd,jbhd->ijbh", query, key) / 32**0.5
    mask = causal_mask(10)
    scores = scores.masked_fill(~mask.unsqueeze(-1), -torch.inf)
    grid(all_axes[0], scores.softmax(dim=1)[..., 0, 0], "softmax")
    query, key = linear_attention.feature_map(query), linear_attention.feature_map(key)
    weights = linear_attention.attention_weights(query, key, mask)
    grid(all_axes[1], weights[..., 0, 0], "linear attention")
    return figure


def cap() -> Figure:
    r"""Small scores stay; large ones end at the cap."""
    figure, (axes,) = new(4.6, 2.6)
    x = torch.linspace(-100, 100, 101)
    lines = {"no cap": x, "cap of 50": soft_cap(x, 50.0), "cap of 20": soft_cap(x, 20.0)}
    plot(axes, x, lines, xlabel="score", ylabel="capped score")
    return figure


def muon() -> Figure:
    r"""Singular values of a random gradient and of the step made of it."""
    figure, (axes,) = new(4.6, 2.6)
    torch.manual_seed(1)
    before, after = singular_values()
    lines = {"gradient": before, "step of Muon": after}
    plot(axes, range(1, 17), lines, xlabel="direction", ylabel="singular value", ylim=(0, None))
    return figure


def rates() -> Figure:
    r"""Three schedules over 2,000 steps."""
    figure, (axes,) = new(4.6, 2.6)
    kinds = (schedules.cosine, schedules.linear, schedules.inverse_square_root)
    steps = range(0, 2000, 10)
    lines = {kind.__name__: [kind(step, 2000) for step in steps] for kind in kinds}
    plot(axes, steps, lines, xlabel="step", ylabel="share of the highest rate")
    return figure


def steps_of_adam() -> Figure:
    r"""Steps of AdamW, in learning rates, if all gradients are 1, but 100 at step 100."""
    figure, (axes,) = new(4.6, 2.6)
    lines = {}
    for name, beta in (("mean over 1,000 steps", 0.999), ("over 100 steps", 0.99)):
        weight, taken = torch.nn.Parameter(torch.zeros(1)), []
        optimizer = AdamW([weight], lr=1.0, betas=(0.9, beta), weight_decay=0.0)
        for step in range(400):
            weight.grad, before = torch.tensor([100.0 if step == 100 else 1.0]), weight.item()
            optimizer.step()
            taken.append(before - weight.item())
        lines[name] = taken
    plot(axes, range(400), lines, xlabel="step", ylabel="length of the step", ylim=(0, None))
    return figure


def filters() -> Figure:
    r"""The probabilities of five tokens that each filter keeps, before they sum to one again."""
    figure, all_axes = new(4.6, 2, columns=4)
    probabilities = torch.tensor([[0.5, 0.25, 0.15, 0.07, 0.03]])
    logits = probabilities.log()
    kept = {
        "all": logits,
        "top-k, 2": strategies.keep_top_k(logits, 2),
        "top-p, 0.8": strategies.keep_top_p(logits, 0.8),
        "min-p, 0.1": strategies.keep_min_p(logits, 0.1),
    }
    for axes, (name, left) in zip(all_axes, kept.items(), strict=True):
        axes.bar(list("eaoiz"), torch.where(left.isfinite(), probabilities, 0)[0], color=ACCENT)
        axes.set(ylim=(0, 0.55), yticks=[0, 0.25, 0.5] if name == "all" else [])
        axes.set_title(name, fontsize=9)
    return figure


def characters_per_token(text: str, n_merges: int) -> list[float]:
    r"""How many characters a token has on average, after each number of merges."""
    words = Counter(tuple(piece) for piece in re.findall(byte_pairs.PIECES, text))
    lengths = [1.0]
    for pair in byte_pairs.learn_merges(text, n_merges):
        # The letters of bytes are only other letters for the space and the end of a line.
        pair = tuple(part.replace("Ġ", " ").replace("Ċ", "\n") for part in pair)
        words = Counter({byte_pairs.merge(word, pair): n for word, n in words.items()})
        lengths.append(len(text) / sum(len(word) * n for word, n in words.items()))
    return lengths


def merges() -> Figure:
    r"""Characters in a token of Tiny Shakespeare, by the number of merges."""
    figure, (axes,) = new(4.6, 2.6)
    axes.plot(range(301), characters_per_token(tiny_shakespeare()[:100_000], 300), color=ACCENT)
    axes.set(xlabel="merges", ylabel="characters in a token", ylim=(1, None))
    return figure


def drawn(functions: Sequence[Callable[[], Figure]]) -> dict[str, dict[str, str]]:
    r"""The pictures by the names of their functions, whose docstrings are said below them."""
    return {
        one.__name__: {"title": one.__doc__.rstrip("."), "picture": svg(one(), one.__name__)}
        for one in functions
    }


def kept(rows: Sequence[dict[str, float]]) -> dict[str, object]:
    r"""What is kept for the backward pass, as lines for `pictures.chart`."""
    return {
        "title": "Kept for the backward pass",
        "x": {"title": "Positions", "scale": "log"},
        "y": {"title": "Kept", "unit": "MB", "scale": "log"},
        "lines": [
            {"name": name, "points": [[int(row["positions"]), row[key]] for row in rows]}
            for name, key in (("Multi-head attention", "plain"), ("Flash attention", "tiles"))
        ],
    }


PICTURES = (
    padding,
    alibi,
    turned,
    pairs,
    scaled,
    vectors,
    waves,
    found_again,
    differences,
    flat,
    cap,
    muon,
    rates,
    steps_of_adam,
    filters,
    merges,
)


def measure(runner: Runner) -> Report:
    r"""Draw them all."""
    made = tables()
    return {
        "values": {"characters": characters_per_token(tiny_shakespeare()[:100_000], 300)[-1]},
        "tables": made,
        "figures": drawn(PICTURES) | {"kept": kept(made["backward"]["rows"])},
    }


EXPERIMENT = Experiment(
    title="Functions of the variants, drawn",
    measure=measure,
    threads=None,
)
