r"""
How much does prompt look-up add to a pass, in a play and in source code?

Models of two layers with a context of 256 letters are trained on Tiny Shakespeare and on the source
code of PyTorch's modules, from three seeds each, for 600 steps. They go on from 128 letters of the
validation text, at 12 places. The result is results/prompt_lookup.json, to which the page refers.
It takes five minutes of one core.
"""

from statistics import mean

import torch
from torch import Tensor

from benchmarks.library.experiment import Experiment, Report, Runner
from benchmarks.library.ranges import Runs, mean_of, numbers, spread
from benchmarks.library.tables import column
from labml_nn.inference.prompt_lookup import CountedLetters, PromptLookup
from labml_nn.inference.rewind import RewindingTransformer
from labml_nn.inference.speculative import Draft, Propose, speculate
from labml_nn.inference.speculative_experiment import with_cache
from labml_nn.training.counting import BackOff
from labml_nn.training.data import prepare, tiny_shakespeare
from labml_nn.transformers.basic.autoregressive_experiment import fit, read_text
from labml_nn.transformers.basic.autoregressive_model import AutoregressiveTransformer

SEEDS, STEPS, SEQ_LEN = (1, 2, 3), 600, 256
N_PROMPT, N_TOKENS, N_PLACES, N_DRAFT = 128, 100, 12, 4
TEMPERATURES, BETWEEN, RUNS = (1.0, 0.5, 0.0), 0.5, (1, 2, 3, 5, 8)
TEXTS = {"a play": tiny_shakespeare, "source code": lambda: read_text("python")}


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
    letters: list[int] = []
    for prompt in prompts:
        target.clear()
        numbers = (N_TOKENS, N_DRAFT, temperature)
        letters += speculate(target, propose, prompt, *numbers, generator)[1].tolist()
    return mean(letters)


def trained(tokens: Tensor, n_vocab: int, seed: int) -> RewindingTransformer:
    r"""A model of two layers, with a cache. Long windows, and few at a time."""
    sizes = (n_vocab, 64, 4, 2, 256, SEQ_LEN)
    torch.manual_seed(seed)
    model = AutoregressiveTransformer(*sizes)
    fit(model, tokens, STEPS, SEQ_LEN, max(1, 768 // SEQ_LEN), seed)
    return with_cache(model, *sizes)


def added(name: str, seed: int) -> dict[str, float]:
    r"""What the passes of one model add."""
    text = TEXTS[name]()
    tokenizer, training, validation = prepare(text, SEQ_LEN)
    n_vocab = len(tokenizer)
    target = trained(training, n_vocab, seed)
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
    return found


def measure(runner: Runner) -> Runs:
    r"""Both texts, from each seed."""
    return runner.runs(added, TEXTS, SEEDS)


def report(found: Runs) -> Report:
    r"""Letters a pass, by text and temperature, and by the number of letters that must agree."""
    rows = []
    for name, runs in found.items():
        for temperature in TEMPERATURES:
            rows.append(
                {
                    "text": f"{name}, temperature {temperature:g}",
                    **spread("lookup", numbers(runs, f"3 letters, {temperature}")),
                    "counted": mean_of(runs, f"counted, {temperature}"),
                }
            )
    return {
        "values": {
            name: {str(seed): one for seed, one in zip(SEEDS, runs, strict=True)}
            for name, runs in found.items()
        },
        "tables": {
            "texts": {
                "columns": [
                    column("text", "Text"),
                    column("lookup", "Letters a pass, looked up", 2),
                    column("low", "Lowest", 2),
                    column("high", "Highest of three seeds", 2),
                    column("counted", "Counted letters", 2),
                ],
                "rows": rows,
            },
            "letters": {
                "columns": [
                    column("run", "The same letters"),
                    *(
                        {"name": f"at{at}", "title": f"Letters a pass, {name}", "digits": 2}
                        for at, name in enumerate(TEXTS)
                    ),
                ],
                "rows": [
                    {"run": title}
                    | {
                        f"at{at}": mean_of(runs, f"{key}, {BETWEEN}")
                        for at, runs in enumerate(found.values())
                    }
                    for key, title in [(f"{n} letters", f"at most {n}") for n in RUNS]
                    + [("newest", "at most 3, the newest place")]
                ],
            },
        },
    }


EXPERIMENT = Experiment(
    title="Prompt look-up in a play and in source code",
    measure=measure,
    report=report,
    small={"SEEDS": (1, 2), "STEPS": 2, "N_PLACES": 2, "N_TOKENS": 10},
)
