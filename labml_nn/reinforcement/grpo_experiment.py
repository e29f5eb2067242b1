r"""
---
title: Sorting from Rewards Alone
summary: A model that sorts one question in three gets no more answers, only whether it is right.
---

**In:** the model of [a start by imitation](imitation.py), which sorts
[30.9 %](../../results/grpo.json#tables.ways.Start%3A%2050%20solved%20questions.greedy) of new
questions, and a [verifier](verifier.py). **Out:** a model that sorts
[51.2 %](../../results/grpo.json#tables.ways.GRPO.greedy) after 200 steps of [GRPO](grpo.py), and
has not been shown one more answer. A step draws 8 answers to each of 16 questions. The 200 steps
take [11.9](../../results/grpo.json#tables.ways.GRPO.seconds) seconds of one core.

[What each training comes to after 200 steps, or 400 if each draw is used four times: means of three
seeds](../../results/grpo.json#tables.ways)

[What to watch](signals.py) tells how such a training goes wrong. This one goes well: the entropy
falls slowly, and a third of the groups,
[33.3 %](../../results/grpo.json#tables.training.GRPO.silent), are silent in the end.

Large models learn to write longer and longer answers, with reasoning in them, as
[DeepSeek-R1](https://arxiv.org/abs/2501.12948) did. Nothing like that can happen here, for a right
answer has seven tokens. [What did not help](grpo.py#example) is on the page of the method.
"""

from collections.abc import Callable

import torch
from torch import Tensor, nn

from labml_nn.reinforcement.grpo import group_advantages, grpo_loss, log_probabilities
from labml_nn.reinforcement.imitation import (
    Sizes,
    answer,
    imitate,
    measure,
    optimizer,
    solved_batches,
)
from labml_nn.reinforcement.signals import signals
from labml_nn.reinforcement.verifier import (
    Judge,
    answer_mask,
    draw_questions,
    show,
    verify,
)
from labml_nn.training.loop import train
from labml_nn.transformers.basic.autoregressive_model import AutoregressiveTransformer
from labml_nn.transformers.kv_cache import CachedTransformer

# From questions, answers and rewards to advantages, one for each answer or one for each token.
Advantages = Callable[[Tensor, Tensor, Tensor], Tensor]


def in_groups(questions: Tensor, answers: Tensor, rewards: Tensor) -> Tensor:
    r"""
    ## Advantages of GRPO
    """
    # One for each answer. What [a critic](ppo.py) gives instead depends on questions and answers,
    # so these are arguments here, too.
    return group_advantages(rewards).flatten()


def improve(
    model: nn.Module,
    sizes: Sizes,
    steps: int,
    seed: int,
    *,
    judge: Judge = verify,
    advantages: Advantages = in_groups,
    clip: float = 0.2,
    beta: float = 0.04,
    fixed_length: bool = False,
    updates: int = 1,
) -> list[dict[str, float]]:
    r"""
    ## Reinforcement learning

    The same training loop. What is new is where its batches come from: the model writes them.

    * `judge` gives the rewards, and `advantages` what the loss makes of them
    * `updates` is the number of steps that are made with the same answers
    * the other arguments are those of [the loss](grpo.py#grpo_loss)

    The result has a few numbers for each step.
    """
    # The reference keeps the weights of the start. It is a second model in memory. With $\beta$ of
    # zero the loss needs none; here it stays, for the curve of the distance.
    reference = AutoregressiveTransformer(*sizes.of_model())
    reference.load_state_dict(model.state_dict())

    # Without a cache, writing would take more than half of the time. So a model with [a
    # cache](../transformers/kv_cache.py) writes, with the same weights. Large trainings have a
    # separate program for it.
    writer = CachedTransformer(*sizes.of_model())
    generator = torch.Generator().manual_seed(seed)

    # What is known of the newest answers, and what happened in each step so far.
    drawn: dict[str, Tensor] = {}
    history: list[dict[str, float]] = []

    def batch_at(step: int) -> tuple[Tensor, Tensor]:
        if step % updates == 0:
            # New questions, each as often as it is to be answered.
            questions = draw_questions(sizes.n_digits, sizes.n_questions, generator)
            questions = questions.repeat_interleave(sizes.n_answers, dim=1)

            # The writer gets the newest weights, and forgets what it has read with others.
            writer.load_state_dict(model.state_dict())
            writer.clear()
            answers = answer(writer, questions, generator=generator)

            # A row of rewards for each question: the answers of a row are compared with each other,
            # and with no others.
            rewards = judge(questions, answers).view(sizes.n_questions, sizes.n_answers)
            drawn.update(questions=questions, answers=answers, rewards=rewards)

            # One number for each answer, or one for each of its tokens.
            drawn["advantages"] = advantages(questions, answers, rewards)

            # What the loss compares with has no gradient. “Old” is the model that has drawn, before
            # any step with these answers.
            with torch.no_grad():
                drawn["old"] = log_probabilities(model, questions, answers)
                drawn["reference"] = log_probabilities(reference, questions, answers)

        # The loop calls them inputs and targets. It doesn't know that a model has written them.
        return drawn["questions"], drawn["answers"]

    def gradients(model: nn.Module, questions: Tensor, answers: Tensor) -> Tensor:
        # The model as it is now. In the first step with new answers, it is the old one, and all
        # ratios are 1.
        mask = answer_mask(answers)
        new = log_probabilities(model, questions, answers)

        # The loss, and a gradient for each weight.
        arguments = new, drawn["old"], drawn["reference"], drawn["advantages"], mask
        loss = grpo_loss(*arguments, clip, beta, fixed_length)
        loss.backward()

        # [What tells how the training goes](signals.py), since the loss doesn't.
        found = signals(new, drawn["old"], drawn["reference"], drawn["rewards"], mask, clip)
        history.append(found)
        return loss.detach()

    # Gradients that are estimated from a few answers are noisy, so the rate is about a seventh of
    # that of imitation. It is the same for all trainings with rewards.
    train(model, batch_at, [optimizer(model, 4e-4)], steps, gradients=gradients)
    return history


