r"""
What do wrongline's tests say about language models as their authors publish them?

Each is made small by its own arguments, and handed to `find_in_language_model` as it is, in a child
process. Nothing of them is part of the repository: `--sources FOLDER` has a folder for each
repository, as `git clone` makes it, and `--packages FOLDER` what `pip install --target FOLDER` has
put there. The result is results/published.json.
"""

import argparse
import io
import os
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from contextlib import redirect_stdout
from importlib.metadata import distributions
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

# As `python benchmarks/published.py` from a checkout, nothing needs to be installed.
ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

import torch  # noqa: E402

from benchmarks.library.watched import accounted  # noqa: E402
from benchmarks.record import write  # noqa: E402
from wrongline.language_model import find_in_language_model  # noqa: E402

# Repositories, and packages of PyPI.
REPOSITORIES = {
    "nanoGPT": "karpathy/nanoGPT",
    "minGPT": "karpathy/minGPT",
    "nanochat": "karpathy/nanochat",
    "mamba-minimal": "johnma2006/mamba-minimal",
    "ng-video-lecture": "karpathy/ng-video-lecture",
}
PACKAGES = ("litgpt", "x-transformers")

LITGPT = (
    "pythia-14m Llama-3.2-1B Llama-3.1-8B Gemma-2b Gemma-2-2b Gemma-3-1b-it Mixtral-8x7B-v0.1 "
    "Mistral-7B-v0.1 phi-2 Phi-3-mini-4k-instruct phi-4 falcon-7b OLMo-1B-hf OLMo-2-1124-7B "
    "Qwen2.5-0.5B Qwen3-0.6B Qwen3-30B-A3B stablelm-base-alpha-3b"
).split()
# Options of x-transformers: those of the layers, and those of the model around them.
LAYERS: dict[str, dict[str, Any]] = {
    "": {},
    "rotary": {"rotary_pos_emb": True},
    "ALiBi": {"alibi_pos_bias": True},
    "T5's bias": {"rel_pos_bias": True},
    "xPos": {"rotary_xpos": True},
    "PoPE": {"polar_pos_emb": True},
    "CoPE": {"attn_use_cope": True},
    "key heads": {"attn_kv_heads": 2},
    "one key head": {"attn_one_kv_head": True},
    "SwiGLU": {"ff_glu": True, "ff_swish": True},
    "RMSNorm": {"use_rmsnorm": True},
    "sandwich": {"sandwich_norm": True},
    "post-norm": {"pre_norm": False},
    "QK-norm": {"attn_qk_norm": True},
    "top-k": {"attn_sparse_topk": 4},
    "talking heads": {"attn_pre_talking_heads": True, "attn_post_talking_heads": True},
    "memory keys": {"attn_num_mem_kv": 4},
    "shifted tokens": {"shift_tokens": 1},
    "gated values": {"attn_gate_values": True},
    "gated residual": {"gate_residual": True},
    "macaron": {"macaron": True},
    "hyper-connections": {"num_residual_streams": 4},
    "LASER": {"attn_laser": True},
    "zero key": {"attn_add_zero_kv": True},
    "soft clamp": {"attn_softclamp_logits": True},
    "value residual": {"add_value_residual": True},
    "layer scale": {"use_layerscale": True},
    "sigmoid": {"attn_sigmoid": True},
    "selective": {"attn_selective": True},
    "hard": {"attn_hard": True},
    "data-dependent ALiBi": {"attn_data_dependent_alibi": True},
}
AROUND: dict[str, dict[str, Any]] = {
    "memory tokens": {"num_memory_tokens": 4},
    "tied": {"tie_embedding": True},
    "sinusoids": {"scaled_sinu_pos_emb": True},
    "mixture of softmaxes": {"mixture_of_softmax": True},
    "no positions": {"use_abs_pos_emb": False},
}
# What is wrong with a model, as a program of benchmarks/faults shows it.
SHOWN = {
    "nanochat": "nanochat_cache",
    "litgpt Gemma-2-2b": "litgpt_gemma2",
    "litgpt Gemma-3-1b-it": "litgpt_window",
    "litgpt Mistral-7B-v0.1": "litgpt_window",
    "litgpt Phi-3-mini-4k-instruct": "litgpt_window",
    "x-transformers shifted tokens": "x_transformers_cache",
    "x-transformers data-dependent ALiBi": "x_transformers_cache",
}
N_VOCAB, LONGEST = 65, 64


