r"""The trainer beside PyTorch's own steps, and what it passes to the loop."""

import math
from dataclasses import replace
from pathlib import Path

import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode

from labml_nn.optimizers import schedules
from labml_nn.training import loop
from labml_nn.training.data import RandomWindows
from labml_nn.training.engine import distributed
from labml_nn.training.engine.checkpoint import restore, state_of
from labml_nn.training.engine.errors import InputError
from labml_nn.training.engine.trainer import Trainer, interval, run_steps
from tests.labml_nn.training.engine.models import (
    CONFIG,
    as_on_a_gpu,
    losses,
    make_model,
    make_text,
    make_trainer,
    run,
)
from tests.oracles.compare import largest


def furthest(one: Trainer, other: nn.Module) -> float:
    return largest(list(one.model.parameters()), list(other.parameters()))


def test_steps_are_those_of_pytorch_written_out() -> None:
    changes = {"learning_rate": 0.1, "warmup": 0.25, "weight_decay": 0.3, "clip": 0.05}
    trainer = make_trainer(**changes)
    found = losses(trainer, 5)

    model, batches = make_model(), RandomWindows(make_text(997), 7, 3, CONFIG.seed)
    groups = [
        {"params": [p for p in model.parameters() if p.dim() == n], "weight_decay": decay}
        for n, decay in ((2, 0.3), (1, 0.0))
    ]
    optimizer = torch.optim.AdamW(groups, 0.1, betas=(0.9, 0.99))
    for step in range(5):
        # Three steps up, and half a cosine down over nine.
        down = 0.1 + 0.9 * (1 + math.cos(math.pi * (step - 3) / 9)) / 2
        for group in optimizer.param_groups:
            group["lr"] = 0.1 * ((step + 1) / 3 if step < 3 else down)
        x, y = batches.at(step)
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x).permute(1, 2, 0), y.t())
        loss.backward()
        assert nn.utils.clip_grad_norm_(model.parameters(), 0.05) > 0.05
        optimizer.step()
        assert found[step] == pytest.approx(loss.item(), rel=1e-5)
    assert furthest(trainer, model) < 1e-5


def test_the_rate_falls_as_the_schedule_says() -> None:
    for name in ("cosine", "linear"):
        trainer = make_trainer(warmup=0.3, final=0.2, schedule=name)
        expected = [getattr(schedules, name)(step, 12, 0.3, 0.2) for step in range(12)]
        assert [trainer.share_of_rate(step, 12) for step in range(12)] == expected


def test_a_setting_that_makes_no_sense_is_refused_by_name() -> None:
    wrong = {"steps": 0, "batch_size": 0, "micro_batches": 0, "record_every": 0, "clip": -1.0}
    wrong |= {"evaluate_every": 0, "save_every": 0, "seq_len": -3, "learning_rate": math.nan}
    wrong |= {"warmup": 1.5, "final": -0.1, "weight_decay": 2.0, "schedule": "flat"}
    for field, value in wrong.items():
        with pytest.raises(InputError, match=rf"^{field} must be .*, got {value}$"):
            replace(CONFIG, **{field: value})
    with pytest.raises(InputError, match="got batch_size=3, micro_batches=2 and processes=1"):
        make_trainer(micro_batches=2)


def test_what_is_recorded_is_what_it_says() -> None:
    trainer, twin = make_trainer(), make_trainer()
    points = run(trainer)
    assert [step for step, _ in points] == [4, 6, 8, 12]
    assert [step for step, values in points if "loss.validation" in values] == [6, 12]
    found = losses(twin, 12)
    assert points[1][1]["loss.train"] == pytest.approx(sum(found[4:6]) / 2, rel=1e-6)
    rate = CONFIG.learning_rate * loop.learning_rate(5, 12, CONFIG.warmup, CONFIG.final)
    assert points[1][1]["learning_rate"] == rate
    expected = loop.evaluate(twin.model, make_text(101), CONFIG.seq_len)
    assert points[-1][1]["loss.validation"] == expected
    assert trainer.seconds > 0


