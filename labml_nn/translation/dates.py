r"""
---
title: Dates to Translate
summary: Days written in five ways, and the one way in which computers write them.
know: ../training/data.py
terms:
  held-out days: Days that a model never sees in training, in any form.
  target: The text that a model should write; the text that it reads is the source.
---

To see a [model that translates](encoder_decoder.py) at work, we need a language that two cores can
learn in half a minute. Dates are one. People write the same day in many ways, and computers in one,
the standard ISO 8601:

| source | target |
| --- | --- |
| 5 March 1987 | 1987-03-05 |
| March 5, 1987 | 1987-03-05 |
| Thursday, 5 March 1987 | 1987-03-05 |
| 5.3.1987 | 1987-03-05 |
| 3/5/1987 | 1987-03-05 |

It has what makes translation hard, on a small scale. The *order* differs: the year comes last in
the source and first in the target. Some words become something else, as “March” becomes “03”, and
some become nothing, as “Thursday”. And what a character means can depend on another one: the “5”
of “5.3.1987” is the day and the “5” of “5/3/1987” the month. The mark between the numbers decides.

**In:** a day and a form. **Out:** the source and the target, as text or as tokens.
"""

from collections.abc import Sequence
from datetime import date

import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

# The vocabulary, one for both sides. Its first three symbols are no letters: they fill up what is
# too short, and mark the start and the end of a text.

# What fills up, what starts a text, and what ends it.
PAD = 0
START = 1
END = 2
SYMBOLS = "_<>" + " ,./-0123456789" + "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

# Python could give these names, but it gives them in another language if a program has set one.
MONTHS = (
    "January February March April May June July August September October November December"
).split()
WEEKDAYS = "Monday Tuesday Wednesday Thursday Friday Saturday Sunday".split()

# With dots the day comes first, as in Germany, and with slashes the month, as in the USA.
FORMS = (
    "{day} {month} {year}",
    "{month} {day}, {year}",
    "{weekday}, {day} {month} {year}",
    "{day}.{number}.{year}",
    "{number}/{day}/{year}",
)

# Two centuries, from 1900 to 2099.
FIRST = date(1900, 1, 1)
N_DAYS = 73_049


def spell(n: int, form: int) -> tuple[str, str]:
    r"""
    ## A pair

    Source and target of day `n`, counted from the first one, in one of the forms.
    """
    # Python knows the lengths of months, leap years, and days of the week.
    day = date.fromordinal(FIRST.toordinal() + n)

    # A form takes what it needs: the month's name or its number, say.
    source = FORMS[form].format(
        day=day.day,
        number=day.month,
        year=day.year,
        month=MONTHS[day.month - 1],
        weekday=WEEKDAYS[day.weekday()],
    )

    # What the model should write: always year, month, day.
    return source, day.isoformat()


def encode(texts: Sequence[str]) -> Tensor:
    r"""
    ## From texts to tokens

    Each text becomes a column, between a start and an end. The start is what the decoder is given
    when it has written nothing yet. The end is how it says that it has finished: translations
    differ in length, though not these.

    ```
    <3/5/1987>__
    <5 May 1987>
    ```
    """
    # One number for each symbol.
    tokens = [torch.tensor([SYMBOLS.index(symbol) for symbol in f"<{text}>"]) for text in texts]

    # A tensor has no columns of different lengths, so shorter texts are filled up at their ends.
    return pad_sequence(tokens, padding_value=PAD)


def decode(tokens: Tensor) -> str:
    r"""
    ## From tokens to a text

    One column: what stands between the start and the first end.
    """
    # A text without an end is taken as a whole.
    return "".join(SYMBOLS[token] for token in tokens.tolist())[1:].partition(">")[0]


def split() -> tuple[Tensor, Tensor]:
    r"""
    ## Training and held-out days

    Numbers of days: nine tenths of them to train on, and the rest to be held out.
    """
    # The same days are held out in every run, whatever its seed, so that runs can be compared.
    generator = torch.Generator().manual_seed(1)

    # Shuffled. The last tenth of two centuries are years that begin with 208 and 209, and a model
    # that never saw them [translates fewer](dates.py#example).
    days = torch.randperm(N_DAYS, generator=generator)
    n_train = N_DAYS * 9 // 10
    return days[:n_train], days[n_train:]


