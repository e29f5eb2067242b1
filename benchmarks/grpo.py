r"""
What do rewards teach that 50 solved questions don't, and which part of GRPO is worth what?

A small transformer learns to sort six digits: it imitates 50 solved questions, and goes on in
different ways for 200 steps, from three seeds each. The result is results/grpo.json, to which the
pages on reinforcement learning refer. It takes about ten minutes of one core.
"""

import sys
import time
from collections.abc import Callable
from pathlib import Path
from statistics import mean
from typing import Any

# As `python benchmarks/grpo.py` from a checkout, nothing needs to be installed.
ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

import torch  # noqa: E402
from torch import Tensor  # noqa: E402

from benchmarks.record import fingerprints, write  # noqa: E402
from labml_nn.reinforcement.grpo import group_advantages  # noqa: E402
from labml_nn.reinforcement.grpo_experiment import improve  # noqa: E402
from labml_nn.reinforcement.imitation import (  # noqa: E402
    Sizes,
    answer,
    imitate,
    measure,
    solved_batches,
)
from labml_nn.reinforcement.ppo import Critic  # noqa: E402
from labml_nn.reinforcement.verifier import (  # noqa: E402
    END,
    answer_mask,
    draw_questions,
    in_order,
    solve,
    verify,
)
from labml_nn.transformers.basic.autoregressive_model import (  # noqa: E402
    AutoregressiveTransformer,
)
from labml_nn.transformers.models import Generator  # noqa: E402

SEEDS = (1, 2, 3)
STEPS = 200
START = 60
SIZES = Sizes()
EACH = 20
REINFORCEMENT = ("grpo", "grpo_experiment", "imitation", "ppo", "verifier")
TRANSFORMER = "feed_forward kv_cache mha models positional_encoding basic/autoregressive_model"
SOURCES = [f"labml_nn/reinforcement/{name}.py" for name in REINFORCEMENT]
SOURCES += [f"labml_nn/transformers/{name}.py" for name in TRANSFORMER.split()]
SOURCES += ["labml_nn/training/loop.py", "labml_nn/training/sampling.py", "benchmarks/grpo.py"]

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


# The critics of PPO, for a look at what they have learned.
CRITICS: list[Critic] = []


def way(name: str, model: Model, seed: int) -> tuple[Model, History, list[float]]:
    r"""Train a copy in one of the ways; also how many answers were right, whatever was checked."""
    options, right = dict(WAYS[name]), []
    if name == "PPO with GAE":
        base = copy_of(model)
        torch.manual_seed(seed)
        base.generator = Generator(1, SIZES.d_model)
        critic = Critic(base)
        CRITICS.append(critic)
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
    r"""What the critic expects before each token, by the place of the first mistake."""
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
    return {
        name: values[:, full & (before == at)].mean(dim=1).tolist() for name, at in firsts.items()
    }


