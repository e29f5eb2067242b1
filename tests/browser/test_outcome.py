r"""What a notebook gave, below the rows of its page, in a browser."""

import os
import subprocess
import sys
from base64 import b64encode
from collections.abc import Callable
from pathlib import Path
from textwrap import dedent

import pytest
from nbformat.v4 import new_output
from playwright.sync_api import Page, expect

from literate.executed import Shelf
from tests.literate.test_executed import PAGE, VALUES, code, png, text_of

ROOT = Path(__file__).resolve().parents[2]
MKDOCS = """
site_name: Case
theme: { name: material, font: false }
plugins: [literate]
extra_css: [assets/katex/katex.min.css, assets/literate.css]
extra_javascript: [assets/literate.js]
markdown_extensions: [md_in_html, toc]
"""
HOME = 'r"""\n---\ntitle: Start\nsummary: Where it starts.\n---\n"""\n'


@pytest.fixture(scope="module")
def address(serve: Callable[[Path], str], tmp_path_factory: pytest.TempPathFactory) -> str:
    r"""A page whose notebook has printed a long line, and put out a wide picture."""
    root = tmp_path_factory.mktemp("project")
    settings = '[tool.literate]\nsources = { pkg = "" }\nform = { size = "tiny", n = 3 }\n'
    files = {
        "pyproject.toml": f'{settings}katex = "{ROOT / "node_modules" / "katex"}"\n',
        "mkdocs.yml": MKDOCS,
        "docs/note.txt": "",
        "pkg/__init__.py": HOME,
        "pkg/page.py": dedent(PAGE).lstrip("\n"),
    }
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    shelf = Shelf(root / ".cache" / "literate", VALUES)
    notebook = shelf.fill_in(text_of())
    *_, picture, end = code(notebook)
    data = {"image/png": b64encode(png(1200, 400)).decode()}
    picture.outputs = [new_output("display_data", data=data)]
    end.outputs = [new_output("stream", name="stdout", text="a" * 300 + "\n" + "line\n" * 60)]
    shelf.keep("pkg.page", notebook)
    built = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict"],
        cwd=root,
        env={**os.environ, "PYTHONPATH": str(ROOT), "NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert built.returncode == 0, built.stderr
    return serve(root / "site")


@pytest.mark.parametrize("width", [1400, 1024, 400])
def test_pictures_and_texts_fit_the_window(page: Page, address: str, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 900})
    page.goto(f"{address}page/")
    image = page.locator(".outcome img")
    image.scroll_into_view_if_needed()
    page.wait_for_function("document.querySelector('.outcome img').complete")
    assert image.evaluate("one => one.naturalWidth") == 1200
    boxes = page.locator(".outcome :is(img, .code)").evaluate_all(
        "all => all.map(one => { const box = one.getBoundingClientRect();"
        " return [box.left, box.right, box.height]; })"
    )
    assert len(boxes) == 2
    for left, right, height in boxes:
        assert 0 <= left < right <= width
        assert 100 < height < 400
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_a_picture_has_its_place_before_it_comes(page: Page, address: str) -> None:
    page.route("**/outcome-1.png", lambda route: route.fulfill(body=b"", content_type="image/png"))
    page.goto(f"{address}page/")
    box = page.locator(".outcome img").bounding_box()
    assert box is not None
    assert box["height"] == pytest.approx(box["width"] / 3, rel=0.1)


def test_the_page_says_which_run_it_was_and_leads_to_the_notebook(page: Page, address: str) -> None:
    page.goto(f"{address}page/")
    said = page.locator(".outcome > p")
    expect(said).to_contain_text('In a run when this site was built, with size = "tiny", n = 3.')
    notebook = said.get_by_role("link").get_attribute("href")
    assert page.request.get(f"{page.url}{notebook}").json()["nbformat"] == 4


def test_below_the_rows_no_definition_is_in_view(page: Page, address: str) -> None:
    page.set_viewport_size({"width": 1400, "height": 300})
    page.goto(f"{address}page/")
    page.locator("[id=count]").evaluate("one => one.scrollIntoView()")
    expect(page.locator(".here")).to_have_text("count")
    page.locator("[id=its-notebook]").evaluate("one => one.scrollIntoView()")
    expect(page.locator(".here")).to_be_hidden()
