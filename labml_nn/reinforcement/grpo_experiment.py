r"""
---
title: Sorting from Rewards Alone
summary: A small transformer imitates 50 solved questions, and goes on with a check alone.
---

TEXT
"""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from labml_nn.reinforcement.grpo import (
    group_advantages,
    grpo_loss,
    kl_estimate,
    log_probabilities,
)
from labml_nn.reinforcement.verifier import (
    SYMBOLS,
    Judge,
    answer_mask,
    draw_questions,
    show,
    solve,
    verify,
)
from labml_nn.training.loop import train
from labml_nn.training.sampling import Choose, draw, generate, greedy
from labml_nn.transformers.basic.autoregressive_model import AutoregressiveTransformer
from labml_nn.transformers.kv_cache import CachedTransformer

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

    # The model is small: 102,412 parameters.
    d_model: int = 64
    heads: int = 4

    def of_model(self) -> tuple[int, ...]:
        r"""
        ### Arguments of the model

        Two layers, and room for a question and an answer that is one token too long.
        """
        seq_len = 2 * self.n_digits + 3
        return len(SYMBOLS), self.d_model, self.heads, 2, 4 * self.d_model, seq_len


def optimizer(model: nn.Module, rate: float) -> torch.optim.AdamW:
    r"""
    ## Optimizer
    """
    # Without weight decay, so that a step without any gradient moves nothing.
    return torch.optim.AdamW(model.parameters(), rate, betas=(0.9, 0.99), weight_decay=0.0)


def solved_batches(sizes: Sizes, seed: int, batch_size: int = 32) -> Batches:
    r"""
    ## Solved questions

    Batches of the few questions that come with an answer.
    """
    generator = torch.Generator().manual_seed(seed)
    questions = draw_questions(sizes.n_digits, sizes.n_solved, generator)

    def at(step: int) -> tuple[Tensor, Tensor]:
        # Some of them. After 60 steps each of 50 was seen about 38 times.
        chosen = torch.randint(sizes.n_solved, (batch_size,), generator=generator)
        return questions[:, chosen], solve(questions[:, chosen])

    return at


def imitate(model: nn.Module, batch_at: Batches, steps: int) -> None:
    r"""
    ## Imitation

    The [training loop](../training/loop.py#train) that all models of this site have.
    """

    def gradients(model: nn.Module, questions: Tensor, answers: Tensor) -> Tensor:
        # Cross entropy, of the answers only: digits of a question are random, and can't be learned.
        loss = -log_probabilities(model, questions, answers).mean()
        loss.backward()
        return loss.detach()

    train(model, batch_at, [optimizer(model, 3e-3)], steps, gradients=gradients)


def answer(
    model: nn.Module, questions: Tensor, choose: Choose = draw,
    generator: torch.Generator | None = None,
) -> Tensor:
    r"""
    ## Answers of the model
    """
    # One token more than is needed, so that an answer can be too long.
    n_tokens = len(questions) + 1
    seq_len = len(questions) + n_tokens
    return generate(model, questions, n_tokens, seq_len, choose, generator)[len(questions) :]


def in_groups(questions: Tensor, answers: Tensor, rewards: Tensor) -> Tensor:
    r"""
    ## Advantages of GRPO
    """
    # One for each answer. What [a critic](ppo.py) gives instead depends on questions and answers.
    return group_advantages(rewards).flatten()


