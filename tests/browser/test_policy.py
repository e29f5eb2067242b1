r"""The built site runs under the policy that `python -m literate policy` prints."""

from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urljoin

import pytest
from playwright.sync_api import Browser, Page, Route

from benchmarks.figures.server import served
from literate.policy import policy

# The pages at each depth of folders, with formulas, with figures, and what stands for no page.
PAGES = ["", "transformers/", "transformers/mha/", "transformers/basic/autoregressive_experiment/"]
MISSING = "no/such/page/"

WATCH = """window.refused = [];
addEventListener('securitypolicyviolation', one =>
    refused.push([location.pathname, one.violatedDirective, one.blockedURI].join(' ')));"""


@pytest.fixture(scope="module")
def address(site: Path) -> Iterator[str]:
    with served(site, headers={"Content-Security-Policy": policy(site)}) as server:
        yield server.address


@pytest.fixture
def watched(browser: Browser) -> Iterator[Page]:
    options = {"permissions": ["clipboard-read", "clipboard-write"], "color_scheme": "light"}
    with browser.new_context(viewport={"width": 1400, "height": 900}, **options) as context:
        page = context.new_page()
        page.add_init_script(WATCH)
        yield page


def test_the_policy_admits_nothing_from_elsewhere(site: Path) -> None:
    rules = dict(rule.split(" ", 1) for rule in policy(site).split("; "))
    assert rules["default-src"] == "'self'"
    assert rules["img-src"] == "'self' data:"
    names = {name for rule in rules.values() for name in rule.split()}
    others = {name for name in names if not name.startswith("'sha256-")}
    assert others <= {"'self'", "data:"}
    assert len(rules["script-src"]) < 600


@pytest.mark.parametrize("width", [1400, 400])
def test_no_page_does_what_the_policy_forbids(watched: Page, address: str, width: int) -> None:
    watched.set_viewport_size({"width": width, "height": 900})
    refused = []
    for one in [*PAGES, MISSING]:
        watched.goto(urljoin(address, one), wait_until="networkidle")
        refused += watched.evaluate("refused")
    assert watched.locator("h1").inner_text().startswith("404")
    assert refused == []


def test_what_a_page_can_do_it_does_under_the_policy(watched: Page, address: str) -> None:
    watched.goto(urljoin(address, "transformers/mha/#MultiHeadAttention"), wait_until="networkidle")
    row = watched.locator(".row", has=watched.locator("[id='MultiHeadAttention.get_scores']"))
    row.locator(".code").hover()
    row.get_by_role("button", name="Copy line").click()
    watched.wait_for_function("document.querySelector('[role=status]').textContent === 'Copied'")
    # From the theme of the system to the light one to the dark one.
    for name in ("Use the light theme", "Use the dark theme"):
        watched.locator(f"label[title='{name}']:visible").click()
    watched.wait_for_function("document.body.dataset.mdColorScheme === 'slate'")
    assert watched.evaluate("refused") == []
    # The colours are there before the first text: a script that it waits for has set them.
    watched.goto(urljoin(address, ""), wait_until="commit")
    watched.wait_for_selector("h1")
    assert watched.evaluate("document.body.dataset.mdColorScheme") == "slate"
    assert watched.evaluate("refused") == []


def test_a_script_that_somebody_writes_into_a_page_does_not_run(
    watched: Page, address: str
) -> None:
    def with_another_script(route: Route) -> None:
        answer = route.fetch()
        text = answer.text().replace("</body>", "<script>window.ran = true</script></body>")
        route.fulfill(response=answer, body=text)

    watched.route(address, with_another_script)
    watched.goto(address, wait_until="networkidle")
    assert watched.evaluate("window.ran") is None
    assert len(watched.evaluate("refused")) == 1