def nano_gpt(folder: Path) -> torch.nn.Module:
    r"""Karpathy's nanoGPT."""
    sys.path.insert(0, str(folder))
    from model import GPT, GPTConfig

    return GPT(GPTConfig(block_size=LONGEST, vocab_size=N_VOCAB, n_layer=2, n_head=2, n_embd=16))


def min_gpt(folder: Path) -> torch.nn.Module:
    r"""Karpathy's minGPT."""
    sys.path.insert(0, str(folder))
    from mingpt.model import GPT

    config = GPT.get_default_config()
    sizes = {"n_layer": 2, "n_head": 2, "n_embd": 16, "vocab_size": N_VOCAB, "block_size": LONGEST}
    config.merge_from_dict({"model_type": None, **sizes})
    return GPT(config)


def nanochat(folder: Path) -> torch.nn.Module:
    r"""Karpathy's nanochat."""
    sys.path.insert(0, str(folder))
    from nanochat.gpt import GPT, GPTConfig

    heads = {"n_layer": 4, "n_head": 2, "n_kv_head": 1, "n_embd": 32}
    model = GPT(GPTConfig(sequence_len=LONGEST, vocab_size=N_VOCAB, **heads))
    model.init_weights()
    return model


def mamba_minimal(folder: Path) -> torch.nn.Module:
    r"""Ma's mamba-minimal."""
    sys.path.insert(0, str(folder))
    from model import Mamba, ModelArgs

    return Mamba(ModelArgs(d_model=16, n_layer=2, vocab_size=N_VOCAB))


def lecture(folder: Path) -> torch.nn.Module:
    r"""A lecture's gpt.py: smaller sizes, and the part before the training."""
    os.chdir(folder)
    text = (folder / "gpt.py").read_text(encoding="utf-8")
    for name, size in (("n_embd", 24), ("n_layer", 2), ("block_size", 32)):
        before, _, rest = text.partition(f"\n{name} = ")
        text = f"{before}\n{name} = {size}\n{rest.partition(chr(10))[2]}"
    names: dict[str, Any] = {}
    exec(compile(text.partition("model = GPTLanguageModel()")[0], "gpt.py", "exec"), names)
    return names["GPTLanguageModel"]()


def litgpt(name: str) -> torch.nn.Module:
    r"""One of litgpt's configurations, with fewer and smaller layers."""
    from litgpt.config import Config
    from litgpt.model import GPT

    known = Config.from_name(name)
    sizes = {"n_layer": 2, "n_embd": 32, "n_head": 4, "head_size": 8, "intermediate_size": 40}
    groups = {known.n_head: 4, 1: 1}.get(known.n_query_groups, 2)
    sizes |= {"n_query_groups": groups, "block_size": LONGEST, "padded_vocab_size": N_VOCAB}
    if known.n_expert:
        sizes |= {"n_expert": 4, "n_expert_per_token": 2}
    if getattr(known, "moe_intermediate_size", None):
        sizes["moe_intermediate_size"] = 24
    if known.sliding_window_size:
        sizes["sliding_window_size"] = 8
    return GPT(Config.from_name(name, **sizes))


def x_transformers(layers: dict[str, Any], around: dict[str, Any]) -> torch.nn.Module:
    r"""The wrapper of x-transformers."""
    from x_transformers import Decoder, TransformerWrapper

    decoder = Decoder(dim=32, depth=2, heads=4, attn_dim_head=8, **layers)
    return TransformerWrapper(
        num_tokens=N_VOCAB, max_seq_len=LONGEST, attn_layers=decoder, **around
    )


def makers(sources: Path) -> dict[str, Callable[[], torch.nn.Module]]:
    r"""Every model, by its name."""
    own = {
        "nanoGPT": nano_gpt,
        "minGPT": min_gpt,
        "nanochat": nanochat,
        "mamba-minimal": mamba_minimal,
        "ng-video-lecture": lecture,
    }
    found: dict[str, Callable[[], torch.nn.Module]] = {
        name: lambda name=name, make=make: make(sources / name) for name, make in own.items()
    }
    found |= {f"litgpt {name}": lambda name=name: litgpt(name) for name in LITGPT}
    for name, layers in LAYERS.items():
        found[f"x-transformers {name}".strip()] = lambda layers=layers: x_transformers(layers, {})
    for name, around in AROUND.items():
        found[f"x-transformers {name}"] = lambda around=around: x_transformers({}, around)
    return found


