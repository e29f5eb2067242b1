r"""
---
title: Which Features Are a Pair
summary: Two kinds of rotary positions, and how to convert trained weights from one to the other.
paper:
  title: "RoFormer: Enhanced Transformer with Rotary Position Embedding"
  authors: Su et al.
  year: 2021
  link: https://arxiv.org/abs/2104.09864
---

[Rotary positions](../rotary.py) rotate pairs of features. Which features are a pair? There are two
conventions. With six features and letters for pairs:

* **neighbours** (also called interleaved), as in the paper and in GPT-J: `a a b b c c`
* **halves**, as in GPT-NeoX and Llama's weights at Hugging Face: `a b c a b c`

[Six features (across), and what position 1 makes of them (down): blue is added, red
subtracted](../../../results/family_drawings.json#figures.pairs)

Rotate the first pair of $(1, 2, 3, 4)$ by a quarter turn. With neighbours it is 1 and 2, and the
result is $(-2, 1, 3, 4)$. With halves it is 1 and 3, and the result is $(-3, 2, 1, 4)$.

If you train a model yourself, it makes no difference: features mean nothing before training. But
weights that were trained with one and are used with the other give wrong scores, though all shapes
are right. (The scores of each position with itself stay.) A small Llama that was trained with
halves has a loss of [1.939](../../../results/pretrained.json#tables.llama.all%20right.loss), and
used with neighbours
[3.349](../../../results/pretrained.json#tables.llama.neighbours%20as%20pairs,%20not%20halves.loss).

**In:** the weights of a query or key projection, `[d_model, d_model]`. **Out:** the same rows in
another order, so that the scores are what they were in training.

An order is enough: a score is a sum over features, $\sum_d q_d \, k_d$, and a sum is the same in
any order, if queries and keys have the same one. So reorder the features of both in the layers that
make them. Values aren't rotated, and stay. The page leaves out that GPT-J and GPT-NeoX rotate only
a part of the features.
"""

import torch
from torch import Tensor

from labml_nn.transformers.rotary import RotaryPositions, inverse_frequencies


def order_of_halves(d_k: int) -> Tensor:
    r"""
    ## Order of features

    For each feature with halves, its number with neighbours, `[d_k]`. With six features: 0, 2, 4,
    1, 3, 5.
    """
    features = torch.arange(d_k)

    # First the first ones of all pairs, then the second ones.
    return torch.cat([features[0::2], features[1::2]])


def neighbours_to_halves(weight: Tensor, heads: int) -> Tensor:
    r"""
    ## From neighbours to halves

    `weight` is that of the linear layer of all heads' queries or keys, or its bias. It has a row
    for each feature.
    """
    # A pair never spans two heads, so the features of each head are reordered by themselves.
    rows = weight.unflatten(0, (heads, -1))

    # Then the heads follow one another again.
    return rows[:, order_of_halves(rows.shape[1])].flatten(end_dim=1)


def halves_to_neighbours(weight: Tensor, heads: int) -> Tensor:
    r"""
    ## From halves to neighbours
    """
    # The features of each head again, `[heads, d_k, d_model]`; a bias has no last axis.
    rows = weight.unflatten(0, (heads, -1))

    # `argsort` gives the inverse order: where each feature has gone.
    order = order_of_halves(rows.shape[1]).argsort()
    return rows[:, order].flatten(end_dim=1)


def rotate_neighbours(x: Tensor, frequencies: Tensor) -> Tensor:
    r"""
    ## Rotation by complex numbers

    `x` and the result are `[seq_len, batch_size, heads, d_k]`, and `frequencies` is `[n_pairs]`.
    Two neighbours are the real and the imaginary part of a number. At position $m$ it is multiplied
    by $e^{\mathrm{i} m \theta}$, where $\theta$ is the frequency of the pair. That is the formula
    of the paper as it stands.
    """
    # The angle of each position and pair, the same for the batch and all heads.
    angles = torch.arange(len(x))[:, None, None, None] * frequencies

    # Complex numbers of length one, with these angles.
    factors = torch.polar(torch.ones_like(angles), angles)

    # The features as complex numbers, `[seq_len, batch_size, heads, n_pairs]`.
    pairs = torch.complex(x[..., 0::2].double(), x[..., 1::2].double())

    # Rotated, and back to real and imaginary parts side by side.
    return torch.view_as_real(pairs * factors).flatten(start_dim=-2).to(x.dtype)


def example(
    seq_len: int = 7, batch_size: int = 3, heads: int = 5, n_pairs: int = 2
) -> tuple[Tensor, Tensor]:
    r"""
    ## Example

    Scores from weights that were made for neighbours, and from the same weights converted to
    halves. They are equal.

    ### Exercises

    ??? question "Four features with neighbours: a a b b. In which order do halves take them?"
        0, 2, 1, 3: a b a b.

    ??? question "Convert the values' projection too. What happens?"
        The features of each head come out in another order, and the output layer expects the old
        one. The model writes nonsense.

    ??? question "Forget to convert. Which of the scores are still right?"
        Those on the diagonal: query and key are at the same position, and rotating both by the same
        angles changes no dot product, whatever the pairs are.
    """
    d_k = 2 * n_pairs
    d_model = heads * d_k

    # A text, and the weights of the queries and of the keys.
    x = torch.randn(seq_len, batch_size, d_model)
    query, key = torch.randn(2, d_model, d_model)
    frequencies = inverse_frequencies(d_k)

    # As the model was trained: `[seq_len, batch_size, heads, d_k]`.
    q = rotate_neighbours((x @ query.T).unflatten(-1, (heads, d_k)), frequencies)
    k = rotate_neighbours((x @ key.T).unflatten(-1, (heads, d_k)), frequencies)
    neighbours = torch.einsum("ibhd,jbhd->ijbh", q, k)

    # With converted weights and the rotary positions of the other pages.
    rotary = RotaryPositions(frequencies, seq_len)
    q = rotary((x @ neighbours_to_halves(query, heads).T).unflatten(-1, (heads, d_k)))
    k = rotary((x @ neighbours_to_halves(key, heads).T).unflatten(-1, (heads, d_k)))
    halves = torch.einsum("ibhd,jbhd->ijbh", q, k)

    # There and back again.
    assert torch.equal(halves_to_neighbours(neighbours_to_halves(query, heads), heads), query)
    return neighbours, halves
