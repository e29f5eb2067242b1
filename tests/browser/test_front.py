r"""The first page: texts that type themselves, and a model that goes on from a beginning."""

import json
import re

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.conftest import WATCH_JUMPS, addresses_asked, barriers, further, low
from tests.literate.projects import ROOT

ROWS = json.loads((ROOT / "results/recipes.json").read_text())["tables"]["written"]["rows"]
# What a reader reads: everything but code, and what is for the eye alone.
WORDS = """() => {
    const article = document.querySelector('article').cloneNode(true);
    article.querySelectorAll('pre, .headerlink, .katex-mathml').forEach(one => one.remove());
    return article.textContent.split(/\\s+/).filter(one => /\\w/.test(one)).length;
}"""


def go_on(page: Page, prompt: str) -> str:
    r"""Let the model go on from a beginning, to the end; what it wrote with it."""
    page.locator(".go-on textarea").fill(prompt)
    page.locator(".go-on button").click()
    expect(page.locator(".go-on button")).to_have_text("Write again")
    expect(page.locator(".go-on button")).to_be_enabled()
    return page.locator(".typed .live").text_content()


@pytest.mark.parametrize("width", [390, *further(1400)])
def test_it_is_short_and_something_can_be_done_on_the_first_screen(
    page: Page, address: str, width: int
) -> None:
    page.set_viewport_size({"width": width, "height": 844})
    page.goto(address, wait_until="networkidle")
    assert page.evaluate(WORDS) <= 300
    first = page.locator("article :is(input, button, textarea)").first.bounding_box()
    assert first["y"] < 400
    doors = page.locator(".front li a").evaluate_all("all => all.map(one => one.pathname)")
    assert {"/course/", "/transformers/", "/transformers/mistakes/"} <= set(doors)


def test_the_recorded_texts_type_themselves_and_a_choice_ends_that(
    page: Page, address: str
) -> None:
    page.goto(address, wait_until="networkidle")
    expect(page.locator(".typed .typing")).to_have_count(1)
    # It goes through all of them, the last of which stays.
    expect(page.get_by_role("radio", name=ROWS[-1]["steps"])).to_be_checked()
    shown = page.locator(".typed .samples > :visible")
    expect(shown).to_have_text(ROWS[-1]["text"], use_inner_text=False)
    page.get_by_role("radio", name=ROWS[1]["steps"], exact=True).check()
    expect(shown).to_have_text(ROWS[1]["text"], use_inner_text=False)
    expect(page.locator(".typed .typing")).to_have_count(0)


def test_without_scripts_or_motion_a_text_is_there_and_each_can_be_chosen(
    plain: Page, browser: Browser, address: str
) -> None:
    still = browser.new_context(reduced_motion="reduce").new_page()
    for page in (plain, still):
        page.goto(address)
        shown = page.locator(".typed .samples > :visible")
        assert shown.all_text_contents() == [ROWS[-1]["text"]]
        page.get_by_label(ROWS[0]["steps"], exact=True).check()
        assert shown.all_text_contents() == [ROWS[0]["text"]]
    assert not plain.locator(".go-on").is_visible()
    still.context.close()


def test_one_click_goes_on_from_the_readers_beginning(page: Page, address: str) -> None:
    asked = addresses_asked(page)
    page.goto(address, wait_until="networkidle")
    assert not [one for one in asked if "weights" in one]
    first = go_on(page, "JULIET:\nO ")
    assert first.startswith("JULIET:\nO ") and len(first) == len("JULIET:\nO ") + 240
    # The weights are fetched once, and another time it writes something else.
    page.context.set_offline(True)
    second = go_on(page, "JULIET:\nO ")
    assert second != first
    go_on(page, "é")
    expect(page.locator(".go-on .said")).to_have_text("The model doesn’t know “é”, and reads “�”.")
    page.context.set_offline(False)
    # A recorded text comes back when it is chosen.
    page.get_by_role("radio", name=ROWS[0]["steps"], exact=True).check()
    expect(page.locator(".typed .live")).to_have_count(0)


def test_a_readers_own_code_is_tested_here_and_nothing_comes_before_the_click(
    page: Page, address: str
) -> None:
    asked = addresses_asked(page)
    page.goto(address, wait_until="networkidle")
    assert [one for one in asked if "/edit/" in one] == []
    page.get_by_role("button", name="Paste your attention or your model").click()
    page.locator(".paste .cm-content").click()
    page.keyboard.insert_text("def f(:")
    page.get_by_role("button", name="Which mistake is it?").click()
    expect(page.locator(".paste .status")).to_contain_text("invalid syntax")


def test_what_goes_wrong_is_said(browser: Browser, address: str) -> None:
    with browser.new_context(viewport={"width": 1400, "height": 900}) as context:
        page = context.new_page()
        page.goto(address, wait_until="networkidle")
        page.locator(".go-on textarea").fill("")
        page.locator(".go-on button").click()
        said = page.locator(".go-on .said")
        expect(said).to_have_text("The model needs at least one character to go on from.")
        page.route("**/*.safetensors", lambda route: route.fulfill(status=500))
        page.locator(".go-on textarea").fill("O")
        page.locator(".go-on button").click()
        expect(said).to_have_text(re.compile(r"can’t be fetched \(500\)"))
        expect(page.locator(".go-on button")).to_be_enabled()


def test_the_page_at_work_leads_to_its_own_lines(page: Page, address: str) -> None:
    page.goto(address, wait_until="networkidle")
    line = page.locator(".fragment .line", has_text="softmax(dim=1)")
    number = line.locator("a[data-line]").get_attribute("data-line")
    assert line.locator(".shape").get_attribute("title")
    line.locator("a[data-line]").click()
    page.wait_for_url(f"**/transformers/mha/#L{number}")
    expect(page.locator(f"#L{number}")).to_contain_text("softmax(dim=1)")


def test_nothing_is_in_the_way_on_any_screen_and_nothing_moves(screen: Page, address: str) -> None:
    screen.add_init_script(WATCH_JUMPS)
    screen.goto(address, wait_until="networkidle")
    expect(screen.get_by_role("radio", name=ROWS[-1]["steps"])).to_be_checked()
    assert low(screen, ".typed label") + low(screen, ".go-on :is(textarea, button)") == []
    assert sum(screen.evaluate("moved")) < 0.01
    assert barriers(screen) == []
