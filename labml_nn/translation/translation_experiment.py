r"""
---
title: A Small Model Translates Dates
summary: With no source, one vector for it or attention to it; and where attention looks.
know: encoder_decoder.py
---

Can 1938 and 1983 be told apart in a single vector? Train and see. **In:** [dates](dates.py) in five
forms, and 500 steps for each of three models, which differ in what the decoder gets of the source.
**Out:** the share of new dates that each translates without a mistake, and a picture of where the
decoder looks.

[The same held-out dates, translated by one model of each kind; “…” stands for the
form](../../results/translation.json#tables.written)

The models have 242,758 parameters each: two layers on each side, with 64 features
and four heads. The last one trains in N seconds of one core, and all three in
N.

**One vector** does learn to translate, but slowly, and its most frequent mistake is a year whose
digits have changed places: N of its wrong translations. So the
characters of a source are in the vector, and their order is only in part. (The encoder could write
the order into the vector. Perhaps it would, with more steps or more features. We didn't try.)

**Attention** to each character translates N. Where it
looks can be seen: for each token that it writes, the weights over the source, means over the four
heads of the last layer.

[“Thursday, 5 March 1987”: rows are written from top to
bottom](../../results/translation.json#figures.long)

The rows of the year look at the end of the source, and those of the day at its beginning. In all
three seeds, the largest weight for the *last* digit of the year is at that very digit in
N of held-out dates, and for the first in N.
For the second digit it is N: SECOND

With numbers only, the mark between them tells which is the month:

[“5.3.1987”, the day first](../../results/translation.json#figures.dots)

[“3/5/1987”, the month first](../../results/translation.json#figures.slashes)

A weight says what was looked at. That it was *used* is an interpretation; the models without a
source and with one vector show what can't be done without looking.

**What did not help here.** Nothing that we tried taught it another century. Dates from 2100 to 2199
have the same forms and the same digits, and N of them are translated right:
all years of the training begin with 19 or 20. The model has learned to
read two centuries, not to copy digits. Beam search and other changes are on [the page of the model](encoder_decoder.py#example).
"""

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from labml_nn.training.loop import adamw, train
from labml_nn.translation.dates import (
    END,
    FORMS,
    START,
    SYMBOLS,
    DatePairs,
    decode,
    encode,
    spell,
    split,
)
from labml_nn.translation.encoder_decoder import EncoderDecoder, translate, translation_loss


class NoSource(EncoderDecoder):
    r"""
    ## A decoder without the source

    What is left is a [language model](../transformers/basic/autoregressive_model.py) of dates.
    """

    def encode(self, source: Tensor) -> tuple[Tensor, Tensor]:
        # Nothing of the memory is visible, so every query takes zero from it, whatever the source
        # is. All parameters are as in the other models.
        memory, visible = super().encode(source)
        return memory, torch.zeros_like(visible)


class OneVector(EncoderDecoder):
    r"""
    ## One vector for the whole source

    As in the first neural translators, though theirs came from a recurrent network.
    """

    def encode(self, source: Tensor) -> tuple[Tensor, Tensor]:
        # The mean over the characters, one vector for each source. Padding isn't counted.
        memory, visible = super().encode(source)
        total = memory.where(visible[0].unsqueeze(-1), 0).sum(dim=0)
        mean = total / visible[0].sum(dim=0).unsqueeze(-1)

        # A memory of one position, which every query sees. Its weight is always 1, so the decoder
        # gets the same at every step.
        return mean.unsqueeze(0), visible[:, :1]


# From no memory to a vector for each character. The last one is drawn below.
WAYS: dict[str, type[EncoderDecoder]] = {
    "no source": NoSource,
    "one vector": OneVector,
    "attention": EncoderDecoder,
}


def translation_gradients(model: EncoderDecoder, source: Tensor, target: Tensor) -> Tensor:
    r"""
    ## Gradients

    In place of [those of a language model](../training/loop.py#gradients), which has no source.
    """
    # Every weight of both stacks gets its gradient from the predictions of the decoder. There is
    # nothing else that says what the encoder should make.
    loss = translation_loss(model, source, target)
    loss.backward()
    return loss.detach()


def fit(
    model: EncoderDecoder, days: Tensor, steps: int, seed: int = 1,
    after_step: Callable[[int, Tensor], bool | None] = lambda step, loss: None,
) -> None:
    r"""
    ## Training

    `after_step` is called with the number of steps done and the loss.
    """
    # A step sees 32 pairs. After 500 steps the model has seen 16,000 of the 328,720 pairs.
    pairs = DatePairs(days, 32, seed)

    # The [loop](../training/loop.py#train) of the other lessons: what it calls inputs are sources.
    train(
        model, pairs.at, [adamw(model)], steps,
        gradients=translation_gradients, after_step=after_step,
    )


