r"""
---
title: An Honest Loss
summary: A loss that is too good to be true is a leak; one that comes from prefixes alone finds it.
---

While a model is trained and measured it gets a whole window at once, and predicts the character
after each position. That is called *teacher forcing*, and it saves a lot of work. It is also a
trap: the answers stand in the input, one position further on, and only the mask of the
attention keeps the model from looking them up.

Where anything lets a bit of the future through, training finds it. The loss falls, below that of
every honest model, and nothing looks wrong until the model writes, and what it writes is
gibberish, because then there is no future to look at. On Tiny Shakespeare one forgotten
“transpose” gives a loss of 1.21, and honest models of that size about 2.12 after as many steps.
Here are more ways to get there:

* The axis of the softmax is that of the queries, so that each output depends on later ones.
* The mask is applied after the softmax, whose sum then depends on what is hidden.
* Hidden scores are set to zero, and not to minus infinity.
* The mask is off by one, is upside down, or is made and never used.
* A “view” where a transpose should be mixes positions, or mixes the sequences of a batch.
* The targets are the inputs, not moved by one.

So the last word about a model is a loss that is computed as the model is used: for each prediction
it gets *the characters before, and nothing else*. For a right model that loss is the teacher-forced
one, at the very same predictions, to the precision of the numbers. The other way round a
difference is a mistake, whatever it is, also one that makes the model look worse than it is.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass

import torch
import torch.nn.functional as F
from torch import nn

from labml_nn.training.data import fixed_windows
from labml_nn.training.sampling import evaluating

# Nats. The rounding of `float32` is a hundred times smaller, and leaks are a hundred times larger.
TOLERANCE = 1e-3


@dataclass(frozen=True)
class HonestLoss:
    r"""
    ## Two losses of the same predictions

    * `honest` is from prefixes alone
    * `forced` is teacher-forced
    * `difference` is the largest one at any prediction, and `length` the prefix it belongs to
    """

    honest: float
    forced: float
    difference: float
    length: int

    @property
    def leaks(self) -> bool:
        r"""
        ### Do they disagree?

        A loss that is no number disagrees with everything.
        """
        return not self.difference <= TOLERANCE

    def __str__(self) -> str:
        said = f"honest loss {self.honest:.4f}, teacher-forced {self.forced:.4f}"
        if not self.leaks:
            return f"{said}, at the same predictions"
        return (
            f"{said} at the same predictions: they differ by {self.difference:.3g} after a prefix "
            f"of {self.length}, so the model sees something else than what comes before, and its "
            "losses mean nothing"
        )


@contextmanager
def exact_products() -> Iterator[None]:
    r"""
    ## No shortcuts

    Within the block `float32` products are computed with all their digits.
    """
    kept = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("highest")
    try:
        yield
    finally:
        torch.set_float32_matmul_precision(kept)


def spread(n: int, most: int) -> list[int]:
    r"""
    ## Some of many, evenly

    At most `most` of the numbers below `n`, the first and the last among them.
    """
    return sorted({round(i * (n - 1) / max(most - 1, 1)) for i in range(most)})


def honest_loss(
    model: nn.Module, tokens: torch.Tensor, seq_len: int, n_places: int = 16, n_lengths: int = 32
) -> HonestLoss:
    r"""
    ## Measure both

    * `model` takes tokens, sequence first, and gives logits for the token after each
    * `tokens` is the validation text, `seq_len` the context
    * `n_places` windows, spread over the text, are looked at, with `n_lengths` prefixes of each

    There is no chance in it.
    """
    # The same windows as in every evaluation, one to a column.
    inputs, targets = fixed_windows(tokens, seq_len)[0]
    length, n_windows = inputs.shape
    places, lengths = spread(n_windows, n_places), [i + 1 for i in spread(length, n_lengths)]

    device = next((one.device for one in model.parameters()), tokens.device)
    with evaluating(model), exact_products():
        # All these windows at once, and all positions of each.
        chosen, answers = (part[:, places].to(device, torch.long) for part in (inputs, targets))
        logits = model(chosen).float()
        forced = F.cross_entropy(logits.flatten(0, 1), answers.flatten(), reduction="none").view(
            length, len(places)
        )

        # One prefix at a time and alone, cut out of the text itself. So it shows too when a
        # model mixes up the sequences of a batch, and when targets are not the next tokens.
        found = []
        for column, place in enumerate(places):
            for n in lengths:
                window = tokens[place * length :][: n + 1].to(device, torch.long)
                scores = model(window[:-1].unsqueeze(1))[-1].float()
                honest = F.cross_entropy(scores, window[-1:])
                found.append((honest.item(), forced[n - 1, column].item(), n))

    # What is no number is greater than nothing, so it would hide in a maximum.
    differences = [(abs(one - other), n) for one, other, n in found]
    difference, worst = max(differences, key=lambda pair: (pair[0] != pair[0], pair[0]))
    return HonestLoss(
        honest=sum(one for one, _, _ in found) / len(found),
        forced=sum(other for _, other, _ in found) / len(found),
        difference=difference,
        length=worst,
    )


class LooksAhead(nn.Module):
    r"""
    ## A model that cheats

    It gives the next token a high score, wherever it is told that token.
    """

    def __init__(self, n_vocab: int) -> None:
        r"""
        * `n_vocab` is the number of different tokens
        """
        super().__init__()
        self.n_vocab = n_vocab

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        r"""
        ### Predict by looking

        From tokens, `[seq_len, batch_size]`, to logits, `[seq_len, batch_size, n_vocab]`.
        """
        ahead = tokens.roll(-1, dims=0)
        return 5.0 * F.one_hot(ahead, self.n_vocab).float()


def example(batch_size: int = 3, n_vocab: int = 5, seq_len: int = 7) -> dict[str, float]:
    r"""
    ## Example

    The model that cheats is found out, and a table that knows nothing is honest.
    """
    tokens = torch.randint(n_vocab, (11 * seq_len,), generator=torch.Generator().manual_seed(1))
    assert not honest_loss(nn.Embedding(n_vocab, n_vocab), tokens, seq_len).leaks
    cheat = LooksAhead(n_vocab)
    result = honest_loss(cheat, tokens, seq_len)
    assert result.leaks
    cheat(tokens[: seq_len * batch_size].view(batch_size, seq_len).t())
    return asdict(result)
