r"""What axe-core finds, on all pages, light and dark, wide and narrow."""

from itertools import product
from pathlib import Path
from urllib.parse import urljoin

from playwright.sync_api import Browser, Page
from playwright.sync_api import TimeoutError as TookTooLong

from benchmarks.figures.browser import addresses, fresh
from benchmarks.figures.figure import Figure, none_of
from benchmarks.figures.server import served

FIND = """axe.run().then(result => result.violations.flatMap(one =>
    one.nodes.map(node => one.id + ' ' + node.target.join(' ') + ' ' + node.html)))"""
# Code that has become wider than its place gets a stop of the Tab key, some frames later.
SETTLED = """() => [...document.querySelectorAll("pre > code")].every(
    code => code.scrollWidth <= code.clientWidth || code.tabIndex === 0)"""


def barriers(browser: Browser, site: Path, axe: Path, pages: list[str] | None) -> Figure:
    r"""
    Each page is loaded once for a scheme, in a context of its own, and looked at in both widths.
    """
    chosen = addresses(site) if pages is None else pages
    found = []
    with served(site) as server:
        for one, scheme in product(chosen, ("light", "dark")):
            with fresh(browser, color_scheme=scheme, reduced_motion="reduce") as page:
                page.goto(urljoin(server.address, one), wait_until="load")
                page.add_script_tag(path=axe)
                for width in (1400, 400):
                    page.set_viewport_size({"width": width, "height": 900})
                    _settle(page)
                    found += [f"/{one} {scheme} {width}: {node}" for node in page.evaluate(FIND)]
    what = f"axe-core violations, {len(chosen)} pages, light and dark, 1400 and 400 px"
    return none_of(what, found)


def _settle(page: Page) -> None:
    try:
        page.wait_for_function(SETTLED, timeout=5000)
    except TookTooLong:
        pass  # axe says what is missing.
