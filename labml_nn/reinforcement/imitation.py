r"""
---
title: A Start by Imitation
summary: A small transformer learns from 50 solved questions what an answer looks like.
terms:
  imitation: Training on right answers, as on any text; also called supervised fine-tuning.
---

[Reinforcement learning](grpo.py) draws answers and makes the right ones likelier. A model with
random weights draws none. Its vocabulary has 12 tokens and a right answer 7, so one text in
$12^7$, 36 million, is right. A training of 200 steps draws 25,600.

So training starts with solved questions to *imitate*: “`315204=`” and “`012345;`”, 50 of them. For
each token of an answer, the model gets the question and the tokens before it, and its loss is that
of the right next token.

```
question and answer  3 1 5 2 0 4 = 0 1 2 3 4 5 ;
counted in the loss  . . . . . . . ■ ■ ■ ■ ■ ■ ■
```

After 60 steps the model sorts
[30.9 %](../../results/grpo.json#tables.ways.Start%3A%2050%20solved%20questions.greedy) of *new*
questions, and nearly always writes digits and then “`;`”. Then we stop. The model is to try
different answers later, and one that knows 50 answers by heart is too sure of itself.

**In:** 50 questions of six digits with their answers. **Out:** a model whose answers are worth
checking.
"""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from labml_nn.reinforcement.grpo import log_probabilities
from labml_nn.reinforcement.verifier import SYMBOLS, draw_questions, solve, verify
from labml_nn.training.loop import train
from labml_nn.training.sampling import Choose, draw, generate, greedy
from labml_nn.transformers.basic.autoregressive_model import AutoregressiveTransformer

# What gives the questions and answers of a step.
Batches = Callable[[int], tuple[Tensor, Tensor]]


@dataclass(frozen=True)
class Sizes:
    r"""
    ## Sizes
    """

    # The task, and how many questions come with their answers.
    n_digits: int = 6
    n_solved: int = 50

    # A step of reinforcement learning: so many questions, each answered so many times.
    n_questions: int = 16
    n_answers: int = 8

    # The width of the model, and its heads: 101,644 parameters in all.
    d_model: int = 64
    heads: int = 4

    def of_model(self) -> tuple[int, ...]:
        r"""
        ### Arguments of the model

        Two layers, and room for a question and an answer that is one token too long.
        """
        # The question and the answer have `n_digits` and a mark each, and one more token is the one
        # too many.
        seq_len = 2 * self.n_digits + 3

        # The network in each layer is four times as wide as the model, as usual.
        return len(SYMBOLS), self.d_model, self.heads, 2, 4 * self.d_model, seq_len


def optimizer(model: nn.Module, rate: float) -> torch.optim.AdamW:
    r"""
    ## Optimizer
    """
    # Without weight decay, so that a training in which nothing is ever rewarded moves no weight.
    # Trainings are short, so squared gradients are averaged over about 100 steps.
    return torch.optim.AdamW(model.parameters(), rate, betas=(0.9, 0.99), weight_decay=0.0)


def solved_batches(sizes: Sizes, seed: int, batch_size: int = 32) -> Batches:
    r"""
    ## Solved questions

    Batches of the few questions that come with an answer.
    """
    # All that there are: 50 columns.
    generator = torch.Generator().manual_seed(seed)
    questions = draw_questions(sizes.n_digits, sizes.n_solved, generator)

    def at(step: int) -> tuple[Tensor, Tensor]:
        # Drawn at random, some twice. After 60 steps each of the 50 was seen about 38 times.
        chosen = torch.randint(sizes.n_solved, (batch_size,), generator=generator)
        return questions[:, chosen], solve(questions[:, chosen])

    return at


def answer_gradients(model: nn.Module, questions: Tensor, answers: Tensor) -> Tensor:
    r"""
    ## Gradients of a batch of answers
    """
    # Cross entropy, of the answers only. The digits of a question are random: what is learned from
    # them helps with no other question, and takes weights and steps from the answers.
    loss = -log_probabilities(model, questions, answers).mean()

    # The loop clips these gradients, and moves the weights.
    loss.backward()
    return loss.detach()


def imitate(model: nn.Module, batch_at: Batches, steps: int) -> None:
    r"""
    ## Imitation

    The [training loop](../training/loop.py#train) that all models of this site have.
    """
    # Questions are what the loop calls inputs, and answers are its targets.
    train(model, batch_at, [optimizer(model, 3e-3)], steps, gradients=answer_gradients)


