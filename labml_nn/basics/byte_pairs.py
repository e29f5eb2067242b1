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
  byte-pair encoding (BPE): Starts from bytes and joins the most frequent pair again and again.
---

If the tokens are [characters](../training/data.py#CharTokenizer), a context of 64 tokens is a line
or two, and the model spells each word anew. If they are words, the model can't write a word that it
never saw. Byte-pair encoding is in between: frequent words are one token, rare words are several.

**In:** a text, and the size of the vocabulary. **Out:** a list of *merges*, learned like this:

1. Begin with single bytes.
2. Count how often each pair of neighbours comes up.
3. Make one token of the most frequent pair, and go back to 2.

In “low lower lowest” each word has the pairs “l”, “o” and “o”, “w”: both come up three times. The
first merge is “l” and “o”, the second “lo” and “w”. After these two, “low” is one token in all
three words, and the letters of “lower” are three tokens, not five. To encode a text, apply the
same merges in the same order.

After 300 merges, learned from the first 100,000 characters of Tiny Shakespeare, a token of that
text has [2.11](../../results/family_drawings.json#values.characters) characters on average, so a
context of 64 tokens reaches twice as far. The first merges gain most:

[Characters in a token, by the number of merges (the first 100,000
characters)](../../results/family_drawings.json#figures.merges)
"""

import re
from collections import Counter

# Pairs are not merged across these borders: words with the space before them, numbers, punctuation,
# spaces, and ends of lines. Otherwise “the dog.” and “the dog,” would become tokens of their own.
PIECES = r" ?[^ \t\r\n0-9!-/:-@\[-`{-~]+| ?[0-9]+| ?[!-/:-@\[-`{-~]+|\n|[ \t\r]+"


def letters_of_bytes() -> list[str]:
    r"""
    ## A letter for each byte

    GPT-2 keeps its merges in a text file: a pair on each line, with a space between its two parts.
    A token that has a space or an end of line in it would break the file. So each byte is written
    as a letter: the printable characters of Latin-1 as themselves, all others as letters from “Ā”
    on. A space is “Ġ”.
    """
    # The characters of Latin-1 without spaces and the soft hyphen, which nobody would see.
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

    # Equal words are kept once, with their count, so that a merge looks at each of them only once.
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

        # Of equally frequent pairs, the one whose first token is older, then the one whose second
        # token is. So the result is always the same.
        best = min(pairs, key=lambda pair: (-pairs[pair], number[pair[0]], number[pair[1]]))

        # The pair is a token now, the youngest one, and the words are written with it.
        merges.append(best)
        number.setdefault(best[0] + best[1], len(number))
        words = Counter({merge(word, best): count for word, count in words.items()})
    return merges


def encode(text: str, merges: list[tuple[str, str]]) -> list[str]:
    r"""
    ## Encode

    A text as tokens, spelled with the [letters](#letters_of_bytes). Joined and turned back into
    bytes, they are the text again.
    """
    letters = letters_of_bytes()
    tokens: list[str] = []

    # Words one by one, because no merge goes across their borders.
    for piece in re.findall(PIECES, text):
        # Bytes at first, then each merge in the order in which it was learned: a later one may need
        # what an earlier one has made.
        word = tuple(letters[byte] for byte in piece.encode())
        for pair in merges:
            word = merge(word, pair)
        tokens += word
    return tokens


def example(n_merges: int = 3) -> tuple[list[tuple[str, str]], list[str]]:
    r"""
    ## Example

    The text from above: its first merges, and a word that isn't in it.

    ### Bytes and characters

    The paper begins with characters. Bytes came with GPT-2: every text in UTF-8 is made of bytes,
    so no character is ever unknown.

    A token is now more than a character: 2.11 on the text that the merges were learned from, and
    1.89 on the rest of the plays. Its loss is that of several characters together, and higher.
    You can compare losses of different tokenizers only *per character*.

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
        takes a letter away from a later one: with “a” and “b” before “b” and “c”, “abc” becomes
        “ab” and “c”; the other way round “a” and “bc”.
    """
    # “slow” is not in the text, but a part of it is, so it needs fewer tokens than letters.
    merges = learn_merges("low lower lowest", n_merges)
    return merges, encode("slow", merges)
