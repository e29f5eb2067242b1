r"""
---
title: A Small Model Translates Dates
summary: With no source, one vector for it or attention to it; and where attention looks.
know: encoder_decoder.py
---

Can a single vector tell 1938 from 1983? Both have the same four digits. The decoder has to get them
in their order out of 64 numbers, or out of a vector for each character. Train and see.

**In:** [dates](dates.py), and 500 steps for each of three models, which differ in what the decoder
gets of the source. **Out:** the share of new dates that each translates without a mistake, and a
picture of where the decoder looks.

Of new dates, a model with *one vector* for the source translates [25.4
%](../../results/translation.json#tables.models.One%20vector.right), and one with *attention* [99.7
%](../../results/translation.json#tables.models.Encoder%20and%20decoder.right). Each row shows where
the decoder looks for one token, as the mean over the four heads of the last layer:

[“Thursday, 5 March 1987”; “·” is a space](../../results/translation.json#figures.long)

Each digit of 1987 has its largest weight at a digit of the year, the 3 at “March”, the 5 at “5”.
That what was looked at was also *used* is an interpretation.
"""

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from labml_nn.training.loop import adamw, train
from labml_nn.training.run import Run
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
    """

    def encode(self, source: Tensor) -> tuple[Tensor, Tensor]:
        # Nothing of the memory is visible, so every query takes zero, whatever the source is. What
        # is left is a [language model](../transformers/basic/autoregressive_model.py) of dates.
        memory, visible = super().encode(source)
        return memory, torch.zeros_like(visible)


class OneVector(EncoderDecoder):
    r"""
    ## One vector for the whole source
    """

    def encode(self, source: Tensor) -> tuple[Tensor, Tensor]:
        # A vector for each character, as always.
        memory, visible = super().encode(source)

        # Their mean, one vector for each source. Padding isn't counted.
        total = memory.where(visible[0].unsqueeze(-1), 0).sum(dim=0)
        mean = total / visible[0].sum(dim=0).unsqueeze(-1)

        # A memory of one position. Its weight is always 1, so nothing is left to be chosen. (In
        # early neural translators the vector was the last state of a recurrent network.)
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
    """
    # In place of [those of a language model](../training/loop.py#gradients), which has no source.
    # The encoder, too, gets its gradients from the predictions of the decoder.
    loss = translation_loss(model, source, target)
    loss.backward()
    return loss.detach()


def fit(
    model: EncoderDecoder,
    days: Tensor,
    steps: int,
    seed: int = 1,
    after_step: Callable[[int, Tensor], bool | None] = lambda step, loss: None,
) -> None:
    r"""
    ## Training
    """
    # A step sees 32 pairs, so 500 steps see 16,000, some of them twice, of 328,720.
    pairs = DatePairs(days, 32, seed)

    # The [loop](../training/loop.py#train) of the other lessons: what it calls inputs are sources.
    # `after_step` gets the number of steps done and the loss.
    train(
        model,
        pairs.at,
        [adamw(model)],
        steps,
        gradients=translation_gradients,
        after_step=after_step,
    )


