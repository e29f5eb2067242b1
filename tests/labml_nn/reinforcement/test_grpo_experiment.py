r"""Reinforcement learning with the loop of all other trainings."""

import math
from collections.abc import Callable
from functools import partial
from inspect import signature

import pytest
import torch
from torch import Tensor

from labml_nn.reinforcement.grpo import group_advantages, grpo_loss, log_probabilities
from labml_nn.reinforcement.grpo_experiment import improve
from labml_nn.reinforcement.imitation import Sizes
from labml_nn.reinforcement.verifier import answer_mask
from labml_nn.reinforcement.written_batches import from_rewards, in_groups
from labml_nn.transformers.basic.autoregressive_model import AutoregressiveTransformer
from tests.oracles.compare import largest

SIZES = Sizes(n_digits=2, n_questions=3, n_answers=5, d_model=16, heads=2)


def model() -> AutoregressiveTransformer:
    torch.manual_seed(1)
    return AutoregressiveTransformer(*SIZES.of_model())


def large_first(questions: Tensor, answers: Tensor) -> Tensor:
    r"""A check that an untrained model passes now and then."""
    return (answers[0] > 5).float()


def watched() -> tuple[list[tuple[Tensor, Tensor]], Callable[[Tensor, Tensor], Tensor]]:
    r"""The same check, and what it has seen."""
    seen: list[tuple[Tensor, Tensor]] = []

    def judge(questions: Tensor, answers: Tensor) -> Tensor:
        seen.append((questions, answers))
        return large_first(questions, answers)

    return seen, judge


def test_where_all_answers_are_wrong_nothing_is_learned() -> None:
    module = model()
    history = improve(module, SIZES, 5, seed=1, judge=lambda asked, said: torch.zeros(15))
    assert largest(list(module.parameters()), list(model().parameters())) < 1e-6
    assert all(one["silent"] == 1 and one["reward"] == 0 for one in history)


def test_a_step_is_recorded_as_loops_would_do_it() -> None:
    seen, judge = watched()
    (found,) = improve(model(), SIZES, 1, seed=1, judge=judge)
    (questions, answers), fresh = seen[0], model()
    assert questions.shape == (3, 15) and answers.shape == (4, 15)
    # Five answers to each of three questions, side by side.
    assert (questions.view(3, 3, 5) == questions.view(3, 3, 5)[..., :1]).all()
    mask, tokens = answer_mask(answers), log_probabilities(fresh, questions, answers)
    lengths = mask.sum(dim=0).tolist()
    drawn = [tokens[t, i].item() for i in range(15) for t in range(lengths[i])]
    assert found["length"] == pytest.approx(sum(lengths) / 15)
    assert found["entropy"] == pytest.approx(-sum(drawn) / len(drawn), abs=1e-5)
    rewards = large_first(questions, answers).view(3, 5).tolist()
    assert found["reward"] == pytest.approx(sum(map(sum, rewards)) / 15)
    assert found["silent"] == pytest.approx(sum(len({*row}) == 1 for row in rewards) / 3)
    assert found["clipped"] == 0


def test_answers_are_drawn_by_the_newest_weights_and_used_as_often_as_asked() -> None:
    calls: list[Tensor] = []

    def advantages(questions: Tensor, answers: Tensor, rewards: Tensor) -> Tensor:
        calls.append(answers)
        assert (questions.shape, answers.shape, rewards.shape) == ((3, 15), (4, 15), (3, 5))
        return in_groups(questions, answers, rewards)

    often = partial(improve, sizes=SIZES, steps=6, seed=1, judge=large_first, updates=3)
    module = model()
    history = often(module, advantages=advantages, clip=1e-4)
    assert len(calls) == 2 and len(history) == 6
    rewards = [one["reward"] for one in history]
    assert rewards[0] == rewards[1] == rewards[2] != rewards[3] == rewards[4] == rewards[5]
    # The first step with new answers is from the very model that has drawn them.
    assert [one["clipped"] > 0 for one in history] == [False, True, True] * 2
    # What is beyond the clip moves nothing, so the weights end elsewhere.
    free = model()
    often(free)
    assert largest(list(free.parameters()), list(module.parameters())) > 1e-6


def test_a_second_step_is_compared_with_the_model_that_drew_and_with_the_reference() -> None:
    seen, judge = watched()
    fresh, once = model(), model()
    improve(once, SIZES, 1, seed=1, judge=judge)
    # Adam's first step is as long as the learning rate.
    moved = largest(list(once.parameters()), list(fresh.parameters()))
    assert moved == pytest.approx(4e-4, rel=0.1)
    mask = answer_mask(seen[0][1])
    old, new = (log_probabilities(one, *seen[0])[mask].tolist() for one in (fresh, once))
    ratios = [math.exp(b - a) for a, b in zip(old, new, strict=True)]
    # One clip that the largest ratio is beyond, though its inverse is not; and a small one.
    for clip in (math.sinh(math.log(max(ratios))), 1e-3):
        _, found = improve(model(), SIZES, 2, seed=1, judge=large_first, updates=2, clip=clip)
        beyond = [abs(ratio - 1) > clip for ratio in ratios]
        assert found["clipped"] == pytest.approx(sum(beyond) / len(beyond)) and any(beyond)
    estimates = [1 / ratio - 1 + math.log(ratio) for ratio in ratios]
    assert found["kl"] == pytest.approx(sum(estimates) / len(estimates), rel=0.01)
    (first,) = improve(model(), SIZES, 1, seed=1, judge=large_first, clip=0.0)
    assert first["clipped"] == 0


def test_the_arguments_of_the_loss_arrive_and_the_seed_decides_what_is_drawn() -> None:
    def trained(seed: int = 1, **options: object) -> list[Tensor]:
        module = model()
        # Whatever was drawn elsewhere.
        torch.manual_seed(len(options))
        improve(module, SIZES, 4, seed, judge=large_first, **options)
        return list(module.parameters())

    plain = trained()
    assert largest(plain, trained(beta=0.04, updates=1)) == 0
    assert largest(plain, trained(seed=2)) > 1e-6
    for options in ({"beta": 5.0}, {"fixed_length": True}):
        assert largest(plain, trained(**options)) > 1e-6
    ours, theirs = (signature(one).parameters for one in (from_rewards, grpo_loss))
    for name in ("clip", "beta", "fixed_length"):
        assert ours[name].default == theirs[name].default


def test_advantages_are_those_of_each_group_in_a_row() -> None:
    rewards = torch.rand(3, 5)
    nothing = torch.zeros(0)
    expected = torch.cat([group_advantages(row[None])[0] for row in rewards])
    assert largest([in_groups(nothing, nothing, rewards)], [expected]) < 1e-6
