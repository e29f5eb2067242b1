r"""
How much does prompt look-up add to a pass, in a play and in source code?

Models of two layers with a context of 256 letters are trained on Tiny Shakespeare and on the source
code of PyTorch's modules, from three seeds each, for 600 steps. They go on from 128 letters of the
validation text, at 12 places. The result is results/prompt_lookup.json, to which the page refers.
It takes five minutes of one core.
"""

import json
import sys
import time
from pathlib import Path
from statistics import mean

# As `python benchmarks/prompt_lookup.py` from a checkout, nothing needs to be installed.
ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

import torch  # noqa: E402
from torch import Tensor  # noqa: E402

from benchmarks.record import fingerprints, write  # noqa: E402
from labml_nn.inference.prompt_lookup import CountedLetters, PromptLookup  # noqa: E402
from labml_nn.inference.rewind import RewindingTransformer  # noqa: E402
from labml_nn.inference.speculative import Draft, Propose, speculate  # noqa: E402
from labml_nn.inference.speculative_experiment import train_writer  # noqa: E402
from labml_nn.training.counting import BackOff  # noqa: E402
from labml_nn.training.data import prepare, tiny_shakespeare  # noqa: E402
from labml_nn.transformers.basic.autoregressive_experiment import read_text  # noqa: E402

SEEDS, STEPS, SEQ_LEN = (1, 2, 3), 600, 256
N_PROMPT, N_TOKENS, N_PLACES, N_DRAFT = 128, 100, 12, 4
TEMPERATURES, BETWEEN, RUNS = (1.0, 0.5, 0.0), 0.5, (1, 2, 3, 5, 8)
KEPT = ROOT / "runs/prompt_lookup"
TEXTS = {"a play": tiny_shakespeare, "source code": lambda: read_text("python")}
SOURCES = [
    "labml_nn/inference/prompt_lookup.py",
    "labml_nn/inference/rewind.py",
    "labml_nn/inference/speculative.py",
    "labml_nn/inference/speculative_experiment.py",
    "labml_nn/training/counting.py",
    "labml_nn/transformers/basic/autoregressive_model.py",
    "labml_nn/transformers/kv_cache.py",
    "benchmarks/prompt_lookup.py",
]


class Newest(PromptLookup):
    r"""The newest place and not the oldest: what is found in the text from its end."""

    def __call__(self, text: Tensor, n_draft: int) -> tuple[Tensor, Tensor]:
        draft = text[:0]
        for length in range(min(self.n_letters, len(text)), 0, -1):
            runs = text.unfold(0, length, 1)[:-1]
            found = (runs == text[-length:]).all(dim=1).nonzero()
            if len(found):
                start = found[-1] + length
                draft = text[start : start + n_draft]
                break
        return draft, torch.nn.functional.one_hot(draft, self.n_vocab).double()


def per_pass(
    target: RewindingTransformer,
    propose: Propose,
    prompts: list[Tensor],
    temperature: float,
    generator: torch.Generator,
) -> float:
    r"""The mean number of letters that a pass adds."""
    added = []
    for prompt in prompts:
        target.clear()
        numbers = (N_TOKENS, N_DRAFT, temperature)
        added += speculate(target, propose, prompt, *numbers, generator)[1].tolist()
    return mean(added)


def run(name: str, seed: int) -> dict[str, float]:
    r"""One model, and what its passes add, unless that is kept from an earlier run."""
    path, sources = KEPT / f"{name}-{seed}.json", fingerprints(SOURCES)
    if path.exists() and (known := json.loads(path.read_text()))["sources"] == sources:
        return known["found"]
    text = TEXTS[name]()
    tokenizer, training, validation = prepare(text, SEQ_LEN)
    n_vocab = len(tokenizer)
    start = time.process_time()
    target = train_writer(training, n_vocab, 64, 2, SEQ_LEN, STEPS, seed)
    print(f"{time.process_time() - start:.0f} s of training", flush=True)
    every = (len(validation) - N_PROMPT) // N_PLACES
    prompts = [validation[at * every :][:N_PROMPT] for at in range(N_PLACES)]
    counted = CountedLetters(BackOff(tokenizer.decode(training), 3, tokenizer.symbols))
    found = {}
    for temperature in TEMPERATURES:
        lookups = {"3 letters": PromptLookup(n_vocab)}
        if temperature == BETWEEN:
            lookups |= {f"{n} letters": PromptLookup(n_vocab, n) for n in RUNS}
            lookups["newest"] = Newest(n_vocab, 3)
        for name, propose in lookups.items():
            generator = torch.Generator().manual_seed(seed)
            key = f"{name}, {temperature}"
            found[key] = per_pass(target, propose, prompts, temperature, generator)
        generator = torch.Generator().manual_seed(seed)
        drawing = Draft(counted, temperature, generator)
        found[f"counted, {temperature}"] = per_pass(
            target, drawing, prompts, temperature, generator
        )
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"sources": sources, "found": found}))
    return found


def main() -> None:
    r"""Train, let them write, and write down what came out."""
    torch.set_num_threads(1)
    sources = fingerprints(SOURCES)
    found: dict[str, list[dict[str, float]]] = {}
    for name in TEXTS:
        for seed in SEEDS:
            found.setdefault(name, []).append(run(name, seed))
            print(name, seed, found[name][-1], flush=True)
    rows = []
    for name, runs in found.items():
        for temperature in TEMPERATURES:
            letters = [one[f"3 letters, {temperature}"] for one in runs]
            rows.append(
                {
                    "text": f"{name}, temperature {temperature:g}",
                    "lookup": mean(letters),
                    "low": min(letters),
                    "high": max(letters),
                    "counted": mean(one[f"counted, {temperature}"] for one in runs),
                }
            )
    write(
        "prompt_lookup",
        title="Prompt look-up in a play and in source code",
        command="python benchmarks/prompt_lookup.py",
        sources=sources,
        values={
            name: {str(seed): one for seed, one in zip(SEEDS, runs, strict=True)}
            for name, runs in found.items()
        },
        tables={
            "texts": {
                "columns": [
                    {"name": "text", "title": "Text"},
                    {"name": "lookup", "title": "Letters a pass, looked up", "digits": 2},
                    {"name": "low", "title": "Lowest", "digits": 2},
                    {"name": "high", "title": "Highest of three seeds", "digits": 2},
                    {"name": "counted", "title": "Counted letters", "digits": 2},
                ],
                "rows": rows,
            },
            "letters": {
                "columns": [
                    {"name": "run", "title": "The same letters"},
                    *(
                        {"name": f"at{at}", "title": f"Letters a pass, {name}", "digits": 2}
                        for at, name in enumerate(TEXTS)
                    ),
                ],
                "rows": [
                    {"run": title}
                    | {
                        f"at{at}": mean(one[f"{key}, {BETWEEN}"] for one in runs)
                        for at, runs in enumerate(found.values())
                    }
                    for key, title in [(f"{n} letters", f"at most {n}") for n in RUNS]
                    + [("newest", "at most 3, the newest place")]
                ],
            },
        },
    )


if __name__ == "__main__":
    main()
