r"""
What do the museum's tests say about every causal language model of the transformers library?

Each class of `AutoModelForCausalLM` is made with a tiny configuration and random weights, and meets
the tests of `check_language_model` in a child process with a time limit. The result is
results/census.json. `--library FOLDER` takes the library from another folder, where another release
was installed by `pip install --target FOLDER`; its result is results/census_VERSION.json.

What was found already is in the folder of `--kept`, and isn't looked for again while the tests, the
sizes and the versions are the same.
"""

import argparse
import copy
import json
import re
import signal
import sys
import time
import warnings
from collections import Counter
from hashlib import sha256
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

# As `python benchmarks/census.py` from a checkout, nothing needs to be installed.
ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))
# Another release comes before the installed one, and must do so at the first import.
if "--library" in sys.argv:
    sys.path.insert(0, sys.argv[sys.argv.index("--library") + 1])

import torch  # noqa: E402
import torch.nn.functional as F  # noqa: E402
import transformers  # noqa: E402
from transformers.models.auto.modeling_auto import MODEL_FOR_CAUSAL_LM_MAPPING_NAMES  # noqa: E402

from benchmarks.census_meant import explained  # noqa: E402
from benchmarks.library.keeping import Kept, key_of  # noqa: E402
from benchmarks.library.watched import accounted  # noqa: E402
from benchmarks.record import code_of, write  # noqa: E402
from wrongline.comparison import NEAR, off  # noqa: E402
from wrongline.language_model import find_in_language_model  # noqa: E402
from wrongline.read_parts import CACHES  # noqa: E402
from wrongline.special_sizes import INNER, SPECIAL  # noqa: E402
from wrongline.tiny import tiny  # noqa: E402

# The columns of the table, and what a sentence of a test must have in it.
FINDINGS = {
    "future": "sees the future",
    "length": "depend on the length",
    "batch": "gets other logits|read across the batch",
    "random": "two calls",
    "cache": "with a cache|without a cache|when a cache is filled|others than without",
    "padding": "tokens that it hides change",
    "numbers": "NaN or infinite",
    "error": r"^[A-Z]\w*(Error|Exception|NotImplemented\w*)\b",
}
BATCH_SIZE, SEQ_LEN = 3, 12
# So many types are looked at again where a change is to change nothing.
SAMPLE = 12


def make(kind: str) -> torch.nn.Module:
    r"""A tiny model of a type, with random weights."""
    names = MODEL_FOR_CAUSAL_LM_MAPPING_NAMES[kind]
    name = names if isinstance(names, str) else names[0]
    config_class = transformers.CONFIG_MAPPING[kind]
    if kind in INNER:
        config_class = config_class.sub_configs[INNER[kind]]
    special = SPECIAL.get(getattr(config_class, "model_type", kind), SPECIAL.get(kind, {}))
    config = tiny(config_class, **copy.deepcopy(special))
    torch.manual_seed(0)
    return getattr(transformers, name)(config).float().eval()


def own_loss(model: torch.nn.Module, tokens: torch.Tensor) -> str:
    r"""Which targets the model's own loss has, if it is told that the text is its labels."""
    output = model(tokens, labels=tokens)
    logits, loss = output.logits, output.loss
    targets = {
        "the next token": (logits[:, :-1], tokens[:, 1:]),
        "the same token": (logits, tokens),
        "the token after next": (logits[:, :-2], tokens[:, 2:]),
    }
    for name, (z, y) in targets.items():
        if off(loss, F.cross_entropy(z.flatten(0, 1), y.flatten())) < NEAR:
            return name
    return "another"