def held_out_pairs(days: Tensor) -> tuple[list[str], list[str]]:
    r"""
    ## Held-out pairs

    Sources and targets of some days.
    """
    # Each day in each form, one day after the other.
    pairs = [spell(day, form) for day in days.tolist() for form in range(len(FORMS))]
    return [source for source, _ in pairs], [target for _, target in pairs]


def translations(model: EncoderDecoder, sources: Sequence[str]) -> list[str]:
    r"""
    ## From text to text
    """
    # Eleven tokens are ten characters and the end. A translation that goes on is wrong anyway.
    target = translate(model, encode(sources), START, END, 11)
    return [decode(column) for column in target.t()]


@torch.no_grad()
def measure(model: EncoderDecoder, days: Tensor) -> tuple[float, float]:
    r"""
    ## Two measures

    The loss, and the share of translations that are right.
    """
    # The loss is that of single tokens, each after the *right* ones before it.
    sources, targets = held_out_pairs(days)
    loss = translation_loss(model, encode(sources), encode(targets))

    # A translation has to be right as a whole, after what the model itself has written. If nine in
    # ten characters were right, each on its own, only a third of all dates would be.
    both = zip(translations(model, sources), targets, strict=True)
    return loss.item(), sum(found == target for found, target in both) / len(targets)


@torch.no_grad()
def looked_at(model: EncoderDecoder, source: str) -> tuple[str, Tensor]:
    r"""
    ## Where it looks

    The translation, and the weights: a row for each token that is written, a column for each of the
    source.
    """
    # First the translation,
    (found,) = translations(model, [source])

    # then once more with all of it at the same time, since attention keeps the weights of its last
    # call only. The last token isn't given: it is only predicted.
    model(encode([source]), encode([found])[:-1])

    # Of the last layer and the only sequence: a mean over the heads.
    return found, model.decoder[-1].cross_attn.attn[:, :, 0].mean(dim=-1)


def notebook(steps: int = 500, seed: int = 1) -> None:
    r"""
    ## In a notebook

    Three models of 500 steps take about a minute.
    """
    # ### The pairs
    # The first of the held-out days, in all its forms. We measure on 200 days.
    days, held_out = split()
    sources, targets = held_out_pairs(held_out[:200])
    for source, target in zip(sources[:5], targets[:5], strict=True):
        print(f"{source} -> {target}")

    # ### Training
    # The three start from the same weights and see the same batches.
    for name, way in WAYS.items():
        torch.manual_seed(seed)
        model = way(len(SYMBOLS))
        fit(model, days, steps, seed)

        # On days that it hasn't seen, and five of its translations.
        loss, right = measure(model, held_out[:200])
        print(f"{name}: validation loss {loss:.3f}, translated exactly {right:.1%}")
        for source, found in zip(sources[:5], translations(model, sources[:5]), strict=True):
            print(f"    {source} -> {found}")

    # ### Where it looks
    # A row is a character that is written, a column one of the source. Try other dates.
    import matplotlib.pyplot as plt

    source = "Thursday, 5 March 1987"
    found, weights = looked_at(model, source)
    plt.imshow(weights.tolist(), cmap="Blues")
    plt.xticks(range(len(source) + 2), list(f"<{source}>"))
    plt.yticks(range(len(found) + 1), list(f"{found}>"))
    plt.show()


def example(heads: int = 5, n_pairs: int = 3, d_ff: int = 7) -> tuple[Tensor, Tensor]:
    r"""
    ## Example

    Three steps, which teach nothing yet.

    ### Exercises

    ??? question "Nine of ten characters are right, each on its own. How many whole dates are?"
        $0.9^{10} = 0.35$, about a third. Real mistakes aren't independent of each other.

    ??? question "Which characters of 1987-03-05 can the decoder without a source write well?"
        Both hyphens and the end, which are always at the same places. Everything else it can only
        guess: half of the years begin with 19, and half with 20.

    ??? question "`looked_at(model, \"March 5, 1987\")`: which column has the 7 of the year?"
        Column 13. Column 0 is the start, and the source has 13 characters. The end is column 14.

    ??? question "Give the decoder the mean *and* attention. What do you expect?"
        At best nothing much, since the memory has all that the mean is made of. Append the mean to
        the memory, with one more position in `visible`, and measure.
    """
    # One layer on each side.
    model = EncoderDecoder(len(SYMBOLS), heads * 2 * n_pairs, heads, 1, d_ff)

    # The loss of each step.
    losses: list[Tensor] = []
    fit(model, split()[0], 3, after_step=lambda step, loss: losses.append(loss))

    # What it writes after three steps is no date, and has weights all the same.
    _, weights = looked_at(model, "5.3.1987")
    return torch.stack(losses), weights
