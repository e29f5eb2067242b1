r"""When the first text is seen, over a slow line and on a slow processor."""

import statistics
from pathlib import Path
from urllib.parse import urljoin

from playwright.sync_api import Browser

from benchmarks.figures.browser import MHA, fresh, throttle
from benchmarks.figures.figure import Figure
from benchmarks.figures.server import served

PAINT = """() => new Promise(done => new PerformanceObserver(list => {
    const paint = list.getEntriesByName('first-contentful-paint')[0];
    if (paint) done(paint.startTime);
}).observe({type: 'paint', buffered: true}))"""


def paint(browser: Browser, site: Path, peer: tuple[Path, str] | None, rounds: int) -> Figure:
    r"""Ours and the anchor's take turns, so that a busy machine is as hard on one as the other."""
    what = f"first paint, slow 4G, processor x4, median of {rounds}"
    pages = {"ours": (site, MHA)}
    if peer is not None:
        pages["anchor"] = peer
    times: dict[str, list[float]] = {name: [] for name in pages}
    for _ in range(rounds):
        for name, (folder, path) in pages.items():
            with served(folder) as server, fresh(browser) as page:
                throttle(page)
                page.goto(urljoin(server.address, path), wait_until="load")
                times[name].append(page.evaluate(PAINT))
    medians = {name: statistics.median(taken) for name, taken in times.items()}
    ours = f"{medians['ours']:.0f} ms"
    details = tuple(
        f"{name}: {' '.join(f'{one:.0f}' for one in sorted(taken))}"
        for name, taken in times.items()
    )
    if peer is None:
        return Figure(what, ours, "the anchor's", None, "not measured: --anchor", details)
    met = medians["ours"] <= medians["anchor"]
    return Figure(what, ours, "the anchor's", met, f"{medians['anchor']:.0f} ms", details)
