r"""
How long does a reader wait who edits a page and runs it?

    python -m benchmarks editing [--site FOLDER] [--page PAGE] [--rounds N] [--train]

The built site is served on the loopback and read in Chromium. On each page of the core path the
button “Edit” is clicked in a browser that has just been started: nothing is cached, nothing
compiled; then the page's own code is run again and again. Told are the time from the click until
Python is ready, that of the first run, and the median of the later ones: from the click on “Run” to
the shapes on the page. With `--train` each model of *Train here* is trained instead, with the steps
that the form proposes. The bars are those of two quiet cores.
"""

import argparse
import re
from pathlib import Path
from statistics import median

from playwright.sync_api import Browser

from benchmarks.figures.browser import fresh
from benchmarks.figures.figure import at_most, show, show_head
from benchmarks.figures.server import served
from benchmarks.record import ROOT
from tests.browser.chromium import running_browser

READY_MS = 2500
RUN_MS = 200
TRAIN_S = 30
TRAIN_PAGE = "course/train_here"
PAGES = (
    "training/data",
    "training/counting",
    "training/sampling",
    "training/loop",
    "transformers/ways/one_head_at_a_time",
    "transformers/mha",
    "transformers/feed_forward",
    "transformers/positional_encoding",
    "transformers/models",
    "transformers/basic/autoregressive_model",
    "transformers/basic/autoregressive_experiment",
    "transformers/kv_cache",
    "transformers/rotary",
    "transformers/rms_norm",
    "transformers/swiglu",
    "transformers/modern/attention",
    "transformers/modern/model",
)

# Waits until the line of status says a thing, and returns how many milliseconds that took.
UNTIL = """(said) => new Promise((resolve, reject) => {
  const began = performance.now();
  const look = () => {
    const text = document.querySelector(".editor .status")?.textContent ?? "";
    if (new RegExp(said).test(text)) resolve(performance.now() - began);
    else if (performance.now() - began > 60_000) reject(new Error(`no “${said}”, but “${text}”`));
    else requestAnimationFrame(look);
  };
  look();
})"""
CLICK = f"""async () => {{
  const buttons = [...document.querySelectorAll("button")];
  buttons.find((one) => one.textContent.startsWith("Edit")).click();
  return await ({UNTIL})("Ready after");
}}"""
RUN = f"""async () => {{
  const editor = document.querySelector(".editor");
  editor.querySelector(".status").textContent = "";
  [...editor.querySelectorAll("button")].find((one) => one.textContent.startsWith("Run")).click();
  return await ({UNTIL})("^Ran in ");
}}"""


def waited(address: str, rounds: int) -> list[float]:
    r"""Milliseconds until Python is ready, of the first run, and of the later ones."""
    with running_browser() as browser, fresh(browser) as page:
        page.goto(address, wait_until="networkidle")
        return [page.evaluate(CLICK), *(page.evaluate(RUN) for _ in range(rounds + 1))]


def trained(browser: Browser, address: str) -> None:
    r"""Train each model of *Train here*, and print the seconds that the page says it took."""
    with fresh(browser) as page:
        page.goto(address, wait_until="networkidle")
        page.get_by_role("button", name=re.compile("^Train here")).click()
        status = page.locator(".training .status")
        status.filter(has_text="Ready").wait_for()
        models = page.locator(".training select").first
        for name in models.locator("option").all_text_contents():
            models.select_option(label=name)
            status.evaluate("(one) => (one.textContent = '')")
            page.get_by_role("button", name="Train", exact=True).click()
            done = status.filter(has_text="steps in ")
            done.wait_for(timeout=300_000)
            steps, seconds = re.findall(r"(\d+) steps in ([\d.]+) s", done.inner_text())[0]
            show(at_most(f"{name}: {steps} steps", float(seconds), TRAIN_S, " s"))


def main() -> None:
    r"""Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--site", type=Path, default=ROOT / "site", help="the built site")
    parser.add_argument("--page", action="append", choices=PAGES, help="all, if none is given")
    parser.add_argument("--rounds", type=int, default=5, help="later runs (%(default)s)")
    parser.add_argument("--train", action="store_true", help="the models of Train here")
    options = parser.parse_args()
    with served(options.site) as server:
        show_head()
        if options.train:
            with running_browser() as browser:
                trained(browser, f"{server.address}{TRAIN_PAGE}/")
            return
        for path in options.page or PAGES:
            ready, first, *later = waited(f"{server.address}{path}/", options.rounds)
            show(at_most(f"{path}: ready after the click", round(ready), READY_MS, " ms"))
            show(at_most("  its first run", round(first), RUN_MS, " ms"))
            show(at_most("  a later run, median", round(median(later)), RUN_MS, " ms"))


if __name__ == "__main__":
    main()
