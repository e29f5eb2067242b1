r"""
---
title: Texts and Their Tokens
summary: Any text becomes tokens, in one part to train on and one to measure with.
---

A model can be trained on any text. [Tiny Shakespeare](../data.py#tiny_shakespeare) comes with the
package, a file is read with `--text`, and `--corpus python` is Python's own library, which
nearly every installation has. With `--n-vocab` its tokens are byte pairs in place of characters. A
text that is larger than the memory is read from [a file of tokens](token_file.py).

**In:** a text. **Out:** its tokens in two parts, one to train on and one to measure with, and all
that a run has to know about them.
"""

import codecs
import hashlib
import sysconfig
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from labml_nn.basics.byte_pairs import PIECES, letters_of_bytes
from labml_nn.training.data import CharTokenizer, prepare, tiny_shakespeare
from labml_nn.training.engine.errors import InputError

# Bytes that are read at once. Smaller chunks would take longer, larger ones more memory.
CHUNK = 1 << 20


class BytePairTokenizer:
    r"""
    ## Byte pairs

    The [lesson](../../basics/byte_pairs.py) goes through all words for each merge. The package
    [tokenizers](https://github.com/huggingface/tokenizers) finds the same merges faster; a test
    compares them. This tokenizer takes the place of one of characters.
    """

    def __init__(self, document: str) -> None:
        r"""
        * `document` is a tokenizer in the format of the package, JSON
        """
        # Kept, so that a run can be continued with the same tokens.
        self.document = document

        # Read at once: what is no tokenizer should fail here, and not at the first text.
        try:
            self.tokenizer = package().Tokenizer.from_str(document)
        # The package raises plain exceptions.
        except Exception as error:
            raise ValueError(f"not a tokenizer: {error}") from error

    @classmethod
    def trained(cls, texts: Iterable[str], n_vocab: int) -> "BytePairTokenizer":
        r"""
        ### Learn the vocabulary

        `texts` are parts of one text. A short text may have fewer pairs than `n_vocab` asks for.
        """
        # The bytes are there from the start. Above 32,768 a number wouldn't fit into 16 bits, which
        # is what a file of tokens has.
        if not 256 <= n_vocab <= 32_768:
            raise ValueError(f"n_vocab must be between 256, the bytes, and 32,768, got {n_vocab}")

        # The same borders and letters as in the lesson.
        tokenizers = package()
        by_byte = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
        by_piece = tokenizers.pre_tokenizers.Split(tokenizers.Regex(PIECES), "isolated")

        # First the pieces, then the bytes of each as letters.
        whole = tokenizers.Tokenizer(tokenizers.models.BPE())
        whole.pre_tokenizer = tokenizers.pre_tokenizers.Sequence([by_piece, by_byte])

        # Letters become bytes again, and bytes a text.
        whole.decoder = tokenizers.decoders.ByteLevel()

        # Every byte is in the vocabulary, also one that the text doesn't have. As in the lesson, a
        # pair has to come up twice.
        letters = letters_of_bytes()
        trainer = tokenizers.trainers.BpeTrainer(
            vocab_size=n_vocab, min_frequency=2, initial_alphabet=letters, show_progress=False
        )

        # The result goes through JSON, as it would through a file.
        whole.train_from_iterator(texts, trainer)
        return cls(whole.to_str())

    def __len__(self) -> int:
        # The bytes and the merges.
        return self.tokenizer.get_vocab_size()

    @property
    def symbols(self) -> str:
        # A fingerprint: two tokenizers with the same one are the same.
        return f"byte pairs {hashlib.sha256(self.document.encode()).hexdigest()}"

    def encode(self, text: str) -> Tensor:
        # Nothing is unknown: every text has bytes.
        return torch.tensor(self.tokenizer.encode(text).ids, dtype=torch.long)

    def decode(self, tokens: Tensor) -> str:
        # A token may be a part of a character; alone, it is shown as “�”.
        return self.tokenizer.decode(tokens.tolist(), skip_special_tokens=False)


def package() -> Any:
    r"""
    ### The package

    Nothing but byte pairs needs it, so it is imported on demand.
    """
    # Without it, one sentence says what to do.
    try:
        import tokenizers
    except ImportError:
        raise ValueError("byte pairs need the package tokenizers: pip install it") from None
    return tokenizers


