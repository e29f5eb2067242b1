r"""Fixtures of the browser tests: a folder served on the loopback, and a page that is watched."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, Request, expect
from torch import nn

from labml_nn.page_models.models import make
from page_runner.weights import from_file
from tests.browser.chromium import running_browser
from tests.literate.projects import ROOT, SETTINGS, succeed, write

# In milliseconds, and as long as the slowest machine may take: nothing is measured by it.
PATIENCE = 180_000
expect.set_options(timeout=PATIENCE)
SCHEMES = {"light": "default", "dark": "slate"}


class _QuietHandler(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *arguments: object) -> None:
        r"""Requests are not worth a line on the terminal."""


@contextmanager
def served(folder: Path) -> Iterator[str]:
    r"""Serve a folder on a free port of the loopback; give its address, with a slash at the end."""
    handler = partial(_QuietHandler, directory=str(folder))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/"
        finally:
            server.shutdown()
            thread.join()


def complaints_of(page: Page) -> list[str]:
    r"""A list that grows with whatever goes wrong on the page from now on.

    That is: an error that no script caught, an error on the console, an answer of 400 or more, and
    a request to any other machine (which the browser was started not to find).
    """
    complaints: list[str] = []

    def note(sentence: str, is_wrong: bool = True) -> None:
        complaints.extend([sentence] * is_wrong)

    def on_request(request: Request) -> None:
        address = urlsplit(request.url)
        is_foreign = address.scheme in ("http", "https", "ws", "wss")
        is_foreign = is_foreign and address.hostname != "127.0.0.1"
        note(f"request to another machine: {request.url}", is_foreign)

    page.on("pageerror", lambda error: note(f"script: {error.message}"))
    page.on("console", lambda said: note(f"console: {said.text}", said.type == "error"))
    page.on("request", on_request)
    page.on("response", lambda got: note(f"answer {got.status}: {got.url}", got.status >= 400))
    return complaints


def barriers(page: Page, place: str = "") -> list[str]:
    r"""What keeps somebody from reading the page: what axe finds there or on a part of it, and
    that it must be scrolled sideways."""
    if not page.evaluate("Boolean(window.axe)"):
        page.add_script_tag(path=ROOT / "node_modules/axe-core/axe.min.js")
    return page.evaluate(
        """async place => {
            const found = await axe.run(place || document);
            const width = document.documentElement.scrollWidth;
            return [...width > innerWidth ? [`${width} pixels wide`] : [],
                ...found.violations.flatMap(one =>
                    one.nodes.map(node => one.id + ' ' + node.html))];
        }""",
        place,
    )


def low(page: Page, place: str) -> list[str]:
    r"""What is seen there, and is too low for a finger."""
    return page.locator(f"{place}:visible").evaluate_all(
        "all => all.filter(one => one.getBoundingClientRect().height < 44)"
        ".map(one => one.outerHTML)"
    )


# How a page moves under the reader: `moved` grows with each jump.
WATCH_JUMPS = """window.moved = [];
    new PerformanceObserver(list => moved.push(...list.getEntries().map(one => one.value)))
        .observe({type: 'layout-shift', buffered: true});"""


def wait_for_paint(page: Page) -> None:
    r"""Until something is seen: a browser drops keys that are pressed before, as nobody would."""
    page.wait_for_function("performance.getEntriesByName('first-contentful-paint').length > 0")


def addresses_asked(page: Page) -> list[str]:
    r"""A list that grows with the address of each request."""
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    return asked


# A browser for each module, not one for the whole run: while Playwright runs, the thread has a
# running asyncio loop, which tests of other things are not prepared for.
@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    r"""A headless Chromium."""
    # Python in the page is compiled once, quickly: no test runs it long enough to pay for more.
    with running_browser("--js-flags=--liftoff-only") as browser:
        new_context = browser.new_context

        def patient(**options: Any) -> BrowserContext:
            context = new_context(**options)
            context.set_default_timeout(PATIENCE)
            return context

        browser.new_context = patient
        yield browser


@pytest.fixture(scope="module")
def serve() -> Iterator[Callable[[Path], str]]:
    r"""A function that serves a folder until the end of the module's tests; gives its address."""
    with ExitStack() as servers:
        yield lambda folder: servers.enter_context(served(folder))


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    r"""A fresh page of 1400 by 900 pixels; the test fails if anything goes wrong on it."""
    with browser.new_context(viewport={"width": 1400, "height": 900}) as context:
        page = context.new_page()
        complaints = complaints_of(page)
        yield page
    assert complaints == []


@pytest.fixture
def plain(browser: Browser) -> Iterator[Page]:
    r"""A page without scripts."""
    with browser.new_context(java_script_enabled=False) as context:
        yield context.new_page()


def further(*values: Any) -> list[Any]:
    r"""More values for a test, with which `make whole` runs it, too."""
    return [pytest.param(one, marks=pytest.mark.whole) for one in values]


@pytest.fixture(params=["dark 400", *further("light 400", "light 1400", "dark 1400")])
def screen(browser: Browser, request: pytest.FixtureRequest) -> Iterator[Page]:
    r"""A page on a wide and a narrow screen, light and dark; nothing may go wrong on it."""
    scheme, width = request.param.split()
    viewport = {"width": int(width), "height": 900}
    with browser.new_context(color_scheme=scheme, viewport=viewport) as context:
        page = context.new_page()
        complaints = complaints_of(page)
        yield page
        body = page.locator("body")
        expect(body).to_have_attribute("data-md-color-scheme", SCHEMES[scheme])
    assert complaints == []


MKDOCS = """
site_name: Case
theme:
  name: material
  font: false
  palette:
    - { media: "(prefers-color-scheme: light)", scheme: default, toggle: { icon: material/brightness-7, name: A } }
    - { media: "(prefers-color-scheme: dark)", scheme: slate, toggle: { icon: material/brightness-4, name: B } }
plugins: [literate]
extra_css: [assets/katex/katex.min.css, assets/literate.css]
extra_javascript: [assets/literate.js]
markdown_extensions: [md_in_html, toc]
nav: [index.md]
"""  # noqa: E501


def build(root: Path, page: str, files: Mapping[str, str]) -> Path:
    r"""Build a site of one page, in a folder with more files; gives the folder of the site."""
    settings = {"pyproject.toml": SETTINGS, "mkdocs.yml": MKDOCS, "docs/note.txt": ""}
    write(root, settings | {"pkg/__init__.py": page} | files)
    succeed(root, "mkdocs", "build", "--strict")
    return root / "site"


def model_of(site: Path, graph: dict[str, Any]) -> nn.Module:
    r"""The model in torch, with the weights that a page with this graph fetches."""
    weights = site / "assets" / "weights" / graph["weights"]
    model = make(weights.stem, len(graph["symbols"])).eval()
    model.load_state_dict(from_file(weights.read_bytes()))
    return model


MHA = "transformers/mha/"


@pytest.fixture(scope="module")
def address(serve: Callable[[Path], str], site: Path) -> str:
    r"""The address of the site, as it is built for all tests."""
    return serve(site)


@pytest.fixture
def mha(page: Page, address: str) -> Page:
    r"""The attention page, with everything that it loads."""
    page.goto(address + MHA, wait_until="networkidle")
    wait_for_paint(page)
    return page
