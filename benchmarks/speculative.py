r"""
Speculative decoding: how much do drafts add to a pass of the target, and do they pay?

It takes six minutes of one core, two of them for the times.

The target is the classic model with its recorded weights. It writes 40 letters after 16 letters of
the validation text, at 16 places. The drafts are transformers of one layer, from three seeds each,
letters counted in the training text, and prompt look-up. The times are the processor's, of a single
thread.

The result is results/speculative.json, to which the pages of labml_nn/inference refer.
"""

import statistics
import time
from collections.abc import Callable, Mapping
from statistics import mean
from typing import Any

import torch
from matplotlib.figure import Figure
from torch import Tensor

from benchmarks.library.experiment import Experiment, Report, Runner
from benchmarks.library.ranges import spread
from benchmarks.library.tables import column
from benchmarks.pictures import ACCENT, SECOND, new, svg
from benchmarks.record import ROOT
from labml_nn.inference.prompt_lookup import CountedLetters, PromptLookup
from labml_nn.inference.rewind import RewindingTransformer
from labml_nn.inference.speculative import (
    Draft,
    Predict,
    Propose,
    distribution,
    next_logits,
    speculate,
)
from labml_nn.training.counting import BackOff
from labml_nn.training.data import RandomWindows, prepare, tiny_shakespeare
from labml_nn.training.loop import adamw, evaluate, train
from labml_nn.training.sampling import generate, with_temperature
from labml_nn.training.trained import load
from labml_nn.transformers.basic.autoregressive_model import (
    AutoregressiveTransformer,
)
from labml_nn.transformers.fused_attention import FusedAttention
from labml_nn.transformers.kv_cache import CachedTransformer

SEEDS, SEQ_LEN = (1, 2, 3), 64
N_PROMPT, N_TOKENS, N_PLACES = 16, 40, 16
WIDTHS, COUNTED, STEPS = (16, 64, 128), (2, 3, 4), 2000
N_DRAFT, LENGTHS, TEMPERATURES, PASSES = 4, (1, 2, 4, 8), (0.0, 0.5, 1.0), (1, 2, 4, 8, 16)
LOOKUP, BEST = "prompt look-up", "counted, 3 letters"
WEIGHTS = "results/weights/classic.safetensors"

TOKENIZER, TRAINING, VALIDATION = prepare(tiny_shakespeare(), SEQ_LEN)
N_VOCAB = len(TOKENIZER)
EVERY = len(VALIDATION) // N_PLACES
PROMPTS = [VALIDATION[at * EVERY :][:N_PROMPT] for at in range(N_PLACES)]

# Of a model, and of the drafts of one seed by their widths.
Weights = Mapping[str, Tensor]
Drafts = Mapping[str, Weights]
# Of the draft of one seed: at a temperature, with a generator.
Make = Callable[[float, torch.Generator], Propose]


def sizes_of(width: int) -> tuple[int, ...]:
    r"""The arguments of a draft of one layer."""
    return N_VOCAB, width, 4, 1, 4 * width, SEQ_LEN


def new_target(kind: type[CachedTransformer] = RewindingTransformer) -> CachedTransformer:
    r"""The classic model as the site has it."""
    model = kind(N_VOCAB, 128, 4, 4, 512, SEQ_LEN).eval()
    load(model, (ROOT / WEIGHTS).read_bytes())
    return model


def trained(width: int, seed: int) -> Weights:
    r"""The weights of a draft."""
    torch.manual_seed(seed)
    model = AutoregressiveTransformer(*sizes_of(width), attention=FusedAttention)
    batches = RandomWindows(TRAINING, SEQ_LEN, 12, seed)
    train(model, batches.at, [adamw(model, 1e-2 if width < 128 else 3e-3)], STEPS)
    return model.state_dict()


def draft_of(width: int, weights: Weights) -> RewindingTransformer:
    r"""A draft that has been trained."""
    draft = RewindingTransformer(*sizes_of(width)).eval()
    draft.load_state_dict(weights)
    return draft


