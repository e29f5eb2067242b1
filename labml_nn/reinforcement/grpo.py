r"""
---
title: GRPO
summary: Draw several answers to each question, check them, and make the better ones likelier.
paper:
  title: "DeepSeekMath: Pushing the Limits of Mathematical Reasoning in Open Language Models"
  authors: Shao et al.
  year: 2024
  link: https://arxiv.org/abs/2402.03300
terms:
  advantage: How much better an answer was than expected.
---

TEXT
"""

import torch
from torch import Tensor, nn


def log_probabilities(model: nn.Module, questions: Tensor, answers: Tensor) -> Tensor:
    r"""
    ## Log-probabilities
    """
    # One.
    logits = model(torch.cat([questions, answers])[:-1])[len(questions) - 1 :]
    return logits.log_softmax(dim=-1).gather(-1, answers.unsqueeze(-1)).squeeze(-1)


def group_advantages(rewards: Tensor, divide: bool = True) -> Tensor:
    r"""
    ## Advantages
    """
    # Mean.
    advantages = rewards - rewards.mean(dim=1, keepdim=True)
    if not divide:
        return advantages
    return advantages / (rewards.std(dim=1, keepdim=True, correction=0) + 1e-4)


def clipped_gain(ratio: Tensor, advantages: Tensor, clip: float) -> Tensor:
    r"""
    ## Clipped ratio
    """
    # Smaller.
    return torch.minimum(ratio * advantages, ratio.clamp(1 - clip, 1 + clip) * advantages)


def kl_estimate(new: Tensor, reference: Tensor) -> Tensor:
    r"""
    ## KL
    """
    # k3.
    difference = reference - new
    return difference.exp() - 1 - difference


def grpo_loss(
    new: Tensor, old: Tensor, reference: Tensor, advantages: Tensor, mask: Tensor,
    clip: float = 0.2, beta: float = 0.04, fixed_length: bool = False,
) -> Tensor:
    r"""
    ## Loss
    """
    # Gain.
    gain = clipped_gain((new - old).exp(), advantages, clip)
    gain = gain - beta * kl_estimate(new, reference)

    # Length.
    length = len(mask) if fixed_length else mask.sum(dim=0)
    return -((gain * mask).sum(dim=0) / length).mean()
