r"""
Pictures of small examples that can be followed by hand.

Every number in them is computed by the page that shows it. It takes a few seconds.
"""

import torch
from matplotlib.patches import Rectangle
from torch import Tensor

from benchmarks.library.experiment import Experiment, Report, Runner
from benchmarks.pictures import ACCENT, SECOND, heat_map, new, svg
from labml_nn.course.one_attention import MeanOfThePast
from labml_nn.transformers.mha import causal_mask
from labml_nn.transformers.variants.delta_rule import delta_steps
from labml_nn.transformers.variants.linear_attention import step_by_step
from labml_nn.transformers.ways.one_head_at_a_time import answer, causal_attention

WORDS = ["the", "cat", "sat"]


def flow() -> str:
    r"""One query by hand: keys, scores, weights, values and the answer, from left to right."""
    query = [0.0, 2.0, 0.0, 0.0]
    keys = [[2.0, 0.0, 0.0, 0.0], [0.0, 2.0, 0.0, 0.0], [0.0, 0.0, 2.0, 0.0]]
    values = [[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]]
    weights, mean = answer(query, keys, values)

    # The score is what the softmax turns into the weight, but for a constant.
    scores = [[sum(q * k for q, k in zip(query, key, strict=True)) / 2] for key in keys]
    parts = {
        "query of “sat”": ([query], [""]),
        "keys": (keys, WORDS),
        "scores": (scores, WORDS),
        "weights": ([[one] for one in weights], WORDS),
        "values": (values, WORDS),
        "answer": ([mean], [""]),
    }
    figure, axes = new(8.4, 2.0, len(parts))
    for one, (title, (cells, rows)) in zip(axes, parts.items(), strict=True):
        heat_map(one, cells, rows, numbers=True)
        one.set_title(title, fontsize=9)
        one.set_xticks([])
    return svg(figure, "hand_drawings-flow")


def triangles() -> str:
    r"""The weights of the mean of the past, and those of a head with random queries and keys."""
    length = 6
    mask = causal_mask(length)

    # Values that are one at a single position give back the weights.
    values = torch.eye(length)[:, None]
    equal = MeanOfThePast()(query=values, key=values, value=values, mask=mask)[:, 0]
    query, key = torch.randn(2, 1, length, 8, generator=torch.Generator().manual_seed(1))
    looked = causal_attention(2 * query, key, torch.eye(length)[None])[0]
    figure, axes = new(6.8, 3.4, 2)
    for one, title, weights in zip(axes, ("the mean", "one head"), (equal, looked), strict=True):
        heat_map(one, weights.tolist(), list("abcdef"), list("abcdef"), numbers=True)
        one.set_title(title, fontsize=10)
    return svg(figure, "hand_drawings-triangles")


def overwritten() -> str:
    r"""A state of two rows: two writes under one key, by the sum and by the delta rule."""
    # Two writes with the key (1, 0): the value (2, 1), and then (0, 3).
    key = torch.tensor([[1.0, 0.0], [1.0, 0.0]])[:, None, None]
    value = torch.tensor([[2.0, 1.0], [0.0, 3.0]])[:, None, None]
    nothing, whole = torch.zeros(2, 1, 1, 1), torch.ones(2, 1, 1, 1)

    def after(n: int) -> tuple[Tensor, Tensor]:
        # The states after the first writes, by both rules.
        k, v = key[:n], value[:n]
        empty = torch.zeros(1, 1, 2, 2)
        _, (total, _) = step_by_step(k, k, v, (empty, torch.zeros(1, 1, 2)))
        _, state = delta_steps((k, k, v, nothing[:n], whole[:n]), empty)
        return total[0, 0], state[0, 0]

    figure, axes = new(6.8, 2.2, 4)
    titles = ["sum: one write", "sum: two", "delta rule: one", "delta rule: two"]
    states = [after(1)[0], after(2)[0], after(1)[1], after(2)[1]]
    for one, title, state in zip(axes, titles, states, strict=True):
        heat_map(one, state.tolist(), ["key 1", "key 2"], numbers=True)
        one.set_title(title, fontsize=9)
        one.set_xticks([])
    return svg(figure, "hand_drawings-overwritten")


def cut() -> str:
    r"""Two positions of four features, in two heads: with a transpose, and with a view alone."""
    names = torch.arange(8).view(2, 4)
    right = names.view(2, 2, 2).transpose(0, 1)
    wrong = names.view(2, 2, 2)
    figure, axes = new(7.6, 2.4, 5)
    labels = {"two positions": names}
    labels |= {f"head {n + 1}, right": right[n] for n in (0, 1)}
    labels |= {f"head {n + 1}, wrong": wrong[n] for n in (0, 1)}
    for one, (title, cells) in zip(axes, labels.items(), strict=True):
        for row, line in enumerate(cells.tolist()):
            for column, name in enumerate(line):
                # A colour for each position, whatever place its features have come to.
                colour, text = ((ACCENT, "a"), (SECOND, "b"))[name // 4]
                text = f"{text}{name % 4}"
                square = Rectangle((column, row), 1, 1, color=colour, alpha=0.35, linewidth=0)
                one.add_patch(square)
                one.text(column + 0.5, row + 0.5, text, ha="center", va="center", fontsize=9)
        one.set_title(title, fontsize=9)
        one.set(xticks=[], yticks=[], xlim=(0, len(cells[0])), ylim=(len(cells), 0), aspect="equal")
    return svg(figure, "hand_drawings-cut")


def measure(runner: Runner) -> Report:
    r"""Draw them all."""
    drawn = {"flow": flow, "triangles": triangles, "overwritten": overwritten, "cut": cut}
    return {
        "figures": {
            name: {"title": str(draw.__doc__).rstrip("."), "picture": draw()}
            for name, draw in drawn.items()
        },
    }


EXPERIMENT = Experiment(
    title="Small examples that can be followed by hand",
    measure=measure,
    threads=None,
)
