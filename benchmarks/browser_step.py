r"""
How long does a training step take in the page, and where does it go?

    python -m benchmarks browser_step [--before FOLDER] [--rounds N] [--record]

The steps are those of a small transformer, `tests/browser_torch/programs/step.py`, of two widths.
They are made with the stand-in for PyTorch of this checkout and with that of an earlier one, if
`--before` names one (as `git worktree add FOLDER COMMIT` makes it), in turns, each in a worker of
Chromium with the same Pyodide. Then once more with a clock around each call of a kernel: what no
kernel takes is Python's. Natively, with the kernels built for 128 bits at a time as in the page,
they take turns with PyTorch on one thread.

Of all rounds the fastest step counts, because what else the machine does can only slow it down.
`--record` writes results/browser_step.json.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, Page

from benchmarks.figures.browser import fresh
from benchmarks.figures.server import served
from benchmarks.library.tables import column, table
from benchmarks.record import ROOT, write
from browser_torch.kernels import build
from tests.browser.chromium import running_browser
from tests.browser_torch.worlds import CACHE, PROGRAMS, PYTORCH, STAND_IN, run

WIDTHS = (64, 128)
STEPS = 20
PYODIDE = ROOT / "node_modules" / "pyodide"
# What one needs of Pyodide to start Python.
PARTS = ("pyodide.mjs", "pyodide.asm.mjs", "pyodide.asm.wasm", "python_stdlib.zip")

# What the kernels do, by their names in `torch/_memory.py`.
GROUPS = {
    "matrix products": ("MATMUL",),
    "elementwise": ("UNARY", "BINARY", "WHERE", "GELU_AND_SLOPE"),
    "copies and indices": ("COPY", "FILL", "INDEX", "GATHER"),
    "sums": ("REDUCE", "CUMULATE"),
    "softmax and loss": (
        "SOFTMAX",
        "SOFTMAX_BACKWARD",
        "CROSS_ENTROPY",
        "CROSS_ENTROPY_BACKWARD",
    ),
    "normalisation": ("NORMALISE", "NORMALISE_BACKWARD"),
    "optimizer": ("ADAMW",),
}
REST = "other kernels"
PYTHON = "Python"

# A worker that starts Python as the page's own worker does, and then makes steps when it is asked.
WORKER = """
import { loadPyodide } from "../pyodide/pyodide.mjs";
import { loadKernels } from "./kernels.js";

const bytes = async (name) => new Uint8Array(await (await fetch(name)).arrayBuffer());
let python;
const spent = {};

function watch() {
  const run = globalThis.stand_in_run;
  globalThis.stand_in_run = (row) => {
    // The second number of a row says which kernel it is for.
    const kernel = new DataView(python._module.HEAPU8.buffer).getInt32(row + 8, true);
    const began = performance.now();
    const status = run(row);
    spent[kernel] = (spent[kernel] ?? 0) + performance.now() - began;
    return status;
  };
}

async function start(watched) {
  const lockFileContents = await (await fetch("../pyodide/pyodide-lock.json")).json();
  const indexURL = new URL("../pyodide/", import.meta.url).href;
  python = await loadPyodide({ indexURL, lockFileContents });
  await loadKernels(python, await bytes("kernels.wasm"));
  if (watched) watch();
  python.unpackArchive(await bytes("torch.zip"), "zip", { extractDir: "/python" });
  python.FS.writeFile("/step.py", await bytes("../step.py"));
  python.runPython(`
import json, pickle, runpy, sys
sys.path.insert(0, "/python")
from torch._memory import Operation

def steps(count, width):
    sys.argv = ["step.py", "/answer", str(count), str(width)]
    runpy.run_path("/step.py", run_name="__main__")
    with open("/answer", "rb") as file:
        return pickle.load(file)["seconds"]

names = json.dumps({one.value: one.name for one in Operation})
`);
}