def examine(make: Callable[[], torch.nn.Module]) -> dict[str, Any]:
    r"""All that is found in one of them."""
    torch.manual_seed(0)
    with redirect_stdout(io.StringIO()):
        model = make()
    tokens = torch.randint(3, 60, (3, 12), generator=torch.Generator().manual_seed(1))
    begun = time.perf_counter()
    found = find_in_language_model(model, tokens)
    seconds = time.perf_counter() - begun
    left = [f"{one.test}: {one.sentence}" for one in found.verdicts if one.kind == "not tried"]
    # Three things that nobody has said, or that these models don't take.
    usual = ("shift_changes_nothing", "no argument of `forward`")
    left = [one for one in left if not any(word in one for word in usual)]
    return {"said": dict(found), "left": left, "seconds": seconds}


def in_child(make: Callable[[], torch.nn.Module], to: Connection) -> None:
    r"""What a child process does."""
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    to.send(examine(make))


def alone(make: Callable[[], torch.nn.Module]) -> dict[str, Any]:
    r"""One of them, in a process of its own: two files have the same name."""
    context = get_context("fork")
    here, there = context.Pipe(duplex=False)
    child = context.Process(target=in_child, args=(make, there))
    child.start()
    there.close()
    try:
        return here.recv()
    finally:
        child.join()


def version_of(name: str, sources: Path, packages: Path) -> str:
    r"""The commit of a repository, or the version of a package."""
    if name in REPOSITORIES:
        command = ["git", "-C", str(sources / name), "rev-parse", "HEAD"]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        return f"{REPOSITORIES[name]} {done.stdout.strip()[:8]}"
    package = name.partition(" ")[0]
    return next(
        f"{package} {one.version}"
        for one in distributions(path=[str(packages)])
        if one.metadata["Name"].lower().replace("_", "-") == package
    )


def all_of_them(sources: Path, packages: Path) -> list[dict[str, Any]]:
    r"""A row for each model."""
    rows = []
    for name, make in makers(sources).items():
        one = alone(make)
        rows.append(
            {
                "model": name,
                "version": version_of(name, sources, packages),
                "found": "; ".join(f"{test}: {said}" for test, said in one["said"].items()),
                "shown": f"benchmarks/faults/{SHOWN[name]}.py" if name in SHOWN else "",
                "left": "; ".join(one["left"])[:300],
                "seconds": one["seconds"],
            }
        )
        print(name, rows[-1]["found"] or "nothing", rows[-1]["left"], flush=True)
    return rows


RECORDED = "benchmarks.published:examine"
ALSO = (all_of_them,)


def main() -> int:
    r"""Look at all, and write."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sources", type=Path, metavar="FOLDER", required=True)
    parser.add_argument("--packages", type=Path, metavar="FOLDER", required=True)
    given = parser.parse_args()
    sys.path.append(str(given.packages.resolve()))
    with accounted(RECORDED) as sources:
        rows = all_of_them(given.sources.resolve(), given.packages.resolve())
    wrong = [row for row in rows if row["found"]]
    write(
        "published",
        title="Language models as their authors publish them",
        command="python -m benchmarks published --sources FOLDER --packages FOLDER",
        of=RECORDED,
        sources=sources,
        values={
            "models": len(rows),
            "wrong": len(wrong),
            "unshown": sum(not row["shown"] for row in wrong),
            "seconds": sum(row["seconds"] for row in rows),
        },
        tables={
            "models": {
                "columns": [
                    {"name": "model", "title": "Model"},
                    {"name": "version", "title": "Version or commit"},
                    {"name": "found", "title": "What is wrong"},
                    {"name": "shown", "title": "Shown without our code"},
                    {"name": "left", "title": "Not tried"},
                    {"name": "seconds", "title": "Time", "unit": "s", "digits": 2},
                ],
                "rows": rows,
            }
        },
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
