r"""
---
title: Tokens in a File
summary: A text that is larger than the memory, read from the disk when it is needed.
---

```sh
python -m labml_nn.training.engine.write_tokens long.txt long.tokens --n-vocab 4096
python -m labml_nn.training.engine --tokens long.tokens
```

A text of ten billion characters makes 80 GB of tokens in 64 bits. A batch needs a few windows of
it. So the tokens are [written](write_tokens.py) to a file once, in two bytes each, and the file is
*mapped* into memory. It looks like a tensor, and the operating system reads what is touched, keeps
it while there is room, and drops it when there is none. So the memory that a run needs doesn't
depend on the length of its text.

**In:** a file of tokens. **Out:** the same as for [a text in memory](text.py#Prepared).

Beside “long.tokens” is “long.tokens.json”. It says what the file holds: the type and the number of
the tokens, where the training part ends, the vocabulary, and a checksum of the text. When the file
is opened, its length is compared, and not its content: that would be to read all of it.
"""

import json
import sys
from pathlib import Path
from typing import Any

import torch

from labml_nn.training.data import CharTokenizer
from labml_nn.training.engine.byte_pairs import BytePairTokenizer
from labml_nn.training.engine.errors import InputError
from labml_nn.training.engine.text import Prepared

# Goes up when the description changes its form.
TOKEN_FORMAT = "labml_nn tokens 2"


def description(path: Path) -> Path:
    r"""
    ## The description beside it
    """
    return path.with_name(f"{path.name}.json")


def read_description(path: Path) -> dict[str, Any]:
    r"""
    ### Read it

    If it doesn't fit the file or this machine, that is an `InputError`.
    """
    # It is written last. So if it is there, the file was complete once.
    try:
        document = json.loads(description(path).read_bytes())

        # Without opening the large file.
        size = path.stat().st_size
    # Either of the two files may be missing, and the error names it.
    except OSError as error:
        raise InputError(f"cannot read {error.filename}: {error.strerror}") from error
    # No JSON, or no text at all.
    except ValueError as error:
        raise InputError(f"{description(path)} is damaged") from error

    # Some other file, or one of an older version of this program.
    if not isinstance(document, dict) or document.get("format") != TOKEN_FORMAT:
        raise InputError(f"{description(path)} is not that of a file of tokens")

    # Read in the other order, token 1 would be token 256, and nothing would fail: the model would
    # learn nonsense.
    if document["byteorder"] != sys.byteorder:
        raise InputError(f"{path} was written on a machine with another order of bytes")

    # A copy that broke off is shorter. Touching what isn't there would end the program without a
    # word.
    dtype = getattr(torch, document["dtype"])
    expected = (document["train"] + document["validation"]) * dtype.itemsize
    if size != expected:
        raise InputError(
            f"{path} has {size:,} bytes, and {expected:,} were written: write it again"
        )
    return document


def open_tokens(path: Path) -> Prepared:
    r"""
    ## Open it

    None of the tokens is read yet.
    """
    # The description has the whole vocabulary, so the text itself isn't needed.
    document = read_description(path)

    # Two kinds of tokenizers, and exactly one of them is there.
    if document["byte_pairs"] is None:
        # The characters of the training part, as one text.
        tokenizer: Any = CharTokenizer(document["characters"])
    else:
        # The whole of it, as the library writes it.
        tokenizer = BytePairTokenizer(document["byte_pairs"])

    # Not shared: should anything write to the tensor, the file stays as it is.
    dtype, end = getattr(torch, document["dtype"]), document["train"]
    length = end + document["validation"]
    tokens = torch.from_file(str(path), shared=False, size=length, dtype=dtype)

    # Two views of the same file.
    return Prepared(
        tokenizer, tokens[:end], tokens[end:], document["n_characters"], document["text_checksum"]
    )
