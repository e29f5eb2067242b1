r"""Fixtures of the browser tests: a folder served on the loopback, and a page that is watched."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, Request, expect

from tests.browser.chromium import running_browser
from tests.literate.projects import ROOT

# In milliseconds, and as long as the slowest machine may take: nothing is measured by it.
PATIENCE = 180_000
expect.set_options(timeout=PATIENCE)


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
    r"""What axe finds on the page, or on a part of it, that keeps somebody from reading."""
    page.add_script_tag(path=ROOT / "node_modules/axe-core/axe.min.js")
    return page.evaluate(
        "place => axe.run(place || document).then(result => result.violations.flatMap(one =>"
        " one.nodes.map(node => one.id + ' ' + node.html)))",
        place,
    )


# A browser for each module, not one for the whole run: while Playwright runs, the thread has a
# running asyncio loop, which tests of other things are not prepared for.
@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    r"""A headless Chromium."""
    with running_browser() as browser:
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


MHA = "transformers/mha/"


@pytest.fixture(scope="module")
def address(serve: Callable[[Path], str], site: Path) -> str:
    r"""The address of the site, as it is built for all tests."""
    return serve(site)


@pytest.fixture
def mha(page: Page, address: str) -> Page:
    r"""The attention page, with everything that it loads."""
    page.goto(address + MHA, wait_until="networkidle")
    return page
