r"""
What does one wrong detail do when weights are loaded?

Small models of letters, built as GPT-2, Llama 3 and Qwen3, are trained for 1,000 steps from three
seeds each. Then each is loaded again with one detail wrong. All shapes are right; what are the loss
and the likeliest next letters? The result is results/pretrained.json, to which the pages of
labml_nn/pretrained refer. It takes three minutes of one core.
"""

import json
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from statistics import mean
from tempfile import TemporaryDirectory
from typing import Any

import torch
from torch import Tensor, nn

from benchmarks.library.experiment import Experiment, Report, Runner
from benchmarks.library.ranges import spread
from benchmarks.library.tables import column, table
from benchmarks.pictures import ACCENT, INK, new, svg
from labml_nn.basics import byte_pairs
from labml_nn.pretrained import byte_level
from labml_nn.pretrained.checkpoint import read_file, write_file
from labml_nn.pretrained.gpt2 import GPT2, LAYER, gpt2_table, load_gpt2
from labml_nn.pretrained.gpt2_experiment import TABLES
from labml_nn.pretrained.llama3 import Llama, LlamaAttention
from labml_nn.pretrained.llama_frequencies import rotary_of
from labml_nn.pretrained.qwen3 import Qwen3Attention
from labml_nn.training.data import RandomWindows, fixed_windows, prepare, tiny_shakespeare
from labml_nn.training.loop import adamw, evaluate, train
from labml_nn.transformers.positions.rotary_pairs import halves_to_neighbours

SEEDS = (1, 2, 3)
STEPS, SEQ_LEN, BATCH_SIZE = 1000, 64, 12
TEXT = tiny_shakespeare()
TOKENIZER, TRAINING, VALIDATION = prepare(TEXT, SEQ_LEN)
CONFIG: dict[str, Any] = {
    "vocab_size": len(TOKENIZER), "hidden_size": 64, "num_hidden_layers": 2,
    "num_attention_heads": 4, "num_key_value_heads": 2, "intermediate_size": 168,
    "rms_norm_eps": 1e-5, "max_position_embeddings": SEQ_LEN, "tie_word_embeddings": False,
}  # fmt: skip
# Llama 3.1 was first trained on 8,192 positions. With 16, the first pair of a small model goes
# around 2.5 times, so it is between, and all others are slower by the whole factor.
SCALED = {
    "rope_type": "llama3", "rope_theta": 500_000.0, "factor": 8.0, "low_freq_factor": 1.0,
    "high_freq_factor": 4.0, "original_max_position_embeddings": 16,
}  # fmt: skip
PLAIN = {"rope_type": "default", "rope_theta": 500_000.0}
CONFIGS = {
    "llama": CONFIG | {"rope_parameters": SCALED},
    "qwen": CONFIG | {"rope_parameters": PLAIN, "head_dim": 24},
}


def fresh(kind: str) -> nn.Module:
    r"""A model with random weights."""
    if kind == "gpt2":
        model = GPT2(len(TOKENIZER), 64, 4, 2, 256, SEQ_LEN)
        # As GPT-2 began: with the variance 1 of our parts, tied logits would be far too large.
        nn.init.normal_(model.tokens.weight, std=0.02)
        nn.init.normal_(model.positions.encodings, std=0.02)
        return model
    return Llama(CONFIGS[kind], {"llama": LlamaAttention, "qwen": Qwen3Attention}[kind])


def trained(kind: str, seed: int) -> dict[str, Any]:
    r"""The weights of a model, and the processor's seconds."""
    torch.manual_seed(seed)
    model = fresh(kind)
    started = time.process_time()
    batches = RandomWindows(TRAINING, SEQ_LEN, BATCH_SIZE, seed)
    train(model, batches.at, [adamw(model)], STEPS)
    return {"weights": model.state_dict(), "seconds": time.process_time() - started}


def with_weights(kind: str, weights: Mapping[str, Tensor]) -> nn.Module:
    r"""A model that was trained."""
    model = fresh(kind)
    model.load_state_dict(weights)
    return model.eval()