def examine(kind: str) -> dict[str, Any]:
    r"""All that is found in one of them."""
    model = make(kind)
    tokens = torch.randint(3, 60, (BATCH_SIZE, SEQ_LEN), generator=torch.Generator().manual_seed(1))
    begun = time.perf_counter()
    said = find_in_language_model(model, tokens)
    seconds = time.perf_counter() - begun
    with torch.no_grad():
        output = model(tokens)
        has_cache = any(getattr(output, name, None) is not None for name in CACHES)
        try:
            loss = own_loss(model, tokens)
        except Exception as error:
            loss = type(error).__name__
    return {
        "parameters": sum(weight.numel() for weight in model.parameters()),
        "seconds": seconds,
        "said": said,
        "has_cache": has_cache,
        "loss": loss,
    }


def in_child(kind: str, to: Connection) -> None:
    r"""What a child process does."""
    warnings.simplefilter("ignore")
    transformers.logging.set_verbosity_error()
    # What was forked has no other threads, and must not start any.
    torch.set_num_threads(1)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        to.send(examine(kind))
    except Exception as error:
        sentence = " ".join(str(error).split())[:200]
        to.send({"failed": f"{type(error).__name__}: {sentence}"})


def with_limit(kind: str, limit: float) -> dict[str, Any]:
    r"""One of them, ended if it takes too long."""
    context = get_context("fork")
    here, there = context.Pipe(duplex=False)
    child = context.Process(target=in_child, args=(kind, there))
    child.start()
    there.close()
    try:
        if not here.poll(limit):
            return {"failed": f"not done after {limit:.0f} seconds"}
        return here.recv()
    except EOFError:
        return {"failed": "the process ended"}
    finally:
        child.kill()
        child.join()


def kept_under(kind: str) -> dict[str, Any]:
    r"""
    What the findings of a type depend on.

    The table of what is meant, and how it is written down, change nothing of what is found.
    """
    key = key_of(code_of().sources_of(("benchmarks.census", "examine")), [kind], {})
    return key | {"transformers": transformers.__version__}


def all_of_them(kept: Kept | None, limit: float, only: list[str]) -> dict[str, dict[str, Any]]:
    r"""Every type; what is done is kept at once."""
    kinds = [kind for kind in MODEL_FOR_CAUSAL_LM_MAPPING_NAMES if not only or kind in only]
    found: dict[str, dict[str, Any]] = {}
    for number, kind in enumerate(kinds, 1):
        one = kept.get(kind, kept_under(kind)) if kept else None
        if one is None:
            one = with_limit(kind, limit)
            if kept:
                kept.put(kind, kept_under(kind), one)
        found[kind] = one
        shown = one.get("failed") or "; ".join(one["said"].values()) or "nothing"
        print(f"{number:3} of {len(kinds)}  {kind:26} {shown[:170]}", flush=True)
    return found


def findings(said: dict[str, str]) -> set[str]:
    r"""The columns in which something is found."""
    texts = said.values()
    return {name for name, one in FINDINGS.items() if any(re.search(one, text) for text in texts)}


