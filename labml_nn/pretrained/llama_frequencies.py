r"""
---
title: Llama 3.1's Rotary Scaling
summary: Pairs that hardly rotate in training are made slower, by a rule of Llama's own.
know: ../transformers/rotary.py, ../transformers/positions/rotary_scaling.py
---

Llama 3 was trained on texts of 8,192 tokens, and Llama 3.1 reads texts many times as long. [Rotary
positions](../transformers/rotary.py) would get to angles there that never came up in training. The
[remedies](../transformers/positions/rotary_scaling.py) are known: leave pairs of features that
rotate fast, and slow down the others. Llama 3.1 does it by a rule of its own.

When you load published weights, such a rule is no choice: the weights were trained with it. It has
no weights of its own, so if you forget it, all names and shapes are right. But the loss of a
small Llama goes from [1.939](../../results/pretrained.json#tables.llama.all%20right.loss) to
[3.534](../../results/pretrained.json#tables.llama.frequencies%20not%20scaled.loss). None of five
other wrong details does more harm on average.

**In:** the settings of a model, as its `config.json` has them. **Out:** its [table of
angles](../transformers/rotary.py#RotaryPositions).

A head of Llama 3.1 has 64 pairs, and the base of their frequencies is 500,000. A *turn* is once
around:

| pair | positions for a turn | turns in 8,192 positions | slower by |
| ---: | ---: | ---: | ---: |
| 0 | 6 | 1,304 | 1 |
| 28 | 1,956 | 4.2 | 1 |
| 32 | 4,443 | 1.8 | 2.7 |
| 35 | 8,219 | 0.997 | 8 |
| 63 | 2,559,196 | 0.003 | 8 |
"""

import math

import torch
from torch import Tensor

from labml_nn.pretrained.names import Config
from labml_nn.transformers.rotary import RotaryPositions, inverse_frequencies

# The kinds of scaling that are here, and the settings that each has.
SETTINGS = {
    "default": set(),
    "llama3": {
        "factor", "low_freq_factor", "high_freq_factor", "original_max_position_embeddings"
    },
}  # fmt: skip


def scaled_frequencies(frequencies: Tensor, scaling: Config) -> Tensor:
    r"""
    ## Scaled frequencies

    `scaling` has the names of `config.json` for $a$, $b$, $L$ and $f$. The result is `[n_pairs]`.

    $$
    \theta_i' = \theta_i \left( k_i + \frac{1 - k_i}{f} \right) \qquad
    k_i = \min\left( \max\left( \frac{n_i - a}{b - a},\, 0 \right),\, 1 \right) \qquad
    n_i = \frac{L \theta_i}{2 \pi}
    $$

    $\theta_i$ is the angle of pair $i$ from one position to the next, and $n_i$ the number of turns
    that it makes in $L = 8192$ positions. With more than $b = 4$ turns it is kept, $k_i = 1$. With
    less than $a = 1$ it is slower by $f = 8$. Between the two, $k_i$ is a straight line over the
    turns.
    """
    low = scaling["low_freq_factor"]
    high = scaling["high_freq_factor"]

    # How often each pair goes around in a text as long as those of the first training. A pair that
    # went around once has shown the model every angle.
    turns = scaling["original_max_position_embeddings"] * frequencies / (2 * math.pi)

    # The share of its own frequency that it keeps: all of it above $b$ turns, nothing below $a$,
    # and half of it in the middle.
    kept = ((turns - low) / (high - low)).clamp(0, 1)

    # The rest is divided. A pair that keeps nothing gets no further in a text of $f L$ positions
    # than it did in one of $L$. (Llama 3.1 reads $16 L$, and was trained on such texts in the end.)
    return frequencies * (kept + (1 - kept) / scaling["factor"])


def rotary_of(config: Config) -> RotaryPositions:
    r"""
    ## Rotary positions
    """
    # Old files have the base beside the scaling, new ones have both in one place. Without either,
    # nothing is scaled.
    scaling = config.get("rope_parameters") or config.get("rope_scaling") or {}
    rope = {"rope_theta": config.get("rope_theta"), "rope_type": "default"} | scaling

    # The width of a head is given, or follows from the others. As many pairs as half of it.
    d_k = config.get("head_dim") or config["hidden_size"] // config["num_attention_heads"]
    frequencies = inverse_frequencies(d_k, rope.pop("rope_theta"))

    # Another scaling, or a rotation of some features only, has no weights either. The model would
    # load without an error and write badly, so it is refused.
    kind = rope.pop("rope_type")
    if config.get("partial_rotary_factor", 1.0) != 1.0:
        rope["partial_rotary_factor"] = config["partial_rotary_factor"]
    if kind not in SETTINGS or rope.keys() != SETTINGS[kind]:
        raise ValueError(f"rotary positions of the kind {kind!r} with {rope} are not here")
    if kind == "llama3":
        frequencies = scaled_frequencies(frequencies, rope)
    return RotaryPositions(frequencies, config["max_position_embeddings"])


