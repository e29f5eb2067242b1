r"""
---
title: Tokens in a File
summary: A text that is larger than the memory is written as tokens once, and read bit by bit.
---

```sh
python -m labml_nn.training.engine.token_file long.txt long.tokens --n-vocab 4096
python -m labml_nn.training.engine --tokens long.tokens
```

A text of ten billion characters makes 80 GB of tokens in 64 bits. A batch needs a few windows of
it. So the tokens are written to a file once, in two bytes each, and the file is *mapped* into
memory. It looks like a tensor, and the operating system reads what is touched, keeps it while there
is room, and drops it when there is none. So the memory that a run needs doesn't depend on the
length of its text.

**In:** a text of any length. **Out:** a file of tokens, equal to those that the same text has [in
memory](text.py#prepare_text), and when it is opened, the same as for [a text in
memory](text.py#Prepared).
"""

import hashlib
import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import torch

from labml_nn.training.data import CharTokenizer
from labml_nn.training.engine.errors import InputError, Parser, checking_input, one_sentence
from labml_nn.training.engine.files import replacing, write_json
from labml_nn.training.engine.text import BytePairTokenizer, Prepared, chunks

# Goes up when the description changes its form.
TOKEN_FORMAT = "labml_nn tokens 2"


def description(path: Path) -> Path:
    r"""
    ## The description beside it

    Beside “long.tokens” is “long.tokens.json”. It says what the file holds: the type and the number
    of the tokens, where the training part ends, the vocabulary, and a checksum of the text.
    """
    return path.with_name(f"{path.name}.json")


def read_description(path: Path) -> dict[str, Any]:
    r"""
    ### Read it

    If the description doesn't fit the file or this machine, that is an `InputError`. The length of
    the file is compared, and not its content: that would be to read all of it.
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
    ## Open a file of tokens

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
    dtype = getattr(torch, document["dtype"])
    end = document["train"]
    length = end + document["validation"]
    tokens = torch.from_file(str(path), shared=False, size=length, dtype=dtype)

    # Two views of the same file.
    return Prepared(
        tokenizer, tokens[:end], tokens[end:], document["n_characters"], document["text_checksum"]
    )


def write_tokens(text: Path, path: Path, n_vocab: int | None = None) -> None:
    r"""
    ## Write a file of tokens

    Two things can't be known before the end of the text: where its training part ends, and which
    characters that part has. So the text is read several times, from the beginning, in
    [chunks](text.py#chunks) of a megabyte.

    * `text` is a file in UTF-8
    * `path` is where the tokens go
    * `n_vocab` is the number of byte pairs; without it the tokens are characters
    """
    # Byte pairs are learned from the training part alone, or the validation loss would be that of a
    # text that the tokenizer has seen.
    length, known, checksum = survey(text)
    end = first_part(length)
    tokenizer: Any = CharTokenizer(known)
    if n_vocab is not None:
        # It counts chunk by chunk, too.
        tokenizer = BytePairTokenizer.trained(beginning(text, end), n_vocab)

    # Signed numbers, because PyTorch can look them up in all its versions. 16 bits reach to 32,767,
    # the last of 32,768 tokens.
    dtype = torch.int16 if len(tokenizer) <= 1 << 15 else torch.int32
    done = 0
    sizes = [0, 0]

    # One chunk at a time. The two parts are encoded apart, as they are in memory: no byte pair
    # reaches from one into the other.
    with replacing(path) as temporary:
        with temporary.open("wb") as file:
            for chunk in chunks(text):
                # How much of this chunk belongs to the training part: all of it, nothing, or, once,
                # something in between.
                cut = min(max(end - done, 0), len(chunk))
                for part, piece in enumerate((chunk[:cut], chunk[cut:])):
                    tokens = tokenizer.encode(piece).to(dtype)

                    # A byte pair is several characters, so the parts have fewer tokens.
                    sizes[part] += len(tokens)

                    # The bytes of the tokens as they are in memory, with nothing around them.
                    file.write(bytes(tokens.view(torch.uint8).untyped_storage()))
                done += len(chunk)

    # Last, so there is never a description without all of its tokens.
    document = {
        "format": TOKEN_FORMAT,
        "dtype": str(dtype).removeprefix("torch."),
        # Which of the two bytes comes first.
        "byteorder": sys.byteorder,
        # How many tokens each part has.
        "train": sizes[0],
        "validation": sizes[1],
        # For the loss per character.
        "n_characters": length - end,
        # By which a resumed run recognises it.
        "text_checksum": checksum,
        # One of the two, the vocabulary.
        "characters": known if n_vocab is None else None,
        "byte_pairs": None if n_vocab is None else tokenizer.document,
    }
    write_json(description(path), document)


def first_part(length: int) -> int:
    r"""
    ### Where the training part ends

    After nine tenths.
    """
    # But a million characters are enough to measure with. With a tenth of
    # ten billion, each evaluation would take hours.
    return max(length * 9 // 10, length - 1_000_000)


def beginning(path: Path, length: int) -> Iterator[str]:
    r"""
    ### The first characters, in chunks
    """
    for chunk in chunks(path):
        # What comes after isn't read.
        if length <= 0:
            return

        # The last one is cut.
        yield chunk[:length]
        length -= len(chunk)


def survey(path: Path) -> tuple[int, str, str]:
    r"""
    ### The first look

    The number of characters, those that the training part has, and a checksum.
    """
    first: dict[str, int] = {}
    length = 0
    digest = hashlib.sha256()
    for chunk in chunks(path):
        # A character that comes in the validation part only must stay unknown. Where that part
        # begins, we don't know yet. So we note where each character comes for the first time.
        for character in set(chunk) - first.keys():
            first[character] = length + chunk.index(character)

        # Characters, not bytes: “é” has two of these.
        length += len(chunk)

        # Of the text, as for a text in memory: a run can't tell the two apart.
        digest.update(chunk.encode())

    # Now we know. Both parts must have something in them.
    end = first_part(length)
    if not 0 < end < length:
        raise InputError(f"{path} is too short: it has {length:,} characters")
    known = "".join(sorted(one for one, place in first.items() if place < end))
    return length, known, digest.hexdigest()


@one_sentence
def main(argv: Sequence[str] | None = None) -> int:
    r"""
    ## On the command line
    """
    parser = Parser(
        prog="python -m labml_nn.training.engine.token_file",
        description="Write a file of tokens.",
    )

    # It is read two or three times, so it can't come from a pipe.
    parser.add_argument("text", type=Path, help="a file in UTF-8, of any length")
    parser.add_argument("tokens", type=Path, help="the file to write")
    parser.add_argument(
        "--n-vocab", type=int, metavar="INT", help="so many byte pairs, in place of characters"
    )
    arguments = parser.parse_args(argv)

    # A vocabulary that is too small, for example, is refused by the lesson about byte pairs.
    with checking_input():
        write_tokens(arguments.text, arguments.tokens, arguments.n_vocab)
    return 0


if __name__ == "__main__":
    sys.exit(main())
