r"""
---
title: Tokens in a File
summary: A text that is larger than the memory, read where it is needed, when it is needed.
---

```sh
python -m labml_nn.training.token_file long.txt long.tokens --tokenizer byte-pairs --n-vocab 4096
python -m labml_nn.training --tokens long.tokens
```

A text becomes tokens piece by piece, and they go into a file, two bytes each. To train, the file is
*mapped* into memory: it looks like a tensor, and what is touched is read from the disk by the
operating system, kept while there is room, and dropped when there is none. A batch touches a few
windows. So the memory that a run needs has nothing to do with the length of its text.

Beside “long.tokens” stands “long.tokens.json”, which says what is in it: the type and the number
of the tokens, where the [training part](data.py#first_part) ends, the vocabulary, and a checksum of
the text. It is written last, so there is never one without all of its tokens.

A file whose length is another one is refused. Its contents are not compared each time, because that
would be to read all of it.
"""

import codecs
import hashlib
import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import torch

from labml_nn.training.byte_pairs import BytePairTokenizer
from labml_nn.training.data import CharTokenizer, InputError, Prepared, first_part
from labml_nn.training.files import replacing
from labml_nn.training.options import Parser, add_tokenizer, vocabulary

TOKEN_FORMAT = "annotated-transformers tokens 1"

# Bytes that are read at once.
CHUNK = 1 << 20


def chunks(path: Path, size: int = CHUNK) -> Iterator[str]:
    r"""
    ## A text in chunks

    Each ends with the end of a line, because tokens don't reach beyond that; only a line that is
    very long is cut. What isn't UTF-8 is an `InputError` that says where.
    """
    decoder = codecs.getincrementaldecoder("utf-8-sig")()
    begun = 0
    try:
        with path.open("rb") as file:
            while True:
                pending = len(decoder.getstate()[0])
                block = file.read(size)
                block += file.readline(size)
                yield decoder.decode(block, final=not block)
                if not block:
                    return
                begun += len(block)
    except UnicodeDecodeError as error:
        place = begun - pending + error.start
        raise InputError(
            f"{path} is not UTF-8: byte 0x{error.object[error.start]:02x} at position {place:,} "
            "cannot stand there; save the file as UTF-8"
        ) from error
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}") from error


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
        # How long the training part is will be known at the end. So it is noted where each
        # character stands for the first time.
        for character in set(chunk) - first.keys():
            first[character] = length + chunk.index(character)
        length += len(chunk)
        digest.update(chunk.encode())
    end = first_part(length)
    if not 0 < end < length:
        raise InputError(f"{path} is too short: it has {length:,} characters")
    known = "".join(sorted(one for one, place in first.items() if place < end))
    return length, known, digest.hexdigest()


def side(path: Path) -> Path:
    r"""
    ### The text beside it
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
                    tokens = tokenizer.encode(piece, unknown=True).to(dtype)
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
    with replacing(side(path)) as temporary:
        temporary.write_text(json.dumps(document, indent=1), encoding="utf-8")


def open_tokens(path: Path) -> tuple[Prepared, str]:
    r"""
    ## Open it

    The two parts, and the checksum of the text. Nothing of the tokens is read yet.
    """
    try:
        document = json.loads(side(path).read_bytes())
        size = path.stat().st_size
    except OSError as error:
        raise InputError(f"cannot read {error.filename}: {error.strerror}") from error
    except ValueError as error:
        raise InputError(f"{side(path)} is damaged") from error
    if not isinstance(document, dict) or document.get("format") != TOKEN_FORMAT:
        raise InputError(f"{side(path)} is not that of a file of tokens")
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
    prepared = Prepared(tokenizer, train, validation, document["n_characters"])
    return prepared, document["text_checksum"]


def main(argv: Sequence[str] | None = None) -> int:
    r"""
    ## On the command line
    """
    parser = Parser(
        prog="python -m labml_nn.training.token_file", description="Write a file of tokens."
    )
    parser.add_argument("text", type=Path, help="a file in UTF-8, of any length")
    parser.add_argument("tokens", type=Path, help="the file to write")
    add_tokenizer(parser)
    try:
        arguments = parser.parse_args(argv)
        write_tokens(arguments.text, arguments.tokens, vocabulary(arguments))
    except InputError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
