import math
from collections.abc import Callable, Iterable
from dataclasses import replace

import pytest
import torch
from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode

from labml_nn.optimizers.muon import Muon
from labml_nn.training.batches import RandomWindows, ShuffledWindows
from labml_nn.training.data import InputError
from labml_nn.training.joined import parts_of
from labml_nn.training.loop import (
    TrainConfig,
    Trainer,
    adamw,
    evaluate,
    parameter_groups,
    share_at,
)

N_VOCAB, D_MODEL = 5, 11
CONFIG = TrainConfig(
    steps=20,
    batch_size=3,
    seq_len=7,
    device="cpu",
    precision="float32",
    record_every=4,
    evaluate_every=10,
)


def make_model(dropout_prob: float = 0.0) -> nn.Module:
    torch.manual_seed(1)
    return nn.Sequential(
        nn.Embedding(N_VOCAB, D_MODEL),
        nn.LayerNorm(D_MODEL),
        nn.Dropout(dropout_prob),
        nn.Linear(D_MODEL, N_VOCAB),
    )


def make_text(length: int) -> Tensor:
    return torch.randint(N_VOCAB, (length,), generator=torch.Generator().manual_seed(2))


def make_trainer(config: TrainConfig = CONFIG, dropout_prob: float = 0.0) -> Trainer:
    return Trainer(make_model(dropout_prob), make_text(997), make_text(101), config)


def run(trainer: Trainer) -> list[tuple[int, dict[str, float]]]:
    history: list[tuple[int, dict[str, float]]] = []
    trainer.run(lambda step, values: history.append((step, values)))
    return history


@pytest.mark.parametrize(
    ("schedule", "step", "expected"),
    [
        ("cosine", 0, 1 / 100),
        ("cosine", 49, 1 / 2),
        ("cosine", 99, 1),
        ("cosine", 100, 1),
        # A third, a half and two thirds of the way down, where the cosine is 1/2, 0 and -1/2.
        ("cosine", 700, 0.1 + 0.9 * 0.75),
        ("cosine", 1000, 0.1 + 0.9 * 0.5),
        ("cosine", 1300, 0.1 + 0.9 * 0.25),
        ("cosine", 1899, 0.1),
        ("linear", 49, 1 / 2),
        ("linear", 100, 1),
        ("linear", 700, 0.1 + 0.9 * 2 / 3),
        ("linear", 1900, 0.1),
    ],
)
def test_the_rate_rises_in_a_line_and_falls_as_the_schedule_says(
    schedule: str, step: int, expected: float
) -> None:
    config = TrainConfig(steps=1900, warmup=100 / 1900, final=0.1, schedule=schedule)
    assert share_at(step, config) == pytest.approx(expected, rel=1e-4)


@pytest.mark.parametrize("schedule", ["cosine", "linear"])
@pytest.mark.parametrize("warmup", [0.0, 0.3, 1.0])
def test_the_rate_is_never_zero_nor_above_the_highest(warmup: float, schedule: str) -> None:
    config = TrainConfig(steps=10, warmup=warmup, final=0.0, schedule=schedule)
    shares = [share_at(step, config) for step in range(10)]
    assert max(shares) == 1.0
    assert min(shares) > 0
    top = shares.index(1.0)
    assert shares[: top + 1] == sorted(shares[: top + 1])
    assert shares[top:] == sorted(shares[top:], reverse=True)


def test_an_unknown_schedule_is_refused() -> None:
    with pytest.raises(InputError, match="^schedule must be cosine or linear, got 'flat'$"):
        replace(CONFIG, schedule="flat")


def test_each_group_follows_the_schedule_from_a_rate_of_its_own() -> None:
    def two(model: nn.Module, config: TrainConfig) -> list[torch.optim.Optimizer]:
        first, *others = model.parameters()
        groups = [{"params": others[:2], "lr": 0.5}, {"params": others[2:]}]
        return [torch.optim.SGD([first], lr=0.2), torch.optim.SGD(groups, lr=0.3)]

    trainer = Trainer(make_model(), make_text(997), make_text(101), CONFIG, two)
    for step in range(3):
        before = [p.clone() for p in trainer.model.parameters()]
        trainer.train_step()
        share = share_at(step, CONFIG)
        rates = [0.2, 0.5, 0.5, 0.3, 0.3]
        for p, old, rate in zip(trainer.model.parameters(), before, rates, strict=True):
            torch.testing.assert_close(p, old - rate * share * p.grad, rtol=1e-4, atol=1e-7)


