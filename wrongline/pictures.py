r"""
---
title: A Model of Pictures
summary: A vision transformer is asked about its numbers, randomness, batch and weights.
know: properties.py
---

A vision transformer sees the whole picture on purpose, so nothing is asked about the future. Four
questions remain: are there numbers, is anything random, does a picture depend on others in its
batch, is every matrix used?

**In:** a module that takes pictures, with axes for the batch, colours, height and width. **Out:**
what [tests of an attention](properties.py) say of it that ask nothing about positions.
"""

from typing import Any

import torch
from torch import Tensor, nn

from wrongline.comparison import roughen
from wrongline.in_place import borrowed
from wrongline.properties import every_matrix_is_used, same_twice, sequences_apart
from wrongline.sizes import SIZES, meaning
from wrongline.undisturbed import undisturbed
from wrongline.verdicts import Findings, Unusual, run_all

# A picture that is larger than that of most tests.
LARGER = 64


def shape_of(arguments: dict[str, Any]) -> tuple[int, int, int]:
    r"""
    ## The shape of its pictures

    Of what was said or guessed.
    """
    found = {meaning(name): one for name, one in arguments.items()}
    size = found.get("image", SIZES["image"])
    height, width = (size[0], size[-1]) if isinstance(size, tuple | list) else (size, size)
    channels = found.get("channels", SIZES["channels"])
    return (channels if isinstance(channels, int) else 3), height, width


def pictures(rows: int, shape: tuple[int, int, int]) -> Tensor:
    r"""
    ## Random ones

    The same each time.
    """
    return torch.randn(rows, *shape, generator=torch.Generator().manual_seed(1))


def output_of(result: Any) -> Tensor:
    r"""
    ## Its output

    The first tensor of a result that has an axis for the batch.
    """
    result = getattr(result, "logits", result)
    parts = [*result.values()] if isinstance(result, dict) else result
    parts = parts if isinstance(parts, tuple | list) else [parts]
    return next(one for one in parts if isinstance(one, Tensor) and one.dim())


def takes_pictures(module: nn.Module, shape: tuple[int, int, int]) -> Exception | None:
    r"""
    ## Does it take them?

    The error, if it doesn't.
    """
    try:
        with torch.no_grad(), borrowed(module):
            found = output_of(module.eval()(pictures(5, shape)))
    except Exception as error:
        return error
    return None if found.shape[0] == 5 else ValueError(f"5 pictures give {list(found.shape)}")


def find_in_pictures(module: nn.Module, shape: tuple[int, int, int]) -> Findings:
    r"""
    ## Find what is wrong
    """

    def run(x: Tensor) -> Tensor:
        return output_of(module(x)).flatten(1).unsqueeze(1)

    def finite() -> str:
        found = run(pictures(5, shape))
        return "" if found.isfinite().all() else "the output is NaN or infinite"

    with undisturbed(module) as device, device, borrowed(module):
        roughen(module).eval()
        x = pictures(5, shape)

        # Of a small picture, layers may leave a single number, which looks at nothing.
        def used() -> str:
            said = every_matrix_is_used(module.eval(), run, x)
            try:
                larger = pictures(2, (shape[0], LARGER, LARGER))
                said = said and every_matrix_is_used(module.eval(), run, larger)
            except Exception:
                pass
            # In the last layer, nobody asks for what isn't read.
            return (
                Unusual(f"{said}; it may be meant, where one vector alone is read") if said else ""
            )

        tests = [("stays_finite", finite)]
        tests += [
            (one.__name__, lambda one=one: one(module.eval(), run, x))  # type: ignore[misc]
            for one in (same_twice, sequences_apart)
        ]
        tests += [("every_matrix_is_used", used)]
        return run_all(tests, ("stays_finite", "same_twice"))


def example(batch_size: int = 3) -> tuple[Tensor, Findings]:
    r"""
    ## Example

    A single layer that reads patches.

    ### Exercises

    ??? question "A batch normalisation in training mixes pictures. Why does the test pass?"
        It is asked in evaluation, where the means of the training are used.
    """
    shape = shape_of({"image_size": 8, "in_channels": 3})
    layer = nn.Conv2d(3, 5, 4, 4)
    return layer(pictures(batch_size, shape)), find_in_pictures(layer, shape)
