r"""
---
title: Files of Weights
summary: A matrix as whole numbers from -127 to 127, with one scale for each row.
---

The weights of a small transformer are 3.2 MB in 32 bits. A browser should not fetch so much to show
one page. In 8 bits they are less than 0.9 MB.

A row of a matrix is divided by its *scale*, which makes its largest number 127, and rounded. Each
row has a scale of its own, so that a row of small numbers isn't rounded to zeros for the sake of a
large number in another row. Vectors and small matrices stay as they are. In a model of 64 features,
the attention is made of such matrices. They are 16 kB each, and each score depends on two of them.

**In:** tensors by their names. **Out:** a file in the format
[safetensors](https://huggingface.co/docs/safetensors): eight bytes with the length of a header, the
header as JSON, and the numbers. So the interpreter can read it in a few lines, and so can [a
lesson](../labml_nn/training/trained.py). For a tensor `x` of whole numbers, the file also has
`x.scale`.
"""

from collections.abc import Mapping
from hashlib import sha256

import torch
from safetensors.torch import load, save
from torch import Tensor

# A matrix of fewer numbers stays in 32 bits.
SMALL = 8192


def quantise(tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    r"""
    ## From 32 bits to 8

    The largest error of a number is half the scale of its row.
    """
    found = {}
    for name, tensor in tensors.items():
        # A contiguous copy: the file has the numbers in the order of the axes.
        tensor = tensor.detach().cpu().contiguous()
        if tensor.dim() < 2 or tensor.numel() < SMALL or not tensor.is_floating_point():
            found[name] = tensor
            continue

        # A row of zeros has no largest number to divide by; any scale will do.
        scale = tensor.abs().amax(dim=-1) / 127
        scale = scale.where(scale > 0, 1.0)
        found[name] = (tensor / scale[..., None]).round().to(torch.int8)
        found[f"{name}.scale"] = scale
    return found


def restore(tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    r"""
    ## From 8 bits to 32
    """
    scales = {name for name in tensors if name.endswith(".scale") and name[:-6] in tensors}
    return {
        name: tensor * tensors[f"{name}.scale"][..., None] if f"{name}.scale" in scales else tensor
        for name, tensor in tensors.items()
        if name not in scales
    }


def to_file(tensors: Mapping[str, Tensor]) -> bytes:
    r"""
    ## The content of a file
    """
    # Booleans take a byte each, like the whole numbers of a matrix.
    return save({name: tensor.detach().contiguous() for name, tensor in tensors.items()})


def from_file(content: bytes) -> dict[str, Tensor]:
    r"""
    ## The tensors of a file
    """
    return restore(load(content))


def checksum(content: bytes) -> str:
    r"""
    ## A name for a content

    Two files are the same if, for all practical purposes, this is.
    """
    return sha256(content).hexdigest()
