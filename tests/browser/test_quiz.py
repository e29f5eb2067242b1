r"""“What shape is this?”: a page asks for its measured shapes, and judges at once."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import barriers, build, low
from tests.browser.test_run import PAGE


@pytest.fixture(scope="module")
def address(serve: Callable[[Path], str], tmp_path_factory: pytest.TempPathFactory) -> str:
    r"""A site of one page with shapes."""
    return serve(build(tmp_path_factory.mktemp("project"), PAGE, {}))


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


def test_a_shape_is_known_by_names_letters_and_numbers(page: Page, address: str) -> None:
    for answer in [
        *("[seq_len, batch_size, heads, d_k]", "7 3 5 2", "i b h d", "(7, batch, h, 2)"),
        *("Seq_Len batch_size Heads d_k", "7,3,5,d_k", "7 × 3 × 5 × 2", "seq_len, 3, heads, 4 - 2"),
    ]:
        opened(page, address)
        assert page.locator(".quiz pre").inner_text().startswith("def attend(query: Tensor")
        right = "Right: [seq_len 7, batch_size 3, heads 5, d_k 2]."
        assert said(page, answer) == right, answer


WRONG = {
    "batch_size seq_len heads d_k": "Nearly: seq_len and batch_size have changed places. Counted "
    "from 0, axis 0 is seq_len, of length 7, axis 1 is batch_size, of length 3.",
    "3 5 2 7": "Nearly: the axes are right, but in another order. Counted from 0, axis 0 is "
    "seq_len, of length 7, axis 1 is batch_size, of length 3, axis 2 is heads, of length 5, axis 3 "
    "is d_k, of length 2.",
    "7 3 heads*d_k": "The tensor has four axes, and you gave three axes. The numbers are as many, "
    "but cut into other axes.",
    "7 3": "The tensor has four axes, and you gave two axes.",
    "7 3 5 2 3": "The tensor has four axes, and you gave five axes.",
    "7 3 5 5": "Not yet: axis 3, counted from 0, isn’t 5.",
    "7 3 head 2": "No axis of this page is called “head”.",
    "": "Type the axes in their order, or choose them.",
}


def test_what_is_wrong_with_an_answer_is_told_and_another_can_be_tried(
    page: Page, address: str
) -> None:
    opened(page, address)
    assert {answer: said(page, answer) for answer in WRONG} == WRONG
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


def test_it_can_be_used_by_everybody_on_any_screen(screen: Page, address: str) -> None:
    opened(screen, address)
    said(screen, "7 5 3 2")
    assert barriers(screen, ".quiz") + low(screen, ".quiz button") == []
