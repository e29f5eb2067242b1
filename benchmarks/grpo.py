r"""
What do rewards teach that 50 solved questions don't, and which part of GRPO is worth what?

A small transformer learns to sort six digits: it imitates 50 solved questions, and goes on in
different ways for 200 steps, from three seeds each. The result is results/grpo.json, to which the
pages on reinforcement learning refer. It takes about ten minutes of one core.
"""

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from statistics import mean
from typing import Any

import torch
from torch import Tensor

from benchmarks.library.charts import Line, axis, line, line_chart
from benchmarks.library.experiment import Experiment, Report, Runner
from benchmarks.library.ranges import Found, Runs
from benchmarks.library.tables import column, table
from labml_nn.reinforcement.grpo import group_advantages
from labml_nn.reinforcement.grpo_experiment import improve
from labml_nn.reinforcement.imitation import (
    Sizes,
    answer,
    imitate,
    measure,
    solved_batches,
)
from labml_nn.reinforcement.ppo import Critic
from labml_nn.reinforcement.verifier import (
    END,
    answer_mask,
    draw_questions,
    in_order,
    solve,
    verify,
)
from labml_nn.transformers.basic.autoregressive_model import (
    AutoregressiveTransformer,
)
from labml_nn.transformers.models import Generator

SEEDS = (1, 2, 3)
STEPS = 200
START = 60
SIZES = Sizes()
EACH = 20

Model = AutoregressiveTransformer
History = list[dict[str, float]]


def copy_of(model: Model) -> Model:
    r"""Another model with the same weights."""
    made = Model(*SIZES.of_model())
    made.load_state_dict(model.state_dict())
    return made


def started(seed: int, steps: int) -> Model:
    r"""A model that has imitated the solved questions."""
    torch.manual_seed(seed)
    model = Model(*SIZES.of_model())
    imitate(model, solved_batches(SIZES, seed), steps)
    return model


def fresh_batches(seed: int) -> Callable[[int], tuple[Tensor, Tensor]]:
    r"""Right answers to as many new questions as the others get without answers."""
    generator = torch.Generator().manual_seed(1000 + seed)

    def at(step: int) -> tuple[Tensor, Tensor]:
        questions = draw_questions(SIZES.n_digits, SIZES.n_questions, generator)
        return questions, solve(questions)

    return at


def undivided(questions: Tensor, answers: Tensor, rewards: Tensor) -> Tensor:
    r"""Without the standard deviation."""
    return group_advantages(rewards, divide=False).flatten()


def bare(questions: Tensor, answers: Tensor, rewards: Tensor) -> Tensor:
    r"""The rewards themselves."""
    return rewards.flatten()


def shifted(questions: Tensor, answers: Tensor, rewards: Tensor) -> Tensor:
    r"""One more than the rewards."""
    return rewards.flatten() + 1


WAYS: dict[str, dict[str, Any]] = {
    "GRPO": {},
    "Without the two divisions": {"advantages": undivided, "fixed_length": True},
    "Without the group's mean": {"advantages": bare},
    "No mean, rewards 1 and 2": {"advantages": shifted},
    "Without KL": {"beta": 0.0},
    "100 draws, each used four times": {"updates": 4},
    "Four times, without clip": {"updates": 4, "clip": 1e9},
    "PPO with GAE": {},
    "Only the order is checked": {},
    "Without the start": {},
}


def started_at(seed: int) -> dict[str, Any]:
    r"""The weights of a model that has imitated, how good it is, and the processor's seconds."""
    begin = time.process_time()
    model = started(seed, START)
    seconds = time.process_time() - begin
    return {"weights": model.state_dict(), "end": measure(model, SIZES), "seconds": seconds}


def with_weights(weights: Mapping[str, Tensor]) -> Model:
    r"""A model that was trained."""
    model = Model(*SIZES.of_model())
    model.load_state_dict(weights)
    return model


IMITATIONS: dict[str, Callable[[int], Callable[[int], tuple[Tensor, Tensor]]]] = {
    "Imitation of the same 50": lambda seed: solved_batches(SIZES, seed),
    "Imitation of 3,200 right answers": fresh_batches,
}


def imitated(name: str, seed: int, weights: Mapping[str, Tensor]) -> dict[str, Any]:
    r"""Imitation goes on, with the same answers or with new ones."""
    begin, model = time.process_time(), with_weights(weights)
    imitate(model, IMITATIONS[name](seed), STEPS)
    return {"seconds": time.process_time() - begin, "end": measure(model, SIZES)}


