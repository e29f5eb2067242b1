from collections.abc import Sequence
from datetime import date

import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

PAD, START, END = 0, 1, 2
SYMBOLS = "_<>" + " ,./-0123456789" + "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
MONTHS = (
    "January February March April May June July August September October November December"
).split()
WEEKDAYS = "Monday Tuesday Wednesday Thursday Friday Saturday Sunday".split()
FORMS = (
    "{day} {month} {year}",
    "{month} {day}, {year}",
    "{weekday}, {day} {month} {year}",
    "{day}.{number}.{year}",
    "{number}/{day}/{year}",
)
FIRST, N_DAYS = date(1900, 1, 1), 73_049


def spell(n: int, form: int) -> tuple[str, str]:
    day = date.fromordinal(FIRST.toordinal() + n)
    source = FORMS[form].format(
        day=day.day, number=day.month, year=day.year,
        month=MONTHS[day.month - 1], weekday=WEEKDAYS[day.weekday()],
    )
    return source, day.isoformat()


def encode(texts: Sequence[str]) -> Tensor:
    tokens = [torch.tensor([SYMBOLS.index(symbol) for symbol in f"<{text}>"]) for text in texts]
    return pad_sequence(tokens, padding_value=PAD)


def decode(tokens: Tensor) -> str:
    return "".join(SYMBOLS[token] for token in tokens.tolist())[1:].partition(">")[0]


def split() -> tuple[Tensor, Tensor]:
    r"""
    ## Training and held-out days
    """
    # Always the same.
    generator = torch.Generator().manual_seed(1)
    days = torch.randperm(N_DAYS, generator=generator)
    n_train = N_DAYS * 9 // 10
    return days[:n_train], days[n_train:]


class DatePairs:
    r"""
    ## Batches
    """

    def __init__(self, days: Tensor, batch_size: int, seed: int) -> None:
        r"""
        * `days` are numbers of days
        * `batch_size` is the number of pairs in a batch
        * `seed` decides which are drawn
        """
        self.days, self.batch_size, self.seed = days, batch_size, seed

    def at(self, step: int) -> tuple[Tensor, Tensor]:
        r"""
        ### The batch of a step
        """
        # As on the page about data.
        generator = torch.Generator().manual_seed(self.seed * 1_000_003 + step)
        chosen = torch.randint(len(self.days), (self.batch_size,), generator=generator)
        forms = torch.randint(len(FORMS), (self.batch_size,), generator=generator)

        # Written.
        both = zip(self.days[chosen].tolist(), forms.tolist(), strict=True)
        pairs = [spell(day, form) for day, form in both]
        return encode([source for source, _ in pairs]), encode([target for _, target in pairs])


def example(batch_size: int = 3) -> tuple[Tensor, ...]:
    r"""
    ## Example
    """
    days, held_out = split()
    source, target = DatePairs(days, batch_size, seed=1).at(0)
    return held_out, source, target
