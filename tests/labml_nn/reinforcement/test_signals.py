r"""Six numbers of a step, by loops over tokens."""

import math

import pytest
import torch
from torch import Tensor

from labml_nn.reinforcement import signals as page
from labml_nn.reinforcement.grpo import group_advantages, grpo_loss
from tests.labml_nn.transformers.seam import equals

# Four questions, eight answers to each, and 64 tokens that count: with these, the shares are exact
# in the single precision that true and false become.
N_TOKENS, N_QUESTIONS, N_ANSWERS = 5, 4, 8
LENGTHS = torch.tensor([1, 2, 3, 2, 1, 1, 5, 1] * 4)


def random_case() -> tuple[Tensor, ...]:
    torch.manual_seed(1)
    new, old, reference = torch.randn(3, N_TOKENS, len(LENGTHS), dtype=torch.float64) * 0.4 - 1.0
    rewards = torch.rand(N_QUESTIONS, N_ANSWERS, dtype=torch.float64)
    rewards[2] = 0.25
    return new.requires_grad_(), old, reference, rewards, torch.arange(N_TOKENS)[:, None] < LENGTHS


def by_loops(
    new: Tensor, old: Tensor, reference: Tensor, rewards: Tensor, clip: float
) -> dict[str, float]:
    r"""The same numbers, one token at a time."""
    places = [(t, i) for i, length in enumerate(LENGTHS.tolist()) for t in range(length)]
    assert len(places) == 64
    entropy, kl, clipped = 0.0, 0.0, 0
    for place in places:
        now, then, start = (x[place].item() for x in (new, old, reference))
        entropy -= now / len(places)
        kl += (math.exp(start) / math.exp(now) - 1 - (start - now)) / len(places)
        ratio = math.exp(now) / math.exp(then)
        clipped += not 1 - clip <= ratio <= 1 + clip
    groups = rewards.tolist()
    return {
        "reward": sum(map(sum, groups)) / len(LENGTHS),
        "length": len(places) / len(LENGTHS),
        "silent": sum(len({*group}) == 1 for group in groups) / len(groups),
        "entropy": entropy,
        "kl": kl,
        "clipped": clipped / len(places),
    }


def from_loops(clip: float) -> float:
    r"""The largest difference of the six."""
    *parts, mask = random_case()
    found, expected = page.signals(*parts, mask, clip), by_loops(*parts, clip)
    assert list(found) == ["reward", "length", "silent", "entropy", "kl", "clipped"]
    assert 0 < found["clipped"] < 1 and found["silent"] == 0.25
    return max(abs(found[name] - expected[name]) for name in expected)


ORACLES = {
    "loops over tokens": lambda: from_loops(0.2),
    "loops, with another clip": lambda: from_loops(0.45),
}
test_it_is_what_loops_find = equals(ORACLES)


def test_in_the_first_step_with_new_answers_the_loss_is_zero_whatever_was_drawn() -> None:
    new, _, _, rewards, mask = random_case()
    advantages = group_advantages(rewards).flatten()
    assert advantages.abs().max() > 1
    assert grpo_loss(new, new, new, advantages, mask).item() == pytest.approx(0, abs=1e-12)


def test_over_all_tokens_the_estimate_of_the_entropy_is_the_entropy() -> None:
    logits = torch.randn(7, dtype=torch.float64)
    exact = torch.distributions.Categorical(logits=logits).entropy().item()
    logarithms = logits.log_softmax(dim=0)
    # Each token as an answer of its own, weighted by how often it is drawn.
    found = 0.0
    for logarithm in logarithms:
        one = logarithm.expand(1, 2)
        mask, rewards = torch.ones(1, 2, dtype=torch.bool), torch.zeros(1, 2)
        estimate = page.signals(one, one, one, rewards, mask, 0.2)["entropy"]
        found += logarithm.exp().item() * estimate
    assert found == pytest.approx(exact, abs=1e-12)
