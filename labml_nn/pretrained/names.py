r"""
---
title: A Table of Names
summary: Put the tensors of a file into a model, each in its place, and refuse what doesn't fit.
---

The same matrix has another name in each program. What is `encoder.layers.0.self_attn.output.weight`
in our models is `h.0.attn.c_proj.weight` in GPT-2's file. So for each model you need a table: for
each weight of ours the name of the tensor in the file, and a function that makes one of the other.

Say that a file has a matrix “w”, with a row for each number that goes in, and a bias “b”. Our
`nn.Linear` has a row for each number that comes out. The table is

```python
{"weight": ("w", Tensor.t), "bias": ("b", as_it_is)}
```

Why not rename and call PyTorch's `load_state_dict` with `strict=False`? It takes what has the right
name, and leaves all else as it was. It returns the names that didn't fit, but raises no error. If
“w” was spelled “W”, the layer keeps its random matrix. A small GPT-2 with one such matrix has a
loss of [4.233](../../results/pretrained.json#tables.gpt2.one%20matrix%20left%20at%20random.loss) in
place of [2.118](../../results/pretrained.json#tables.gpt2.all%20right.loss).

**In:** a model, the tensors of a file by their names, and a table. **Out:** the model with all its
weights from the file, or one sentence about what is missing, left over or of another shape.
"""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

# What `config.json` says: sizes and settings, by the names that the library “transformers” gives
# them.
Config = Mapping[str, Any]

# For each weight of ours: the name in the file, and what makes ours of that tensor.
Rule = tuple[str, Callable[[Tensor], Tensor]]


def as_it_is(x: Tensor) -> Tensor:
    r"""
    ## No change
    """
    return x


def in_layers(n_layers: int, mine: str, theirs: str, layer: Mapping[str, Rule]) -> dict[str, Rule]:
    r"""
    ## The same in each layer

    `mine` and `theirs` are what stands before the names of a `layer`, with `{}` for its number.
    """
    # Our GPT-2 has 12 layers of 16 weights each (12 in the file, where queries, keys and values are
    # one), and the table of one layer is enough. Its number goes to the same place in both names.
    return {
        f"{mine.format(number)}{name}": (f"{theirs.format(number)}{other}", convert)
        for number in range(n_layers)
        for name, (other, convert) in layer.items()
    }


def read_config(folder: Path, **expected: Any) -> dict[str, Any]:
    r"""
    ## Read the settings

    Refuses a model with another setting than `expected`. A setting that isn't there is the usual
    one: older files don't have all of them.
    """
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))

    # Another activation, say, has no weights: the model would load, and compute something else.
    # What has weights needs no line here. Its names would be left over.
    for name, value in expected.items():
        if config.get(name, value) != value:
            raise ValueError(f"config.json has {name}={config[name]!r}, and needed is {value!r}")
    return config


@torch.no_grad()
def fill(
    model: nn.Module,
    tensors: Mapping[str, Tensor],
    table: Mapping[str, Rule],
    copies: Mapping[str, str],
) -> None:
    r"""
    ## Fill a model

    * `tensors` are those of the file, by their names
    * `table` has a rule for each weight of the model
    * `copies` are names that some files have and others don't, and which tensor each must be equal
      to
    """
    # Every name in the table must be in the file, and every tensor of the file must be used. One
    # layer too few is only missing, one too many only left over. A tensor under a wrong name is
    # both, and the sentence shows the two names.
    needed = {name for name, _ in table.values()}
    missing = sorted(needed - tensors.keys())
    left = sorted(tensors.keys() - needed - copies.keys())
    if missing or left:
        raise ValueError(f"missing in the checkpoint: {missing}; left over: {left}")

    # Some files have a matrix twice that the model uses in two places. If the two differed, the
    # file would be of a model that we don't have.
    for copy, name in copies.items():
        if copy in tensors and not torch.equal(tensors[copy], tensors[name]):
            raise ValueError(f"{copy} differs from {name}, and the model has one weight for both")

    # No weight of ours is without a rule. That would be a mistake in the table, and in no file.
    # These tensors share their memory with the parameters, so writing into them fills the model.
    ours = model.state_dict()
    assert ours.keys() == table.keys()
    for mine, (name, convert) in table.items():
        weight = ours[mine]
        tensor = convert(tensors[name])

        # Without this, `copy_` would write a single row into all rows, and whole numbers into
        # weights.
        if tensor.shape != weight.shape or not tensor.is_floating_point():
            found = f"{tensor.dtype} {list(tensor.shape)}"
            raise ValueError(f"{name} gives {found} for {mine}, which is {list(weight.shape)}")

        # Into the numbers of the model. If it has 32 bits and the file 16, nothing is rounded.
        weight.copy_(tensor)


def example(d_in: int = 5, d_out: int = 3) -> Tensor:
    r"""
    ## Example

    A file that has its matrix the other way round.

    ### What `fill` can't notice

    With this page's `fill`, a wrong *name* is always found. A wrong *function*, or two names in
    each other's place, can go unnoticed. In every row of this table but that of the matrix left at
    random, all names and shapes are right:

    [A small GPT-2 that is loaded with one wrong detail: means of three seeds, and how often the
    likeliest next letter is another one](../../results/pretrained.json#tables.gpt2)

    Guessing among all letters has a loss of [4.19](../../results/pretrained.json#values.guess).

    ### What did not help here

    There is [a list](../../docs/what_did_not_help.md) of more such things.

    Looking at the loss. The last two rows have the loss of the right model in all digits that are
    shown. So each table of this site is compared with another implementation, number by number, in
    double precision.

    Left out are weights that are whole numbers with a scale, as in [quantised
    models](../training/trained.py).

    ### Exercises

    ??? question "The matrix in the file is square. Forget the transposition. What does `fill` say?"
        Nothing: the shape is right. Only a comparison of results finds it.

    ??? question "A file has the tensors of 13 layers, and `config.json` says 12. What happens?"
        The names of the thirteenth are left over, and the sentence lists them.

    ??? question "Leave out the check of shapes. Which file would load and shouldn't?"
        One with a bias of length 1: `copy_` would write that number into every place.
    """
    # One layer of theirs. Its matrix has a row for each number that goes in, so the result would be
    # `x @ w + b`.
    theirs = {"w": torch.randn(d_in, d_out), "b": torch.randn(d_out)}

    # Ours has a row for each number that comes out.
    model = nn.Linear(d_in, d_out)
    fill(model, theirs, {"weight": ("w", Tensor.t), "bias": ("b", as_it_is)}, {})
    return model.weight
