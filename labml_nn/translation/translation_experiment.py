r"""
---
title: Dates Translated by a Small Model
summary: An encoder and a decoder learn to read dates, and show where they look.
---

Text.
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
    """

    def encode(self, source: Tensor) -> tuple[Tensor, Tensor]:
        # Nothing of the memory is visible, so the cross-attention gives the same for every source.
        memory, visible = super().encode(source)
        return memory, torch.zeros_like(visible)


class OneVector(EncoderDecoder):
    r"""
    ## One vector for the whole source
    """

    def encode(self, source: Tensor) -> tuple[Tensor, Tensor]:
        # The mean over the letters, `[1, batch_size, d_model]`. Padding isn't counted.
        memory, visible = super().encode(source)
        total = memory.where(visible[0].unsqueeze(-1), 0).sum(dim=0)
        mean = total / visible[0].sum(dim=0).unsqueeze(-1)

        # A memory of one position, which every query sees.
        return mean.unsqueeze(0), visible[:, :1]


# From no memory to a vector for each letter.
WAYS: dict[str, type[EncoderDecoder]] = {
    "no source": NoSource,
    "one vector": OneVector,
    "attention": EncoderDecoder,
}


def gradients(model: EncoderDecoder, source: Tensor, target: Tensor) -> Tensor:
    r"""
    ## Gradients
    """
    # For the loop.
    loss = translation_loss(model, source, target)
    loss.backward()
    return loss.detach()


def fit(
    model: EncoderDecoder, days: Tensor, steps: int, seed: int = 1,
    after_step: Callable[[int, Tensor], bool | None] = lambda step, loss: None,
) -> None:
    r"""
    ## Training
    """
    # A step sees 32 pairs.
    pairs = DatePairs(days, 32, seed)

    # The loop of all lessons.
    train(model, pairs.at, [adamw(model)], steps, gradients=gradients, after_step=after_step)


def held_out_pairs(days: Tensor) -> tuple[list[str], list[str]]:
    r"""
    ## Held-out pairs
    """
    # Each day in each form.
    pairs = [spell(day, form) for day in days.tolist() for form in range(len(FORMS))]
    return [source for source, _ in pairs], [target for _, target in pairs]


def translations(model: EncoderDecoder, sources: Sequence[str]) -> list[str]:
    r"""
    ## From text to text
    """
    # Eleven tokens are a date and its end.
    target = translate(model, encode(sources), START, END, 11)
    return [decode(column) for column in target.t()]


@torch.no_grad()
def measure(model: EncoderDecoder, days: Tensor) -> tuple[float, float]:
    r"""
    ## Two measures
    """
    sources, targets = held_out_pairs(days)
    loss = translation_loss(model, encode(sources), encode(targets))

    # All ten letters have to be right.
    both = zip(translations(model, sources), targets, strict=True)
    return loss.item(), sum(found == target for found, target in both) / len(targets)


@torch.no_grad()
def looked_at(model: EncoderDecoder, source: str) -> tuple[str, Tensor]:
    r"""
    ## Where it looks
    """
    (found,) = translations(model, [source])

    # Once more, with all letters at the same time.
    model(encode([source]), encode([found])[:-1])

    # Of the last layer: the mean over the heads, `[target_len, source_len]`.
    return found, model.decoder[-1].cross_attn.attn[:, :, 0].mean(dim=-1)


def notebook(steps: int = 500, seed: int = 1) -> None:
    r"""
    ## In a notebook

    Three models of 500 steps take about a minute.
    """
    # ### The pairs
    # A day is held out in all its forms.
    days, held_out = split()
    sources, targets = held_out_pairs(held_out[:200])
    for source, target in zip(sources[:5], targets[:5], strict=True):
        print(f"{source} -> {target}")

    # ### Training
    # They start from the same weights and see the same batches.
    for name, way in WAYS.items():
        torch.manual_seed(seed)
        model = way(len(SYMBOLS))
        fit(model, days, steps, seed)

        # On days that it hasn't seen.
        loss, right = measure(model, held_out[:200])
        print(f"{name}: validation loss {loss:.3f}, translated exactly {right:.1%}")
        for source, found in zip(sources[:5], translations(model, sources[:5]), strict=True):
            print(f"    {source} -> {found}")

    # ### Where it looks
    # A row is a letter that is written, a column a letter of the source.
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
    """
    # Small.
    model = EncoderDecoder(len(SYMBOLS), heads * 2 * n_pairs, heads, 1, d_ff)
    losses: list[Tensor] = []
    fit(model, split()[0], 3, after_step=lambda step, loss: losses.append(loss))
    _, weights = looked_at(model, "5.3.1987")
    return torch.stack(losses), weights
