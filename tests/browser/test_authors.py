r"""Pages of a package as its author has it, in a browser."""

from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page

from tests.browser.conftest import build

SITE = "site_name: Case\ntheme: { name: material, font: false }\nplugins: [PLUGINS]\n"
LONG = f"of_pep_8 = {'x' * 68}"
PAGE = f'"""# A page\n\n## Contents\n"""\n\n\nx = 1\n# A note.\n{LONG}\n'
HEIGHTS = "() => [...document.querySelectorAll('.code .line')].map((line) => line.offsetHeight)"
BOXES = ".md-header :is(.find, .md-search__input):visible"


@pytest.mark.parametrize("plugins", ["literate", "search, literate"])
def test_lines_of_pep_8_are_whole_and_there_is_one_search(
    plugins: str, page: Page, serve: Callable[[Path], str], tmp_path: Path
) -> None:
    assert len(LONG) == 79
    settings = {"mkdocs.yml": SITE.replace("PLUGINS", plugins)}
    page.goto(serve(build(tmp_path, PAGE, settings)), wait_until="networkidle")
    first, *others = page.evaluate(HEIGHTS)
    assert others == [first]
    assert page.locator(BOXES).count() == 1
    page.keyboard.press("/")
    page.keyboard.type("note")
    typed = page.evaluate("document.activeElement.value")
    assert typed == "note"
