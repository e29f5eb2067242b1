r"""
Dates that are held out carelessly: what do the results claim then?

Pairs of a date and its translation are held out at random, for the model with one vector for the
source, three seeds; and the last tenth of the days, for the model with attention, one seed. Each
is trained for 500 steps. The result is results/splits.json.
"""

from statistics import mean
from typing import Any

import torch
from torch import Tensor

from benchmarks.library.experiment import Experiment, Report, Runner
from benchmarks.library.ranges import mean_of, numbers, spread
from benchmarks.library.tables import column, low_and_high, table
from labml_nn.training.loop import adamw, train
from labml_nn.translation.dates import FORMS, N_DAYS, SYMBOLS, encode, spell
from labml_nn.translation.encoder_decoder import EncoderDecoder
from labml_nn.translation.translation_experiment import (
    OneVector,
    fit,
    held_out_pairs,
    translation_gradients,
    translations,
)

SEEDS, STEPS, BATCH_SIZE = (1, 2, 3), 500, 32
# The last tenth makes so large a difference that one seed shows it.
SEEDS_OF_LAST = (1,)
# How many held-out pairs are translated, of days that are the same for all seeds.
PAIRS, AT_ONCE = 2000, 500


def right(model: EncoderDecoder, sources: list[str], targets: list[str]) -> list[bool]:
    r"""Whether each translation is exact."""
    found: list[str] = []
    for at in range(0, len(sources), AT_ONCE):
        found += translations(model, sources[at : at + AT_ONCE])
    return [one == target for one, target in zip(found, targets, strict=True)]


def pairs_held_out(seed: int) -> dict[str, float]:
    r"""The model with one vector; pairs are held out, and their days are read in other forms."""
    n_forms = len(FORMS)
    pairs = torch.randperm(N_DAYS * n_forms, generator=torch.Generator().manual_seed(1))
    n_train = len(pairs) * 9 // 10
    read: set[int] = set()

    def batch(step: int) -> tuple[Tensor, Tensor]:
        generator = torch.Generator().manual_seed(seed * 1_000_003 + step)
        chosen = pairs[torch.randint(n_train, (BATCH_SIZE,), generator=generator)].tolist()
        read.update(pair // n_forms for pair in chosen)
        texts = [spell(pair // n_forms, pair % n_forms) for pair in chosen]
        return encode([source for source, _ in texts]), encode([target for _, target in texts])

    torch.manual_seed(seed)
    model = OneVector(len(SYMBOLS))
    train(model, batch, [adamw(model)], STEPS, gradients=translation_gradients)
    held_out = pairs[n_train:][:PAIRS].tolist()
    texts = [spell(pair // n_forms, pair % n_forms) for pair in held_out]
    exact = right(model, [source for source, _ in texts], [target for _, target in texts])
    known = [pair // n_forms in read for pair in held_out]
    both = list(zip(exact, known, strict=True))
    return {
        "read": 100 * mean(known),
        "right": 100 * mean(exact),
        "of_read": 100 * mean(one for one, was_read in both if was_read),
        "of_others": 100 * mean(one for one, was_read in both if not was_read),
    }


def last_held_out(seed: int) -> dict[str, float]:
    r"""The model with attention; the last tenth of the days is held out."""
    n_train = N_DAYS * 9 // 10
    torch.manual_seed(seed)
    model = EncoderDecoder(len(SYMBOLS))
    fit(model, torch.arange(n_train), STEPS, seed)
    shuffled = torch.randperm(N_DAYS - n_train, generator=torch.Generator().manual_seed(1))
    days = n_train + shuffled[: PAIRS // len(FORMS)]
    return {"right": 100 * mean(right(model, *held_out_pairs(days)))}


def measure(runner: Runner) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    r"""Both splits from each seed."""
    careless = runner.all([(pairs_held_out, seed) for seed in SEEDS])
    return careless, runner.all([(last_held_out, seed) for seed in SEEDS_OF_LAST])


def report(found: tuple[list[dict[str, Any]], list[dict[str, Any]]]) -> Report:
    r"""Exact translations, in percent."""
    careless, last = found
    titles = {
        "right": "pairs, one vector",
        "of_read": "pairs, one vector: days that were read in another form",
        "of_others": "pairs, one vector: other days",
    }
    rows = [
        {"split": title, **spread("right", numbers(careless, key))} for key, title in titles.items()
    ]
    rows.append({"split": "the last tenth, attention", **spread("right", numbers(last, "right"))})
    columns = [
        column("split", "Held out"),
        column("right", "Translated exactly", 1, "%"),
        *low_and_high(1),
    ]
    return {
        "values": {"steps": STEPS, "seeds": len(SEEDS), "read": mean_of(careless, "read")},
        "tables": {"splits": table(columns, rows)},
    }


EXPERIMENT = Experiment(
    title="Careless splits of dates",
    measure=measure,
    report=report,
    small={"SEEDS": (1, 2), "SEEDS_OF_LAST": (1,), "STEPS": 20, "PAIRS": 1000},
)