def report(found: dict[str, dict[str, Any]]) -> dict[str, Any]:
    r"""Values and tables."""
    ran = {kind: one for kind, one in found.items() if "failed" not in one}
    counts: Counter[str] = Counter()
    rows = []
    for kind, one in ran.items():
        has = findings(one["said"])
        counts.update(has or {"clean"})
        if has:
            names = MODEL_FOR_CAUSAL_LM_MAPPING_NAMES[kind]
            meant, shown = explained(kind, transformers.__version__)
            rows.append(
                {
                    "model": kind,
                    "class": names if isinstance(names, str) else names[0],
                    "found": ", ".join(sorted(has)),
                    "meant": meant,
                    "shown": ", ".join(f"benchmarks/faults/{name}.py" for name in shown),
                    "said": " / ".join(one["said"].values())[:400],
                }
            )
    print(f"{len(ran)} of {len(found)} ran, {counts['clean']} are clean: {dict(counts)}")
    columns = [
        {"name": "model", "title": "Type"},
        {"name": "class", "title": "Class"},
        {"name": "found", "title": "Found"},
        {"name": "meant", "title": "Meant to be so?"},
        {"name": "shown", "title": "Shown without our code"},
        {"name": "said", "title": "What the tests say"},
    ]
    failed = [
        {"model": kind, "reason": one["failed"]} for kind, one in found.items() if kind not in ran
    ]
    clean = [
        {"model": kind, "parameters": one["parameters"], "seconds": one["seconds"]}
        for kind, one in ran.items()
        if not findings(one["said"])
    ]
    losses = Counter(one["loss"] for one in ran.values())
    return {
        "values": {
            "version": transformers.__version__,
            "types": len(found),
            "ran": len(ran),
            "clean": counts["clean"],
            "has_cache": sum(one["has_cache"] for one in ran.values()),
            "slowest": max(one["seconds"] for one in ran.values()),
            "loss_of_next_token": losses["the next token"],
            **{name: counts[name] for name in FINDINGS},
        },
        "tables": {
            "found": {"columns": columns, "rows": rows},
            "failed": {
                "columns": [
                    {"name": "model", "title": "Type"},
                    {"name": "reason", "title": "Why it wasn't looked at"},
                ],
                "rows": failed,
            },
            "clean": {
                "columns": [
                    {"name": "model", "title": "Type"},
                    {"name": "parameters", "title": "Weights"},
                    {"name": "seconds", "title": "Time", "unit": "s", "digits": 2},
                ],
                "rows": clean,
            },
        },
    }


def told(tables: dict[str, Any], kinds: list[str]) -> dict[str, Any]:
    r"""What tables say of some types, without times."""
    return {
        row["model"]: {name: one for name, one in row.items() if name != "seconds"}
        for table in tables.values()
        for row in table["rows"]
        if row["model"] in kinds
    }


def again(known: dict[str, Any]) -> dict[str, Any]:
    r"""
    What is found in twelve types, beside what is recorded of them, for `verify`.

    Which types these are is decided by the hashes of today's code, and by nobody.
    """
    version = known["values"]["version"]
    if transformers.__version__ != version:
        raise SystemExit(f"this is transformers {transformers.__version__}, and not {version}")
    every = [row["model"] for table in known["tables"].values() for row in table["rows"]]
    salt = json.dumps(code_of().sources(RECORDED), sort_keys=True)
    kinds = sorted(every, key=lambda kind: sha256(f"{kind} {salt}".encode()).hexdigest())[:SAMPLE]
    found = report(all_of_them(None, 180, kinds))
    return {
        "by": "sample",
        "of": len(every),
        "then": told(known["tables"], kinds),
        "now": told(found["tables"], kinds),
        "uncompared": ["seconds"],
    }


# What looks at a type, and what makes the tables of all.
RECORDED = "benchmarks.census:with_limit"
ALSO = (report,)


def main() -> int:
    r"""Look at all, and write."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--library", type=Path, metavar="FOLDER", help="another release")
    parser.add_argument("--kept", type=Path, metavar="FOLDER", help="where findings are kept")
    parser.add_argument("--limit", type=float, default=180, metavar="S", help="seconds for each")
    parser.add_argument("--only", nargs="*", default=[], metavar="TYPE", help="these types only")
    arguments = parser.parse_args()
    # The parent computes nothing, so that its children can be forked. What each would import
    # is imported once.
    warnings.simplefilter("ignore")
    transformers.LlamaForCausalLM  # noqa: B018
    torch.set_num_threads(1)
    kept = Kept(arguments.kept) if arguments.kept else None
    with accounted(RECORDED) as sources:
        found = all_of_them(kept, arguments.limit, arguments.only)
    if arguments.only:
        for kind, one in found.items():
            print(kind, json.dumps(one, indent=1))
        return 0
    version = transformers.__version__
    another = arguments.library is not None
    write(
        f"census_{version.replace('.', '_')}" if another else "census",
        title=f"The causal language models of transformers {version}",
        command="python -m benchmarks census" + (" --library FOLDER" if another else ""),
        of=RECORDED,
        sources=sources,
        **report(found),
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
