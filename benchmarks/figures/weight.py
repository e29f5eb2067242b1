r"""All that a first visit transfers, by its parts, and the page without JavaScript."""

import gzip
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urljoin

from playwright.sync_api import Browser

from benchmarks.figures.browser import MHA, fresh
from benchmarks.figures.figure import Figure, at_most, none_of
from benchmarks.figures.server import LEVEL, Answer, served

# What the reader sees of a page: the text of its rows, and how many things stand on it.
READ = """() => ({
    notes: [...document.querySelectorAll('.row .note')].map(one => one.innerText.trim()),
    code: [...document.querySelectorAll('.line[id]')].map(one => one.innerText.trim()),
    formulas: document.querySelectorAll('.katex-html').length,
    hidden: [...document.querySelectorAll('.row .note, .line[id]')]
        .filter(one => !one.checkVisibility({visibilityProperty: true})).length,
})"""


def weight(browser: Browser, site: Path, peer: tuple[Path, str] | None) -> Iterator[Figure]:
    r"""Kilobytes are 1000 bytes, and each answer counts with its headers."""
    answers = _visit(browser, site, MHA)
    beside = ""
    if peer is not None:
        beside = f"{_sum(_visit(browser, *peer)):.1f} kB"
    total = at_most("attention page, first visit, gzip", _sum(answers), 260, " kB", beside)
    yield Figure(total.what, total.measured, total.bar, total.met, beside, _table(answers))
    page = [one for one in answers if one.path.endswith(MHA)]
    yield at_most("its HTML, gzip", _sum(page), 25, " kB")
    own = [site / one.path.lstrip("/") for one in answers if "javascript" in one.kind]
    ours = [path for path in own if path.parent == site / "assets"]
    size = sum(len(gzip.compress(path.read_bytes(), LEVEL)) for path in ours) / 1000
    yield at_most("our own JavaScript on it, gzip", round(size, 2), 10, " kB")
    yield _without_scripts(browser, site)


def _visit(browser: Browser, folder: Path, path: str) -> list[Answer]:
    with served(folder) as server, fresh(browser) as page:
        page.goto(urljoin(server.address, path), wait_until="networkidle")
        # Formulas below the first screen may ask for further fonts.
        page.evaluate("scrollTo(0, document.body.scrollHeight)")
        page.wait_for_timeout(500)
        return list(server.answers)


def _sum(answers: list[Answer]) -> float:
    return round(sum(one.size for one in answers) / 1000, 1)


def _table(answers: list[Answer]) -> tuple[str, ...]:
    kinds: Counter[str] = Counter()
    for one in answers:
        kinds[one.kind] += one.size
    parts = [f"{size / 1000:8.1f} kB  {kind}" for kind, size in kinds.most_common()]
    largest = sorted(answers, key=lambda one: -one.size)
    return (*parts, "of which:", *(f"{one.size / 1000:8.1f} kB  {one.path}" for one in largest))


def _without_scripts(browser: Browser, site: Path) -> Figure:
    seen = []
    with served(site) as server:
        for scripts in (True, False):
            with fresh(browser, java_script_enabled=scripts) as page:
                page.goto(urljoin(server.address, MHA), wait_until="networkidle")
                seen.append(page.evaluate(READ))
    missing = [key for key in seen[0] if key != "notes" and seen[0][key] != seen[1][key]]
    words = [set(" ".join(one["notes"]).split()) for one in seen]
    missing += sorted(words[0] - words[1] - {"¶"})
    missing += ["rows are hidden"] if seen[1]["hidden"] else []
    return none_of("what is missing on it without JavaScript", missing)