def test_the_usual_optimizer_is_one_adamw_at_the_rate_of_the_recipe() -> None:
    (optimizer,) = adamw(make_model(), CONFIG)
    assert isinstance(optimizer, torch.optim.AdamW)
    assert [group["lr"] for group in optimizer.param_groups] == [3e-3, 3e-3]
    assert [group["fused"] for group in optimizer.param_groups] == [True, True]


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("steps", 0),
        ("batch_size", 0),
        ("seq_len", -3),
        ("record_every", 0),
        ("evaluate_every", 0),
        ("learning_rate", 0.0),
        ("learning_rate", math.nan),
        ("learning_rate", math.inf),
        ("clip", -1.0),
        ("warmup", 1.5),
        ("final", -0.1),
        ("weight_decay", 2.0),
    ],
)
def test_a_setting_without_sense_is_refused_by_name(field: str, value: float) -> None:
    with pytest.raises(InputError, match=rf"^{field} must be .*, got {value}$"):
        replace(CONFIG, **{field: value})


def test_matrices_decay_and_nothing_else_does() -> None:
    decaying, others = parameter_groups(make_model(), 0.3)
    shapes = [
        [list(part.shape) for whole in group["params"] for part in parts_of(whole)]
        for group in (decaying, others)
    ]
    assert shapes[0] == [[N_VOCAB, D_MODEL], [N_VOCAB, D_MODEL]]
    assert shapes[1] == [[D_MODEL], [D_MODEL], [N_VOCAB]]
    assert (decaying["weight_decay"], others["weight_decay"]) == (0.3, 0.0)


@pytest.mark.parametrize("batch_size", [1, 4, 64])
@pytest.mark.parametrize("length", [8, 101, 106])
def test_the_loss_is_that_of_a_loop_over_all_characters(length: int, batch_size: int) -> None:
    # A model in which what comes before matters: the logits are running means.
    class Running(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            torch.manual_seed(1)
            self.table = nn.Embedding(N_VOCAB, N_VOCAB)

        def forward(self, tokens: Tensor) -> Tensor:
            sums = (5 * self.table(tokens)).cumsum(0)
            return sums / torch.arange(1, len(tokens) + 1).view(-1, 1, 1)

    model, seq_len = Running(), 7
    text = make_text(length).tolist()
    table = (5 * model.table.weight).tolist()
    total = 0.0
    for position in range(1, length):
        start = (position - 1) // seq_len * seq_len
        window = text[start:position]
        logits = [sum(table[token][i] for token in window) / len(window) for i in range(N_VOCAB)]
        total += math.log(sum(math.exp(logit) for logit in logits)) - logits[text[position]]
    expected = total / (length - 1)
    assert evaluate(model, torch.tensor(text), seq_len, batch_size) == pytest.approx(
        expected, rel=1e-6
    )


def test_evaluation_has_no_dropout_and_leaves_the_model_in_training() -> None:
    model = make_model(dropout_prob=0.5)
    assert evaluate(model, make_text(101), 7) == evaluate(model, make_text(101), 7)
    assert model.training


def test_evaluation_is_not_trained_on() -> None:
    trainer = make_trainer()
    evaluate(trainer.model, trainer.validation, 7)
    assert [p.grad for p in trainer.model.parameters()] == [None] * 5


def test_two_steps_are_those_of_adamw_written_out() -> None:
    config = replace(CONFIG, learning_rate=0.1, warmup=0.1, weight_decay=0.3, clip=0.05)
    trainer = make_trainer(config)
    for _ in range(2):
        trainer.train_step()

    # Loshchilov and Hutter 2019, algorithm 2, with gradients from autograd.
    model = make_model()
    batches = ShuffledWindows(make_text(997), 7, 3, config.seed)
    first = [torch.zeros_like(p) for p in model.parameters()]
    second = [torch.zeros_like(p) for p in model.parameters()]
    for t in (1, 2):
        x, y = batches.at(t - 1)
        scores = model(x).log_softmax(-1)
        loss = -sum(scores[i, j, y[i, j]] for i in range(7) for j in range(3)) / 21
        gradients = torch.autograd.grad(loss, list(model.parameters()))
        length = math.sqrt(sum(float((g**2).sum()) for g in gradients))
        assert length > config.clip
        rate = 0.1 * t / 2
        with torch.no_grad():
            for index, (p, g) in enumerate(zip(model.parameters(), gradients, strict=True)):
                g = g * config.clip / length
                first[index] = 0.9 * first[index] + 0.1 * g
                second[index] = 0.99 * second[index] + 0.01 * g**2
                p *= 1 - rate * 0.3 * (p.dim() == 2)
                step = first[index] / (1 - 0.9**t)
                p -= rate * step / ((second[index] / (1 - 0.99**t)).sqrt() + 1e-8)

    for found, expected in zip(trainer.model.parameters(), model.parameters(), strict=True):
        torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-6)


