r"""Fixtures of the browser tests: a folder served on the loopback, and a page that is watched."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, ConsoleMessage, Page, Request, Response

from tests.browser.chromium import running_browser


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

    def on_console(message: ConsoleMessage) -> None:
        if message.type == "error":
            complaints.append(f"console: {message.text}")

    def on_request(request: Request) -> None:
        address = urlsplit(request.url)
        if address.scheme in ("http", "https", "ws", "wss") and address.hostname != "127.0.0.1":
            complaints.append(f"request to another machine: {request.url}")

    def on_response(response: Response) -> None:
        if response.status >= 400:
            complaints.append(f"answer {response.status}: {response.url}")

    page.on("pageerror", lambda error: complaints.append(f"script: {error.message}"))
    page.on("console", on_console)
    page.on("request", on_request)
    page.on("response", on_response)
    return complaints


# A browser for each module, not one for the whole run: while Playwright runs, the thread has a
# running asyncio loop, which tests of other things are not prepared for.
@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    r"""A headless Chromium."""
    with running_browser() as browser:
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
