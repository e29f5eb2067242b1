r"""
What does a token cost, with and without a cache of keys and values?

    python benchmarks/kv_cache.py

The classic model of the site, with a context of 1,024 positions and random weights, gives the next
token of texts of several lengths, a batch of one. With the cache it has read all but the last
token. Both take turns. The times are medians of the processor's time in a single thread, so that
other programs on the machine are not counted.

The results are written to results/kv_cache.json, from which the page takes its numbers.
"""

import argparse
import statistics
import sys
import time
from pathlib import Path

# As `python benchmarks/kv_cache.py` from a checkout, nothing needs to be installed.
ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

import torch  # noqa: E402

from benchmarks import record  # noqa: E402
from labml_nn.transformers.basic.autoregressive_experiment import (  # noqa: E402
    AutoregressiveTransformer,
)
from labml_nn.transformers.kv_cache import CachedTransformer  # noqa: E402

N_VOCAB, LENGTHS = 66, (64, 256, 1024)
SOURCES = [
    "labml_nn/transformers/kv_cache.py",
    "labml_nn/transformers/mha.py",
    "labml_nn/transformers/basic/autoregressive_experiment.py",
]


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


def main() -> int:
    r"""Measure, print the table and write the results."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--turns", type=int, default=9, help="turns of each (%(default)s)")
    parser.add_argument("--tiny", action="store_true", help="two turns: does it run?")
    arguments = parser.parse_args()
    torch.set_num_threads(1)

    rows = []
    print(f"{'tokens':>8}{'without':>12}{'with cache':>12}{'ratio':>8}")
    for length in LENGTHS:
        without, with_cache = milliseconds(length, 2 if arguments.tiny else arguments.turns)
        ratio = without / with_cache
        rows.append(
            {"tokens": str(length), "without": without, "cached": with_cache, "ratio": ratio}
        )
        print(f"{length:>8}{without:>9.2f} ms{with_cache:>9.2f} ms{ratio:>8.1f}")
    if arguments.tiny:
        return 0

    path = record.write(
        "kv_cache",
        title="What a token costs with and without a cache",
        command="python benchmarks/kv_cache.py",
        sources=SOURCES,
        values={"threads": torch.get_num_threads(), "turns": arguments.turns},
        tables={
            "tokens": {
                "columns": [
                    {"name": "tokens", "title": "Tokens so far"},
                    {"name": "without", "title": "Without a cache", "unit": "ms", "digits": 1},
                    {"name": "cached", "title": "With a cache", "unit": "ms", "digits": 1},
                    {"name": "ratio", "title": "Ratio", "digits": 1},
                ],
                "rows": rows,
            }
        },
    )
    print(f"\nwritten to {path.relative_to(ROOT)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
