r"""
---
title: Which Text a Run Learns
summary: Options name a text, and a run keeps the name, not the text.
---

A text can be one of the [package](text.py), a file, or a [file of tokens](token_file.py). **In:**
the options. **Out:** a *source*, a small dictionary such as `{"corpus": "python", "n_vocab": 512}`.
A run keeps it in its folder, and opens the same text again when it is resumed.

The text itself isn't kept: it may be a thousand times as large as the model. A checksum tells
whether it is still the same.
"""

import argparse
from pathlib import Path
from typing import Any

from labml_nn.training.engine.errors import InputError, checking_input
from labml_nn.training.engine.text import CORPORA, Prepared, prepare_text, read_text
from labml_nn.training.engine.token_file import open_tokens

# What is learned if no option says anything else: the first text that has a name.
DEFAULT = {"corpus": next(iter(CORPORA))}


def add_text(group: argparse._ArgumentGroup) -> None:
    r"""
    ## The options
    """
    # A run learns one text, so two of these contradict each other.
    one_of = group.add_mutually_exclusive_group()
    one_of.add_argument("--corpus", choices=tuple(CORPORA), help=f"(default: {DEFAULT['corpus']})")
    one_of.add_argument("--text", type=Path, metavar="FILE", help="a text of your own, in UTF-8")

    # Made once by [a program](write_tokens.py).
    one_of.add_argument("--tokens", type=Path, metavar="FILE", help="a file of tokens")

    # This one goes with either of the first two.
    group.add_argument(
        "--n-vocab", type=int, metavar="INT", help="so many byte pairs, in place of characters"
    )


def source_of(arguments: argparse.Namespace) -> dict[str, Any]:
    r"""
    ## The source that options name

    Empty, if no option says it; then a resumed run takes its own.
    """
    # Absolute paths, because a run may be resumed from another folder.
    paths = {"file": arguments.text, "tokens": arguments.tokens}
    source: dict[str, Any] = {
        name: str(path.resolve()) for name, path in paths.items() if path is not None
    }

    # A name is looked up in a table when the text is opened.
    if arguments.corpus is not None:
        source["corpus"] = arguments.corpus

    # The tokens in a file were made long ago; they can't be made anew here.
    if arguments.n_vocab is not None:
        if "tokens" in source:
            raise InputError("--tokens has a vocabulary of its own: leave out --n-vocab")

        # Byte pairs of the usual text, if nothing else is named.
        source = (source or DEFAULT) | {"n_vocab": arguments.n_vocab}
    return source


def open_source(source: dict[str, Any], seq_len: int) -> Prepared:
    r"""
    ## Open it

    `seq_len` is the context, which the text must be long enough for.
    """
    # These may be larger than the memory, so they stay where they are.
    if "tokens" in source:
        # Their vocabulary comes with them.
        return open_tokens(Path(source["tokens"]))

    # Everything else is read whole and tokenized now, which takes a second for a million
    # characters. A text that is too short is a mistake of the user.
    named = CORPORA.get(source.get("corpus"))
    text = named() if named else read_text(Path(source["file"]))
    with checking_input():
        # Here it is cut into two parts, and byte pairs are learned.
        return prepare_text(text, seq_len, source.get("n_vocab"))
