r"""
What do adapters learn, what do they forget, and what do they weigh?

A small transformer is trained on Shakespeare, and then adapted to Python: in full, with LoRA at
five ranks, with DoRA, and with LoRA on weights in eight bits; from three seeds each. The result is
results/lora.json, to which the pages of `labml_nn/fine_tuning` refer. It takes a quarter of an hour
of one core.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from hashlib import sha256
from statistics import mean
from typing import Any

import torch
from torch import Tensor, nn

from benchmarks.library.experiment import Experiment, Report, Runner
from benchmarks.library.tables import column
from benchmarks.pictures import heat_map, new, svg
from labml_nn.fine_tuning.dora import DoRALinear
from labml_nn.fine_tuning.lora import LoRALinear, adapt, adapter, merge
from labml_nn.fine_tuning.lora_experiment import learn, two_texts
from labml_nn.fine_tuning.quantised_base import (
    QuantisedLinear,
    quantise_bases,
)
from labml_nn.training.data import RandomWindows, fixed_windows, tiny_shakespeare
from labml_nn.training.loop import evaluate, gradients
from labml_nn.training.trained import quantise, restore
from labml_nn.transformers.basic.autoregressive_experiment import read_text
from labml_nn.transformers.basic.autoregressive_model import (
    AutoregressiveTransformer,
)
from labml_nn.transformers.fused_attention import FusedAttention

SEEDS, RANKS, ALPHA = (1, 2, 3), (1, 2, 4, 8, 16), 8.0
BASE_STEPS, STEPS, SEQ_LEN = 1000, 300, 64
# The best of three for each: table `rates`.
FULL_RATE, RATE = 3e-3, 1e-2
PYTHON = read_text("python")[:300_000]
TOKENIZER, (SHAKESPEARE, SHAKESPEARE_HELD, CODE, CODE_HELD) = two_texts(tiny_shakespeare(), PYTHON)

State = Mapping[str, Tensor]


def model_of(state: State) -> AutoregressiveTransformer:
    r"""A model with these weights."""
    model = AutoregressiveTransformer(len(TOKENIZER), attention=FusedAttention)
    model.load_state_dict(state)
    return model


def base(seed: int) -> State:
    r"""The weights of a model that has learned Shakespeare."""
    torch.manual_seed(seed)
    model = AutoregressiveTransformer(len(TOKENIZER), attention=FusedAttention)
    learn(model, RandomWindows(SHAKESPEARE, SEQ_LEN, 12, seed), BASE_STEPS, 3e-3)
    return model.state_dict()


def losses(model: nn.Module) -> dict[str, float]:
    r"""On both validation texts."""
    return {
        "python": evaluate(model, CODE_HELD, SEQ_LEN),
        "shakespeare": evaluate(model, SHAKESPEARE_HELD, SEQ_LEN),
    }


def in_eight_bits(model: nn.Module) -> None:
    r"""LoRA of rank 8 on weights in eight bits."""
    adapt(model, 8, ALPHA)
    quantise_bases(model)


def attention_only(name: str) -> bool:
    r"""The matrices that the paper of LoRA adapts."""
    return "query" in name or "value" in name


def lora(rank: int, alpha: float = ALPHA) -> Callable[[nn.Module], None]:
    r"""Adapters of a rank in all linear layers."""
    return lambda model: adapt(model, rank, alpha)


# How a model is prepared, and the learning rate.
Method = tuple[Callable[[nn.Module], None], float]
METHODS: dict[str, Method] = {
    "Full fine-tuning": (lambda model: None, FULL_RATE),
    **{f"LoRA rank {rank}": (lora(rank), RATE) for rank in RANKS},
    "LoRA rank 8 of query and value": (lambda m: adapt(m, 8, ALPHA, attention_only), RATE),
    "DoRA rank 8": (lambda model: adapt(model, 8, ALPHA, make=DoRALinear), RATE),
    "LoRA rank 8 on eight bits": (in_eight_bits, RATE),
}
# Slower, for the curve of learning and forgetting.
SLOWER: dict[str, Method] = {"Slower full fine-tuning": (lambda model: None, 1e-3)}
# For the first seed alone: other rates, and no division by the rank.
OTHERS: dict[str, Method] = {
    "Full fine-tuning at 0.0003": (lambda model: None, 3e-4),
    **{f"LoRA rank 8 at {rate}": (lora(8), rate) for rate in (3e-3, 3e-2)},
    "LoRA rank 16 undivided": (lora(16, 16.0), RATE),
}
ALL_METHODS = METHODS | SLOWER | OTHERS


def rounded_again(model: nn.Module) -> nn.Module:
    r"""The adapters are merged, and the matrices are put in eight bits once more."""
    names = [name for name, one in model.named_modules() if isinstance(one, LoRALinear)]
    merge(model)
    for name in names:
        layer = model.get_submodule(name)
        layer.weight.data = restore(*quantise(layer.weight.detach()))
    return model


def before(seed: int, state: State) -> dict[str, float]:
    r"""The losses of the base model."""
    return losses(model_of(state))


def adapted(name: str, seed: int, state: State) -> dict[str, float]:
    r"""Adapt the base model to Python, and measure."""
    prepare, rate = ALL_METHODS[name]
    quantised = "eight bits" in name
    model = model_of(state)
    torch.manual_seed(seed)
    prepare(model)
    found = {"parameters": sum(p.numel() for p in model.parameters() if p.requires_grad)}
    if quantised:
        found |= {f"before_{name}": loss for name, loss in losses(model).items()}
    begun = time.process_time()
    learn(model, RandomWindows(CODE, SEQ_LEN, 12, seed), STEPS, rate)
    found["seconds"] = time.process_time() - begun
    found |= losses(model)
    found["kilobytes"] = sum(p.numel() * p.element_size() for p in adapter(model).values()) / 1000
    if quantised:
        found["merged"] = losses(rounded_again(model))["python"]
    return found


def squares_of(change: Tensor) -> Tensor:
    r"""The share of the change that its first directions have, for 1 to 100 of them."""
    squares = torch.linalg.svdvals(change).square()
    return (squares.cumsum(0) / squares.sum())[:100]


def of_noise() -> list[float]:
    r"""The same for random matrices of the same shapes."""
    torch.manual_seed(1)
    model = AutoregressiveTransformer(len(TOKENIZER))
    layers = [one for one in model.modules() if isinstance(one, nn.Linear)]
    found = [squares_of(torch.randn(one.weight.shape)) for one in layers]
    return torch.stack(found).mean(0).tolist()


def directions(seed: int, state: State) -> dict[str, Any]:
    r"""What full fine-tuning has changed in the matrices, and what is left of it at each rank."""
    model = model_of(state)
    learn(model, RandomWindows(CODE, SEQ_LEN, 12, seed), STEPS, FULL_RATE)
    matrices = [name for name, one in model.named_modules() if isinstance(one, nn.Linear)]
    parts, shares = {}, []
    for name in matrices:
        change = model.get_submodule(name).weight.detach() - state[f"{name}.weight"]
        parts[name] = torch.linalg.svd(change, full_matrices=False)
        shares.append(squares_of(change))
    cut = {}
    for rank in (*RANKS, 32, 64):
        for name, (u, s, v) in parts.items():
            weight = state[f"{name}.weight"] + (u[:, :rank] * s[:rank]) @ v[:rank]
            model.get_submodule(name).weight.data = weight
        cut[str(rank)] = evaluate(model, CODE_HELD, SEQ_LEN)
    return {"shares": torch.stack(shares).mean(0).tolist(), "cut": cut}


@torch.no_grad()
def logits(model: nn.Module) -> Tensor:
    r"""Of 32 windows of Python."""
    return model(fixed_windows(CODE_HELD, SEQ_LEN)[0][0][:, :32])


def first_steps(state: State) -> list[dict[str, float]]:
    r"""How far ten steps move the logits, with and without the division by the rank."""
    rows = []
    for rank in RANKS:
        row: dict[str, float] = {"rank": rank}
        for name, alpha in (("divided", ALPHA), ("undivided", float(rank))):
            model = model_of(state)
            before = logits(model)
            torch.manual_seed(1)
            adapt(model, rank, alpha)
            learn(model, RandomWindows(CODE, SEQ_LEN, 12, 1), 10, 1e-3)
            row[name] = (logits(model) - before).abs().mean().item()
        rows.append(row)
    return rows


def kept_for_backward(model: nn.Module) -> float:
    r"""Megabytes that a step keeps for its backward pass, without parameters and buffers."""
    inputs, targets = CODE[: SEQ_LEN * 12].view(SEQ_LEN, 12), CODE[1 : SEQ_LEN * 12 + 1]
    storages: dict[int, int] = {}
    held = []

    def pack(tensor: Tensor) -> Tensor:
        storage = tensor.untyped_storage()
        storages[storage.data_ptr()] = storage.nbytes()
        # Held until the end, so that no two have the same address.
        held.append(tensor)
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        gradients(model, inputs, targets.view(SEQ_LEN, 12))
    own = {one.untyped_storage().data_ptr() for one in (*model.parameters(), *model.buffers())}
    return sum(size for at, size in storages.items() if at not in own) / 1e6


class Restored(QuantisedLinear):
    r"""The weights in eight bits, as one would write it at first: PyTorch keeps the restored."""

    def forward(self, x: Tensor) -> Tensor:
        return nn.functional.linear(x, self.weight, self.bias)


def memory(state: State) -> dict[str, float]:
    r"""What the three bases keep for the backward pass."""
    found = {}
    for name, kind in (("float", None), ("restored", Restored), ("again", QuantisedLinear)):
        model = model_of(state)
        adapt(model, 8, ALPHA)
        for one in list(model.modules()) if kind else []:
            if isinstance(one, LoRALinear):
                one.base = kind(one.base)
        found[name] = kept_for_backward(model)
    return found


def random_start(state: State) -> float:
    r"""The loss on Shakespeare, if B begins with random numbers like those of A."""
    model = model_of(state)
    torch.manual_seed(1)
    adapt(model, 8, ALPHA)
    for one in model.modules():
        if isinstance(one, LoRALinear):
            nn.init.kaiming_uniform_(one.b, a=5**0.5)
    return losses(model)["shakespeare"]


def measure(runner: Runner) -> dict[str, Any]:
    r"""Everything, for each seed; some for the first one alone."""
    done: dict[str, Any] = {}
    for seed in SEEDS:
        state = runner.once(base, seed)
        first = seed == SEEDS[0]
        names = [*METHODS, *SLOWER, *(OTHERS if first else ())]
        done[f"Before/{seed}"] = runner.once(before, seed, state)
        found = runner.all([(adapted, name, seed, state) for name in names])
        done |= {f"{name}/{seed}": one for name, one in zip(names, found, strict=True)}
        done[f"directions/{seed}"] = runner.once(directions, seed, state)
        if first:
            done["first steps"] = runner.once(first_steps, state)
            done["memory"] = runner.once(memory, state)
            done["random start"] = runner.once(random_start, state)
            done["base"] = state
    return done


def of_seeds(done: Mapping[str, Any], name: str, key: str) -> list[float]:
    r"""A number for each seed."""
    return [done[f"{name}/{seed}"][key] for seed in SEEDS]


def row(done: Mapping[str, Any], name: str) -> dict[str, Any]:
    r"""A line of the table of methods."""
    first, found = done[f"{name}/1"], {"method": name}
    for key in ("parameters", "kilobytes"):
        found[key] = first.get(key, 0)
    numbers = of_seeds(done, name, "python")
    found |= {"python_low": min(numbers), "python_high": max(numbers)}
    return found | {key: mean(of_seeds(done, name, key)) for key in ("python", "shakespeare")}


def point(done: Mapping[str, Any], name: str) -> list[float]:
    r"""Both losses, for the curve."""
    return [mean(of_seeds(done, name, key)) for key in ("python", "shakespeare")]


def line(name: str, points: Sequence[Sequence[float]]) -> dict[str, Any]:
    r"""A line of a figure."""
    return {"name": name, "points": [list(one) for one in points]}


def of_rates(done: Mapping[str, Any]) -> list[dict[str, Any]]:
    r"""Three learning rates for two methods, with the first seed."""
    names = {
        "full fine-tuning at 0.0003": "Full fine-tuning at 0.0003",
        "full fine-tuning at 0.001": "Slower full fine-tuning",
        "full fine-tuning at 0.003": "Full fine-tuning",
        "LoRA rank 8 at 0.003": "LoRA rank 8 at 0.003",
        "LoRA rank 8 at 0.01": "LoRA rank 8",
        "LoRA rank 8 at 0.03": "LoRA rank 8 at 0.03",
    }
    return [{"method": m, "python": done[f"{name}/1"]["python"]} for m, name in names.items()]


def changes(state: State) -> dict[str, str]:
    r"""The changes of one matrix: of any rank, of rank 1, and of rank 8, after 100 steps."""
    name, shown = "encoder.layers.1.self_attn.query.linear", 16
    figure, all_axes = new(4.6, 1.9, columns=3)
    made = {"full": METHODS["Full fine-tuning"]}
    made |= {f"rank {rank}": METHODS[f"LoRA rank {rank}"] for rank in (1, 8)}
    for axes, (title, (prepare, rate)) in zip(all_axes, made.items(), strict=True):
        model = model_of(state)
        torch.manual_seed(1)
        prepare(model)
        learn(model, RandomWindows(CODE, SEQ_LEN, 12, 1), 100, rate)
        if title != "full":
            merge(model)
        change = model.get_submodule(name).weight.detach() - state[f"{name}.weight"]
        heat_map(axes, change[:shown, :shown].tolist())
        axes.set_title(title, fontsize=9)
        axes.set_xticks([])
        axes.set_yticks([])
    return {
        "title": "What 100 steps have added to a corner of one matrix",
        "picture": svg(figure, "lora-changes"),
    }


def layers_megabytes(state: State) -> dict[str, float]:
    r"""The weights of the linear layers, in 32 bits and in eight."""
    model = model_of(state)
    adapt(model, 8, ALPHA)
    bases = [one for one in model.modules() if isinstance(one, LoRALinear)]
    found = {"float": sum(one.base.weight.nbytes for one in bases) / 1e6}
    quantise_bases(model)
    found["eight_bits"] = sum(x.nbytes for one in bases for x in one.base.buffers()) / 1e6
    return found


def figures(done: Mapping[str, Any]) -> dict[str, Any]:
    r"""Both losses, the loss by rank, and the directions of a change."""
    full, slow = "Full fine-tuning", "Slower full fine-tuning"
    ranks = [f"LoRA rank {rank}" for rank in RANKS]
    cuts = {rank: mean(done[f"directions/{s}"]["cut"][str(rank)] for s in SEEDS) for rank in RANKS}
    of_each = (done[f"directions/{seed}"]["shares"] for seed in SEEDS)
    shares = [mean(one) for one in zip(*of_each, strict=True)]
    return {
        "trade": {
            "title": "The loss on each text: learned is left, forgotten is above",
            "x": {"title": "Loss on Python", "unit": "nats"},
            "y": {"title": "Loss on Shakespeare", "unit": "nats"},
            "lines": [
                line("full fine-tuning, two rates", [point(done, one) for one in (slow, full)]),
                line("LoRA, ranks 1 to 16", [point(done, one) for one in ranks]),
            ],
        },
        "ranks": {
            "title": "The loss on Python, by rank",
            "x": {"title": "Rank", "scale": "log"},
            "y": {"title": "Loss on Python", "unit": "nats"},
            "lines": [
                line("LoRA", [[r, point(done, f"LoRA rank {r}")[0]] for r in RANKS]),
                line("change of full fine-tuning, cut to the rank", list(cuts.items())),
                line("full fine-tuning", [[r, point(done, full)[0]] for r in RANKS]),
            ],
        },
        "directions": {
            "title": "How much of a change is in its first directions",
            "x": {"title": "Directions"},
            "y": {"title": "Share of the change", "low": 0, "high": 1},
            "lines": [
                line("full fine-tuning", [[n, x] for n, x in enumerate(shares, 1)]),
                line("random numbers", [[n, x] for n, x in enumerate(of_noise(), 1)]),
            ],
        },
    }


def report(done: Mapping[str, Any]) -> Report:
    r"""What was learned, forgotten and kept."""
    seconds = {name: mean(of_seeds(done, name, "seconds")) for name in METHODS}
    eight, cut = "LoRA rank 8 on eight bits", [done[f"directions/{s}"]["cut"] for s in SEEDS]
    shares = [done[f"directions/{seed}"]["shares"] for seed in SEEDS]
    loss = {"unit": "nats", "digits": 3}
    ends = [{"name": f"python_{end}", "title": end.title(), "digits": 3} for end in ("low", "high")]
    return {
        "values": {
            "steps": STEPS,
            "python": {"sha256": sha256(PYTHON.encode()).hexdigest(), "characters": len(PYTHON)},
            "seconds": seconds["Full fine-tuning"],
            "lora_time": seconds["LoRA rank 8"] / seconds["Full fine-tuning"],
            "dora_time": seconds["DoRA rank 8"] / seconds["LoRA rank 8"],
            "eight_bits_time": seconds[eight] / seconds["LoRA rank 8"],
            "undivided": {
                "without": done["LoRA rank 16 undivided/1"]["python"],
                "divided": done["LoRA rank 16/1"]["python"],
            },
            "random_start": done["random start"],
            "share_of_8": mean(one[7] for one in shares),
            "share_of_16": mean(one[15] for one in shares),
            "cut_to_8": mean(one["8"] for one in cut),
            "cut_to_64": mean(one["64"] for one in cut),
            "quantised_base": mean(of_seeds(done, eight, "before_shakespeare")),
            "rounded": {
                "before": mean(of_seeds(done, eight, "python")),
                "after": mean(of_seeds(done, eight, "merged")),
            },
            "backward": done["memory"],
            "layers": layers_megabytes(done["base"]),
        },
        "tables": {
            "methods": {
                "columns": [
                    column("method", "Method"),
                    column("parameters", "Trained"),
                    column("kilobytes", "Kept", 0, "kB"),
                    {"name": "python", "title": "Python", **loss},
                    *ends,
                    {"name": "shakespeare", "title": "Shakespeare", **loss},
                ],
                "rows": [row(done, name) for name in ("Before", *SLOWER, *METHODS)],
            },
            "rates": {
                "columns": [
                    column("method", "Method and rate"),
                    {"name": "python", "title": "Python", **loss},
                ],
                "rows": of_rates(done),
            },
            "first_steps": {
                "columns": [
                    column("rank", "Rank"),
                    column("divided", "Divided by the rank", 3),
                    column("undivided", "Not divided", 3),
                ],
                "rows": [{**one, "rank": str(one["rank"])} for one in done["first steps"]],
            },
        },
        "figures": figures(done) | {"changes": changes(done["base"])},
    }


EXPERIMENT = Experiment(
    title="Adapters: what they learn, forget and weigh",
    measure=measure,
    report=report,
    small={"SEEDS": (1, 2), "BASE_STEPS": 2, "STEPS": 2},
    threads=None,
)
