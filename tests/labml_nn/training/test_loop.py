import math
from collections.abc import Callable
from functools import partial

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from labml_nn.training.data import RandomWindows, prepare, tiny_shakespeare
from labml_nn.training.loop import adamw, clip_gradients, evaluate, gradients, learning_rate, train
from labml_nn.transformers.basic.autoregressive_model import AutoregressiveTransformer
from tests.labml_nn.training.engine.models import N_VOCAB, make_model, make_text
from tests.labml_nn.transformers.seam import equals
from tests.oracles.compare import largest

SEQ_LEN = 7
TEXT = make_text(997)
BATCHES = RandomWindows(TEXT, SEQ_LEN, 4, seed=1)


def furthest(one: nn.Module, other: nn.Module) -> float:
    return largest(list(one.parameters()), list(other.parameters()))


def test_the_rate_rises_in_a_line_and_falls_along_half_a_cosine() -> None:
    # A third, a half and two thirds of the way down the cosine is 1/2, 0 and -1/2.
    steps = (0, 49, 99, 100, 700, 1000, 1300, 1899)
    expected = [1 / 100, 1 / 2, 1, 1, *(0.1 + 0.9 * share for share in (0.75, 0.5, 0.25, 0))]
    found = [learning_rate(step, 1900, warmup=100 / 1900) for step in steps]
    assert found == pytest.approx(expected, rel=1e-4)


@pytest.mark.parametrize("warmup", [0.0, 0.3, 1.0])
def test_the_rate_is_never_zero_nor_above_the_highest(warmup: float) -> None:
    rates = [learning_rate(step, 10, warmup, final=0.0) for step in range(10)]
    assert max(rates) == 1.0
    assert min(rates) > 0


def first_losses(warmup: float) -> list[float]:
    r"""The first six of 250 steps of the small transformer at ten times the usual rate."""
    tokenizer, tokens, _ = prepare(tiny_shakespeare(), 64)
    torch.manual_seed(1)
    model = AutoregressiveTransformer(len(tokenizer))
    losses: list[float] = []

    def after_step(step: int, loss: Tensor) -> bool:
        losses.append(loss.item())
        return step == 6

    batches = RandomWindows(tokens, 64, 12, seed=1)
    schedule = partial(learning_rate, warmup=warmup)
    train(model, batches.at, [adamw(model, 0.03)], 250, schedule=schedule, after_step=after_step)
    return losses


def test_at_a_high_rate_the_loss_jumps_above_its_first_value_unless_the_rate_rises() -> None:
    with_rise, without = first_losses(0.05), first_losses(0.0)
    assert max(without) > 1.2 * without[0]
    assert max(with_rise) == with_rise[0]


def from_adamw() -> float:
    r"""How far the weights are from those of three steps of AdamW, written out."""
    model, expected = make_model().double(), make_model().double()

    # Large logits make gradients that are clipped.
    for one in (model, expected):
        one[3].weight.data *= 20
    train(model, BATCHES.at, [adamw(model, rate=0.02)], 3)
    states = [(torch.zeros_like(p), torch.zeros_like(p)) for p in expected.parameters()]
    for step in range(3):
        x, y = BATCHES.at(step)
        loss = F.cross_entropy(expected(x).view(-1, N_VOCAB), y.reshape(-1))
        grads = torch.autograd.grad(loss, list(expected.parameters()))
        norm = math.sqrt(sum(g.pow(2).sum().item() for g in grads))
        assert norm > 2
        rate = 0.02 * learning_rate(step, 3)
        with torch.no_grad():
            for p, g, (m, v) in zip(expected.parameters(), grads, states, strict=True):
                # PyTorch keeps the divisor from zero.
                g = g * min(1, 1 / (norm + 1e-6))
                m.mul_(0.9).add_(0.1 * g)
                v.mul_(0.99).add_(0.01 * g * g)
                m_hat, v_hat = m / (1 - 0.9 ** (step + 1)), v / (1 - 0.99 ** (step + 1))
                decay = 0.1 if p.dim() >= 2 else 0.0
                p.mul_(1 - rate * decay).sub_(rate * m_hat / (v_hat.sqrt() + 1e-8))
    return furthest(model, expected)


def test_gradients_longer_than_the_limit_are_shortened_and_keep_their_direction() -> None:
    model = make_model()
    for length, expected in ((0.5, 0.5), (100.0, 3.0)):
        grads = [torch.randn_like(p) for p in model.parameters()]
        norm = torch.cat([g.flatten() for g in grads]).norm()
        for p, g in zip(model.parameters(), grads, strict=True):
            p.grad = 3 * g / norm
        clip_gradients(model, length)
        assert (
            largest([p.grad for p in model.parameters()], [expected * g / norm for g in grads])
            < 1e-6
        )


