r"""
Trains the models that run in the browser, and keeps their weights.

Each model of labml_nn/page_models/models.py is trained from one seed with the recipe of its page.
Its weights, in eight bits, go to results/weights/, and their loss over the whole validation text to
results/page_models.json. What is trained already is kept in the folder of `--kept` and isn't
trained again as long as its sources are the same. A model has sources of its own: not those of the
others.
"""

import argparse
import ast
import json
import os
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from benchmarks.library.keeping import Kept, key_of
from benchmarks.library.watched import accounted
from benchmarks.record import DIGITS, ROOT, code_of, write
from labml_nn.page_models.models import WAYS, fit, make, sizes_of
from labml_nn.training.data import prepare, tiny_shakespeare
from labml_nn.training.loop import evaluate
from page_runner.weights import checksum, from_file, quantise, to_file

SEED, SEQ_LEN = 1, 64
# A model of two layers has learned most of what it will after so many steps.
STEPS = {"classic": 2000, "modern": 2000}
SMALL_STEPS = 2000
# A test computes the loss of this much of the validation text again.
BEGINNING = 100 * SEQ_LEN + 1
MODELS = (
    "classic",
    "modern",
    *WAYS,
    "positions/alibi",
    "positions/rotary_attention",
    "positions/shaw_relative",
    "positions/transformer_xl",
    "memory/grouped_query",
    "memory/sliding_window",
    "memory/learned_sink",
    "memory/latent_attention",
    "variants/query_key_norm",
    "variants/soft_cap",
    "variants/gated_attention",
    "variants/differential_attention",
    "variants/linear_attention",
    "variants/delta_rule",
)
# What measures, and of what: the loss of a beginning is computed by what has trained.
RECORDED = "benchmarks.page_models:trained"
ALSO = (MODELS, BEGINNING)
# The page that has all of a model, where that isn't the page of its name.
PAGES = {"classic": "basic/autoregressive_model", "modern": "modern/experiment"}
PAGES |= dict.fromkeys(WAYS, "ways/side_by_side")


def file_name(model: str) -> str:
    r"""`positions/alibi` has its weights in `alibi.safetensors`."""
    return f"{model.rpartition('/')[2]}.safetensors"


def modules_of(model: str) -> list[str]:
    r"""The modules that decide what the model is and how it is trained."""
    lessons = "labml_nn/transformers"
    waiting = {
        "labml_nn/training/data.py",
        "labml_nn/training/loop.py",
        f"{lessons}/basic/autoregressive_model.py",
        f"{lessons}/{PAGES.get(model, model)}.py",
    }
    # Not what this one imports: it knows all models.
    found = {"labml_nn/page_models/models.py"}
    while waiting:
        path = waiting.pop()
        found.add(path)
        for node in ast.walk(ast.parse((ROOT / path).read_bytes())):
            if isinstance(node, ast.ImportFrom) and str(node.module).startswith("labml_nn."):
                names = [f"{node.module}.{alias.name}" for alias in node.names] + [node.module]
                files = [f"{name.replace('.', '/')}.py" for name in names]
                waiting |= {one for one in files if (ROOT / one).is_file()} - found
    return sorted(found)


def sources_of(model: str) -> dict[str, str]:
    r"""What of these modules the model and its training can come by, each with its hash."""
    code = code_of()
    page = f"labml_nn.transformers.{PAGES.get(model, model)}".replace("/", ".")
    part = code.ours.part(page)
    assert part is not None
    # Programs around the model, which its page and its notebook show.
    shown = {"example", "notebook"}
    own = [(page, name) for name in part.statements if name not in shown]
    makers = [(make.__module__, make.__name__), (fit.__module__, fit.__name__)]
    reached = code.sources_of(*makers, *own)
    return {path: reached[path] for path in modules_of(model) if path in reached}


@torch.no_grad()
def likeliest(model: nn.Module, tokens: Tensor, windows: int = 400) -> Tensor:
    r"""The likeliest next character at each position of the first windows of a text."""
    model.eval()
    return model(tokens[: windows * SEQ_LEN].view(windows, SEQ_LEN).t()).argmax(dim=-1)


def trained(name: str) -> dict[str, Any]:
    r"""One model: what there is to say about it, and the bytes of its file as a tensor."""
    tokenizer, training, validation = prepare(tiny_shakespeare(), SEQ_LEN)
    torch.manual_seed(SEED)
    model = make(name, len(tokenizer))
    steps = STEPS.get(name, SMALL_STEPS)
    fit(name, model, training, steps, SEED)
    float_loss, float_next = evaluate(model, validation, SEQ_LEN), likeliest(model, validation)
    content = to_file(quantise(model.state_dict()))
    model.load_state_dict(from_file(content))
    about = {
        "config": {"n_vocab": len(tokenizer), **sizes_of(name)},
        "seed": SEED,
        "steps": steps,
        "loss": evaluate(model, validation, SEQ_LEN),
        "float_loss": float_loss,
        "same": (likeliest(model, validation) == float_next).float().mean().item(),
        "parameters": sum(p.numel() for p in model.parameters()),
        "file": file_name(name),
        "bytes": len(content),
        "sha256": checksum(content),
    }
    return {"about": about, "content": torch.frombuffer(bytearray(content), dtype=torch.uint8)}