def answer(
    model: nn.Module,
    questions: Tensor,
    choose: Choose = draw,
    generator: torch.Generator | None = None,
) -> Tensor:
    r"""
    ## Answers of the model

    Drawn token by token, `[n_digits + 2, n_questions]`, or chosen in another way.
    """
    # A right answer is as long as its question: as many digits, and an end. One token more, so that
    # an answer can be too long.
    n_tokens = len(questions) + 1
    seq_len = len(questions) + n_tokens

    # Without the question, which stands before it.
    return generate(model, questions, n_tokens, seq_len, choose, generator)[len(questions) :]


def measure(model: nn.Module, sizes: Sizes, n_questions: int = 500) -> dict[str, float]:
    r"""
    ## What it can do

    Shares of right answers to new questions, and the loss of the right answers.
    """
    # The same questions for every model. Trainings have other seeds. Of a million questions, they
    # see a few thousand, so hardly any of these.
    generator = torch.Generator().manual_seed(0)
    questions = draw_questions(sizes.n_digits, n_questions, generator)

    # Always the likeliest token.
    best = answer(model, questions, greedy)

    # Drawn several times: a row of rewards for each question.
    groups = questions.repeat_interleave(sizes.n_answers, dim=1)
    rewards = verify(groups, answer(model, groups, generator=generator)).view(n_questions, -1)

    # The validation loss, in nats a token.
    with torch.no_grad():
        loss = -log_probabilities(model, questions, solve(questions)).mean()
    return {
        "loss": loss.item(),
        "greedy": verify(questions, best).mean().item(),
        # The mean of all that were drawn, and how often at least one of a group is right. Where
        # none is, reinforcement learning has nothing to make likelier.
        "drawn": rewards.mean().item(),
        "any": rewards.amax(dim=1).mean().item(),
    }


def example(n_digits: int = 2, n_questions: int = 3, n_solved: int = 5) -> Tensor:
    r"""
    ## Example

    Two digits, five solved questions, and three steps.

    ### Measured here

    Without this start, training with rewards ends at
    [0.0 %](../../results/grpo.json#tables.ways.Without%20the%20start.greedy) right answers after
    200 steps.

    What if imitation goes on for 200 more steps, with the same 50 questions? New questions are
    answered right no more often,
    [26.7 %](../../results/grpo.json#tables.ways.Imitation%20of%20the%20same%2050.greedy), and the
    loss of right answers rises from
    [0.466](../../results/grpo.json#tables.ways.Start%3A%2050%20solved%20questions.loss) to
    [0.877](../../results/grpo.json#tables.ways.Imitation%20of%20the%20same%2050.loss) nats: the
    model has become sure of its mistakes. Of eight drawn answers at least one is right for [46.7
    %](../../results/grpo.json#tables.ways.Start%3A%2050%20solved%20questions.any) of the questions
    after the start, and for [38.2
    %](../../results/grpo.json#tables.ways.Imitation%20of%20the%20same%2050.any) after the longer
    imitation. Where none of the eight is right, rewards have nothing to make likelier.

    ### If you have right answers

    If you have right answers, imitate them. With answers to 3,200 questions, as many questions as
    most of the other trainings get checks for, imitation comes to [89.2
    %](../../results/grpo.json#tables.ways.Imitation%20of%203%2C200%20right%20answers.greedy) in
    [1.5](../../results/grpo.json#tables.ways.Imitation%20of%203%2C200%20right%20answers.seconds)
    seconds of one core, further than anything else on these pages, and many times as fast. The
    [verifier](verifier.py) is for tasks where nobody has written the answers.

    ### Exercises

    ??? question "Of 50 solved questions, how many different first digits do the answers have?"
        Five or six in most cases (in our three runs 4, 5 and 5): the smallest of six random digits
        is rarely a large one. It is 5 or more in one case of 64. What is rare in 50 examples can't
        be learned from them.

    ??? question "Why is the loss of the question left out? What would a model learn from it?"
        The 50 questions by heart: their loss falls below $\ln 10$, and that of new questions rises
        above it. Digits are drawn at random, so the next digit of a new question can't be guessed
        from old ones. It even does harm: in a try with three seeds, the model then sorted less than
        half as many new questions.

    ??? question "More imitation: more drawn answers are right, but of fewer questions. How?"
        The model gets surer of *one* answer to each question. In a try with three seeds, its
        eight answers to a question were about seven different ones after the start, and three or
        four after the longer imitation. If the model is sure of the right one, most of the eight
        are right. If it is sure of a wrong one, the right one hardly comes up any more.
    """
    # A narrow model, in which you see the same shapes.
    sizes = Sizes(n_digits, n_solved, d_model=8, heads=2)
    model = AutoregressiveTransformer(*sizes.of_model())
    imitate(model, solved_batches(sizes, seed=1), 3)

    # New questions. After three steps the answers are not much better than random ones.
    questions = draw_questions(n_digits, n_questions, torch.Generator().manual_seed(1))
    return answer(model, questions)
