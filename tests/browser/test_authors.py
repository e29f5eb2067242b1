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
ARROWS = '"""# A page"""\n\n\n' + "".join(
    f"def {'x' * length}() -> None: ...\n" for length in range(60, 100)
)
SPLIT = """() => {
    const article = document.querySelector("article");
    const nodes = document.createTreeWalker(article, NodeFilter.SHOW_TEXT);
    const range = document.createRange(), tops = [];
    while (nodes.nextNode()) {
        const at = nodes.currentNode.data.indexOf("->");
        if (at < 0) continue;
        const [hyphen, head] = [at, at + 1].map((from) => {
            range.setStart(nodes.currentNode, from);
            range.setEnd(nodes.currentNode, from + 1);
            return range.getBoundingClientRect().top;
        });
        tops.push(head > hyphen + 2);
    }
    return tops;
}"""
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


def test_no_line_of_code_is_broken_inside_an_arrow(
    page: Page, serve: Callable[[Path], str], tmp_path: Path
) -> None:
    settings = {"mkdocs.yml": SITE.replace("PLUGINS", "literate")}
    page.goto(serve(build(tmp_path, ARROWS, settings)), wait_until="networkidle")
    assert page.evaluate(SPLIT) == [False] * 40


def test_code_in_a_note_has_the_colours_of_code_and_the_search_stands_at_the_end(
    page: Page, serve: Callable[[Path], str], tmp_path: Path
) -> None:
    text = '"""# A page\n\nSo::\n\n    x = "a"\n"""\n\n\nx = "a"\n'
    settings = {"mkdocs.yml": SITE.replace("PLUGINS", "literate")}
    page.goto(serve(build(tmp_path, text, settings)), wait_until="networkidle")
    strings = page.locator("article :is(.s1, .s2)")
    colours = strings.evaluate_all("all => all.map(one => getComputedStyle(one).color)")
    plain = page.locator("article").evaluate("one => getComputedStyle(one).color")
    assert len(colours) == 2 and len({*colours}) == 1 and plain not in colours
    box, header = (page.locator(at).bounding_box() for at in (".find", ".md-header__inner"))
    assert header["x"] + header["width"] - box["x"] - box["width"] < box["width"]