def reinforced(name: str, seed: int, weights: Mapping[str, Tensor]) -> dict[str, Any]:
    r"""
    Train a copy in one of the ways: how good it gets, the history, how many answers were right on
    the way, whatever was checked; and with PPO, what its critic expects.
    """
    begin, model = time.process_time(), with_weights(weights)
    critics: list[Critic] = []
    model, history, right = way(name, model, seed, critics)
    found: dict[str, Any] = {"seconds": time.process_time() - begin, "end": measure(model, SIZES)}
    if critics:
        found["expected"] = values_of_answers(critics[0], model)
    return found | {"history": history, "right": right}


def way(
    name: str, model: Model, seed: int, critics: list[Critic]
) -> tuple[Model, History, list[float]]:
    r"""Train a copy in one of the ways; the critic of PPO is added to the list."""
    options, right = dict(WAYS[name]), []
    if name == "PPO with GAE":
        base = copy_of(model)
        torch.manual_seed(seed)
        base.generator = Generator(1, SIZES.d_model)
        critic = Critic(base)
        critics.append(critic)
        options["advantages"] = lambda asked, said, got: critic.advantages(
            asked, said, got.flatten()
        )

    def judge(questions: Tensor, answers: Tensor) -> Tensor:
        rewards = verify(questions, answers)
        right.append(rewards.mean().item())
        return in_order(answers).float() if name == "Only the order is checked" else rewards

    model = started(seed, 0) if name == "Without the start" else copy_of(model)
    steps = 2 * STEPS if "updates" in options else STEPS
    history = improve(model, SIZES, steps, 1000 + seed, judge=judge, **options)
    return model, history, right


def values_of_answers(critic: Critic, model: Model) -> dict[str, list[float]]:
    r"""
    What the critic expects before each token, by the place of the first mistake.

    Of a model that has hardly been trained, no answer may be right.
    """
    generator = torch.Generator().manual_seed(0)
    questions = draw_questions(SIZES.n_digits, 2000, generator)
    answers = answer(model, questions, generator=generator)[:-1]
    wrong = answers != solve(questions)
    # Of seven tokens, with the end as the last, so that all values are before the end.
    full = (answer_mask(answers).all(dim=0)) & (answers[-1] == END)
    firsts = {"right": len(answers), "first mistake at digit 2": 1, "first mistake at digit 4": 3}
    before = (wrong.cumsum(dim=0) == 0).sum(dim=0)
    with torch.no_grad():
        values = critic(questions, answers)
    chosen = {name: full & (before == at) for name, at in firsts.items()}
    return {
        name: values[:, these].mean(dim=1).tolist() for name, these in chosen.items() if these.any()
    }


def every(values: list[float]) -> list[float]:
    r"""Means of equal stretches."""
    parts = STEPS // EACH
    size = len(values) // parts
    return [mean(values[at * size : (at + 1) * size]) for at in range(parts)]


