r"""“What shape is this?”: a page asks for its measured shapes, and judges at once."""

import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.test_exhibit import MKDOCS

ROOT = Path(__file__).resolve().parents[2]
SOURCE = '''r"""
---
title: A page
summary: Some shapes.
---

Text.
"""

import torch
from torch import Tensor


def weigh(query: Tensor, key: Tensor) -> Tensor:
    r"""
    ## Weigh
    """
    scores = torch.einsum("ibhd,jbhd->ijbh", query, key)
    return scores.softmax(dim=1)


def example(seq_len: int = 7, batch_size: int = 3, heads: int = 5, d_k: int = 2) -> Tensor:
    r"""
    ## Example
    """
    x = torch.randn(seq_len, batch_size, heads, d_k)
    return weigh(x, x).flatten(start_dim=2)
'''


@pytest.fixture(scope="module")
def address(serve: Callable[[Path], str], tmp_path_factory: pytest.TempPathFactory) -> str:
    r"""A site of one page with shapes."""
    root = tmp_path_factory.mktemp("project")
    files = {
        "pyproject.toml": '[tool.literate]\nsources = { pkg = "" }\n'
        f'katex = "{ROOT / "node_modules" / "katex"}"\n',
        "mkdocs.yml": MKDOCS,
        "docs/note.txt": "",
        "pkg/__init__.py": SOURCE,
    }
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
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


def opened(page: Page, address: str) -> None:
    r"""Open the quiz, by the keyboard."""
    page.goto(address)
    page.get_by_role("button", name="What shape is this?").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="What shape is this?")).to_be_visible()


def said(page: Page, answer: str) -> str:
    r"""What is said about an answer to the question that is asked."""
    page.get_by_role("textbox", name="What is the shape").fill(answer)
    page.keyboard.press("Enter")
    return page.locator(".quiz .said").inner_text()


def test_nothing_of_it_is_fetched_before_it_is_asked_for(page: Page, address: str) -> None:
    fetched: list[str] = []
    page.on("request", lambda request: fetched.append(request.url))
    page.goto(address, wait_until="networkidle")
    page.get_by_role("button", name="What shape is this?").scroll_into_view_if_needed()
    page.wait_for_load_state("networkidle")
    assert not [one for one in fetched if "quiz" in one or "about.json" in one]
    page.get_by_role("button", name="What shape is this?").click()
    expect(page.get_by_role("textbox", name="What is the shape")).to_be_focused()
    asked = {"quiz.js", "quiz.css", "about.json"}
    assert asked <= {one.rpartition("/")[2] for one in fetched}


@pytest.mark.parametrize(
    "answer",
    [
        *("[seq_len, batch_size, heads, d_k]", "7 3 5 2", "i b h d", "(7, batch, h, 2)"),
        *("Seq_Len batch_size Heads d_k", "7,3,5,d_k", "7 × 3 × 5 × 2", "seq_len, 3, heads, 4 - 2"),
    ],
)
def test_a_shape_is_known_by_names_letters_and_numbers(
    page: Page, address: str, answer: str
) -> None:
    opened(page, address)
    right = "Right: [seq_len 7, batch_size 3, heads 5, d_k 2]."
    assert page.locator(".quiz pre").inner_text().startswith("def weigh(query: Tensor")
    assert said(page, answer) == right


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (
            "batch_size seq_len heads d_k",
            "Nearly: seq_len and batch_size have changed places. Counted from 0, axis 0 is "
            "seq_len, of length 7, axis 1 is batch_size, of length 3.",
        ),
        (
            "3 5 2 7",
            "Nearly: the axes are right, but in another order. Counted from 0, axis 0 is seq_len, "
            "of length 7, axis 1 is batch_size, of length 3, axis 2 is heads, of length 5, axis 3 "
            "is d_k, of length 2.",
        ),
        (
            "7 3 heads*d_k",
            "The tensor has four axes, and you gave three axes. The numbers are as many, but cut "
            "into other axes.",
        ),
        ("7 3", "The tensor has four axes, and you gave two axes."),
        ("7 3 5 5", "Not yet: axis 3, counted from 0, isn’t 5."),
        ("7 3 head 2", "No axis of this page is called “head”."),
        ("", "Type the axes in their order, or choose them."),
    ],
)
def test_what_is_wrong_with_an_answer_is_told(
    page: Page, address: str, answer: str, expected: str
) -> None:
    opened(page, address)
    assert said(page, answer) == expected
    # The reader can try again.
    assert said(page, "7 3 5 2").startswith("Right")


