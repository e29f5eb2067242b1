r"""
---
title: Checkpoint Files
summary: Read the safetensors files of published models, check every byte, and fill a model.
know: ../training/trained.py
terms:
  checkpoint: The weights of a trained model in files, with a name for each tensor.
  memory mapping: A file as if it were memory; its pages are read when something looks at them.
  safetensors: A file format for tensors; a header in JSON, then all the numbers.
  shard: One of the several files that the weights of a large model are split into.
---

A published model is a folder: weights in one or more files, and a `config.json` with the sizes. Two
things go wrong when you load one:

* **The file runs code.** Python's own format, pickle, may contain any function call, which is made
  when you open the file.
* **A tensor is missing or in the wrong place, and nobody says so.** With `strict=False` a model
  loads what fits. A [small GPT-2](gpt2_experiment.py) with one matrix left as it was at random goes
  from a loss of [RIGHT] to [LOST]. Nothing is printed, and it still writes text.

**In:** a folder. **Out:** a model whose weights are all from there, or one sentence that says what
is wrong.

A *safetensors* file is like a warehouse with a list at the door: first 8 bytes with the length of
the list, then the list, then shelf after shelf of numbers, and nothing else. The list says for each
name which type and shape the numbers have and between which bytes they lie. It is text in JSON,
which can't run anything:

```text
8 bytes  {"bias": {"dtype": "F32", "shape": [3], "data_offsets": [0, 12]}, …}  12 bytes …
```

So a wrong list can do one thing only: give you other numbers than those that were written. The
checks below leave no room for that. The shelves must follow each other without a gap or an overlap,
each as long as its type and shape say, and the last one must end where the file ends.

The file isn't read, it is *mapped* into memory: the operating system reads a part of it when you
first use a number there.

[A file of 64 MB: bytes in memory after each step](RESIDENT)

This is the same format as [on this page](../training/trained.py#read), which trusts its
file. Left out are numbers of 8 and 4 bits in the file, writing in shards, and machines that store
the highest byte first.
"""

import json
import math
from collections.abc import Mapping
from operator import index
from pathlib import Path
from tempfile import TemporaryDirectory

import torch
from torch import Tensor

# The types in such files, by their names there.
TYPES = {
    "F64": torch.float64, "F32": torch.float32, "F16": torch.float16, "BF16": torch.bfloat16,
    "I64": torch.int64, "I32": torch.int32, "I16": torch.int16, "I8": torch.int8,
    "U8": torch.uint8, "BOOL": torch.bool,
}  # fmt: skip


def write_file(path: Path, tensors: Mapping[str, Tensor]) -> None:
    r"""
    ## Write a file
    """
    # Shelf after shelf, in the order in which the tensors come.
    header, end = {}, 0
    for name, tensor in tensors.items():
        (kind,) = (name for name, dtype in TYPES.items() if dtype == tensor.dtype)
        start, end = end, end + tensor.nbytes
        header[name] = {"dtype": kind, "shape": tensor.shape, "data_offsets": [start, end]}

    # Spaces at its end, so that the numbers begin at a multiple of eight bytes.
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)

    # The lowest byte of the length comes first, and so it is with all numbers.
    with path.open("wb") as file:
        file.write(len(text).to_bytes(8, "little") + text)
        for tensor in tensors.values():
            file.write(bytes(tensor.flatten().view(torch.uint8).tolist()))


