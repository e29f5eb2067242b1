r"""
How low does the loss get with other mixtures of the same counts?

Letters of Tiny Shakespeare are counted with four, five and six letters of context. The shorter
contexts get more weight than Witten and Bell give them, or they are mixed as Kneser and Ney do.
Then the rise of the loss from four letters to five is shared out among the contexts, by how often
they came up. The result is results/mixtures.json, to which the pages refer.

The factors and the discount were chosen with the validation text in view.
"""

import math
from collections import Counter

from benchmarks.library.experiment import Experiment, Report, Runner
from benchmarks.library.tables import column, table
from labml_nn.training.counting import BackOff
from labml_nn.training.data import prepare, tiny_shakespeare

SEQ_LEN = 64
LETTERS = (4, 5, 6)
# How many times as much as Witten and Bell a shorter context gets.
FACTORS = (1, 2, 3, 5)
# What Kneser and Ney take from each count.
DISCOUNT = 0.9
# How often a context came up: never, once, two to four times, or more often.
OFTEN = {"never": 0, "once": 1, "two to four times": 4, "five times or more": math.inf}
# How much of the texts is used.
CHARACTERS: int | None = None


class MoreWeight(BackOff):
    r"""Witten and Bell's mixture, whose shorter contexts have `factor` times the weight."""

    def __init__(self, text: str, n_letters: int, symbols: str, factor: int) -> None:
        super().__init__(text, n_letters, symbols)
        for context in self.different:
            self.different[context] *= factor


class KneserNey(BackOff):
    r"""
    The mixture of Kneser and Ney, *Improved Backing-Off for M-Gram Language Modeling*, 1995, in its
    interpolated form (Chen and Goodman, 1999, equation 24).

    `discount` is taken from each count and goes to the shorter context. A piece that isn't of the
    greatest length counts once for each different letter that stood before it.
    """

    def __init__(self, text: str, n_letters: int, symbols: str, discount: float) -> None:
        super().__init__(text, n_letters, symbols)
        self.discount = discount
        count: Counter[str] = Counter()
        for piece, times in self.count.items():
            if len(piece) == n_letters + 1:
                count[piece] = times
            if len(piece) > 1:
                count[piece[1:]] += 1
        self.count = count
        self.total = Counter()
        self.different = Counter()
        for piece, times in self.count.items():
            self.total[piece[:-1]] += times
            self.different[piece[:-1]] += 1

    def probability(self, letter: str, context: str) -> float:
        p = 1 / len(self.symbols)
        for length in range(len(context) + 1):
            shorter = context[len(context) - length :]
            if not self.total[shorter]:
                break
            kept = max(self.count[shorter + letter] - self.discount, 0)
            p = (kept + self.discount * self.different[shorter] * p) / self.total[shorter]
        return p


def shares_of_the_rise(shorter: BackOff, longer: BackOff, text: str) -> dict[str, float]:
    r"""What each kind of context adds to the loss of the longer one, in nats."""
    shares = dict.fromkeys(OFTEN, 0.0)
    for place in range(1, len(text)):
        window = (place - 1) // SEQ_LEN * SEQ_LEN
        contexts = [text[max(window, place - one.n_letters) : place] for one in (shorter, longer)]
        rise = math.log(shorter.probability(text[place], contexts[0])) - math.log(
            longer.probability(text[place], contexts[1])
        )
        times = longer.total[contexts[1]]
        kind = next(name for name, most in OFTEN.items() if times <= most)
        shares[kind] += rise / (len(text) - 1)
    return shares


def title_of(factor: int) -> str:
    r"""What a column of the table is about."""
    return "Witten and Bell" if factor == 1 else f"{factor} T in place of T"


def measure(runner: Runner) -> Report:
    r"""Count once for each length, and mix the counts in each way."""
    tokenizer, train_tokens, validation_tokens = prepare(tiny_shakespeare(), SEQ_LEN)
    training = tokenizer.decode(train_tokens)[:CHARACTERS]
    validation = tokenizer.decode(validation_tokens)[:CHARACTERS]

    rows = []
    for n_letters in LETTERS:
        row: dict[str, float] = {"letters": n_letters}
        for factor in FACTORS:
            model: BackOff = MoreWeight(training, n_letters, tokenizer.symbols, factor)
            row[f"times_{factor}"] = model.loss(validation, SEQ_LEN)
        model = KneserNey(training, n_letters, tokenizer.symbols, DISCOUNT)
        rows.append({**row, "kneser_ney": model.loss(validation, SEQ_LEN)})

    four, five = (BackOff(training, one, tokenizer.symbols) for one in LETTERS[:2])
    shares = shares_of_the_rise(four, five, validation)
    mixtures = [
        column("letters", "Letters of context"),
        *(column(f"times_{one}", title_of(one), 3, "nats") for one in FACTORS),
        column("kneser_ney", "Kneser and Ney", 3, "nats"),
    ]
    rise = [column("context", "The context of five letters came up"), column("share", "Adds", 3)]
    return {
        "values": {"rise": sum(shares.values()), "discount": DISCOUNT},
        "tables": {
            "mixtures": table(mixtures, rows),
            "rise": table(rise, [{"context": k, "share": v} for k, v in shares.items()]),
        },
    }


EXPERIMENT = Experiment(
    title="Other mixtures of the same counts",
    measure=measure,
    small={"LETTERS": (2, 3), "CHARACTERS": 2000},
    threads=None,
)
