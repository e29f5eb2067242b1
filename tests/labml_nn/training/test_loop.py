import copy
import math
from collections.abc import Callable

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from labml_nn.training.data import RandomWindows
from labml_nn.training.loop import adamw, clip_gradients, evaluate, gradients, learning_rate, train
from tests.labml_nn.training.engine.models import D_MODEL, N_VOCAB, make_model, make_text

SEQ_LEN = 7
TEXT = make_text(997)
BATCHES = RandomWindows(TEXT, SEQ_LEN, 4, seed=1)


def furthest(one: nn.Module, other: nn.Module) -> float:
    r"""The largest difference of two weights."""
    pairs = zip(one.parameters(), other.parameters(), strict=True)
    return max((a - b).abs().max().item() for a, b in pairs)


@pytest.mark.parametrize(
    ("step", "expected"),
    [
        (0, 1 / 100),
        (49, 1 / 2),
        (99, 1),
        (100, 1),
        # A third, a half and two thirds of the way down, where the cosine is 1/2, 0 and -1/2.
        (700, 0.1 + 0.9 * 0.75),
        (1000, 0.1 + 0.9 * 0.5),
        (1300, 0.1 + 0.9 * 0.25),
        (1899, 0.1),
    ],
)
def test_the_rate_rises_in_a_line_and_falls_along_half_a_cosine(step: int, expected: float) -> None:
    assert learning_rate(step, 1900, warmup=100 / 1900) == pytest.approx(expected, rel=1e-4)


@pytest.mark.parametrize("warmup", [0.0, 0.3, 1.0])
def test_the_rate_is_never_zero_nor_above_the_highest(warmup: float) -> None:
    rates = [learning_rate(step, 10, warmup, final=0.0) for step in range(10)]
    assert max(rates) == 1.0
    assert min(rates) > 0
    top = rates.index(1.0)
    assert rates[: top + 1] == sorted(rates[: top + 1])
    assert rates[top:] == sorted(rates[top:], reverse=True)


def test_matrices_decay_and_nothing_else_does() -> None:
    optimizer = adamw(make_model(), rate=0.02, weight_decay=0.3)
    found = [
        (group["weight_decay"], group["lr"], [list(p.shape) for p in group["params"]])
        for group in optimizer.param_groups
    ]
    assert found == [
        (0.3, 0.02, [[N_VOCAB, D_MODEL], [N_VOCAB, D_MODEL]]),
        (0.0, 0.02, [[D_MODEL], [D_MODEL], [N_VOCAB]]),
    ]


def test_three_steps_are_those_of_adamw_written_out() -> None:
    model, expected = make_model(), make_model()

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
                g = g * min(1, 1 / norm)
                m.mul_(0.9).add_(0.1 * g)
                v.mul_(0.99).add_(0.01 * g * g)
                m_hat, v_hat = m / (1 - 0.9 ** (step + 1)), v / (1 - 0.99 ** (step + 1))
                decay = 0.1 if p.dim() >= 2 else 0.0
                p.mul_(1 - rate * decay).sub_(rate * m_hat / (v_hat.sqrt() + 1e-8))
    assert furthest(model, expected) < 1e-6


def test_gradients_longer_than_the_limit_are_shortened_and_keep_their_direction() -> None:
    model = make_model()
    for length, expected in ((0.5, 0.5), (100.0, 3.0)):
        grads = [torch.randn_like(p) for p in model.parameters()]
        norm = torch.cat([g.flatten() for g in grads]).norm()
        for p, g in zip(model.parameters(), grads, strict=True):
            p.grad = 3 * g / norm
        clip_gradients(model, length)
        for p, g in zip(model.parameters(), grads, strict=True):
            torch.testing.assert_close(p.grad, expected * g / norm, rtol=1e-5, atol=1e-7)


def test_each_group_follows_the_schedule_from_a_rate_of_its_own() -> None:
    model, expected = make_model(), make_model()
    first, *others = model.parameters()
    groups = [{"params": others[:2], "lr": 0.5}, {"params": others[2:]}]
    optimizers = [torch.optim.SGD([first], lr=0.2), torch.optim.SGD(groups, lr=0.3)]
    train(
        model,
        BATCHES.at,
        optimizers,
        2,
        schedule=lambda step, steps: (step + 1) / (steps + 2),
        clip=lambda model: None,
    )

    # At the first step a quarter of each rate, and a half at the second.
    for step, share in enumerate((0.25, 0.5)):
        expected.zero_grad()
        gradients(expected, *BATCHES.at(step))
        for p, rate in zip(expected.parameters(), [0.2, 0.5, 0.5, 0.3, 0.3], strict=True):
            p.data -= share * rate * p.grad
    assert furthest(model, expected) < 1e-6