def read_file(path: Path) -> dict[str, Tensor]:
    r"""
    ## Read a file

    The tensors by their names.
    """
    # A length beyond the end would be a header that was cut off, or no such file at all.
    size = path.stat().st_size
    with path.open("rb") as file:
        first = 8 + int.from_bytes(file.read(8), "little")
        if first > size:
            raise ValueError(f"{path.name} has {size} bytes, and its header ends at {first}")
        text = file.read(first - 8)

    # In the order of their places. `index` takes whole numbers and nothing else.
    try:
        header = json.loads(text)
        header.pop("__metadata__", None)
        entries = sorted(
            (index(start), index(end), name, TYPES[entry["dtype"]], [*map(index, entry["shape"])])
            for name, entry in header.items()
            for start, end in [entry["data_offsets"]]
        )
    except Exception as error:
        raise ValueError(f"the header of {path.name} is wrong: {error!r}") from None

    # Each begins where the one before it ends. A name that comes twice leaves a gap: JSON keeps the
    # second one only.
    place = 0
    for start, end, name, dtype, shape in entries:
        length = math.prod(shape) * dtype.itemsize
        if (start, end) != (place, place + length) or any(n < 0 for n in shape):
            raise ValueError(
                f"{name} in {path.name}, {dtype} {shape}, has bytes {start} to {end}; they should "
                f"be {length}, from {place} on"
            )
        place = end
    if first + place != size:
        raise ValueError(f"{path.name} has {size} bytes, and its header says {first + place}")

    # Nothing is read here. What you write into the tensors stays in memory: `shared=False`.
    raw = torch.from_file(str(path), shared=False, size=size, dtype=torch.uint8)
    tensors = {}
    for start, end, name, dtype, shape in entries:
        numbers = raw[first + start : first + end]

        # A number of 4 bytes has to begin at a multiple of 4. Where it doesn't, we need a copy. (In
        # GPT-2's own file it doesn't: that was written before headers got spaces at their ends.)
        if (first + start) % dtype.itemsize:
            numbers = numbers.clone()
        tensors[name] = numbers.view(dtype).view(shape)
    return tensors


def read_folder(folder: Path) -> dict[str, Tensor]:
    r"""
    ## Read a folder

    The tensors of a model, from one file or from its shards. Files in other formats, like
    `pytorch_model.bin`, are never opened.
    """
    # A small model is one file.
    single, shards = folder / "model.safetensors", folder / "model.safetensors.index.json"
    if single.is_file():
        return read_file(single)
    if not shards.is_file():
        raise ValueError(f"{folder} has neither {single.name} nor {shards.name}")

    # For a large one, the index says in which shard each tensor is.
    places = json.loads(shards.read_text(encoding="utf-8"))["weight_map"]
    tensors = {}
    for shard in dict.fromkeys(places.values()):
        # Only a name in this folder: `../other` could be any file of yours.
        if Path(shard).name != shard or not (folder / shard).is_file():
            raise ValueError(f"{shards.name} names {shard!r}, which is no file of {folder}")

        # A shard of another model may have the right name.
        found, expected = read_file(folder / shard), {n for n in places if places[n] == shard}
        if found.keys() != expected:
            wrong = sorted(found.keys() ^ expected)
            raise ValueError(f"{shard} and {shards.name} don't agree about {wrong}")
        tensors |= found
    return tensors


def example(rows: int = 5, columns: int = 3) -> tuple[Tensor, ...]:
    r"""
    ## Example

    A matrix in 16 bits and a vector, there and back.

    ### Exercises

    ??? question "How many bytes has the file of the example after its header?"
        $5 \cdot 3 \cdot 2 + 3 \cdot 4 = 42$.

    ??? question "The vector's offsets are changed from 30 and 42 to 0 and 12. What is read?"
        Nothing. There would be the matrix's bytes in the vector, and no error where they are used,
        since any four bytes are a number. `read_file` refuses the overlap.

    ??? question "Write 1 into a tensor that was read. Does the file change?"
        No. With `shared=False` the system copies a page of memory when you first write there. With
        `shared=True` the next program would read your 1.

    ??? question "Why is the list of shards checked for `../`?"
        The index comes from the one who made the model. It decides which files are opened, and
        should not decide that for the rest of your disk.
    """
    # Two types in one file. The matrix has no multiple of four bytes, so the vector is copied.
    tensors = {
        "matrix": torch.randn(rows, columns, dtype=torch.bfloat16), "vector": torch.randn(columns),
    }  # fmt: skip
    with TemporaryDirectory() as folder:
        path = Path(folder) / "model.safetensors"
        write_file(path, tensors)
        found = read_folder(Path(folder))
    return found["matrix"], found["vector"]
