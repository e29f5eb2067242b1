r"""
What layer normalisation does to a sentence, and over which numbers it takes the mean.

A trained model reads three words: mean and spread of the features before its last normalisation. It
takes a few seconds. The result is results/layer_norm.json, to which the page refers.
"""

import torch
from torch import Tensor

from benchmarks.library.experiment import Experiment, Report, Runner
from benchmarks.library.tables import column, table
from benchmarks.pictures import ACCENT, INK, SECOND, new, svg
from benchmarks.record import ROOT
from labml_nn.training.data import prepare, tiny_shakespeare
from labml_nn.training.trained import load
from labml_nn.transformers.basic.autoregressive_model import AutoregressiveTransformer
from labml_nn.transformers.layer_norm import batch_normalise, normalise

WEIGHTS = "results/weights/classic.safetensors"
TEXT, SEQ_LEN = "the cat sat", 64
# Those of the page.
TOKENS = torch.tensor([[2.0, 4, 9], [30, 10, 20]]).unsqueeze(1)


def trained() -> tuple[AutoregressiveTransformer, Tensor]:
    r"""The classic model as the site has it, and the tokens of the text, `[seq_len, 1]`."""
    tokenizer, _, _ = prepare(tiny_shakespeare(), SEQ_LEN)
    model = AutoregressiveTransformer(len(tokenizer))
    load(model, (ROOT / WEIGHTS).read_bytes())
    return model.eval(), tokenizer.encode(TEXT).unsqueeze(1)


@torch.no_grad()
def stream(model: AutoregressiveTransformer, tokens: Tensor) -> Tensor:
    r"""The features of each character before the last normalisation, `[seq_len, 1, d_model]`."""
    x = model.embed(tokens)
    for layer in model.encoder.layers:
        x = layer(x=x, mask=model.mask[: len(tokens), : len(tokens)])
    return x


def short(number: float) -> str:
    r"""At most two decimals, and none of a whole number."""
    rounded = round(number, 2) + 0.0
    return (f"{rounded:.0f}" if rounded == round(rounded) else f"{rounded:.2f}").replace("-", "−")


def axes() -> str:
    r"""The two tokens, normalised along rows and down columns; one colour for each group."""
    figure, panels = new(4.6, 1.5, columns=2)
    made = {
        "layer normalisation": (normalise(TOKENS), lambda row, _: (ACCENT, SECOND)[row]),
        "batch normalisation": (
            batch_normalise(TOKENS),
            lambda _, column: (ACCENT, SECOND, INK)[column],
        ),
    }
    for panel, (name, (found, colour)) in zip(panels, made.items(), strict=True):
        for row in range(2):
            for at in range(3):
                before, after = TOKENS[row, 0, at].item(), found[row, 0, at].item()
                corners = ([at, at + 1, at + 1, at], [row, row, row + 1, row + 1])
                panel.fill(*corners, color=colour(row, at), alpha=0.25, linewidth=0)
                panel.text(at + 0.5, row + 0.35, short(before), ha="center", va="center")
                panel.text(
                    at + 0.5,
                    row + 0.7,
                    short(after),
                    ha="center",
                    va="center",
                    fontsize=8,
                    weight="bold",
                )
        panel.set_title(name, fontsize=10)
        panel.set(xlim=(0, 3), ylim=(2, 0), yticks=[], xticks=[0.5, 1.5, 2.5])
        panel.set_xticklabels(["feature 1", "feature 2", "feature 3"], fontsize=8)
        panel.tick_params(length=0)
    panels[0].set_yticks([0.5, 1.5], ["token 1", "token 2"], fontsize=8)
    return svg(figure, "axes")


def sentence(x: Tensor) -> str:
    r"""A line for each character: all of its features, and in bold the mean and the spread."""
    figure, panels = new(5.4, 2.4, columns=2)
    parts = (("before", x, SECOND), ("after", normalise(x), ACCENT))
    for panel, (name, found, colour) in zip(panels, parts, strict=True):
        low, high = found[:, 0].amin(dim=-1).tolist(), found[:, 0].amax(dim=-1).tolist()
        mean, spread = found[:, 0].mean(dim=-1), found[:, 0].std(dim=-1, correction=0)
        panel.vlines(range(len(TEXT)), low, high, color=colour, linewidth=1)
        ends = ((mean - spread).tolist(), (mean + spread).tolist())
        panel.vlines(range(len(TEXT)), *ends, color=colour, linewidth=5)
        panel.set_title(name, fontsize=10)
        panel.set_ylim(-42, 42)
        panel.set_xticks(range(len(TEXT)), list(TEXT.replace(" ", "␣")), family="monospace")
    panels[0].set_ylabel("features")
    return svg(figure, "sentence")


def measure(runner: Runner) -> Report:
    r"""The spread of each character's features, and both pictures."""
    model, tokens = trained()
    x = stream(model, tokens)
    gains = model.encoder.norm.weight
    means, spreads = x.mean(dim=-1).flatten(), x.std(dim=-1, correction=0).flatten()
    after = normalise(x).std(dim=-1, correction=0).flatten()
    rows = [
        {
            "character": f"{at + 1}: {TEXT[at].replace(' ', 'space')}",
            "mean": means[at].item(),
            "spread": spreads[at].item(),
            "after": after[at].item(),
        }
        for at in range(len(TEXT))
    ]
    columns = [
        column("character", "Character"),
        column("mean", "Mean", 2),
        column("spread", "Standard deviation", 2),
        column("after", "Normalised", 2),
    ]
    return {
        "values": {
            "ratio": (spreads.max() / spreads[-1]).item(),
            "mean": (means.abs() / spreads).max().item(),
            "lowest": gains.min().item(),
            "highest": gains.max().item(),
        },
        "tables": {"characters": table(columns, rows)},
        "figures": {
            "axes": {
                "title": "above the number before, below the number after; numbers of one colour "
                "share a mean and a variance",
                "picture": axes(),
            },
            "sentence": {
                "title": "before, the features are furthest apart at the two spaces; after, they "
                "have one standard deviation at all characters",
                "picture": sentence(x),
            },
        },
    }


EXPERIMENT = Experiment(
    title="A sentence before and after layer normalisation",
    measure=measure,
    reads=(WEIGHTS,),
)
