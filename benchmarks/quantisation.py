r"""
Quantisation: the loss of the classic model against the bits of its weights, and of its cache.

Three seeds of the classic model are trained as in the other results. Each is rounded in several
ways, and meets the whole validation text. The time is the processor's, of a single thread. It takes
about 12 minutes of one core, five of them for training.

The result is results/quantisation.json, to which the pages of labml_nn/quantisation refer.
"""

import copy
import statistics
import time
from collections.abc import Callable, Mapping
from statistics import mean
from typing import Any

import torch
from matplotlib.figure import Figure
from torch import Tensor, nn

from benchmarks.library.experiment import Experiment, Report, Runner
from benchmarks.library.tables import column
from benchmarks.pictures import heat_map, new, svg
from labml_nn.quantisation import cache
from labml_nn.quantisation.gptq import gptq_weights
from labml_nn.quantisation.groups import round_weights, to_four_bits
from labml_nn.quantisation.quantisation_experiment import n_bytes
from labml_nn.training.data import RandomWindows, prepare, tiny_shakespeare
from labml_nn.training.loop import adamw, evaluate, train
from labml_nn.transformers.basic.autoregressive_experiment import read_text
from labml_nn.transformers.basic.autoregressive_model import (
    AutoregressiveTransformer,
)
from labml_nn.transformers.fused_attention import FusedAttention

SEEDS, SEQ_LEN, STEPS, GROUP = (1, 2, 3), 64, 2000, 32
BITS, CACHE_BITS = (8, 5, 4, 3, 2), (8, 4, 3, 2)
TOKENIZER, TRAINING, VALIDATION = prepare(tiny_shakespeare(), SEQ_LEN)

Weights = Mapping[str, Tensor]
Rounder = Callable[[nn.Module, int], None]
AXES = {"tokens": (-1, -1), "channels": (0, 0), "paper": (0, -1)}  # of keys and of values
PARTS = {"attention": "self_attn", "feed_forward": "feed_forward", "generator": "generator"}


def classic(weights: Weights | None = None) -> AutoregressiveTransformer:
    r"""The classic model, with these weights or with random ones."""
    model = AutoregressiveTransformer(
        len(TOKENIZER), 128, 4, 4, 512, SEQ_LEN, attention=FusedAttention
    )
    if weights is not None:
        model.load_state_dict(weights)
    return model.eval()


def trained(seed: int) -> Weights:
    r"""The weights of the classic model, trained."""
    torch.manual_seed(seed)
    model = classic()
    train(model, RandomWindows(TRAINING, SEQ_LEN, 12, seed).at, [adamw(model)], STEPS)
    return model.state_dict()


@torch.no_grad()
def by_matrix(model: nn.Module, n_bits: int) -> None:
    r"""One scale for each matrix."""
    for layer in model.modules():
        if isinstance(layer, nn.Linear):
            scale = layer.weight.abs().max() / (2 ** (n_bits - 1) - 1)
            layer.weight.copy_((layer.weight / scale).round() * scale)


def windows(seed: int, text: str | None = None, n_windows: int = 64) -> Tensor:
    r"""Inputs for calibration: of the training text, or of another one with the same letters."""
    if text is None:
        tokens = TRAINING
    else:
        known = set(TOKENIZER.symbols)
        tokens = TOKENIZER.encode("".join(one for one in text if one in known))
    return RandomWindows(tokens, SEQ_LEN, n_windows, seed).at(0)[0]


def loss_of(model: nn.Module, round_model: Rounder, n_bits: int) -> float:
    r"""The loss of a rounded copy."""
    rounded = copy.deepcopy(model)
    round_model(rounded, n_bits)
    return evaluate(rounded, VALIDATION, SEQ_LEN)


def with_gptq(calibration: Tensor, group_len: int = 0) -> Rounder:
    r"""A function that rounds a model with this text."""
    return lambda model, n_bits: gptq_weights(model, calibration, n_bits, group_len)