class DatePairs:
    r"""
    ## Training batches
    """

    def __init__(self, days: Tensor, batch_size: int, seed: int) -> None:
        r"""
        * `days` are the numbers of the days to draw from
        * `batch_size` is the number of pairs in a batch
        * `seed` decides which pairs are drawn
        """
        self.days = days
        self.batch_size = batch_size
        self.seed = seed

    def at(self, step: int) -> tuple[Tensor, Tensor]:
        r"""
        ### The batch of a step

        Sources and targets, a column for each pair. Each of the two is as long as its longest text.
        """
        # As with [windows of a text](../training/data.py#RandomWindows.at), the batch depends on
        # the seed and the step alone.
        generator = torch.Generator().manual_seed(self.seed * 1_000_003 + step)

        # A day and a form for each pair, `[batch_size]`. All forms are equally likely.
        chosen = torch.randint(len(self.days), (self.batch_size,), generator=generator)
        forms = torch.randint(len(FORMS), (self.batch_size,), generator=generator)

        # Written when they are needed: all 328,720 training pairs needn't be kept.
        both = zip(self.days[chosen].tolist(), forms.tolist(), strict=True)
        pairs = [spell(day, form) for day, form in both]
        return encode([source for source, _ in pairs]), encode([target for _, target in pairs])


def example(batch_size: int = 3) -> tuple[Tensor, ...]:
    r"""
    ## Example

    The first batch. The sources are as long as the longest of them, and the targets have ten
    characters, a start and an end.

    ### Are short dates easier?

    Not for a model that gets one vector for the whole source. It translates [23.3
    %](../../results/translation.json#tables.forms.17%2E6%2E2024.one) of the dates like 17.6.2024
    exactly, and [30.8
    %](../../results/translation.json#tables.forms.Monday%2C%2017%20June%202024.one) of those in the
    longest form. With attention they are: seven of its eight mistakes are in the longest form.

    [Exact translations of held-out dates in each form: means of three
    seeds](../../results/translation.json#tables.forms)

    A date has one right translation, so a translation is either right or wrong. A sentence has many
    good ones; measures for those, such as BLEU, are left out.

    ### A careless split

    If *pairs* were held out at random, nearly every held-out day would be among the training pairs
    in one of its four other forms, with the very same target. A model could know targets by heart
    and look as if it could read. So *days* are held out, in all forms.

    We tried it. In 500 steps it makes hardly any difference: the 16,000 pairs that are drawn have
    only [15.8 %](../../results/splits.json#values.read) of those days. The model with one vector
    translates [26.5
    %](../../results/splits.json#tables.splits.pairs%2C%20one%20vector%3A%20days%20that%20were%20read%20in%20another%20form.right)
    of the days that it has read in another form, and [24.7
    %](../../results/splits.json#tables.splits.pairs%2C%20one%20vector%3A%20other%20days.right)
    of the others. These are means of three seeds, which differ more among themselves. In a longer
    run we expect more of it. Holding out the *last* tenth of the days matters at once: the model
    with attention translates [84.2
    %](../../results/splits.json#tables.splits.the%20last%20tenth%2C%20attention.right)
    (one seed), and not [99.7
    %](../../results/translation.json#tables.models.Encoder%20and%20decoder.right).

    ### Exercises

    ??? question "How many days would also be a date if day and month were exchanged?"
        Those whose day is at most 12: 144 of the 365 days of a year. On the others the form with
        slashes can be told from that with dots by the numbers alone.

    ??? question "All targets have ten characters. What would change if the end were left out here?"
        Nothing in the result, if writing stops after ten characters. If lengths differ,
        as those of sentences do, nothing would say when to stop.

    ??? question "Fill up at the beginning: `__<3/5/1987>`. What else has to change?"
        `decode`, which takes the first symbol for the start and drops it. And the positions in the
        [model](encoder_decoder.py), which count from the first token: the same date would get other
        positions beside a longer one, and other logits. If targets differed in length, the model
        would have to hide their padding, too: the causal mask hides only what comes later.
    """
    # Most days are to train on.
    days, held_out = split()

    # Two tensors of different lengths, with as many columns.
    source, target = DatePairs(days, batch_size, seed=1).at(0)
    return held_out, source, target
