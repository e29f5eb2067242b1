r"""
How fast do the pages run in the reader's browser, and how much is fetched for it?

    python -m benchmarks browser_speed [--site FOLDER] [--page PAGE] [--rounds N] [--record]

The built site is served on the loopback with gzip and read in Chromium. On a page with the reader's
own text, the button is clicked in a fresh browser each time: what is measured is the time to the
first step, to the first live value, and of one pass. On the home page a model writes, with its
cache and without; of several rounds the fastest counts, because what else the machine does can only
slow them down.

`--record` writes what the model wrote, with the speeds, to results/writing.json, which the home
page shows to those who don't start the model themselves.
"""

import argparse
import gzip
from pathlib import Path
from statistics import median
from typing import Any

from playwright.sync_api import Browser, Page

from benchmarks.figures.browser import fresh
from benchmarks.figures.figure import Figure, at_most, show, show_head
from benchmarks.figures.server import served
from benchmarks.record import ROOT, code_of, write
from labml_nn.page_models import models, writing_step
from tests.browser.chromium import running_browser

ASSETS = ROOT / "page_runner" / "assets"
RECORDED = "benchmarks.browser_speed:record"
PROMPTS = ("ROMEO:\n", "JULIET:\nO ", "To be, or not ")
WRITTEN, TEMPERATURE = 100, 0.8
# So often the model writes with its cache. The first rounds are slow: the browser compiles for
# speed only what has run often.
WRITING_ROUNDS = 20
# What the texts and the speeds depend on, and Python doesn't call: the code of the page in the
# browser, and that of the two models that are exported to it.
ALSO = [
    *(f"page_runner/assets/{name}.js" for name in ("interpreter", "kernels", "operations")),
    *(f"page_runner/assets/{name}.js" for name in ("sampling", "tensors", "worker")),
    "browser_torch/kernels/kernels.wasm.sources",
    "results/weights/classic.safetensors",
    models.make,
    writing_step.make,
]

# Notes when the button is clicked, when the panel shows the first step of the reader's run, and
# when the first numbers of it are told.
WATCH = """
window.times = {};
addEventListener("click", () => (times.click ??= performance.now()), true);
document.addEventListener("DOMContentLoaded", () => {
  const watch = new MutationObserver(() => {
    const run = document.querySelector("section.run");
    if (!times.click || run?.ariaLabel !== "A run with your own text") return;
    times.step ??= performance.now();
    if (run.querySelector(".next li")) times.value ??= performance.now();
  });
  const all = { subtree: true, childList: true, attributes: true, characterData: true };
  watch.observe(document.body, all);
});
"""
TIMES = """() => {
  const all = performance.getEntriesByType("resource");
  return { ...times, arrived: all.find(one => one.name.includes("weights")).responseEnd };
}"""

# A pass over texts of two lengths, warm; in milliseconds.
PASSES = """async ([page, lengths, rounds]) => {
  const { Model, fetchedJson, learned, numbers } = await import("/assets/model.js");
  const graph = await fetchedJson(page);
  const model = new Model(graph, numbers(graph, page, learned(graph.weights)));
  const found = [];
  for (const length of lengths) {
    const text = graph.text.repeat(9).slice(0, length);
    const times = [];
    for (let round = 0; round < rounds + 2; round++) {
      const begun = performance.now();
      await model.ask("run", { text });
      times.push(performance.now() - begun);
    }
    found.push(times.slice(2));
  }
  model.end();
  return found;
}"""

# What the model writes, one way after the other, so that neither takes time from the other.
WRITES = """async ([folder, job, rounds]) => {
  const { Model, fetchedJson, learned, numbers } = await import("/assets/model.js");
  const found = {};
  for (const way of ["write", "whole"]) {
    const address = `${folder}${way}.json`;
    const graph = await fetchedJson(address);
    const model = new Model(graph, numbers(graph, address, learned(graph.weights)));
    const rates = [];
    let last;
    for (let round = 0; round < (way === "write" ? rounds + 1 : 1); round++) {
      const options = { ...job, cached: way === "write" };
      await model.ask("write", options, heard => (last = heard));
      rates.push(last.passes / last.seconds);
    }
    // The first time, the code is not compiled yet.
    found[way] = { written: last.written, rates: rates.slice(way === "write" ? 1 : 0) };
    found.bytes = graph.bytes;
    model.end();
  }
  return found;
}"""


def at_least(what: str, value: float, bar: float, unit: str) -> Figure:
    r"""A value that must not be below its bar."""
    return Figure(what, f"{value:.0f}{unit}", f"at least {bar:g}{unit}", value >= bar)


