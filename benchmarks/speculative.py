r"""
Speculative decoding: how much do drafts add to a pass of the target, and do they pay?

    python benchmarks/speculative.py            # everything, six minutes of one core
    python benchmarks/speculative.py --timing   # the times again, in two minutes

The target is the classic model with its recorded weights. It writes 40 letters after 16 letters of
the validation text, at 16 places. The drafts are transformers of one layer, from three seeds each,
letters counted in the training text, and prompt look-up. The times are the processor's, of a single
thread. Drafts that are trained already are kept in runs/speculative.

The result is results/speculative.json, to which the pages of labml_nn/inference refer.
"""

import argparse
import json
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from statistics import mean

# As `python benchmarks/speculative.py` from a checkout, nothing needs to be installed.
ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

import torch  # noqa: E402
from matplotlib.figure import Figure  # noqa: E402
from torch import Tensor  # noqa: E402

from benchmarks.pictures import ACCENT, SECOND, new, svg  # noqa: E402
from benchmarks.record import fingerprints, write  # noqa: E402
from labml_nn.inference.prompt_lookup import CountedLetters, PromptLookup  # noqa: E402
from labml_nn.inference.rewind import RewindingTransformer  # noqa: E402
from labml_nn.inference.speculative import (  # noqa: E402
    Draft,
    Predict,
    Propose,
    distribution,
    next_logits,
    speculate,
)
from labml_nn.training.counting import BackOff  # noqa: E402
from labml_nn.training.data import RandomWindows, prepare, tiny_shakespeare  # noqa: E402
from labml_nn.training.loop import adamw, evaluate, train  # noqa: E402
from labml_nn.training.sampling import generate, with_temperature  # noqa: E402
from labml_nn.training.trained import load  # noqa: E402
from labml_nn.transformers.basic.autoregressive_model import (  # noqa: E402
    AutoregressiveTransformer,
)
from labml_nn.transformers.fused_attention import FusedAttention  # noqa: E402
from labml_nn.transformers.kv_cache import CachedTransformer  # noqa: E402

SEEDS, SEQ_LEN = (1, 2, 3), 64
N_PROMPT, N_TOKENS, N_PLACES = 16, 40, 16
WIDTHS, COUNTED, STEPS = (16, 64, 128), (2, 3, 4), 2000
N_DRAFT, LENGTHS, TEMPERATURES, PASSES = 4, (1, 2, 4, 8), (0.0, 0.5, 1.0), (1, 2, 4, 8, 16)
LOOKUP, BEST = "prompt look-up", "counted, 3 letters"
KEPT = ROOT / "runs/speculative"
WEIGHTS = ROOT / "results/weights/classic.safetensors"
SOURCES = [
    "labml_nn/inference/prompt_lookup.py",
    "labml_nn/inference/rewind.py",
    "labml_nn/inference/speculative.py",
    "labml_nn/training/counting.py",
    "labml_nn/training/loop.py",
    "labml_nn/transformers/basic/autoregressive_model.py",
    "labml_nn/transformers/kv_cache.py",
    "labml_nn/transformers/mha.py",
]

TOKENIZER, TRAINING, VALIDATION = prepare(tiny_shakespeare(), SEQ_LEN)
N_VOCAB = len(TOKENIZER)
EVERY = len(VALIDATION) // N_PLACES
PROMPTS = [VALIDATION[at * EVERY :][:N_PROMPT] for at in range(N_PLACES)]

# Of the draft of one seed: at a temperature, with a generator.
Make = Callable[[float, torch.Generator], Propose]


def sizes_of(width: int) -> tuple[int, ...]:
    r"""The arguments of a draft of one layer."""
    return N_VOCAB, width, 4, 1, 4 * width, SEQ_LEN


def new_target(kind: type[CachedTransformer] = RewindingTransformer) -> CachedTransformer:
    r"""The classic model as the site has it."""
    model = kind(N_VOCAB, 128, 4, 4, 512, SEQ_LEN).eval()
    load(model, WEIGHTS.read_bytes())
    return model


def trained(width: int, seed: int) -> RewindingTransformer:
    r"""A draft, trained unless it is kept."""
    path = KEPT / f"{width}-{seed}-{STEPS}.pt"
    if not path.exists():
        torch.manual_seed(seed)
        model = AutoregressiveTransformer(*sizes_of(width), attention=FusedAttention)
        batches = RandomWindows(TRAINING, SEQ_LEN, 12, seed)
        train(model, batches.at, [adamw(model, 1e-2 if width < 128 else 3e-3)], STEPS)
        path.parent.mkdir(parents=True, exist_ok=True)
        torch.save(model.state_dict(), path)
    draft = RewindingTransformer(*sizes_of(width)).eval()
    draft.load_state_dict(torch.load(path))
    return draft