def test_numbers_come_at_the_chosen_steps_and_evaluations_at_theirs() -> None:
    history = run(make_trainer())
    assert [step for step, _ in history] == [4, 8, 10, 12, 16, 20]
    evaluated = [step for step, values in history if "loss.validation" in values]
    assert evaluated == [10, 20]


def test_the_last_step_is_evaluated_wherever_it_falls() -> None:
    history = run(make_trainer(replace(CONFIG, steps=13)))
    assert history[-1][0] == 13
    assert "loss.validation" in history[-1][1]


def test_recorded_numbers_are_what_they_say() -> None:
    trainer, twin = make_trainer(), make_trainer()
    history = run(trainer)
    losses = [twin.train_step().item() for _ in range(20)]
    step, values = history[1]
    assert values["loss.train"] == pytest.approx(sum(losses[4:8]) / 4, rel=1e-6)
    assert values["learning_rate"] == CONFIG.learning_rate * share_at(step - 1, CONFIG)
    expected = evaluate(twin.model, twin.validation, CONFIG.seq_len)
    assert history[-1][1]["loss.validation"] == expected
    # Five full intervals of four steps, and 4 steps have 84 tokens.
    assert trainer.seconds > 84 / max(values["tokens_per_second"] for _, values in history)


def test_the_same_seed_gives_the_same_bits_and_another_seed_others() -> None:
    losses = []
    for seed in (1, 1, 2):
        trainer = make_trainer(replace(CONFIG, seed=seed), dropout_prob=0.5)
        torch.manual_seed(seed)
        losses.append([values["loss.train"] for _, values in run(trainer)])
    assert losses[0] == losses[1] != losses[2]


def test_bfloat16_trains_nearly_like_float32() -> None:
    float32, bfloat16 = (
        run(make_trainer(replace(CONFIG, precision=precision)))
        for precision in ("float32", "bfloat16")
    )
    one, other = float32[-1][1]["loss.validation"], bfloat16[-1][1]["loss.validation"]
    assert one != other
    assert one == pytest.approx(other, rel=0.02)


def test_weights_stay_in_float32_whatever_the_precision() -> None:
    trainer = make_trainer(replace(CONFIG, precision="bfloat16"))
    trainer.train_step()
    assert {p.dtype for p in trainer.model.parameters()} == {torch.float32}


def test_what_can_be_predicted_is_learned() -> None:
    text = torch.arange(997) % N_VOCAB
    config = replace(CONFIG, steps=200, learning_rate=0.03)
    trainer = Trainer(make_model(), text, text[:101], config)
    assert evaluate(trainer.model, trainer.validation, 7) > 1
    assert run(trainer)[-1][1]["loss.validation"] < 0.01


def test_a_model_that_was_evaluating_is_trained_in_training_mode() -> None:
    trainer = make_trainer()
    trainer.model.eval()
    modes: list[bool] = []
    trainer.run(lambda step, values: modes.append(trainer.model.training))
    assert modes == [True] * 6


def test_progress_gets_the_steps_that_are_left() -> None:
    seen: list[range] = []

    def progress(steps: range) -> Iterable[int]:
        seen.append(steps)
        return steps

    trainer = make_trainer()
    trainer.train_step()
    trainer.run(lambda step, values: None, progress)
    assert seen == [range(1, 20)]
    assert trainer.step == 20


