r"""
---
title: An Honest Loss
summary: A loss that is too good to be true may be a leak. Predicting from prefixes alone finds it.
terms:
  teacher forcing: Predicting each token from the true tokens before it, all at once.
---

In training and evaluation, a model gets a whole window at once and predicts the character after
each position:

```
inputs   t h e _ c a
targets  h e _ c a t
```

This is called *teacher forcing*, and saves work. It is also a trap: the answer to each position but
the last stands in the input, one position further on, and the causal mask has to hide it. If
something lets it through, training usually finds it. Then the loss can fall below that of every
correct model, and nothing looks wrong until the model writes. After “the ca” there is no next
character to look at, and what it writes can be gibberish. In [our collection of
mistakes](../transformers/mistakes/__init__.py), one `view` in place of a transpose reaches a
loss of [1.199](../../results/mistakes.json#tables.mistakes.ViewForSplit.printed). Its honest loss
is [4.089](../../results/mistakes.json#tables.mistakes.ViewForSplit.honest).

**In:** a model and a validation text. **Out:** two losses of the same predictions. The *honest*
loss is computed as the model is used: for each prediction the model gets the characters before it
and nothing else. If these characters alone decide, both are equal, up to rounding. Any other
difference means that something else has a say, for example the next character, or other sequences
of the batch. The difference can also make the model look worse than it is. A score can be dishonest
in other ways, which are [in the museum](../transformers/mistakes/measuring.py).
"""

from dataclasses import asdict, dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from labml_nn.training.data import fixed_windows

# In nats. Rounding in `float32` makes less than a hundredth of it, leaks of our museum a hundred
# times more. In `bfloat16`, rounding alone can make more: measure in `float32`.
TOLERANCE = 1e-3


@dataclass(frozen=True)
class HonestLoss:
    r"""
    ## The result

    * `honest` is the loss from prefixes alone
    * `forced` is the teacher-forced loss of the same predictions
    * `difference` is the largest one at any prediction, and `length` is the length of its prefix
    """

    honest: float
    forced: float
    difference: float
    length: int

    @property
    def leaks(self) -> bool:
        # Written so that NaN, which is neither above nor below anything, counts as a leak.
        return not self.difference <= TOLERANCE

    def __str__(self) -> str:
        # Both losses, and a warning if they differ.
        said = f"honest loss {self.honest:.4f}, teacher-forced {self.forced:.4f}"
        if not self.leaks:
            return f"{said}, at the same predictions"

        # The prediction after a prefix of 5 characters is that of position 4: look there.
        return (
            f"{said} at the same predictions: they differ by {self.difference:.3g} after a prefix "
            f"of {self.length}, so the model sees something else than what comes before, and its "
            "losses mean nothing"
        )


def spread(n: int, most: int) -> list[int]:
    r"""
    ## Evenly spaced numbers

    At most `most` of the numbers below `n`. If `most` is two or more, the first and the last are
    among them.
    """
    # A set, because rounding can give the same number twice if there are few.
    return sorted({round(i * (n - 1) / max(most - 1, 1)) for i in range(most)})