def predictors(seed: int) -> dict[str, Predict]:
    r"""What predicts, by the names of the drafts."""
    text = TOKENIZER.decode(TRAINING)
    models = {
        f"transformer, {width} features": next_logits(trained(width, seed)) for width in WIDTHS
    }
    return models | {
        f"counted, {n} letters": CountedLetters(BackOff(text, n, TOKENIZER.symbols))
        for n in COUNTED
    }


def makers(predict: dict[str, Predict]) -> dict[str, Make]:
    r"""The drafts, prompt look-up among them."""
    drafts: dict[str, Make] = {
        name: lambda temperature, generator, one=one: Draft(one, temperature, generator)
        for name, one in predict.items()
    }
    return drafts | {LOOKUP: lambda temperature, generator: PromptLookup(N_VOCAB)}


def write_all(
    target: CachedTransformer,
    make: Make,
    n_draft: int,
    temperature: float,
    seed: int,
    prompts: list[Tensor] = PROMPTS,
) -> list[Tensor]:
    r"""What each pass has added, at all places."""
    generator = torch.Generator().manual_seed(seed)
    propose = make(temperature, generator)
    added = []
    for prompt in prompts:
        target.clear()
        added.append(
            speculate(target, propose, prompt, N_TOKENS, n_draft, temperature, generator)[1]
        )
    return added


def per_pass(added: list[Tensor]) -> float:
    r"""The mean number of letters that a pass has added."""
    return torch.cat(added).double().mean().item()


def agreement(target: CachedTransformer, predict: Predict | None, seed: int) -> tuple[float, float]:
    r"""
    In texts that the target writes: how often a first guess is kept, and how often it would be by
    drawing from both. None is prompt look-up.
    """
    generator = torch.Generator().manual_seed(seed)
    overlaps, agreements = [], []
    for prompt in PROMPTS:
        target.clear()
        text = generate(target, prompt[:, None], N_TOKENS, SEQ_LEN, generator=generator)[:, 0]
        target.clear()
        p = distribution(target(text[:, None])[:, 0], 1.0)
        for end in range(N_PROMPT, len(text)):
            if predict is not None:
                q = distribution(predict(text[:end]), 1.0)
            else:
                q = PromptLookup(N_VOCAB)(text[:end], 1)[1].sum(dim=0)
            overlaps.append(torch.minimum(p[end - 1], q).sum().item())
            agreements.append((p[end - 1] * q).sum().item())
    return mean(overlaps), mean(agreements)


def passes(target: CachedTransformer, make: Make) -> tuple[str, str]:
    r"""A prompt, and what follows, with a bar behind the letters of each pass."""
    generator = torch.Generator().manual_seed(SEEDS[0])
    target.clear()
    text, added = speculate(
        target, make(1.0, generator), PROMPTS[0], N_TOKENS, N_DRAFT, generator=generator
    )
    parts = text[N_PROMPT:].tensor_split(added.cumsum(dim=0)[:-1])
    return TOKENIZER.decode(PROMPTS[0]), "|".join(TOKENIZER.decode(one) for one in parts)


def positions(kind: type[CachedTransformer], make: Make) -> float:
    r"""How many positions the target computes for each letter."""
    target, counts = new_target(kind), []
    target.generator.register_forward_hook(lambda module, given, x: counts.append(len(x)))
    added = write_all(target, make, N_DRAFT, 1.0, SEEDS[0])
    return sum(counts) / torch.cat(added).sum().item()


def accepted(seed: int) -> dict[str, dict[str, float]]:
    r"""What the target keeps of each draft, unless it is kept from an earlier run."""
    path, sources = KEPT / f"accepted-{seed}.json", fingerprints(SOURCES)
    if path.exists() and (known := json.loads(path.read_text()))["sources"] == sources:
        return known["found"]
    target, predict = new_target(), predictors(seed)
    found = {}
    for name, make in makers(predict).items():
        overlap, agree = agreement(target, predict.get(name), seed)
        found[name] = {"overlap": overlap, "agree": agree}
        for n_draft in LENGTHS:
            added = write_all(target, make, n_draft, 1.0, seed)
            found[name][f"length_{n_draft}"] = per_pass(added)
        for temperature in TEMPERATURES[:-1]:
            added = write_all(target, make, N_DRAFT, temperature, seed)
            found[name][f"temperature_{temperature}"] = per_pass(added)
        found[name][f"temperature_{TEMPERATURES[-1]}"] = found[name][f"length_{N_DRAFT}"]
        print(seed, name, {key: round(one, 3) for key, one in found[name].items()}, flush=True)
    path.write_text(json.dumps({"sources": sources, "found": found}))
    return found