def test_a_step_is_recorded_before_it_is_saved() -> None:
    events: list[str] = []
    trainer = make_trainer(replace(CONFIG, save_every=10))
    trainer.run(
        lambda step, values: events.append(f"record {step}"),
        save=lambda best: events.append(f"save {trainer.step}"),
    )
    assert [event for event in events if event.endswith(("10", "20"))] == [
        "record 10",
        "save 10",
        "record 20",
        "save 20",
    ]
    assert events.count("save 10") == events.count("save 20") == 1


def test_a_stop_is_made_after_the_step_and_saved() -> None:
    trainer = make_trainer()
    saved: list[int] = []
    trainer.run(
        lambda step, values: None,
        save=lambda best: saved.append(trainer.step),
        should_stop=lambda: trainer.step == 3,
    )
    assert (trainer.step, saved) == (3, [3])
    # Nothing was recorded yet, and still the time counts.
    assert trainer.seconds > 0


def test_a_stop_at_the_last_step_is_an_end_like_any_other() -> None:
    history: list[tuple[int, dict[str, float]]] = []
    trainer = make_trainer()
    trainer.run(
        lambda step, values: history.append((step, values)),
        should_stop=lambda: trainer.step == 20,
    )
    assert history[-1][0] == 20
    assert "loss.validation" in history[-1][1]


def test_checkpoints_come_at_their_interval_at_the_end_and_when_the_loss_is_lowest() -> None:
    saved: list[tuple[int, bool]] = []
    trainer = make_trainer(replace(CONFIG, save_every=8, evaluate_every=5))
    losses: dict[int, float] = {}

    def record(step: int, values: dict[str, float]) -> None:
        losses.update({step: values["loss.validation"]} if "loss.validation" in values else {})

    trainer.run(record, save=lambda best: saved.append((trainer.step, best)))
    lowest = [
        step for step, loss in losses.items() if loss <= min(losses[s] for s in losses if s <= step)
    ]
    assert lowest
    assert [step for step, best in saved if best] == lowest
    assert [step for step, _ in saved] == sorted({8, 16, 20} | set(lowest))
    assert trainer.best == min(losses.values())


@pytest.mark.parametrize("parts", [2, 3, 6])
def test_a_batch_in_parts_gives_the_gradients_of_the_whole(parts: int) -> None:
    whole, split = (
        make_trainer(replace(CONFIG, batch_size=6, micro_batches=n, steps=3)) for n in (1, parts)
    )
    for _ in range(3):
        assert whole.train_step().item() == pytest.approx(split.train_step().item(), abs=1e-6)
    for one, other in zip(whole.model.parameters(), split.model.parameters(), strict=True):
        torch.testing.assert_close(one.grad, other.grad, rtol=0, atol=1e-6)
        torch.testing.assert_close(one, other, rtol=0, atol=1e-6)


def test_a_batch_that_does_not_divide_is_refused() -> None:
    with pytest.raises(InputError, match="got batch_size=3 and micro_batches=2"):
        replace(CONFIG, micro_batches=2)


def spoil(trainer: Trainer, value: float) -> None:
    with torch.no_grad():
        trainer.model[0].weight[0, 0] = value


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_a_loss_that_is_no_number_stops_the_training_and_names_step_and_batch(
    value: float,
) -> None:
    trainer = make_trainer()
    saved: list[bool] = []

    def progress(steps: range) -> Iterable[int]:
        for step in steps:
            # The sixth step is the second after a record.
            ([lambda: None] * 5 + [lambda: spoil(trainer, value)] + [lambda: None] * 20)[step]()
            yield step

    positions = make_trainer()
    positions.batches.tokens = torch.arange(997)
    starts = positions.batches.at(5)[0][0].tolist()
    with pytest.raises(InputError) as caught:
        trainer.run(lambda step, values: None, progress, saved.append)
    assert str(caught.value) == (
        "the loss is nan, not finite in step 6, whose batch has the windows from the characters "
        f"{', '.join(map(str, starts))} of the training part; train with a learning rate "
        "below 0.003"
    )
    assert saved == []
    # What is said there are windows of that batch.
    x, _ = make_trainer().batches.at(5)
    assert x.t().tolist() == [make_text(997)[start : start + 7].tolist() for start in starts]


