r"""
---
title: Scaling Rotary Positions
summary: Longer texts than those of training, by interpolation, NTK-aware scaling and YaRN.
paper:
  title: "YaRN: Efficient Context Window Extension of Large Language Models"
  authors: Peng et al.
  year: 2023
  link: https://arxiv.org/abs/2309.00071
terms:
  YaRN: Stretches slow rotary frequencies more than fast ones, to read longer texts.
---

[Rotary positions](../rotary.py) rotate each pair of features by an angle for each position. A model
is trained on texts of 64 characters. Then it reads 512. Here are three of the eight pairs of a head
with 16 features, and how often they have gone around at the last position:

| | pair 0 | pair 2 | pair 3 |
| --- | ---: | ---: | ---: |
| in training, at position 63 | 10.0 | 1.0 | 0.32 |
| at position 511 | 81.3 | 8.1 | 2.57 |
| with interpolation | 10.2 | 1.0 | 0.32 |
| with NTK-aware scaling | 81.3 | 4.5 | 1.05 |
| with YaRN | 81.3 | 3.4 | 0.32 |

Pair 0 goes around ten times in training, and its angles lie all around the circle. Pair 3 doesn't
get around once: at position 511 it has an angle that never came up. The loss is
[2.927](../../../results/extrapolation.json#tables.losses.rotary.at512), where it was
[1.989](../../../results/extrapolation.json#tables.losses.rotary.at64) at 64 characters.

**In:** the width of a head $d_k$, the length of training and the *stretch* $s$, how many times
longer the texts are to be. **Out:** new frequencies. The weights stay as they are.

* **Interpolation** divides all frequencies by $s$ ([Chen et al.
  2023](https://arxiv.org/abs/2306.15595)). Angles are hardly larger than in training, but
  neighbouring positions are closer together than they ever were.
* **NTK-aware** scaling raises the base, which leaves the highest frequency as it is, and divides
  the lowest by $s$.
* **YaRN** leaves the pairs that go around often, interpolates those that don't get around once, and
  blends between. With more keys to share the weight, it also makes the scores larger.
"""

import math

import torch
from torch import Tensor

from labml_nn.transformers.rotary import RotaryPositions, inverse_frequencies


def interpolated_frequencies(d_k: int, stretch: float, base: float = 10_000.0) -> Tensor:
    r"""
    ## Interpolation

    Position $s$ gets the angles that position 1 had in training, `[n_pairs]`.
    """
    # Half the frequency is half the angle from one position to the next.
    return inverse_frequencies(d_k, base) / stretch


def ntk_frequencies(d_k: int, stretch: float, base: float = 10_000.0) -> Tensor:
    r"""
    ## NTK-aware scaling

    The name comes from the “neural tangent kernel”. Its theory says that a network is slow to learn
    fine differences if its inputs have only low frequencies, so the high ones should stay.
    """
    # The last pair has the frequency $\text{base}^{-(d_k - 2)/d_k}$. With this factor for the base
    # it is divided by exactly $s$. The first pair has a frequency of 1 with any base.
    return inverse_frequencies(d_k, base * stretch ** (d_k / (d_k - 2)))


def pair_with_turns(turns: float, d_k: int, trained_len: int, base: float) -> float:
    r"""
    ## Turns of a pair

    Pair $i$ makes $L \theta_i / 2 \pi$ turns in a text of length $L$, and $\theta_i =
    \text{base}^{-2i/d_k}$. Solved for $i$, which need not be a whole number.
    """
    return d_k * math.log(trained_len / (2 * math.pi * turns)) / (2 * math.log(base))


