r"""
---
title: Sorting from Rewards Alone
summary: A small transformer imitates 50 solved questions, and then learns from a check.
---

TEXT
"""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from labml_nn.reinforcement.grpo import (
    group_advantages, grpo_loss, kl_estimate, log_probabilities,
)
from labml_nn.reinforcement.verifier import (
    SYMBOLS, Judge, answer_mask, draw_questions, show, solve, verify,
)
from labml_nn.training.loop import train
from labml_nn.training.sampling import Choose, draw, generate, greedy
from labml_nn.transformers.basic.autoregressive_model import AutoregressiveTransformer
from labml_nn.transformers.kv_cache import CachedTransformer


@dataclass(frozen=True)
class Sizes:
    r"""
    ## Sizes
    """

    # Digits.
    n_digits: int = 6
    n_solved: int = 50

    # Step.
    n_questions: int = 16
    n_answers: int = 8

    # Model.
    d_model: int = 64
    heads: int = 4

    def of_model(self) -> tuple[int, ...]:
        r"""
        ### Arguments of the model
        """
        # Two layers.
        seq_len = 2 * self.n_digits + 3
        return len(SYMBOLS), self.d_model, self.heads, 2, 4 * self.d_model, seq_len


def answer(
    model: nn.Module, questions: Tensor, choose: Choose = draw,
    generator: torch.Generator | None = None,
) -> Tensor:
    r"""
    ## Answers
    """
    # One more.
    n_tokens = len(questions) + 1
    seq_len = len(questions) + n_tokens
    return generate(model, questions, n_tokens, seq_len, choose, generator)[len(questions) :]


def optimizer(model: nn.Module, rate: float) -> torch.optim.AdamW:
    r"""
    ## Optimizer
    """
    # No decay.
    return torch.optim.AdamW(model.parameters(), rate, betas=(0.9, 0.99), weight_decay=0.0)


def imitate(
    model: nn.Module, batch_at: Callable[[int], tuple[Tensor, Tensor]], steps: int
) -> None:
    r"""
    ## Imitation
    """

    def gradients(model: nn.Module, questions: Tensor, answers: Tensor) -> Tensor:
        # Only answers.
        loss = -log_probabilities(model, questions, answers).mean()
        loss.backward()
        return loss.detach()

    train(model, batch_at, [optimizer(model, 3e-3)], steps, gradients=gradients)


def solved_batches(
    sizes: Sizes, seed: int, batch_size: int = 32
) -> Callable[[int], tuple[Tensor, Tensor]]:
    r"""
    ## Solved
    """
    # Few.
    generator = torch.Generator().manual_seed(seed)
    questions = draw_questions(sizes.n_digits, sizes.n_solved, generator)

    def at(step: int) -> tuple[Tensor, Tensor]:
        chosen = torch.randint(sizes.n_solved, (batch_size,), generator=generator)
        return questions[:, chosen], solve(questions[:, chosen])

    return at


def in_groups(questions: Tensor, answers: Tensor, rewards: Tensor) -> Tensor:
    r"""
    ## Advantages of GRPO
    """
    # One for each.
    return group_advantages(rewards).flatten()


def improve(
    model: nn.Module, sizes: Sizes, steps: int, seed: int, *,
    judge: Judge = verify,
    advantages: Callable[[Tensor, Tensor, Tensor], Tensor] = in_groups,
    clip: float = 0.2, beta: float = 0.04, fixed_length: bool = False, updates: int = 1,
) -> list[dict[str, float]]:
    r"""
    ## Reinforcement
    """
    # Copies.
    generator = torch.Generator().manual_seed(seed)
    reference = AutoregressiveTransformer(*sizes.of_model())
    reference.load_state_dict(model.state_dict())
    writer = CachedTransformer(*sizes.of_model())
    drawn: dict[str, Tensor] = {}
    history: list[dict[str, float]] = []

    def batch_at(step: int) -> tuple[Tensor, Tensor]:
        # Draw.
        if step % updates == 0:
            questions = draw_questions(sizes.n_digits, sizes.n_questions, generator)
            questions = questions.repeat_interleave(sizes.n_answers, dim=1)
            writer.load_state_dict(model.state_dict())
            writer.clear()
            answers = answer(writer, questions, generator=generator)
            rewards = judge(questions, answers).view(sizes.n_questions, sizes.n_answers)

            # Keep.
            drawn.update(questions=questions, answers=answers, rewards=rewards)
            drawn["advantages"] = advantages(questions, answers, rewards)
            with torch.no_grad():
                drawn["old"] = log_probabilities(model, questions, answers)
                drawn["reference"] = log_probabilities(reference, questions, answers)
        return drawn["questions"], drawn["answers"]

    def gradients(model: nn.Module, questions: Tensor, answers: Tensor) -> Tensor:
        # Loss.
        mask = answer_mask(answers)
        new = log_probabilities(model, questions, answers)
        arguments = new, drawn["old"], drawn["reference"], drawn["advantages"], mask
        loss = grpo_loss(*arguments, clip, beta, fixed_length)
        loss.backward()

        # Record.
        new = new.detach()
        rewards = drawn["rewards"]
        outside = ((new - drawn["old"]).exp() - 1).abs() > clip
        history.append({
            "reward": rewards.mean().item(),
            "length": mask.sum(dim=0).float().mean().item(),
            "kl": kl_estimate(new, drawn["reference"])[mask].mean().item(),
            "entropy": -new[mask].mean().item(),
            "silent": (rewards.std(dim=1) == 0).float().mean().item(),
            "clipped": outside[mask].float().mean().item(),
        })
        return loss.detach()

    train(model, batch_at, [optimizer(model, 4e-4)], steps, gradients=gradients)
    return history


def measure(model: nn.Module, sizes: Sizes, n_questions: int = 500) -> dict[str, float]:
    r"""
    ## Measure
    """
    # The same.
    generator = torch.Generator().manual_seed(0)
    questions = draw_questions(sizes.n_digits, n_questions, generator)
    groups = questions.repeat_interleave(sizes.n_answers, dim=1)
    rewards = verify(groups, answer(model, groups, generator=generator))
    best = answer(model, questions, greedy)
    with torch.no_grad():
        loss = -log_probabilities(model, questions, solve(questions)).mean()
    return {
        "loss": loss.item(),
        "greedy": verify(questions, best).mean().item(),
        "drawn": rewards.mean().item(),
        "any": rewards.view(n_questions, -1).amax(dim=1).mean().item(),
        "length": answer_mask(best).sum(dim=0).float().mean().item(),
    }