def test_axes_can_be_chosen_and_taken_back(page: Page, address: str) -> None:
    opened(page, address)
    for name in ("heads", "⌫", "seq_len", "batch_size", "heads", "d_k"):
        page.locator(".choices button", has_text=re.compile(f"^{name}$")).click()
    expect(page.get_by_role("textbox", name="What is")).to_have_value(
        "seq_len, batch_size, heads, d_k"
    )
    page.get_by_role("button", name="Check").click()
    expect(page.locator(".quiz .said")).to_have_text(re.compile("^Right"))


def test_first_tries_are_counted_in_this_browser_until_they_are_forgotten(
    page: Page, address: str
) -> None:
    opened(page, address)
    score = page.locator(".quiz .score")
    said(page, "7")
    said(page, "7 3 5 2")
    expect(score).to_have_text("Right at the first try: 0 of 1 on this page, 0 of 1 in all.")
    # The focus is on what goes on.
    page.keyboard.press("Enter")
    expect(page.locator(".quiz .where")).to_have_text(re.compile("^Question 2 of"))
    said(page, "7 3 5 2")
    opened(page, address)
    expect(score).to_have_text("Right at the first try: 1 of 2 on this page, 1 of 2 in all.")
    page.get_by_role("button", name="Forget the counts").click()
    expect(score).to_have_text("Right at the first try: 0 of 0 on this page, 0 of 0 in all.")
    assert page.evaluate("Object.keys(localStorage).filter(key => key.startsWith('shapes'))") == []


def test_the_answers_are_out_of_sight_as_long_as_the_quiz_is_open(page: Page, address: str) -> None:
    page.goto(address)
    shape = page.locator(".shape").first
    opened(page, address)
    expect(shape).to_be_hidden()
    page.get_by_label("Hide the shapes in the code").uncheck()
    expect(shape).to_be_visible()
    page.get_by_role("button", name="Show the answer").click()
    expect(page.locator(".quiz .said")).to_have_text(re.compile(r"^It is \[seq_len 7"))
    page.get_by_label("Hide the shapes in the code").check()
    page.get_by_role("button", name="Close").click()
    expect(shape).to_be_visible()
    expect(page.get_by_role("button", name="What shape is this?")).to_be_focused()


def test_without_scripts_nothing_of_it_is_seen(browser: Browser, address: str) -> None:
    with browser.new_context(java_script_enabled=False) as context:
        page = context.new_page()
        page.goto(address)
        assert page.locator(".quiz").count() == 0
        expect(page.locator(".shape").first).to_be_visible()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1400, 400])
def test_it_can_be_used_by_everybody_on_any_screen(
    browser: Browser, address: str, scheme: str, width: int
) -> None:
    viewport = {"width": width, "height": 900}
    with browser.new_context(color_scheme=scheme, viewport=viewport) as context:
        page = context.new_page()
        opened(page, address)
        said(page, "7 5 3 2")
        page.add_script_tag(path=ROOT / "node_modules/axe-core/axe.min.js")
        found = page.evaluate("axe.run('.quiz').then(found => found.violations)")
        assert [(one["id"], one["nodes"][0]["html"]) for one in found] == []
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        heights = page.locator(".quiz button:visible").evaluate_all(
            "all => all.map(one => one.getBoundingClientRect().height)"
        )
        assert min(heights) >= 44
