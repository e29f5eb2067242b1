r"""
---
title: Model FLOP Utilisation
summary: The arithmetic of a model, counted by PyTorch, beside what the GPU could do at most.
paper:
  title: "PaLM: Scaling Language Modeling with Pathways"
  authors: Chowdhery et al.
  year: 2022
  link: https://arxiv.org/abs/2204.02311
---

Tokens a second tell how fast training is, but not how fast it could be. For that, the paper
(appendix B) counts the operations that the *model* needs for a token in the forward and the
backward pass, multiplies by tokens a second, and divides by what the hardware does at most: the
**model FLOP utilisation**. Anything else that takes time, such as the optimizer, makes it smaller.

PyTorch counts the operations here, in a step with one window. It counts matrix products, which
are nearly everything, and those of attention as if nothing were masked, as the paper does. It
doesn't count the attention kernel of a CPU, so with `--fast` on a CPU a little is missing. The
peak is known for the GPUs below only.
"""

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.utils.flop_counter import FlopCounterMode

from labml_nn.training.engine.distributed import world_size

# Operations a second in 16 bits, without sparsity, from the makers' data sheets. Of several names
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
    ## What a GPU can do

    `name` is the GPU's, as PyTorch tells it. The table is for 16 bits only.
    """
    words = name.replace("-", " ").split()
    for gpu, peak in PEAKS.items():
        if set(gpu.split()) <= set(words) and dtype.itemsize == 2:
            return peak
    return None


def flops_per_token(model: nn.Module, window: Tensor) -> float:
    r"""
    ## Operations for a token

    `window` is `[seq_len, 1]`; its content makes no difference. Weights and random states stay as
    they are.
    """
    devices = [window.device] if window.device.type == "cuda" else []
    with torch.random.fork_rng(devices), FlopCounterMode(display=False) as counter:
        logits = model(window)
        F.cross_entropy(logits.flatten(0, 1), window.flatten()).backward()
    model.zero_grad()
    return counter.get_total_flops() / len(window)


def utilisation(flops_per_second: float, device: torch.device, dtype: torch.dtype) -> float | None:
    r"""
    ## The share of the peak

    `flops_per_second` is that of all processes and their GPUs. Without a known peak it is `None`.
    """
    if device.type != "cuda":
        return None
    peak = peak_of(torch.cuda.get_device_name(device), dtype)
    return flops_per_second / (peak * world_size()) if peak and flops_per_second else None


def example(seq_len: int = 7, d_model: int = 5, n_vocab: int = 11) -> Tensor:
    r"""
    ## Example

    A linear layer needs two operations for each weight, a multiplication and an addition, and twice
    as many in the backward pass. An embedding is looked up, which needs none.
    """
    model = nn.Sequential(nn.Embedding(n_vocab, d_model), nn.Linear(d_model, n_vocab))
    window = torch.randint(n_vocab, (seq_len, 1))
    assert flops_per_token(model, window) == 6 * d_model * n_vocab
    assert peak_of("NVIDIA A100-SXM4-80GB", torch.bfloat16) == PEAKS["A100"]
    return model(window)
