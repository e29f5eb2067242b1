r"""GAE against its sum, and a critic against what it is told."""

import torch
from torch import Tensor, nn

from labml_nn.reinforcement.ppo import Critic, gae
from labml_nn.reinforcement.verifier import END, answer_mask
from labml_nn.transformers.basic.autoregressive_model import AutoregressiveTransformer
from labml_nn.transformers.models import Generator
from tests.labml_nn.transformers.seam import equals
from tests.oracles.compare import largest

ANSWERS = torch.tensor([[1, 2, 3, END, 7], [END, 1, 2, 3, 4], [5, 6, 7, 8, 9]]).t()
QUESTIONS = torch.tensor([[3, 1, 10], [2, 2, 10], [9, 0, 10]]).t()
LENGTHS = [4, 1, 5]


def critic(lam: float = 0.95) -> Critic:
    model = AutoregressiveTransformer(12, 8, 2, 1, 8, seq_len=8)
    model.generator = Generator(1, 8)
    return Critic(model.double(), lam)


def from_sums(gamma: float, lam: float) -> float:
    r"""How far advantages are from the sum of weighted surprises."""
    torch.manual_seed(1)
    furthest = 0.0
    rewards, values = torch.randn(2, 7, 3, dtype=torch.float64)
    found = gae(rewards, values, gamma, lam)
    for column in range(3):
        r, v = rewards[:, column].tolist(), [*values[:, column].tolist(), 0.0]
        surprises = [r[t] + gamma * v[t + 1] - v[t] for t in range(7)]
        for t in range(7):
            wanted = sum((gamma * lam) ** (k - t) * surprises[k] for k in range(t, 7))
            furthest = max(furthest, abs(found[t, column].item() - wanted))
    return furthest


CASES = [(0.9, 0.7), (1.0, 0.95), (0.8, 0.0), (1.0, 1.0)]
ORACLES = {
    "sums of weighted surprises": lambda: max(from_sums(*case) for case in CASES),
    "loops over the answers": lambda: from_loops(),
}
test_it_is_what_others_compute = equals(ORACLES)


def test_what_is_usual() -> None:
    rewards, values = torch.randn(2, 7, 3, dtype=torch.float64)
    assert largest([gae(rewards, values)], [gae(rewards, values, 1.0, 0.95)]) == 0
    usual = Critic(nn.Embedding(12, 1))
    assert (usual.lam, usual.optimizer.param_groups[0]["lr"]) == (0.95, 1e-3)
    assert Critic(nn.Embedding(12, 1), rate=0.1).optimizer.param_groups[0]["lr"] == 0.1


def test_a_value_depends_on_the_tokens_before_it_alone_and_is_zero_behind_the_end() -> None:
    module = critic()
    values = module(QUESTIONS, ANSWERS)
    assert [int(one.count_nonzero()) for one in values.t()] == LENGTHS
    text = torch.cat([QUESTIONS, ANSWERS])
    for at in range(5):
        assert largest([module.model(text[: 3 + at])[-1, 2, 0]], [values[at, 2]]) < 1e-10
    for at in range(5):
        changed = ANSWERS.clone()
        changed[at, 2] = (changed[at, 2] + 1) % 10
        moved = (module(QUESTIONS, changed) != values)[:, 2].nonzero().flatten().tolist()
        assert moved == list(range(at + 1, 5))


def by_loops(values: Tensor, rewards: list[float], lam: float) -> tuple[list[Tensor], Tensor]:
    r"""Advantages of each answer before they are brought to one size, and the critic's loss."""
    advantages, errors = [], []
    for column, length in enumerate(LENGTHS):
        v = [*values[:length, column], torch.zeros(())]
        ahead = [v[t + 1] - v[t] for t in range(length)]
        ahead[-1] = ahead[-1] + rewards[column]
        for t in range(length):
            advantages.append(sum(lam ** (k - t) * ahead[k] for k in range(t, length)).detach())
            errors.append((v[t] - (advantages[-1] + v[t]).detach()) ** 2)
    return advantages, sum(errors) / len(errors)


def from_loops() -> float:
    r"""How far advantages and the gradients of the critic are from those of loops."""
    torch.manual_seed(1)
    module, rewards = critic(0.8), [1.0, 0.0, 0.3]
    advantages, loss = by_loops(module(QUESTIONS, ANSWERS), rewards, 0.8)
    wanted = torch.stack(advantages)
    wanted = (wanted - wanted.mean()) / (wanted.std() + 1e-4)
    slopes = torch.autograd.grad(loss, list(module.parameters()), allow_unused=True)
    before = [one.clone() for one in module.parameters()]
    # What is left of another step doesn't count.
    for weight in module.parameters():
        weight.grad = torch.ones_like(weight)
    found = module.advantages(QUESTIONS, ANSWERS, torch.tensor(rewards, dtype=torch.float64))
    mine, theirs = [found.t()[answer_mask(ANSWERS).t()]], [wanted]
    # Adam's first step is the learning rate against the sign of each gradient.
    for weight, old, slope in zip(module.parameters(), before, slopes, strict=True):
        assert slope is not None
        mine.append(weight.grad)
        theirs.append(slope)
        large = slope.abs() > 1e-4
        moved = (weight - old).detach()[large]
        assert largest([moved], [-1e-3 * slope.sign()[large]]) < 1e-6
    return largest(mine, theirs)
