from collections.abc import Callable
from dataclasses import replace

import pytest
import torch
from torch import Tensor, nn

from labml_nn.training import speed
from labml_nn.training.data import InputError
from labml_nn.training.loop import TrainConfig, Trainer
from labml_nn.training.speed import Way, fastest_way, seconds_of, take, usual_way

CPU = torch.device("cpu")
AUTO = Way("auto", "auto", "auto")


def choose(
    monkeypatch: pytest.MonkeyPatch, seconds: Callable[[Way], float], told: Way, n_steps: int
) -> tuple[Way, list[Way]]:
    r"""What is chosen on a machine with these times, and what was tried."""
    tried: list[Way] = []

    def measure(
        loss: object, ways: list[Way], model: nn.Module, device: torch.device
    ) -> list[float]:
        tried.extend(ways)
        return [seconds(way) for way in ways]

    monkeypatch.setattr(speed, "seconds_of", measure)
    monkeypatch.setattr(speed.shutil, "which", lambda name: name)
    return fastest_way(told, nn.Linear(2, 2), CPU, 64, n_steps, lambda way, predict: None), tried


def cost(**seconds: float) -> Callable[[Way], float]:
    def of(way: Way) -> float:
        return seconds[way.precision] * seconds[way.attention] * seconds[way.compile]

    return of


@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
@pytest.mark.parametrize("attention", ["kernel", "products"])
@pytest.mark.parametrize("compile", ["on", "off"])
def test_of_all_ways_the_fastest_is_chosen(
    monkeypatch: pytest.MonkeyPatch, precision: str, attention: str, compile: str
) -> None:
    best = Way(precision, attention, compile)
    names = ("float32", "bfloat16", "kernel", "products", "on", "off")
    fast = (precision, attention, compile)
    seconds = cost(**{name: 0.5 if name in fast else 1.0 for name in names})
    chosen, _ = choose(monkeypatch, seconds, AUTO, 10_000)
    assert chosen == best


