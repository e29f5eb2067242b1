r"""
Pictures and numbers of the variants' own functions: nothing is trained, and it takes a few seconds.

The result is results/family_drawings.json, to which the pages of these functions refer.
"""

import sys
from collections.abc import Sequence
from pathlib import Path
from statistics import mean

# As `python benchmarks/family_drawings.py` from a checkout, nothing needs to be installed.
ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

import torch  # noqa: E402
import torch.nn.functional as F  # noqa: E402
from matplotlib.axes import Axes  # noqa: E402
from matplotlib.figure import Figure  # noqa: E402
from torch import Tensor, nn  # noqa: E402

from benchmarks.family_numbers import SEEDS, recall, tables  # noqa: E402
from benchmarks.pictures import ACCENT, INK, SECOND, heat_map, new, svg  # noqa: E402
from benchmarks.record import write  # noqa: E402
from labml_nn.optimizers import schedules  # noqa: E402
from labml_nn.optimizers.muon import singular_values  # noqa: E402
from labml_nn.transformers.memory import score_functions, sliding_window  # noqa: E402
from labml_nn.transformers.memory.flash import visible_tiles  # noqa: E402
from labml_nn.transformers.memory.grouped_query import GroupedQueryAttention  # noqa: E402
from labml_nn.transformers.memory.latent_attention import LatentAttention  # noqa: E402
from labml_nn.transformers.memory.sdpa import spelled_out  # noqa: E402
from labml_nn.transformers.mha import MultiHeadAttention, causal_mask  # noqa: E402
from labml_nn.transformers.positions.alibi import AlibiAttention  # noqa: E402
from labml_nn.transformers.positions.rotary_pairs import rotate_neighbours  # noqa: E402
from labml_nn.transformers.positions.rotary_scaling import scaled_rotary  # noqa: E402
from labml_nn.transformers.positions.shaw_relative import distances  # noqa: E402
from labml_nn.transformers.positions.transformer_xl import encode_distances  # noqa: E402
from labml_nn.transformers.rotary import RotaryPositions, inverse_frequencies  # noqa: E402
from labml_nn.transformers.variants import linear_attention  # noqa: E402
from labml_nn.transformers.variants.cross_attention import padding_mask  # noqa: E402
from labml_nn.transformers.variants.soft_cap import soft_cap  # noqa: E402

MEMORY = "flash grouped_query latent_attention score_functions sdpa sliding_window"
POSITIONS = "alibi rotary_pairs rotary_scaling shaw_relative transformer_xl"
VARIANTS = "cross_attention delta_rule linear_attention query_key_norm soft_cap"
PAGES = ["optimizers/muon", "optimizers/schedules", "transformers/mha", "transformers/rotary"]
PAGES += [f"transformers/memory/{name}" for name in MEMORY.split()]
PAGES += [f"transformers/positions/{name}" for name in POSITIONS.split()]
PAGES += [f"transformers/variants/{name}" for name in VARIANTS.split()]
SOURCES = [f"labml_nn/{page}.py" for page in PAGES]
SOURCES += ["benchmarks/family_drawings.py", "benchmarks/family_numbers.py"]


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
    figure, all_axes = new(6.4, 2, columns=4)
    nothing = torch.zeros(8, 1, 4, 5)
    scores = AlibiAttention(4, 20).get_scores(nothing, nothing)[:, :, 0]
    weights = scores.masked_fill(~causal_mask(8), -torch.inf).softmax(dim=1)
    for head, axes in enumerate(all_axes):
        grid(axes, weights[..., head], f"slope 1/{4 ** (head + 1)}")
    return figure


def turned() -> Figure:
    r"""The dot product of two equal vectors at growing distances."""
    figure, (axes,) = new(6, 3)
    one = torch.ones(65, 1, 1, 32) / 32**0.5
    plain = (one[0] * one).sum(dim=-1).flatten()
    rotary = RotaryPositions(inverse_frequencies(32), 65)(one)
    lines = {"rotated": (rotary[64] * rotary).sum(dim=-1).flatten().flip(0), "not rotated": plain}
    plot(axes, range(65), lines, xlabel="distance", ylabel="dot product")
    return figure


def pairs() -> Figure:
    r"""What one position does to six features: input down, output across."""
    figure, all_axes = new(6, 3, columns=2)
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
    figure, (axes,) = new(6, 3.2)
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
    figure, (axes,) = new(4.6, 3.6)
    far = distances(8, 8).clamp(-3, 3)
    grid(axes, far, "query down, key across", far.tolist())
    return figure


