r"""
When do attention sinks form, and what happens to a model that loses its sink?

A model of one layer and one head learns to look up names, on texts of
labml_nn/transformers/memory/attention_sinks.py, from three seeds: as usual, with a learned sink,
with a window from the start, and on texts without a begin. Each is then tested without a window,
under a window, and under a window that keeps the first token. The result is results/sinks.json.
"""

from statistics import mean
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from benchmarks.library.experiment import Experiment, Report, Runner
from benchmarks.library.ranges import Runs, mean_of, numbers, spread
from benchmarks.library.tables import column, table
from benchmarks.pictures import heat_map, new, svg
from labml_nn.training import loop
from labml_nn.transformers.basic.autoregressive_model import AutoregressiveTransformer
from labml_nn.transformers.memory.attention_sinks import lookups, sink_mask
from labml_nn.transformers.memory.learned_sink import LearnedSinkAttention
from labml_nn.transformers.mha import MultiHeadAttention, causal_mask

SEEDS, STEPS, BATCH, TESTS = (1, 2, 3), 1000, 32, 2000
D_MODEL, SEQ_LEN, NAMES, NUMBERS, WINDOW = 64, 32, 16, 4, 8
N_VOCAB = 1 + NAMES + NAMES * NUMBERS
# How each is trained: the attention, the mask, and whether texts have a begin.
WAYS: dict[str, tuple[type[MultiHeadAttention], int, bool]] = {
    "as usual": (MultiHeadAttention, SEQ_LEN, True),
    "with a learned sink": (LearnedSinkAttention, SEQ_LEN, True),
    "with the window": (MultiHeadAttention, WINDOW, True),
    "without a begin token": (MultiHeadAttention, SEQ_LEN, False),
}
# The text of the page, and of the picture: its names are letters.
TEXT = "<begin> b3 d1 b? a2 c? a? e?".split()
PICTURE_WINDOW = 4


def drawn(begin: bool, batch_size: int) -> tuple[Tensor, Tensor]:
    r"""Texts and answers; without a begin, the one token more is cut off."""
    tokens, answers = lookups(SEQ_LEN + (not begin), batch_size, NAMES, NUMBERS)
    return tokens[-SEQ_LEN:], answers[-SEQ_LEN:]