onmessage = async ({ data }) => {
  try {
    if (data.start) await start(data.watched);
    for (const kernel of Object.keys(spent)) delete spent[kernel];
    const began = performance.now();
    const least = data.start ? 0 : python.globals.get("steps")(data.count, data.width);
    const seconds = (performance.now() - began) / 1000;
    const names = JSON.parse(python.globals.get("names"));
    const kernels = {};
    for (const [kernel, time] of Object.entries(spent)) kernels[names[kernel]] = time / 1000;
    postMessage({ least, seconds, kernels });
  } catch (error) {
    postMessage({ error: String(error) });
  }
};
"""
ASK = """([name, question]) => new Promise((resolve, reject) => {
  const workers = (window.workers ??= {});
  const worker = (workers[name] ??= new Worker(`${name}/worker.js`, { type: "module" }));
  worker.onmessage = ({ data }) => (data.error ? reject(new Error(data.error)) : resolve(data));
  worker.onerror = ({ message }) => reject(new Error(message));
  worker.postMessage(question);
})"""


def pack(tree: Path, folder: Path) -> None:
    r"""What a page needs of a checkout: its stand-in, its kernels and what loads them."""
    loaders = list(tree.glob("*/edit/scripts/kernels.js"))
    if len(loaders) != 1:
        raise SystemExit(
            f"{tree} is no checkout of this project: it has no edit/scripts/kernels.js."
        )
    with tempfile.TemporaryDirectory() as packed:
        subprocess.run(
            [sys.executable, "-m", "browser_torch", "pack", packed],
            cwd=tree,
            env={**os.environ, "PYTHONPATH": str(tree)},
            check=True,
            stdout=subprocess.DEVNULL,
        )
        shutil.make_archive(str(folder / "torch"), "zip", packed, "torch")
        shutil.copyfile(Path(packed) / "kernels.wasm", folder / "kernels.wasm")
    shutil.copyfile(loaders[0], folder / "kernels.js")
    (folder / "worker.js").write_text(WORKER, encoding="utf-8")


def lay_out(folder: Path, trees: Mapping[str, Path]) -> None:
    r"""All that the browser fetches."""
    (folder / "pyodide").mkdir()
    for name in PARTS:
        shutil.copyfile(PYODIDE / name, folder / "pyodide" / name)
    shutil.copyfile(PYODIDE / "pyodide-lock.json", folder / "pyodide" / "pyodide-lock.json")
    shutil.copyfile(PROGRAMS / "step.py", folder / "step.py")
    (folder / "index.html").write_text("<!doctype html><title>Steps</title>", encoding="utf-8")
    for name, tree in trees.items():
        (folder / name).mkdir()
        pack(tree, folder / name)


def ask(page: Page, name: str, **question: Any) -> Any:
    r"""What the worker of a checkout answers."""
    return page.evaluate(ASK, [name, question])


def in_the_page(
    browser: Browser, address: str, names: list[str], rounds: int
) -> dict[tuple[str, int], float]:
    r"""The fastest step of each checkout and width, in milliseconds."""
    found: dict[tuple[str, int], list[float]] = {}
    with fresh(browser) as page:
        page.goto(address)
        for name in names:
            ask(page, name, start=True, watched=False)
        for _ in range(rounds):
            for width in WIDTHS:
                for name in names:
                    done = ask(page, name, count=STEPS, width=width)
                    found.setdefault((name, width), []).append(1000 * done["least"])
    return {key: min(times) for key, times in found.items()}


def parted(seconds: float, kernels: Mapping[str, float]) -> dict[str, float]:
    r"""Where the time of a step goes, in milliseconds, by what all steps and their kernels took."""
    group_of = {kernel: group for group, names in GROUPS.items() for kernel in names}
    spent: Counter[str] = Counter()
    for kernel, time in kernels.items():
        spent[group_of.get(kernel, REST)] += time
    spent[PYTHON] = seconds - sum(spent.values())
    return {one: 1000 * spent[one] / STEPS for one in (*GROUPS, REST, PYTHON)}


def parts_in_the_page(browser: Browser, address: str, name: str, rounds: int) -> dict[str, float]:
    r"""Where the time of a step of the last width goes: in the fastest round."""
    with fresh(browser) as page:
        page.goto(address)
        ask(page, name, start=True, watched=True)
        # In the first one the browser compiles.
        found = [ask(page, name, count=STEPS, width=WIDTHS[-1]) for _ in range(rounds + 1)][1:]
    fastest = min(found, key=lambda done: done["seconds"])
    return parted(fastest["seconds"], fastest["kernels"])


def here(program: str, width: int, world: str = STAND_IN) -> Any:
    r"""What a program says of its steps, with the kernels as wide as in the page."""
    variables = {"BROWSER_TORCH_KERNELS": f"{build.native(CACHE, optimised=True)}"}
    return run(world, program, f"{STEPS}", f"{width}", variables=variables)


def natively(rounds: int) -> list[dict[str, Any]]:
    r"""The fastest step in both worlds, in milliseconds of the processor."""
    rows = []
    for width in WIDTHS:
        times: dict[str, list[float]] = {PYTORCH: [], STAND_IN: []}
        for _ in range(rounds):
            for world, found in times.items():
                found.append(1000 * here("step", width, world)["seconds"])
        one, other = (min(times[world]) for world in (PYTORCH, STAND_IN))
        rows.append({"width": f"{width}", "pytorch": one, "here": other, "ratio": other / one})
    return rows


def parts_natively(rounds: int) -> dict[str, float]:
    r"""Where the time of a step of the last width goes: in the fastest round."""
    found = [here("watched_step", WIDTHS[-1]) for _ in range(rounds)]
    fastest = min(found, key=lambda done: done["seconds"])
    return parted(fastest["seconds"], fastest["kernels"])


def sources() -> list[str]:
    r"""The kernels, the program, and the modules of the stand-in whose functions a step calls."""
    modules = here("watched_step", WIDTHS[0])["modules"]
    return [
        "browser_torch/kernels/kernels.wasm.sources",
        (PROGRAMS / "step.py").relative_to(ROOT).as_posix(),
        *(Path(one).relative_to(ROOT).as_posix() for one in modules),
    ]


def commit(tree: Path) -> str:
    r"""The commit of a checkout."""
    told = subprocess.run(
        ["git", "rev-parse", "--short=8", "HEAD"], cwd=tree, check=True, capture_output=True
    )
    return told.stdout.decode().strip()


def measure(before: Path | None, rounds: int) -> dict[str, Any]:
    r"""The three tables."""
    trees = {"now": ROOT} if before is None else {"before": before, "now": ROOT}
    with tempfile.TemporaryDirectory() as folder:
        lay_out(Path(folder), trees)
        with served(Path(folder)) as server, running_browser() as browser:
            steps = in_the_page(browser, server.address, list(trees), rounds)
            spent = {
                name: parts_in_the_page(browser, server.address, name, rounds) for name in trees
            }
    spent["native"] = parts_natively(rounds)
    pages: list[dict[str, Any]] = [
        {"width": f"{width}", **{name: steps[name, width] for name in trees}} for width in WIDTHS
    ]
    for row in pages:
        if before is not None:
            row["ratio"] = row["now"] / row["before"]
    shares = [
        {"part": one, **{name: found[one] for name, found in spent.items()}} for one in spent["now"]
    ]
    columns = [
        column("width", "Width of the model"),
        column("part", "Part of a step"),
        column("before", "Before", 1, "ms"),
        column("now", "Now", 1, "ms"),
        column("ratio", "Now of before", 2),
        column("native", "Now, natively", 1, "ms"),
    ]
    beside = [
        column("width", "Width of the model"),
        column("pytorch", "PyTorch", 1, "ms"),
        column("here", "The stand-in", 1, "ms"),
        column("ratio", "Of PyTorch", 2),
    ]
    return {
        "in_the_page": table([one for one in columns if one["name"] in pages[0]], pages),
        "where_it_goes": table([one for one in columns if one["name"] in shares[0]], shares),
        "natively": table(beside, natively(rounds)),
    }


def show(tables: Mapping[str, Any]) -> None:
    r"""The tables as text."""
    for name, found in tables.items():
        print(f"\n{name}: {', '.join(one['title'] for one in found['columns'])}")
        for row in found["rows"]:
            cells = (row[one["name"]] for one in found["columns"])
            print("  " + "  ".join(one if isinstance(one, str) else f"{one:.2f}" for one in cells))


def main() -> None:
    r"""Measure and print, or record."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--before", type=Path, help="an earlier checkout")
    parser.add_argument("--rounds", type=int, default=5, help="of each (%(default)s)")
    parser.add_argument("--record", action="store_true", help="write results/browser_step.json")
    options = parser.parse_args()
    before = options.before and options.before.resolve()
    if options.record and before is None:
        parser.error("--record compares with an earlier checkout: name one with --before")
    tables = measure(before, options.rounds)
    show(tables)
    if not options.record:
        return
    pyodide = json.loads((PYODIDE / "package.json").read_text(encoding="utf-8"))["version"]
    write(
        "browser_step",
        title="A training step in the page, before and now",
        command="python -m benchmarks browser_step --before FOLDER --record",
        sources=sources(),
        values={
            "before": commit(before),
            "now": commit(ROOT),
            "pyodide": pyodide,
            "pytorch": version("torch"),
        },
        tables=tables,
    )


if __name__ == "__main__":
    main()