def waves() -> Figure:
    r"""A row for each distance; one colour is positive, the other negative."""
    figure, (axes,) = new(5, 3.6)
    heat_map(axes, encode_distances(torch.arange(24)[:, None], 16)[:, 0].tolist())
    axes.set(xlabel="feature", ylabel="distance", aspect="auto")
    return figure


def tiles() -> Figure:
    r"""Twelve positions in tiles of three, in the order of computation."""
    figure, (axes,) = new(4.6, 3.6)
    x = torch.zeros(1, 1, 12, 1)
    mask = causal_mask(12).permute(2, 0, 1).unsqueeze(1)
    texts = [["" for _ in range(4)] for _ in range(4)]
    shares, count = torch.zeros(4, 4), 0
    for i in range(4):
        for columns, visible, _ in visible_tiles(slice(3 * i, 3 * i + 3), x, x, mask, 3):
            count += 1
            texts[i][columns.start // 3] = str(count)
            shares[i, columns.start // 3] = visible.double().mean()
    grid(axes, shares, "blocks of queries down, of keys across", texts)
    return figure


def block_mask() -> Figure:
    r"""64 positions in tiles of 8, under a window of 12."""
    figure, (axes,) = new(4.6, 3.6)
    x = torch.zeros(1, 1, 64, 1)
    visible = score_functions.sliding_window(12)(*score_functions.indices(x, x)).double()
    shares = visible.view(8, 8, 8, 8).mean(dim=(1, 3))
    texts = [["" if not x else f"{100 * x:.0f}" for x in row] for row in shares.tolist()]
    grid(axes, shares, "visible in each tile, in percent", texts)
    return figure


def groups() -> Figure:
    r"""Which head of keys each head of queries looks at."""
    figure, all_axes = new(6.4, 2.6, columns=3)
    for axes, key_heads in zip(all_axes, (6, 2, 1), strict=True):
        attention = GroupedQueryAttention(6, 12, key_heads=key_heads)
        # Each head of keys says its own number.
        nn.init.zeros_(attention.key.linear.weight)
        with torch.no_grad():
            attention.key.linear.bias.copy_(torch.arange(key_heads).repeat_interleave(2))
        used = attention.key(torch.zeros(1, 1, 12))[0, 0, :, 0].long()
        heat_map(axes, F.one_hot(used, key_heads).tolist(), "012345", "012345"[:key_heads])
        axes.set_title(("multi-head", "grouped", "multi-query")[(6, 2, 1).index(key_heads)])
        axes.set(xlabel="head of keys")
    all_axes[0].set(ylabel="head of queries")
    return figure


def padding() -> Figure:
    r"""What all queries of each sequence may see, where keys beyond its length are padding."""
    figure, (axes,) = new(4.6, 2)
    grid(axes, padding_mask(torch.tensor([5, 3, 7]), 7)[0].T, "three sequences down, keys across")
    return figure


def cache() -> Figure:
    r"""Kept of each token in a layer with four heads of 32 features."""
    figure, (axes,) = new(6, 2.2)
    plain, shared = MultiHeadAttention(4, 128), GroupedQueryAttention(4, 128, key_heads=1)
    latent = LatentAttention(4, 128, d_latent=32, d_rotary=8, max_len=64)
    kept = {
        "latents": latent.compress.out_features,
        "one head of keys": shared.key.linear.out_features + shared.value.linear.out_features,
        "multi-head": plain.key.linear.out_features + plain.value.linear.out_features,
    }
    axes.barh(list(kept), list(kept.values()), color=ACCENT)
    for i, number in enumerate(kept.values()):
        axes.text(number + 3, i, str(number), va="center")
    axes.set(xlabel="numbers kept of each token", xlim=(0, 290))
    return figure


def sink() -> Figure:
    r"""The weight that all eight tokens have together; seven of them score 0."""
    figure, (axes,) = new(6, 3)
    scores = torch.linspace(0, 12, 49)
    tokens = torch.cat([scores[:, None], torch.zeros(49, 7)], dim=1)
    lines = {
        f"sink of {s}": 1 - torch.cat([tokens, torch.full((49, 1), float(s))], 1).softmax(1)[:, -1]
        for s in (0, 5, 8)
    }
    plot(axes, scores, lines, xlabel="score of the best token", ylabel="weight of all tokens")
    return figure


def functions() -> Figure:
    r"""Queries down, keys across."""
    figure, all_axes = new(6.4, 2.4, columns=3)
    x = torch.zeros(1, 2, 8, 1)
    b, h, i, j = score_functions.indices(x, x)
    grid(all_axes[0], score_functions.causal(b, h, i, j), "causal")
    grid(all_axes[1], score_functions.sliding_window(3)(b, h, i, j), "sliding_window(3)")
    bias = score_functions.alibi(2)(torch.zeros(1, 2, 8, 8), b, h, i, j)[0, 0]
    grid(all_axes[2], bias.masked_fill(i < j, 0), "alibi(2), head 0")
    return figure


def trap() -> Figure:
    r"""Three new queries and six keys; what is filled may be seen."""
    figure, all_axes = new(6.4, 2.2, columns=2)
    query, key = torch.zeros(1, 1, 3, 1), torch.zeros(1, 1, 6, 1)
    values = torch.eye(6).view(1, 1, 6, 6)
    seen = spelled_out(query, key, values, is_causal=True)[0, 0]
    right = spelled_out(query, key, values, causal_mask(6)[3:, :, 0])[0, 0]
    grid(all_axes[0], seen > 0, "is_causal=True")
    grid(all_axes[1], right > 0, "the last rows of the causal mask")
    return figure


def rolling() -> Figure:
    r"""A row for each position; the newest one is dark."""
    figure, all_axes = new(6.4, 3, columns=2)
    grid(all_axes[0], sliding_window.window_mask(8, 3, 1)[..., 0], "window of 3, one sink")
    memory = sliding_window.RollingProjection(1, 1, 1, False, window=3, n_sinks=1)
    nn.init.ones_(memory.linear.weight)
    held = torch.full((8, 4), -1)
    for position in range(8):
        slots = memory(torch.full((1, 1, 1), float(position))).flatten().long()
        held[position, : len(slots)] = slots
    texts = [["" if one < 0 else one for one in row] for row in held.tolist()]
    newest = held.eq(torch.arange(8)[:, None]).double() + 0.25 * held.ge(0)
    grid(all_axes[1], newest, "positions in the slots, token by token", texts)
    return figure


def found_again() -> Figure:
    r"""The error of reading; 1 is what answering zero has."""
    figure, (axes,) = new(6, 3)
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
    figure, all_axes = new(6.4, 2.4, columns=3)
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
    figure, all_axes = new(6, 3, columns=2)
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
    figure, (axes,) = new(6, 3)
    x = torch.linspace(-100, 100, 101)
    lines = {"no cap": x, "cap of 50": soft_cap(x, 50.0), "cap of 20": soft_cap(x, 20.0)}
    plot(axes, x, lines, xlabel="score", ylabel="capped score")
    return figure


def muon() -> Figure:
    r"""Singular values of a random gradient and of the step made of it."""
    figure, (axes,) = new(6, 3)
    torch.manual_seed(1)
    before, after = singular_values()
    lines = {"gradient": before, "step of Muon": after}
    plot(axes, range(1, 17), lines, xlabel="direction", ylabel="singular value", ylim=(0, None))
    return figure


def rates() -> Figure:
    r"""Three schedules over 2,000 steps."""
    figure, (axes,) = new(6, 3)
    kinds = (schedules.cosine, schedules.linear, schedules.inverse_square_root)
    steps = range(0, 2000, 10)
    lines = {kind.__name__: [kind(step, 2000) for step in steps] for kind in kinds}
    plot(axes, steps, lines, xlabel="step", ylabel="share of the highest rate")
    return figure


# Each docstring is said of its picture, and each name is that by which a page refers to it.
PICTURES = (
    padding, alibi, turned, pairs, scaled, vectors, waves, tiles, block_mask, groups, cache, sink,
    functions, trap, rolling, found_again, differences, flat, cap, muon, rates,
)


def main() -> None:
    r"""Draw them all."""
    write(
        "family_drawings",
        title="Functions of the variants, drawn",
        command="python benchmarks/family_drawings.py",
        sources=SOURCES,
        tables=tables(),
        figures={
            name: {"title": draw.__doc__.rstrip("."), "picture": svg(draw(), name)}
            for draw in PICTURES
            for name in [draw.__name__]
        },
    )


if __name__ == "__main__":
    main()
