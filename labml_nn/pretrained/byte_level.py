r"""
---
title: GPT-2's Tokenizer
summary: From text to the token numbers that published weights were trained with, and back.
know: ../basics/byte_pairs.py
---

The rows of an embedding have no names. That row 262 of GPT-2's is for “ the”, with a space before
it, is written beside the weights: `vocab.json` has the number of each token. A second file,
`merges.txt`, has the merges of [byte-pair encoding](../basics/byte_pairs.py), the oldest first.

**In:** a text. **Out:** its tokens as numbers, `[n_tokens]`, and the text again from them.

Each file follows from the other: the tokens are the 256 bytes, then what each merge makes, in
order. Neither has *the pattern* that cuts a text into pieces before merging. No merge
crosses the borders of a piece. With [another pattern](byte_level.py#example) nothing fails: all
tokens are in the vocabulary. But they aren't those of the training.

GPT-2's pattern, read from left to right, takes the first of these that fits:

| what | examples |
| --- | --- |
| the end of a contraction, in small letters | `'s` `'t` `'re` `'ve` `'m` `'ll` `'d` |
| letters, with a space before them or without | “ stop” |
| digits and other numbers | “ 2019” “ ½” |
| other signs | “,” “ ...” |
| white space at the end, or all but its last sign | |
| white space | |

So the last of several spaces goes with the word. Python's `re` doesn't know these classes of
Unicode. So this page writes a stand-in for each character outside ASCII, lets `re` cut *that* text,
and cuts the real one at the same places.
"""

import json
import re
import unicodedata
from collections.abc import Mapping, Sequence
from pathlib import Path

import torch
from torch import Tensor

from labml_nn.basics.byte_pairs import letters_of_bytes, merge

# In the order of the table above. It is for stand-ins, so the letters from a to z are enough. “\s”
# is white space, and “\S” anything else.
PATTERN = r"'(?:[stmd]|re|ve|ll)| ?[A-Za-z]+| ?[0-9]+| ?[^\sA-Za-z0-9]+|\s+(?!\S)|\s+"


def stand_in(character: str) -> str:
    r"""
    ## A stand-in for a character

    One of ASCII that the pattern treats in the same way.
    """
    # Signs of ASCII stand for themselves. So a contraction is only found where there is one.
    if character.isascii():
        return character

    # White space, but not a space: only a real one goes with the word behind it.
    if character.isspace():
        return "\t"

    # Unicode's class is two letters, the first of which says what it is: “Lu” is a letter, upper
    # case; “Nd” a number, decimal. An accent that follows its letter as a character of its own is
    # neither.
    return {"L": "A", "N": "0"}.get(unicodedata.category(character)[0], "!")


def pieces(text: str) -> list[str]:
    r"""
    ## Cut a text
    """
    # As many characters as the text has, so the places are the same. One of the six kinds fits
    # everywhere, so the pieces joined are the text.
    simple = "".join(map(stand_in, text))
    return [text[slice(*found.span())] for found in re.finditer(PATTERN, simple, re.ASCII)]


