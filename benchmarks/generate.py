r"""How many tokens a second are written, with and without the cache, beside nanoGPT?

    python benchmarks/generate.py --nanogpt DIR

`DIR` is a checkout of https://github.com/karpathy/nanoGPT. Its model comes from its `model.py` and
writes with its own `generate`. Without `DIR` only our own numbers are printed.

All variants have the same sizes and random weights, continue one token, and draw from all
tokens. They take turns, and the order changes from round to round, so that a busy moment of the
machine hits all of them. Where the cost of a token is flat, the last quarter takes as long as the
first.
"""

import argparse
import importlib.util
import os
import platform
import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import torch
from torch import Tensor, nn

# As `python benchmarks/generate.py` from a checkout, nothing needs to be installed.
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from labml_nn.training.sampling import generate
from labml_nn.transformers.basic.autoregressive_experiment import AutoregressiveTransformer

N_VOCAB, D_MODEL, HEADS, N_LAYERS = 65, 128, 4, 4

# A variant gets the prompt and how many tokens to write.
Write = Callable[[Tensor, int], Tensor]


@dataclass
class Variant:
    name: str
    write: Write
    batch_size: int

    # Of each turn: wall and processor seconds, and the wall seconds of each quarter.
    wall: list[float] = field(default_factory=list)
    processor: list[float] = field(default_factory=list)
    first: list[float] = field(default_factory=list)
    last: list[float] = field(default_factory=list)

    def turn(self, n_tokens: int) -> None:
        prompt = torch.zeros(1, self.batch_size, dtype=torch.long)
        wall, processor = time.perf_counter(), time.process_time()
        text = self.write(prompt, n_tokens)
        self.wall.append(time.perf_counter() - wall)
        self.processor.append(time.process_time() - processor)

        # A quarter can't be cut out of a call, but its call can stop there or begin there. What
        # the last quarter costs is a whole one less one that is a quarter shorter.
        quarter = n_tokens // 4
        start = time.perf_counter()
        self.write(prompt, quarter)
        self.first.append(time.perf_counter() - start)
        start = time.perf_counter()
        self.write(prompt, n_tokens - quarter)
        self.last.append(self.wall[-1] - (time.perf_counter() - start))
        assert text.numel() == (n_tokens + 1) * self.batch_size


def ours(seq_len: int, cached: bool) -> Write:
    torch.manual_seed(1)
    model = AutoregressiveTransformer(N_VOCAB, D_MODEL, HEADS, N_LAYERS, 4 * D_MODEL, seq_len, 0.0)
    return lambda prompt, n_tokens: generate(model, prompt, n_tokens, seq_len, cached=cached)


def nanogpt(folder: Path, seq_len: int) -> Write:
    path = folder / "model.py"
    if not path.is_file():
        sys.exit(f"error: there is no {path}: give a checkout of nanoGPT")
    spec = importlib.util.spec_from_file_location("nanogpt_model", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    torch.manual_seed(1)
    sizes = {"n_layer": N_LAYERS, "n_head": HEADS, "n_embd": D_MODEL}
    config = module.GPTConfig(
        block_size=seq_len, vocab_size=N_VOCAB, **sizes, dropout=0.0, bias=False
    )
    model: nn.Module = module.GPT(config).eval()

    # It has the batch first.
    return lambda prompt, n_tokens: model.generate(prompt.t().contiguous(), n_tokens)


def main() -> None:
    parser = argparse.ArgumentParser(description="Tokens a second of writing, beside nanoGPT.")
    parser.add_argument("--nanogpt", type=Path, metavar="DIR", help="a checkout of nanoGPT")
    parser.add_argument("--rounds", type=int, default=7, help="turns of each (%(default)s)")
    parser.add_argument("--tokens", type=int, default=256, help="tokens to write (%(default)s)")
    arguments = parser.parse_args()

    # Everything stays within the context, where both ways write the same text.
    seq_len = arguments.tokens
    writers = {}
    if arguments.nanogpt is not None:
        writers["nanoGPT"] = nanogpt(arguments.nanogpt, seq_len)
    writers["ours, no cache"] = ours(seq_len, cached=False)
    writers["ours, cache"] = ours(seq_len, cached=True)
    variants = [
        Variant(name, write, batch_size)
        for batch_size in (1, 16)
        for name, write in writers.items()
    ]

    for variant in variants:
        variant.write(torch.zeros(1, variant.batch_size, dtype=torch.long), 8)
    for number in range(arguments.rounds):
        shift = number % len(variants)
        for variant in variants[shift:] + variants[:shift]:
            variant.turn(arguments.tokens)

    print(
        f"{N_LAYERS} layers, {HEADS} heads, width {D_MODEL}, context {seq_len}, "
        f"{arguments.tokens} new tokens after one, float32\n"
        f"torch {torch.__version__}, {torch.get_num_threads()} threads on {os.cpu_count()} cores, "
        f"{platform.machine()}; medians of {arguments.rounds} turns\n\n"
        "CPU: tokens a second of processor time; ms a token: wall, in the first and the last "
        "quarter\n"
    )
    print(
        f"{'variant':<16}{'batch':>6}{'tokens/s':>10}{'best':>10}{'CPU':>10}{'ratio':>8}"
        f"{'ms first':>10}{'ms last':>10}"
    )
    baselines: dict[int, float] = {}
    quarter = arguments.tokens // 4
    for variant in variants:
        n_tokens = arguments.tokens * variant.batch_size
        speed = n_tokens / statistics.median(variant.wall)
        baseline = baselines.setdefault(variant.batch_size, speed)
        print(
            f"{variant.name:<16}{variant.batch_size:>6}{speed:>10,.0f}"
            f"{n_tokens / min(variant.wall):>10,.0f}"
            f"{n_tokens / statistics.median(variant.processor):>10,.0f}"
            f"{speed / baseline:>8.1f}"
            f"{1000 * statistics.median(variant.first) / quarter:>10.3f}"
            f"{1000 * statistics.median(variant.last) / quarter:>10.3f}"
        )
    if arguments.nanogpt is None:
        print("\nFor the comparison: git clone https://github.com/karpathy/nanoGPT, and --nanogpt.")


if __name__ == "__main__":
    main()
