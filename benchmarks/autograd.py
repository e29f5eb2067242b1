r"""
How wrong is a finite difference, and does our own autograd train like PyTorch's?

A small network of letters is trained from three seeds, once with the derivatives of the page about
autograd and once with PyTorch's, from the same weights and on the same batches. Then finite
differences of many steps are compared with the exact derivatives, and the passes forward and back
are timed. The result is results/autograd.json, to which the pages refer. It takes two minutes.
"""

import time
from collections.abc import Callable
from statistics import mean, median

import torch
import torch.nn.functional as F
from torch import Tensor

from benchmarks.library.experiment import Experiment, Report, Runner
from labml_nn.basics.autograd import cross_entropy
from labml_nn.basics.autograd_experiment import (
    CONTEXT,
    parameters,
    predict,
    update,
)
from labml_nn.training.data import prepare, tiny_shakespeare

SEEDS = (1, 2, 3)
STEPS, BATCH_SIZE = 5000, 256
# How often a pass is timed.
TIMES = 200
# Steps of the finite differences.
EXPONENTS = range(-12, 0)


def torchs(weights: list[Tensor], contexts: Tensor, targets: Tensor) -> Tensor:
    r"""The same loss by PyTorch's own functions."""
    table, first, first_bias, second, second_bias = weights
    hidden = table[contexts].flatten(1) @ first.flatten(0, 1) + first_bias
    return F.cross_entropy(hidden.tanh() @ second + second_bias, targets)


def batch(tokens: Tensor, size: int = BATCH_SIZE) -> tuple[Tensor, Tensor]:
    places = torch.randint(len(tokens) - CONTEXT, (size,))
    return tokens[places[:, None] + torch.arange(CONTEXT)], tokens[places + CONTEXT]


def trained(seed: int) -> dict[str, list]:
    r"""The losses of both on the way, and at the end on the validation text."""
    tokenizer, training, held_out = prepare(tiny_shakespeare(), 64)
    n_vocab = len(tokenizer)
    ours = parameters(n_vocab, seed)
    theirs = [weight.value.clone().requires_grad_() for weight in ours]
    losses: dict[str, list] = {"ours": [], "PyTorch's": [], "end": []}
    for step in range(STEPS):
        rate = 0.5 if step < 0.7 * STEPS else 0.05
        contexts, targets = batch(training)
        loss = update(ours, contexts, targets, rate).value.item()
        other = torchs(theirs, contexts, targets)
        gradients = torch.autograd.grad(other, theirs)
        with torch.no_grad():
            for weight, gradient in zip(theirs, gradients, strict=True):
                weight -= rate * gradient
        if (step + 1) % 100 == 0:
            losses["ours"].append([step + 1, loss])
            losses["PyTorch's"].append([step + 1, other.item()])
    contexts, targets = held_out.unfold(0, CONTEXT, 1)[:-1], held_out[CONTEXT:]
    for weights in ([one.value for one in ours], [one.detach() for one in theirs]):
        losses["end"].append(torchs(weights, contexts, targets).item())
    return losses


def differences(seed: int, tokens: Tensor, n_vocab: int) -> dict[str, dict[int, list[float]]]:
    r"""The error of each step, as a share of the derivative, for some weights of the network."""
    contexts, targets = batch(tokens)
    exact = [weight.value.double().requires_grad_() for weight in parameters(n_vocab, seed)]
    gradients = torch.autograd.grad(torchs(exact, contexts, targets), exact)
    # Of the largest derivatives of the first layer, which no rounding hides at once.
    gradient, places = gradients[1].flatten(), gradients[1].abs().flatten().topk(40).indices
    errors: dict[str, dict[int, list[float]]] = {}
    for name, dtype in (("32 bits", torch.float32), ("64 bits", torch.float64)):
        weights = [one.detach().to(dtype) for one in exact]

        def loss(place: int, h: float, weights: list[Tensor] = weights) -> float:
            moved = weights[1].clone()
            moved.view(-1)[place] += h
            return torchs([weights[0], moved, *weights[2:]], contexts, targets).item()

        for exponent in EXPONENTS:
            h = 10.0**exponent
            for place in places.tolist():
                wanted = gradient[place].item()
                up, here, down = loss(place, h), loss(place, 0.0), loss(place, -h)
                for kind, found in (("", (up - here) / h), (", both sides", (up - down) / (2 * h))):
                    row = errors.setdefault(name + kind, {}).setdefault(exponent, [])
                    row.append(abs(found - wanted) / abs(wanted))
    return errors