def loss_of_beginning(name: str, content: bytes) -> float:
    r"""The loss of a model with the weights of a file over the beginning of the validation text."""
    tokenizer, _, validation = prepare(tiny_shakespeare(), SEQ_LEN)
    model = make(name, len(tokenizer))
    model.load_state_dict(from_file(content))
    return evaluate(model, validation[:BEGINNING], SEQ_LEN)


def again(known: dict[str, Any]) -> dict[str, Any]:
    r"""The losses of recorded weights with today's code, beside those of then, for `verify`."""
    models = known["values"]["models"]
    then = {name: one["beginning"] for name, one in models.items()}
    now = {}
    for name, one in models.items():
        content = (ROOT / "results/weights" / one["file"]).read_bytes()
        now[name] = float(f"{loss_of_beginning(name, content):.{DIGITS}g}")
    return {"by": "weights", "then": then, "now": now, "uncompared": ["the training"]}


def key_of_model(name: str) -> dict[str, Any]:
    r"""What a kept model is of: its own modules, its name, its seed and its steps."""
    own = sources_of(name)
    reached = code_of().sources(RECORDED)
    own |= {path: mark for path, mark in reached.items() if not path.endswith(".py")}
    return key_of(own, [name, SEED, STEPS.get(name, SMALL_STEPS), SEQ_LEN], {})


def keep(path: Path, content: bytes) -> None:
    r"""Writes a file beside, and renames it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_name(f"{path.name}.{os.getpid()}.part")
    beside.write_bytes(content)
    beside.replace(path)


def main() -> None:
    r"""Train what isn't trained, and write down what came out."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kept", type=Path, default=ROOT / "runs/page_models")
    parser.add_argument("models", nargs="*", default=list(MODELS), metavar="MODEL")
    options = parser.parse_args()
    torch.set_num_threads(1)
    kept = Kept(options.kept)
    with accounted(RECORDED) as sources:
        for name in options.models:
            key = key_of_model(name)
            if kept.get(name, key) is None:
                one = kept.put(name, key, trained(name))["about"]
                print(f"{name}: {one['loss']:.4f} ({one['float_loss']:.4f})", flush=True)

    found = {name: kept.get(name, key_of_model(name)) for name in MODELS}
    recorded = json.loads((ROOT / "results/page_models.json").read_text(encoding="utf-8"))
    runs: dict[str, dict[str, Any]] = {}
    # A model that wasn't asked for stays as it was recorded, with the sources that it had.
    if missing := [name for name, one in found.items() if one is None]:
        print(f"not trained again: {', '.join(missing)}")
        runs = {name: one for name, one in recorded["values"]["models"].items() if name in missing}
    tokenizer, _, _ = prepare(tiny_shakespeare(), SEQ_LEN)
    for name, one in found.items():
        if one is None:
            continue
        content = bytes(one["content"].tolist())
        keep(ROOT / "results/weights" / file_name(name), content)
        beginning = loss_of_beginning(name, content)
        own = sources_of(name)
        runs[name] = one["about"] | {"sources": own, "beginning": beginning}
    columns = ("loss", "float_loss", "same", "parameters", "bytes")
    # In the order of the models, and with the sources of the oldest.
    runs = {name: runs[name] for name in MODELS if name in runs}
    write(
        "page_models",
        title="Models that run in the browser",
        command="python -m benchmarks page_models",
        of=RECORDED,
        sources=recorded["sources"] if missing else sources,
        values={"symbols": tokenizer.symbols, "models": runs},
        tables={
            "losses": {
                "columns": [
                    {"name": "model", "title": "Model"},
                    {"name": "loss", "title": "Loss in 8 bits", "unit": "nats", "digits": 3},
                    {"name": "float_loss", "title": "in 32 bits", "digits": 3},
                    {"name": "same", "title": "same next character", "digits": 3},
                    {"name": "parameters", "title": "Parameters"},
                    {"name": "bytes", "title": "Bytes of the file"},
                ],
                "rows": [
                    {"model": name} | {key: one[key] for key in columns}
                    for name, one in runs.items()
                ],
            }
        },
    )


if __name__ == "__main__":
    main()