def mean_line(name: str, runs: list[list[float]]) -> Line:
    r"""The mean of the seeds in the course of the steps."""
    curves = [every(run) for run in runs]
    means = [mean(curve[at] for curve in curves) for at in range(STEPS // EACH)]
    return line(name, [[(at + 1) * EACH, y] for at, y in enumerate(means)])


def row(name: str, ends: list[dict[str, float]], seconds: list[float]) -> dict[str, Any]:
    r"""A row of the table, in percent."""
    found: dict[str, Any] = {"way": name}
    for key in ("greedy", "drawn", "any"):
        found[key] = 100 * mean(end[key] for end in ends)
    found |= {
        "low": 100 * min(end["greedy"] for end in ends),
        "high": 100 * max(end["greedy"] for end in ends),
        "loss": mean(end["loss"] for end in ends),
        "seconds": mean(seconds),
    }
    return found


def measure_all(runner: Runner) -> dict[str, Any]:
    r"""The start, and all ways to go on, from each seed."""
    starts = runner.all([(started_at, seed) for seed in SEEDS])

    def from_start(function: Callable, names: Iterable[str]) -> Runs:
        jobs = [
            (function, name, seed, start["weights"])
            for name in names
            for seed, start in zip(SEEDS, starts, strict=True)
        ]
        found = runner.all(jobs)
        return {name: found[at * len(SEEDS) :][: len(SEEDS)] for at, name in enumerate(names)}

    return {
        "starts": starts,
        "imitations": from_start(imitated, IMITATIONS),
        "ways": from_start(reinforced, WAYS),
    }


def rows_of(found: dict[str, Any]) -> list[dict[str, Any]]:
    r"""What the model does after each way of training it."""
    every_way = (
        {"Start: 50 solved questions": found["starts"]} | found["imitations"] | found["ways"]
    )
    return [
        row(name, [one["end"] for one in runs], [one["seconds"] for one in runs])
        for name, runs in every_way.items()
    ]


def last_tenth(ways: Mapping[str, Sequence[Found]]) -> list[dict[str, Any]]:
    r"""How each way went in the last tenth of its training."""
    rows = []
    for name, runs in ways.items():
        one_row: dict[str, Any] = {"way": name}
        for key in ("kl", "entropy", "silent", "length", "clipped"):
            curves = [[step[key] for step in one["history"]] for one in runs]
            one_row[key] = mean(every(curve)[-1] for curve in curves)
        one_row["silent"] *= 100
        one_row["clipped"] *= 100
        rows.append(one_row)
    return rows


def tables_of(found: dict[str, Any]) -> dict[str, Any]:
    r"""Right answers of each way, and how its training went."""
    rows = rows_of(found)
    training = last_tenth(found["ways"])
    return {
        "ways": table(
            [
                column("way", "Training after the start"),
                column("greedy", "Right", 1, "%"),
                column("low", "Lowest of three seeds", 1),
                column("high", "Highest", 1),
                column("drawn", "Right if drawn", 1, "%"),
                column("any", "One of eight right", 1, "%"),
                column("loss", "Loss of right answers", 3),
                column("seconds", "CPU time", 1, "s"),
            ],
            rows,
        ),
        "training": table(
            [
                column("way", "The last tenth of"),
                column("kl", "KL", 3, "nats a token"),
                column("entropy", "Entropy", 3, "nats a token"),
                column("silent", "Silent groups", 1, "%"),
                column("length", "Tokens of an answer", 2),
                column("clipped", "Beyond the clip", 2, "%"),
            ],
            training,
        ),
    }


def figures_of(ways: Mapping[str, Sequence[Found]]) -> dict[str, Any]:
    r"""What changes in the course of the training."""
    expected = [one["expected"] for one in ways["PPO with GAE"]]
    read = [name for name in expected[0] if all(name in one for one in expected)]
    rights = {name: [one["right"] for one in runs] for name, runs in ways.items()}

    def lines(key: str, *names: str) -> list[Line]:
        return [
            mean_line(name, [[step[key] for step in one["history"]] for one in ways[name]])
            for name in names
        ]

    compared = ("GRPO", "Without the two divisions", "Without the group's mean")
    compared += ("No mean, rewards 1 and 2", "PPO with GAE")
    x = axis("Steps")
    order = "Only the order is checked"
    return {
        "rewards": line_chart(
            "Right answers among those that are drawn in training",
            x=x,
            y=axis("Share of right answers", low=0),
            lines=[mean_line(name, rights[name]) for name in compared],
        ),
        "kl": line_chart(
            "Distance from the start",
            x=x,
            y=axis("KL to the start", unit="nats a token", low=0),
            lines=lines("kl", *(one for one in compared if "No" not in one), "Without KL"),
        ),
        "entropy": line_chart(
            "Entropy",
            x=x,
            y=axis("Entropy", unit="nats a token", low=0),
            lines=lines("entropy", *compared),
        ),
        "length": line_chart(
            "Length of the answers",
            x=x,
            y=axis("Tokens of an answer", low=0),
            lines=lines("length", "GRPO", "Without the two divisions", order),
        ),
        "values": line_chart(
            "What the critic of PPO expects",
            x=axis("Tokens of the answer that were read"),
            y=axis("Expected reward", low=0),
            lines=[
                line(
                    name,
                    [
                        [at, mean(one[name][at] for one in expected)]
                        for at in range(SIZES.n_digits + 1)
                    ],
                )
                for name in read
            ],
        ),
        "hole": line_chart(
            "A verifier that checks only the order",
            x=x,
            y=axis("Share of the answers", low=0, high=1.02),
            lines=[
                *({**one, "name": "in order: rewarded"} for one in lines("reward", order)),
                mean_line("right", rights[order]),
            ],
        ),
    }


def report(found: dict[str, Any]) -> Report:
    r"""Right answers of each way, and how it went."""
    return {
        "values": {"steps": STEPS, "start": START, "seeds": len(SEEDS)},
        "tables": tables_of(found),
        "figures": figures_of(found["ways"]),
    }


EXPERIMENT = Experiment(
    title="Sorting six digits: imitation, and rewards from a verifier",
    measure=measure_all,
    report=report,
    small={"SEEDS": (1, 2), "STEPS": 4, "START": 2, "EACH": 2},
    threads=None,
)