def milliseconds(call: Callable[[], object]) -> float:
    r"""The median time of one call, of the processor, on one thread: others may be at work."""
    taken = []
    for _ in range(TIMES):
        start = time.process_time()
        call()
        taken.append(1000 * (time.process_time() - start))
    return median(taken)


def timed(tokens: Tensor, n_vocab: int) -> dict[str, float]:
    r"""A forward pass alone, and with the backward pass, by both."""
    contexts, targets = batch(tokens, 4096)
    weights = parameters(n_vocab, 1)
    theirs = [weight.value.clone().requires_grad_() for weight in weights]
    forward = milliseconds(lambda: cross_entropy(predict(weights, contexts), targets))
    both = milliseconds(lambda: cross_entropy(predict(weights, contexts), targets).backward())
    with torch.no_grad():
        pytorch = milliseconds(lambda: torchs(theirs, contexts, targets))
    whole = milliseconds(lambda: torchs(theirs, contexts, targets).backward())
    return {
        "forward": forward,
        "both": both,
        "back": (both - forward) / forward,
        "pytorch_forward": pytorch,
        "pytorch_both": whole,
        "pytorch_back": (whole - pytorch) / pytorch,
    }


def measure(runner: Runner) -> Report:
    r"""Train, differentiate, and take the times."""
    tokenizer, training, _ = prepare(tiny_shakespeare(), 64)
    n_vocab = len(tokenizer)
    runs = runner.all([(trained, seed) for seed in SEEDS])
    ends = list(zip(*(run["end"] for run in runs), strict=True))
    errors: dict[str, dict[int, list[float]]] = {}
    for seed in SEEDS:
        for name, rows in differences(seed, training, n_vocab).items():
            for exponent, found in rows.items():
                errors.setdefault(name, {}).setdefault(exponent, []).extend(found)
    middle = {
        name: {exponent: median(found) for exponent, found in rows.items()}
        for name, rows in errors.items()
    }
    best = {name: min(rows.values()) for name, rows in middle.items()}
    times = timed(training, n_vocab)
    return {
        "values": {
            "ours": mean(ends[0]),
            "pytorchs": mean(ends[1]),
            "lowest": min(ends[0]),
            "highest": max(ends[0]),
            "apart": max(abs(one - other) for one, other in zip(*ends, strict=True)),
            "best_32": best["32 bits"],
            "best_32_both": best["32 bits, both sides"],
            "best_64": best["64 bits"],
            "parameters": sum(weight.value.numel() for weight in parameters(n_vocab, 1)),
            **times,
        },
        "figures": {
            "steps": {
                "title": "Error of a finite difference, as a share of the derivative (medians)",
                "x": {"title": "Step h", "scale": "log"},
                "y": {"title": "Error", "scale": "log"},
                "lines": [
                    {"name": name, "points": [[10.0**e, max(rows[e], 1e-12)] for e in rows]}
                    for name, rows in middle.items()
                ],
            },
            "losses": {
                "title": "Training loss of the first seed",
                "x": {"title": "Step"},
                "y": {"title": "Loss", "unit": "nats"},
                "lines": [
                    {"name": name, "points": runs[0][name]} for name in ("ours", "PyTorch's")
                ],
            },
        },
    }


EXPERIMENT = Experiment(
    title="Our own autograd, PyTorch's, and finite differences",
    measure=measure,
    small={"SEEDS": (1, 2), "STEPS": 100, "EXPONENTS": range(-3, 0), "TIMES": 2},
)
