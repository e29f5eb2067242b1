r"""Charts, tables and checked numbers of results, in a browser."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page

from tests.browser.conftest import barriers, build, further
from tests.literate.page.test_exhibit import FILE, PAGE
from tests.literate.recorded import TABLE, content

LINES = [
    {"name": f"way {at}", "points": [[x, x * (at + 1) ** 2] for x in (64, 128, 256, 512)]}
    for at in range(8)
]
AXES = {"x": {"title": "Positions", "scale": "log"}, "y": {"title": "Time", "unit": "ms"}}
NOTE = "\n\n".join(
    [
        f"The loss is [1.55]({FILE}#values.loss).",
        *(f"[Figure *{name}*]({FILE}#figures.{name})" for name in ("time", "many")),
        f"[All ways]({FILE}#tables.ways)",
    ]
)
# The smallest of the colours that lie on each other must be told apart by this much.
CONTRAST = """() => {
    const canvas = document.createElement('canvas').getContext('2d', { willReadFrequently: true });
    const rgb = colour => {
        canvas.clearRect(0, 0, 1, 1);
        canvas.fillStyle = colour;
        canvas.fillRect(0, 0, 1, 1);
        return [...canvas.getImageData(0, 0, 1, 1).data];
    };
    const light = ([r, g, b]) => {
        const [x, y, z] = [r, g, b].map(one => one / 255)
            .map(one => one <= 0.04045 ? one / 12.92 : ((one + 0.055) / 1.055) ** 2.4);
        return 0.2126 * x + 0.7152 * y + 0.0722 * z;
    };
    const ground = rgb(getComputedStyle(document.body).backgroundColor);
    const contrast = colour => {
        const [r, g, b, a] = rgb(colour);
        // The canvas gives colours as they are before they are mixed with the ground.
        const mixed = [r, g, b].map((one, at) => (one * a + ground[at] * (255 - a)) / 255);
        const [one, two] = [light(mixed), light(ground)].sort((a, b) => b - a);
        return (one + 0.05) / (two + 0.05);
    };
    const all = (selector, name) => [...document.querySelectorAll(selector)]
        .map(one => contrast(getComputedStyle(one)[name]));
    return [all('.exhibit [class^=stroke-line]', 'stroke'), all('.exhibit text', 'fill')];
}"""


@pytest.fixture(scope="module")
def address(serve: Callable[[Path], str], tmp_path_factory: pytest.TempPathFactory) -> str:
    r"""A page with charts, and a table, of results."""
    few = {"title": "Few", "lines": LINES[:2], **AXES}
    figures = {"time": few, "many": few | {"lines": LINES}}
    found = content(sources={"pkg/__init__.py": "0"}, figures=figures, tables={"ways": TABLE})
    files = {"results/trials.json": json.dumps(found)}
    page = PAGE.replace("{note}", NOTE)
    return serve(build(tmp_path_factory.mktemp("project"), page, files))


def test_every_line_and_every_letter_stands_out(screen: Page, address: str) -> None:
    screen.goto(address, wait_until="networkidle")
    lines, letters = screen.evaluate(CONTRAST)
    assert len(lines) >= 2 + 8 and min(lines) >= 4.5
    assert len(letters) > 20 and min(letters) >= 4.5
    assert barriers(screen, ".md-content") == []
    # On paper, too, which is white.
    screen.emulate_media(media="print")
    screen.evaluate("document.body.style.backgroundColor = '#fff'")
    lines, _ = screen.evaluate(CONTRAST)
    assert min(lines) >= 4.5


@pytest.mark.parametrize("width", [320, *further(400, 1400)])
def test_charts_fit_and_their_letters_can_be_read(page: Page, address: str, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 900})
    page.goto(address, wait_until="networkidle")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    heights = page.evaluate(
        """[...document.querySelectorAll('.exhibit svg text')]
            .map(one => one.getBoundingClientRect().height)"""
    )
    assert len(heights) > 20
    # Boxes are a little higher than letters.
    assert min(heights) >= (9 if width >= 400 else 7)


def test_a_number_leads_to_the_run(page: Page, address: str) -> None:
    page.goto(address, wait_until="networkidle")
    page.locator("a.measured").click()
    page.wait_for_url("**/results/trials/#values.loss")
    assert page.locator("[id='values.loss']").is_visible()
    with page.expect_download() as download:
        page.locator(".facts a[download]").click()
    assert json.loads(Path(download.value.path()).read_text())["title"] == "Trials"