def acceptance() -> dict[str, object]:
    r"""All that doesn't depend on how busy the machine is."""
    seeds = {str(seed): accepted(seed) for seed in SEEDS}
    make = makers(predictors(SEEDS[0]))[BEST]
    prompt, text = passes(new_target(), make)
    drafts = [trained(width, SEEDS[0]) for width in WIDTHS]
    return {
        "seeds": seeds,
        "sample": {"prompt": prompt, "passes": text},
        "positions": {
            "begins_anew": positions(CachedTransformer, make),
            "goes_back": positions(RewindingTransformer, make),
        },
        "losses": {
            str(width): evaluate(in_training(draft, width), VALIDATION, SEQ_LEN)
            for width, draft in zip(WIDTHS, drafts, strict=True)
        },
        "parameters": {
            str(width): sum(p.numel() for p in draft.parameters())
            for width, draft in zip(WIDTHS, drafts, strict=True)
        },
    }


def in_training(draft: RewindingTransformer, width: int) -> AutoregressiveTransformer:
    r"""The same model without a cache, for whole windows."""
    model = AutoregressiveTransformer(*sizes_of(width))
    model.load_state_dict(draft.state_dict())
    return model


def milliseconds(model: RewindingTransformer, n_new: int, turns: int = 60) -> float:
    r"""The median time of a pass over some letters after 32."""
    text = VALIDATION[: 32 + n_new, None]
    model.clear()
    model(text[:32])
    times = []
    for _ in range(turns):
        model.rewind(32)
        start = time.thread_time()
        model(text)
        times.append(time.thread_time() - start)
    return 1000 * statistics.median(times)


def timing(rounds: int = 3) -> dict[str, object]:
    r"""The times of a pass, of a guess, and of half of the texts; all take turns."""
    half = PROMPTS[::2]
    target, draft = new_target(), trained(64, SEEDS[0])
    passes = {
        str(n): {"target": milliseconds(target, n), "draft": milliseconds(draft, n)} for n in PASSES
    }
    drafts = makers(predictors(SEEDS[0]))
    times: dict[str, list[float]] = {}

    def timed(key: str, function: Callable[[], int]) -> None:
        start = time.thread_time()
        letters = function()
        times.setdefault(key, []).append(letters / (time.thread_time() - start))

    def plain() -> int:
        generator = torch.Generator().manual_seed(SEEDS[0])
        for prompt in half:
            target.clear()
            text, choose = prompt[:, None], with_temperature(1.0)
            generate(target, text, N_TOKENS, SEQ_LEN, choose, generator)
        return N_TOKENS * len(half)

    # The first round fills the rows of the counted letters, and isn't counted.
    for _ in range(rounds + 1):
        timed("plain", plain)
        for name, make in drafts.items():
            for n_draft in LENGTHS:
                timed(
                    f"{name}, {n_draft}",
                    lambda make=make, n_draft=n_draft: int(
                        torch.cat(write_all(target, make, n_draft, 1.0, SEEDS[0], half)).sum()
                    ),
                )
    speeds = {key: statistics.median(found[1:]) for key, found in times.items()}
    print({key: round(one) for key, one in speeds.items()})
    return {"passes": passes, "speeds": speeds}


def overlap() -> Figure:
    r"""The example of the page: what draft and target have in common, and what is left."""
    p, q = (0.5, 0.3, 0.2, 0.0), (0.3, 0.4, 0.1, 0.2)
    figure, (axes,) = new(4.6, 2.2)
    places = range(len(p))
    common = [min(pair) for pair in zip(p, q, strict=True)]
    left = [max(0.0, a - b) for a, b in zip(p, q, strict=True)]
    over = [max(0.0, b - a) for a, b in zip(p, q, strict=True)]
    axes.bar(places, common, 0.6, color=ACCENT, alpha=0.8, label="guess kept")
    axes.bar(places, left, 0.6, common, color=SECOND, alpha=0.8, label="drawn from what is left")
    axes.bar(
        places,
        over,
        0.6,
        common,
        fill=False,
        edgecolor="#000000",
        linestyle=":",
        label="guess not kept",
    )
    axes.set_xticks(places, ["a", "o", "e", "r"], family="monospace")
    axes.set_ylabel("probability")
    axes.legend(frameon=False, fontsize=8)
    return figure