def test_each_group_follows_the_schedule_from_a_rate_of_its_own() -> None:
    model, expected = make_model(), make_model()
    first, *others = model.parameters()
    groups = [{"params": others[:2], "lr": 0.5}, {"params": others[2:]}]
    optimizers = [torch.optim.SGD([first], lr=0.2), torch.optim.SGD(groups, lr=0.3)]
    options = {"schedule": lambda at, steps: (at + 1) / (steps + 2), "clip": lambda model: None}
    train(model, BATCHES.at, optimizers, 2, **options)

    # At the first step a quarter of each rate, and a half at the second.
    for step, share in enumerate((0.25, 0.5)):
        expected.zero_grad()
        gradients(expected, *BATCHES.at(step))
        for p, rate in zip(expected.parameters(), [0.2, 0.5, 0.5, 0.3, 0.3], strict=True):
            p.data -= share * rate * p.grad
    assert furthest(model, expected) < 1e-6


def test_a_callers_gradients_take_a_batch_in_parts_and_its_clipping_divides_their_scale() -> None:
    def in_halves(model: nn.Module, inputs: Tensor, targets: Tensor) -> Tensor:
        parts = zip(inputs.split(2, 1), targets.split(2, 1), strict=True)
        losses = [F.cross_entropy(model(x).flatten(0, 1), y.flatten()) / 2 for x, y in parts]
        (1024 * sum(losses)).backward()
        return sum(losses).detach()

    def unscale_and_clip(model: nn.Module) -> None:
        for p in model.parameters():
            p.grad /= 1024
        clip_gradients(model)

    both, found = (make_model(), make_model()), []
    arguments = ({}, {"gradients": in_halves, "clip": unscale_and_clip})
    for model, options in zip(both, arguments, strict=True):
        options["after_step"] = lambda step, loss: found.append(loss.item())
        train(model, BATCHES.at, [adamw(model)], 10, **options)
    assert furthest(*both) < 1e-5
    assert found[:10] == pytest.approx(found[10:], rel=1e-5)


def test_the_context_surrounds_the_forward_pass() -> None:
    seen = []

    class Watched(nn.Sequential):
        def forward(self, tokens: Tensor) -> Tensor:
            seen.append(torch.is_autocast_enabled("cpu"))
            return super().forward(tokens)

    model = Watched(make_model())
    gradients(model, *BATCHES.at(0), context=lambda: torch.autocast("cpu", torch.bfloat16))
    assert seen == [True]
    assert {p.grad.dtype for p in model.parameters()} == {torch.float32}


def test_steps_are_counted_from_one_and_dropout_is_on_in_each() -> None:
    model, steps = make_model(0.5).eval(), []

    def after_step(step: int, loss: Tensor) -> None:
        steps.append((step, model.training, loss.requires_grad))

    train(model, BATCHES.at, [adamw(model)], 5, start=2, after_step=after_step)
    assert steps == [(3, True, False), (4, True, False), (5, True, False)]


def from_characters(length: int, batch_size: int) -> float:
    r"""How far the loss is from that of a loop over all characters."""
    torch.manual_seed(1)

    class Sum(nn.Embedding):
        def forward(self, tokens: Tensor) -> Tensor:
            return super().forward(tokens.cumsum(0))

    model, text = Sum(N_VOCAB * SEQ_LEN, N_VOCAB).double(), TEXT[:length]
    total = 0.0
    for place in range(1, length):
        first = (place - 1) // SEQ_LEN * SEQ_LEN
        scores = model.weight[int(text[first:place].sum())].tolist()
        total += math.log(sum(map(math.exp, scores))) - scores[int(text[place])]
    return abs(evaluate(model, text, SEQ_LEN, batch_size) - total / (length - 1))


CASES = [(57, 3), (58, 100), (60, 1), (4, 5)]
ORACLES = {
    "AdamW, written out": from_adamw,
    "a loop over all characters": lambda: max(from_characters(*case) for case in CASES),
}
test_it_is_what_others_compute = equals(ORACLES)


@pytest.mark.parametrize("mode", [nn.Module.train, nn.Module.eval])
def test_evaluation_has_no_dropout_no_gradients_and_changes_no_mode(mode: Callable) -> None:
    model = mode(make_model(0.5))
    training = model.training
    assert evaluate(model, TEXT, SEQ_LEN) == evaluate(model, TEXT, SEQ_LEN)
    assert model.training == training
    assert all(p.grad is None for p in model.parameters())