def cached_loss(model: nn.Module, axes: tuple[int, int], n_bits: int) -> float:
    r"""The loss when all keys and values are rounded, in groups of so many tokens or features."""

    def rounded(x: Tensor, dim: int) -> Tensor:
        groups = [cache.quantise_range(one, n_bits, dim) for one in x.split(GROUP)]
        return torch.cat([cache.restore_range(*one) for one in groups])

    hooks = [
        module.register_forward_hook(lambda _, given, x, dim=dim: rounded(x, dim))
        for layer in model.encoder.layers
        for module, dim in zip((layer.self_attn.key, layer.self_attn.value), axes, strict=True)
    ]
    loss = evaluate(model, VALIDATION, SEQ_LEN)
    for hook in hooks:
        hook.remove()
    return loss


def keys_and_values(model: nn.Module) -> tuple[list[Tensor], list[Tensor]]:
    r"""Those of each layer for 20 windows of the validation text, `[seq_len, 20, heads, d_k]`."""
    found: tuple[list[Tensor], list[Tensor]] = ([], [])
    hooks = [
        module.register_forward_hook(lambda _, given, x, all_of=all_of: all_of.append(x))
        for layer in model.encoder.layers
        for module, all_of in zip((layer.self_attn.key, layer.self_attn.value), found, strict=True)
    ]
    with torch.no_grad():
        model(VALIDATION[: 20 * SEQ_LEN].view(20, SEQ_LEN).t())
    for hook in hooks:
        hook.remove()
    return found


def losses(seed: int, weights: Weights) -> dict[str, Any]:
    r"""All losses of one seed."""
    model, own = classic(weights), windows(seed)
    methods: dict[str, Rounder] = {
        "matrix": by_matrix,
        "rows": round_weights,
        "groups": lambda one, n_bits: round_weights(one, n_bits, GROUP),
        "gptq": with_gptq(own),
        "gptq_groups": with_gptq(own, GROUP),
    }
    letters = torch.randint(len(TOKENIZER), (SEQ_LEN, 64), generator=torch.manual_seed(seed))
    keys, _ = keys_and_values(model)
    offsets = [(x.mean(dim=(0, 1)).abs() / x.std(dim=(0, 1))).max().item() for x in keys]

    def part(name: str) -> Rounder:
        def round_part(rounded: nn.Module, n_bits: int) -> None:
            for path, module in rounded.named_modules():
                if path.split(".")[-1] == name:
                    round_weights(module, n_bits, GROUP)

        return round_part

    return {
        "float": evaluate(model, VALIDATION, SEQ_LEN),
        "bits": {
            str(n_bits): {name: loss_of(model, one, n_bits) for name, one in methods.items()}
            for n_bits in BITS
        },
        "calibration": {
            "random": loss_of(model, with_gptq(letters), 3),
            "python": loss_of(model, with_gptq(windows(seed, read_text("python"))), 3),
            "one_window": loss_of(model, with_gptq(windows(seed, n_windows=1)), 3),
        },
        "parts": {name: loss_of(model, part(path), 2) for name, path in PARTS.items()},
        "cache": {
            str(n_bits): {name: cached_loss(model, axes, n_bits) for name, axes in AXES.items()}
            for n_bits in CACHE_BITS
        },
        "offset": max(offsets),
    }


def pass_time(weights: Weights, turns: int = 200) -> float:
    r"""How many times as long a pass over one letter takes with four bits."""
    exact = classic(weights)
    four_bits = copy.deepcopy(exact)
    to_four_bits(four_bits)
    times: tuple[list[float], list[float]] = ([], [])
    with torch.no_grad():
        for _ in range(turns):
            for model, all_of in zip((exact, four_bits), times, strict=True):
                start = time.thread_time()
                model(VALIDATION[:1, None])
                all_of.append(time.thread_time() - start)
    return statistics.median(times[1]) / statistics.median(times[0])


def stripes(weights: Weights) -> Figure:
    r"""Keys and values of the second layer's first head: a row is a letter, a column a channel."""
    pages = keys_and_values(classic(weights))
    text = TOKENIZER.decode(VALIDATION[:GROUP])
    figure, axes = new(7.4, 4.0, 2)
    for one, title, x in zip(axes, ("keys", "values"), pages, strict=True):
        heat_map(one, x[1][:GROUP, 0, 0].tolist(), list(text.replace("\n", "¶")))
        one.set(title=title, xlabel="channel", xticks=[])
    return figure