def test_weights_that_are_no_numbers_are_not_saved_when_a_run_is_stopped() -> None:
    trainer = make_trainer()
    saved: list[bool] = []

    def stop() -> bool:
        spoil(trainer, math.nan)
        return True

    with pytest.raises(InputError, match="the weights are not finite in step 1, whose batch has"):
        trainer.run(lambda step, values: None, save=saved.append, should_stop=stop)
    assert saved == []


def test_the_windows_of_a_bad_batch_are_those_of_the_batches_that_are_used() -> None:
    trainer = make_trainer(replace(CONFIG, record_every=1))
    trainer.batches = RandomWindows(trainer.train, 7, 3, seed=1)
    spoil(trainer, math.nan)
    starts = RandomWindows(torch.arange(997), 7, 3, seed=1).at(0)[0][0].tolist()
    with pytest.raises(InputError, match=f"from the characters {', '.join(map(str, starts))} of"):
        trainer.run(lambda step, values: None)


class Waits(TorchDispatchMode):
    r"""Notes what reads a number out of a tensor, for which a card's work has to be waited for."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def __torch_dispatch__(
        self, function: object, types: object, args: tuple = (), kwargs: dict | None = None
    ) -> object:
        name = str(function)
        self.found += [name] * any(
            word in name for word in ("_local_scalar_dense", "nonzero", "is_nonzero", "equal.")
        )
        return function(*args, **(kwargs or {}))


def adamw_and_muon(model: nn.Module, config: TrainConfig) -> list[torch.optim.Optimizer]:
    matrices = [p for p in model.parameters() if p.dim() == 2]
    return [*adamw(model, config), Muon(matrices, 1e-3)]


@pytest.mark.parametrize("optimizers", [adamw, adamw_and_muon])
def test_nothing_in_a_step_waits_for_its_result(optimizers: Callable) -> None:
    trainer = Trainer(make_model(0.1), make_text(997), make_text(101), CONFIG, optimizers)
    trainer.train_step()
    with Waits() as waits:
        loss = trainer.train_step()
        # The order of the epoch is known already, and no card has to do with it.
        assert waits.found == []
        loss.item()
    assert len(waits.found) == 1


def test_a_scaled_loss_makes_the_same_steps() -> None:
    r"""As for float16 on a card; factors of two change no digit."""
    plain, scaled = make_trainer(), make_trainer()
    scaled.scaler = torch.amp.GradScaler("cpu", init_scale=2.0**16)
    for _ in range(3):
        assert plain.train_step().item() == scaled.train_step().item()
    assert scaled.scaler.get_scale() == 2.0**16
    for one, other in zip(plain.model.parameters(), scaled.model.parameters(), strict=True):
        torch.testing.assert_close(one, other, rtol=1e-6, atol=1e-7)


def test_where_a_scaled_loss_is_too_large_the_step_is_left_out_and_the_scale_halved() -> None:
    trainer = make_trainer()
    trainer.scaler = torch.amp.GradScaler("cpu", init_scale=2.0**127)
    before = [parameter.clone() for parameter in trainer.model.parameters()]
    with torch.no_grad():
        trainer.model[3].weight.mul_(1e3)
        before[-2] = trainer.model[3].weight.clone()
    assert math.isfinite(trainer.train_step().item())
    assert trainer.scaler.get_scale() == 2.0**126
    for one, other in zip(trainer.model.parameters(), before, strict=True):
        assert one.equal(other)


def test_a_compiled_step_is_the_plain_one(monkeypatch: pytest.MonkeyPatch) -> None:
    compile = torch.compile
    monkeypatch.setattr(torch, "compile", lambda model: compile(model, backend="aot_eager"))
    plain, compiled = make_trainer(), make_trainer(replace(CONFIG, compile="on"))
    assert compiled.predict is not compiled.model
    for _ in range(3):
        torch.testing.assert_close(plain.train_step(), compiled.train_step(), rtol=0, atol=1e-6)
    for one, other in zip(plain.model.parameters(), compiled.model.parameters(), strict=True):
        torch.testing.assert_close(one, other, rtol=0, atol=1e-6)


def test_a_trainer_whose_model_went_to_another_one_says_so() -> None:
    text, model = torch.arange(97) % N_VOCAB, make_model()
    first, second = (Trainer(model, text, text, CONFIG) for _ in range(2))
    second.train_step()
    with pytest.raises(RuntimeError, match="make the optimizer after that"):
        first.train_step()
