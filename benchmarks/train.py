r"""How many tokens a second does training make, beside nanoGPT?

    python benchmarks/train.py --nanogpt DIR --size small
    python benchmarks/train.py --nanogpt DIR --size middle
    python benchmarks/train.py --nanogpt DIR --size large --device cuda

`DIR` is a checkout of https://github.com/karpathy/nanoGPT. Its model and its optimizer come from
its `model.py` and run as its `train.py` runs them: on a CPU eager, in float32, and on a card
compiled, in bfloat16, with the fused optimizer. Without `DIR` only our own numbers are printed: the
classic transformer and the modern one, each in the way that the trainer chooses, compiled and not.

All variants have the same sizes and learn from the same text. They take turns, a few steps each,
and the order changes from round to round, so that a busy moment of the machine hits all of them.
"""

import argparse
import importlib.util
import os
import platform
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path

import torch
from torch import nn

# As `python benchmarks/train.py` from a checkout, nothing needs to be installed.
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from labml_nn.training.corpora import python_sources
from labml_nn.training.data import CharTokenizer, random_batch
from labml_nn.training.presets import PRESETS

# A variant is a function that makes one step and returns its loss.
Step = Callable[[], torch.Tensor]


# Layers, heads, width, context and batch; and what the gated network has instead of four times the
# width, for as many parameters.
SIZES = {
    "small": {"n_layers": 4, "heads": 4, "d_model": 128, "seq_len": 64, "batch_size": 12},
    "middle": {"n_layers": 6, "heads": 6, "d_model": 192, "seq_len": 128, "batch_size": 16},
    "large": {"n_layers": 6, "heads": 6, "d_model": 384, "seq_len": 256, "batch_size": 64},
}
D_FF = {
    "small": {"classic": 512, "modern": 336},
    "middle": {"classic": 768, "modern": 512},
    "large": {"classic": 1536, "modern": 1024},
}


def ours(name: str, size: str, compile: str, text: str, device: str) -> tuple[Step, int, str]:
    experiment = PRESETS[name]
    config = experiment.config_class(
        device=device, compile=compile, d_ff=D_FF[size][name], **SIZES[size]
    )
    trainer, _ = experiment.make_trainer(config, text)
    trainer.model.train()
    return trainer.train_step, count(trainer.model), f"{name}, {trainer.way}"


def nanogpt(folder: Path, size: str, text: str, device: str) -> tuple[Step, int, str]:
    path = folder / "model.py"
    if not path.is_file():
        sys.exit(f"error: there is no {path}: give a checkout of nanoGPT")
    spec = importlib.util.spec_from_file_location("nanogpt_model", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)

    config, tokenizer = PRESETS["classic"].config_class(**SIZES[size]), CharTokenizer(text)
    torch.manual_seed(config.seed)
    model = module.GPT(
        module.GPTConfig(
            block_size=config.seq_len,
            vocab_size=len(tokenizer),
            n_layer=config.n_layers,
            n_head=config.heads,
            n_embd=config.d_model,
            dropout=config.dropout_prob,
            bias=False,
        )
    ).to(device)
    optimizer = model.configure_optimizers(0.1, 1e-3, (0.9, 0.99), device)
    n_parameters, on_card = count(model), device == "cuda"
    if on_card:
        torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = True
        model = torch.compile(model)
    tokens = tokenizer.encode(text)
    generator = torch.Generator().manual_seed(config.seed)

    def step() -> torch.Tensor:
        x, y = random_batch(tokens, config.seq_len, config.batch_size, generator)
        # It has the batch first.
        x, y = (part.t().contiguous().to(device, non_blocking=on_card) for part in (x, y))
        with torch.autocast(device, torch.bfloat16, enabled=on_card):
            _, loss = model(x, y)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        return loss.detach()

    return step, n_parameters, "nanoGPT, bfloat16, compiled" if on_card else "nanoGPT, float32"


def count(model: nn.Module) -> int:
    return sum(parameter.numel() for parameter in model.parameters())


def measure(variants: dict[str, Step], rounds: int, steps: int) -> dict[str, list[float]]:
    r"""Seconds a step in each round."""
    names = list(variants)
    seconds: dict[str, list[float]] = {name: [] for name in names}
    for step in variants.values():
        step()
    for number in range(rounds):
        shift = number % len(names)
        for name in names[shift:] + names[:shift]:
            start = time.perf_counter()
            for _ in range(steps):
                loss = variants[name]()
            loss.item()
            seconds[name].append((time.perf_counter() - start) / steps)
    return seconds


def main() -> None:
    parser = argparse.ArgumentParser(description="Tokens a second of training, beside nanoGPT.")
    parser.add_argument("--nanogpt", type=Path, metavar="DIR", help="a checkout of nanoGPT")
    parser.add_argument("--rounds", type=int, default=15, help="turns of each (%(default)s)")
    parser.add_argument("--steps", type=int, default=20, help="steps in a turn (%(default)s)")
    parser.add_argument("--size", choices=SIZES, default="small", help="(%(default)s)")
    parser.add_argument("--device", choices=["cpu", "cuda"], default="cpu", help="(%(default)s)")
    parser.add_argument("--eager", action="store_true", help="compile nothing")
    arguments = parser.parse_args()

    text = python_sources()
    made = []
    if arguments.nanogpt is not None:
        made.append(nanogpt(arguments.nanogpt, arguments.size, text, arguments.device))
    for name in ("classic", "modern"):
        for compile in ("off",) if arguments.eager else ("off", "on"):
            made.append(ours(name, arguments.size, compile, text, arguments.device))
    seconds = measure({name: step for step, _, name in made}, arguments.rounds, arguments.steps)

    config = PRESETS["classic"].config_class(**SIZES[arguments.size])
    n_tokens = config.batch_size * config.seq_len
    baseline = statistics.median(next(iter(seconds.values())))
    print(
        f"{config.n_layers} layers, {config.heads} heads, width {config.d_model}, "
        f"context {config.seq_len}, batch {config.batch_size}\n"
        f"torch {torch.__version__}, {torch.get_num_threads()} threads on {os.cpu_count()} cores, "
        f"{platform.machine()}; medians of {arguments.rounds} turns of {arguments.steps} steps\n"
    )
    print(f"{'variant':<60}{'parameters':>12}{'ms a step':>12}{'tokens/s':>12}{'ratio':>8}")
    for _, n_parameters, name in made:
        median = statistics.median(seconds[name])
        print(
            f"{name:<60}{n_parameters:>12,}{1000 * median:>12.2f}{n_tokens / median:>12,.0f}"
            f"{baseline / median:>8.2f}"
        )
    if arguments.nanogpt is None:
        print("\nFor the comparison: git clone https://github.com/karpathy/nanoGPT, and --nanogpt.")


if __name__ == "__main__":
    main()
