r"""
---
title: Writing a File of Tokens
summary: A text of any length becomes tokens, chunk by chunk.
---

```sh
python -m labml_nn.training.engine.write_tokens long.txt long.tokens --n-vocab 4096
```

**In:** a text that may be larger than the memory. **Out:** a [file of tokens](token_file.py), equal
to the tokens that the same text has [in memory](text.py#prepare_text).

Two things can't be known before the end of the text: where its training part ends, and which
characters that part has. So the text is read several times, from the beginning, in
[chunks](text.py#chunks) of a megabyte.
"""

import hashlib
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import torch

from labml_nn.training.data import CharTokenizer
from labml_nn.training.engine.byte_pairs import BytePairTokenizer
from labml_nn.training.engine.errors import InputError, checking_input
from labml_nn.training.engine.files import replacing, write_json
from labml_nn.training.engine.program import Parser, one_sentence
from labml_nn.training.engine.text import chunks
from labml_nn.training.engine.token_file import TOKEN_FORMAT, description


def first_part(length: int) -> int:
    r"""
    ## Where the training part ends

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
    ## The first look

    The number of characters, those that the training part has, and a checksum.
    """
    first: dict[str, int] = {}
    length, digest = 0, hashlib.sha256()
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


def write_tokens(text: Path, path: Path, n_vocab: int | None = None) -> None:
    r"""
    ## Write a file of tokens

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
    done, sizes = 0, [0, 0]

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


@one_sentence
def main(argv: Sequence[str] | None = None) -> int:
    r"""
    ## On the command line
    """
    parser = Parser(
        prog="python -m labml_nn.training.engine.write_tokens",
        description="Write a file of tokens.",
    )

    # It is read three times, so it can't come from a pipe.
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
