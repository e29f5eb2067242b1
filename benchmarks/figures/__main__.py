r"""Print the figures of the site: what was measured, beside what, and whether it is enough.

    python -m benchmarks.figures [--anchor DIR] [--before DIR] [--site DIR] [--only NAME] [--quick]

The site is built into a temporary folder, served on the loopback with gzip, and read in Chromium.
Nothing is asked of any other host. `--anchor` names the folder `docs` of a checkout of
labmlai/annotated_deep_learning_paper_implementations, whose layout is then measured with our text
in the same run; without it what is compared with it is printed as not measured. `--before` names
our site as an earlier commit built it: no change may make readers wait longer for the first text.
Times depend on what else the machine does: only their comparison within one run means something.
"""

import argparse
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.figures.alone import alone
from benchmarks.figures.anchor import make_anchor
from benchmarks.figures.barriers import barriers
from benchmarks.figures.browser import MHA
from benchmarks.figures.figure import Figure, show, show_head
from benchmarks.figures.layout import layout
from benchmarks.figures.lighthouse import lighthouse
from benchmarks.figures.paint import paint
from benchmarks.figures.questions import questions
from benchmarks.figures.reading import reading
from benchmarks.figures.twice import build, twice
from benchmarks.figures.weight import weight
from tests.browser.chromium import running_browser

ROOT = Path(__file__).resolve().parents[2]
QUICK = ["", MHA, "training/", "literate/page/"]
# What is measured by programs of its own: each prints its table.
FURTHER = ("build.py", "serve.py")


def main() -> int:
    r"""Build, measure, print; the status says only whether it could be measured."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.figures",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--anchor", type=Path, metavar="DIR", help="the anchor's built pages")
    parser.add_argument("--quick", action="store_true", help="fewer pages, one round of each")
    parser.add_argument("--rounds", type=int, default=7, help="of what takes time; 7 if not given")
    names = [
        "axe",
        "lighthouse",
        "alone",
        "weight",
        "paint",
        "layout",
        "reading",
        "questions",
        "twice",
        "further",
    ]
    parser.add_argument("--site", type=Path, help="a site that is built already")
    parser.add_argument("--before", type=Path, metavar="DIR", help="the site of an earlier commit")
    parser.add_argument("--only", choices=names, action="append", help="measure this alone")
    chosen = parser.parse_args()
    rounds = 1 if chosen.quick else chosen.rounds

    with TemporaryDirectory() as folder, running_browser() as browser:
        out = Path(folder)
        site = chosen.site or out / "site"
        if chosen.site is None:
            build(ROOT, site)
        peer = None
        if chosen.anchor is not None:
            katex = ROOT / "node_modules" / "katex"
            made = make_anchor(browser, chosen.anchor, site, katex, out / "anchor")
            peer = (out / "anchor", made)
        axe = ROOT / "node_modules" / "axe-core" / "axe.min.js"
        pages = QUICK if chosen.quick else None
        measured: dict[str, Callable[[], Iterator[Figure]]] = {
            "weight": lambda: weight(browser, site, peer),
            "layout": lambda: layout(browser, site),
            "reading": lambda: reading(browser, site),
            "questions": lambda: questions(browser, site),
            "paint": lambda: paint(browser, site, peer, chosen.before, rounds),
            "alone": lambda: alone(browser, site),
            "twice": lambda: iter([twice(ROOT, site, out)]),
            "axe": lambda: iter([barriers(browser, site, axe, pages)]),
            "lighthouse": lambda: lighthouse(site, peer, min(rounds, 5)),
        }
        show_head()
        for name, figures in measured.items():
            if not chosen.only or name in chosen.only:
                for figure in figures():
                    show(figure)
    if not chosen.only or "further" in chosen.only:
        _run_further()
    return 0


def _run_further() -> None:
    for name in FURTHER:
        script = ROOT / "benchmarks" / name
        if script.is_file():
            print(f"\n== {script.relative_to(ROOT)}", flush=True)
            subprocess.run([sys.executable, script], cwd=ROOT, check=True)


if __name__ == "__main__":
    sys.exit(main())
