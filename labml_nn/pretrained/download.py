r"""
---
title: Downloading Weights
summary: Fetch large files so that a stopped download, a wrong bit or another file is noticed.
know: checkpoint.py
terms:
  checksum: A short number that is made of all bytes of a file; SHA-256 is one of 256 bits.
---

The weights of the smallest GPT-2 are a file of 548 MB. You ask a stranger's computer for it, and
four things can go wrong:

* **It stops in the middle.** Then there is a file with the right name, and a part of the weights.
  [Reading it](checkpoint.py#read_file) fails, if you are lucky: not every format says how long its
  file should be.
* **A bit is wrong** on a disk. Any four bytes can be read as a number, or as “not a
  number”, and there is no error. We turned [9,600](../../results/bits.json#values.bits) bits of a
  small GPT-2, one at a time: [3.3 %](../../results/bits.json#tables.parts.any.harm) of them raise
  its loss by more than 0.01 nats, and nobody would see the others.
* **It is another file**, with the same names and shapes: weights of a later training, or of
  somebody who means no good. Nothing notices that, either.
* **It doesn't end**, and fills your disk.

What helps is to know beforehand what should come. The length of the file bounds the download. And
its *checksum* is like a fingerprint: 64 digits from 0 to f, made of all bytes of the file. Nobody
knows how to make a second file with the same one.

**In:** an address, and the length and the checksum of each file. **Out:** these files in a
folder, each checked before it got its name.
"""

from collections.abc import Callable, Mapping
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.request import urlopen

import torch
from torch import Tensor

from labml_nn.pretrained.checkpoint import read_file, write_file

# By the name of each file: how many bytes it has, and its SHA-256.
Files = Mapping[str, tuple[int, str]]

# What is told how far the download is, such as `print`.
Show = Callable[[str], None]


def fetch_file(address: str, path: Path, size: int, checksum: str, show: Show) -> None:
    r"""
    ## One file

    * `address` is where it is, and `path` where it goes
    * `size` is its number of bytes
    * `checksum` is its SHA-256, in hexadecimal digits
    * `show` is called after each block
    """
    # Under another name until it is complete and checked. If you stop the program in the middle, no
    # part of a file has the right name.
    part = path.with_name(f"{path.name}.part")

    # The checksum is computed block by block while the file comes in, so that the file needn't be
    # read a second time.
    digest = sha256()
    done = 0
    with urlopen(address, timeout=60) as answer, part.open("wb") as file:
        # Blocks of 32 MB. Once more than the expected size has come, no further block is read: a
        # wrong server can't fill the disk.
        while done <= size and (block := answer.read(2**25)):
            file.write(block)
            digest.update(block)
            done += len(block)
            show(f"{path.name}: {done:,} of {size:,} bytes")

    # One wrong bit gives another checksum. A wrong file goes at once, before anything reads it.
    if (done, digest.hexdigest()) != (size, checksum):
        part.unlink()
        raise ValueError(f"{address} is not the file that was expected")

    # A new name is given in one go: there is no moment at which half of the file has it.
    part.replace(path)


def fetch(folder: Path, address: str, files: Files, show: Show = print) -> None:
    r"""
    ## All files

    `address` is what stands before the names of the `files`. An address that names a *branch*, such
    as “main”, can lead to other files tomorrow: its owner decides. Take one with the hash of a
    *revision* in it. It always means the same files, and another checksum means that something is
    wrong.
    """
    for name, (size, checksum) in files.items():
        # What an earlier call has put here was checked then, and isn't checked again. A file that
        # came here in another way never was.
        path = folder / name
        if not path.exists():
            fetch_file(address + name, path, size, checksum, show)


def example(rows: int = 5, columns: int = 3) -> tuple[Tensor, Tensor]:
    r"""
    ## Example

    A file comes from a folder that plays the server, since `urlopen` reads “file:” addresses, too.
    Then one bit of it is wrong.

    ### One wrong bit

    A number in 32 bits is a sign, an exponent and a fraction. If the highest bit of the exponent is
    wrong, 0.5 becomes $2^{127}$, a number with 39 digits. In
    [99.7 %](../../results/bits.json#tables.parts.exponent%2C%20its%20highest%20bit.harm)
    of the cases you see that in the loss, and in
    [48.7 %](../../results/bits.json#tables.parts.exponent%2C%20its%20highest%20bit.lost)
    the loss is no number any more.

    In a weight below 2 that bit is 0, and any other bit makes another number below 2 of it. One
    such weight of [108,416](../../results/pretrained.json#values.parameters.gpt2) hardly matters:
    even with the wrong sign, [0.7 %](../../results/bits.json#tables.parts.sign.harm) of the weights
    raise the loss by more than 0.01. So a good loss doesn't tell that a file is right. Nor does a
    bad one tell that the file is wrong: [a mistake in the program](gpt2.py) looks the same.

    [One wrong bit of a weight in a small GPT-2, from three
    seeds](../../results/bits.json#tables.parts)

    ### What a checksum doesn't say

    A checksum doesn't say that the file is good, only that you have the same file as everybody who
    wrote down the same checksum. So look for it in more than one place. What is in the file still
    has to be [read with care](checkpoint.py#read_file).

    Left out: going on where a download stopped, and several files at a time. The library
    “huggingface_hub” has both.

    ### Exercises

    ??? question "The download stops in the middle. What happens when you run it again?"
        Nothing has the file's right name yet, so it is fetched again, from the start: the old part
        is overwritten. Files that were complete stay.

    ??? question "Why isn't the length enough, and why is it there in spite of the checksum?"
        - [ ] Two files with the same checksum could differ in length.
            - Nobody has found two files with the same SHA-256.
        - [x] Another file can have the same length; and the checksum is known only at the end.
            - Yes. Without the length, a server that never stops sending is never checked.
        - [ ] The length is faster to compare, so most wrong files are found by it.
            - Both are compared after the last block. Time isn't the reason.

    ??? question "You write to the right name, and check afterwards. What goes wrong?"
        If you stop the program before the check, a part of the file has the right name. The next
        call finds it there, and never checks it.

    ??? question "The list of checksums is beside the files, on the same server. What is it worth?"
        It finds wrong bits and stopped downloads. But if you can replace the file, you can replace
        the list, too. Ours is in the source, which you have from elsewhere.
    """
    # Random weights, and a last one whose bits are easy to follow.
    matrix = torch.randn(rows, columns)
    matrix[-1, -1] = 0.5
    with TemporaryDirectory() as folder:
        # The server has one file. The list of what is expected is made while all is well.
        server = Path(folder)
        theirs = server / "model.safetensors"
        write_file(theirs, {"matrix": matrix})
        content = theirs.read_bytes()
        files = {theirs.name: (len(content), sha256(content).hexdigest())}

        # Into another folder. What would be printed goes to a list.
        ours = server / "ours"
        ours.mkdir()
        said: list[str] = []
        fetch(ours, f"{server.as_uri()}/", files, said.append)
        right = read_file(ours / theirs.name)["matrix"]

        # The highest bit of the last number's exponent. The file can be read, and its last number
        # is $2^{127}$.
        damaged = content[:-1] + bytes([content[-1] ^ 0b0100_0000])
        theirs.write_bytes(damaged)
        wrong = read_file(theirs)["matrix"]

        # The one that was fetched is kept, so this asks for nothing. In an empty folder it would
        # be a `ValueError`.
        fetch(ours, f"{server.as_uri()}/", files, said.append)
    return right, wrong