# The greatest loss that a chart has room for.
MOST = 2.6

METHODS = {
    "matrix": "One scale for each matrix",
    "rows": "A scale for each row",
    "groups": "Groups of 32",
    "gptq": "Rows, GPTQ",
    "gptq_groups": "Groups of 32, GPTQ",
}
CACHES = {
    "tokens": "Both by token",
    "channels": "Both by channel",
    "paper": "Keys by channel, values by token",
}


def by_bits(found: list[dict], key: str, names: dict[str, str]) -> dict[str, object]:
    r"""Means over the seeds, a row for each number of bits."""
    columns = [{"name": name, "title": title, "digits": 3} for name, title in names.items()]
    return {
        "columns": [column("bits", "Bits"), *columns],
        "rows": [
            {"bits": int(n_bits)}
            | {name: mean(one[key][n_bits][name] for one in found) for name in names}
            for n_bits in found[0][key]
        ],
    }


def chart(
    rows: list[dict], names: dict[str, str], title: str, own: dict[str, float]
) -> dict[str, object]:
    r"""
    Loss against bits, those of the scales included. The axis ends at about the loss of counting
    pairs of letters, and what lies above is an arrow.
    """
    losses = [row[name] for row in rows for name in own]
    end = {"high": MOST} if max(losses) > MOST else {}
    return {
        "title": title,
        "x": {"title": "Bits of a number, with its scale"},
        "y": {"title": "Validation loss"} | end,
        "lines": [
            {
                "name": names[name],
                "points": [[row["bits"] + own[name], row[name]] for row in rows],
            }
            for name in own
        ],
    }


def charts(tables: dict[str, Any]) -> dict[str, dict[str, object]]:
    r"""All that is drawn from the tables."""
    # A scale has 16 bits. A row has 128 weights or more; in the cache 32 numbers share two.
    by_rows, by_groups = 16 / 128, 16 / GROUP
    weights, kept = tables["bits"]["rows"], tables["cache"]["rows"]
    rounded = {"rows": by_rows, "groups": by_groups}
    corrected = {"gptq": by_rows, "gptq_groups": by_groups}
    title = "Loss against bits, rounded and with GPTQ"
    return {
        "bits": chart(weights, METHODS, "Loss against bits", rounded),
        "gptq": chart(weights, METHODS, title, rounded | corrected),
        "cache": chart(kept, CACHES, "Loss with a cache in few bits", {"tokens": 1, "paper": 1}),
    }


def measure(runner: Runner) -> dict[str, Any]:
    r"""Train, and round in every way."""
    weights = runner.all([(trained, seed) for seed in SEEDS])
    jobs = zip(SEEDS, weights, strict=True)
    found = runner.all([(losses, seed, one) for seed, one in jobs])
    return {"found": found, "weights": weights[0], "time": pass_time(weights[0])}


def report(measured: dict[str, Any]) -> Report:
    r"""Losses against bits."""
    found, weights = measured["found"], measured["weights"]
    model = classic(weights)
    before = n_bytes(model)
    to_four_bits(model)
    floats = [one["float"] for one in found]
    tables = {"bits": by_bits(found, "bits", METHODS), "cache": by_bits(found, "cache", CACHES)}
    return {
        "values": {
            "float": mean(floats),
            "spread": max(floats) - min(floats),
            "time": measured["time"],
            "bytes": {"float": before, "four_bits": n_bytes(model)},
            "offset": mean(one["offset"] for one in found),
        }
        | {
            key: {name: mean(one[key][name] for one in found) for name in found[0][key]}
            for key in ("calibration", "parts")
        },
        "tables": tables,
        "figures": charts(tables)
        | {
            "stripes": {
                "title": str(stripes.__doc__).rstrip("."),
                "picture": svg(stripes(weights), "quantisation-stripes"),
            },
        },
    }


EXPERIMENT = Experiment(
    title="The loss of the classic model with weights, keys and values in few bits",
    measure=measure,
    report=report,
    small={"SEEDS": (1, 2), "STEPS": 2, "BITS": (8, 2), "CACHE_BITS": (8, 2)},
)