def yarn_frequencies(d_k: int, stretch: float, trained_len: int, base: float = 10_000.0) -> Tensor:
    r"""
    ## YaRN

    * `d_k` is the number of features of a head
    * `stretch` is how many times longer the texts are than those of training
    * `trained_len` is the length of training
    * `base` is that of the model's frequencies

    The result is `[n_pairs]`.
    """
    # Pairs that make at least 32 turns in training are left alone, and those that make less than
    # one are interpolated. Both numbers are the paper's, for Llama.
    first = max(math.floor(pair_with_turns(32, d_k, trained_len, base)), 0)
    last = min(math.ceil(pair_with_turns(1, d_k, trained_len, base)), d_k - 1)

    # A straight line from 0 at the first pair to 1 at the last. If both are the same pair, the line
    # is a step, and a small number keeps it from being 0/0.
    pairs = torch.arange(d_k // 2, dtype=torch.float64)
    blend = ((pairs - first) / max(last - first, 0.001)).clamp(0, 1)

    # Where the line is at 0, the old frequency stays. Where it is at 1, it is divided by $s$.
    old = inverse_frequencies(d_k, base)
    interpolated = interpolated_frequencies(d_k, stretch, base)
    return old * (1 - blend) + interpolated * blend


def yarn_scale(stretch: float) -> float:
    r"""
    ## YaRN's scale of the scores

    Queries and keys are both multiplied by this number, and scores by its square. With more keys,
    the softmax spreads its weight over more of them; larger scores work against that. The authors
    fitted the formula to the losses of Llama models.
    """
    # At the length of training it is 1, and nothing changes. At 8 times that length it is 1.21.
    return 0.1 * math.log(stretch) + 1


def scaled_rotary(kind: str, d_k: int, max_len: int, trained_len: int) -> RotaryPositions:
    r"""
    ## Rotary positions for longer texts

    `kind` is `interpolation`, `ntk` or `yarn`. Put the result in the place of the model's own
    [rotary positions](rotary_attention.py).

    [The angles at position 511, in turns, beside those of
    training](../../../results/family_drawings.json#figures.scaled)
    """
    # Trained on 64 positions and used on 512: 8.
    stretch = max_len / trained_len

    # All three change the frequencies.
    frequencies = {
        "interpolation": interpolated_frequencies(d_k, stretch),
        "ntk": ntk_frequencies(d_k, stretch),
        "yarn": yarn_frequencies(d_k, stretch, trained_len),
    }
    rotary = RotaryPositions(frequencies[kind], max_len)

    # Only YaRN also wants larger queries and keys. If cosines and sines are larger, so is what they
    # rotate.
    if kind == "yarn":
        rotary.cos *= yarn_scale(stretch)
        rotary.sin *= yarn_scale(stretch)
    return rotary


def example(
    batch_size: int = 3, heads: int = 5, n_pairs: int = 11, seq_len: int = 7, max_len: int = 29
) -> tuple[Tensor, ...]:
    r"""
    ## Example

    Queries of a text about four times as long as those of training, with each recipe.

    ### Measured here

    With texts 8 times as long and no further training, two of the recipes help: the loss of 2.927
    becomes [2.544](../../../results/extrapolation.json#tables.losses.rotary,%20NTK.at512) with
    NTK-aware scaling,
    [2.318](../../../results/extrapolation.json#tables.losses.rotary,%20YaRN.at512) with YaRN, and
    [3.327](../../../results/extrapolation.json#tables.losses.rotary,%20interpolation.at512) with
    interpolation.

    ### Why interpolation is the worst here

    It squeezes the fast pairs, which tell neighbours apart, and the model was never trained with
    neighbours so close. The length has little to do with it: with frequencies divided by 8, texts
    of 64 characters are read nearly as badly as texts of 512. If only pair 3 and the slower ones
    are interpolated, texts of 512 get better. And if the distances of these pairs are counted up to
    63 and no further, most of the harm is gone: angles that never came up *are* what is wrong with
    long texts.

    ### With further training

    The papers train the model on for a little while; interpolation was meant for that. NTK-aware
    scaling wasn't, and then does worse than interpolation (section 3.1). Here [nothing is trained
    on](extrapolation.py).

    As in the YaRN authors' code, and unlike in the paper, the blend is a straight line in the
    number of the pair. The page leaves out choosing $s$ anew for each text.

    ### Exercises

    ??? question "Which of 8 pairs make less than one turn in 64 positions?"
        A turn takes $2\pi / \theta_i$ positions: 6, 20, 63, 199, … for pairs 0, 1, 2, 3. So all
        from pair 3 on, five of eight.

    ??? question "Which position has the angles of position 3 after interpolation?"
        Position $3s$. The positions between have angles of fractions, which training never had.

    ??? question "How much does YaRN multiply scores by at $s = 8$?"
        $(0.1 \ln 8 + 1)^2 = 1.46$.

    ??? question "Why not train with these frequencies from the start?"
        You can: a larger base from the start is what models for long texts do. The recipes are for
        a model that has been trained already.
    """
    # The queries of a longer text than those of training.
    d_k = 2 * n_pairs
    x = torch.randn(max_len, batch_size, heads, d_k)
    interpolation = scaled_rotary("interpolation", d_k, max_len, seq_len)

    # Each was made for the long text, from what was trained on the short one.
    ntk = scaled_rotary("ntk", d_k, max_len, seq_len)
    yarn = scaled_rotary("yarn", d_k, max_len, seq_len)
    return interpolation(x), ntk(x), yarn(x)
