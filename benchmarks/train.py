r"""How many tokens a second does training make, beside nanoGPT?

    python -m benchmarks train --nanogpt DIR --size small
    python -m benchmarks train --nanogpt DIR --size middle
    python -m benchmarks train --nanogpt DIR --size large --device cuda --precision bfloat16

`DIR` is a checkout of https://github.com/karpathy/nanoGPT. Its model and its optimizer come from
its `model.py` and run as its `train.py` runs them: on a CPU eager, in float32, and on a GPU
compiled, in bfloat16, with the fused optimizer. Without `DIR` only our own numbers are printed: the
classic transformer with the readable attention, with the fused one and with that of one projection,
in float32, all with the lessons' loop alone; then the presets, compiled and not, in the precision
that is asked for.

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

from labml_nn.training.data import RandomWindows, prepare, tiny_shakespeare
from labml_nn.training.engine.presets import PRESETS, sizes
from labml_nn.training.engine.text import prepare_text
from labml_nn.training.engine.trainer import run_steps
from labml_nn.training.fast.one_projection import OneProjectionAttention
from labml_nn.training.loop import adamw, train
from labml_nn.transformers.basic.autoregressive_model import AutoregressiveTransformer
from labml_nn.transformers.fused_attention import FusedAttention
from labml_nn.transformers.mha import MultiHeadAttention

# A variant is a function that makes some steps.
Steps = Callable[[int], None]

# More steps than any variant makes.
MANY = 1_000_000_000


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


ATTENTIONS = {
    "": MultiHeadAttention,
    ", fused attention": FusedAttention,
    ", fused attention, one projection": OneProjectionAttention,
}


def lesson(size: str, told: str, text: str) -> tuple[Steps, int, str]:
    r"""The classic transformer and the loop, and nothing of the engine."""
    config = PRESETS["classic"].config(d_ff=D_FF[size]["classic"], **SIZES[size])
    tokenizer, tokens, _ = prepare(text, config.seq_len)
    torch.manual_seed(config.seed)
    model = AutoregressiveTransformer(len(tokenizer), **sizes(config), attention=ATTENTIONS[told])
    batches = RandomWindows(tokens, config.seq_len, config.batch_size, config.seed)
    optimizers, done = [adamw(model)], 0

    def some_steps(n_steps: int) -> None:
        nonlocal done
        start, done = done, done + n_steps
        end = done
        train(
            *(model, batches.at, optimizers, MANY),
            start=start,
            after_step=lambda step, loss: step == end,
        )

    return some_steps, count(model), f"classic{told}, the lessons' loop"


def ours(
    name: str, size: str, compile: bool, precision: str, text: str, device: str
) -> tuple[Steps, int, str]:
    preset = PRESETS[name]
    given = {"device": device, "precision": precision, "compile": compile, "steps": MANY}
    given |= {"d_ff": D_FF[size][name], "record_every": MANY, "evaluate_every": MANY}
    given |= {"save_every": MANY, "fast": True} if name == "classic" else {"save_every": MANY}
    config = preset.make_config(given | SIZES[size])
    trainer = preset.make_trainer(config, prepare_text(text, config.seq_len))

    def some_steps(n_steps: int) -> None:
        end = trainer.step + n_steps
        run_steps(trainer, lambda step, values: None, should_stop=lambda: trainer.step == end)

    told = f"{name}, {trainer.config.precision}{', compiled' * compile}"
    return some_steps, count(trainer.model), told


def nanogpt(folder: Path, size: str, text: str, device: str) -> tuple[Steps, int, str]:
    path = folder / "model.py"
    if not path.is_file():
        sys.exit(f"error: there is no {path}: give a checkout of nanoGPT")
    spec = importlib.util.spec_from_file_location("nanogpt_model", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)

    config = PRESETS["classic"].config(**SIZES[size])
    tokenizer, tokens, _ = prepare(text, config.seq_len)
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
    n_parameters, on_gpu = count(model), device == "cuda"
    if on_gpu:
        torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = True
        model = torch.compile(model)
    batches, done = RandomWindows(tokens, config.seq_len, config.batch_size, config.seed), 0

    def some_steps(n_steps: int) -> None:
        nonlocal done
        for _ in range(n_steps):
            # It has the batch first.
            x, y = (
                part.t().contiguous().to(device, non_blocking=on_gpu) for part in batches.at(done)
            )
            with torch.autocast(device, torch.bfloat16, enabled=on_gpu):
                _, loss = model(x, y)
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)
            done += 1
        loss.item()

    return (
        some_steps,
        n_parameters,
        "nanoGPT, bfloat16, compiled" if on_gpu else "nanoGPT, float32",
    )


def count(model: nn.Module) -> int:
    return sum(parameter.numel() for parameter in model.parameters())


def measure(variants: dict[str, Steps], rounds: int, steps: int) -> dict[str, list[float]]:
    r"""Seconds a step in each round."""
    names = list(variants)
    seconds: dict[str, list[float]] = {name: [] for name in names}
    for some_steps in variants.values():
        some_steps(2)
    for number in range(rounds):
        shift = number % len(names)
        for name in names[shift:] + names[:shift]:
            start = time.perf_counter()
            variants[name](steps)
            seconds[name].append((time.perf_counter() - start) / steps)
    return seconds


def main() -> None:
    parser = argparse.ArgumentParser(description="Tokens a second of training, beside nanoGPT.")
    parser.add_argument("--nanogpt", type=Path, metavar="DIR", help="a checkout of nanoGPT")
    parser.add_argument("--rounds", type=int, default=15, help="turns of each (%(default)s)")
    parser.add_argument("--steps", type=int, default=20, help="steps in a turn (%(default)s)")
    parser.add_argument("--size", choices=SIZES, default="small", help="(%(default)s)")
    parser.add_argument("--device", choices=["cpu", "cuda"], default="cpu", help="(%(default)s)")
    parser.add_argument("--precision", default="float32", help="of our presets (%(default)s)")
    parser.add_argument("--eager", action="store_true", help="compile nothing")
    arguments = parser.parse_args()

    text, size, device = tiny_shakespeare(), arguments.size, arguments.device
    made = []
    if arguments.nanogpt is not None:
        made.append(nanogpt(arguments.nanogpt, size, text, device))
    if device == "cpu":
        made += [lesson(size, told, text) for told in ATTENTIONS]
    for name in ("classic", "modern"):
        for compile in (False,) if arguments.eager else (False, True):
            made.append(ours(name, size, compile, arguments.precision, text, device))
    seconds = measure({name: some for some, _, name in made}, arguments.rounds, arguments.steps)

    config = PRESETS["classic"].config(**SIZES[size])
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
