r"""When the first text is seen, over a slow line and on a slow processor."""

import statistics
from collections.abc import Iterator
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


def paint(
    browser: Browser,
    site: Path,
    peer: tuple[Path, str] | None,
    before: Path | None,
    rounds: int,
) -> Iterator[Figure]:
    r"""
    The sites take turns, so that a busy machine is as hard on one as on the other.

    :param site: is the built site
    :param peer: is the anchor's folder and page
    :param before: is our site as an earlier commit built it
    :param rounds: says how often each page is read
    """
    what = f"first paint, slow 4G, processor x4, median of {rounds}"
    pages = {"ours": (site, MHA)}
    if peer is not None:
        pages["anchor"] = peer
    if before is not None:
        pages["before"] = (before, MHA)
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
        yield Figure(what, ours, "the anchor's", None, "not measured: --anchor", details)
    else:
        met = medians["ours"] <= medians["anchor"]
        yield Figure(what, ours, "the anchor's", met, f"{medians['anchor']:.0f} ms", details)
    if before is None:
        yield Figure(what, ours, "5 % more than before", None, "not measured: --before")
    else:
        met = medians["ours"] <= 1.05 * medians["before"]
        yield Figure(what, ours, "5 % more than before", met, f"{medians['before']:.0f} ms")
