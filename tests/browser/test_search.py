r"""The search of the site, used in a browser: how it opens, what it finds, where it leads."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Locator, Page, Route, expect

from literate.page.search import index
from literate.reading.source import parse
from literate.site import ASSETS
from tests.browser.conftest import MHA, barriers


def ask(page: Page, query: str) -> Locator:
    r"""The results of a query, in a dialogue that has its index."""
    if not page.locator("dialog[open]").count():
        page.keyboard.press("/")
    page.locator("dialog input").fill(query)
    if query:
        page.get_by_role("status").filter(has_text="result").wait_for()
    return page.locator("dialog li a")


def leave(page: Page) -> None:
    r"""The dialogue is closed, and no key pressed next goes into it."""
    page.keyboard.press("Escape")
    expect(page.locator("dialog[open]")).to_have_count(0)


def titles(results: Locator) -> list[str]:
    r"""What the results are called: the page, and the definition or the heading in it."""
    return results.locator("b").all_inner_texts()


def test_nothing_of_the_search_is_fetched_before_it_is_used(page: Page, address: str) -> None:
    requests: list[str] = []
    page.on("request", lambda request: requests.append(request.url))
    page.goto(address + MHA, wait_until="networkidle")
    page.get_by_role("button", name="Search").hover()
    page.wait_for_load_state("networkidle")
    assert requests != []
    assert [one for one in requests if "search" in one.lower()] == []
    for query in ("heads", "scores"):
        ask(page, query)
        leave(page)
    fetched = [one.rpartition("/")[2] for one in requests if "search" in one]
    assert fetched == ["search.js", "search-index.js"]


@pytest.mark.parametrize("key", ["/", "Control+k", "Meta+k"])
def test_a_key_opens_the_search_and_escape_closes_it(mha: Page, key: str) -> None:
    for _ in range(2):
        mha.keyboard.press(key)
        expect(mha.locator("dialog[open] input")).to_be_focused()
        leave(mha)


def test_a_key_pressed_before_the_closed_dialogue_has_gone_from_the_screen_opens_it(
    mha: Page,
) -> None:
    ask(mha, "heads")
    # Closed and pressed in one task: between the two, nothing is drawn and no focus moves.
    opened = mha.evaluate(
        "() => { const dialog = document.querySelector('dialog.search');"
        " const key = new KeyboardEvent('keydown', { key: '/', bubbles: true });"
        " dialog.close(); dialog.querySelector('input').dispatchEvent(key); return dialog.open; }"
    )
    assert opened


@pytest.mark.parametrize("key", ["Control+/", "Alt+/", "k", "Control+Alt+k", "s"])
def test_other_keys_do_not_open_it(mha: Page, key: str) -> None:
    mha.keyboard.press(key)
    assert mha.locator("dialog[open]").count() == 0


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


def test_the_button_opens_the_search_and_gets_the_focus_back(mha: Page) -> None:
    button = mha.get_by_role("button", name="Search")
    button.focus()
    mha.keyboard.press("Enter")
    # Where there is a field to write in, the key is a sign like any other.
    mha.keyboard.type("a/b")
    expect(mha.locator("dialog input")).to_have_value("a/b")
    mha.keyboard.press("Tab")
    mha.keyboard.press("Enter")
    expect(mha.locator("dialog[open]")).to_have_count(0)
    expect(button).to_be_focused()
    ask(mha, "heads")
    mha.mouse.click(30, 880)
    expect(mha.locator("dialog[open]")).to_have_count(0)


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("MultiHeadAttention", "Multi-Head Attention › MultiHeadAttention"),
        ("multihead", "Multi-Head Attention › MultiHeadAttention"),
        ("HeadAtt", "Multi-Head Attention › MultiHeadAttention"),
        ("get_scores", "Multi-Head Attention › MultiHeadAttention.get_scores"),
        ("get sc", "Multi-Head Attention › MultiHeadAttention.get_scores"),
        ("MultiHeadAttention.forward", "Multi-Head Attention › MultiHeadAttention.forward"),
        ("projection to heads", "Multi-Head Attention › PrepareForMultiHeadAttention"),
        ("positional enc", "Positional Encodings"),
        ("rotary", "Rotary Positions"),
    ],
)
def test_names_their_parts_and_headings_are_found_first(mha: Page, query: str, found: str) -> None:
    assert titles(ask(mha, query))[0] == found


def test_words_of_a_page_are_found_on_the_first_screen(mha: Page) -> None:
    results = ask(mha, "scaled dot product")
    assert titles(results)[0] == "Attention, Batch First › ScaledDotProductAttention"
    # Every word has to be there.
    assert titles(ask(mha, "broadcast silence sa"))[0].endswith("MultiHeadAttention.forward")
    marks = mha.locator("dialog li").first.locator("mark").all_inner_texts()
    assert {mark.lower() for mark in marks} == {"broadcast", "silence", "sa"}
    assert ask(mha, "silence zebra").count() == 0
    assert mha.locator("dialog [role=status]").inner_text() == "No results"
    row = ask(mha, "einsum").filter(has_text="MultiHeadAttention.get_scores").first
    assert row.locator("mark").inner_text() == "einsum"


@pytest.mark.parametrize("width", [1400, 400])
@pytest.mark.parametrize(
    ("query", "here"),
    [("MultiHeadAttention", True), ("be broadcast in silence", True), ("TransformerLayer", False)],
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


def test_without_scripts_there_is_no_button_and_no_place_for_one(
    browser: Browser, address: str
) -> None:
    with browser.new_context(java_script_enabled=False) as context:
        page = context.new_page()
        page.goto(address + MHA)
        assert page.get_by_role("button", name="Search").count() == 0
        content = "getComputedStyle(document.querySelector('.md-header__inner'), '::after').content"
        assert page.evaluate(content) == "none"


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_dialogue_has_no_barrier(browser: Browser, address: str, scheme: str) -> None:
    viewport = {"width": 400, "height": 900}
    with browser.new_context(color_scheme=scheme, viewport=viewport) as context:
        page = context.new_page()
        page.goto(address + MHA)
        for query in ["", "multi head", "zebra"]:
            ask(page, query)
            assert barriers(page) == []
            assert page.evaluate("document.documentElement.scrollWidth") == 400


# A page of no engine, with what the search needs, in a folder below the root of its server.

HOSTILE = '''r"""
---
title: <b>Title</b> & "quotes"
summary: Hostile.
---
"""


class Trap:
    r"""
    ## Head <i>ing</i>

    A note with <img src=x onerror="document.title='broken'"> & <script>alert(1)</script> in it.
    """
'''


@pytest.fixture
def bare(tmp_path: Path) -> Path:
    r"""The folder of a site, in a folder of its server."""
    folder = tmp_path / "sub" / "path"
    shutil.copytree(ASSETS, folder / "assets")
    source = parse(HOSTILE, "trap.py")
    for name, text in index({"trap.py": source}, {"trap.py": "a b/trap.md"}, {}).items():
        (folder / name).write_text(text, encoding="utf-8")
    (folder / "a b" / "trap").mkdir(parents=True)
    (folder / "a b" / "trap" / "index.html").write_text(
        "<!doctype html><html lang=en><meta charset=utf-8><title>Trap</title>"
        "<link rel=icon href=data:,>"
        "<link rel=stylesheet href=../../assets/literate.css>"
        "<header><nav class=md-header__inner></nav></header>"
        "<h2 id=Trap>Trap</h2><script src=../../assets/literate.js></script>"
    )
    return tmp_path


def test_what_looks_like_a_tag_in_the_index_is_shown_as_text(
    page: Page, serve: Callable[[Path], str], bare: Path
) -> None:
    page.goto(serve(bare) + "sub/path/a%20b/trap/")
    result = ask(page, "onerror").first
    shown = result.inner_text()
    assert '<b>Title</b> & "quotes" › Trap' in shown
    assert "Head <i>ing</i>" in shown
    assert "<img src=x onerror=\"document.title='broken'\"> & <script>alert(1)</script>" in shown
    tags = result.evaluate("one => [...one.querySelectorAll('*')].map(tag => tag.localName)")
    assert set(tags) <= {"b", "mark"}
    assert page.title() == "Trap"


def test_it_works_below_another_folder_and_with_the_network_cut_or_from_the_disk(
    page: Page, serve: Callable[[Path], str], bare: Path
) -> None:
    address = serve(bare) + "sub/path/a%20b/trap/"
    file = (bare / "sub" / "path" / "a b" / "trap" / "index.html").as_uri()
    for start in (address, file):
        page.context.set_offline(False)
        page.goto(start)
        ask(page, "head").first.wait_for()
        page.context.set_offline(True)
        ask(page, "note with").first.click()
        page.wait_for_url(start + "#Trap")


@pytest.mark.parametrize("missing", ["search.js", "search-index.js"])
def test_a_file_that_cannot_be_loaded_is_said_and_asked_for_again(
    browser: Browser, serve: Callable[[Path], str], bare: Path, missing: str
) -> None:
    file = bare / "sub" / "path" / "assets" / missing
    file.rename(file.with_suffix(".away"))
    with browser.new_context() as context:
        page = context.new_page()
        page.goto(serve(bare) + "sub/path/a%20b/trap/")
        page.keyboard.press("/")
        page.get_by_text("can't be loaded").wait_for()
        file.with_suffix(".away").rename(file)
        leave(page)
        assert ask(page, "onerror").count() == 1
