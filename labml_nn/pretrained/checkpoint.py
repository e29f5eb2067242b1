r"""
---
title: Checkpoint Files
summary: Read the safetensors files of published models, and check every offset before use.
know: ../training/trained.py
terms:
  checkpoint: The weights of a trained model in files, with a name for each tensor.
  memory mapping: A file as if it were memory; its pages are read when something looks at them.
  safetensors: A file format for tensors; a header in JSON, then all the numbers.
  shard: One of the several files that the weights of a large model are split into.
---

A published model is a folder: weights in one or more files, and a `config.json` with the sizes. The
files come from strangers, and two things can go wrong when you open one:

* **It runs code.** Python's own format, pickle, can hold any function call, and opening the file
  makes the call.
* **It is damaged or cut off**, and nobody notices. Four bytes from the wrong place are a number,
  too. In a [small GPT-2](gpt2_experiment.py), one matrix of random numbers raises the loss from
  [2.118](../../results/pretrained.json#tables.gpt2.all%20right.loss) to
  [4.233](../../results/pretrained.json#tables.gpt2.one%20matrix%20left%20at%20random.loss).
  Guessing among 66 letters has $\ln 66 = 4.19$.

A *safetensors* file begins with 8 bytes, the length of a list. Then come the list and the numbers
of one tensor after the other. The list says which type and shape each has, and between which bytes
its numbers lie. For a vector of three numbers of four bytes:

```text
{"bias": {"dtype": "F32", "shape": [3],
          "data_offsets": [0, 12]}, …}
```

3 · 4 = 12 bytes, so the next tensor must begin at 12. The list is text in JSON, which can't run
anything. What a wrong list can do is to give you other numbers than those that were written. So the
tensors must follow each other without a gap or an overlap, each as long as its type and shape say,
and the last must end where the file ends. We check all of that before anything is used.

**In:** a folder. **Out:** its tensors by their names, or one sentence that says what is wrong.
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
    # The list has the tensors in the order in which they come. Offsets are counted from the end of
    # the list, so that they don't depend on its length.
    header = {}
    end = 0
    for name, tensor in tensors.items():
        # The name of the type, and so many bytes from where the last tensor ended.
        kind = next(name for name, dtype in TYPES.items() if dtype == tensor.dtype)
        start = end
        end = end + tensor.nbytes
        header[name] = {"dtype": kind, "shape": tensor.shape, "data_offsets": [start, end]}

    # Spaces at its end, so that the numbers begin at a multiple of eight bytes.
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)

    # The lowest byte of the length comes first. That is the order that most processors have in
    # memory, so a tensor is written as it is.
    with path.open("wb") as file:
        file.write(len(text).to_bytes(8, "little") + text)
        for tensor in tensors.values():
            # One long row of bytes. A transposed matrix is put in the order of its shape first.
            file.write(bytes(tensor.flatten().view(torch.uint8).tolist()))


def read_file(path: Path) -> dict[str, Tensor]:
    r"""
    ## Read a file

    The tensors by their names.
    """
    # A length beyond the end: the file was cut off, or is something else. Without this check we
    # would ask for as much memory as the first eight bytes say, up to millions of terabytes.
    size = path.stat().st_size
    with path.open("rb") as file:
        first = 8 + int.from_bytes(file.read(8), "little")
        if first > size:
            raise ValueError(f"{path.name} has {size} bytes, and its header ends at {first}")
        text = file.read(first - 8)

    # In the order of their places. `index` refuses fractions and texts. Whatever is wrong with
    # the list, from bytes that are no text to a type that we don't know, is said in one
    # sentence.
    try:
        header = json.loads(text)
        # Who wrote the file, and the like: texts, and no tensor.
        header.pop("__metadata__", None)
        entries = sorted(
            (index(start), index(end), name, TYPES[entry["dtype"]], [*map(index, entry["shape"])])
            for name, entry in header.items()
            for start, end in [entry["data_offsets"]]
        )
    except Exception as error:
        raise ValueError(f"the header of {path.name} is wrong: {error!r}") from None

    # Each begins where the one before it ends. So two names can't share bytes, and nothing can hide
    # between two tensors. Of a name that comes twice, `json` keeps the second only. That leaves a
    # gap where the first had bytes of its own. Where the second covers them, nothing is noticed.
    place = 0
    for start, end, name, dtype, shape in entries:
        # An empty shape is a single number: the product of nothing is 1. Two negative sizes would
        # have a positive product.
        length = math.prod(shape) * dtype.itemsize
        if (start, end) != (place, place + length) or any(n < 0 for n in shape):
            raise ValueError(
                f"{name} in {path.name}, {dtype} {shape}, has bytes {start} to {end}; they should "
                f"be {length}, from {place} on"
            )
        place = end

    # And the last one ends where the file does.
    if first + place != size:
        raise ValueError(f"{path.name} has {size} bytes, and its header says {first + place}")

    # Nothing is read here. What you write into the tensors stays in memory: `shared=False`.
    raw = torch.from_file(str(path), shared=False, size=size, dtype=torch.uint8)
    tensors = {}
    for start, end, name, dtype, shape in entries:
        # Its bytes, without a copy.
        numbers = raw[first + start : first + end]

        # PyTorch wants a number of 4 bytes to begin at a multiple of 4. Where it doesn't, a copy
        # does. (By its size, GPT-2's published file has a header of 14,283 bytes: it needs copies.)
        if (first + start) % dtype.itemsize:
            numbers = numbers.clone()

        # The same bytes as numbers, and the row of numbers in its shape.
        tensors[name] = numbers.view(dtype).view(shape)
    return tensors


def read_folder(folder: Path) -> dict[str, Tensor]:
    r"""
    ## Read a folder

    The tensors of a model, from one file or from its shards. Files in other formats, like
    “pytorch_model.bin”, are never opened.
    """
    # A small model is one file.
    single = folder / "model.safetensors"
    shards = folder / "model.safetensors.index.json"
    if single.is_file():
        return read_file(single)
    if not shards.is_file():
        raise ValueError(f"{folder} has neither {single.name} nor {shards.name}")

    # A large one is in shards of a few gigabytes, and the index says in which of them each tensor
    # is. Shards are read in the order in which the index names them first.
    places = json.loads(shards.read_text(encoding="utf-8"))["weight_map"]
    tensors = {}
    for shard in dict.fromkeys(places.values()):
        # Only a name in this folder: `../other` could be any file of yours.
        if Path(shard).name != shard or not (folder / shard).is_file():
            raise ValueError(f"{shards.name} names {shard!r}, which is no file of {folder}")

        # A shard must have the tensors that the index says, and no others. If it differs, it may be
        # from an older version of the model, and its other tensors are then wrong, too.
        found = read_file(folder / shard)
        expected = {n for n in places if places[n] == shard}

        # Names that are missing, and names that are too many, are told in the same sentence.
        if found.keys() != expected:
            wrong = sorted(found.keys() ^ expected)
            raise ValueError(f"{shard} and {shards.name} don't agree about {wrong}")
        tensors |= found
    return tensors


def example(rows: int = 5, columns: int = 3) -> tuple[Tensor, ...]:
    r"""
    ## Example

    A matrix in 16 bits and a vector, there and back.

    ### A mapped file

    The file isn't read, it is *mapped* into memory: the operating system reads a part of it when
    something uses a number there.

    [A file of 64 MB with 16 matrices: how much more is in memory after each
    step](../../results/pretrained.json#tables.mapped)

    ### What did not help here

    There is [a list](../../docs/what_did_not_help.md) of more such things.

    Mapping saves nothing if you use all of the file. It helps where you want a few tensors of a
    large one.

    The format is that of [these eight-bit weights](../training/trained.py#read), where the file is
    our own and nothing is checked. Left out are floats of 8 bits and fewer, complex numbers,
    unsigned whole numbers of more than 8 bits, writing in shards, and machines that store the
    highest byte of a number first.

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
    # Two types in one file. The matrix has 30 bytes, no multiple of four, so the vector is
    # copied.
    tensors = {
        "matrix": torch.randn(rows, columns, dtype=torch.bfloat16), "vector": torch.randn(columns),
    }  # fmt: skip
    with TemporaryDirectory() as folder:
        path = Path(folder) / "model.safetensors"
        write_file(path, tensors)
        found = read_folder(Path(folder))
    return found["matrix"], found["vector"]
