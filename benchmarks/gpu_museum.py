r"""
What do the tests of the museum say of models on a GPU, in each precision that people train in?

Right attentions, models and training steps, and wrong ones, are tested where they are trained: on
a GPU, with 32 bits, with TF32, with autocast, and with weights of 16 bits. A right one that is
accused would be a mistake of the tests, and so would a wrong one whose mistake isn't named.

    python -m benchmarks.gpu_museum               # on a machine with a CUDA GPU; a minute
    python -m benchmarks.gpu_museum --device cpu  # anywhere, in some minutes; it writes nothing

The first one writes results/gpu_museum.json. After a change of the tests, `python -m benchmarks
verify gpu_museum` compares the verdicts on a CPU with those of the record, and no times.
"""

import argparse
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from benchmarks.library.tables import column, table
from benchmarks.library.watched import accounted
from benchmarks.record import write
from labml_nn.transformers.mistakes.masks import MaskUnused
from labml_nn.transformers.mistakes.projections import ScaledByModelWidth
from labml_nn.transformers.mistakes.right_attention import RightAttention
from labml_nn.transformers.mistakes.right_model import RightModel
from wrongline.attention_tests import check_attention
from wrongline.language_model import (
    check_language_model,
    check_training_step,
)

# The width, the heads and the layers of nanoGPT's small model, on shorter texts; for steps, two
# layers.
D_MODEL = 384
HEADS = 6
N_LAYERS = 6
SEQ_LEN = 48
BATCH_SIZE = 4
N_VOCAB = 65
LEARNING_RATE = 1e-3
# What people train in.
PRECISIONS = ("float32", "TF32", "autocast", "bfloat16")

# What measures; it is called for each of the precisions.
RECORDED = "benchmarks.gpu_museum:tested_in"
ALSO = PRECISIONS

Case = Callable[[torch.device, torch.dtype], None]


class FusedAttention(nn.Module):
    r"""As nanoGPT has it: one layer for three projections, and the kernel of PyTorch."""

    def __init__(self, scale: float | None = None) -> None:
        super().__init__()
        self.scale = scale
        self.projections = nn.Linear(D_MODEL, 3 * D_MODEL)
        self.output = nn.Linear(D_MODEL, D_MODEL)

    def forward(self, x: Tensor) -> Tensor:
        parts = self.projections(x).chunk(3, dim=-1)
        query, key, value = (z.unflatten(-1, (HEADS, -1)).transpose(1, 2) for z in parts)
        y = F.scaled_dot_product_attention(query, key, value, is_causal=True, scale=self.scale)
        return self.output(y.transpose(1, 2).flatten(2))


def explicit() -> nn.Module:
    r"""An attention that computes its weights one by one."""
    return RightAttention(HEADS, D_MODEL, 0.1)


def model(attention: Callable[[], nn.Module], n_layers: int) -> nn.Module:
    r"""A small GPT-2."""
    torch.manual_seed(1)
    return RightModel(N_VOCAB, D_MODEL, n_layers, SEQ_LEN, attention)


def batch() -> Tensor:
    r"""Texts that differ from the first token on, with one token more than is read."""
    text = torch.randint(N_VOCAB, (BATCH_SIZE, SEQ_LEN + 1), generator=torch.manual_seed(2))
    text[:, 0] = torch.arange(BATCH_SIZE)
    return text


def attention_is(make: Callable[[], nn.Module]) -> Case:
    r"""An attention under test."""
    return lambda device, dtype: check_attention(make().to(device, dtype), HEADS, D_MODEL)


def model_is(make: Callable[[], nn.Module]) -> Case:
    r"""A language model under test."""
    return lambda device, dtype: check_language_model(
        model(make, N_LAYERS).to(device, dtype), batch()[:, :-1].to(device)
    )


def step_is(n_parts: int, divided: bool) -> Case:
    r"""A training step under test: with autocast, and with gradients accumulated over `n_parts`."""

    def make_step(trained: nn.Module) -> Callable[[Tensor, Tensor], None]:
        optimizer = torch.optim.AdamW(trained.parameters(), LEARNING_RATE)

        def step(inputs: Tensor, targets: Tensor) -> None:
            optimizer.zero_grad()
            for x, y in zip(inputs.chunk(n_parts), targets.chunk(n_parts), strict=True):
                with torch.autocast(x.device.type, torch.bfloat16):
                    loss = F.cross_entropy(trained(x).flatten(0, 1), y.flatten())
                (loss / (n_parts if divided else 1)).backward()
            optimizer.step()

        return step

    def case(device: torch.device, dtype: torch.dtype) -> None:
        text = batch()[:, :17].to(device)
        made = model(FusedAttention, n_layers=2).to(device, dtype)
        check_training_step(made, text[:, :-1], text[:, 1:], make_step=make_step)

    return case


