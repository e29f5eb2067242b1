r"""The browser of the browser tests: find one that starts, or install one.

    python tests/browser/chromium.py

ends with status 0 when a browser starts. Looked for are, in this order: the program that the
environment variable CHROMIUM names (then no other), Chromium and Google Chrome on the PATH,
Google Chrome where its installer puts it, and the Chromium that Playwright keeps in its own
package. Where none starts, one is installed by apt-get if that is possible (as root, on Debian and
its kin), else by Playwright. A browser that is installed but doesn't start (such as the stand-in
that some systems have until a snap is installed) counts as none.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from playwright.sync_api import Browser, Error, Playwright, sync_playwright

# The suggestions below the address bar are pages, too: each window of a test loads them, which is
# half of its work. No test types an address there.
ADDRESS_BAR = ("WebUIOmniboxPopup", "WebUIOmniboxAimPopup")
# What Playwright leaves out: of two such lists, Chromium reads the last.
AS_PLAYWRIGHT = (
    *("AimEnabled", "AvoidCorsURLLoaderRestartOnRedirect", "AvoidUnnecessaryBeforeUnloadCheckSync"),
    *("DestroyProfileOnBrowserClose", "HttpsFirstBalancedModeAutoEnable", "HttpsUpgrades"),
    *("LensOverlay", "MediaRouter", "NetworkTimeServiceQuerying", "OptimizationHints"),
    *("PaintHolding", "PreconnectToSearch", "ThirdPartyStoragePartitioning"),
)

REMEDY = "Install Chromium or Google Chrome, or set CHROMIUM to the path of one."


class NoBrowser(Exception):
    r"""No browser starts; the message names those that were tried, and the remedy."""


@contextmanager
def running_browser(*flags: str) -> Iterator[Browser]:
    r"""Give the first browser that starts, headless, with these flags, and close it at the end.

    Raises NoBrowser.
    """
    # 0 stands for the folder of the Playwright package, which is inside the environment.
    os.environ.setdefault("PLAYWRIGHT_BROWSERS_PATH", "0")
    with sync_playwright() as playwright:
        browser = _start(playwright, flags)
        try:
            yield browser
        finally:
            browser.close()


def _start(playwright: Playwright, more: Sequence[str]) -> Browser:
    flags = [*more, "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost"]
    flags.append(f"--disable-features={','.join((*AS_PLAYWRIGHT, *ADDRESS_BAR))}")
    if _is_root():
        flags.append("--no-sandbox")  # Chromium's sandbox refuses to work for root
    failures = []
    for name, choice in _candidates():
        try:
            return playwright.chromium.launch(headless=True, args=flags, **choice)
        except Error as error:
            failures.append(f"{name} ({error.message.strip().splitlines()[0]})")
    raise NoBrowser(f"No browser starts. Tried: {'; '.join(failures)}. {REMEDY}")


def _candidates() -> Iterator[tuple[str, dict[str, str]]]:
    if named := os.environ.get("CHROMIUM"):
        yield f"CHROMIUM={named}", {"executable_path": named}
        return
    for name in ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable"):
        if path := shutil.which(name):
            yield path, {"executable_path": path}
    yield "Google Chrome", {"channel": "chrome"}
    yield "Playwright's Chromium", {}


def _installers() -> list[list[list[str]]]:
    r"""The ways to install a browser on this machine, each a list of commands, best first."""
    playwright = [sys.executable, "-m", "playwright", "install", "--only-shell", "chromium"]
    if not (_is_root() and shutil.which("apt-get")):
        return [[playwright]]
    apt = ["apt-get", "install", "--yes", "--no-install-recommends", "chromium"]
    return [[["apt-get", "update"], apt], [[*playwright, "--with-deps"]]]


def _is_root() -> bool:
    return hasattr(os, "geteuid") and os.geteuid() == 0


def prepare() -> str:
    r"""Install a browser, in one way after another, until one starts; give its version.

    Raises NoBrowser when no way is left, or CHROMIUM names a program that doesn't start.
    """
    ways = [] if os.environ.get("CHROMIUM") else _installers()
    while True:
        try:
            with running_browser() as browser:
                return browser.version
        except NoBrowser:
            if not ways:
                raise
        for command in ways.pop(0):
            print("+", *command, flush=True)
            subprocess.run(
                command,
                env={**os.environ, "DEBIAN_FRONTEND": "noninteractive"},
                stdin=subprocess.DEVNULL,
            )


def main() -> int:
    r"""Prepare the browser and say which it is, or what to do."""
    try:
        print(f"The browser tests use Chromium {prepare()}.")
    except NoBrowser as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