@dataclass(frozen=True)
class Prepared:
    r"""
    ## A text that is ready for training

    * `tokenizer` made the tokens, of characters or byte pairs
    * `train` and `validation` are the tokens of the two parts
    * `n_characters` is the number of characters of the validation part
    * `checksum` is that of the text
    """

    # Two classes with the same three methods.
    tokenizer: Any

    # One axis each, as long as the part.
    train: Tensor
    validation: Tensor

    # A loss per token becomes a loss per character with it.
    n_characters: int

    # So that a run is never resumed with another text.
    checksum: str

    def __str__(self) -> str:
        # The first words of a run, so that a wrong file is noticed at once.
        unit = "characters" if isinstance(self.tokenizer, CharTokenizer) else "tokens"
        n_tokens = len(self.train) + len(self.validation)
        return f"{n_tokens:,} {unit}, {len(self.tokenizer):,} in the vocabulary"

    def check_length(self, seq_len: int) -> None:
        r"""
        ### Is it long enough?
        """
        # For one window with its last target to train on, and one prediction to measure.
        if len(self.train) <= seq_len or len(self.validation) < 2:
            raise InputError(
                f"{len(self.train):,} tokens to train on and {len(self.validation):,} to measure "
                f"are too few for a context of {seq_len:,}"
            )


def prepare_text(text: str, seq_len: int, n_vocab: int | None = None) -> Prepared:
    r"""
    ### Prepare a text

    With `n_vocab` the tokens are that many byte pairs.
    """
    # The lesson cuts the text and numbers its characters.
    tokenizer, train, validation = prepare(text, seq_len)
    n_characters = len(validation)

    # Byte pairs of the same two parts, so that losses per character can be compared. They are
    # learned from the training part alone: validation is to measure what was never seen.
    if n_vocab is not None:
        beginning = text[:-n_characters]
        tokenizer = BytePairTokenizer.trained([beginning], n_vocab)
        train = tokenizer.encode(beginning)
        validation = tokenizer.encode(text[-n_characters:])

    # Of the text and not of the tokens: they follow from it and the settings.
    checksum = hashlib.sha256(text.encode()).hexdigest()
    return Prepared(tokenizer, train, validation, n_characters, checksum)


def chunks(path: Path, size: int = CHUNK) -> Iterator[str]:
    r"""
    ## Reading a file in chunks

    Each chunk ends with the end of a line, because tokens don't reach beyond that; only a line that
    is very long is cut. What isn't UTF-8 is an `InputError` that says where.
    """
    # A character may have four bytes, and a chunk may end within it. This decoder keeps the begun
    # character for the next chunk. `-sig` skips the mark that Windows puts at the start of a file.
    decoder = codecs.getincrementaldecoder("utf-8-sig")()
    begun = 0
    try:
        with path.open("rb") as file:
            while True:
                # What the decoder has kept, to tell the place of an invalid byte.
                pending = len(decoder.getstate()[0])
                block = file.read(size)

                # The rest of the last line, if it isn't too long for that.
                block += file.readline(size)

                # Nothing more to read: a character that is begun now is an error.
                yield decoder.decode(block, final=not block)
                if not block:
                    return

                # Where the next chunk begins in the file.
                begun += len(block)
    # Another encoding, or no text at all.
    except UnicodeDecodeError as error:
        # In the file, where an editor can go to; the error knows the place in the chunk only.
        position = begun - pending + error.start
        raise InputError(
            f"{path} is not UTF-8: byte 0x{error.object[error.start]:02x} at position {position:,} "
            "is invalid there; save the file as UTF-8"
        ) from error
    # A folder, a missing file, no permission.
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}") from error


def read_text(path: Path) -> str:
    r"""
    ### A text of your own
    """
    # In chunks as well, for the same errors.
    text = "".join(chunks(path))
    if not text:
        # A model of nothing: the vocabulary would have the unknown character alone.
        raise InputError(f"{path} is empty")
    return text


def python_sources(max_length: int = 1_115_394) -> str:
    r"""
    ### Python's own library

    The modules of the standard library in alphabetical order, cut at `max_length` characters, by
    default the length of Tiny Shakespeare. The text depends on the version of Python, so compare
    losses only between runs on the same version.
    """
    # Sorted, because a folder lists its files in another order on another system.
    folder = Path(sysconfig.get_path("stdlib"))
    text = ""
    for path in sorted(folder.glob("*.py")):
        if len(text) >= max_length:
            break

        # A few old modules aren't UTF-8. Losing a letter of a comment is no harm.
        text += path.read_text(encoding="utf-8", errors="ignore")

    # Some installations have compiled modules only.
    if not text:
        raise InputError(f"there are no Python sources in {folder}: give a text with --text FILE")

    # Cut in the middle of a line, as long as the other text.
    return text[:max_length]


# The texts that have a name. The first one is learned if nothing else is said.
CORPORA = {"tiny_shakespeare": tiny_shakespeare, "python": python_sources}
