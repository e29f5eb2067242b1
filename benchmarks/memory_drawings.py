r"""
Pictures of the pages about memory and about ways of writing attention: nothing is trained, and it
takes a few seconds.

The result is results/memory_drawings.json, to which those pages refer.
"""

import torch
import torch.nn.functional as F
from matplotlib.figure import Figure
from torch import nn

from benchmarks.family_drawings import drawn, grid, plot
from benchmarks.library.experiment import Experiment, Report, Runner
from benchmarks.pictures import ACCENT, heat_map, new
from labml_nn.transformers.memory import attention_sinks, score_functions
from labml_nn.transformers.memory.flash import visible_tiles
from labml_nn.transformers.memory.grouped_query import GroupedQueryAttention
from labml_nn.transformers.memory.latent_attention import LatentAttention
from labml_nn.transformers.memory.sdpa import spelled_out
from labml_nn.transformers.mha import MultiHeadAttention, causal_mask
from labml_nn.transformers.ways.folded_heads import fold
from labml_nn.transformers.ways.one_head_at_a_time import causal_attention


def tiles() -> Figure:
    r"""Twelve positions in tiles of three, in the order of computation."""
    figure, (axes,) = new(4.6, 2.8)
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
    figure, (axes,) = new(4.6, 2.8)
    x = torch.zeros(1, 1, 64, 1)
    visible = score_functions.sliding_window(12)(*score_functions.indices(x, x)).double()
    shares = visible.view(8, 8, 8, 8).mean(dim=(1, 3))
    texts = [["" if not x else f"{100 * x:.0f}" for x in row] for row in shares.tolist()]
    grid(axes, shares, "visible in each tile, in percent", texts)
    return figure


def groups() -> Figure:
    r"""Which head of keys each head of queries looks at."""
    figure, all_axes = new(4.6, 2.2, columns=3)
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


def cache() -> Figure:
    r"""Kept of each token in a layer with four heads of 32 features."""
    figure, (axes,) = new(4.6, 1.9)
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
    figure, (axes,) = new(4.6, 2.6)
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
    figure, all_axes = new(4.6, 2.1, columns=3)
    x = torch.zeros(1, 2, 8, 1)
    b, h, i, j = score_functions.indices(x, x)
    grid(all_axes[0], score_functions.causal(b, h, i, j), "causal")
    grid(all_axes[1], score_functions.sliding_window(3)(b, h, i, j), "sliding_window(3)")
    bias = score_functions.alibi(2)(torch.zeros(1, 2, 8, 8), b, h, i, j)[0, 0]
    grid(all_axes[2], bias.masked_fill(i < j, 0), "alibi(2), head 0")
    return figure


def trap() -> Figure:
    r"""Three new queries and six keys; what is filled may be seen."""
    figure, all_axes = new(4.6, 1.9, columns=2)
    query, key = torch.zeros(1, 1, 3, 1), torch.zeros(1, 1, 6, 1)
    values = torch.eye(6).view(1, 1, 6, 6)
    seen = spelled_out(query, key, values, is_causal=True)[0, 0]
    right = spelled_out(query, key, values, causal_mask(6)[3:, :, 0])[0, 0]
    grid(all_axes[0], seen > 0, "is_causal=True")
    grid(all_axes[1], right > 0, "the last rows of the causal mask")
    return figure


def rolling() -> Figure:
    r"""A row for each position; the newest one is dark."""
    figure, all_axes = new(4.6, 2.6, columns=2)
    grid(all_axes[0], attention_sinks.sink_mask(8, 3, 1)[..., 0], "window of 3, one sink")
    memory = attention_sinks.SinkProjection(1, 1, 1, False, window=3, n_sinks=1)
    nn.init.ones_(memory.linear.weight)
    held = torch.full((8, 4), -1)
    for position in range(8):
        slots = memory(torch.full((1, 1, 1), float(position))).flatten().long()
        held[position, : len(slots)] = slots
    texts = [["" if one < 0 else one for one in row] for row in held.tolist()]
    newest = held.eq(torch.arange(8)[:, None]).double() + 0.25 * held.ge(0)
    grid(all_axes[1], newest, "positions in the slots, token by token", texts)
    return figure


def reading() -> Figure:
    r"""What one layer reads of the past for a new token, in millions, with the paper's sizes."""
    figure, (axes,) = new(4.6, 2.6)
    sizes = {"d_latent": 512, "d_rotary": 64, "max_len": 1}
    with torch.device("meta"):
        latent = LatentAttention(128, 16384, **sizes)
    written = latent.key.linear.out_features + latent.value.linear.out_features
    lengths = range(0, 8193, 1024)
    lines = {
        name: [n * kept / 1e6 for n in lengths]
        for name, kept in (
            ("keys and values of all heads", written),
            ("latents and shared keys", latent.compress.out_features),
        )
    }
    plot(axes, lengths, lines, xlabel="tokens before", ylabel="millions of numbers")
    return figure


def folded() -> Figure:
    r"""The sequence and the head, “b.h”, that each folded sequence holds, at each position."""
    figure, (axes,) = new(4.6, 2.8)
    b, h = torch.arange(2)[:, None, None, None], torch.arange(3)[:, None]
    numbers = (10 * b + h).expand(2, 4, 3, 1)
    held = fold(numbers)[..., 0]
    texts = [[f"{one // 10}.{one % 10}" for one in row] for row in held.tolist()]
    grid(axes, 1 + held % 10, "6 folded sequences down, 4 positions across", texts)
    return figure


def views() -> Figure:
    r"""The positions whose features each of two heads gets: rightly, and by a view alone."""
    figure, all_axes = new(4.6, 2.1, columns=2)
    position = torch.arange(3)[:, None].expand(3, 4)
    right = position.reshape(3, 2, 2).transpose(0, 1).flatten(1)
    wrong = position.reshape(2, 3, 2).flatten(1)
    for axes, held, name in zip(
        all_axes, (right, wrong), ("view, then transpose", "view alone"), strict=True
    ):
        grid(axes, held + 1, f"{name}: 2 heads down", held.tolist())
    return figure


def weights() -> Figure:
    r"""The weights of six random positions in percent; the future has none."""
    figure, (axes,) = new(4.2, 2.8)
    torch.manual_seed(1)
    query, key = torch.randn(2, 1, 6, 4)
    seen = causal_attention(query, key, torch.eye(6)[None])[0]
    texts = [[f"{100 * x:.0f}" if x else "" for x in row] for row in seen]
    grid(axes, seen, "query down, key across", texts)
    return figure


PICTURES = (
    tiles,
    block_mask,
    groups,
    cache,
    reading,
    sink,
    functions,
    trap,
    rolling,
    folded,
    views,
    weights,
)


def measure(runner: Runner) -> Report:
    r"""Draw them all."""
    return {
        "figures": drawn(PICTURES),
    }


EXPERIMENT = Experiment(
    title="Functions of the pages about memory and of the four ways, drawn",
    measure=measure,
    threads=None,
)
