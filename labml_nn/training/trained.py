r"""
---
title: Weights in Eight Bits
summary: A trained model in a quarter of the bytes, and how to load it from a file.
know: ../transformers/models.py
terms:
  quantisation (quantization): Storing weights as whole numbers of few bits, with a scale.
---

A weight is a number of 32 bits, and eight are nearly enough. Take a row of a matrix, 0.5, -0.25,
0.1 and 0. Its largest number, 0.5, becomes 127, and the others are measured in the same unit, the
*scale* $0.5 / 127 = 0.00394$:

| weights | 0.5 | -0.25 | 0.1 | 0 |
| --- | ---: | ---: | ---: | ---: |
| whole numbers | 127 | -64 | 25 | 0 |
| restored | 0.5 | -0.252 | 0.098 | 0 |

Eight bits hold a whole number from -128 to 127. The [small
transformer](../transformers/basic/autoregressive_model.py) has 810,306 weights, which is 3.2 MB. In
eight bits it is a file of [860,152](../../results/page_models.json#values.models.classic.bytes)
bytes, and its loss is [hardly higher](trained.py#example). The pages about the classic transformer
fetch this file when you run them with your own text.

**In:** a matrix of weights, `[rows, columns]`. **Out:** whole numbers from -127 to 127 of the same
shape, and one scale for each row.

$$
q_{ij} = \operatorname{round}\left(\frac{w_{ij}}{s_i}\right)
\qquad s_i = \frac{\max_j |w_{ij}|}{127}
\qquad w_{ij} \approx s_i\, q_{ij}
$$

Why a scale for each row, and not one for the matrix? A single weight of 50 would set it to 0.394,
and the row above would become 1, -1, 0 and 0. A row makes one feature of the result: its scale can
also be multiplied in after the product. [Groups within a row](../quantisation/groups.py) are finer
still.
"""

import json

import torch
from torch import Tensor, nn

# The types in such files, by their names there.
TYPES = {"F32": torch.float32, "I8": torch.int8, "I64": torch.int64, "BOOL": torch.bool}


def quantise(weights: Tensor) -> tuple[Tensor, Tensor]:
    r"""
    ## Quantise

    The whole numbers, `[rows, columns]`, and the scales, `[rows]`.
    """
    # The largest number of each row becomes 127, or -127 if it is negative. So -128 is not used,
    # and the numbers are as good below zero as above.
    scale = weights.abs().amax(dim=1) / 127

    # A row of zeros has the scale 0, and 0/0 is not a number. Any other scale leaves it zero.
    scale = scale.where(scale > 0, 1.0)

    # To the nearest whole number: no weight is off by more than half a scale.
    return (weights / scale[:, None]).round().to(torch.int8), scale


def restore(whole: Tensor, scale: Tensor) -> Tensor:
    r"""
    ## Restore

    The weights again, nearly.
    """
    # The scale has one number for each row, and multiplies all its columns.
    return whole * scale[:, None]


def read(content: bytes) -> dict[str, Tensor]:
    r"""
    ## Read a file

    `content` is a file in the format [safetensors](https://huggingface.co/docs/safetensors), which
    is as simple as can be: a header that says what is where, and then all numbers. It can't contain
    code, unlike Python's pickle files.
    """
    # The first eight bytes are the length of the header, the last byte being the highest.
    end = 8 + int.from_bytes(content[:8], "little")

    # For each name its type, its shape, and where its bytes are, counted from the header's end.
    header = json.loads(content[8:end])
    header.pop("__metadata__", None)

    tensors = {}
    for name, entry in header.items():
        # A copy of the bytes, because PyTorch wants to be allowed to change them.
        start, stop = entry["data_offsets"]
        numbers = bytearray(content[end + start : end + stop])
        flat = torch.frombuffer(numbers, dtype=TYPES[entry["dtype"]])

        # In the file a tensor is one long row.
        tensors[name] = flat.view(entry["shape"])
    return tensors


def load(model: nn.Module, content: bytes) -> None:
    r"""
    ## Load a model

    From a file in which `x.scale` are the scales of `x`.
    """
    tensors = read(content)
    weights = {}
    for name, tensor in tensors.items():
        # A matrix comes with its scales, a vector without. The scales themselves are no weights.
        scale = tensors.get(f"{name}.scale")
        if name.endswith(".scale"):
            continue
        weights[name] = tensor if scale is None else restore(tensor, scale)

    # Strictly: a name too many or too few is an error.
    model.load_state_dict(weights)


def example(rows: int = 5, columns: int = 7) -> tuple[Tensor, ...]:
    r"""
    ## Example

    A matrix there and back.

    ### Measured here

    The loss of the small transformer goes from
    [1.6796](../../results/page_models.json#values.models.classic.float_loss) to
    [1.6798](../../results/page_models.json#values.models.classic.loss) in eight bits. Three seeds
    differ by more than twenty times as much.

    ### Only stored in eight bits

    The numbers are turned back when the file is loaded, and the model computes in 32 bits. The
    section on [quantisation](../quantisation/__init__.py) keeps them small in memory, too, and
    turns them back in each layer. With four bits or three, it gives them [finer
    scales](../quantisation/groups.py). Multiplying the whole numbers themselves, as
    [LLM.int8()](https://arxiv.org/abs/2208.07339) does, is left out.

    Vectors, biases and gains stay as they are: of the 810,306 weights they are 6,978.

    ### Exercises

    ??? question "A row is 0.5, -0.25, 0.1, 0. What are its whole numbers?"
        The scale is 0.5/127. So they are 127, -64, 25 and 0. (-63.5 is rounded to the even
        neighbour.)

    ??? question "How many bytes does a matrix of 512 rows and 128 columns take?"
        65,536 for the numbers and 2,048 for the scales, where it was 262,144.

    ??? question "Leave out `round()`. What happens to the weights?"
        The conversion to whole numbers cuts off what is behind the point. A weight that isn't a
        multiple of the scale moves towards zero, by up to a whole scale: -63.5 becomes -63, and
        25.4 becomes 25. Even the largest can lose: divided by its scale, it is sometimes
        126.99999, and becomes 126.

    ??? question "Use one scale for the whole matrix. What does the largest error depend on now?"
        On the largest number of the matrix. If it is 100 times the largest of some row, that row
        has only whole numbers from -1 to 1 left.
    """
    # A layer like any in a model. One row is a thousand times as large as the others.
    layer = nn.Linear(columns, rows, bias=False)
    weights = layer.weight.detach() * torch.tensor([1000.0] + [1.0] * (rows - 1))[:, None]

    # The errors of the small rows are small: each row has a scale of its own.
    whole, scale = quantise(weights)
    error = (restore(whole, scale) - weights).abs().amax(dim=1)
    return whole, scale, error
