r"""
What the notebooks take: minutes and memory, counted without a GPU.

Each notebook that trains runs for a few steps where nothing is computed, as on two cores and as on
a Tesla T4, and the rest of its steps is added. `labml_nn/notebooks.toml` then says for each what
the head of the notebook tells its reader. The times are a model's: see `fake_gpu.py`. Some
notebooks look at the numbers that they compute; these run for some steps on this machine, and are
timed.

With names, such as transformers/mha, it prints the counts of these, and writes nothing.
"""

import re
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import Any

import matplotlib.pyplot
import nbformat
from torch.optim.optimizer import register_optimizer_step_post_hook

from benchmarks.fake_gpu import CORES, GIB, T4, Card, Counts, fake_gpu
from labml_nn.training.data import tiny_shakespeare
from tests.kernels import fill_in

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / "notebooks"
FILE = ROOT / "labml_nn" / "notebooks.toml"
# One step more, after the first, in which an optimizer makes its state.
FEW, MORE = 2, 3
# Of what is trained after that: ten times on the way it is looked at, however many steps there are.
FURTHER_FEW, FURTHER_MORE = 20, 30
# What these train on, or what they draw, depends on numbers. They are timed, for so many steps. If
# one trains on a GPU, its training alone is counted there, and the rest is that of the timed run.
TIMED = (
    "encoders/classifier_experiment",
    "encoders/experiment",
    "images/experiment",
    "inference/speculative_experiment",
    "inside/induction_experiment",
    "reinforcement/grpo_experiment",
)
TIMED_STEPS = 40
# Where there is a GPU, these train a larger model; the place of its loss, if it is recorded.
LARGER = {
    "transformers/basic/autoregressive_experiment": (
        "results/gpu.json#tables.parts.the%20experiment.loss"
    ),
    "transformers/modern/experiment": "",
}
# Tokens that are really drawn of a sample; what a sample takes is left out.
DRAWN = 2
# Cells that look at numbers, of examples and of exercises.
SKIPPED = (
    "#@title Set-up",
    "#@title Is the line right?",
    "#@title Is the bug gone?",
    "#@title Are the lines right?",
)
# What the cells that are left out leave behind: the form asks whether they were run.
BEFORE = {"__name__": "__main__", "set_up_notebook": None, "note_form": lambda *_: None}


def name_of(path: Path) -> str:
    r"""Such as transformers/mha."""
    return path.relative_to(FOLDER).with_suffix("").as_posix()


def trains(path: Path) -> bool:
    r"""Whether a notebook has a form with a number of steps."""
    return "\nsteps = " in "\n".join(cell.source for cell in cells(path))


def chooses_a_gpu(path: Path) -> bool:
    r"""Whether a notebook does something else where there is a GPU."""
    code = [one.source for one in cells(path) if not one.source.startswith("#@title Set-up")]
    has_form = any(one.startswith("#@title Settings") for one in code)
    return has_form and any("cuda.is_available()" in one for one in code)


def cells(path: Path) -> list[Any]:
    r"""The cells of code."""
    notebook = nbformat.reads(path.read_text(encoding="utf-8"), as_version=4)
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def is_run(cell: Any) -> bool:
    r"""Whether a cell is code that needs no numbers. What draws them is to play with."""
    if cell.cell_type != "code" or cell.source.startswith(SKIPPED):
        return False
    return not any(f"\n{one}(" in cell.source for one in ("look_inside", "show_shapes"))


def run(
    path: Path, form: Mapping[str, object], card: Card = T4, text: str | None = None
) -> tuple[Counts, dict[str, Any]]:
    r"""The counts of a notebook with these values in its form, and the names that it has bound."""
    notebook = fill_in(path.read_text(encoding="utf-8"), form)
    done = [one for one in notebook.cells if is_run(one)]
    if name_of(path) in TIMED:
        # What comes after the training needs numbers.
        trained = [at for at, one in enumerate(done) if ".train(steps)" in one.source]
        done = done[: trained[-1] + 1]
    names: dict[str, Any] = dict(BEFORE)
    matplotlib.use("Agg")
    with fake_gpu(card) as counts:
        for cell in done:
            exec(compile(cell.source, path.name, "exec"), names)
            _shorten(names, counts, text)
    matplotlib.pyplot.close("all")
    return counts, names


def _shorten(names: dict[str, Any], counts: Counts, text: str | None) -> None:
    r"""Of a sample draw the first tokens only; read no file."""
    write = names.get("write")
    if write is not None and not hasattr(write, "is_short"):
        names["write"] = _short(write, counts)
    if text is not None and "read_text" in names:
        names["read_text"] = lambda corpus: text[::-1] if corpus == "python" else text


def _short(write: Callable[..., str], counts: Counts) -> Callable[..., str]:
    def short(
        model: Any, tokenizer: Any, prompt: str, length: int, *rest: Any, **named: Any
    ) -> str:
        before = counts.computing, counts.starting
        text = write(model, tokenizer, prompt, min(length, DRAWN), *rest, **named)
        counts.computing, counts.starting = before
        return text

    short.is_short = True
    return short


