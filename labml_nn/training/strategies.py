r"""
---
title: Which Token Comes Next
summary: Greedy, temperature, top-k, nucleus, min-p and a repetition penalty, each a few lines.
paper:
  title: The Curious Case of Neural Text Degeneration
  authors: Holtzman et al.
  year: 2020
  link: https://arxiv.org/abs/1904.09751
---

A language model gives scores $z$ (*logits*) for what may come next, and their softmax is a
distribution over the vocabulary. Always taking the likeliest token gives text that goes round in
circles. Drawing from the whole distribution sooner or later gives a token that makes no sense:
each one of the tail is unlikely, but there are many of them.

So the distribution is changed before the draw. Each change here takes logits, `[batch_size,
n_vocab]`, and gives logits: a token that is out gets minus infinity, so its probability is
exactly zero, and the softmax gives what is left the sum one again. That is why they can follow
one another. The page leaves out beam search, which looks for one likely text and draws nothing.
"""

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from labml_nn.training.data import InputError


@dataclass(frozen=True)
class Sampling:
    r"""
    ## What to do with the distribution

    With these values nothing is changed. A value that makes no sense is an `InputError`.
    """

    # Below one it takes fewer risks, and at zero none.
    temperature: float = 1.0

    # How many of the likeliest are left.
    top_k: int | None = None

    # The probability that the likeliest must reach together.
    top_p: float = 1.0

    # The least probability, as a share of that of the likeliest.
    min_p: float = 0.0

    # Above one, what is in the text already becomes less likely.
    repetition: float = 1.0

    def __post_init__(self) -> None:
        if not 0 <= self.temperature < math.inf:
            raise InputError(
                f"the temperature must be at least 0, got {self.temperature:g}: "
                "0 takes the likeliest token, 1 leaves the model's probabilities as they are"
            )
        if self.top_k is not None and self.top_k < 1:
            raise InputError(f"top_k must be at least 1, got {self.top_k}")
        if not 0 < self.top_p <= 1:
            raise InputError(f"top_p must be above 0 and at most 1, got {self.top_p:g}")
        if not 0 <= self.min_p <= 1:
            raise InputError(f"min_p must be between 0 and 1, got {self.min_p:g}")
        if not 0 < self.repetition < math.inf:
            raise InputError(
                f"repetition must be above 0, got {self.repetition:g}: 1 is no penalty"
            )


def penalise(logits: Tensor, seen: Tensor, repetition: float) -> Tensor:
    r"""
    ## Repetition penalty

    The logits of the tokens in `seen`, true where a token is in the text already, are divided by
    the penalty $\theta$ ([Keskar et al. 2019](https://arxiv.org/abs/1909.05858), section 4.1).

    There a logit is divided whatever its sign, but a negative one would get *larger* by
    that. As is usual now, a negative one is multiplied. Both are `[batch_size, n_vocab]`.
    """
    less = torch.where(logits > 0, logits / repetition, logits * repetition)
    return torch.where(seen, less, logits)


def heat(logits: Tensor, temperature: float) -> Tensor:
    r"""
    ## Temperature

    $$
    p_i = \frac{e^{z_i / T}}{\sum_j e^{z_j / T}}
    $$

    Below one the likely becomes likelier, above one everything evens out. The name is from
    physics, where $p$ is the Boltzmann distribution of states with energies $-z$
    ([Ackley et al. 1985](https://doi.org/10.1207/s15516709cog0901_7)).
    """
    return logits / temperature


def keep_top_k(logits: Tensor, top_k: int) -> Tensor:
    r"""
    ## Top-k

    The $k$ likeliest are left
    ([Fan et al. 2018](https://arxiv.org/abs/1805.04833)). Of equal ones just as many are left as
    make $k$.
    """
    likeliest, tokens = logits.topk(min(top_k, logits.shape[-1]))
    return torch.full_like(logits, -math.inf).scatter(-1, tokens, likeliest)


