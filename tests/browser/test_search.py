r"""The search of the site, used in a browser: how it opens, what it finds, where it leads."""

import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Locator, Page, Route, expect

from tests.browser.conftest import (
    MHA,
    addresses_asked,
    barriers,
    complaints_of,
    further,
    wait_for_paint,
)


def ask(page: Page, query: str) -> Locator:
    r"""The results of a query, in a dialogue that has its index."""
    if not page.locator("dialog[open]").count():
        wait_for_paint(page)
        page.keyboard.press("/")
    page.locator("dialog input").fill(query)
    if query:
        page.get_by_role("status").filter(has_text=re.compile("result|No page")).wait_for()
    return page.locator("dialog li a")


def leave(page: Page) -> None:
    r"""The dialogue is closed, and no key pressed next goes into it."""
    page.keyboard.press("Escape")
    expect(page.locator("dialog[open]")).to_have_count(0)


@pytest.fixture(scope="module")
def shared(browser: Browser, address: str) -> Iterator[Page]:
    r"""The attention page, for tests that ask and go nowhere."""
    with browser.new_context(viewport={"width": 1400, "height": 900}) as context:
        page = context.new_page()
        complaints = complaints_of(page)
        page.goto(address + MHA, wait_until="networkidle")
        yield page
    assert complaints == []


@pytest.fixture
def asking(shared: Page) -> Page:
    r"""That page, with its dialogue closed and empty."""
    if shared.locator("dialog[open]").count():
        shared.locator("dialog input").fill("")
        leave(shared)
    shared.evaluate("document.activeElement.blur()")
    return shared


def titles(results: Locator) -> list[str]:
    r"""What the results are called: the page, and the definition or the heading in it."""
    return results.locator("b").all_inner_texts()


def test_the_search_is_fetched_once(page: Page, address: str) -> None:
    asked = addresses_asked(page)
    page.goto(address + MHA)
    for query in ("heads", "scores"):
        ask(page, query)
        leave(page)
    fetched = [one.rpartition("/")[2] for one in asked if "search" in one]
    assert fetched == ["search.js", "search-index.js"]


def test_a_key_opens_the_search_and_escape_closes_it(asking: Page) -> None:
    for key in ("/", "/", "Control+k", "Meta+k"):
        asking.keyboard.press(key)
        expect(asking.locator("dialog[open] input")).to_be_focused()
        leave(asking)


def test_a_key_pressed_before_the_closed_dialogue_has_gone_from_the_screen_opens_it(
    asking: Page,
) -> None:
    ask(asking, "heads")
    # Closed and pressed in one task: between the two, nothing is drawn and no focus moves.
    opened = asking.evaluate(
        "() => { const dialog = document.querySelector('dialog.search');"
        " const key = new KeyboardEvent('keydown', { key: '/', bubbles: true });"
        " dialog.close(); dialog.querySelector('input').dispatchEvent(key); return dialog.open; }"
    )
    assert opened


def test_other_keys_do_not_open_it(asking: Page) -> None:
    for key in ("Control+/", "Alt+/", "k", "Control+Alt+k", "s"):
        asking.keyboard.press(key)
        assert asking.locator("dialog[open]").count() == 0, key


def test_letters_typed_while_the_search_is_loading_are_kept(page: Page, address: str) -> None:
    held: list[Route] = []
    page.route("**/assets/search.js", lambda route: held.append(route))
    page.goto(address + MHA)
    page.keyboard.type("/get_scores")
    expect(page.locator("dialog input")).to_have_value("get_scores")
    while not held:
        page.wait_for_timeout(10)
    held[0].continue_()
    page.get_by_role("status").filter(has_text="result").wait_for()
    found = titles(page.locator("dialog li a"))
    assert found[0] == "Multi-Head Attention › MultiHeadAttention.get_scores"


def test_the_button_opens_the_search_and_gets_the_focus_back(asking: Page) -> None:
    button = asking.get_by_role("button", name="Search")
    button.focus()
    asking.keyboard.press("Enter")
    # Where there is a field to write in, the key is a sign like any other.
    asking.keyboard.type("a/b")
    expect(asking.locator("dialog input")).to_have_value("a/b")
    asking.keyboard.press("Tab")
    asking.keyboard.press("Enter")
    expect(asking.locator("dialog[open]")).to_have_count(0)
    expect(button).to_be_focused()
    ask(asking, "heads")
    asking.mouse.click(30, 880)
    expect(asking.locator("dialog[open]")).to_have_count(0)


FIRST = [
    ("MultiHeadAttention", "Multi-Head Attention › MultiHeadAttention"),
    ("multihead", "Multi-Head Attention › MultiHeadAttention"),
    ("HeadAtt", "Multi-Head Attention › MultiHeadAttention"),
    ("get_scores", "Multi-Head Attention › MultiHeadAttention.get_scores"),
    ("get sc", "Multi-Head Attention › MultiHeadAttention.get_scores"),
    ("MultiHeadAttention.forward", "Multi-Head Attention › MultiHeadAttention.forward"),
    ("projection to heads", "Multi-Head Attention › PrepareForMultiHeadAttention"),
    ("positional enc", "Positional Encodings"),
    ("rotary", "Rotary Positions"),
    # A term leads to the page that explains it, a short name too.
    ("softmax", "Attention, One Head at a Time"),
    ("DPO", "Preferences"),
    ("RoPE", "Rotary Positions"),
    ("perplexity", "Counting Letters"),
    ("Direct Preference Optimization", "Preferences"),
    ("BPE", "Byte-Pair Encoding"),
    ("GQA", "Multi-Query and Grouped-Query Attention"),
    ("MoE", "Mixture of Experts"),
    ("backprop", "Autograd"),
]


