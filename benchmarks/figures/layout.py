r"""What moves while a page is read, and which lines of code are too long for their column."""

from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urljoin

from playwright.sync_api import Browser

from benchmarks.figures.browser import MHA, fresh, throttle
from benchmarks.figures.figure import Figure, at_most, none_of
from benchmarks.figures.server import served

# Before anything else on the page, so that no shift is missed.
WATCH = """window.shifts = [];
new PerformanceObserver(list => {
    for (const one of list.getEntries()) {
        const moved = one.sources.map(({node}) => node?.nodeName + '.' + node?.className);
        window.shifts.push([one.value, moved.join(' ')]);
    }
}).observe({type: 'layout-shift', buffered: true});"""

OVERFLOWING = """() => [...document.querySelectorAll('.row .line[id]')].filter(line => {
    const column = line.closest('.code').getBoundingClientRect();
    const text = document.createRange();
    text.selectNodeContents(line.querySelector(':scope > span'));
    return text.getBoundingClientRect().right > column.right;
}).map(line => line.textContent)"""


def layout(browser: Browser, site: Path) -> Iterator[Figure]:
    r"""Shifts are summed while the page loads over a slow line and is read to its end."""
    with served(site) as server:
        for name, path in {"attention page": MHA, "home": ""}.items():
            for width in (1400, 400):
                with fresh(browser, width) as page:
                    throttle(page)
                    page.add_init_script(WATCH)
                    page.goto(urljoin(server.address, path), wait_until="networkidle")
                    height = page.evaluate("document.body.scrollHeight")
                    for _ in range(0, height, 600):
                        page.mouse.wheel(0, 600)
                        page.wait_for_timeout(30)
                    page.wait_for_timeout(300)
                    shifts = page.evaluate("shifts")
                what = f"layout shift, {name}, {width} px, to its end"
                one = at_most(what, round(sum(value for value, _ in shifts), 5), 0)
                moved = tuple(f"{value:.5f} {nodes}" for value, nodes in shifts)
                yield Figure(one.what, one.measured, "0", one.met, details=moved)
        with fresh(browser, 1366) as page:
            page.goto(urljoin(server.address, MHA), wait_until="networkidle")
            lines = page.evaluate(OVERFLOWING)
            count = page.locator(".row .line[id]").count()
    yield none_of(f"of {count} lines of mha.py, wider than their column at 1366 px", lines)