def example(
    seq_len: int = 7, batch_size: int = 3, heads: int = 5, n_pairs: int = 11
) -> tuple[Tensor, Tensor]:
    r"""
    ## Example

    By how much each pair is slower, and queries that are rotated.

    ### What differs from YaRN

    [YaRN](../transformers/positions/rotary_scaling.py#yarn_frequencies) has the same idea. In its
    authors' code, the line between kept and slower pairs is straight in the *number* of the pair,
    and goes from 1 to 32 turns. Llama's is straight in the turns, as in YaRN's paper, and ends at
    4. And YaRN makes the scores larger, which Llama doesn't do.

    Our small Llama was trained *with* the scaling, on 64 positions, with $L = 16$. Even its fastest
    pair is slower there, by 1.7. Llama 3.1 keeps its fast pairs: without the scaling, no angle at
    position 64 is off by more than 0.06 radians. No angle can be off by more than half a turn,
    since a whole turn leads back to the right one. The first pair is off by that much at position
    3,533, and eight more follow up to 8,192. So what shows at once in the small model can stay
    hidden in Llama 3.1 until a text is long.

    The small model says what happens if you leave out what the weights were trained with. It
    doesn't say whether scaling helps with longer texts. For other rules,
    [extrapolation](../transformers/positions/extrapolation.py) measures that.

    ### What did not help here

    There is [a list](../../docs/what_did_not_help.md) of more such things.

    The loss finds a missing scaling, and not a wrong base. With 10,000 in place of 500,000 it is
    [1.956](../../results/pretrained.json#tables.llama.base%2010%2C000%2C%20not%20500%2C000.loss),
    within the range of the seeds. A comparison with the library “transformers” finds both. Left out
    are its other kinds of scaling, which are refused.

    ### Exercises

    ??? question "Which of 64 pairs, numbered from 0, are slower by the full factor of 8?"
        Those with less than one turn: $8192 \cdot 500000^{-i/64} < 2 \pi$, so 35 to 63.

    ??? question "Why do fast pairs keep their frequency?"
        - [ ] They go around so often that their angle doesn't matter.
            - It does: from one position to the next the fastest pair rotates by a radian, the
              slowest by two millionths. Only fast pairs tell neighbours apart.
        - [x] The model has seen all of their angles, and distances of a few tokens should look the
          same as in training.
            - Yes. In a longer text a fast pair gets to no new angle, so nothing has to be mended.
        - [ ] A higher frequency would need more pairs.
            - The number of pairs is half the width of a head, with any frequency.

    ??? question "What would `clamp` let through, if you left it out?"
        Factors outside the range from 1 to $f$. With these settings a pair with many turns would
        have a $k_i$ far above 1, so it would rotate faster. The slowest would have nearly
        $k_i = -1/3$, and $-1/3 + \frac{4/3}{8} = -1/6$ of its own frequency: it would rotate
        backwards.

    ??? question "A file says “yarn”. Why is it refused, when a page here has YaRN?"
        Nothing connects the two: a file has settings of its own for it, and each is a detail that
        can be wrong without a sign. It would need a comparison first.
    """
    # Sizes, and the settings as Llama 3.1 has them.
    scaling = {
        "rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
        "original_max_position_embeddings": 8192,
    }  # fmt: skip
    config = {
        "hidden_size": 2 * heads * n_pairs, "num_attention_heads": heads,
        "max_position_embeddings": seq_len, "rope_theta": 500_000.0, "rope_scaling": scaling,
    }  # fmt: skip

    # From 1 for fast pairs to 8 for slow ones.
    frequencies = inverse_frequencies(2 * n_pairs, 500_000.0)
    slower = frequencies / scaled_frequencies(frequencies, scaling)

    # Queries of all heads, rotated by the angles of their positions.
    query = torch.randn(seq_len, batch_size, heads, 2 * n_pairs)
    return slower, rotary_of(config)(query)
