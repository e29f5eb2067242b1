import math
from collections import Counter
from itertools import product

import pytest
import torch

from labml_nn.training.counting import BackOff, count_letters, count_pairs
from tests.labml_nn.transformers.seam import equals

TEXT = "the cat sat on the mat, and the rat ate that; then the cat ate the rat."
SYMBOLS = "".join(sorted(set(TEXT))) + "\N{REPLACEMENT CHARACTER}"
TOKENS = torch.tensor([SYMBOLS.index(letter) for letter in TEXT])
N_VOCAB = len(SYMBOLS)


def followers(context: str) -> Counter[str]:
    r"""What follows a context in the text, found by looking at each place."""
    places = range(len(TEXT) - len(context))
    return Counter(TEXT[at + len(context)] for at in places if TEXT[at:].startswith(context))


def by_hand(letter: str, context: str) -> float:
    r"""The formula of the page from the longest context down, which is the other way round."""
    seen = followers(context)
    shorter = by_hand(letter, context[1:]) if context else 1 / N_VOCAB
    if not seen:
        return shorter
    return (seen[letter] + len(seen) * shorter) / (seen.total() + len(seen))


def test_frequencies_are_those_of_the_letters_with_one_more_for_each() -> None:
    expected = [(TEXT.count(symbol) + 1) / (len(TEXT) + N_VOCAB) for symbol in SYMBOLS]
    assert count_letters(TOKENS, N_VOCAB).tolist() == pytest.approx(expected)


def test_a_row_of_the_pairs_has_what_follows_a_letter_with_one_more_for_each() -> None:
    table = count_pairs(TOKENS, N_VOCAB)
    assert table.shape == (N_VOCAB, N_VOCAB)
    for row, first in enumerate(SYMBOLS):
        seen = followers(first)
        expected = [(seen[second] + 1) / (seen.total() + N_VOCAB) for second in SYMBOLS]
        assert table[row].tolist() == pytest.approx(expected)


def from_formula(context: str) -> float:
    r"""How far the probabilities after a context are from those of the formula."""
    model = BackOff(TEXT, 3, SYMBOLS)
    pairs = [(model.probability(symbol, context), by_hand(symbol, context)) for symbol in SYMBOLS]
    return max(abs(found - expected) for found, expected in pairs)


CONTEXTS = ["", "a", "at", "the", "xyz", "zat", "t."]


@pytest.mark.parametrize("context", CONTEXTS)
def test_probabilities_sum_to_one_and_none_is_zero(context: str) -> None:
    model = BackOff(TEXT, 3, SYMBOLS)
    found = [model.probability(symbol, context) for symbol in SYMBOLS]
    assert sum(found) == pytest.approx(1)
    assert min(found) > 0


def from_places(n_letters: int, seq_len: int) -> float:
    r"""How far the loss is from that of each place, in its own window and context."""
    model, text = BackOff(TEXT, n_letters, SYMBOLS), "the hat, then a mat."
    losses = []
    for first in range(0, len(text) - 1, seq_len):
        for place in range(first + 1, min(first + seq_len, len(text) - 1) + 1):
            context = text[first:place][-n_letters:] if n_letters else ""
            losses.append(-math.log(by_hand(text[place], context)))
    assert len(losses) == len(text) - 1
    return abs(model.loss(text, seq_len) - sum(losses) / len(losses))


CASES = list(product([0, 1, 3], [1, 5, 100]))
ORACLES = {
    "the formula, from the longest context down": lambda: max(map(from_formula, CONTEXTS)),
    "a loop over all places": lambda: max(from_places(*case) for case in CASES),
}
test_it_is_what_others_compute = equals(ORACLES)


def test_without_a_text_it_guesses_and_longer_contexts_are_not_counted() -> None:
    assert BackOff("", 0, SYMBOLS).loss(TEXT, 7) == pytest.approx(math.log(N_VOCAB))
    assert max(map(len, BackOff(TEXT, 3, SYMBOLS).total)) == 3


def test_what_it_writes_is_drawn_from_its_probabilities() -> None:
    model = BackOff(TEXT, 2, SYMBOLS)
    assert model.write("t", 50, seed=1) == model.write("t", 50, seed=1) != model.write("t", 50, 2)

    # After a prompt that is shorter than the context, and after one that is longer.
    for prompt, context in (("t", "t"), ("he c", " c")):
        counts = Counter(model.write(prompt, 1, seed)[-1] for seed in range(2000))
        for symbol in SYMBOLS:
            p = model.probability(symbol, context)
            # Five standard deviations.
            assert abs(counts[symbol] / 2000 - p) < 5 * math.sqrt(p * (1 - p) / 2000)
