r"""
When is one head too few?

A model of one layer reads eight random symbols and must say at the last one which symbols stand at
the second and the fifth place, in this order. It is trained with 1, 2 and 4 heads of together
the same width, from three seeds. The result is results/two_places.json.
"""

import torch
from torch import Tensor

from benchmarks.library.experiment import Experiment, Report, Runner
from benchmarks.library.ranges import Runs, mean_of, numbers, spread
from benchmarks.library.tables import column, table
from labml_nn.training import loop
from labml_nn.transformers.basic.autoregressive_model import AutoregressiveTransformer

SEEDS, STEPS, BATCH, TESTS = (1, 2, 3), 1000, 64, 2000
HEADS = (1, 2, 4)
D_MODEL, SYMBOLS, SEQ_LEN, PLACES = 32, 6, 8, (1, 4)


def drawn(batch_size: int) -> tuple[Tensor, Tensor]:
    r"""Texts, and the pair of symbols as one number; only the last position has an answer."""
    tokens = torch.randint(SYMBOLS, (SEQ_LEN, batch_size))
    first, second = PLACES
    answers = torch.full_like(tokens, -100)
    answers[-1] = tokens[first] * SYMBOLS + tokens[second]
    return tokens, answers


def trained(heads: int, seed: int) -> dict[str, float]:
    r"""The share of pairs that are right, and of each of the two symbols by itself."""
    torch.manual_seed(seed)
    sizes = {"d_model": D_MODEL, "heads": heads, "n_layers": 1, "d_ff": 8 * D_MODEL}
    model = AutoregressiveTransformer(SYMBOLS**2, seq_len=SEQ_LEN, **sizes)
    loop.train(model, lambda _: drawn(BATCH), [loop.adamw(model)], STEPS)
    torch.manual_seed(0)
    tokens, answers = drawn(TESTS)
    model.eval()
    with torch.no_grad():
        said = model(tokens)[-1].argmax(dim=-1)
    first, second = (said // SYMBOLS, said % SYMBOLS)
    return {
        "pairs": (said == answers[-1]).double().mean().item(),
        "first": (first == tokens[PLACES[0]]).double().mean().item(),
        "second": (second == tokens[PLACES[1]]).double().mean().item(),
    }


def measure(runner: Runner) -> Runs:
    r"""All numbers of heads, from each seed."""
    return runner.runs(trained, HEADS, SEEDS)


def report(runs: Runs) -> Report:
    r"""A row for each number of heads."""
    rows = [
        {
            "heads": heads,
            **spread("pairs", numbers(found, "pairs")),
            "found": sum(pairs > 0.9 for pairs in numbers(found, "pairs")),
            "symbol": (mean_of(found, "first") + mean_of(found, "second")) / 2,
        }
        for heads, found in runs.items()
    ]
    columns = [
        column("heads", "Heads"),
        column("pairs", "Pairs right", 2),
        column("low", "lowest", 2),
        column("high", "highest", 2),
        column("found", "Seeds that learn it"),
        column("symbol", "One symbol right", 2),
    ]
    return {
        "values": {"steps": STEPS, "seeds": len(SEEDS), "symbols": SYMBOLS},
        "tables": {"heads": table(columns, rows)},
    }


EXPERIMENT = Experiment(
    title="Two places to look at, and one head or several",
    measure=measure,
    report=report,
    small={"SEEDS": (1, 2), "STEPS": 3, "TESTS": 50},
)
