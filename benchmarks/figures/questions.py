r"""How often the search finds what people ask, in the words in which they asked it in public."""

import json
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urljoin, urlsplit

from playwright.sync_api import Browser

from benchmarks.figures.browser import fresh
from benchmarks.figures.figure import Figure
from benchmarks.figures.server import served

# Titles of threads with their addresses, and the pages that answer them, chosen before any was
# typed. The words of half of them may go into labml_nn/search.toml; the others are held out.
QUESTIONS = Path(__file__).with_suffix(".json")
BARS = {1: 0.70, 3: 0.88}

TYPE = """text => {
    const input = document.querySelector('dialog.search input');
    input.value = text;
    input.dispatchEvent(new Event('input', {bubbles: true}));
    return [...document.querySelectorAll('dialog.search ol a')].map(one => one.href);
}"""


def questions(browser: Browser, site: Path) -> Iterator[Figure]:
    r"""Type each question, and look where one of its pages stands among those that are found."""
    asked = json.loads(QUESTIONS.read_text(encoding="utf-8"))
    places: dict[str, list[int]] = defaultdict(list)
    missed: dict[str, list[str]] = defaultdict(list)
    with served(site) as server, fresh(browser) as page:
        page.goto(server.address, wait_until="networkidle")
        page.keyboard.press("/")
        page.keyboard.type("attention")
        page.locator("dialog.search ol a").first.wait_for()
        for one in asked:
            found = page.evaluate(TYPE, one["query"])
            pages = [urlsplit(address).path.lstrip("/") for address in found]
            right = (place for place, where in enumerate(pages, 1) if where in one["pages"])
            places[one["kind"]].append(next(right, 0))
            if places[one["kind"]][-1] != 1:
                first = urljoin("/", pages[0]) if pages else "nothing"
                missed[one["kind"]].append(f"{one['query']}  {first}")
    for kind, found in places.items():
        for most, bar in BARS.items():
            share = sum(1 <= place <= most for place in found) / len(found)
            what = f"{len(found)} questions, {kind}: right page among the first {most}"
            details = tuple(missed[kind]) if most == 1 else ()
            yield Figure(what, f"{share:.2f}", f"at least {bar}", share >= bar, details=details)
