r"""nanoGPT's own script, as it is, and the loss of what it saved over the whole validation text."""

import importlib.util
import pickle
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from array import array
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from benchmarks.results.one_run import keep, kept, key_of
from labml_nn.training.loop import evaluate


@dataclass(frozen=True)
class Setting:
    r"""How its script is told to train."""

    options: tuple[str, ...]
    batch_size: int
    seq_len: int
    steps: int


CONFIG = "config/train_shakespeare_char.py"
# The command for a CPU in its README, but for the dropout, which this size doesn't need.
CPU = Setting(
    (
        *(CONFIG, "--device=cpu", "--compile=False", "--eval_iters=20", "--block_size=64"),
        *("--batch_size=12", "--n_layer=4", "--n_head=4", "--n_embd=128", "--dropout=0.0"),
    ),
    batch_size=12,
    seq_len=64,
    steps=2000,
)
# What it does on a GPU.
GPU = Setting((CONFIG,), batch_size=64, seq_len=256, steps=5000)
# What it is made of.
FILES = ("train.py", "model.py", "configurator.py", CONFIG)


@dataclass(frozen=True)
class Peer:
    r"""What its script came to.

    * `loss` is that of its checkpoint over the whole validation text, `estimate` its own
    * `seconds` is the median of the step times that it prints, times the steps
    * `wall` are the seconds of the whole command
    * `estimates` are steps, seconds since it began, and its own estimates of the validation loss
    """

    parameters: int
    loss: float
    estimate: float
    seconds: float
    wall: float
    tokens_per_second: float
    steps: int
    estimates: list[list[float]]


def write_tokens(text: str, folder: Path) -> tuple[Tensor, int]:
    r"""The text as its script wants it; its validation part, and the number of symbols."""
    symbols = sorted(set(text))
    numbers = {symbol: number for number, symbol in enumerate(symbols)}
    tokens = [numbers[symbol] for symbol in text]
    n_train = int(len(tokens) * 0.9)
    folder.mkdir(parents=True)
    (folder / "train.bin").write_bytes(array("H", tokens[:n_train]).tobytes())
    (folder / "val.bin").write_bytes(array("H", tokens[n_train:]).tobytes())
    meta = {"vocab_size": len(symbols), "itos": dict(enumerate(symbols)), "stoi": numbers}
    (folder / "meta.pkl").write_bytes(pickle.dumps(meta))
    return torch.tensor(tokens[n_train:]), len(symbols)


def read_output(lines: list[tuple[float, str]]) -> tuple[list[list[float]], float]:
    r"""From lines and when they came to its estimates and the seconds of a usual step.

    Its first steps are slow, and one with an evaluation has the time of that as well.
    """
    estimates, times = [], []
    for seconds, line in lines:
        if found := re.match(r"step (\d+): .* val loss ([\d.]+)", line):
            estimates.append([int(found[1]), seconds, float(found[2])])
        elif found := re.match(r"iter \d+: .* time ([\d.]+)ms", line):
            times.append(float(found[1]) / 1000)
    return estimates, statistics.median(times)


def load_model(folder: Path, checkpoint: Path) -> nn.Module:
    r"""The model that it saved, by its own code."""
    spec = importlib.util.spec_from_file_location("nanogpt_model", folder / "model.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    saved = torch.load(checkpoint, map_location="cpu", weights_only=True)
    model = module.GPT(module.GPTConfig(**saved["model_args"]))
    # A compiled model writes so before each name.
    weights = {name.removeprefix("_orig_mod."): one for name, one in saved["model"].items()}
    model.load_state_dict(weights)
    return model


class SequenceFirst(nn.Module):
    r"""It has the batch first, and gives all logits only if it gets targets."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, tokens: Tensor) -> Tensor:
        batch = tokens.t().contiguous()
        return self.model(batch, batch)[0].transpose(0, 1)


def run_script(
    checkout: Path, text: Path, folder: Path, setting: Setting = CPU, steps: int | None = None
) -> Peer:
    r"""Its training, now or before, in a copy, so that the checkout stays as it is."""
    missing = [name for name in FILES if not (checkout / name).is_file()]
    if missing:
        sys.exit(f"error: {checkout} is no checkout of nanoGPT: there is no {missing[0]}")
    steps = steps or setting.steps
    options = [*setting.options, f"--max_iters={steps}", f"--lr_decay_iters={steps}"]
    options.append(f"--eval_interval={min(250, steps)}")
    contents = [(checkout / name).read_bytes() for name in FILES]
    key = key_of("nanogpt", options, text.read_bytes(), *contents)
    document = kept(folder, key)
    known = document is not None
    if document is None:
        document = keep(folder, key, measure(checkout, text, options, setting, steps))
    peer = Peer(**document)
    print(
        f"  nanoGPT's train.py\n    loss {peer.loss:.4f} (its own estimate {peer.estimate:.4f}), "
        f"{peer.seconds:.1f} s of training, {peer.wall:.1f} s in all, "
        f"{peer.tokens_per_second:,.0f} tokens/s" + (", kept from before" if known else ""),
        flush=True,
    )
    return peer


def measure(
    checkout: Path, text: Path, options: list[str], setting: Setting, steps: int
) -> dict[str, Any]:
    r"""Run it, and look at what it saved."""
    with tempfile.TemporaryDirectory() as temporary:
        copy = Path(temporary)
        for name in FILES:
            (copy / name).parent.mkdir(exist_ok=True)
            shutil.copy(checkout / name, copy / name)
        content = text.read_text(encoding="utf-8")
        validation, _ = write_tokens(content, copy / "data" / "shakespeare_char")
        start = time.perf_counter()
        with subprocess.Popen(
            [sys.executable, "-u", "train.py", *options],
            cwd=copy,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        ) as process:
            assert process.stdout is not None
            lines = [(time.perf_counter() - start, line.rstrip()) for line in process.stdout]
        if process.returncode:
            sys.exit("error: nanoGPT's train.py failed:\n" + "\n".join(x for _, x in lines[-5:]))
        wall = time.perf_counter() - start
        model = load_model(copy, copy / "out-shakespeare-char" / "ckpt.pt")
    estimates, usual = read_output(lines)
    return {
        "parameters": sum(parameter.numel() for parameter in model.parameters()),
        "loss": evaluate(SequenceFirst(model), validation, setting.seq_len),
        "estimate": estimates[-1][2],
        "seconds": usual * steps,
        "wall": wall,
        "tokens_per_second": setting.batch_size * setting.seq_len / usual,
        "steps": steps,
        "estimates": estimates,
    }
