r"""
---
title: A Fast Byte-Pair Tokenizer
summary: The merges of the lesson, found and applied by a library.
---

The [lesson](../../basics/byte_pairs.py) goes through all words for each merge. The package
[tokenizers](https://github.com/huggingface/tokenizers) finds the same merges faster; a test
compares them. This tokenizer takes the place of one of characters.
"""

import hashlib
from collections.abc import Iterable
from typing import Any

import torch
from torch import Tensor

from labml_nn.basics.byte_pairs import PIECES, letters_of_bytes


class BytePairTokenizer:
    r"""
    ## The tokenizer
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
    ## The package

    Nothing else of this page needs it, so it is imported on demand.
    """
    # Without it, one sentence says what to do.
    try:
        import tokenizers
    except ImportError:
        raise ValueError("byte pairs need the package tokenizers: pip install it") from None
    return tokenizers