def test_checkpoints_come_after_records_at_their_interval_and_at_the_lowest_loss() -> None:
    events: list[tuple[int, str]] = []
    lowest: dict[int, bool] = {}
    validation: dict[int, float] = {}
    trainer = make_trainer(save_every=5)

    def record(step: int, values: dict[str, float]) -> None:
        events.append((step, "record"))
        validation.update({step: values["loss.validation"]} if step in (6, 12) else {})

    def save(is_best: bool) -> None:
        events.append((trainer.step, "save"))
        lowest[trainer.step] = is_best

    run_steps(trainer, record, save)
    assert lowest == {5: False, 6: True, 10: False, 12: validation[12] < validation[6]}
    assert trainer.best == min(validation.values())
    assert events == sorted(events)
    assert [step for step, _ in events] == [4, 5, 6, 6, 8, 10, 12, 12]


def test_the_last_step_is_evaluated_wherever_it_falls_and_whoever_stops_there() -> None:
    assert "loss.validation" in run(make_trainer(steps=7))[-1][1]
    assert "loss.validation" in run(make_trainer(), until=12)[-1][1]


def test_without_the_losses_before_a_stop_mean_and_speed_are_wrong() -> None:
    found = []
    for kept in ([2.0, 4.0], []):
        trainer = make_trainer()
        trainer.step, trainer.interval = 3, 0.5
        trainer.losses = [torch.tensor(one) for one in (*kept, 6.0)]
        found.append(interval(trainer))
    assert [one["loss.train"] for one in found] == [4.0, 6.0]
    assert found[0]["tokens_per_second"] == 3 * found[1]["tokens_per_second"]


@pytest.mark.parametrize("parts", [2, 3, 6])
def test_micro_batches_give_the_steps_of_the_batch(parts: int) -> None:
    whole, split = (make_trainer(batch_size=6, micro_batches=n) for n in (1, parts))
    assert losses(whole, 3) == pytest.approx(losses(split, 3), abs=1e-6)
    assert furthest(whole, split.model) < 1e-6


def test_a_scaled_loss_makes_the_same_steps() -> None:
    r"""As for float16 on a GPU; factors of two change no digit."""
    plain, scaled = make_trainer(clip=0.1), make_trainer(clip=0.1)
    scaled.mixed.scaler = torch.amp.GradScaler("cpu", init_scale=2.0**16)
    assert losses(plain, 3) == losses(scaled, 3)
    assert scaled.mixed.scaler.get_scale() == 2.0**16
    assert furthest(plain, scaled.model) < 1e-6


def test_where_a_scaled_loss_overflows_the_step_is_skipped_and_the_scale_halved() -> None:
    trainer, same = make_trainer(), make_model()
    trainer.mixed.scaler = torch.amp.GradScaler("cpu", init_scale=2.0**127)
    for model in (trainer.model, same):
        model[3].weight.data *= 1e3
    assert math.isfinite(losses(trainer, 1)[0])
    assert trainer.mixed.scaler.get_scale() == 2.0**126
    assert furthest(trainer, same) == 0