def test_less_than_a_tenth_is_no_reason_to_leave_the_usual_way(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    usual = replace(usual_way(AUTO, CPU, 64), compile="off")
    chosen, tried = choose(monkeypatch, lambda way: 1.0 - 0.09 * (way != usual), AUTO, 1000)
    assert chosen == usual
    # All pairs of precision and attention, and the compiler in the best of them.
    assert len(set(tried)) == 5


def test_a_run_of_seconds_is_tried_once_and_one_of_a_minute_is_not_compiled(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    chosen, tried = choose(monkeypatch, lambda way: 0.01, AUTO, 900)
    assert (chosen, len(tried)) == (usual_way(AUTO, CPU, 64), 1)
    _, tried = choose(monkeypatch, lambda way: 0.01, AUTO, 12_000)
    assert {way.compile for way in tried} == {"off"}


def test_a_compiler_that_is_told_is_not_at_work_for_ways_that_are_not_taken(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    told = Way("auto", "auto", "on")
    seconds = cost(float32=1.0, bfloat16=0.5, kernel=0.5, products=1.0, off=1.0, on=2.0)
    chosen, tried = choose(monkeypatch, seconds, told, 10_000)
    assert chosen == Way("bfloat16", "kernel", "on")
    assert {way.compile for way in tried} == {"off"}


@pytest.mark.parametrize("error", [torch._dynamo.exc.BackendCompilerFailed, OSError])
def test_a_compiler_that_fails_is_left_out_unless_it_was_told(
    monkeypatch: pytest.MonkeyPatch, error: type[Exception]
) -> None:
    def compile(function: Callable[[Tensor], Tensor]) -> Callable[[Tensor], Tensor]:
        def fails(tokens: Tensor) -> Tensor:
            raise error.__new__(error)

        return fails

    monkeypatch.setattr(torch, "compile", compile)
    monkeypatch.setattr(speed, "WORTH_COMPILING", 0.0)
    monkeypatch.setattr(speed.shutil, "which", lambda name: name)
    model, tokens = nn.Linear(2, 2), torch.ones(3, 2)

    def loss(way: Way, predict: Callable[[Tensor], Tensor]) -> Tensor:
        return predict(tokens).sum()

    told = Way("float32", "kernel", "auto")
    assert fastest_way(told, model, CPU, 64, 1, loss) == replace(told, compile="off")
    assert model.weight.grad is None
    on = fastest_way(replace(told, compile="on"), model, CPU, 64, 1, loss)
    with pytest.raises(error):
        loss(on, take(on, model))


def test_what_is_told_is_taken_untried(monkeypatch: pytest.MonkeyPatch) -> None:
    told = Way("float32", "products", "off")
    assert choose(monkeypatch, lambda way: 1.0, told, 10_000) == (told, [])
    half = Way("float32", "auto", "off")
    _, tried = choose(monkeypatch, lambda way: 1.0, half, 10_000)
    assert {(way.precision, way.compile) for way in tried} == {("float32", "off")}


@pytest.mark.parametrize(
    ("precision", "seq_len", "attention"),
    [("bfloat16", 64, "products"), ("bfloat16", 512, "kernel"), ("float32", 64, "kernel")],
)
def test_untried_products_are_for_short_contexts_in_16_bits(
    precision: str, seq_len: int, attention: str
) -> None:
    assert usual_way(Way(precision, "auto", "auto"), CPU, seq_len).attention == attention


@pytest.mark.parametrize(
    ("way", "message"),
    [
        (Way("auto", "flash", "auto"), "unknown attention 'flash': use auto, kernel or products"),
        (Way("auto", "auto", "yes"), "unknown compile 'yes': use auto, on or off"),
        (Way("int8", "auto", "auto"), "unknown precision 'int8'"),
    ],
)
def test_an_unknown_way_is_refused(way: Way, message: str) -> None:
    with pytest.raises(InputError, match=message):
        usual_way(way, CPU, 64)


def test_a_trial_moves_no_weight_and_draws_no_number() -> None:
    model = nn.Sequential(nn.Linear(3, 5), nn.Dropout(0.5))
    before = [p.clone() for p in model.parameters()]
    state = torch.get_rng_state()

    def loss(way: Way, predict: Callable[[Tensor], Tensor]) -> Tensor:
        return predict(torch.ones(7, 3)).square().sum()

    ways = [Way("float32", "kernel", "off"), Way("float32", "products", "off")]
    assert all(0 < seconds < float("inf") for seconds in seconds_of(loss, ways, model, CPU))
    assert torch.get_rng_state().equal(state)
    for parameter, old in zip(model.parameters(), before, strict=True):
        assert parameter.equal(old)
        assert parameter.grad is None


@pytest.mark.parametrize("attention", ["kernel", "products"])
def test_each_attention_of_a_model_goes_the_way_that_is_taken(attention: str) -> None:
    model = nn.ModuleList([nn.Linear(2, 2) for _ in range(3)])
    model[1].kernel = None
    assert take(Way("float32", attention, "off"), model) is model
    assert model[1].kernel is (attention == "kernel")


def test_a_compiled_model_is_called_in_place_of_the_model(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch, "compile", lambda model: ("compiled", model))
    model = nn.Linear(2, 2)
    assert take(Way("float32", "kernel", "on"), model) == ("compiled", model)


def test_ways_take_turns_and_the_shortest_time_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    # The machine gets slower all the time; what the first try takes is not counted.
    now, costs, order = 0.0, iter([90, 80, 5, 3, 6, 2, 7, 4]), []
    model = nn.Linear(1, 1)
    ways = [Way("float32", "kernel", "off"), Way("bfloat16", "kernel", "off")]

    def loss(way: Way, predict: Callable[[Tensor], Tensor]) -> Tensor:
        nonlocal now
        order.append(way.precision)
        now += next(costs)
        return predict(torch.ones(1)).sum()

    monkeypatch.setattr(speed.time, "perf_counter", lambda: now)
    assert seconds_of(loss, ways, model, CPU, times=3) == [5, 2]
    assert order == ["float32", "bfloat16"] * 4


class Layers(nn.Module):
    r"""Three layers of one kind, and one of another."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(3, 3) for _ in range(3)] + [nn.Tanh()])

    def forward(self, x: Tensor) -> Tensor:
        for layer in self.layers:
            x = layer(x)
        return x


def compile_and_tell(called: list[object]) -> Callable[..., Callable[..., Tensor]]:
    def compile(function: Callable[..., Tensor]) -> Callable[..., Tensor]:
        def fast(*given: Tensor) -> Tensor:
            called.append(getattr(function, "__self__", function))
            return function(*given)

        return fast

    return compile


def test_on_a_cpu_the_model_is_compiled_as_a_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    called: list[object] = []
    monkeypatch.setattr(torch, "compile", compile_and_tell(called))
    model, x = Layers(), torch.randn(2, 3)
    predict = take(Way("float32", "kernel", "on"), model)
    expected = model(x)
    assert called == []
    assert predict(x).equal(expected)
    assert called == [model]


def test_layers_of_shards_are_compiled_each_and_the_model_itself_stays_as_it_was(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    called: list[object] = []
    monkeypatch.setattr(torch, "compile", compile_and_tell(called))
    monkeypatch.setattr(speed, "is_sharded", lambda model: True)
    model, x = Layers(), torch.randn(2, 3)
    predict = take(Way("float32", "kernel", "on"), model)
    expected = model(x)
    assert called == []
    assert predict(x).equal(expected)
    assert called == list(model.layers)
    # Also after a mistake.
    with pytest.raises(RuntimeError):
        predict(torch.randn(2, 5))
    called.clear()
    assert model(x).equal(expected)
    assert called == []


# PyTorch's compiler asks for it and hides the warning, but here it is an error first.
@pytest.mark.filterwarnings("ignore:The .grad attribute of a Tensor that is not a leaf")
@pytest.mark.parametrize("sharded", [False, True])
def test_what_is_compiled_computes_the_same_with_the_same_gradients(
    sharded: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    compile = torch.compile
    monkeypatch.setattr(speed, "is_sharded", lambda model: sharded)
    monkeypatch.setattr(torch, "compile", lambda layer: compile(layer, backend="aot_eager"))
    model, x = Layers(), torch.randn(2, 3)
    model(x).square().sum().backward()
    expected = [one.grad.clone() for one in model.parameters() if one.grad is not None]
    model.zero_grad()
    take(Way("float32", "kernel", "on"), model)(x).square().sum().backward()
    for one, other in zip(model.parameters(), expected, strict=True):
        torch.testing.assert_close(one.grad, other)


def test_the_configuration_of_a_trainer_says_what_was_chosen() -> None:
    text = torch.arange(97) % 5
    config = TrainConfig(steps=2, batch_size=3, seq_len=7, device="cpu")
    trainer = Trainer(nn.Embedding(5, 5), text, text[:31], config)
    usual = usual_way(AUTO, CPU, 7)
    assert trainer.way == usual
    again = Trainer(nn.Embedding(5, 5), text, text[:31], trainer.config)
    assert (
        again.config
        == trainer.config
        == replace(
            config, precision=usual.precision, attention=usual.attention, compile=usual.compile
        )
    )
