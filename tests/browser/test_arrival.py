r"""The attention page while it is still on its way: what is seen before the rest has come."""

from collections.abc import Callable
from pathlib import Path
from urllib.parse import urljoin

import pytest
from playwright.sync_api import Page, Route

MHA = "transformers/mha/"

# Whether formulas are hidden, and how many fonts there were, each time that something changes. And
# the time after which formulas are shown without their fonts never comes.
WATCH = """window.seen = [];
const look = () => {
    const hidden = document.documentElement.hasAttribute('data-without-fonts');
    const fonts = [...document.fonts].filter(one => one.status === 'loaded').length;
    window.seen.push({ hidden, fonts });
};
const options = { subtree: true, attributes: true, attributeFilter: ['data-without-fonts'] };
new MutationObserver(look).observe(document, options);
const later = window.setTimeout;
window.setTimeout = (what, time, ...more) => (time === 3000 ? 0 : later(what, time, ...more));"""
SHOWN = "seen.some((one, at) => !one.hidden && seen.slice(0, at).some(before => before.hidden))"


@pytest.fixture(scope="module")
def address(serve: Callable[[Path], str], site: Path) -> str:
    return serve(site)


def test_formulas_with_their_fonts_wait_for_no_script(page: Page, address: str) -> None:
    scripts: list[Route] = []
    page.add_init_script(WATCH)
    page.route("**/bundle.*.js", lambda route: scripts.append(route))
    page.goto(urljoin(address, MHA), wait_until="commit")
    page.wait_for_function(SHOWN)
    assert page.evaluate("seen.at(-1).fonts") > 0
    assert len(scripts) == 1
    assert page.evaluate("document.readyState") == "interactive"
