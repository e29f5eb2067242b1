r"""The site needs no other host: on the line, cut off, below another path, as files on a disk."""

from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urljoin

from playwright.sync_api import Browser, Page

from benchmarks.figures.browser import MHA, addresses, faults, fresh, other_hosts
from benchmarks.figures.figure import Figure, none_of
from benchmarks.figures.server import served

# The size of each formula and whether each of its fonts was found.
FORMULAS = """() => document.fonts.ready.then(() => ({
    sizes: [...document.querySelectorAll('.katex-html')].map(one => {
        const box = one.getBoundingClientRect();
        return [Math.round(box.width * 10) / 10, Math.round(box.height * 10) / 10];
    }),
    missing: [...document.fonts].filter(one => one.status === 'error').map(one => one.family),
    loaded: [...document.fonts].filter(one => one.status === 'loaded').length,
}))"""


def alone(browser: Browser, site: Path) -> Iterator[Figure]:
    r"""Four figures; the browser finds no host but the loopback in any of them."""
    pages = addresses(site)
    with served(site) as server, fresh(browser) as page:
        asked, wrong = other_hosts(page), faults(page)
        for one in pages:
            page.goto(urljoin(server.address, one), wait_until="networkidle")
        yield none_of(f"requests to other hosts, {len(pages)} pages, network cut", asked)
        yield none_of("faults on them with the network cut", wrong)
        page.goto(urljoin(server.address, MHA), wait_until="networkidle")
        right = page.evaluate(FORMULAS)

    with served(site) as server, fresh(browser) as page:
        wrong = faults(page)
        page.goto(urljoin(server.address, MHA), wait_until="networkidle")
        page.context.set_offline(True)
        _use(page)
        # When it asks for the icon of its tab is the browser's own business.
        wrong = [one for one in wrong if not one.endswith("/favicon.png")]
        yield none_of("faults when the page goes offline after it has loaded", wrong)

    with served(site, "/some/sub/") as server, fresh(browser) as page:
        asked, wrong = other_hosts(page), faults(page)
        for one in pages:
            page.goto(urljoin(server.address, one), wait_until="load")
        outside = [
            f"asks {answer.path}"
            for answer in server.answers
            if not answer.path.startswith("/some/sub/")
        ]
        yield none_of("faults below the path /some/sub/, all pages", [*asked, *wrong, *outside])

    with fresh(browser) as page:
        # A script may be refused on a page that is a file; its formulas may not be wrong.
        page.goto((site / MHA / "index.html").as_uri(), wait_until="load")
        here = page.evaluate(FORMULAS)
        wrong = [
            f"formula {number} is {is_} and not {should}"
            for number, (is_, should) in enumerate(
                zip(here["sizes"], right["sizes"], strict=True), start=1
            )
            if is_ != should
        ] + [f"font {name} is missing" for name in here["missing"]]
        if not here["loaded"] or not page.locator(".row .note").first.is_visible():
            wrong.append("the page is not readable")
        yield none_of(f"wrong among {len(here['sizes'])} formulas of a copy on file://", wrong)


def _use(page: Page) -> None:
    r"""Read to the end, by the keyboard too, and change the theme."""
    page.mouse.wheel(0, 3000)
    for _ in range(30):
        page.keyboard.press("Tab")
    page.evaluate("document.querySelectorAll('[name=__palette]')[1]?.click()")
    page.evaluate("scrollTo(0, document.body.scrollHeight)")
    page.wait_for_timeout(500)