def weight() -> Figure:
    r"""Print the size of each script, and return that of all."""
    total = 0
    for path in sorted(ASSETS.glob("*.js")):
        packed = len(gzip.compress(path.read_bytes(), 9, mtime=0))
        total += packed
        show(Figure(f"  {path.name}, gzip", f"{packed:,} bytes", "", None))
    return at_most("own JavaScript of all levels, gzip", total, 40_000, " bytes")


def started(page: Page, address: str) -> dict[str, float]:
    r"""Click the button of a page, and return when what happened, in milliseconds after it."""
    page.add_init_script(WATCH)
    page.goto(address, wait_until="networkidle")
    page.get_by_role("button", name="Step through the recorded run").click()
    page.get_by_role("button", name="own text").wait_for()
    page.evaluate("delete times.click")
    page.get_by_role("button", name="own text").click()
    page.wait_for_function("window.times.value")
    times: dict[str, float] = page.evaluate(TIMES)
    return {
        "step": times["step"] - times["click"],
        "value": times["value"] - times["arrived"],
    }


def own_text(browser: Browser, address: str, page: str, rounds: int) -> None:
    r"""Measure a page with the reader's own text."""
    found = []
    for _ in range(rounds):
        with fresh(browser) as one:
            found.append(started(one, f"{address}{page}"))
    steps, values = ([one[name] for one in found] for name in ("step", "value"))
    show(at_most(f"{page} click to the first step, median", round(median(steps)), 400, " ms"))
    show(at_most("  weights’ arrival to the first value", round(median(values)), 2000, " ms"))
    with fresh(browser) as one:
        one.goto(f"{address}{page}")
        graph = f"{address}{page}live.json"
        for length, times in zip((24, 64), one.evaluate(PASSES, [graph, [24, 64], 5]), strict=True):
            what = f"  one pass over {length} characters, with lens, warm"
            show(Figure(what, f"{median(times):.0f} ms", "", None))


def writing(browser: Browser, address: str, prompt: str = PROMPTS[0]) -> Any:
    r"""Let the model write, and return what and how fast."""
    job = {"prompt": prompt, "n": WRITTEN, "seed": 0, "options": {"temperature": TEMPERATURE}}
    with fresh(browser) as one:
        one.goto(address)
        return one.evaluate(WRITES, [f"{address}assets/live/", job, WRITING_ROUNDS])


def record(browser: Browser, address: str) -> None:
    r"""Write down what the model wrote, for the home page."""
    sources = code_of().sources(RECORDED)
    rows = []
    for prompt in PROMPTS:
        found = writing(browser, address, prompt)
        if found["write"]["written"] != found["whole"]["written"]:
            raise ValueError(f"with the cache another text follows {prompt!r} than without")
        rows.append(
            {
                "prompt": prompt,
                "text": prompt + found["write"]["written"],
                "cached": max(found["write"]["rates"]),
                "whole": max(found["whole"]["rates"]),
            }
        )
    write(
        "writing",
        title="What the live model writes in a browser",
        command="python -m benchmarks browser_speed --record",
        of=RECORDED,
        sources=sources,
        tables={
            "written": {
                "columns": [
                    {"name": "prompt", "title": "Prompt"},
                    {"name": "text", "title": "What the classic model writes"},
                    {"name": "cached", "title": "With a cache", "unit": "tokens/s", "digits": 0},
                    {"name": "whole", "title": "without", "unit": "tokens/s", "digits": 0},
                ],
                "rows": rows,
                "live": {"graph": "write.json", "bytes": found["bytes"]},
            }
        },
    )


def main() -> None:
    r"""Measure and print, or record."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--site", type=Path, default=ROOT / "site", help="the built site")
    parser.add_argument("--page", action="append", help="with the reader's own text")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--record", action="store_true", help="write results/writing.json")
    options = parser.parse_args()
    with served(options.site) as server, running_browser() as browser:
        if options.record:
            record(browser, server.address)
            return
        show_head()
        show(weight())
        for page in options.page or ["transformers/mha/", "transformers/modern/model/"]:
            own_text(browser, server.address, page, options.rounds)
        found = writing(browser, server.address)
        rates = found["write"]["rates"]
        what = f"writing {WRITTEN} tokens with the cache, fastest of {len(rates)}"
        show(at_least(what, max(rates), 1500, " tokens/s"))
        show(Figure("  median", f"{median(rates):.0f} tokens/s", "", None))
        whole = max(found["whole"]["rates"])
        show(Figure("  without the cache", f"{whole:.1f} tokens/s", "", None))


if __name__ == "__main__":
    main()
