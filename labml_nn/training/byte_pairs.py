r"""
---
title: Byte Pairs
summary: A vocabulary of frequent pieces, learned from the text itself.
paper:
  title: Neural Machine Translation of Rare Words with Subword Units
  authors: Sennrich et al.
  year: 2016
  link: https://arxiv.org/abs/1508.07909
---

With [characters](data.py#CharTokenizer) as tokens a model spells each word anew, and a context of
64 is a line or two. With whole words it could not write a word that it never met. In between
are *pieces*: frequent words are one token, rare ones are several.

Which pieces, the text says. Begin with single bytes. Count how often each pair of neighbours
occurs, make one token of the most frequent pair, and repeat, until the vocabulary is as large
as it should be. What is learned is the list of these **merges**, in order; to encode is to
apply them again. Every text in UTF-8 is made of bytes, so no character is ever unknown.

`python -m labml_nn.training --tokenizer byte-pairs --n-vocab 512` trains on such tokens. A token
is then more than a character, and its loss higher: losses of different tokenizers compare only
*per character*, and that is printed as well.

The paper begins with characters; bytes came with GPT-2. What works in practice is the package
[tokenizers](https://github.com/huggingface/tokenizers), which is fast, and whose file, JSON, goes
into the folder of the run. It is here beside a version of twenty lines that finds the same merges.
"""

import hashlib
import re
from collections import Counter
from collections.abc import Iterable
from typing import Any

import torch
from torch import Tensor

from labml_nn.training.data import InputError, Prepared, split

# Pairs are not merged across these borders: words with the space before them, numbers, signs,
# blanks, and ends of lines, which stand alone.
PIECES = (
    r" ?[^ \t\r\n0-9!-/:-@\[-`{-~]+"
    r"| ?[0-9]+"
    r"| ?[!-/:-@\[-`{-~]+"
    r"|\n"
    r"|[ \t\r]+"
)


def letters_of_bytes() -> list[str]:
    r"""
    ## A letter for each byte

    A file of JSON holds no bytes. So bytes that are printable signs of Latin-1 stand for
    themselves, and the others for the letters from “Ā” on: a space is “Ġ”.
    """
    printable = {*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)}
    others = [byte for byte in range(256) if byte not in printable]
    return [chr(b) if b in printable else chr(256 + others.index(b)) for b in range(256)]


def learn_merges(text: str, n_merges: int) -> list[tuple[str, str]]:
    r"""
    ## The algorithm

    The merges, in the letters of [bytes](byte_pairs.py#letters_of_bytes). Pairs that occur once
    only are not merged. Of pairs that are equally frequent, the one with the older tokens wins.
    """
    letters = letters_of_bytes()
    number = {letter: index for index, letter in enumerate(sorted(letters))}

    # Equal words are counted together, so that a merge looks at each only once.
    words: Counter[tuple[str, ...]] = Counter()
    for piece in re.findall(PIECES, text):
        words[tuple(letters[byte] for byte in piece.encode())] += 1

    merges: list[tuple[str, str]] = []
    while len(merges) < n_merges:
        pairs: Counter[tuple[str, str]] = Counter()
        for word, count in words.items():
            for pair in zip(word, word[1:], strict=False):
                pairs[pair] += count
        if not pairs or max(pairs.values()) < 2:
            break
        best = min(pairs, key=lambda pair: (-pairs[pair], number[pair[0]], number[pair[1]]))
        merges.append(best)
        number.setdefault(best[0] + best[1], len(number))

        # No two words become one: they were different bytes.
        words = Counter({merge(word, best): count for word, count in words.items()})
    return merges


def merge(word: tuple[str, ...], pair: tuple[str, str]) -> tuple[str, ...]:
    r"""
    ### Make one token of a pair, from left to right
    """
    merged: list[str] = []
    index = 0
    while index < len(word):
        if word[index : index + 2] == pair:
            merged.append(pair[0] + pair[1])
            index += 2
        else:
            merged.append(word[index])
            index += 1
    return tuple(merged)


def library() -> Any:
    r"""
    ## The package, or a sentence
    """
    try:
        import tokenizers
    except ImportError:
        raise InputError(
            "byte pairs need the package tokenizers: python -m pip install tokenizers"
        ) from None
    return tokenizers


class BytePairTokenizer:
    r"""
    ## Pieces as numbers

    It takes the place of one of characters.
    """

    def __init__(self, document: str) -> None:
        r"""
        * `document` is a tokenizer in the format of the package, JSON
        """
        self.document, package = document, library()
        try:
            self._tokenizer = package.Tokenizer.from_str(document)
        # The package has no exception of its own.
        except Exception as error:
            raise InputError(f"not a tokenizer: {error}") from error

    @classmethod
    def trained(cls, texts: Iterable[str], n_vocab: int) -> "BytePairTokenizer":
        r"""
        ### Learn the merges

        `texts` are parts of one text. A short text may have fewer pairs than `n_vocab` asks for.
        """
        if not 256 <= n_vocab <= 32_768:
            raise InputError(f"n_vocab must be between 256, the bytes, and 32,768, got {n_vocab}")
        package = library()
        whole = package.Tokenizer(package.models.BPE())
        by_byte = package.pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
        by_piece = package.pre_tokenizers.Split(package.Regex(PIECES), "isolated")
        whole.pre_tokenizer = package.pre_tokenizers.Sequence([by_piece, by_byte])
        whole.decoder = package.decoders.ByteLevel()
        trainer = package.trainers.BpeTrainer(
            vocab_size=n_vocab,
            min_frequency=2,
            initial_alphabet=letters_of_bytes(),
            show_progress=False,
        )
        whole.train_from_iterator(texts, trainer)
        return cls(whole.to_str())

    def __len__(self) -> int:
        return self._tokenizer.get_vocab_size()

    @property
    def symbols(self) -> str:
        r"""
        ### A fingerprint

        Two tokenizers with the same one are the same.
        """
        return f"byte pairs {hashlib.sha256(self.document.encode()).hexdigest()}"

    def encode(self, text: str, unknown: bool = False) -> Tensor:
        r"""
        ### From text to numbers

        Nothing is `unknown`.
        """
        return torch.tensor(self._tokenizer.encode(text).ids, dtype=torch.long)

    def decode(self, tokens: Tensor) -> str:
        r"""
        ### And back

        A part of a character becomes “�”.
        """
        return self._tokenizer.decode(tokens.tolist(), skip_special_tokens=False)


def prepare_pairs(text: str, seq_len: int, n_vocab: int) -> Prepared:
    r"""
    ## From a text to what a trainer needs

    The merges come from the training part alone.
    """
    train, validation = split(text, seq_len)
    tokenizer = BytePairTokenizer.trained([train], n_vocab)
    return Prepared(
        tokenizer, tokenizer.encode(train), tokenizer.encode(validation), len(validation)
    )