@torch.no_grad()
def honest_loss(
    model: nn.Module, tokens: Tensor, seq_len: int, n_places: int = 16, n_lengths: int = 32
) -> HonestLoss:
    r"""
    ## Measure both losses

    * `model` turns tokens into logits for the token after each of them
    * `tokens` is the validation text, and `seq_len` the context of the model
    * `n_places` windows, evenly spaced, are looked at, with `n_lengths` prefixes of each
    """
    # The windows of the [evaluation](loop.py#evaluate), one to a column. A few are enough for a
    # leak that is in every window, as a wrong mask is.
    inputs, targets = fixed_windows(tokens, seq_len)[0]
    length, n_windows = inputs.shape

    # Windows from the whole text. A prefix has at least one token, and at most a whole window.
    places = spread(n_windows, n_places)
    lengths = [i + 1 for i in spread(length, n_lengths)]

    # Dropout would make a difference that is no leak.
    was_training = model.training
    model.eval()

    # A model may have no weights; then it computes where the text is.
    device = next((p.device for p in model.parameters()), tokens.device)

    # Teacher forcing: all windows at once, and all positions of each. We keep the loss of every
    # single prediction, not their mean, to compare them one by one.
    logits = model(inputs[:, places].to(device)).float()
    forced = F.cross_entropy(
        logits.transpose(1, 2), targets[:, places].to(device), reduction="none"
    )

    # Prefixes one at a time, alone, and cut out of the text itself. So it also shows when a model
    # mixes up the sequences of a batch.
    found = []
    for column, place in enumerate(places):
        for n in lengths:
            window = tokens[place * length :][: n + 1].to(device)

            # What the model says after the prefix; the last token of the window is the answer.
            last = model(window[:-1].unsqueeze(1))[-1].float()
            found.append((F.cross_entropy(last, window[-1:]).item(), forced[n - 1, column].item()))

    # The model goes on as it was.
    model.train(was_training)

    # The worst prediction. NaN is worse than any number, and a plain maximum can miss it: the
    # largest of 1, NaN and 2 is 2 in Python.
    differences = [abs(honest - teacher) for honest, teacher in found]
    # Pairs compare by their first item first, and `x != x` is true for NaN alone.
    worst = max(range(len(found)), key=lambda i: (differences[i] != differences[i], differences[i]))

    # Windows are the outer loop, so the place in the list tells the length of the prefix.
    return HonestLoss(
        honest=sum(honest for honest, _ in found) / len(found),
        forced=sum(teacher for _, teacher in found) / len(found),
        difference=differences[worst],
        length=lengths[worst % len(lengths)],
    )


class LooksAhead(nn.Module):
    r"""
    ## A model that cheats

    It looks one position ahead and gives a high logit to the token that it finds there.
    """

    def __init__(self, n_vocab: int) -> None:
        r"""
        * `n_vocab` is the number of different tokens
        """
        super().__init__()
        # For the size of the logits; there is nothing to learn.
        self.n_vocab = n_vocab

    def forward(self, tokens: Tensor) -> Tensor:
        r"""
        From `[seq_len, batch_size]` to logits, `[seq_len, batch_size, n_vocab]`.
        """
        # The last position has nothing to look at, and takes the first token.
        ahead = tokens.roll(-1, dims=0)

        # With a logit of 5 against zeros, it is nearly sure.
        return 5.0 * F.one_hot(ahead, self.n_vocab).float()


def example(batch_size: int = 3, n_vocab: int = 5, seq_len: int = 7) -> dict[str, float]:
    r"""
    ## Example

    The test finds the model that cheats. A table of pairs can't cheat, and passes.

    ### Exercises

    ??? question "Is the teacher-forced loss of `LooksAhead` high or low, and the honest one?"
        The first is 0.03 at each position but the last of a window, which has no next token to look
        at. The honest loss is near 4, far above that of guessing, $\ln 5 \approx 1.61$: the model
        is sure of a token, and wrong in four cases of five. Each of these costs 5.03.

    ??? question "A causal mask hides all but the last two positions. Does this test notice?"
        No. The model sees less than it could, but nothing of the future, so both losses agree.

    ??? question "Why not compare the two means only?"
        A leak could make some predictions better and others worse, and leave the mean as it is.
    """
    # Random tokens: nobody can know the next one.
    tokens = torch.randint(n_vocab, (11 * seq_len,), generator=torch.Generator().manual_seed(1))
    assert not honest_loss(nn.Embedding(n_vocab, n_vocab), tokens, seq_len).leaks

    # A low loss and a leak.
    cheat = LooksAhead(n_vocab)
    result = honest_loss(cheat, tokens, seq_len)
    assert result.leaks

    # Several sequences at once.
    cheat(tokens[: seq_len * batch_size].view(batch_size, seq_len).t())
    return asdict(result)