# Each with a part of what is said about it; nothing is said about the right ones.
CASES: dict[str, tuple[Case, str]] = {
    "an attention": (attention_is(explicit), ""),
    "a fused attention": (attention_is(FusedAttention), ""),
    "a model": (model_is(explicit), ""),
    "a model with a fused attention": (model_is(FusedAttention), ""),
    "a step with autocast": (step_is(1, True), ""),
    "accumulation with autocast": (step_is(2, True), ""),
    "a wrong scale": (
        attention_is(lambda: FusedAttention(D_MODEL**-0.5)),
        "the root of the whole width",
    ),
    "a wrong scale, one by one": (
        attention_is(lambda: ScaledByModelWidth.make()(HEADS, D_MODEL)),
        "the root of the whole width",
    ),
    "a model without a mask": (
        model_is(lambda: MaskUnused.make()(HEADS, D_MODEL)),
        "the model sees the future",
    ),
    "accumulation that is not divided": (step_is(2, False), "2 times that of the mean loss"),
}


@contextmanager
def trained_in(precision: str) -> Iterator[None]:
    r"""What a training script sets."""
    before = torch.get_float32_matmul_precision()
    if precision == "TF32":
        torch.set_float32_matmul_precision("high")
    try:
        yield
    finally:
        torch.set_float32_matmul_precision(before)


def said(case: Case, precision: str, device: torch.device) -> str:
    r"""What the tests say; nothing, if they find nothing."""
    dtype = torch.bfloat16 if precision == "bfloat16" else torch.float32
    mixed = torch.autocast(device.type, torch.bfloat16, enabled=precision == "autocast")
    with trained_in(precision), mixed:
        try:
            case(device, dtype)
        except AssertionError as error:
            return str(error)
    return ""


def main(arguments: list[str] | None = None) -> int:
    r"""Test all of them in all precisions, print a line for each, and record them."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--device", default="cuda", choices=("cuda", "cpu"))
    device = torch.device(parser.parse_args(arguments).device)
    if device.type == "cuda" and not torch.cuda.is_available():
        print("there is no CUDA GPU here; --device cpu runs it anywhere", file=sys.stderr)
        return 1
    began = time.monotonic()
    with accounted(RECORDED) as sources:
        rows = [tested_in(precision, device) for precision in PRECISIONS]
    mistaken = sum(row["accused"] + row["wrong"] - row["named"] for row in rows)
    if device.type == "cuda":
        record(rows, sources, time.monotonic() - began)
    return int(mistaken > 0)


def tested_in(precision: str, device: torch.device) -> dict[str, Any]:
    r"""Test all of them in one precision: how many are right or wrong, and what is said of them."""
    row: dict[str, Any] = {"precision": precision, "right": 0, "accused": 0}
    row |= {"wrong": 0, "named": 0}
    for name, (case, expected) in CASES.items():
        found = said(case, precision, device)
        as_expected = expected in found if expected else not found
        row["wrong" if expected else "right"] += 1
        row["accused"] += bool(found) and not expected
        row["named"] += bool(expected) and as_expected
        print(f"{precision}, {name}: {'as expected' if as_expected else found}", flush=True)
    return row


def again(known: dict[str, Any]) -> dict[str, Any]:
    r"""The verdicts on a CPU, beside those that were recorded on a GPU, for `verify`."""
    rows = [tested_in(precision, torch.device("cpu")) for precision in PRECISIONS]
    recorded = known["tables"]["precisions"]["rows"]
    uncompared = ["seconds", "values.gpu", "values.torch"]
    return {"by": "cpu", "then": recorded, "now": rows, "uncompared": uncompared}


def record(rows: list[dict[str, Any]], sources: Mapping[str, str], seconds: float) -> None:
    r"""Write results/gpu_museum.json."""
    columns = [
        column("precision", "Trained in"),
        column("right", "Right"),
        column("accused", "Accused"),
        column("wrong", "Wrong"),
        column("named", "Named"),
    ]
    totals = {name: sum(row[name] for row in rows) for name in list(rows[0])[1:]}
    write(
        "gpu_museum",
        title="What the tests of the museum say of models on a GPU",
        command="python -m benchmarks.gpu_museum",
        of=RECORDED,
        sources=sources,
        seconds=seconds,
        values={"gpu": torch.cuda.get_device_name(), "torch": torch.__version__} | totals,
        tables={"precisions": table(columns, rows)},
    )


if __name__ == "__main__":
    sys.exit(main())
