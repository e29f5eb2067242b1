r"""GRPO against loops over numbers, and against the exact gradient where all answers are known."""

import math
from collections.abc import Callable
from functools import partial
from itertools import product

import pytest
import torch
from torch import Tensor

from labml_nn.reinforcement import grpo as page
from labml_nn.transformers.basic.autoregressive_model import AutoregressiveTransformer
from tests.labml_nn.transformers.seam import equals
from tests.oracles.compare import largest

N_TOKENS, N_QUESTIONS, N_ANSWERS = 5, 2, 3
# All answers of up to two tokens from 0, 1 and the end, 2; and the places that count.
ANSWERS = torch.tensor([[2, 0], [0, 2], [1, 2], [0, 0], [0, 1], [1, 0], [1, 1]]).t()
MASK = torch.tensor([[1, 0]] + [[1, 1]] * 6).t().bool()
GROUPS = torch.tensor(list(product(range(7), repeat=3)))


def random_case() -> tuple[Tensor, ...]:
    shape = N_TOKENS, N_QUESTIONS * N_ANSWERS
    new, old, reference = torch.randn(3, *shape, dtype=torch.float64) * 0.3 - 1.0
    lengths = torch.tensor([5, 1, 3, 2, 5, 4])
    mask = torch.arange(N_TOKENS)[:, None] < lengths
    rewards = torch.rand(N_QUESTIONS, N_ANSWERS, dtype=torch.float64)
    return new.requires_grad_(), old, reference, rewards, mask


def by_loops(
    new: Tensor, old: Tensor, reference: Tensor, rewards: Tensor, mask: Tensor,
    clip: float, beta: float, divide: bool, fixed_length: bool,
) -> Tensor:  # fmt: skip
    r"""The formula of the paper, one token at a time."""
    total = torch.zeros((), dtype=torch.float64)
    for question, group in enumerate(rewards.tolist()):
        mean = sum(group) / len(group)
        deviation = math.sqrt(sum((one - mean) ** 2 for one in group) / len(group))
        for number, reward in enumerate(group):
            at = question * len(group) + number
            advantage = (reward - mean) / ((deviation + 1e-4) if divide else 1)
            length = int(mask[:, at].sum())
            for t in range(length):
                ratio = math.e ** (new[t, at] - old[t, at])
                bounded = min(max(ratio, 1 - clip), 1 + clip)
                gain = min(ratio * advantage, bounded * advantage)
                shift = reference[t, at] - new[t, at]
                kl = math.e**shift - shift - 1
                total = total + (gain - beta * kl) / (len(mask) if fixed_length else length)
    return -total / rewards.numel()


def from_loops(divide: bool, fixed_length: bool) -> float:
    r"""How far the loss and its gradient are from those of loops."""
    torch.manual_seed(1)
    new, old, reference, rewards, mask = random_case()
    advantages = page.group_advantages(rewards, divide).flatten()
    found = page.grpo_loss(new, old, reference, advantages, mask, 0.2, 0.7, fixed_length)
    wanted = by_loops(new, old, reference, rewards, mask, 0.2, 0.7, divide, fixed_length)
    (mine,), (theirs,) = torch.autograd.grad(found, new), torch.autograd.grad(wanted, new)
    plain = page.grpo_loss(new, old, reference, advantages, mask)
    usual = by_loops(new, old, reference, rewards, mask, 0.2, 0.04, divide, False)
    assert torch.equal(page.group_advantages(rewards), page.group_advantages(rewards, True))
    # Some tokens of this case are beyond the clip.
    assert (((new - old).exp() - 1).abs()[mask] > 0.2).any()
    return largest([found, mine, plain], [wanted, theirs, usual])


def from_enumeration() -> float:
    r"""How far the expected gradient is from that of the expected reward, over all answers."""
    found, exact = expected(partial(page.group_advantages, divide=False), fixed_length=True)
    # Two tokens, and a mean of three that contains the answer itself.
    return largest([found], [exact / 2 * (1 - 1 / 3)])