def improve(
    model: nn.Module, sizes: Sizes, steps: int, seed: int, *,
    judge: Judge = verify,
    advantages: Callable[[Tensor, Tensor, Tensor], Tensor] = in_groups,
    clip: float = 0.2, beta: float = 0.04, fixed_length: bool = False, updates: int = 1,
) -> list[dict[str, float]]:
    r"""
    ## Reinforcement learning

    The same training loop. What is new is where its batches come from: the model writes them.

    * `judge` gives the rewards, and `advantages` what the loss makes of them
    * `updates` is the number of steps that are made with the same answers
    * the other arguments are those of [the loss](grpo.py#grpo_loss)

    The result has a few numbers for each step.
    """
    # The reference keeps the weights of the start.
    reference = AutoregressiveTransformer(*sizes.of_model())
    reference.load_state_dict(model.state_dict())

    # Writing takes most of the time, so a model with [a cache](../transformers/kv_cache.py) does
    # it, with the same weights. Large trainings have a program of its own for that.
    writer = CachedTransformer(*sizes.of_model())
    generator = torch.Generator().manual_seed(seed)
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

            # A row of rewards for each question.
            rewards = judge(questions, answers).view(sizes.n_questions, sizes.n_answers)
            drawn.update(questions=questions, answers=answers, rewards=rewards)
            drawn["advantages"] = advantages(questions, answers, rewards)

            # What the loss compares with has no gradient.
            with torch.no_grad():
                drawn["old"] = log_probabilities(model, questions, answers)
                drawn["reference"] = log_probabilities(reference, questions, answers)
        return drawn["questions"], drawn["answers"]

    def gradients(model: nn.Module, questions: Tensor, answers: Tensor) -> Tensor:
        mask = answer_mask(answers)
        new = log_probabilities(model, questions, answers)
        arguments = new, drawn["old"], drawn["reference"], drawn["advantages"], mask
        loss = grpo_loss(*arguments, clip, beta, fixed_length)
        loss.backward()

        # A token of probability $p$ has $-\\ln p$; its mean over drawn tokens estimates the entropy.
        # A group is silent if all its rewards are equal.
        new = new.detach()
        outside = ((new - drawn["old"]).exp() - 1).abs() > clip
        history.append({
            "reward": drawn["rewards"].mean().item(),
            "length": mask.sum(dim=0).float().mean().item(),
            "kl": kl_estimate(new, drawn["reference"])[mask].mean().item(),
            "entropy": -new[mask].mean().item(),
            "silent": (drawn["rewards"].std(dim=1) == 0).float().mean().item(),
            "clipped": outside[mask].float().mean().item(),
        })
        return loss.detach()

    train(model, batch_at, [optimizer(model, 4e-4)], steps, gradients=gradients)
    return history


def measure(model: nn.Module, sizes: Sizes, n_questions: int = 500) -> dict[str, float]:
    r"""
    ## What it can do

    Shares of right answers to new questions, and the loss of the right answers.
    """
    # The same questions for every model. Those of trainings have other seeds.
    generator = torch.Generator().manual_seed(0)
    questions = draw_questions(sizes.n_digits, n_questions, generator)

    # Always the likeliest token, and drawn several times.
    best = answer(model, questions, greedy)
    groups = questions.repeat_interleave(sizes.n_answers, dim=1)
    rewards = verify(groups, answer(model, groups, generator=generator)).view(n_questions, -1)
    with torch.no_grad():
        loss = -log_probabilities(model, questions, solve(questions)).mean()
    return {
        "loss": loss.item(),
        "greedy": verify(questions, best).mean().item(),
        "drawn": rewards.mean().item(),
        "any": rewards.amax(dim=1).mean().item(),
    }


def notebook(steps: int = 300, seed: int = 1) -> None:
    r"""
    ## In a notebook

    About half a minute on one core. A GPU wouldn't help: the model is too small.
    """
    # ### The start
    # Fifty solved questions, 60 steps.
    sizes = Sizes()
    torch.manual_seed(seed)
    model = AutoregressiveTransformer(*sizes.of_model())
    imitate(model, solved_batches(sizes, seed), 60)
    found = measure(model, sizes)
    print(f"validation loss {found['loss']:.3f}, right: {found['greedy']:.1%}")

    # ### Answers and their check
    # One question, eight answers.
    questions = draw_questions(sizes.n_digits, 1, torch.Generator().manual_seed(seed))
    groups = questions.expand(-1, sizes.n_answers)
    answers = answer(model, groups)
    for said, reward in zip(answers.t(), verify(groups, answers).tolist(), strict=True):
        print(show(questions[:, 0]), show(said), reward)

    # ### Reinforcement learning
    # Try `judge=lambda asked, said: in_order(said).float()`, and look at the answers again.
    history = improve(model, sizes, steps, 1000 + seed)
    found = measure(model, sizes)
    print(f"validation loss {found['loss']:.3f}, right: {found['greedy']:.1%}")

    # ### The curves
    # Means of ten steps, since 16 questions can be easier or harder.
    import matplotlib.pyplot as plt

    for key in ("reward", "kl", "entropy", "silent"):
        values = torch.tensor([one[key] for one in history])
        plt.plot(values[: len(values) // 10 * 10].view(-1, 10).mean(dim=1).tolist(), label=key)
    plt.xlabel("tens of steps")
    plt.legend()
    plt.show()


def example(
    n_digits: int = 2, n_questions: int = 3, n_answers: int = 5, d_k: int = 7
) -> Tensor:
    r"""
    ## Example

    EXERCISES
    """
    # Two heads.
    sizes = Sizes(n_digits, 11, n_questions, n_answers, 2 * d_k, 2)
    model = AutoregressiveTransformer(*sizes.of_model())
    imitate(model, solved_batches(sizes, seed=1), 2)

    # An untrained.
    improve(model, sizes, 2, seed=1, judge=lambda asked, said: (said[0] > 4).float())
    questions = draw_questions(n_digits, n_questions, torch.Generator().manual_seed(1))
    return log_probabilities(model, questions, solve(questions))
