r"""What a case is: a right thing, the same with one wrong line, and how a tool gets hold of it."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

N_VOCAB = 31
BATCH_SIZE, SEQ_LEN = 4, 12


def text(length: int = SEQ_LEN) -> Tensor:
    r"""Random tokens, one more than inputs have: `[batch_size, length + 1]`."""
    generator = torch.Generator().manual_seed(1)
    return torch.randint(3, N_VOCAB, (BATCH_SIZE, length + 1), generator=generator)


def causal_with_padding(padding: int = 2) -> Tensor:
    r"""A causal mask in which half of the texts begin with padding: some queries see nothing."""
    mask = torch.ones(BATCH_SIZE, SEQ_LEN, SEQ_LEN, dtype=torch.bool).tril()
    mask[::2, :, :padding] = False
    return mask


def cross_entropy(logits: Tensor, targets: Tensor) -> Tensor:
    r"""The usual loss; targets of -100 don't count."""
    return F.cross_entropy(logits.flatten(0, 1), targets.flatten())


@dataclass
class Training:
    r"""
    * `step` makes a step on inputs and targets
    * `in_parts` makes one in so many parts of the batch, if the training can
    """

    optimizer: torch.optim.Optimizer
    step: Callable[[Tensor, Tensor], Any]
    in_parts: Callable[[Tensor, Tensor, int], Any] | None = None


def plain(model: nn.Module, loss: Callable[[Tensor, Tensor], Tensor] = cross_entropy) -> Training:
    r"""A right training, with a step in parts."""
    optimizer = torch.optim.Adam([one for one in model.parameters() if one.requires_grad], lr=3e-3)

    def in_parts(inputs: Tensor, targets: Tensor, n: int) -> Tensor:
        model.train()
        optimizer.zero_grad()
        total = torch.zeros(())
        for x, y in zip(inputs.chunk(n), targets.chunk(n), strict=True):
            part = loss(logits_in(model(x)), y) / n
            part.backward()
            total += part.detach()
        optimizer.step()
        return total

    return Training(optimizer, lambda x, y: in_parts(x, y, 1), in_parts)


def logits_in(result: Any) -> Tensor:
    r"""The logits of a plain model, or of one of the transformers library."""
    found = result if isinstance(result, Tensor) else result.logits
    assert isinstance(found, Tensor)
    return found


@dataclass
class Subject:
    r"""
    What a tool is given. It uses what it has a use for.

    * `model` gives logits for tokens, `inputs` and `targets` are a small batch
    * `train` makes a training of a model, and `loss` is the one that it uses
    * `attention` makes the attention, if the mistake is in one, with `heads`
    * `read` gives the output of that attention for parts that are read with a cache
    * `takes_mask` says that this attention takes one, true where a position may look
    * `cached` says that the model takes `use_cache` and `past_key_values`, and gives a pair then
    * `masked` says that the model takes an `attention_mask` for padding
    * `left` says that its positions begin after padding on the left
    * `longest` is the length of the longest text
    """

    model: nn.Module
    inputs: Tensor
    targets: Tensor
    train: Callable[[nn.Module], Training] = plain
    loss: Callable[[Tensor, Tensor], Tensor] = cross_entropy
    attention: Callable[[], nn.Module] | None = None
    heads: int = 0
    read: Callable[[Any, list[Tensor]], Tensor] | None = None
    takes_mask: bool = False
    cached: bool = False
    masked: bool = False
    left: bool = False
    longest: int = SEQ_LEN


@dataclass
class Case:
    r"""
    One row: a mistake. By which words a tool names it is in [words](words.py).

    * `name` says in some words what is wrong, and `source` where it was found
    * `kind` is “exhibit”, “report” or “operator”
    * `right` and `wrong` make what is tested
    * `like` is a name for the right one, which several mistakes can share
    """

    name: str
    kind: str
    source: str
    right: Callable[[], Subject]
    wrong: Callable[[], Subject]
    like: str = ""