ORACLES = {
    "loops over tokens": lambda: from_loops(divide=True, fixed_length=False),
    "loops, without the divisions": lambda: from_loops(divide=False, fixed_length=True),
    "the gradient over all answers": lambda: from_enumeration(),
}
test_it_is_what_others_compute = equals(ORACLES)


def expected(advantages: Callable[[Tensor], Tensor], fixed_length: bool) -> tuple[Tensor, Tensor]:
    r"""The gradient of the loss, averaged over all groups of three, and of the expected reward."""
    torch.manual_seed(1)
    logits = torch.randn(3, 3, dtype=torch.float64, requires_grad=True)
    # Row 0 is for the first token, row 1 + a for the one after a.
    rows = torch.stack([torch.zeros(7, dtype=torch.long), (1 + ANSWERS[0]) % 3])
    tokens = logits.log_softmax(dim=-1)[rows, ANSWERS]
    probabilities = (tokens * MASK).sum(dim=0).exp()
    assert probabilities.sum().item() == pytest.approx(1)
    rewards = torch.rand(7, dtype=torch.float64)
    (exact,) = torch.autograd.grad(probabilities @ rewards, logits, retain_graph=True)

    old, losses = tokens.detach(), []
    for group in GROUPS:
        three = advantages(rewards[None, group]).flatten()
        parts = tokens[:, group], old[:, group], old[:, group], three, MASK[:, group]
        losses.append(page.grpo_loss(*parts, beta=0.0, fixed_length=fixed_length))
    weights = probabilities.detach()[GROUPS].prod(dim=1)
    (found,) = torch.autograd.grad(-weights @ torch.stack(losses), logits)
    return found, exact


def test_without_the_mean_the_expected_gradient_is_the_same_but_for_the_factor() -> None:
    # Without the mean it is the same but for the factor.
    found, exact = expected(lambda rewards: rewards, fixed_length=True)
    assert largest([found], [exact / 2]) < 1e-10


@pytest.mark.parametrize(("divide", "fixed_length"), [(True, True), (False, False)])
def test_each_division_turns_the_expected_gradient(divide: bool, fixed_length: bool) -> None:
    found, exact = expected(partial(page.group_advantages, divide=divide), fixed_length)
    cosine = torch.cosine_similarity(found.flatten(), exact.flatten(), dim=0).item()
    assert 0.5 < cosine < 0.995


def test_the_estimate_of_kl_is_exact_on_average_but_its_gradient_is_that_of_the_other_kl() -> None:
    logits = torch.randn(7, dtype=torch.float64, requires_grad=True)
    new, reference = logits.log_softmax(0), torch.randn(7, dtype=torch.float64).log_softmax(0)
    estimates = page.kl_estimate(new, reference)
    assert (estimates >= 0).all()
    average = new.detach().exp() @ estimates
    assert average.item() == pytest.approx((new.exp() @ (new - reference)).item(), abs=1e-12)
    (found,) = torch.autograd.grad(average, logits, retain_graph=True)
    (wanted,) = torch.autograd.grad(reference.exp() @ (reference - new), logits)
    assert largest([found], [wanted]) < 1e-10


def test_log_probabilities_are_those_of_a_model_that_has_read_as_far_and_no_further() -> None:
    # Its context is too short for the last token, after which nothing is predicted.
    model = AutoregressiveTransformer(11, 8, 2, 1, 8, seq_len=6).double()
    questions, answers = torch.randint(11, (3, 5)), torch.randint(11, (4, 5))
    tokens, wanted = torch.cat([questions, answers]), []
    for at in range(3, 7):
        last = model(tokens[:at])[-1].softmax(dim=-1)
        wanted.append(torch.stack([last[i, tokens[at, i]] for i in range(5)]).log())
    found = page.log_probabilities(model, questions, answers)
    assert largest([found], [torch.stack(wanted)]) < 1e-10
