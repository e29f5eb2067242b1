r"""
---
title: Scaling Rotary Positions
summary: Longer texts than a model was trained with, by slower turning, NTK, YaRN.
paper:
  title: "YaRN: Efficient Context Window Extension of Large Language Models"
  authors: Peng et al.
  year: 2023
  link: https://arxiv.org/abs/2309.00071
---

A model with [rotary positions](../rotary.py) has learned what angles mean. Pairs that turn fast
have been all the way around in training and have shown every angle. Pairs that turn slowly have
not: in a text of twice the length they come to angles that no one ever saw, and the loss goes up
steeply. So the *slow* pairs have to be slowed down, by a factor $s$ if the text is $s$ times as
long, and the fast ones need not be:

* **Interpolation** slows down all of them
  ([Chen et al. 2023](https://arxiv.org/abs/2306.15595)). No angle is new, but neighbours, which the
  fast pairs tell apart, come closer together than they ever were.
* **NTK-aware** scaling raises the base, so that the first pair is left as it is, the last one is
  slowed down by $s$, and each one between them by a little more than the one before.
* **YaRN** says which are which: pairs that go around often within the length of training stay,
  those that don't even get around once are interpolated, and between them there is a ramp. And
  because there are more keys to share the weight, it makes scores sharper.

All of them change the speeds and nothing else, so they can be put into a trained model. The papers
train it on for a little while; [the measurement](extrapolation.py) does without.

The page departs from the paper where the paper's authors do so in their code, which others follow:
the ramp is a straight line in the number of the pair, not in how often it gets around, and begins
and ends at a whole one. It leaves out training on, and the *dynamic* choice of $s$ by the length
of each text: keys in a [cache](../kv_cache.py) were turned at another speed then.
"""

import math

import torch
from torch import Tensor

from labml_nn.transformers.rotary import RotaryPositions, pair_speeds


def interpolated_speeds(d_k: int, stretch: float, base: float = 10_000.0) -> Tensor:
    r"""
    ## Interpolation

    All pairs are slower by the factor `stretch`, `[n_pairs]`: what was position 1 is position $s$.
    """
    check_stretch(stretch)
    return pair_speeds(d_k, base) / stretch


def ntk_speeds(d_k: int, stretch: float, base: float = 10_000.0) -> Tensor:
    r"""
    ## NTK-aware scaling

    The base is multiplied by $s^{d_k / (d_k - 2)}$. The last pair's speed has the power
    $-(d_k - 2)/d_k$ of it, which makes that $1/s$, and the first one's the power zero. A single
    pair would have to be both, and is a `ValueError`.

    The name is from the “neural tangent kernel”, whose theory says that a network learns high
    frequencies only where its inputs have some: they should not be taken away.
    """
    check_stretch(stretch)
    if d_k < 4:
        raise ValueError(f"d_k must be at least 4, which is two pairs, got {d_k}")
    return pair_speeds(d_k, base * stretch ** (d_k / (d_k - 2)))


def pair_that_turns(times: float, d_k: int, trained_len: int, base: float) -> float:
    r"""
    ## The pair that gets around so many times

    Within the length of training, that is $L \theta_i = 2 \pi n$, solved for $i$. The number is not
    a whole one, and may be one of no pair.
    """
    return d_k * math.log(trained_len / (2 * math.pi * times)) / (2 * math.log(base))


def yarn_speeds(
    d_k: int,
    stretch: float,
    trained_len: int,
    base: float = 10_000.0,
    fast: float = 32.0,
    slow: float = 1.0,
) -> Tensor:
    r"""
    ## YaRN

    * `d_k` is the number of features that are turned
    * `stretch` is how many times as long the texts will be
    * `trained_len` is the length that the model was trained with
    * `base` is that of the model's speeds
    * `fast` is how often a pair gets around to be left alone
    * `slow` is how often it does to be interpolated

    The last two are the paper's for Llama. The result is `[n_pairs]`.
    """
    check_stretch(stretch)
    first = max(math.floor(pair_that_turns(fast, d_k, trained_len, base)), 0)
    last = min(math.ceil(pair_that_turns(slow, d_k, trained_len, base)), d_k - 1)

    # From 0, which leaves a pair alone, to 1. The ramp may be a step.
    pairs = torch.arange(d_k // 2, dtype=torch.float64)
    slowed = ((pairs - first) / max(last - first, 0.001)).clamp(0, 1)
    speeds = pair_speeds(d_k, base)
    return speeds * (1 - slowed) + interpolated_speeds(d_k, stretch, base) * slowed


def yarn_scale(stretch: float) -> float:
    r"""
    ## Sharper scores

    What queries and keys are both multiplied by, so that scores grow by its square. The paper found
    it by trying: with more keys, the softmax spreads its weight thinner.
    """
    check_stretch(stretch)
    return 0.1 * math.log(stretch) + 1


def check_stretch(stretch: float) -> None:
    r"""
    ## Check the factor

    One less than 1 would turn faster than in training.
    """
    if not 1 <= stretch < math.inf:
        raise ValueError(f"stretch must be at least 1, got {stretch}")


def scaled(
    turn: RotaryPositions, kind: str, max_len: int, trained_len: int, base: float = 10_000.0
) -> RotaryPositions:
    r"""
    ## A table for longer texts

    In place of `turn`, whose speeds have that base, for texts of up to `max_len` positions. The
    kind is `interpolation`, `ntk` or `yarn`.
    """
    width, stretch = 2 * len(turn.speeds), max(1.0, max_len / trained_len)
    kinds = {
        "interpolation": lambda: interpolated_speeds(width, stretch, base),
        "ntk": lambda: ntk_speeds(width, stretch, base),
        "yarn": lambda: yarn_speeds(width, stretch, trained_len, base),
    }
    if kind not in kinds:
        raise ValueError(f"unknown kind {kind!r}: there are {', '.join(kinds)}")
    return RotaryPositions(
        turn.d_k,
        max_len,
        speeds=kinds[kind](),
        scale=yarn_scale(stretch) if kind == "yarn" else 1.0,
        interleaved=turn.interleaved,
    ).to(turn.cos.device)


def new_angles(speeds: Tensor, trained_len: int, max_len: int, d_k: int) -> Tensor:
    r"""
    ## Angles that never came up in training

    For each pair, how many of the angles of a text of `max_len` positions are beyond those of
    training, as a share, `[n_pairs]`. A pair that has been all the way around knows all angles.
    With interpolation there are none, and the slowest pair has none with any of the three.
    """
    seen = pair_speeds(d_k) * trained_len
    angles = torch.arange(max_len, dtype=torch.float64)[:, None] * speeds
    beyond = (angles > seen + 1e-9) & (seen < 2 * math.pi)
    return beyond.double().mean(dim=0)


def example(
    batch_size: int = 3, heads: int = 5, n_pairs: int = 11, seq_len: int = 7, max_len: int = 29
) -> tuple[Tensor, ...]:
    r"""
    ## Example

    All kinds, for texts about four times as long as those of training.
    """
    d_k = 2 * n_pairs
    turn = RotaryPositions(d_k, seq_len)
    x = torch.randn(max_len, batch_size, heads, d_k)
    kinds = ("interpolation", "ntk", "yarn")
    interpolated, ntk, yarn = (scaled(turn, kind, max_len, seq_len) for kind in kinds)
    shares = new_angles(ntk_speeds(d_k, max_len / seq_len), seq_len, max_len, d_k)
    return interpolated(x), ntk(x), yarn(x), shares