def kinds(tokens: Tensor, answers: Tensor) -> dict[str, Tensor]:
    r"""
    Which questions have left the first token behind and ask for a name that was never told, or was
    told inside the window?
    """
    late = torch.arange(len(tokens))[:, None] >= WINDOW
    told = F.one_hot((tokens - 1 - NAMES).clamp(min=0) // NUMBERS, NAMES)
    told = (told * (tokens > NAMES)[..., None]).cumsum(0)
    recent = told - F.pad(told, (0, 0, 0, 0, WINDOW, 0))[: len(told)]
    asked = (tokens - 1).clamp(0, NAMES - 1)[..., None]
    return {
        "never": late & (answers == NUMBERS),
        "recent": late & (answers >= 0) & (recent.gather(-1, asked)[..., 0] > 0),
    }


def numbered(text: list[str]) -> Tensor:
    r"""The tokens of a text as the page writes it."""
    found = [0]
    for name, rest in text[1:]:
        at = "abcdefghijklmnop".index(name)
        found.append(1 + at if rest == "?" else 1 + NAMES + NUMBERS * at + int(rest))
    return torch.tensor(found)[:, None]


@torch.no_grad()
def trained(way: str, seed: int) -> dict[str, Any]:
    r"""Train one model; what it answers under three masks, and where it looks."""
    attention, window, begin = WAYS[way]
    torch.manual_seed(seed)
    sizes = (D_MODEL, 1, 1, 4 * D_MODEL, SEQ_LEN)
    model = AutoregressiveTransformer(N_VOCAB, *sizes, attention=attention)
    model.mask = sink_mask(SEQ_LEN, window, 0)
    with torch.enable_grad():
        loop.train(model, lambda _: drawn(begin, BATCH), [loop.adamw(model)], STEPS)
    torch.manual_seed(0)
    tokens, answers = drawn(begin, TESTS)
    model.eval()
    of_kind = kinds(tokens, answers)
    layer = model.encoder.layers[0].self_attn
    found: dict[str, Any] = {}
    masks = {
        "free": causal_mask(SEQ_LEN),
        "window": sink_mask(SEQ_LEN, WINDOW, 0),
        "kept": sink_mask(SEQ_LEN, WINDOW, 1),
    }
    for mask_name, model.mask in masks.items():
        right = model(tokens).argmax(dim=-1) == answers
        for kind, those in of_kind.items():
            found[f"{mask_name}_{kind}"] = right[those].double().mean().item()
            if mask_name == "free":
                weights = layer.attn.mean(dim=-1)
                found[f"first_{kind}"] = weights[:, 0][those].mean().item()
                own = weights.diagonal().T
                found[f"own_{kind}"] = own[those].mean().item()
                found[f"nowhere_{kind}"] = 1 - weights.sum(dim=1)[those].mean().item()
    text = numbered(TEXT)
    for name, model.mask in {
        "free": causal_mask(SEQ_LEN),
        "window": sink_mask(SEQ_LEN, PICTURE_WINDOW, 0),
    }.items():
        said = model(text)[:, 0].argmax(dim=-1).tolist()
        found[f"said_{name}"] = said
        found[f"seen_{name}"] = layer.attn[:, :, 0].mean(dim=-1).tolist()
    return found


def measure(runner: Runner) -> Runs:
    r"""All ways, from each seed."""
    return runner.runs(trained, WAYS, SEEDS)


def looks(run: dict[str, Any]) -> str:
    r"""Where the questions look, without and with a window, and what is answered."""
    figure, all_axes = new(6.4, 2.2, columns=2)
    at = [i for i, token in enumerate(TEXT) if token.endswith("?")]
    titles = {"free": "no window", "window": f"a window of {PICTURE_WINDOW}"}
    for axes, (name, title) in zip(all_axes, titles.items(), strict=True):
        cells = [run[f"seen_{name}"][i] for i in at]
        said = [run[f"said_{name}"][i] for i in at]
        rows = [
            f"{TEXT[i]} → {'none' if one == NUMBERS else one}"
            for i, one in zip(at, said, strict=True)
        ]
        heat_map(axes, cells, rows, [token.strip("<>") for token in TEXT])
        axes.set_title(title, fontsize=9)
    return svg(figure, "looks")


def report(runs: Runs) -> Report:
    r"""A row for each way of training."""
    rows = [
        {
            "way": way,
            "free": mean_of(found, "free_never"),
            **spread("window", numbers(found, "window_never")),
            "kept": mean_of(found, "kept_never"),
        }
        for way, found in runs.items()
    ]
    looked = [
        {
            "way": way,
            "first": mean_of(found, "first_never"),
            "own": mean_of(found, "own_never"),
            "nowhere": mean_of(found, "nowhere_never"),
        }
        for way, found in runs.items()
    ]
    columns = [
        column("way", "Trained"),
        column("free", "No window", 2),
        column("window", "Window", 2),
        column("low", "lowest", 2),
        column("high", "highest", 2),
        column("kept", "First token kept", 2),
    ]
    places = [
        column("way", "Trained"),
        column("first", "First token", 2),
        column("own", "The question", 2),
        column("nowhere", "Learned sink", 2),
    ]
    usual = runs["as usual"]
    keys = [key for key in usual[0] if not key.startswith(("said", "seen"))]
    return {
        "values": {
            "steps": STEPS,
            "seq_len": SEQ_LEN,
            "window": WINDOW,
            "seeds": len(SEEDS),
            **{key: mean_of(usual, key) for key in keys},
            "nowhere": mean(numbers(runs["with a learned sink"], "nowhere_never")),
            # What the last question of the picture gives to the begin, and then to “a2”.
            "begin": usual[0]["seen_free"][-1][0],
            "other": usual[0]["seen_window"][-1][TEXT.index("a2")],
        },
        "tables": {
            "ways": table(columns, rows),
            "weights": table(places, looked),
        },
        "figures": {
            "looks": {
                "title": "Where each question looks, and what the model answers",
                "picture": looks(usual[0]),
            }
        },
    }


EXPERIMENT = Experiment(
    title="A head that finds nothing, and a window",
    measure=measure,
    report=report,
    small={"SEEDS": (1, 2), "STEPS": 3, "TESTS": 50},
)
