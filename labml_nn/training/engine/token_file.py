r"""
---
title: Tokens in a File
summary: A text that is larger than the memory, read from the disk when it is needed.
---

```sh
python -m labml_nn.training.engine.token_file long.txt long.tokens --n-vocab 4096
python -m labml_nn.training.engine --tokens long.tokens
```

A text becomes tokens chunk by chunk, and they go into a file, two bytes each. To train, the file is
*mapped* into memory. It looks like a tensor, and the operating system reads what is touched, keeps
it while there is room, and drops it when there is none. A batch touches a few windows. So the
memory that a run needs doesn't depend on the length of its text.

Beside “long.tokens” is “long.tokens.json”. It says what the file holds: the type and the number of
the tokens, where the training part ends, the vocabulary, and a checksum of the text. It is written
last, so there is never one without all of its tokens.

When the file is opened, its length is compared, and not its content: that would be to read all of
it.
"""

import hashlib
import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import torch

from labml_nn.training.byte_pairs import BytePairTokenizer
from labml_nn.training.data import CharTokenizer
from labml_nn.training.engine.errors import InputError, checking_input
from labml_nn.training.engine.files import replacing, write_json
from labml_nn.training.engine.program import Parser, one_sentence
from labml_nn.training.engine.text import Prepared, chunks

TOKEN_FORMAT = "labml_nn tokens 2"


def first_part(length: int) -> int:
    r"""
    ## Where the training part ends

    After nine tenths. But a million characters are enough to measure with.
    """
    return max(length * 9 // 10, length - 1_000_000)


def beginning(path: Path, length: int) -> Iterator[str]:
    r"""
    ### The first characters, in chunks
    """
    for chunk in chunks(path):
        if length <= 0:
            return
        yield chunk[:length]
        length -= len(chunk)


def survey(path: Path) -> tuple[int, str, str]:
    r"""
    ## The first look

    The number of characters, those that the training part has, and a checksum.
    """
    first: dict[str, int] = {}
    length, digest = 0, hashlib.sha256()
    for chunk in chunks(path):
        # Where the training part ends is known only at the end. So we keep where each character
        # comes for the first time.
        for character in set(chunk) - first.keys():
            first[character] = length + chunk.index(character)
        length += len(chunk)
        digest.update(chunk.encode())
    end = first_part(length)
    if not 0 < end < length:
        raise InputError(f"{path} is too short: it has {length:,} characters")
    known = "".join(sorted(one for one, place in first.items() if place < end))
    return length, known, digest.hexdigest()


def description(path: Path) -> Path:
    r"""
    ### The description beside it
    """
    return path.with_name(f"{path.name}.json")


def write_tokens(text: Path, path: Path, n_vocab: int | None = None) -> None:
    r"""
    ## Write a file of tokens

    * `text` is a file in UTF-8
    * `path` is where the tokens go
    * `n_vocab` is the number of byte pairs; without it the tokens are characters
    """
    length, known, checksum = survey(text)
    end = first_part(length)
    tokenizer: Any = CharTokenizer(known)
    if n_vocab is not None:
        tokenizer = BytePairTokenizer.trained(beginning(text, end), n_vocab)

    # Signed numbers, because PyTorch can look them up in all its versions.
    dtype = torch.int16 if len(tokenizer) <= 1 << 15 else torch.int32
    done, sizes = 0, [0, 0]
    with replacing(path) as temporary:
        with temporary.open("wb") as file:
            for chunk in chunks(text):
                # The two parts are encoded apart, as they are in memory.
                cut = min(max(end - done, 0), len(chunk))
                for part, piece in enumerate((chunk[:cut], chunk[cut:])):
                    tokens = tokenizer.encode(piece).to(dtype)
                    sizes[part] += len(tokens)
                    file.write(bytes(tokens.view(torch.uint8).untyped_storage()))
                done += len(chunk)
    document = {
        "format": TOKEN_FORMAT,
        "dtype": str(dtype).removeprefix("torch."),
        "byteorder": sys.byteorder,
        "train": sizes[0],
        "validation": sizes[1],
        "n_characters": length - end,
        "text_checksum": checksum,
        "characters": known if n_vocab is None else None,
        "byte_pairs": None if n_vocab is None else tokenizer.document,
    }
    write_json(description(path), document)


def open_tokens(path: Path) -> Prepared:
    r"""
    ## Open it

    None of the tokens is read yet.
    """
    try:
        document = json.loads(description(path).read_bytes())
        size = path.stat().st_size
    except OSError as error:
        raise InputError(f"cannot read {error.filename}: {error.strerror}") from error
    except ValueError as error:
        raise InputError(f"{description(path)} is damaged") from error
    if not isinstance(document, dict) or document.get("format") != TOKEN_FORMAT:
        raise InputError(f"{description(path)} is not that of a file of tokens")
    if document["byteorder"] != sys.byteorder:
        raise InputError(f"{path} was written on a machine with another order of bytes")
    dtype = {"int16": torch.int16, "int32": torch.int32}[document["dtype"]]
    length = document["train"] + document["validation"]
    if size != length * dtype.itemsize:
        raise InputError(
            f"{path} has {size:,} bytes, and {length * dtype.itemsize:,} were written: "
            "write it again"
        )
    if document["byte_pairs"] is None:
        tokenizer: Any = CharTokenizer(document["characters"])
    else:
        tokenizer = BytePairTokenizer(document["byte_pairs"])

    # Not shared: should anything write to the tensor, the file stays as it is.
    tokens = torch.from_file(str(path), shared=False, size=length, dtype=dtype)
    train, validation = tokens[: document["train"]], tokens[document["train"] :]
    return Prepared(
        tokenizer, train, validation, document["n_characters"], document["text_checksum"]
    )


@one_sentence
def main(argv: Sequence[str] | None = None) -> int:
    r"""
    ## On the command line
    """
    parser = Parser(
        prog="python -m labml_nn.training.engine.token_file", description="Write a file of tokens."
    )
    parser.add_argument("text", type=Path, help="a file in UTF-8, of any length")
    parser.add_argument("tokens", type=Path, help="the file to write")
    parser.add_argument(
        "--n-vocab", type=int, metavar="INT", help="so many byte pairs, in place of characters"
    )
    arguments = parser.parse_args(argv)
    with checking_input():
        write_tokens(arguments.text, arguments.tokens, arguments.n_vocab)
    return 0


if __name__ == "__main__":
    sys.exit(main())
