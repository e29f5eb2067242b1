r"""
---
title: Sorting from Rewards Alone
summary: A model that sorts one list in three learns from being told which of its answers are right.
---

Can a model get better at a task if it is only told *right* or *wrong*? A question is six digits,
“594833=”, and the right answer the same digits in order, “334589;”. Take a model that sorts
[30.9 %](../../results/grpo.json#tables.ways.Start%3A%2050%20solved%20questions.greedy) of new
questions. In each step of [GRPO](grpo.py) it gets 16 questions and writes 8 answers to each: 128
answers, 25,600 in 200 steps. A [verifier](verifier.py) checks them. Then the model sorts
[51.2 %](../../results/grpo.json#tables.ways.GRPO.greedy), and has not been shown one right answer
more.

**In:** the model of [a start by imitation](imitation.py), and a verifier. **Out:** a model that
sorts better, and the curves of its training.

Large models learn to write longer and longer answers in this way, with reasoning in them, as
[DeepSeek-R1](https://arxiv.org/abs/2501.12948) did. That can't happen here: a right answer has
seven tokens.
"""

from copy import deepcopy
from typing import Any

import torch
from torch import Tensor, nn

from labml_nn.reinforcement.imitation import (
    Sizes,
    answer,
    answer_gradients,
    measure,
    optimizer,
    solved_batches,
)
from labml_nn.reinforcement.verifier import draw_questions, show, verify
from labml_nn.reinforcement.written_batches import from_rewards
from labml_nn.training.loop import train
from labml_nn.training.run import Run
from labml_nn.transformers.basic.autoregressive_model import AutoregressiveTransformer

# The same for all trainings with rewards. Our guess is that 0.001 is better, and 0.003, the rate of
# imitation, too high: we saw that with one seed, and have not recorded it.
RATE = 4e-4


def improve(
    model: nn.Module, sizes: Sizes, steps: int, seed: int, **options: Any
) -> list[dict[str, float]]:
    r"""
    ## Reinforcement learning

    The same training loop. What is new is where its batches come from: [the model writes
    them](written_batches.py). `options` are those of the batches. The result has a few numbers for
    each step.
    """
    # Whatever the reward and the advantages are, the loop and the optimizer are the same.
    batch_at, gradients, history = from_rewards(model, sizes, seed, **options)
    train(model, batch_at, [optimizer(model, RATE)], steps, gradients=gradients)
    return history


def notebook(steps: int = 300, seed: int = 1) -> None:
    r"""
    ## Try it

    Less than half a minute on two cores. No GPU is used, and nothing is kept in a file. There are
    300 steps here, and 200 in the table below.
    """
    # ### The start
    # Fifty solved questions and 60 steps. The model's [run](../training/run.py) keeps the
    # optimizer, the step and the losses. To start from scratch, run this cell again.
    sizes = Sizes()
    torch.manual_seed(seed)
    start = AutoregressiveTransformer(*sizes.of_model())
    solved = solved_batches(sizes, seed)
    how = {"gradients": answer_gradients, "name": "imitation"}
    imitation = Run(start, solved, [optimizer(start, 3e-3)], **how)

    # It takes about a second.
    imitation.train(60)
    start.eval()
    found = measure(start, sizes)
    print(f"validation loss {found['loss']:.3f}, right: {found['greedy']:.1%}")

    # ### Answers and their check
    # One question, eight answers, and their rewards. An answer ends at its first “;”: what is drawn
    # after that doesn't count. Most of the wrong ones are in order, but a digit or two are missing,
    # and others stand in their place.
    questions = draw_questions(sizes.n_digits, 1, torch.Generator().manual_seed(seed))
    groups = questions.expand(-1, sizes.n_answers)
    answers = answer(start, groups)
    for said, reward in zip(answers.t(), verify(groups, answers).tolist(), strict=True):
        print(show(questions[:, 0]), show(said), reward)

    # ### Learn from rewards
    # A copy of the start learns, from new questions. To begin again, run this cell again. To reward
    # the order alone, add `judge=lambda asked, said: in_order(said).float()` to the arguments of
    # `from_rewards`.
    model = deepcopy(start)
    batch_at, gradients_of_batch, history = from_rewards(model, sizes, 1000 + seed)
    optimizers = [optimizer(model, RATE)]
    run = Run(model, batch_at, optimizers, gradients=gradients_of_batch, name="rewards")

    # Stop it when you like; run this cell again, and it goes on. Don't wait for the loss to fall:
    # the advantages of a group add up to zero, so what is left of the loss is the distance to the
    # start, which begins at 0. The reward is below.
    run.train(steps)
    model.eval()
    found = measure(model, sizes)
    print(f"validation loss {found['loss']:.3f}, right: {found['greedy']:.1%}")

    # The same question again. More of its eight answers should be right, and they should differ
    # less.
    print(*map(show, answer(model, groups).t()))

    # ### The curves
    # The reward, the distance to the start (“kl”), how unsure the model is (“entropy”), and the
    # share of groups whose answers are all right or all wrong (“silent”). Means of ten steps, since
    # 16 questions can be easier or harder.
    import matplotlib.pyplot as plt

    for key in ("reward", "kl", "entropy", "silent"):
        values = torch.tensor([one[key] for one in history])
        plt.plot(values[: len(values) // 10 * 10].view(-1, 10).mean(dim=1).tolist(), label=key)
    plt.xlabel("tens of steps")
    plt.legend()
    plt.show()


def example(n_digits: int = 2, n_questions: int = 3, n_answers: int = 5) -> Tensor:
    r"""
    ## Example

    The reward of five steps, which are too few to see it rise.

    ### Measured here

    [What each training comes to after 200 steps, or 400 if each draw is used four times: means of
    three seeds](../../results/grpo.json#tables.ways)

    The 200 steps take [14.1](../../results/grpo.json#tables.ways.GRPO.seconds) seconds of one core.
    [What to watch](signals.py) tells how such a training goes wrong. This one goes well: the
    entropy falls slowly, and
    [33.3 %](../../results/grpo.json#tables.training.GRPO.silent) of the groups are silent in the
    end. [What did not help](grpo.py#example) is on the page of the method.

    ### Exercises

    ??? question "How many answers are drawn in 200 steps, and how many right ones are shown?"
        25,600 answers to 3,200 questions, and none. What is right among them, the model has found
        by itself.

    ??? question "Leave out `imitation.train(60)`. What happens?"
        All rewards are zero, so all advantages are, and no weight moves. In the table it is the
        row without the start.

    ??? question "Pass `judge=lambda asked, said: in_order(said).float()`. What is written then?"
        Digits in order, but often too few or not those of the question: [the hole](verifier.py) in
        the check rewards them as well.

    ??? question "A second model writes the answers, and never gets new weights. What looks odd?"
        The reward stays 0, and all groups are silent: it has random weights of its own, and is
        never right. Load the weights once, before the first step, and the reward stays at that of
        the start, because the old weights go on answering. The curve hides that the model learns
        from these answers all the same.
    """
    # Two digits, and a model of eight features.
    sizes = Sizes(n_digits, 0, n_questions, n_answers, d_model=8, heads=2)
    model = AutoregressiveTransformer(*sizes.of_model())

    # Sorting needs a start. Here a first token above 4 is rewarded, and seven of the twelve tokens
    # are.
    history = improve(model, sizes, 5, seed=1, judge=lambda asked, said: (said[0] > 4).float())
    return torch.tensor([one["reward"] for one in history])
