r"""
---
title: Text as Training Data
summary: Characters become numbers; random windows to train on, fixed windows to measure with.
---

A language model learns to predict what comes next, so a text needs no labels: the
target of each character is the character after it. This page turns a text, which may come
from [one of three places](corpora.py), into numbers and cuts windows out of them.

The first nine tenths of the text are for training. A window may be cut at a
**random** place, or [each in turn](batches.py), shuffled, which uses the text better. The last
tenth is kept for
measuring, and there nothing is random: the windows lie side by side over *all* of it.
Many scripts average a few random windows of the held-out text instead. That is faster,
but on a small model the error of the estimate is as large as the differences between
models that people argue about.

As everywhere on this site the first axis is the sequence: a batch is
`[seq_len, batch_size]`, and one column is one window.
"""

from dataclasses import dataclass
from typing import Any, TypeVar

import torch


class InputError(ValueError):
    r"""
    ## Something the reader can put right

    The message is one sentence that names the thing and the remedy. A program shows it
    as it is; any other exception is a mistake in the program.
    """


# What stands for a character that training never met; Unicode has one for this.
UNKNOWN = "\N{REPLACEMENT CHARACTER}"


class CharTokenizer:
    r"""
    ## Characters as numbers

    The vocabulary is every character of the text, in the order of their code points, and
    one more token at the end, which is shown as “�”: it stands for whatever
    else the held-out part may contain.
    """

    def __init__(self, text: str) -> None:
        r"""
        * `text` is the training text; a string of just its `symbols` gives the same tokenizer
        """
        self.symbols = "".join(sorted(set(text) - {UNKNOWN})) + UNKNOWN
        self._index = {symbol: index for index, symbol in enumerate(self.symbols)}

    def __len__(self) -> int:
        return len(self.symbols)

    def encode(self, text: str, unknown: bool = False) -> torch.Tensor:
        r"""
        ### From text to numbers

        The result has a number below the size of the vocabulary for each character. With `unknown`,
        characters that are not in the vocabulary become its last token. Without it they are an
        `InputError` that names them: who asks for something in vain should hear of it.
        """
        strangers = sorted(set(text) - self._index.keys())
        if strangers and not unknown:
            named = ", ".join(f"{one!r} at position {text.index(one)}" for one in strangers[:5])
            which = f"character {named} is" if len(strangers) == 1 else f"characters {named} are"
            raise InputError(
                f"the {which} not among the {len(self) - 1} characters of the training text"
            )
        last = len(self) - 1
        return torch.tensor([self._index.get(symbol, last) for symbol in text], dtype=torch.long)

    def decode(self, tokens: torch.Tensor) -> str:
        r"""
        ### And back

        `tokens` is `[length]`.
        """
        return "".join(self.symbols[token] for token in tokens.tolist())


Part = TypeVar("Part", str, torch.Tensor)


