r"""
How low does the loss get if a network and counted letters predict together?

The network is that of the long run, which is trained by `python -m benchmarks long` if that hasn't
been done. All predictions follow the rules of a measurement, which are checked on a piece of the
text. The result is results/averaging.json.
"""

import math
import sys
from itertools import pairwise
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from benchmarks import long
from benchmarks.library.charts import axis, line, line_chart
from benchmarks.library.experiment import Experiment, Report, Runner
from benchmarks.library.tables import column, table
from labml_nn.training.averaging import Reader, average, sliding
from labml_nn.training.data import prepare, tiny_shakespeare
from labml_nn.training.engine.checkpoint import load_checkpoint
from labml_nn.training.engine.presets import PRESETS
from labml_nn.training.engine.runs import newest_first
from labml_nn.training.rules import broken_rules, score

SEED, SEQ_LEN, STRIDE, N_LETTERS, RATE = 1, 256, 32, 5, 0.002
# Tokens of the validation text that are scored, and of the piece on which the rules are checked.
SCORED, CHECKED = 10**9, 600
# Letters of the training text that are counted for that.
COUNTED = 20_000
# What is averaged. The weight of a network alone is what its logits are multiplied with.
AVERAGES = {
    "alone": ("sliding",),
    "average": ("sliding", "counted"),
    "average_reading": ("sliding", "reading"),
}
# Points of the curve.
POINTS = 20
# Settings of the long run other than its own: none, but for a look whether this runs.
SETTINGS: list[str] = []


def network(run: Path, weights: str, n_vocab: int) -> torch.nn.Module:
    r"""The network of a run, as its last checkpoint has it, if that has this checksum."""
    if long.weights_of(run) != weights:
        sys.exit(f"{run} has no longer its weights: delete runs/long, and they are trained again")
    state = load_checkpoint(newest_first(run / "checkpoints")[0])
    preset = PRESETS[state["about"]["preset"]]
    model = preset.model(preset.make_config(state["about"]["config"]), n_vocab)
    model.load_state_dict(state["model"])
    return model


def measured(seed: int) -> dict[str, Any]:
    r"""The losses of each model alone and of averages, the last weights, and a curve of each."""
    if SETTINGS:
        long.EXPERIMENT.with_settings({"SETTINGS": SETTINGS})
    settings = {"SETTINGS": SETTINGS} if SETTINGS else {}
    trained = Runner(long.EXPERIMENT, settings=settings).once(long.trained, seed)
    tokenizer, training, validation = prepare(tiny_shakespeare(), SEQ_LEN)
    validation = validation[:SCORED]
    model = network(Path(trained["result"]["run"]), trained["weights"], len(tokenizer))
    seq_len = SEQ_LEN if not SETTINGS else 64

    def all_of_them(tokens: Tensor, counted: str) -> dict[str, Tensor]:
        text = tokenizer.decode(tokens)
        logs = {
            "windows": sliding(model, tokens, seq_len, seq_len),
            "sliding": sliding(model, tokens, seq_len, STRIDE),
            "counted": table_of(counted).log_probabilities(text, learns=False),
            "reading": table_of(counted).log_probabilities(text, learns=True),
        }
        found = {name: one.exp() for name, one in logs.items()}
        for name, members in AVERAGES.items():
            together = torch.stack([logs[one] for one in members])
            found[name], weights[name] = average(together, tokens[1:], RATE)
        return found

    def table_of(text: str) -> Reader:
        return Reader(text, N_LETTERS, tokenizer.symbols)

    weights: dict[str, Tensor] = {}
    piece = validation[:CHECKED]
    # The rules are about how it is measured: a short text to count is enough for them.
    counted = tokenizer.decode(training)
    broken = {
        name: broken_rules(
            lambda tokens, name=name: all_of_them(tokens, counted[:COUNTED])[name],
            piece,
            len(tokenizer),
        )
        for name in AVERAGES
    }
    found = all_of_them(validation, counted)
    ends = [round(len(validation) * at / POINTS) for at in range(POINTS + 1)]
    came = validation[1:].unsqueeze(1)
    costs = {name: -one.gather(1, came).log().squeeze(1) for name, one in found.items()}
    return {
        "broken": broken,
        "tokens": len(validation) - 1,
        "losses": {
            name: score(lambda tokens, one=one: one, validation) for name, one in found.items()
        },
        "weights": {name: one[-1].tolist() for name, one in weights.items()},
        "curves": {
            name: [[b, one[a:b].mean().item()] for a, b in pairwise(ends)]
            for name, one in costs.items()
        },
    }


def measure(runner: Runner) -> dict[str, Any]:
    r"""One network."""
    return runner.once(measured, SEED)


# What each of the measured ones is, in the order of the table.
TITLES = {
    "counted": "Counted letters of the training text",
    "reading": "The same, and of what was read of this text",
    "windows": "The network, in windows side by side",
    "sliding": f"The network, in windows that move on by {STRIDE}",
    "alone": "The same, with a weight that it learns",
    "average": "Network and counted letters",
    "average_reading": "Network and counted letters that learn",
}


def report(found: dict[str, Any]) -> Report:
    r"""The losses, in nats and bits, the weights, and how the losses change along the text."""
    rows = [
        {
            "what": name,
            "title": title,
            "loss": found["losses"][name],
            "bits": found["losses"][name] / math.log(2),
        }
        for name, title in TITLES.items()
    ]
    columns = [
        column("title", "Prediction"),
        column("loss", "Loss", unit="nats", digits=3),
        column("bits", "Loss", unit="bits a character", digits=3),
    ]
    weights = found["weights"]["average_reading"]
    shown = ("reading", "sliding", "average_reading")
    return {
        "values": {
            **found["losses"],
            "tokens": found["tokens"],
            "weight_alone": found["weights"]["alone"][0],
            "weight_of_network": weights[0],
            "weight_of_letters": weights[1],
            "rules_broken": sum(len(one) for one in found["broken"].values()),
        },
        "tables": {"losses": table(columns, rows)},
        "figures": {
            "along": line_chart(
                "The loss along the text",
                x=axis("Letters read"),
                y=axis("Loss", unit="nats"),
                lines=[line(TITLES[name], found["curves"][name]) for name in shown],
            )
        },
    }


EXPERIMENT = Experiment(
    title="A network and counted letters that predict together",
    measure=measure,
    report=report,
    small={
        "SETTINGS": long.EXPERIMENT.small["SETTINGS"],
        "SCORED": 900,
        "CHECKED": 40,
    },
    threads=None,
)
