r"""
---
title: Sampling Strategies
summary: Top-k, nucleus (top-p) and min-p sampling, each a few lines.
paper:
  title: The Curious Case of Neural Text Degeneration
  authors: Holtzman et al.
  year: 2020
  link: https://arxiv.org/abs/1904.09751
terms:
  top-k: Draw from the k likeliest tokens only.
  top-p: Draw from the fewest tokens whose probabilities sum to at least p; nucleus sampling.
  min-p: Draw from the tokens whose probability is at least a share of the greatest one.
---

[Drawing](sampling.py) from all of a model's distribution has a weakness. Let a “z” make no sense,
and have a probability of 0.03 at each letter. Of a hundred texts of 100 letters, five have none
($0.97^{100} \approx 0.05$). In the others a “z” is drawn, and the model has to go on from there. A
high temperature makes it worse: at 2, the 0.03 of the table below becomes 0.085. Greedy decoding
has another weakness: it repeats itself.

The filters of this page are in between. Each takes logits, `[batch_size, n_vocab]`, and removes
unlikely tokens: a removed token gets minus infinity, so that its probability is exactly zero, and
the softmax gives the others a sum of one again. So one filter can follow another. Here are the
probabilities of a model with five tokens, and what each filter keeps:

| kept by | e | a | o | i | z |
| --- | --- | --- | --- | --- | --- |
| the model | 0.50 | 0.25 | 0.15 | 0.07 | 0.03 |
| top-k, $k = 2$ | 0.50 | 0.25 | | | |
| top-p, $p = 0.8$ | 0.50 | 0.25 | 0.15 | | |
| min-p, $p_{min} = 0.1$ | 0.50 | 0.25 | 0.15 | 0.07 | |

[The same, drawn](../../results/family_drawings.json#figures.filters)

The page leaves out beam search, which looks for one likely text and draws nothing. It also leaves
out penalties for tokens that have come before: after 100 characters, most letters have.
"""

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from labml_nn.training.sampling import draw, greedy


def keep_top_k(logits: Tensor, top_k: int) -> Tensor:
    r"""
    ## Top-k sampling

    Keep the $k$ likeliest tokens
    ([Fan et al. 2018](https://arxiv.org/abs/1805.04833)).
    """
    # Start with nothing, and put the likeliest back in their places. If logits are equal, only as
    # many are kept as are needed for $k$ tokens.
    likeliest, tokens = logits.topk(min(top_k, logits.shape[-1]))
    return torch.full_like(logits, -math.inf).scatter(-1, tokens, likeliest)


def keep_top_p(logits: Tensor, top_p: float) -> Tensor:
    r"""
    ## Nucleus (top-p) sampling

    After a “q” one letter is likely, after a space twenty are, so no $k$ is right everywhere:
    with 5, four unlikely letters may come after the “q”, and fifteen likely ones can't after the
    space. The *nucleus* $V$ is the smallest set of the likeliest tokens with

    $$
    \sum_{i \in V} p_i \ge p
    $$

    (equation 2 of the paper).
    """
    # From the likeliest down, with the sum of all that are likelier than each. For the table's
    # 0.50, 0.25, 0.15, 0.07 and 0.03 these are 0, 0.50, 0.75, 0.90 and 0.97.
    probabilities, tokens = logits.softmax(dim=-1).sort(dim=-1, descending=True, stable=True)
    likelier = probabilities.cumsum(dim=-1) - probabilities

    # If the likelier ones reach $p$ without a token, that token isn't needed: with $p = 0.8$, the
    # last two aren't. The likeliest always stays, whatever $p$ is.
    needless = likelier >= top_p
    needless[..., 0] = False

    # Back from the order of probability to the order of the vocabulary.
    return logits.masked_fill(needless.scatter(-1, tokens, needless), -math.inf)


def keep_min_p(logits: Tensor, min_p: float) -> Tensor:
    r"""
    ## Min-p sampling

    Keep a token if its probability is at least a share of the greatest one
    ([Nguyen et al. 2024](https://arxiv.org/abs/2407.01082)):

    $$
    p_i \ge p_{min} \cdot \max_j p_j
    $$

    Where the model is sure, few tokens are left, and where it isn't, many.
    """
    # The logarithm of the formula needs no softmax: its denominator is on both sides.
    least = logits.amax(dim=-1, keepdim=True) + math.log(min_p)
    return logits.masked_fill(logits < least, -math.inf)


@dataclass(frozen=True)
class Sampling:
    r"""
    ## All strategies together

    Pass one to [generate](sampling.py#generate) as `choose`. With the defaults it is plain drawing.
    """

    # Below 1 the text is safer, above 1 more surprising; 0 is greedy.
    temperature: float = 1.0

    # How many of the likeliest tokens are kept; 0 keeps all of them.
    top_k: int = 0

    # The probability that the kept tokens must reach together; 1 keeps all.
    top_p: float = 1.0

    # The least probability, as a share of the greatest; 0 keeps all.
    min_p: float = 0.0

    def __post_init__(self) -> None:
        # A temperature below zero would prefer unlikely tokens, without a complaint.
        if self.temperature < 0 or self.top_k < 0:
            raise ValueError(f"temperature and top_k must be at least 0: {self}")
        if not 0 < self.top_p <= 1 or not 0 <= self.min_p <= 1:
            raise ValueError(f"top_p must be above 0, min_p at least 0, both at most 1: {self}")

    def filter_logits(self, logits: Tensor) -> Tensor:
        r"""
        ### Apply the filters

        In the order of Hugging Face's library; llama.cpp applies the temperature last. Each filter
        sees what the one before it has left: after top-k, the probabilities of top-p are those
        among the $k$.
        """
        # The temperature comes first, so that top-p and min-p see the changed probabilities.
        logits = logits / self.temperature
        if self.top_k:
            logits = keep_top_k(logits, self.top_k)

        # The defaults keep everything. Then both are skipped: $\ln 0$ would be an error, and at 1
        # rounding could remove tokens that are very unlikely.
        if self.top_p < 1:
            logits = keep_top_p(logits, self.top_p)
        if self.min_p > 0:
            logits = keep_min_p(logits, self.min_p)
        return logits

    def __call__(self, logits: Tensor, generator: torch.Generator | None = None) -> Tensor:
        # Nothing can be divided by zero, but with a falling temperature the likeliest token
        # gets all of the probability.
        if self.temperature == 0:
            return greedy(logits)
        return draw(self.filter_logits(logits), generator)


def example(batch_size: int = 3, n_vocab: int = 7) -> Tensor:
    r"""
    ## Example

    ### Exercises

    ??? question "Which `top_k`, `top_p` and `min_p` are greedy decoding?"
        1, anything above 0 that is at most the greatest probability, and 1. (If two tokens are
        likeliest, a min-p of 1 keeps both.)

    ??? question "Which of the three filters doesn't change a uniform distribution?"
        Min-p: every probability equals the greatest. Of 66 tokens, top-k with $k = 5$ keeps 5, and
        top-p with $p = 0.5$ keeps 33 (or 34, if rounding leaves the sum of 33 below 0.5).

    ??? question "Apply the temperature after the filters. Which results change?"
        Top-p and min-p may keep other tokens, because they look at probabilities. Top-k looks at
        the order only, and the temperature doesn't change that.
    """
    # Random logits: greedy first, then with all strategies at once.
    logits = torch.randn(batch_size, n_vocab)
    greedy_tokens = Sampling(temperature=0.0)(logits)
    tokens = Sampling(temperature=0.8, top_k=5, top_p=0.9, min_p=0.1)(logits)
    return torch.stack([greedy_tokens, tokens])