def notebook(steps: int = 300, seed: int = 1) -> None:
    r"""
    ## In a notebook

    About half a minute on one core. A GPU wouldn't help: the model is too small.
    """
    # ### The start
    # Fifty solved questions, 60 steps, and about a second.
    sizes = Sizes()
    torch.manual_seed(seed)
    model = AutoregressiveTransformer(*sizes.of_model())
    imitate(model, solved_batches(sizes, seed), 60)
    found = measure(model, sizes)
    print(f"validation loss {found['loss']:.3f}, right: {found['greedy']:.1%}")

    # ### Answers and their check
    # One question, eight answers, and their rewards. Most are in order, and have lost a digit or
    # have one twice.
    questions = draw_questions(sizes.n_digits, 1, torch.Generator().manual_seed(seed))
    groups = questions.expand(-1, sizes.n_answers)
    answers = answer(model, groups)
    for said, reward in zip(answers.t(), verify(groups, answers).tolist(), strict=True):
        print(show(questions[:, 0]), show(said), reward)

    # ### Reinforcement learning
    # Try `judge=lambda asked, said: in_order(said).float()`, and look at the answers again.
    # The seed is another one, so that new questions are drawn.
    history = improve(model, sizes, steps, 1000 + seed)
    found = measure(model, sizes)
    print(f"validation loss {found['loss']:.3f}, right: {found['greedy']:.1%}")

    # The same question again. More of its eight answers should be right, and they should differ
    # less.
    print(*map(show, answer(model, groups).t()))

    # ### The curves
    # Means of ten steps, since 16 questions can be easier or harder.
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

    ### Exercises

    ??? question "How many answers are drawn in 200 steps, and how many right ones are shown?"
        25,600 answers to 3,200 questions, and none. What is right among them, the model has found
        by itself.

    ??? question "Leave out `imitate` in the notebook. What happens?"
        All rewards are zero, so all advantages are, and no weight moves. In the table it is the
        row without the start.

    ??? question "Pass `judge=lambda asked, said: in_order(said).float()`. What is written then?"
        Digits in order, but often too few or not those of the question: [the hole](verifier.py) in
        the check rewards them as well.

    ??? question "You forget to load the newest weights into the writer. Which curve looks odd?"
        The reward stays 0, and all groups are silent: the writer has random weights of its own, and
        is never right. Load the weights once, before the first step, and the reward stays at that
        of the start, because the old weights go on answering.
    """
    # Two digits, and a model of eight features.
    sizes = Sizes(n_digits, 0, n_questions, n_answers, d_model=8, heads=2)
    model = AutoregressiveTransformer(*sizes.of_model())

    # Sorting needs a start. Here a first token above 4 is rewarded, and seven of the twelve tokens
    # are.
    history = improve(model, sizes, 5, seed=1, judge=lambda asked, said: (said[0] > 4).float())
    return torch.tensor([one["reward"] for one in history])
