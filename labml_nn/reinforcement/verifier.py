r"""
---
title: A Task with a Verifier
summary: Digits to sort, and a check that needs no right answer.
know: ../training/sampling.py
terms:
  reward: A number that says how good an answer was; here 1 if it is right, else 0.
  verifier: A program that checks an answer, without knowing the right one.
---

TEXT
"""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor

# The vocabulary. A question ends with “=”, and an answer with “;”.
SYMBOLS = "0123456789=;"
EQUALS, END = 10, 11

# What judges answers: it gets questions and answers, and gives a reward for each answer.
Judge = Callable[[Tensor, Tensor], Tensor]


def draw_questions(n_digits: int, n_questions: int, generator: torch.Generator) -> Tensor:
    r"""
    ## Questions

    Random digits and “=”, `[n_digits + 1, n_questions]`.
    """
    # With six digits there are a million questions.
    digits = torch.randint(10, (n_digits, n_questions), generator=generator)
    return F.pad(digits, (0, 0, 0, 1), value=EQUALS)


def solve(questions: Tensor) -> Tensor:
    r"""
    ## Right answers

    To imitate.
    """
    # Without the “=”.
    return F.pad(questions[:-1].sort(dim=0).values, (0, 0, 0, 1), value=END)


def show(tokens: Tensor) -> str:
    r"""
    ## As text
    """
    # One.
    return "".join(SYMBOLS[token] for token in tokens.tolist())


def answer_mask(answers: Tensor) -> Tensor:
    r"""
    ## Where an answer ends
    """
    # How many.
    ends = (answers == END).int()
    return ends.cumsum(dim=0) - ends == 0


def in_order(answers: Tensor) -> Tensor:
    r"""
    ## In order
    """
    # After.
    rising = (answers[1:] >= answers[:-1]) | ~answer_mask(answers)[1:]
    return rising.all(dim=0) & (answers == END).any(dim=0)


def same_digits(questions: Tensor, answers: Tensor) -> Tensor:
    r"""
    ## The same digits
    """
    # Count.
    wanted = F.one_hot(questions[:-1], len(SYMBOLS)).sum(dim=0)
    wanted[:, END] = 1

    # Of the answer.
    found = F.one_hot(answers, len(SYMBOLS)) * answer_mask(answers).unsqueeze(-1)
    return (found.sum(dim=0) == wanted).all(dim=-1)


def verify(questions: Tensor, answers: Tensor) -> Tensor:
    r"""
    ## Verifier
    """
    # Both.
    return (in_order(answers) & same_digits(questions, answers)).float()