def first_part(length: int) -> int:
    r"""
    ## Where the training part ends

    After nine tenths. But a million characters are enough to measure with.
    """
    return max(length * 9 // 10, length - 1_000_000)


def split(whole: Part, seq_len: int) -> tuple[Part, Part]:
    r"""
    ## Training and validation parts

    Nine tenths and one tenth, *in order*. A shuffled split would put sentences of
    one scene on both sides, and the validation loss would reward remembering them.

    Training needs at least one whole window and its last target, validation one
    character and its target; a shorter text is an `InputError`.
    """
    n_train = first_part(len(whole))
    train, validation = whole[:n_train], whole[n_train:]
    if len(train) <= seq_len or len(validation) < 2:
        raise InputError(
            f"a text of {len(whole):,} characters is too short: its first nine tenths "
            f"({len(train):,}) must be longer than the context of {seq_len:,}, and the rest at "
            "least 2; give a longer text or a shorter context"
        )
    return train, validation


@dataclass(frozen=True)
class Prepared:
    r"""
    ## A text that is tokens already

    Of [byte pairs](byte_pairs.py), or [in a file](token_file.py).

    * `tokenizer` made them
    * `train` and `validation` are the two parts
    * `n_characters` is the number of characters of the second
    """

    tokenizer: Any
    train: torch.Tensor
    validation: torch.Tensor
    n_characters: int


def prepare(text: str | Prepared, seq_len: int) -> tuple[CharTokenizer, torch.Tensor, torch.Tensor]:
    r"""
    ## From a text to what a trainer needs

    A tokenizer, the tokens to train on, and those to measure with. The vocabulary comes from the
    training part *alone*. If it came from the whole text, the model would be told which characters
    the future holds.
    """
    if isinstance(text, Prepared):
        if len(text.train) <= seq_len or len(text.validation) < 2:
            raise InputError(
                f"{len(text.train):,} tokens to train on and {len(text.validation):,} to measure "
                f"with are too few for a context of {seq_len:,}"
            )
        return text.tokenizer, text.train, text.validation
    train, validation = split(text, seq_len)
    tokenizer = CharTokenizer(train)
    return tokenizer, tokenizer.encode(train), tokenizer.encode(validation, unknown=True)


def random_batch(
    tokens: torch.Tensor, seq_len: int, batch_size: int, generator: torch.Generator
) -> tuple[torch.Tensor, torch.Tensor]:
    r"""
    ## A random batch

    `tokens` is `[length]`; inputs and targets are `[seq_len, batch_size]` each. The
    randomness comes from `generator` alone, which lives on the CPU, so that the same
    seed means the same batches on every device.
    """
    # The last start that still leaves a target for the last position.
    starts = torch.randint(len(tokens) - seq_len, (batch_size,), generator=generator)
    return windows_at(tokens, starts, seq_len)


def windows_at(
    tokens: torch.Tensor, starts: torch.Tensor, seq_len: int
) -> tuple[torch.Tensor, torch.Tensor]:
    r"""
    ## Cut windows out

    `starts` is `[batch_size]`; inputs and targets are `[seq_len, batch_size]` each.
    """
    # A column of offsets and a row of starts make `[seq_len, batch_size]` positions.
    offsets = torch.arange(seq_len, device=tokens.device).unsqueeze(1)
    positions = offsets + starts.to(tokens.device)

    # The targets are the same window, one character later. In a file, numbers are short.
    return tokens[positions].long(), tokens[positions + 1].long()


def fixed_windows(tokens: torch.Tensor, seq_len: int) -> list[tuple[torch.Tensor, torch.Tensor]]:
    r"""
    ## All the windows

    The windows lie side by side and don't overlap. Every character except
    the first is predicted once, each from at most `seq_len` characters before it.

    The result is a list of inputs and targets: the windows of full length,
    `[seq_len, n_windows]`, and, if anything is left at the end, one shorter window,
    `[rest, 1]`. The loss over a text depends on the length of the windows, because the
    first characters of a window have little before them: compare only losses
    that were measured with the same `seq_len`.
    """
    n_windows, rest = divmod(len(tokens) - 1, seq_len)
    end = n_windows * seq_len
    windows = []

    # A row is a window; transposed, a column is: `[seq_len, n_windows]`.
    if n_windows:
        inputs = tokens[:end].view(n_windows, seq_len).t()
        targets = tokens[1 : end + 1].view(n_windows, seq_len).t()
        windows.append((inputs, targets))

    # What is left, as a batch of one: `[rest, 1]`.
    if rest:
        inputs = tokens[end:-1].unsqueeze(1)
        targets = tokens[end + 1 :].unsqueeze(1)
        windows.append((inputs, targets))
    return windows


def entropy(tokens: torch.Tensor) -> float:
    r"""
    ## What counting can do

    $$
    H = -\sum_i p_i \ln p_i
    $$

    with $p_i$ the frequency of token $i$, in nats. It is the loss of a model that knows
    the frequencies and nothing else, so a model that learned anything about order is below it.
    """
    counts = tokens.bincount()
    frequencies = counts[counts > 0] / len(tokens)
    return -(frequencies * frequencies.log()).sum().item()


def example(
    rest: int = 3, batch_size: int = 5, seq_len: int = 7, n_windows: int = 11
) -> tuple[torch.Tensor, torch.Tensor]:
    r"""
    ## Example
    """
    length = n_windows * seq_len + rest + 1
    text = "".join(chr(97 + index % 26) for index in range(length))
    tokenizer, train, validation = prepare(text, seq_len)
    tokens = torch.cat([train, validation])
    assert tokenizer.decode(tokens) == text

    entropy(tokens)
    fixed_windows(tokens, seq_len)
    return random_batch(tokens, seq_len, batch_size, torch.Generator().manual_seed(1))
