r"""How a lesson reads: how much of its code column is filled, and what the first screen shows."""

import re
import statistics
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urljoin

from playwright.sync_api import Browser, Page, Route

from benchmarks.figures.browser import MHA, MUSEUM, addresses, fresh
from benchmarks.figures.figure import Figure, at_most, none_of
from benchmarks.figures.server import served

# What is no lesson: the tool, the page that runs, the engine, results, and documents.
OTHERS = re.compile(
    r"^(literate|page_runner|training/engine|page_models|results|404)|^(terms|papers|compare|proof)/"
)
SCREEN = 900
FORWARDS = (
    MHA,
    "transformers/models/",
    "transformers/rotary/",
    "transformers/modern/model/",
    "transformers/ways/one_head_at_a_time/",
)

# Of each line of code its height, top, bottom and text, with the box of the note of its row; then
# the widths of lines of prose, in letters.
LOOK = r"""() => {
    const box = one => one.getBoundingClientRect();
    const seen = one => one.getClientRects().length > 0;
    const lines = [...document.querySelectorAll('.row .line[id]')].filter(seen).map(line => {
        const note = line.closest('.row').querySelector(':scope > .note');
        const [here, beside] = [box(line), note && seen(note) && box(note)];
        return {
            id: line.id,
            text: line.querySelector(':scope > span').textContent,
            top: here.top + scrollY,
            bottom: here.bottom + scrollY,
            note: beside ? [beside.top + scrollY, beside.bottom + scrollY] : null,
        };
    });
    // An empty line between two lines of code is a line of its column, too.
    const heights = [...document.querySelectorAll('.row .line')].filter(seen).map(line =>
        [box(line).top + scrollY, box(line).height]);
    const letters = [];
    const range = document.createRange();
    for (const paragraph of document.querySelectorAll('article p')) {
        if (!seen(paragraph) || paragraph.closest('figure, .about, .axes')) continue;
        range.selectNodeContents(paragraph);
        const rows = new Set([...range.getClientRects()].map(one => Math.round(one.bottom / 8)));
        if (rows.size > 3) letters.push(paragraph.innerText.length / rows.size);
    }
    return {lines, heights, letters, sideways: document.documentElement.scrollWidth - innerWidth};
}"""

# The first thing on a page, below its head, that a reader can press, choose or fill in.
CONTROL = """() => {
    const all = document.querySelectorAll('article :is(button, input, textarea, select)');
    const seen = [...all].filter(one => one.checkVisibility({visibilityProperty: true}));
    const tops = seen.map(one => one.getBoundingClientRect().top + scrollY);
    return tops.length ? Math.min(...tops) : null;
}"""
WRONG = """() => {
    const line = document.querySelector('article ins.line');
    return line && line.getBoundingClientRect().top + scrollY;
}"""


@dataclass(frozen=True)
class Lesson:
    r"""What one page shows: the code column from the first class or function on."""

    path: str
    fill: float
    first_code: float
    first_class: float
    letters: float
    sideways: float
    forward: float | None


def lessons(site: Path) -> list[str]:
    r"""The addresses of the lessons: pages with code, without those of the tool and the engine."""
    chosen = [one for one in addresses(site) if not OTHERS.search(one)]
    texts = [(site / one / "index.html").read_text(encoding="utf-8") for one in chosen]
    return [one for one, text in zip(chosen, texts, strict=True) if 'class="line" id="L' in text]


def reading(browser: Browser, site: Path) -> Iterator[Figure]:
    r"""The figures of all lessons on a wide screen and on a phone, then of home and the museum."""
    paths = lessons(site)
    with served(site) as server:
        wide, phone = (_looked(browser, server.address, paths, width) for width in (1400, 400))
        yield from _fills(wide, phone)
        yield from _firsts(wide)
        yield from _forwards(wide)
        yield from _controls(browser, server.address)


def _looked(browser: Browser, address: str, paths: list[str], width: int) -> list[Lesson]:
    with fresh(browser, width) as page:
        page.route("**/literate.css", _with_fonts)
        found = (_lesson(page, address, one) for one in paths)
        return [one for one in found if one]


def _lesson(page: Page, address: str, path: str) -> Lesson | None:
    page.goto(urljoin(address, path), wait_until="load")
    page.evaluate("document.fonts.ready.then(() => true)")
    return measured(path, page.evaluate(LOOK))


def _with_fonts(route: Route) -> None:
    r"""What is measured waits for the fonts, however late they come on a busy machine."""
    answer = route.fetch()
    body = re.sub(r"display: ?optional", "display:block", answer.text())
    route.fulfill(response=answer, body=body)