def keep_nucleus(logits: Tensor, top_p: float) -> Tensor:
    r"""
    ## Nucleus

    What is likely is sometimes one token and sometimes a hundred, so no $k$ is right everywhere.
    The *nucleus* $V$ is the smallest set of the likeliest with

    $$
    \sum_{i \in V} p_i \ge p
    $$

    (equation 2 of the paper). It is never empty.
    """
    probabilities, tokens = logits.softmax(dim=-1).sort(dim=-1, descending=True, stable=True)

    # A token is out if those before it have reached $p$ without it. Before the first there is
    # nothing.
    before = probabilities.cumsum(dim=-1).roll(1, dims=-1)
    before[..., 0] = 0
    out = (before >= top_p).scatter(-1, tokens, before >= top_p)
    return logits.masked_fill(out, -math.inf)


def keep_min_p(logits: Tensor, min_p: float) -> Tensor:
    r"""
    ## Min-p

    A token stays if its probability is at least a share of the greatest one
    ([Nguyen et al. 2024](https://arxiv.org/abs/2407.01082)):

    $$
    p_i \ge p_{min} \cdot \max_j p_j
    $$

    Where the model is sure, few are left, and where it isn't, many. The logarithm of that needs
    no softmax: $z_i \ge \max_j z_j + \log p_{min}$.
    """
    least = logits.amax(dim=-1, keepdim=True) + math.log(min_p)
    return logits.masked_fill(logits < least, -math.inf)


def shape(logits: Tensor, sampling: Sampling, seen: Tensor | None = None) -> Tensor:
    r"""
    ## One after the other

    From logits to the logits that are drawn from, `[batch_size, n_vocab]`. What would change
    nothing is not computed. Each step counts with the probabilities that the one before it has
    left: top-p is a share of what top-k kept.
    """
    if sampling.repetition != 1 and seen is not None:
        logits = penalise(logits, seen, sampling.repetition)
    if sampling.temperature != 1:
        logits = heat(logits, sampling.temperature)
    if sampling.top_k is not None:
        logits = keep_top_k(logits, sampling.top_k)
    if sampling.top_p < 1:
        logits = keep_nucleus(logits, sampling.top_p)
    if sampling.min_p > 0:
        logits = keep_min_p(logits, sampling.min_p)
    return logits


def draw(
    logits: Tensor, chance: Tensor, sampling: Sampling | None = None, seen: Tensor | None = None
) -> Tensor:
    r"""
    ## Draw a token

    `logits` is `[batch_size, n_vocab]`, `chance` has a number in $[0, 1)$ for each row,
    `[batch_size]`, and so has the result a token. The probabilities lie side by side on a line of
    length one, and the token is the one that the number falls into.

    At temperature zero, the limit of low ones, the number plays no part.
    """
    sampling = sampling or Sampling()
    if sampling.temperature == 0:
        if sampling.repetition != 1 and seen is not None:
            logits = penalise(logits, seen, sampling.repetition)
        return logits.argmax(dim=-1)

    # Ends of the tokens on the line. `right` makes an empty stretch impossible to hit. The
    # line ends at what the sum was rounded to.
    ends = shape(logits, sampling, seen).softmax(dim=-1).cumsum(dim=-1)
    place = chance.unsqueeze(-1) * ends[:, -1:]
    return torch.searchsorted(ends, place, right=True).squeeze(-1)


def example(batch_size: int = 3, n_vocab: int = 7) -> tuple[Tensor, ...]:
    r"""
    ## Example

    All at once, and greedy.
    """
    logits = torch.randn(batch_size, n_vocab)
    seen = torch.rand(batch_size, n_vocab) < 0.5
    chance = torch.rand(batch_size)
    sampling = Sampling(temperature=0.8, top_k=5, top_p=0.9, min_p=0.1, repetition=1.2)
    greedy = draw(logits, chance, Sampling(temperature=0.0, repetition=1.2), seen)
    return draw(logits, chance, sampling, seen), greedy
