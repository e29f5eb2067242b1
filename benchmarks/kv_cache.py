r"""
What does a token cost, with and without a cache of keys and values?

The classic model of the site, with a context of 1,024 positions and random weights, gives the next
token of texts of several lengths, a batch of one. With the cache it has read all but the last
token. Both take turns. The times are medians of the processor's time in a single thread, so that
other programs on the machine are not counted.

The results are written to results/kv_cache.json, from which the page takes its numbers.
"""

import statistics
import time

import torch

from benchmarks.library.experiment import Experiment, Report, Runner
from benchmarks.library.tables import column
from labml_nn.transformers.basic.autoregressive_experiment import (
    AutoregressiveTransformer,
)
from labml_nn.transformers.kv_cache import CachedTransformer

N_VOCAB, LENGTHS = 66, (64, 256, 1024)
# Turns of each.
TURNS = 9


def milliseconds(length: int, turns: int) -> tuple[float, float]:
    r"""The median time of the last token of a text, without and with a cache."""
    torch.manual_seed(1)
    context = max(LENGTHS)
    model = AutoregressiveTransformer(N_VOCAB, seq_len=context).eval()
    cached = CachedTransformer(N_VOCAB, 128, 4, 4, 512, context).eval()
    cached.load_state_dict(model.state_dict())
    tokens = torch.randint(N_VOCAB, (length, 1))

    without, with_cache = [], []
    for _ in range(turns):
        with torch.no_grad():
            start = time.thread_time()
            expected = model(tokens)[-1]
            without.append(time.thread_time() - start)

        # Everything but the last token is read before, and isn't counted.
        cached.clear()
        cached(tokens[:-1])
        start = time.thread_time()
        found = cached(tokens)[-1]
        with_cache.append(time.thread_time() - start)
        assert (found - expected).abs().max() < 1e-3
    # The first turn warms up.
    return 1000 * statistics.median(without[1:]), 1000 * statistics.median(with_cache[1:])


def measure(runner: Runner) -> Report:
    r"""The time of a token after texts of several lengths."""
    rows = []
    for length in LENGTHS:
        without, with_cache = milliseconds(length, TURNS)
        ratio = without / with_cache
        rows.append(
            {"tokens": str(length), "without": without, "cached": with_cache, "ratio": ratio}
        )
    return {
        "values": {"threads": torch.get_num_threads(), "turns": TURNS},
        "tables": {
            "tokens": {
                "columns": [
                    column("tokens", "Tokens so far"),
                    column("without", "Without a cache", 1, "ms"),
                    column("cached", "With a cache", 1, "ms"),
                    column("ratio", "Ratio", 1),
                ],
                "rows": rows,
            }
        },
    }


EXPERIMENT = Experiment(
    title="What a token costs with and without a cache",
    measure=measure,
    small={"TURNS": 2},
)