def tables(acceptance: dict, timing: dict) -> dict[str, object]:
    r"""What the pages show of both."""
    speeds, seeds = timing["speeds"], list(acceptance["seeds"].values())
    rows = []
    for name in seeds[0]:
        letters = [one[name][f"length_{N_DRAFT}"] for one in seeds]
        speed = speeds[f"{name}, {N_DRAFT}"]
        rows.append(
            {
                "draft": name,
                "overlap": mean(one[name]["overlap"] for one in seeds),
                "agree": mean(one[name]["agree"] for one in seeds),
                "per_pass": mean(letters),
                "low": min(letters),
                "high": max(letters),
                "speed": speed,
                "times": speed / speeds["plain"],
            }
        )
    nothing = {"per_pass": 1.0, "low": 1.0, "high": 1.0, "speed": speeds["plain"], "times": 1.0}
    rows.insert(0, {"draft": "none", "overlap": None, "agree": None} | nothing)
    return {
        "drafts": {
            "columns": [
                {"name": "draft", "title": "Draft"},
                {"name": "overlap", "title": "First guess kept", "digits": 2},
                {"name": "agree", "title": "Two draws agree", "digits": 2},
                {"name": "per_pass", "title": "Letters a pass", "digits": 2},
                {"name": "low", "title": "Lowest", "digits": 2},
                {"name": "high", "title": "Highest of three seeds", "digits": 2},
                {"name": "speed", "title": "Letters a second", "digits": 0},
                {"name": "times", "title": "Times no draft", "digits": 2},
            ],
            "rows": rows,
        },
        "passes": {
            "columns": [
                {"name": "letters", "title": "New letters"},
                {"name": "target", "title": "Target", "unit": "ms", "digits": 2},
                {"name": "draft", "title": "Draft of 64 features", "unit": "ms", "digits": 2},
            ],
            "rows": [{"letters": n} | one for n, one in timing["passes"].items()],
        },
        "temperatures": {
            "columns": [{"name": "draft", "title": "Draft"}]
            + [
                {"name": f"t{at}", "title": f"Letters a pass at {temperature}", "digits": 2}
                for at, temperature in enumerate(TEMPERATURES)
            ],
            "rows": [
                {"draft": name}
                | {
                    f"t{at}": mean(one[name][f"temperature_{temperature}"] for one in seeds)
                    for at, temperature in enumerate(TEMPERATURES)
                }
                for name in seeds[0]
            ],
        },
    }


def figures(acceptance: dict, timing: dict) -> dict[str, object]:
    r"""The pictures."""
    x, speeds = {"title": "Letters of a draft", "scale": "log"}, timing["speeds"]
    seeds = acceptance["seeds"].values()
    shown = [f"transformer, {WIDTHS[1]} features", BEST, LOOKUP]
    return {
        "lengths": {
            "title": "Letters that each pass of the target adds",
            "x": x,
            "y": {"title": "Letters a pass", "low": 0},
            "lines": [
                {
                    "name": name,
                    "points": [
                        [n, mean(one[name][f"length_{n}"] for one in seeds)] for n in LENGTHS
                    ],
                }
                for name in shown
            ],
        },
        "speed": {
            "title": "Letters a second",
            "x": x,
            "y": {"title": "Letters a second", "low": 0},
            "lines": [
                {"name": name, "points": [[n, speeds[f"{name}, {n}"]] for n in LENGTHS]}
                for name in shown
            ]
            + [{"name": "no draft", "points": [[n, speeds["plain"]] for n in LENGTHS]}],
        },
        "overlap": {
            "title": str(overlap.__doc__).rstrip("."),
            "picture": svg(overlap(), "speculative-overlap"),
        },
    }


def main() -> None:
    r"""Measure what was asked for, and write down what came out."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--timing", action="store_true", help="only the times, the rest is kept")
    options = parser.parse_args()
    torch.set_num_threads(1)
    sources = fingerprints([*SOURCES, "benchmarks/speculative.py"])
    if options.timing:
        known = json.loads((ROOT / "results/speculative.json").read_text(encoding="utf-8"))
        if any(known["sources"].get(path) != sources[path] for path in SOURCES):
            raise SystemExit("the sources have changed: run it without --timing")
        accepted = known["values"]["acceptance"]
    else:
        accepted = acceptance()
    start = time.process_time()
    times = timing()
    print(f"{time.process_time() - start:.0f} s for the times")
    write(
        "speculative",
        title="Speculative decoding with several drafts",
        command="python benchmarks/speculative.py",
        sources=sources,
        values={"acceptance": accepted, "timing": times, "positions": accepted["positions"]},
        tables=tables(accepted, times),
        figures=figures(accepted, times),
    )


if __name__ == "__main__":
    main()
