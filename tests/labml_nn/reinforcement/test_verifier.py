r"""The verifier against the text of all possible answers."""

from itertools import product

import pytest
import torch

from labml_nn.reinforcement import verifier as page

# All 20,736 texts of four tokens.
ALL = torch.tensor(list(product(range(len(page.SYMBOLS)), repeat=4))).t()


@pytest.mark.parametrize("digits", ["31", "77", "09"])
def test_of_all_texts_those_are_right_whose_part_up_to_the_end_is_sorted(digits: str) -> None:
    question = torch.tensor([*map(int, digits), page.EQUALS])[:, None].expand(-1, ALL.shape[1])
    said = [page.show(column).partition(";")[:2] for column in ALL.t()]
    wanted = ("".join(sorted(digits)), ";")
    right = [one == wanted for one in said]
    assert page.verify(question, ALL).tolist() == right
    assert page.verify(question, ALL).dtype == torch.float32
    # Two sorted digits, the end, and then anything.
    assert sum(right) == len(page.SYMBOLS)
    # As text and as tokens “=” comes after the digits.
    ordered = [end == ";" and [*text] == sorted(text) for text, end in said]
    assert page.in_order(ALL).tolist() == ordered
    same = [("".join(sorted(text)), end) == wanted for text, end in said]
    assert page.same_digits(question, ALL).tolist() == same


def test_solved_questions_are_right_and_any_two_digits_exchanged_make_them_wrong() -> None:
    questions, again = (page.draw_questions(6, 50, torch.Generator().manual_seed(1)) for _ in "12")
    assert torch.equal(questions, again)
    answers = page.solve(questions)
    assert answers.shape == questions.shape
    assert page.show(torch.tensor([3, 1, page.EQUALS, 0, page.END])) == "31=0;"
    assert (questions[-1] == page.EQUALS).all() and (answers[-1] == page.END).all()
    assert (questions[:-1] <= 9).all() and page.verify(questions, answers).all()
    swapped = answers[[1, 0, 2, 3, 4, 5, 6]]
    assert torch.equal(page.verify(questions, swapped) == 1, answers[0] == answers[1])


def test_all_digits_are_drawn_about_equally_often() -> None:
    questions = page.draw_questions(7, 10_000, torch.Generator().manual_seed(1))
    counts = questions[:-1].flatten().bincount(minlength=10)
    assert 6_700 < counts.min() and counts.max() < 7_300


def test_one_answer_to_all_questions_has_three_in_ten_digits_in_their_places() -> None:
    questions = page.draw_questions(6, 20_000, torch.Generator().manual_seed(1))
    always = torch.tensor([0, 2, 4, 5, 7, 9])[:, None]
    shares = (page.solve(questions)[:-1] == always).float().mean().item()
    assert shares == pytest.approx(0.30, abs=0.01)