def save(model: GPT2, folder: Path) -> None:
    r"""The model in GPT-2's own format."""
    parts: dict[str, list[Tensor]] = {}
    for mine, (name, _) in gpt2_table(len(model.encoder.layers), LAYER).items():
        parts.setdefault(name, []).append(model.state_dict()[mine])
    tensors = {
        name: torch.cat(some).transpose(0, -1) if name.startswith("h.") else some[0]
        for name, some in parts.items()
    }
    tensors["wpe.weight"] = tensors["wpe.weight"].squeeze(1)
    write_file(folder / "model.safetensors", tensors)
    config = {"model_type": "gpt2", "vocab_size": len(TOKENIZER), "n_embd": 64, "n_head": 4}
    config |= {"n_layer": 2, "n_positions": SEQ_LEN, "layer_norm_epsilon": 1e-5}
    (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")


def attentions(model: nn.Module) -> list[nn.Module]:
    return [layer.self_attn for layer in model.encoder.layers]


def lost(model: nn.Module) -> None:
    r"""One matrix stays as it was before loading."""
    attentions(model)[0].output.reset_parameters()


def plain_gelu(model: nn.Module) -> None:
    for layer in model.encoder.layers:
        layer.feed_forward.activation = nn.GELU()


def small_eps(model: nn.Module) -> None:
    for module in model.modules():
        if hasattr(module, "eps"):
            module.eps = 1e-12


def late(model: nn.Module) -> None:
    r"""Each position has the vector of the one before it."""
    model.positions.encodings.copy_(model.positions.encodings.roll(1, 0))


def neighbours(model: nn.Module) -> None:
    r"""Rows as if they had been trained with pairs of neighbours."""
    for attention in attentions(model):
        for part, heads in ((attention.query, 4), (attention.key, 2)):
            part.linear.weight.copy_(halves_to_neighbours(part.linear.weight, heads))


def other_rotary(rope: Mapping[str, Any]) -> Callable[[nn.Module], None]:
    def change(model: nn.Module) -> None:
        rotary = rotary_of(CONFIGS["llama"] | {"rope_parameters": rope})
        for attention in attentions(model):
            attention.rotary = rotary

    return change


def groups(model: nn.Module) -> None:
    r"""Heads of keys for 0 1 0 1 in place of 0 0 1 1."""
    for attention in attentions(model):
        for part in (attention.key, attention.value):
            part.forward = lambda x, part=part: (
                part.linear(x).unflatten(-1, (part.heads, part.d_k)).repeat(1, 1, part.group, 1)
            )


def gate(model: nn.Module) -> None:
    for layer in model.encoder.layers:
        network = layer.feed_forward
        network.gate, network.value = network.value, network.gate


def not_normalised(model: nn.Module) -> None:
    for attention in attentions(model):
        attention.query.norm = attention.key.norm = nn.Identity()


def after_rotation(model: nn.Module) -> None:
    for attention in attentions(model):
        norms, rotate = (attention.query.norm, attention.key.norm), attention.rotary
        attention.query.norm = attention.key.norm = nn.Identity()

        def scores(
            query: Tensor,
            key: Tensor,
            attention: nn.Module = attention,
            norms: tuple = norms,
            rotate: nn.Module = rotate,
        ) -> Tensor:
            root = attention.d_k**0.5
            query, key = norms[0](rotate(query * root)) / root, norms[1](rotate(key))
            return torch.einsum("ibhd,jbhd->ijbh", query, key)

        attention.get_scores = scores


Change = Callable[[nn.Module], None]
MISTAKES: dict[str, dict[str, Change]] = {
    "gpt2": {
        "one matrix left at random": lost,
        "each position one too late": late,
        "GELU without the tanh": plain_gelu,
        "ε of 1e-12, not 1e-5": small_eps,
    },
    "llama": {
        "all right": lambda model: None,
        "neighbours as pairs, not halves": neighbours,
        "base 10,000, not 500,000": other_rotary(SCALED | {"rope_theta": 10_000.0}),
        "frequencies not scaled": other_rotary(PLAIN),
        "groups 0 1 0 1, not 0 0 1 1": groups,
        "gate and value exchanged": gate,
        "ε of 1e-12, not 1e-5": small_eps,
    },
    "qwen": {
        "all right": lambda model: None,
        "queries and keys not normalised": not_normalised,
        "normalised after the rotation": after_rotation,
    },
}


@torch.no_grad()
def likeliest(model: nn.Module) -> Tensor:
    r"""The likeliest next letter at each of many positions."""
    return model(fixed_windows(VALIDATION, SEQ_LEN)[0][0][:, :200]).argmax(dim=-1)


def details(kind: str, seed: int, weights: Mapping[str, Tensor]) -> dict[str, dict[str, float]]:
    r"""For each detail, the loss and the share of other predictions."""
    found, models = {}, {}
    model = with_weights(kind, weights)
    right = likeliest(model)
    if kind == "gpt2":
        with TemporaryDirectory() as folder:
            save(model, Path(folder))
            for name, layers in TABLES.items():
                models[name] = load_gpt2(Path(folder), layers=layers)
            for name in MISTAKES[kind]:
                models[name] = load_gpt2(Path(folder))
    else:
        models = {name: with_weights(kind, weights) for name in MISTAKES[kind]}
    for name, one in models.items():
        torch.manual_seed(seed)
        with torch.no_grad():
            MISTAKES[kind].get(name, lambda model: None)(one)
        found[name] = {
            "loss": evaluate(one, VALIDATION, SEQ_LEN),
            "other": 100 * (likeliest(one) != right).double().mean().item(),
        }
    return found


COLUMNS = [
    column("detail", "Detail"),
    column("loss", "Loss", 3, "nats"),
    column("low", "lowest", 3),
    column("high", "highest", 3),
    column("other", "Other letter", 1, "%"),
]


def by_detail(runs: list[dict[str, dict[str, float]]]) -> dict[str, Any]:
    r"""The means of the seeds."""
    rows = [
        {
            "detail": name,
            **spread("loss", [run[name]["loss"] for run in runs]),
            "other": mean(run[name]["other"] for run in runs),
        }
        for name in runs[0]
    ]
    return table(COLUMNS, rows)


def picture(tables: Mapping[str, Any], names: Mapping[str, str]) -> str:
    r"""A bar for each detail, with the range of the seeds."""
    figure, (axes,) = new(6.4, 5.6)
    labels, at = [], 0
    for kind, title in names.items():
        for row in tables[kind]["rows"]:
            axes.plot([row["low"], row["high"]], [at, at], color=ACCENT, linewidth=3)
            axes.plot([row["loss"]], [at], color=ACCENT, marker="o", markersize=7)
            labels.append(f"{title}: {row['detail']}")
            at += 1
    axes.set_yticks(range(at), labels, fontsize=10)
    axes.invert_yaxis()
    axes.grid(axis="x", color=INK, alpha=0.12, linewidth=0.8)
    axes.set_xlabel("Loss (nats)", fontsize=12)
    axes.tick_params(axis="y", length=0)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    return svg(figure, "pretrained-details")


def resident() -> float:
    r"""MB of this process that are in memory."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * 4096 / 1e6


def mapped() -> list[dict[str, Any]]:
    r"""What is in memory after each step with a file of 64 MB."""
    rows = []
    with TemporaryDirectory() as folder:
        path = Path(folder) / "model.safetensors"
        tensors = {f"matrix {number}": torch.zeros(1000, 1000) for number in range(16)}
        header = {
            name: {"dtype": "F32", "shape": [1000, 1000],
                   "data_offsets": [at * 4_000_000, (at + 1) * 4_000_000]}
            for at, name in enumerate(tensors)
        }  # fmt: skip
        del tensors
        text = json.dumps(header).encode()
        text += b" " * (-len(text) % 8)
        path.write_bytes(len(text).to_bytes(8, "little") + text + bytes(64_000_000))
        before = resident()
        found = read_file(path)
        rows.append({"step": "after `read_file`", "more": resident() - before})
        found["matrix 3"].sum()
        rows.append({"step": "one of 16 matrices added up", "more": resident() - before})
        for matrix in found.values():
            matrix.sum()
        rows.append({"step": "all of them", "more": resident() - before})
        del found, matrix
        before = resident()
        content = path.read_bytes()
        rows.append({"step": "`path.read_bytes()` in its place", "more": resident() - before})
        del content
    for row in rows:
        row["more"] = max(row["more"], 0.0)
        row["step"] = row["step"].replace("`", "")
    return rows


def cut() -> list[dict[str, str]]:
    r"""A text cut by two patterns."""
    text = "Don't  stop: ½ of 2024's"
    ways = {
        "GPT-2's": byte_level.pieces(text),
        "of our byte pairs": byte_level.re.findall(byte_pairs.PIECES, text),
    }
    return [{"pattern": name, "pieces": "|".join(found)} for name, found in ways.items()]


KINDS = ("gpt2", "llama", "qwen")


def measure(runner: Runner) -> dict[str, Any]:
    r"""Train the models, and load each with every wrong detail."""
    rows = mapped()
    models = runner.all([(trained, kind, seed) for kind in KINDS for seed in SEEDS])
    kinds = [(kind, seed) for kind in KINDS for seed in SEEDS]
    jobs = zip(kinds, models, strict=True)
    found = runner.all([(details, *one, model["weights"]) for one, model in jobs])
    runs = {kind: found[at * len(SEEDS) :][: len(SEEDS)] for at, kind in enumerate(KINDS)}
    return {"runs": runs, "mapped": rows, "seconds": [one["seconds"] for one in models]}


def report(found: dict[str, Any]) -> Report:
    r"""The loss with each wrong detail."""
    runs = found["runs"]
    tables = {kind: by_detail(some) for kind, some in runs.items()}
    pairs = [(run["GELU without the tanh"], run["all right"]) for run in runs["gpt2"]]
    gelu = max(abs(one["loss"] - other["loss"]) for one, other in pairs)
    return {
        "values": {
            "steps": STEPS,
            "seconds": mean(found["seconds"]),
            "parameters": {
                kind: sum(p.numel() for p in fresh(kind).parameters()) for kind in KINDS
            },
            # By how much the loss changes with the other GELU: the most of three seeds.
            "gelu": gelu,
            "guess": torch.tensor(float(len(TOKENIZER))).log().item(),
        },
        "tables": tables
        | {
            "mapped": {
                "columns": [
                    column("step", "Step"),
                    column("more", "More in memory", 0, "MB"),
                ],
                "rows": found["mapped"],
            },
            "pieces": {
                "columns": [
                    column("pattern", "Pattern"),
                    column("pieces", "Pieces"),
                ],
                "rows": cut(),
            },
        },
        "figures": {
            "details": {
                "title": "The loss with one wrong detail",
                "picture": picture(tables, {"gpt2": "GPT-2", "llama": "Llama", "qwen": "Qwen3"}),
            }
        },
    }


EXPERIMENT = Experiment(
    title="Weights that are loaded with one wrong detail",
    measure=measure,
    report=report,
    small={"SEEDS": (1, 2), "STEPS": 2},
)
