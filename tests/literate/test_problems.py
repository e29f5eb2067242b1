r"""How problems are told: mistakes first, and in one line what many pages lack."""

from literate.problems import GUESS, Problem, told


def test_mistakes_come_first_then_guesses_and_what_many_lack_is_one_line() -> None:
    many = [
        Problem(f"{letter}.py", 1, "has no title.", "modules have no title") for letter in "abcd"
    ]
    few = [Problem("a.py", line, "is not raw.", "docstrings are not raw") for line in (9, 2)]
    guess = Problem("a.py", 3, "is `b` meant?", GUESS)
    mistakes = [Problem("z.py", 7, "leads to nothing."), Problem("b.py", 2, "can't be set.")]
    told_of_all = [
        "b.py:2: can't be set.",
        "z.py:7: leads to nothing.",
        "a.py:3: is `b` meant?",
        "a.py:2: is not raw.",
        "a.py:9: is not raw.",
        "4 modules have no title, as a.py:1 and b.py:1; "
        "`python -m literate check a.py` says more of one file.",
    ]
    assert told([*many, *few, guess, *mistakes, *mistakes]) == told_of_all
    assert told([*many, *few, guess, *mistakes], most=2) == [
        *told_of_all[:2],
        "3 problems more; `python -m literate check` lists them.",
        told_of_all[-1],
    ]
    assert told([*few, guess], most=3) == told_of_all[2:5]
    assert told([]) == []


def test_what_one_file_lacks_is_told_line_by_line() -> None:
    of_one = [Problem("a.py", line, "lacks it.", "references lead nowhere") for line in range(1, 6)]
    assert told(of_one) == [str(one) for one in of_one]
