r"""
---
title: The File of a Checkpoint
summary: Damage is recognised by the name of the file, and reading it runs no code.
---

A file of weights can be bad in two ways. It may be *damaged*: the disk was full, a copy broke off,
a bit flipped. One wrong bit in a weight is no error to anybody; the run goes on from a model that
never was. Or it may be *hostile*: `torch.save` uses Python's *pickle*, and a pickle can run any
code when it is read.

**In:** a dictionary of tensors, numbers, texts and containers. **Out:** a file whose name ends with
the start of its own SHA-256, and the same dictionary again. Anything else is an
[`InputError`](errors.py#InputError).
"""

import hashlib
import io
from pathlib import Path
from typing import Any

import torch

from labml_nn.training.engine.errors import InputError
from labml_nn.training.engine.files import replacing

# Whenever the content changes its form, the number goes up. Guessing what an old file means would
# be worse than refusing it.
FORMAT = "labml_nn checkpoint 5"


def checksum(content: bytes) -> str:
    r"""
    ## The end of a name
    """
    # 16 of 64 digits: damage goes unnoticed once in $10^{19}$ times.
    return hashlib.sha256(content).hexdigest()[:16]


def write_checkpoint(folder: Path, name: str, document: dict[str, Any]) -> Path:
    r"""
    ## Write

    The file is “`name`-checksum.pt” in `folder`. If it can't be written, everything there stays as
    it was.
    """
    # First into memory, because the name is known only when the content is complete.
    buffer = io.BytesIO()
    torch.save({"format": FORMAT, **document}, buffer)

    # The very bytes that are written are the ones that are counted.
    content = buffer.getvalue()

    # Renaming the complete file into place is the only step that can be interrupted.
    path = folder / f"{name}-{checksum(content)}.pt"
    with replacing(path) as temporary:
        temporary.write_bytes(content)
    return path


def load_checkpoint(path: Path) -> dict[str, Any]:
    r"""
    ## Load
    """
    # The checksum comes first: whatever is read after it is what was written.
    try:
        content = path.read_bytes()
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}") from error

    # Half a file, an empty one, one with a bit flipped: each has another checksum.
    if not path.stem.endswith(checksum(content)):
        raise InputError(f"{path} is damaged, or was altered after it was saved")

    # A stranger can give a hostile file the right name. `weights_only` allows tensors, numbers,
    # texts and containers, and no calls. PyTorch fails in many ways on a file that isn't its own.
    try:
        # On the CPU, because the GPU that it was saved from may not be here.
        document = torch.load(io.BytesIO(content), map_location="cpu", weights_only=True)
    except Exception as error:
        raise InputError(f"{path} is not a checkpoint") from error

    # A file of PyTorch, and still none of this program, or of another version.
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise InputError(f"{path} was not saved by this version of the program")
    return document