def held_out_pairs(days: Tensor) -> tuple[list[str], list[str]]:
    r"""
    ## Held-out pairs
    """
    # Sources and targets of some days, each day in all forms, so that no form is harder by its
    # days.
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
    """
    # The loss, of single tokens after the *right* ones before them.
    sources, targets = held_out_pairs(days)
    loss = translation_loss(model, encode(sources), encode(targets))

    # The share of translations that are right as a whole, each token after what the model itself
    # has written.
    both = zip(translations(model, sources), targets, strict=True)
    return loss.item(), sum(found == target for found, target in both) / len(targets)


@torch.no_grad()
def looked_at(model: EncoderDecoder, source: str) -> tuple[str, Tensor]:
    r"""
    ## Where it looks
    """
    # First the translation,
    (found,) = translations(model, [source])

    # then once more all at once, since attention keeps the weights of its last call only. The last
    # token isn't given: it is only predicted.
    model(encode([source]), encode([found])[:-1])

    # A row of weights for each token of the translation: last layer, mean over the heads.
    return found, model.decoder[-1].cross_attn.attn[:, :, 0].mean(dim=-1)


def notebook(steps: int = 500, seed: int = 1, keep_in: str = "") -> None:
    r"""
    ## Try it

    Three models of 500 steps, as many as for the shares on this page. To keep them, name a folder
    as `keep_in` before you run the cells below. It lies on your Drive if that is mounted, else on
    the machine, which Colab takes back.
    """
    # ### The pairs
    # The first of the held-out days, in all its forms. We measure on 200 days.
    days, held_out = split()
    sources, targets = held_out_pairs(held_out[:200])
    for source, target in zip(sources[:5], targets[:5], strict=True):
        print(f"{source} -> {target}")

    # ### The models
    # The three start from the same weights and see the same batches. Each model has a
    # [run](../training/run.py), which keeps its optimizer, step and losses. To start from scratch,
    # run this cell again. If you named a folder in `keep_in`, remove the runs' files there first.
    pairs = DatePairs(days, 32, seed)
    runs = {}
    for name, way in WAYS.items():
        # The seed is set for each of them.
        torch.manual_seed(seed)
        model = way(len(SYMBOLS))
        how = {"gradients": translation_gradients, "name": name, "keep_in": keep_in}
        runs[name] = Run(model, pairs.at, [adamw(model)], **how)

    # ### Train it
    # Stop it when you like; run this cell again, and it goes on.
    for name, run in runs.items():
        run.train(steps)

        # On days that it hasn't seen, and five of its translations: the five forms of one day.
        loss, right = measure(run.model.eval(), held_out[:200])
        print(f"{name}: validation loss {loss:.3f}, translated exactly {right:.1%}")
        for source, found in zip(sources[:5], translations(run.model, sources[:5]), strict=True):
            print(f"    {source} -> {found}")

    # ### See where it looks
    # A row is a character that is written, a column one of the source. Try other dates.
    import matplotlib.pyplot as plt

    source = "Thursday, 5 March 1987"
    found, weights = looked_at(runs["attention"].model, source)
    plt.imshow(weights.tolist(), cmap="Blues")
    plt.xticks(range(len(source) + 2), list(f"<{source}>"))
    plt.yticks(range(len(found) + 1), list(f"{found}>"))
    plt.show()


def example(heads: int = 5, n_pairs: int = 3, d_ff: int = 7) -> tuple[Tensor, Tensor]:
    r"""
    ## Example

    ### Measured here

    The models have 242,758 parameters each: two layers on each side, with 64 features and four
    heads. The last one trains in [14](../../results/translation.json#values.seconds) seconds of one
    core, all three in [39](../../results/translation.json#values.notebook_seconds).

    In 600 cases, 40 held-out days in all forms and three seeds, the last digit of the year has its
    largest weight at that very digit in
    [99.5 %](../../results/translation.json#values.copied.fourth), the first in
    [87.8 %](../../results/translation.json#values.copied.first), and the second in only
    [60.8 %](../../results/translation.json#values.copied.second). The second needs no source: after
    1 comes 9, and after 2 comes 0.

    ### One vector

    With one vector, the model learns, but slowly: [9.7
    %](../../results/translation.json#tables.models.One%20vector.half) after half of the steps,
    [25.4 %](../../results/translation.json#tables.models.One%20vector.right) in the end. In [62
    %](../../results/translation.json#values.swapped.one_vector) of its wrong translations the
    digits of the year have changed places, such as 2069 for 2096, and so they have in [62.5
    %](../../results/translation.json#values.swapped.whole) of the eight mistakes with attention. We
    didn't try more features.

    ### Dates with numbers only

    With numbers only, the mark between them tells which is the month:

    [“5.3.1987”, the day first](../../results/translation.json#figures.dots)

    [“3/5/1987”, the month first](../../results/translation.json#figures.slashes)

    ### What did not help here

    There is [a list](../../docs/what_did_not_help.md) of more such things.

    That it knows all ten digits is no help. Of dates from 2100 to 2199, in the same forms, [0.0
    %](../../results/translation.json#values.later) are translated right: all years of the training
    begin with 19 or 20. It finds the digits, and writes them in an order that looks like a year it
    knows. In one run 2105 became 2015, and 2178 became 1728. It hasn't learned to copy digits one
    after the other.

    ### Exercises

    ??? question "How low can the loss of the decoder without a source get?"
        All 73,049 days are equally likely: $\ln 73{,}049 = 11.2$ nats for 11 tokens, 1.018 each. It
        reaches [1.025](../../results/translation.json#tables.models.No%20source.loss).

    ??? question "Which characters of 1987-03-05 can the decoder without a source write well?"
        Both hyphens and the end, which are always at the same places, and the second digit: after 1
        comes 9, and after 2 comes 0. Everything else it can only guess.

    ??? question "`looked_at` gets “March 5, 1987”. Which column has the 7 of the year?"
        Column 13. Column 0 is the start, and the source has 13 characters. The end is column 14.
    """
    # One layer on each side, which is enough for the shapes.
    model = EncoderDecoder(len(SYMBOLS), heads * 2 * n_pairs, heads, 1, d_ff)

    # The loss of each of three steps. It begins a little above that of guessing.
    losses: list[Tensor] = []
    fit(model, split()[0], 3, after_step=lambda step, loss: losses.append(loss))

    # The weights of each head for a right translation.
    model(encode(["5.3.1987"]), encode(["1987-03-05"])[:-1])
    return torch.stack(losses), model.decoder[0].cross_attn.attn[:, :, 0]
