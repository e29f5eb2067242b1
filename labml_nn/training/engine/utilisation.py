r"""
---
title: How Much of the Machine Is Used
summary: The arithmetic of a model, counted by PyTorch, beside what the machine could do.
paper:
  title: "PaLM: Scaling Language Modeling with Pathways"
  authors: Chowdhery et al.
  year: 2022
  link: https://arxiv.org/abs/2204.02311
---

Tokens a second say how fast a training is, but not how fast it could be. For that one counts the
operations that the *model* needs for a token, forward and back, multiplies, and divides by what
the hardware does at most: the paper's **model FLOP utilisation** (appendix B). Whatever else takes
time, the optimizer too, makes it smaller.

Often the operations are taken from a formula, six for each parameter and some more for attention.
Here PyTorch counts those of the very model, in a step with one window of the text. It counts
products of matrices, which is nearly all there is, and those of attention as if nothing were
masked, as the paper does.

The page leaves out cards that it doesn't know, and CPUs, whose peak depends on clock and
library: there the operations a second stand alone.
"""

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.utils.flop_counter import FlopCounterMode

from labml_nn.training.distributed import place
from labml_nn.training.loop import Trainer
from labml_nn.training.speed import Way, take

# Operations a second with 16-bit numbers, without sparsity, from the maker's data sheets. Of those
# that fit, the first counts.
PEAKS = {
    "B200": 2250e12,
    "H200": 989e12,
    "H100 PCIe": 756e12,
    "H100": 989e12,
    "L40S": 362e12,
    "L4": 121e12,
    "A100": 312e12,
    "A10": 125e12,
    "V100": 125e12,
    "T4": 65e12,
}


def peak_of(name: str, dtype: torch.dtype) -> float | None:
    r"""
    ## What a card can do

    `name` is the card's, as PyTorch tells it. The table is for numbers of 16 bits alone.
    """
    words = name.replace("-", " ").split()
    for card, peak in PEAKS.items():
        if set(card.split()) <= set(words) and dtype.itemsize == 2:
            return peak
    return None


def flops_per_token(model: nn.Module, window: Tensor) -> float:
    r"""
    ## Operations for a token

    `window` is `[seq_len, 1]`; what it holds makes no difference. No weight is moved, and chance
    stays as it was.
    """
    devices = [window.device] if window.device.type == "cuda" else []
    with torch.random.fork_rng(devices), FlopCounterMode(display=False) as counter:
        logits = model(window)
        F.cross_entropy(logits.flatten(0, 1), window.flatten()).backward()
    model.zero_grad()
    return counter.get_total_flops() / len(window)


def flops_of(trainer: Trainer) -> float:
    r"""
    ## Those of a trainer's model

    On a CPU the products are counted, because PyTorch doesn't count that kernel. A model in
    [shards](sharded.py) is not counted: all processes would have to do it together.
    """
    if trainer.config.sharded:
        return 0.0
    x, _ = trainer.batches.at(0)
    attention = "products" if trainer.device.type == "cpu" else "kernel"
    take(Way("float32", attention, "off"), trainer.model)
    try:
        return flops_per_token(trainer.model, x[:, :1].to(trainer.device))
    finally:
        take(Way("float32", trainer.way.attention, "off"), trainer.model)


def utilisation(
    trainer: Trainer, flops: float, tokens_per_second: float
) -> tuple[float, float | None]:
    r"""
    ## Operations a second, and their share of the peak

    All processes together, and all of their cards. The share is `None` where the peak is unknown.
    """
    rate = flops * tokens_per_second
    if trainer.device.type != "cuda":
        return rate, None
    peak = peak_of(torch.cuda.get_device_name(trainer.device), trainer.dtype)
    return rate, rate / (peak * place()[1]) if peak and rate else None


def example(seq_len: int = 7, d_model: int = 5, n_vocab: int = 11) -> Tensor:
    r"""
    ## Example

    A linear layer has two operations for each weight, a multiplication and an addition, and twice
    as many on the way back. An embedding looks up and computes nothing.
    """
    model = nn.Sequential(nn.Embedding(n_vocab, d_model), nn.Linear(d_model, n_vocab))
    window = torch.randint(n_vocab, (seq_len, 1))
    assert flops_per_token(model, window) == 6 * d_model * n_vocab
    assert peak_of("NVIDIA A100-SXM4-80GB", torch.bfloat16) == PEAKS["A100"]
    return model(window)