def test_a_compiled_model_is_trained_and_the_plain_one_evaluated(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    compile = torch.compile
    monkeypatch.setattr(torch, "compile", lambda model: compile(model, backend="aot_eager"))
    plain, compiled = make_trainer(), make_trainer(compile=True)
    assert compiled.replica is not compiled.model
    # On a CPU only if it is asked for.
    assert plain.config.compile is False
    assert losses(plain, 3) == pytest.approx(losses(compiled, 3), abs=1e-6)


@pytest.mark.parametrize(
    ("device", "changes", "processes", "expected"),
    [
        ("cuda", {"compile": False}, 1, True),
        ("cpu", {"compile": False}, 1, False),
        ("cuda", {"compile": True}, 1, False),
        ("cuda", {"compile": False}, 2, False),
        ("cuda", {"compile": False, "cuda_graph": False}, 1, False),
    ],
)
def test_a_graph_is_recorded_if_that_is_set_on_one_gpu_without_a_compiler(
    device: str,
    changes: dict[str, bool],
    processes: int,
    expected: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(distributed, "choose_device", lambda name: torch.device(device))
    monkeypatch.setattr(distributed, "world_size", lambda: processes)
    config, _, _ = distributed.decide(replace(CONFIG, **{"cuda_graph": True} | changes))
    assert config.cuda_graph is expected


def with_a_graph(monkeypatch: pytest.MonkeyPatch) -> Trainer:
    with as_on_a_gpu(monkeypatch):
        return make_trainer(0.1, batch_size=6, micro_batches=2)


def test_recorded_steps_are_the_steps_with_a_scale_that_moves(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    plain, graph = make_trainer(0.1, batch_size=6, micro_batches=2), with_a_graph(monkeypatch)
    for trainer in (plain, graph):
        # Doubled in every step.
        trainer.mixed.scaler = torch.amp.GradScaler("cpu", growth_interval=1)
    torch.manual_seed(3)
    expected = losses(plain, 12)
    torch.manual_seed(3)
    assert losses(graph, 12) == expected
    assert furthest(graph, plain.model) == 0
    assert graph.recorded is not None
    assert graph.recorded.graph is not None


def test_a_resumed_run_records_anew_and_makes_the_same_steps(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    whole, first, second = (with_a_graph(monkeypatch) for _ in range(3))
    torch.manual_seed(3)
    losses(whole, 9)
    torch.manual_seed(3)
    losses(first, 5)
    restore(second, state_of(first), Path())
    losses(second, 9)
    assert furthest(whole, second.model) == 0


def test_a_model_that_cannot_be_recorded_is_told_with_the_way_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    trainer = with_a_graph(monkeypatch)

    def reads(module: nn.Module, given: object, result: torch.Tensor) -> None:
        result.sum().item()

    trainer.model[1].register_forward_hook(reads)
    with pytest.raises(InputError, match="reads a number .*; train with --no-cuda-graph$"):
        losses(trainer, 1)


class Waits(TorchDispatchMode):
    r"""Counts what reads a number out of a tensor, for which a GPU's work has to be waited for."""

    found = 0

    def __torch_dispatch__(
        self, function: object, types: object, args: tuple = (), kwargs: dict | None = None
    ) -> object:
        self.found += any(word in str(function) for word in ("_local_scalar_dense", "nonzero"))
        return function(*args, **(kwargs or {}))


def test_nothing_in_a_step_waits_for_its_result() -> None:
    trainer = make_trainer(0.1)
    losses(trainer, 1)
    batch, mixed = trainer.batch_at(1), trainer.mixed
    options = {"gradients": mixed.gradients, "clip": mixed.clip}
    with Waits() as waits:
        loop.train(trainer.replica, lambda step: batch, trainer.optimizers, 1, **options)
        assert waits.found == 0
        torch.ones(1).item()
    assert waits.found == 1


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_a_loss_that_is_not_finite_stops_the_run_and_names_step_and_batch(value: float) -> None:
    def sentence(spoiled: int) -> str:
        r"""Weights become `value` after a step; a run that is stopped saves nothing then, too."""
        trainer, saved = make_trainer(), []

        def spoil() -> None:
            if trainer.step == spoiled:
                trainer.model[0].weight.data[:] = value

        with pytest.raises(InputError) as caught:
            run_steps(trainer, lambda step, values: None, saved.append, lambda: spoiled == 1, spoil)
        assert saved == []
        return str(caught.value)

    starts = RandomWindows(torch.arange(997), 7, 3, CONFIG.seed).at(5)[0][0].tolist()
    assert sentence(5) == (
        "the loss is nan, not finite in step 6, whose windows begin at the tokens "
        f"{', '.join(map(str, starts))} of the training text; train with a learning rate below "
        "0.003"
    )
    assert "the weights are not finite in step 1, whose windows" in sentence(1)