class ByteLevelTokenizer:
    r"""
    ## The tokenizer
    """

    def __init__(self, numbers: Mapping[str, int], merges: Sequence[tuple[str, str]]) -> None:
        r"""
        * `numbers` has the number of each token, which is spelled with the
          [letters of its bytes](../basics/byte_pairs.py#letters_of_bytes)
        * `merges` are pairs of tokens, the oldest first
        """
        # Every byte, and what every merge makes, must be a token.
        self.letters = letters_of_bytes()
        unknown = {*self.letters, *map("".join, merges)} - numbers.keys()
        if unknown or sorted(numbers.values()) != [*range(len(numbers))]:
            raise ValueError(
                f"the vocabulary should number its {len(numbers)} tokens from 0 and have all "
                f"merges; missing are {sorted(unknown)[:3]}"
            )
        self.numbers = numbers
        self.tokens = sorted(numbers, key=numbers.__getitem__)

        # The place of each merge in the file. The lower it is, the older is the merge: the first
        # one was the most frequent pair.
        self.ages = {pair: age for age, pair in enumerate(merges)}

    def __len__(self) -> int:
        return len(self.tokens)

    def spell(self, piece: str) -> tuple[str, ...]:
        r"""
        ### The tokens of a piece

        [Applying all merges](../basics/byte_pairs.py#encode) in order would take 50,000 steps for
        each piece. Of the pairs that are there, the oldest merge is the next one in that order.
        """
        # Single bytes at first.
        word = tuple(self.letters[byte] for byte in piece.encode())
        while len(word) > 1:
            # A pair that was never merged is younger than all others. If the oldest of the piece is
            # such a pair, none is left to merge.
            pair = min(
                zip(word, word[1:], strict=False), key=lambda pair: self.ages.get(pair, torch.inf)
            )
            if pair not in self.ages:
                break

            # Everywhere in the piece, from left to right.
            word = merge(word, pair)
        return word

    def encode(self, text: str) -> Tensor:
        r"""
        ### Encode
        """
        # Every byte has a number, so there are tokens for any text in UTF-8.
        found = [self.numbers[token] for piece in pieces(text) for token in self.spell(piece)]
        return torch.tensor(found, dtype=torch.long)

    def decode(self, tokens: Tensor) -> str:
        r"""
        ### Decode
        """
        # A character of several bytes may be spread over several tokens, so bytes come first.
        letters = "".join(self.tokens[number] for number in tokens.tolist())
        content = bytes(self.letters.index(letter) for letter in letters)

        # A model can write bytes that are no text, or stop within a character. A sign stands for
        # those.
        return content.decode(errors="replace")


def read_tokenizer(folder: Path) -> ByteLevelTokenizer:
    r"""
    ## Read the two files
    """
    numbers = json.loads((folder / "vocab.json").read_text(encoding="utf-8"))

    # After a line with the version, a merge is a line with a space in the middle. Tokens have none:
    # a space is spelled “Ġ”.
    lines = (folder / "merges.txt").read_text(encoding="utf-8").split("\n")
    pairs = (tuple(line.split(" ")) for line in lines if not line.startswith("#version"))
    return ByteLevelTokenizer(numbers, [pair for pair in pairs if len(pair) == 2])


def example(n_tokens: int = 7) -> Tensor:
    r"""
    ## Example

    ### What the wrong pieces look like

    [“Don't stop: ½ of 2024's”, with two spaces before “stop”, in
    pieces](../../results/pretrained.json#tables.pieces)

    ### What did not help here

    There is [a list](../../docs/what_did_not_help.md) of more such things.

    Python's own classes. In `re`, “\w” takes letters and “½” alike, “\d” takes no “½”, and nothing
    takes all numbers and no letters. And the table of characters of Python 3.11 is older than that
    of the library “tokenizers”: letters and digits that have come to Unicode since are other signs
    here. All other characters are cut alike.

    Left out: the token `<|endoftext|>`, which stands between two texts in training. If a text
    contains it, it is cut like the rest.

    ### Exercises

    ??? question "Into which pieces is “I'll go home” cut, with two spaces before “home”?"
        “I”, “'ll”, “ go”, “ ” and “ home”. The last of the two spaces goes with “home”.

    ??? question "Why is “The” another token than “ the”?"
        Bytes decide. A capital letter is another byte, and so is the space. The model has to learn
        that they mean the same.

    ??? question "A model writes the first of the two bytes of “é” and stops. What do you see?"
        “\N{REPLACEMENT CHARACTER}”. Bytes that are no text are replaced when they are decoded.

    ??? question "Write `self.ages.get(pair, -1)`. What goes wrong?"
        Pairs that were never merged would be the oldest. As soon as a piece has one of them, its
        merging ends. With GPT-2's files, plays of Shakespeare have 57 % more tokens then, and about
        half of all are single bytes.
    """
    # The bytes have the numbers up to 255, each merge the next one.
    letters = sorted(letters_of_bytes())
    merges = [("l", "o"), ("lo", "w"), ("Ġ", "low")]
    tokens = [*letters, *map("".join, merges)]

    # “low” and “ low” are two tokens, and “er” has no merge.
    tokenizer = ByteLevelTokenizer({token: n for n, token in enumerate(tokens)}, merges)
    return tokenizer.encode("low lower" + "!" * (n_tokens - 4))