def predictors(drafts: Drafts) -> dict[str, Predict]:
    r"""What predicts, by the names of the drafts."""
    text = TOKENIZER.decode(TRAINING)
    models = {
        f"transformer, {width} features": next_logits(draft_of(int(width), weights))
        for width, weights in drafts.items()
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


def accepted(seed: int, drafts: Drafts) -> dict[str, dict[str, float]]:
    r"""What the target keeps of each draft."""
    target, predict = new_target(), predictors(drafts)
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
    return found


def acceptance(runner: Runner, drafts: Mapping[int, Drafts]) -> dict[str, Any]:
    r"""All that doesn't depend on how busy the machine is."""
    found = runner.all([(accepted, seed, drafts[seed]) for seed in SEEDS])
    seeds = {str(seed): one for seed, one in zip(SEEDS, found, strict=True)}
    first = drafts[SEEDS[0]]
    make = makers(predictors(first))[BEST]
    prompt, text = passes(new_target(), make)
    shown = [draft_of(width, first[str(width)]) for width in WIDTHS]
    return {
        "seeds": seeds,
        "sample": {"prompt": prompt, "passes": text},
        "positions": {
            "begins_anew": positions(CachedTransformer, make),
            "goes_back": positions(RewindingTransformer, make),
        },
        "losses": {
            str(width): evaluate(in_training(draft, width), VALIDATION, SEQ_LEN)
            for width, draft in zip(WIDTHS, shown, strict=True)
        },
        "parameters": {
            str(width): sum(p.numel() for p in draft.parameters())
            for width, draft in zip(WIDTHS, shown, strict=True)
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


def timing(weights: Drafts, rounds: int = 3) -> dict[str, Any]:
    r"""The times of a pass, of a guess, and of half of the texts; all take turns."""
    half = PROMPTS[::2]
    target, draft = new_target(), draft_of(64, weights["64"])
    passes = {
        str(n): {"target": milliseconds(target, n), "draft": milliseconds(draft, n)} for n in PASSES
    }
    drafts = makers(predictors(weights))
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
                **spread("per_pass", letters),
                "speed": speed,
                "times": speed / speeds["plain"],
            }
        )
    nothing = {"per_pass": 1.0, "low": 1.0, "high": 1.0, "speed": speeds["plain"], "times": 1.0}
    rows.insert(0, {"draft": "none", "overlap": None, "agree": None} | nothing)
    return {
        "drafts": {
            "columns": [
                column("draft", "Draft"),
                column("overlap", "First guess kept", 2),
                column("agree", "Two draws agree", 2),
                column("per_pass", "Letters a pass", 2),
                column("low", "Lowest", 2),
                column("high", "Highest of three seeds", 2),
                column("speed", "Letters a second", 0),
                column("times", "Times no draft", 2),
            ],
            "rows": rows,
        },
        "passes": {
            "columns": [
                column("letters", "New letters"),
                column("target", "Target", 2, "ms"),
                column("draft", "Draft of 64 features", 2, "ms"),
            ],
            "rows": [{"letters": n} | one for n, one in timing["passes"].items()],
        },
        "temperatures": {
            "columns": [column("draft", "Draft")]
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


def measure(runner: Runner) -> dict[str, Any]:
    r"""Train the drafts, let the target judge them, and take the times."""
    drafts = {
        seed: {str(width): runner.once(trained, width, seed) for width in WIDTHS} for seed in SEEDS
    }
    return {"accepted": acceptance(runner, drafts), "times": timing(drafts[SEEDS[0]])}


def report(found: dict[str, Any]) -> Report:
    r"""What the drafts add to a pass, and what they cost."""
    accepted, times = found["accepted"], found["times"]
    return {
        "values": {"acceptance": accepted, "timing": times, "positions": accepted["positions"]},
        "tables": tables(accepted, times),
        "figures": figures(accepted, times),
    }


EXPERIMENT = Experiment(
    title="Speculative decoding with several drafts",
    measure=measure,
    report=report,
    reads=[WEIGHTS],
    small={"SEEDS": (1, 2), "STEPS": 2, "N_PLACES": 2, "PROMPTS": PROMPTS[:2], "N_TOKENS": 8},
)
