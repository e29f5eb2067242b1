r"""The verifier against the text of all possible answers."""

from itertools import product

import pytest
import torch

from labml_nn.reinforcement.verifier import (
    END,
    EQUALS,
    SYMBOLS,
    answer_mask,
    draw_questions,
    example,
    in_order,
    same_digits,
    show,
    solve,
    verify,
)

# All 20,736 texts of four tokens.
ALL = torch.tensor(list(product(range(len(SYMBOLS)), repeat=4))).t()


@pytest.mark.parametrize("digits", ["31", "77", "09"])
def test_of_all_texts_those_are_right_whose_part_up_to_the_end_is_sorted(digits: str) -> None:
    question = torch.tensor([*map(int, digits), EQUALS])[:, None].expand(-1, ALL.shape[1])
    said = [show(column).partition(";")[:2] for column in ALL.t()]
    wanted = ("".join(sorted(digits)), ";")
    right = [one == wanted for one in said]
    assert verify(question, ALL).tolist() == right
    assert verify(question, ALL).dtype == torch.float32
    # Two sorted digits, the end, and then anything.
    assert sum(right) == len(SYMBOLS)
    # As text and as tokens “=” comes after the digits.
    ordered = [end == ";" and [*text] == sorted(text) for text, end in said]
    assert in_order(ALL).tolist() == ordered
    same = [("".join(sorted(text)), end) == wanted for text, end in said]
    assert same_digits(question, ALL).tolist() == same


def test_an_answer_reaches_to_its_first_end_or_as_far_as_the_tokens() -> None:
    for column, mask in zip(ALL.t(), answer_mask(ALL).t(), strict=True):
        text = show(column)
        length = text.index(";") + 1 if ";" in text else 4
        assert mask.tolist() == [True] * length + [False] * (4 - length)


def test_solved_questions_are_right_and_any_two_digits_exchanged_make_them_wrong() -> None:
    questions, again = (draw_questions(6, 50, torch.Generator().manual_seed(1)) for _ in "12")
    assert torch.equal(questions, again)
    answers = solve(questions)
    assert answers.shape == questions.shape
    assert show(torch.tensor([3, 1, EQUALS, 0, END])) == "31=0;"
    assert (questions[-1] == EQUALS).all() and (answers[-1] == END).all()
    assert (questions[:-1] <= 9).all() and verify(questions, answers).all()
    swapped = answers[[1, 0, 2, 3, 4, 5, 6]]
    assert torch.equal(verify(questions, swapped) == 1, answers[0] == answers[1])


def test_all_digits_are_drawn_about_equally_often() -> None:
    questions = draw_questions(7, 10_000, torch.Generator().manual_seed(1))
    counts = questions[:-1].flatten().bincount(minlength=10)
    assert 6_700 < counts.min() and counts.max() < 7_300


def test_the_example_has_a_right_answer_a_wrong_order_and_an_empty_one() -> None:
    right, swapped, empty = example()
    assert right.all() and not empty.any()
    assert 0 <= swapped.sum() < len(swapped)