def test_a_run_that_goes_on_ends_with_the_bits_of_one_that_was_not_interrupted() -> None:
    whole = make_model()
    train(whole, BATCHES.at, [adamw(whole)], 20)

    # Stopped after 7 of 20 steps; model and optimizer are all that is kept.
    first = make_model()
    optimizer = adamw(first)
    train(first, BATCHES.at, [optimizer], 20, after_step=lambda step, loss: step == 7)
    kept = copy.deepcopy([first.state_dict(), optimizer.state_dict()])

    second = make_model()
    optimizer = adamw(second)
    second.load_state_dict(kept[0])
    optimizer.load_state_dict(kept[1])
    train(second, BATCHES.at, [optimizer], 20, start=7)
    assert furthest(second, whole) == 0


def test_a_callers_gradients_take_a_batch_in_parts() -> None:
    def in_halves(model: nn.Module, inputs: Tensor, targets: Tensor) -> Tensor:
        total = torch.zeros(())
        for x, y in zip(inputs.split(2, 1), targets.split(2, 1), strict=True):
            loss = F.cross_entropy(model(x).flatten(0, 1), y.flatten()) / 2
            loss.backward()
            total += loss.detach()
        return total

    whole, parts, losses = make_model(), make_model(), ([], [])
    for model, take, found in ((whole, gradients, losses[0]), (parts, in_halves, losses[1])):
        train(
            model,
            BATCHES.at,
            [adamw(model)],
            10,
            gradients=take,
            after_step=lambda step, loss, found=found: found.append(loss.item()),
        )
    assert furthest(whole, parts) < 1e-5
    assert losses[0] == pytest.approx(losses[1], rel=1e-5)


class Scaled:
    r"""What a loop needs of an optimizer; float16 has one behind a gradient scaler."""

    def __init__(self, optimizer: torch.optim.Optimizer) -> None:
        self.param_groups, self.step = optimizer.param_groups, optimizer.step


def test_a_scaled_loss_makes_the_same_steps_when_the_clipping_divides_again() -> None:
    scale = 1024.0

    def scaled(model: nn.Module, inputs: Tensor, targets: Tensor) -> Tensor:
        loss = F.cross_entropy(model(inputs).flatten(0, 1), targets.flatten())
        (loss * scale).backward()
        return loss.detach()

    def unscale_and_clip(model: nn.Module) -> None:
        for p in model.parameters():
            p.grad /= scale
        clip_gradients(model)

    plain, model = make_model(), make_model()
    train(plain, BATCHES.at, [adamw(plain)], 10)
    train(model, BATCHES.at, [Scaled(adamw(model))], 10, gradients=scaled, clip=unscale_and_clip)
    assert furthest(plain, model) < 1e-6


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
    train(
        model,
        BATCHES.at,
        [adamw(model)],
        5,
        start=2,
        after_step=lambda step, loss: steps.append((step, model.training, loss.requires_grad)),
    )
    assert steps == [(3, True, False), (4, True, False), (5, True, False)]


@pytest.mark.parametrize(("length", "batch_size"), [(57, 3), (58, 100), (60, 1), (4, 5)])
def test_the_loss_is_that_of_a_loop_over_all_characters(length: int, batch_size: int) -> None:
    class Sum(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.weight = nn.Parameter(torch.randn(N_VOCAB * SEQ_LEN, N_VOCAB))

        def forward(self, tokens: Tensor) -> Tensor:
            return self.weight[tokens.cumsum(0)]

    torch.manual_seed(3)
    model, text = Sum(), TEXT[:length]
    total = 0.0
    for place in range(1, length):
        first = (place - 1) // SEQ_LEN * SEQ_LEN
        scores = model.weight[int(text[first:place].sum())].tolist()
        total += math.log(sum(map(math.exp, scores))) - scores[int(text[place])]
    assert evaluate(model, text, SEQ_LEN, batch_size) == pytest.approx(total / (length - 1))


@pytest.mark.parametrize("mode", [nn.Module.train, nn.Module.eval])
def test_evaluation_has_no_dropout_no_gradients_and_changes_no_mode(mode: Callable) -> None:
    model = mode(make_model(0.5))
    training = model.training
    assert evaluate(model, TEXT, SEQ_LEN) == evaluate(model, TEXT, SEQ_LEN)
    assert model.training == training
    assert all(p.grad is None for p in model.parameters())