def measured(path: str, seen: dict[str, Any]) -> Lesson | None:
    r"""The figures of a page from what the browser saw of it; none without a class or function."""
    lines = seen["lines"]
    begins = [one for one in lines if re.match(r"\s*(@|class |def )", one["text"])]
    if not begins:
        return None
    top, bottom = begins[0]["top"], lines[-1]["bottom"]
    filled = sum(height for at, height in seen["heights"] if at >= top)
    return Lesson(
        path=path,
        fill=filled / (bottom - top),
        first_code=lines[0]["top"],
        first_class=top,
        letters=statistics.median(seen["letters"]) if seen["letters"] else 0.0,
        sideways=seen["sideways"],
        forward=_forward(lines),
    )


def _forward(lines: list[dict[str, Any]]) -> float | None:
    r"""The height of the highest `forward` of a page with its notes."""
    starts = [at for at, one in enumerate(lines) if re.match(r"\s*def forward\(", one["text"])]
    return max((_method(lines, start) for start in starts), default=None)


def _method(lines: list[dict[str, Any]], start: int) -> float:
    r"""The height of the method that begins at a line, with its notes."""
    ends = (
        at
        for at in range(start + 1, len(lines))
        if re.match(r"\s{0,4}(def |class |@)", lines[at]["text"])
    )
    method = lines[start : next(ends, len(lines))]
    notes = [one["note"] for one in method if one["note"]]
    top = min([method[0]["top"], *(note[0] for note in notes)])
    return max([method[-1]["bottom"], *(note[1] for note in notes)]) - top


def _fills(wide: list[Lesson], phone: list[Lesson]) -> Iterator[Figure]:
    fills = sorted((one.fill, one.path) for one in wide)
    middle = statistics.median(fill for fill, _ in fills)
    what = f"code column filled, median of {len(fills)} lessons"
    listed = _rows([f"{fill:.2f} {path}" for fill, path in fills])
    yield Figure(what, f"{middle:.2f}", "at least 0.66", middle >= 0.66, details=listed)
    many = sum(fill >= 0.6 for fill, _ in fills)
    yield Figure("lessons of which 0.6 is filled", f"{many}", "at least 110", many >= 110)
    small = statistics.median(one.fill for one in phone)
    yield Figure("filled on a phone, median", f"{small:.2f}", "at least 0.5", small >= 0.5)
    sideways = [one.path for one in (*wide, *phone) if one.sideways > 0]
    yield none_of("lessons that scroll sideways, 1400 and 400 px", sideways)


def _rows(texts: list[str]) -> tuple[str, ...]:
    r"""Four beside each other, so that all pages fit the table."""
    return tuple(
        "".join(f"{one:48}" for one in texts[at : at + 4]) for at in range(0, len(texts), 4)
    )


def _firsts(wide: list[Lesson]) -> Iterator[Figure]:
    late = sorted((one.first_class, one.path) for one in wide)
    many = sum(top < SCREEN for top, _ in late)
    what = f"lessons whose first class begins within {SCREEN} px"
    listed = _rows([f"{top:.0f} {path}" for top, path in reversed(late) if top >= SCREEN])
    yield Figure(what, f"{many} of {len(late)}", "at least 100", many >= 100, details=listed)
    code = statistics.median(one.first_code for one in wide)
    yield Figure("first line of code, median", f"{code:.0f} px", "", None)
    letters = statistics.median(one.letters for one in wide if one.letters)
    what, bar = "letters in a line of prose, median", "45 to 75"
    yield Figure(what, f"{letters:.0f}", bar, 45 <= letters <= 75)


def _forwards(wide: list[Lesson]) -> Iterator[Figure]:
    for one in wide:
        if one.path in FORWARDS and one.forward is not None:
            what = f"forward with its notes, {one.path.rstrip('/')}"
            yield at_most(what, round(one.forward), SCREEN, " px")


def _controls(browser: Browser, address: str) -> Iterator[Figure]:
    for width in (1400, 390):
        with fresh(browser, width) as page:
            page.goto(address, wait_until="networkidle")
            top = page.evaluate(CONTROL)
            what = f"home, first control, {width} px"
            yield _within(what, top, 400)
            page.goto(urljoin(address, MUSEUM), wait_until="networkidle")
            what = f"museum, first wrong line in its context, {width} px"
            yield _within(what, page.evaluate(WRONG), SCREEN)


def _within(what: str, top: float | None, bar: float) -> Figure:
    if top is None:
        return Figure(what, "none", f"at most {bar} px", False)
    return at_most(what, round(top), bar, " px")
