r"""
---
title: Byte-Pair Encoding
summary: A vocabulary of frequent pieces of words, learned from the text itself.
paper:
  title: Neural Machine Translation of Rare Words with Subword Units
  authors: Sennrich et al.
  year: 2016
  link: https://arxiv.org/abs/1508.07909
terms:
  byte-pair encoding: Starts from bytes and joins the most frequent pair again and again.
---

If the tokens are [characters](data.py#CharTokenizer), a context of 64 tokens is a line or two, and
the model spells each word anew. If they are words, the model can't write a word that it never saw.
Byte-pair encoding is in between: frequent words are one token, rare words are several.

**In:** a text, and the size of the vocabulary. **Out:** a list of *merges*, learned like this:

1. Begin with single bytes.
2. Count how often each pair of neighbours comes up.
3. Make one token of the most frequent pair, and go back to 2.

In “low lower lowest” the first merge is “l” and “o”, the second “lo” and “w”. Then “low” is one
token in all three words. To encode a text, apply the same merges in the same order.

After 300 merges, a token of Tiny Shakespeare has
[2.11](../../results/family_drawings.json#values.characters) characters on average, so a context of
64 tokens reaches twice as far. The first merges gain most:

[Characters in a token, by the number of merges (the first 100,000
characters)](../../results/family_drawings.json#figures.merges)

A token is now more than a character, and its loss is higher. Losses of different tokenizers compare
only *per character*.

The paper begins with characters. Bytes came with GPT-2: every text in UTF-8 is made of bytes, so no
character is ever unknown.
"""

import hashlib
import re
from collections import Counter
from collections.abc import Iterable
from typing import Any

import torch
from torch import Tensor

# Pairs are not merged across these borders: words with the space before them, numbers, punctuation,
# spaces, and ends of lines. Otherwise “the dog.” and “the dog,” would become tokens of their own.
PIECES = r" ?[^ \t\r\n0-9!-/:-@\[-`{-~]+| ?[0-9]+| ?[!-/:-@\[-`{-~]+|\n|[ \t\r]+"


def letters_of_bytes() -> list[str]:
    r"""
    ## A letter for each byte

    Tokenizers are kept in JSON, which holds text and no bytes. So each byte is written as a letter:
    the printable signs of Latin-1 as themselves, all others as letters from “Ā” on. A space is “Ġ”.
    """
    # The signs of Latin-1 without spaces and the soft hyphen, which nobody would see.
    printable = {*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)}
    others = [byte for byte in range(256) if byte not in printable]

    # From 256 on there is a letter for each of the others.
    return [chr(b) if b in printable else chr(256 + others.index(b)) for b in range(256)]


def merge(word: tuple[str, ...], pair: tuple[str, str]) -> tuple[str, ...]:
    r"""
    ## Apply one merge

    Each place where the pair stands becomes one token, from left to right: in “aaa” the pair of “a”
    and “a” gives “aa” and “a”.
    """
    # What has been merged is not looked at again.
    merged: list[str] = []
    index = 0
    while index < len(word):
        # The pair, two tokens long.
        if word[index : index + 2] == pair:
            merged.append(pair[0] + pair[1])
            index += 2

        # Anything else stays as it is.
        else:
            merged.append(word[index])
            index += 1
    return tuple(merged)


def learn_merges(text: str, n_merges: int) -> list[tuple[str, str]]:
    r"""
    ## Learn the merges

    The whole algorithm, written to be read. It goes through all words for each merge.
    """
    # The vocabulary at the start: all bytes, and a number for each.
    letters = letters_of_bytes()
    number = {letter: index for index, letter in enumerate(sorted(letters))}

    # Equal words are counted once, so that a merge has to look at each of them only once.
    words: Counter[tuple[str, ...]] = Counter()
    for piece in re.findall(PIECES, text):
        words[tuple(letters[byte] for byte in piece.encode())] += 1

    # One merge after the other, because each makes new pairs.
    merges: list[tuple[str, str]] = []
    while len(merges) < n_merges:
        # A word that comes up ten times has each of its pairs ten times.
        pairs: Counter[tuple[str, str]] = Counter()
        for word, count in words.items():
            for pair in zip(word, word[1:], strict=False):
                pairs[pair] += count

        # A pair that comes up once would be a token for one place in the text.
        if not pairs or max(pairs.values()) < 2:
            break

        # Of equally frequent pairs, the one with the older tokens, so that the result is certain.
        best = min(pairs, key=lambda pair: (-pairs[pair], number[pair[0]], number[pair[1]]))

        # The pair is a token now, the youngest one, and the words are written with it.
        merges.append(best)
        number.setdefault(best[0] + best[1], len(number))
        words = Counter({merge(word, best): count for word, count in words.items()})
    return merges


class BytePairTokenizer:
    r"""
    ## A fast tokenizer

    The package [tokenizers](https://github.com/huggingface/tokenizers) finds the same merges, and
    a test compares them. It takes the place of a tokenizer of characters.
    """

    def __init__(self, document: str) -> None:
        r"""
        * `document` is a tokenizer in the format of the package, JSON
        """
        # Kept, so that a run can be continued with the same tokens.
        self.document = document
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

        # The same borders and letters as above.
        tokenizers = package()
        by_byte = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
        by_piece = tokenizers.pre_tokenizers.Split(tokenizers.Regex(PIECES), "isolated")

        # First the pieces, then the bytes of each as letters; decoding undoes the second.
        whole = tokenizers.Tokenizer(tokenizers.models.BPE())
        whole.pre_tokenizer = tokenizers.pre_tokenizers.Sequence([by_piece, by_byte])
        whole.decoder = tokenizers.decoders.ByteLevel()

        # Every byte is in the vocabulary, also one that the text doesn't have. As above, a pair has
        # to come up twice.
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

    ### Exercises

    ??? question "How many tokens are in the vocabulary after 300 merges?"
        556: the 256 bytes, and one for each merge.

    ??? question "A loss of 3.0 nats a token, 2.11 characters in a token: the loss per character?"
        3.0 / 2.11 = 1.42 nats.

    ??? question "“low low low lower”: “lo” and “ow” are as frequent. Which is merged first?"
        “lo”. Among equals `learn_merges` takes the pair whose first token is older, and bytes are
        numbered in the order of their letters.

    ??? question "Apply the merges in another order. Do you still get the same tokens?"
        Not always. A pair can only be merged once both of its parts are tokens, and an early merge
        takes a letter away from a later one.
    """
    # Without it, one sentence says what to do.
    try:
        import tokenizers
    except ImportError:
        raise ValueError("byte pairs need the package tokenizers: pip install it") from None
    return tokenizers