def steps_of(path: Path, card: Card) -> int:
    r"""How many steps the notebook makes if nobody changes its form."""
    (line,) = (
        line
        for cell in cells(path)
        for line in cell.source.splitlines()
        if line.startswith("steps = ") and "#@param" in line
    )
    given = int(line.partition("=")[2].partition("#")[0])
    # Zero: the notebook chooses by the device, in the same words in all that do.
    if given:
        return given
    source = "\n".join(cell.source for cell in cells(path))
    (chosen,) = re.findall(r"steps or \((\d+) if on_gpu else (\d+)\)", source)
    return int(chosen[0 if card is T4 else 1])


def further_steps(path: Path) -> dict[str, int]:
    r"""The steps of what is trained after that, by their names in the form."""
    form = "\n".join(cell.source for cell in cells(path))
    return {name: int(n) for name, n in re.findall(r"(?m)^(\w+_steps) = (\d+)  #@param", form)}


def minutes(path: Path, card: Card) -> tuple[float, float]:
    r"""Minutes and the peak of memory in GiB."""
    text = tiny_shakespeare()
    further = further_steps(path)
    all_steps = {"steps": steps_of(path, card), **further}
    fewest = {"steps": FEW, **dict.fromkeys(further, FURTHER_FEW)}
    most = {"steps": MORE, **dict.fromkeys(further, FURTHER_MORE)}
    few, _ = run(path, fewest, card, text)
    # Each training in turn makes more steps.
    more = {name: run(path, fewest | {name: most[name]}, card, text)[0] for name in all_steps}

    def of_all(kind: str) -> float:
        total = getattr(few, kind)
        for name, steps in all_steps.items():
            step = (getattr(more[name], kind) - getattr(few, kind)) / (most[name] - fewest[name])
            total += (steps - fewest[name]) * step
        return total

    # In the few steps it may be the other one that takes longer.
    peak = max(one.peak for one in more.values())
    return max(of_all("computing"), of_all("starting")) / 60, peak / GIB


@contextmanager
def times_of_steps() -> Iterator[dict[int, list[float]]]:
    r"""The times in seconds at which each optimizer has made its steps in the block."""
    times: defaultdict[int, list[float]] = defaultdict(list)
    hook = register_optimizer_step_post_hook(
        lambda optimizer, *_: times[id(optimizer)].append(time.monotonic())
    )
    try:
        yield times
    finally:
        hook.remove()


def timed(path: Path) -> tuple[float, float]:
    r"""Minutes on this machine, without a GPU; and those that aren't steps."""
    notebook = fill_in(path.read_text(encoding="utf-8"), {"steps": TIMED_STEPS})
    names: dict[str, Any] = dict(BEFORE)
    matplotlib.use("Agg")
    began = time.monotonic()
    with times_of_steps() as times:
        for cell in notebook.cells:
            if is_run(cell):
                exec(compile(cell.source, path.name, "exec"), names)
                if "read_text" in names:
                    names["read_text"] = lambda corpus: tiny_shakespeare()
    seconds = time.monotonic() - began
    matplotlib.pyplot.close("all")
    # Each model makes the steps that are missing, in the time of its usual one. What was fine-tuned
    # has made all of its steps.
    steps = steps_of(path, CORES)
    rest = seconds
    for ends in times.values():
        if len(ends) == TIMED_STEPS:
            step = median(after - before for before, after in pairwise(ends))
            seconds += (steps - TIMED_STEPS) * step
            rest -= TIMED_STEPS * step
    return seconds / 60, rest / 60


def main() -> None:
    r"""Count, and write the file."""
    chosen = [FOLDER / f"{name}.ipynb" for name in sys.argv[1:]]
    entries = []
    for path in chosen or sorted(one for one in FOLDER.rglob("*.ipynb") if trains(one)):
        name = name_of(path)
        cores, rest = timed(path) if name in TIMED else (minutes(path, CORES)[0], 0)
        entry = {"cores": cores}
        if chooses_a_gpu(path):
            gpu, memory = minutes(path, T4)
            entry |= {"gpu": gpu + rest, "memory": memory}
        numbers = ", ".join(f"{key} = {value:.2g}" for key, value in entry.items())
        if name in TIMED:
            numbers += ", timed = true"
        if name in LARGER:
            numbers += f', larger = "{LARGER[name]}"'
        print(f"{name}: {numbers}", flush=True)
        entries.append(f'"labml_nn/{name}.py" = {{ {numbers} }}\n')
    if not chosen:
        head = "".join(f"# {line}\n" for line in HEAD.splitlines())
        FILE.write_text(head + "".join(entries), encoding="utf-8")


HEAD = """What the notebooks take, as counted or timed by `python -m benchmarks notebook_counts`:
minutes on two cores, minutes on a Tesla T4, and the GiB of its memory that are used at a time."""
