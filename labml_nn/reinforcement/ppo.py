r"""
---
title: PPO and GAE
summary: A second model predicts the reward, so that each token gets an advantage of its own.
---

TEXT
"""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from labml_nn.reinforcement.verifier import answer_mask


def gae(rewards: Tensor, values: Tensor, gamma: float = 1.0, lam: float = 0.95) -> Tensor:
    r"""
    ## GAE
    """
    # Surprise.
    surprises = rewards + gamma * F.pad(values[1:], (0, 0, 0, 1)) - values

    # Backwards.
    advantages = [torch.zeros_like(values[0])]
    for surprise in surprises.flip(0):
        advantages.append(surprise + gamma * lam * advantages[-1])
    return torch.stack(advantages[:0:-1])


def at_the_end(rewards: Tensor, mask: Tensor) -> Tensor:
    r"""
    ## Rewards at the end
    """
    # Last.
    last = mask & ~F.pad(mask[1:], (0, 0, 0, 1))
    return last * rewards


class Critic(nn.Module):
    r"""
    ## Critic
    """

    def __init__(self, model: nn.Module, lam: float = 0.95, rate: float = 1e-3) -> None:
        super().__init__()
        # Value.
        self.model = model
        self.lam = lam
        self.optimizer = torch.optim.AdamW(model.parameters(), rate, weight_decay=0.0)

    def forward(self, questions: Tensor, answers: Tensor) -> Tensor:
        # Before each.
        values = self.model(torch.cat([questions, answers])[:-1])[len(questions) - 1 :]
        return values.squeeze(-1) * answer_mask(answers)

    def advantages(self, questions: Tensor, answers: Tensor, rewards: Tensor) -> Tensor:
        r"""
        ### Advantages
        """
        # Values.
        mask = answer_mask(answers)
        values = self(questions, answers)
        advantages = gae(at_the_end(rewards, mask), values.detach(), lam=self.lam)

        # Learn.
        returns = advantages + values.detach()
        loss = (values - returns).square().sum() / mask.sum()
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()

        # Whiten.
        mean = advantages[mask].mean()
        return (advantages - mean) / (advantages[mask].std() + 1e-4)