def test_names_parts_headings_and_terms_are_found_first(asking: Page) -> None:
    assert [(query, titles(ask(asking, query))[0]) for query, _ in FIRST] == FIRST


def test_words_of_a_page_are_found_on_the_first_screen(asking: Page) -> None:
    results = ask(asking, "scaled dot product")
    assert titles(results)[0] == "Attention, Batch First › ScaledDotProductAttention"
    # A word that is nowhere is said, and the others are found.
    first = titles(ask(asking, "undivided product overflow"))[0]
    assert first.endswith("MultiHeadAttention.forward")
    marks = asking.locator("dialog li").first.locator("mark").all_inner_texts()
    assert {"undivided", "overflow"} < {mark.lower() for mark in marks}
    assert ask(asking, "silence zebra").count() > 0
    status = asking.locator("dialog [role=status]")
    assert status.inner_text() == "No page is about “zebra”. Nearest first:"
    assert ask(asking, "zebra").count() == 0
    assert status.inner_text() == "No page is about “zebra”."
    row = ask(asking, "einsum").filter(has_text="MultiHeadAttention.get_scores").first
    assert row.locator("mark").inner_text() == "einsum"


ASKED = [
    ("why divide by sqrt d_k", "Mistakes: Widths and Scales"),
    ("perplexty", "Counting Letters"),
    ("mutli head attention", "Multi-Head Attention"),
    ("optimisers", "Optimizers"),
    ("weight tying", "GPT-2"),
    ("1706.03762", "Multi-Head Attention"),
    ("what does temperature do when sampling", "Sampling"),
]


def test_questions_typing_errors_and_other_words_are_understood(asking: Page) -> None:
    for query, title in ASKED:
        assert title in [one.split(" › ")[0] for one in titles(ask(asking, query))[:3]], query


def test_what_the_site_does_not_have_is_said_with_what_is_near(asking: Page) -> None:
    results = ask(asking, "LSTM")
    status = asking.locator("dialog [role=status]").inner_text()
    assert status == "No page is about “LSTM”. Nearest first:"
    assert titles(results)[0].startswith("Mamba")


def test_no_result_shows_tex(asking: Page) -> None:
    for query in ("softmax", "DPO", "RoPE", "perplexity", "gradient", "sum", "log"):
        shown = ask(asking, query).all_inner_texts()
        assert shown
        # A backslash, or the braces of an index.
        assert [one for one in shown if re.search(r"\\[a-z]+|[_^]\{", one)] == [], query


@pytest.mark.parametrize("width", [400, *further(1400)])
@pytest.mark.parametrize(
    ("query", "here"),
    [
        ("MultiHeadAttention", True),
        ("slices side by side again", True),
        ("TransformerLayer", False),
    ],
    ids=["definition", "note", "elsewhere"],
)
def test_the_keyboard_leads_to_a_row_below_the_header(
    mha: Page, query: str, here: bool, width: int
) -> None:
    mha.set_viewport_size({"width": width, "height": 800})
    target = ask(mha, query).first.get_attribute("href")
    assert (MHA in target) is here
    # Down to the first result, up to the field again.
    mha.keyboard.press("ArrowDown")
    mha.wait_for_function("target => document.activeElement.href === target", arg=target)
    mha.keyboard.press("ArrowUp")
    mha.keyboard.press("Enter")
    mha.wait_for_url(target)
    expect(mha.locator("dialog[open]")).to_have_count(0)
    row = mha.locator(".row", has=mha.locator(":target"))
    header = mha.locator(".md-header").bounding_box()
    assert header["y"] + header["height"] <= row.bounding_box()["y"] < 400


def test_the_dialogue_has_no_barrier(screen: Page, address: str) -> None:
    screen.goto(address + MHA)
    for query in ["", "multi head", "zebra"]:
        ask(screen, query)
        assert barriers(screen, "dialog") == []


def test_it_works_below_another_folder_and_with_the_network_cut_or_from_the_disk(
    browser: Browser, serve: Callable[[Path], str], site: Path
) -> None:
    with browser.new_context() as context:
        page = context.new_page()
        for start in (f"{serve(site.parent)}{site.name}/{MHA}", f"{site.as_uri()}/{MHA}index.html"):
            context.set_offline(False)
            page.goto(start)
            ask(page, "head").first.wait_for()
            context.set_offline(True)
            ask(page, "multihead").first.click()
            page.wait_for_url(start + "#MultiHeadAttention")


@pytest.mark.parametrize("missing", ["search-index.js", *further("search.js")])
def test_a_file_that_cannot_be_loaded_is_said_and_asked_for_again(
    browser: Browser, address: str, missing: str
) -> None:
    with browser.new_context() as context:
        page = context.new_page()
        page.goto(address + MHA)
        page.route(f"**/{missing}", lambda route: route.abort())
        wait_for_paint(page)
        page.keyboard.press("/")
        page.get_by_text("can't be loaded").wait_for()
        page.unroute(f"**/{missing}")
        leave(page)
        assert ask(page, "get_scores").count() > 0
