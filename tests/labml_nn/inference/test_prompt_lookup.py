r"""Drafts without a network: what is looked up, and what was counted."""

import pytest
import torch
from torch import Tensor
from transformers.generation.candidate_generator import PromptLookupCandidateGenerator

from labml_nn.inference.prompt_lookup import CountedLetters, PromptLookup
from labml_nn.inference.speculative import distribution
from labml_nn.training.counting import BackOff
from labml_nn.training.data import tiny_shakespeare


def tokens(text: str) -> Tensor:
    return torch.tensor([ord(letter) for letter in text])


def guessed(text: str, n_draft: int, n_letters: int = 3) -> str:
    draft, q = PromptLookup(128, n_letters)(tokens(text), n_draft)
    assert torch.equal(q.argmax(dim=1), draft)
    assert (q.sum(dim=1).tolist(), q.dtype) == ([1.0] * len(draft), torch.float64)
    return "".join(map(chr, draft.tolist()))


@pytest.mark.parametrize("n_draft", [1, 4, 7])
@pytest.mark.parametrize("n_letters", [1, 2, 3, 5])
def test_the_guesses_are_those_of_transformers(n_draft: int, n_letters: int) -> None:
    generator = torch.Generator().manual_seed(n_draft)
    theirs = PromptLookupCandidateGenerator(
        num_output_tokens=n_draft, max_matching_ngram_size=n_letters, max_length=99
    )
    for length in range(1, 41):
        text = torch.randint(5, (length,), generator=generator)
        candidates, _ = theirs.get_candidates(text[None])
        draft, _ = PromptLookup(5, n_letters)(text, n_draft)
        assert draft.tolist() == candidates[0, length:].tolist()


def test_the_longest_run_counts_and_of_several_places_the_oldest() -> None:
    # The example of the page, and the exercise.
    assert guessed("the cat, the c", 4) == "at, "
    assert guessed("banana", 4, 2) == "na"
    assert guessed("abxyb, abzab", 1) == "x"
    assert guessed("cb1 ab2 ab", 1) == "2"
    assert guessed("cb1 ab2 ab", 1, n_letters=1) == "1"
    assert guessed("abcd", 4) == guessed("a", 4) == guessed("abab", 4, n_letters=0) == ""
    # Three letters, unless told otherwise.
    assert PromptLookup(7).n_letters == 3


@pytest.mark.parametrize("n_letters", [0, 1, 3])
def test_counted_letters_predict_what_was_counted_at_each_length_of_the_text(
    n_letters: int,
) -> None:
    symbols = "abcdr"
    counted = BackOff("abracadabra", n_letters, symbols)
    predict = CountedLetters(counted)
    text = "dabracadab"
    for end in range(len(text) + 1):
        context = text[max(0, end - n_letters) : end]
        expected = [counted.probability(symbol, context) for symbol in symbols]
        found = predict(torch.tensor([symbols.index(one) for one in text[:end]], dtype=torch.long))
        torch.testing.assert_close(
            distribution(found, 1.0), torch.tensor(expected).double(), rtol=0, atol=1e-7
        )


def test_a_row_is_computed_once() -> None:
    predict = CountedLetters(BackOff("abracadabra", 2, "abcdr"))
    first = predict(torch.tensor([2, 0, 1]))
    predict(torch.tensor([0, 0, 1]))
    assert list(predict.rows) == ["ab"]
    predict.rows["ab"] = first + 1
    assert torch.equal(predict(torch.tensor([0, 1])), first + 1)


def test_in_short_pieces_of_a_play_hardly_any_three_letters_came_up_before() -> None:
    text, found, right = tiny_shakespeare()[-100_000:], [0] * 4, [0] * 4
    for start in range(0, len(text) - 55, 55):
        for end in range(16, 56):
            piece = text[start : start + end]
            longest = max(n for n in range(4) if piece[end - n :] in piece[: end - 1] or not n)
            found[longest] += 1
            after = text[start + piece.find(piece[end - longest :]) + longest]
            right[longest] += after == text[start + end]
    # The more letters are the same, the likelier is what follows.
    shares = [good / every for good, every in zip(right, found, strict=True)][1:]
    assert shares == sorted(shares)
    nothing, one, _, three = (count / sum(found) for count in found)
    assert 0.25 < nothing < 0.35 and 0.45 < one < 0.6 and three < 0.07