def every(values: list[float], parts: int = STEPS // EACH) -> list[float]:
    r"""Means of equal stretches."""
    size = len(values) // parts
    return [mean(values[at * size : (at + 1) * size]) for at in range(parts)]


def line(name: str, runs: list[list[float]]) -> dict[str, Any]:
    r"""The mean of the seeds in the course of the steps."""
    curves = [every(run) for run in runs]
    means = [mean(curve[at] for curve in curves) for at in range(STEPS // EACH)]
    return {"name": name, "points": [[(at + 1) * EACH, y] for at, y in enumerate(means)]}


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
    print(found, flush=True)
    return found


def main() -> None:
    r"""Train them all, and write down what came out."""
    sources = fingerprints(SOURCES)
    clock = time.process_time
    begin = clock()
    starts = {seed: started(seed, START) for seed in SEEDS}
    seconds = [(clock() - begin) / len(SEEDS)] * len(SEEDS)
    ends = [measure(model, SIZES) for model in starts.values()]
    rows = [row("Start: 50 solved questions", ends, seconds)]

    # Imitation goes on, with the same answers or with new ones.
    for name, batches in (
        ("Imitation of the same 50", lambda seed: solved_batches(SIZES, seed)),
        ("Imitation of 3,200 right answers", fresh_batches),
    ):
        ends, seconds = [], []
        for seed, model in starts.items():
            begin, model = clock(), copy_of(model)
            imitate(model, batches(seed), STEPS)
            seconds.append(clock() - begin)
            ends.append(measure(model, SIZES))
        rows.append(row(name, ends, seconds))

    histories: dict[str, list[History]] = {}
    rights: dict[str, list[list[float]]] = {}
    training, expected = [], []
    for name in WAYS:
        ends, seconds = [], []
        histories[name], rights[name] = [], []
        for seed, start in starts.items():
            begin = clock()
            model, history, right = way(name, start, seed)
            seconds.append(clock() - begin)
            ends.append(measure(model, SIZES))
            if name == "PPO with GAE":
                expected.append(values_of_answers(CRITICS[-1], model))
            histories[name].append(history)
            rights[name].append(right)
        rows.append(row(name, ends, seconds))
        training.append({"way": name})
        for key in ("kl", "entropy", "silent", "length", "clipped"):
            runs = [[step[key] for step in history] for history in histories[name]]
            training[-1][key] = mean(every(run)[-1] for run in runs)
        training[-1]["silent"] *= 100
        training[-1]["clipped"] *= 100
        print(training[-1], flush=True)

    def lines(key: str, *names: str) -> list[dict[str, Any]]:
        return [
            line(name, [[step[key] for step in history] for history in histories[name]])
            for name in names
        ]

    compared = ("GRPO", "Without the two divisions", "Without the group's mean")
    compared += ("No mean, rewards 1 and 2", "PPO with GAE")
    x = {"title": "Steps"}
    order = "Only the order is checked"
    write(
        "grpo",
        title="Sorting six digits: imitation, and rewards from a verifier",
        command="python benchmarks/grpo.py",
        sources=sources,
        values={"steps": STEPS, "start": START, "seeds": len(SEEDS)},
        tables={
            "ways": {
                "columns": [
                    {"name": "way", "title": "After the start, 200 steps of"},
                    {"name": "greedy", "title": "Right", "unit": "%", "digits": 1},
                    {"name": "low", "title": "Lowest", "digits": 1},
                    {"name": "high", "title": "Highest of three seeds", "digits": 1},
                    {"name": "drawn", "title": "Right if drawn", "unit": "%", "digits": 1},
                    {"name": "any", "title": "One of eight right", "unit": "%", "digits": 1},
                    {"name": "loss", "title": "Loss of right answers", "digits": 3},
                    {"name": "seconds", "title": "CPU time", "unit": "s", "digits": 1},
                ],
                "rows": rows,
            },
            "training": {
                "columns": [
                    {"name": "way", "title": "The last 20 steps of"},
                    {"name": "kl", "title": "KL", "unit": "nats a token", "digits": 3},
                    {"name": "entropy", "title": "Entropy", "unit": "nats a token", "digits": 3},
                    {"name": "silent", "title": "Silent groups", "unit": "%", "digits": 1},
                    {"name": "length", "title": "Tokens of an answer", "digits": 2},
                    {"name": "clipped", "title": "Beyond the clip", "unit": "%", "digits": 2},
                ],
                "rows": training,
            },
        },
        figures={
            "rewards": {
                "title": "Right answers among those that are drawn in training",
                "x": x,
                "y": {"title": "Share of right answers", "low": 0},
                "lines": [line(name, rights[name]) for name in compared],
            },
            "kl": {
                "title": "Distance from the start",
                "x": x,
                "y": {"title": "KL to the start", "unit": "nats a token", "low": 0},
                "lines": lines("kl", *(one for one in compared if "No" not in one), "Without KL"),
            },
            "entropy": {
                "title": "Entropy",
                "x": x,
                "y": {"title": "Entropy", "unit": "nats a token", "low": 0},
                "lines": lines("entropy", *compared),
            },
            "length": {
                "title": "Length of the answers",
                "x": x,
                "y": {"title": "Tokens of an answer", "low": 0},
                "lines": lines("length", "GRPO", "Without the two divisions", order),
            },
            "values": {
                "title": "What the critic of PPO expects",
                "x": {"title": "Tokens of the answer that were read"},
                "y": {"title": "Expected reward", "low": 0},
                "lines": [
                    {
                        "name": name,
                        "points": [
                            [at, mean(one[name][at] for one in expected)]
                            for at in range(SIZES.n_digits + 1)
                        ],
                    }
                    for name in expected[0]
                ],
            },
            "hole": {
                "title": "A verifier that checks only the order",
                "x": x,
                "y": {"title": "Share of the answers", "low": 0, "high": 1.02},
                "lines": [
                    *({**one, "name": "in order: rewarded"} for one in lines("reward", order)),
                    line("right", rights[order]),
                ],
            },
        },
    )


if __name__ == "__main__":
    main()
