"""
# Steps

How many cards are looked at, as the number of cards grows.
"""

import numpy as np

from sorting.insertion import sort


def looks(sizes: list[int], seed: int) -> np.ndarray:
    """Count the cards that are looked at.

    Args:
        sizes: Numbers of cards.
        seed: Where the shuffling begins.

    Returns:
        One number for each size.
    """
    numbers = np.random.default_rng(seed)
    hands = [sort(numbers.permutation(size).tolist()) for size in sizes]
    return np.array([hand.looked_at for hand in hands])


def per_card(sizes: list[int], seed: int) -> np.ndarray:
    """Count them for each card."""
    return looks(sizes, seed) / np.array(sizes)


def example() -> np.ndarray:
    """
    ## Twice as many cards, twice as many looks for each
    """
    return per_card([10, 20, 40, 80], seed=1)
