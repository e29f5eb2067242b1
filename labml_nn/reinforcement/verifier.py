r"""
---
title: A Task with a Verifier
summary: Digits to sort, and a check that needs no right answer.
know: ../training/sampling.py
terms:
  reward: A number that says how good an answer was; here 1 if it is right and 0 if not.
  reward hacking: Getting the reward without doing the task, through a hole in what is checked.
  verifier: A program that checks an answer without being told the right one.
---

To [imitate](imitation.py), a model needs right answers, and somebody has to write them. Often it is
easier to *check* an answer than to find one: a program can be run on its tests. Such a check is a
*verifier*, and a model can [learn from it](grpo.py).

The task of these pages is to sort digits. Is `012345` what `315204` should become? You see it
without sorting:

| answer | digits in order? | the same digits? | reward |
| --- | :---: | :---: | ---: |
| `012345;` | yes | yes | 1 |
| `012354;` | no | yes | 0 |
| `01245;` | yes | no, 3 is missing | 0 |
| `;` | yes | no | 0 |

Leave out the second check, and the third and fourth answers are rewarded, too. A model learns what
is rewarded and not what was meant: trained with the first check alone, it gets nearly every reward,
and the share of right answers falls from
[30.9 %](../../results/grpo.json#tables.ways.Start%3A%2050%20solved%20questions.greedy) to
[23.3 %](../../results/grpo.json#tables.ways.Only%20the%20order%20is%20checked.greedy). That is
*reward hacking*.

**In:** questions, such as “`315204=`”, and answers of a model, such as “`012345;`”. **Out:** a
*reward* for each answer: 1 if it is right, 0 if it isn't.
"""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor

# The vocabulary. A question ends with “=”, and an answer with “;”.
SYMBOLS = "0123456789=;"
EQUALS = 10
END = 11

# What judges: it gets questions and answers side by side, and gives a reward for each answer.
Judge = Callable[[Tensor, Tensor], Tensor]


def draw_questions(n_digits: int, n_questions: int, generator: torch.Generator) -> Tensor:
    r"""
    ## Questions

    Random digits and a “=”, `[n_digits + 1, n_questions]`. As nearly everywhere on this site, a
    column is a sequence.
    """
    # Six digits make a million questions, so those of a test are hardly ever seen in training.
    digits = torch.randint(10, (n_digits, n_questions), generator=generator)

    # One more row below.
    return F.pad(digits, (0, 0, 0, 1), value=EQUALS)


def solve(questions: Tensor) -> Tensor:
    r"""
    ## Right answers

    These are for imitation. The verifier doesn't use them. For sorting they cost nothing; for a
    proof or a program somebody would have to write them.
    """
    # Each column is sorted on its own, without its “=”.
    digits = questions[:-1].sort(dim=0).values
    return F.pad(digits, (0, 0, 0, 1), value=END)


def show(tokens: Tensor) -> str:
    r"""
    ## Tokens as text
    """
    # One sequence, not a batch of them.
    return "".join(SYMBOLS[token] for token in tokens.tolist())


def answer_mask(answers: Tensor) -> Tensor:
    r"""
    ## Where an answer ends

    Answers are drawn side by side, all with the same number of tokens. What comes after the first
    “;” belongs to no answer: it gets no reward, and nothing is learned from it. The mask is true up
    to the “;” itself, because when to stop is learned too.

    ```
    answer  1 3 ; 7 7
    mask    1 1 1 0 0
    ```
    """
    # Counted from the top, `cumsum` says how many ends there are up to each token, itself included.
    ends = (answers == END).int()

    # Without itself: how many came before it. An answer without an end has none anywhere.
    return ends.cumsum(dim=0) - ends == 0


def in_order(answers: Tensor) -> Tensor:
    r"""
    ## First check: the order

    True for an answer that ends, and in which no token is smaller than the one before it.
    """
    # Each token and the one before it. “;” has the highest number, so it may follow any digit. What
    # comes after the end may be in any order.
    rising = (answers[1:] >= answers[:-1]) | ~answer_mask(answers)[1:]

    # An answer that never ends is not an answer.
    return rising.all(dim=0) & (answers == END).any(dim=0)


def same_digits(questions: Tensor, answers: Tensor) -> Tensor:
    r"""
    ## Second check: the digits

    True for an answer that has each digit as often as its question.
    """
    # A row of zeros with a one for each token; the sum over a sequence counts how often each token
    # is in it. Of an answer we want the question's digits and one end.
    wanted = F.one_hot(questions[:-1], len(SYMBOLS)).sum(dim=0)
    wanted[:, END] = 1

    # The same for the answer, as far as it reaches.
    found = F.one_hot(answers, len(SYMBOLS)) * answer_mask(answers).unsqueeze(-1)
    return (found.sum(dim=0) == wanted).all(dim=-1)


def verify(questions: Tensor, answers: Tensor) -> Tensor:
    r"""
    ## The verifier

    Both checks together, as a reward. Neither of them sorts anything.
    """
    # All or nothing. Parts of a reward, such as one for each digit in its place, would give a
    # signal earlier. But “024579;” for every question would get 30 % of them without reading any,
    # so the page uses the plain one.
    return (in_order(answers) & same_digits(questions, answers)).float()


def example(n_digits: int = 5, n_questions: int = 7) -> tuple[Tensor, Tensor, Tensor]:
    r"""
    ## Example

    Right answers, answers with two digits exchanged, and empty ones.

    ### Measured here

    Before the training with rewards the model has [imitated](imitation.py) 50 answers. If only the
    order is checked, its answers have
    [5.85](../../results/grpo.json#tables.training.Only%20the%20order%20is%20checked.length) tokens
    in the last 20 of 200 steps, where a right one has 7: on average, more than one digit is lost.

    [Only the order is checked: what is rewarded, and what is right, among the answers that are
    drawn in training](../../results/grpo.json#figures.hole)

    ### Exercises

    ??? question "Which of “`13;`”, “`31;`”, “`133;`”, “`13`” and “`13;31`” are right for “`31=`”?"
        The first and the last. After the first “;” nothing counts.

    ??? question "You reward the second check alone. What does the model learn to write?"
        Any order is rewarded, a copy of the question too. But the model begins with answers in
        order, and only what it draws is made likelier. So it learns to sort: in a try with two
        seeds, as well as with both checks. Pass it as `judge` in [the
        experiment](grpo_experiment.py).

    ??? question "You leave `answer_mask` out of `in_order`. Which answers get another reward?"
        Right ones with a digit or a “=” after their “;”, since both are smaller than “;”. “`13;31`”
        would be wrong for “`31=`”, although nobody reads what comes after the end.

    ??? question "How likely is it that a random text of seven tokens is right?"
        $12^{-7}$, or one in 36 million: of each of the seven tokens one of twelve is right. Without
        a start, you would wait long for the first reward.
    """
    # Questions and what is right.
    questions = draw_questions(n_digits, n_questions, torch.Generator().manual_seed(1))
    answers = solve(questions)

    # The first two digits have changed places. If they are equal, nothing has changed.
    swapped = torch.cat([answers[:2].flip(0), answers[2:]])

    # Only the end: in order, but without the digits.
    empty = torch.full_like(answers, END)
    return verify(questions, answers), verify(questions, swapped), verify(questions, empty)
