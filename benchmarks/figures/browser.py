r"""What the figures ask of the browser: pages that are watched, and a slow line."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from playwright.sync_api import Browser, Page

# What Lighthouse and others call slow 4G.
LATENCY_MS = 150
DOWN = 1_600_000 // 8
UP = 750_000 // 8
CPU = 4

MHA = "transformers/mha/"
MUSEUM = "transformers/mistakes/"


def addresses(site: Path) -> list[str]:
    r"""The pages of a built site, from its root, without the one for what is not found."""
    names = sorted(path.relative_to(site).as_posix() for path in site.rglob("*.html"))
    return [name.removesuffix("index.html") for name in names if name != "404.html"]


@contextmanager
def fresh(browser: Browser, width: int = 1400, **options: Any) -> Iterator[Page]:
    r"""A page in a context of its own: nothing is cached, nothing remembered."""
    size = {"width": width, "height": 900}
    with browser.new_context(viewport=size, **options) as context:
        yield context.new_page()


def throttle(page: Page) -> None:
    r"""Give a page a slow line and a slow processor."""
    session = page.context.new_cdp_session(page)
    session.send("Network.enable")
    session.send(
        "Network.emulateNetworkConditions",
        {
            "offline": False,
            "latency": LATENCY_MS,
            "downloadThroughput": DOWN,
            "uploadThroughput": UP,
        },
    )
    session.send("Emulation.setCPUThrottlingRate", {"rate": CPU})


def other_hosts(page: Page) -> list[str]:
    r"""A list that grows with each request to another host, whether it is answered or not."""
    asked: list[str] = []

    def note(url: str) -> None:
        parts = urlsplit(url)
        if parts.scheme in ("http", "https", "ws", "wss") and parts.hostname != "127.0.0.1":
            asked.append(f"{page.url} asks {url}")

    page.on("request", lambda request: note(request.url))
    return asked


def faults(page: Page) -> list[str]:
    r"""A list that grows with what goes wrong: script errors, console errors, answers of 400."""
    found: list[str] = []
    page.on("pageerror", lambda error: found.append(f"{page.url} script: {error.message}"))
    page.on(
        "console",
        lambda one: (
            found.append(f"{page.url}: {one.text} {one.location.get('url', '')}".rstrip())
            if one.type == "error"
            else None
        ),
    )
    page.on(
        "response",
        lambda one: found.append(f"answer {one.status}: {one.url}") if one.status >= 400 else None,
    )
    return found
