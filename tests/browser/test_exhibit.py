r"""Charts, tables and checked numbers of results, in a browser."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from benchmarks.pictures import with_pictures
from tests.browser.conftest import barriers
from tests.browser.test_theme import SCHEMES
from tests.literate.page.test_exhibit import FILE, PAGE
from tests.literate.projects import SETTINGS, succeed, write
from tests.literate.recorded import TABLE, content

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
    root = tmp_path_factory.mktemp("project")
    few = {"title": "Few", "lines": LINES[:2], **AXES}
    figures = with_pictures("trials", {"time": few, "many": few | {"lines": LINES}})
    found = content(sources={"pkg/__init__.py": "0"}, figures=figures, tables={"ways": TABLE})
    files = {
        "pyproject.toml": SETTINGS,
        "mkdocs.yml": MKDOCS,
        "docs/note.txt": "",
        "pkg/__init__.py": PAGE.replace("{note}", NOTE),
        "results/trials.json": json.dumps(found),
    }
    write(root, files)
    succeed(root, "mkdocs", "build", "--strict")
    return serve(root / "site")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1400, 400])
def test_every_line_and_every_letter_stands_out(
    browser: Browser, address: str, scheme: str, width: int
) -> None:
    viewport = {"width": width, "height": 900}
    with browser.new_context(color_scheme=scheme, viewport=viewport) as context:
        page = context.new_page()
        page.goto(address, wait_until="networkidle")
        body = page.locator("body")
        expect(body).to_have_attribute("data-md-color-scheme", SCHEMES[scheme])
        lines, letters = page.evaluate(CONTRAST)
        assert len(lines) >= 2 + 8 and min(lines) >= 4.5
        assert len(letters) > 20 and min(letters) >= 4.5
        found = barriers(page, ".md-content")
    assert found == []


def test_on_paper_every_line_stands_out(browser: Browser, address: str) -> None:
    with browser.new_context(color_scheme="dark") as context:
        page = context.new_page()
        page.goto(address, wait_until="networkidle")
        page.emulate_media(media="print", color_scheme="dark")
        page.evaluate("document.body.style.backgroundColor = '#fff'")
        lines, _ = page.evaluate(CONTRAST)
    assert min(lines) >= 4.5


@pytest.mark.parametrize("width", [1400, 400, 320])
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
    number = page.locator("a.measured")
    assert number.get_attribute("title").startswith("measured by python trials.py, 2026-11-21")
    number.click()
    page.wait_for_url("**/results/trials/#values.loss")
    assert page.locator("[id='values.loss']").is_visible()
    with page.expect_download() as download:
        page.locator(".facts a[download]").click()
    assert json.loads(Path(download.value.path()).read_text())["title"] == "Trials"


def test_what_has_changed_is_said_below_the_chart(page: Page, address: str) -> None:
    page.goto(address, wait_until="networkidle")
    said = page.locator("figcaption .outdated")
    assert said.all_inner_texts() == ["This page has changed since this run."] * 3
    assert page.locator("a.measured.before").count() == 1
