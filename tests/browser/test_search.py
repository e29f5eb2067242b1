r"""The search of the site, used in a browser: how it opens, what it finds, where it leads."""

import shutil
from collections.abc import Callable
from pathlib import Path
from urllib.parse import urljoin

import pytest
from playwright.sync_api import Browser, Locator, Page

from literate.page.search import index
from literate.reading.source import parse
from literate.site import ASSETS

MHA = "transformers/mha/"
FILES = ["search.js", "search.css", "search-names.js", "search-notes.js"]


@pytest.fixture(scope="module")
def address(serve: Callable[[Path], str], site: Path) -> str:
    return serve(site)


@pytest.fixture
def mha(page: Page, address: str) -> Page:
    page.goto(urljoin(address, MHA))
    return page


def ask(page: Page, query: str) -> Locator:
    r"""The results of a query, in a dialogue that has its whole index."""
    if not page.locator("dialog[open]").count():
        page.keyboard.press("/")
        page.locator("dialog[open]").wait_for()
    page.locator("#search-results[aria-busy=false]").wait_for(state="attached")
    page.get_by_role("combobox").fill(query)
    return page.get_by_role("option")


def titles(results: Locator) -> list[str]:
    r"""What the results are called: the page, and the definition or the heading in it."""
    return results.evaluate_all(
        "all => all.map(one => one.querySelector('.search-path > span').textContent)"
    )


def files_of(requests: list[str]) -> list[str]:
    return [one.rpartition("/")[2] for one in requests if "/assets/search" in one]


def test_nothing_of_the_search_is_fetched_before_it_is_used(page: Page, address: str) -> None:
    requests: list[str] = []
    page.on("request", lambda request: requests.append(request.url))
    page.goto(urljoin(address, MHA), wait_until="networkidle")
    page.get_by_role("button", name="Search").hover()
    page.mouse.wheel(0, 3000)
    page.wait_for_load_state("networkidle")
    assert requests != []
    assert [one for one in requests if "search" in one.lower()] == []
    ask(page, "heads")
    assert sorted(files_of(requests)) == sorted(FILES)
    page.keyboard.press("Escape")
    ask(page, "scores")
    assert len(files_of(requests)) == len(FILES)


@pytest.mark.parametrize("key", ["/", "Control+k", "Meta+k"])
def test_a_key_opens_the_search_and_escape_closes_it(mha: Page, key: str) -> None:
    for _ in range(2):
        mha.keyboard.press(key)
        mha.locator("dialog[open]").wait_for()
        assert mha.evaluate("document.activeElement.getAttribute('role')") == "combobox"
        mha.keyboard.press("Escape")
        assert mha.locator("dialog[open]").count() == 0


@pytest.mark.parametrize("key", ["Control+/", "Alt+/", "k", "Control+Alt+k", "s"])
def test_other_keys_do_not_open_it(mha: Page, key: str) -> None:
    mha.keyboard.press(key)
    mha.wait_for_load_state("networkidle")
    assert mha.locator("dialog").count() == 0


def test_the_button_opens_the_search_and_gets_the_focus_back(mha: Page) -> None:
    button = mha.get_by_role("button", name="Search")
    button.focus()
    mha.keyboard.press("Enter")
    mha.locator("dialog[open]").wait_for()
    # Where there is a field to write in, the key is a sign like any other.
    mha.keyboard.type("a/b")
    assert mha.get_by_role("combobox").input_value() == "a/b"
    mha.keyboard.press("Tab")
    mha.keyboard.press("Enter")
    assert mha.locator("dialog[open]").count() == 0
    assert button.evaluate("one => one === document.activeElement")


def test_a_click_beside_the_dialogue_closes_it(mha: Page) -> None:
    ask(mha, "heads").first.wait_for()
    mha.mouse.click(30, 880)
    assert mha.locator("dialog[open]").count() == 0


def test_the_keyboard_chooses_a_result(mha: Page) -> None:
    results = ask(mha, "multi head")
    field = mha.get_by_role("combobox")

    def active() -> int:
        assert mha.locator("[aria-selected=true]").count() == 1
        chosen = field.get_attribute("aria-activedescendant")
        assert mha.locator("[aria-selected=true]").get_attribute("id") == chosen
        return results.evaluate_all("(all, id) => all.findIndex(one => one.id === id)", chosen)

    assert field.get_attribute("aria-expanded") == "true"
    count = results.count()
    assert str(count) in mha.locator("dialog [role=status]").inner_text().split()
    assert active() == 0
    mha.keyboard.press("ArrowUp")
    assert active() == count - 1
    mha.keyboard.press("ArrowDown")
    mha.keyboard.press("ArrowDown")
    assert active() == 1
    target = results.nth(1).get_attribute("href")
    # The address may be that of the page itself, which is then loaded anew.
    with mha.expect_navigation():
        mha.keyboard.press("Enter")
    mha.wait_for_url(target)
    assert mha.locator("dialog[open]").count() == 0


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("MultiHeadAttention", "Multi-Head Attention › MultiHeadAttention"),
        ("multi head", "Multi-Head Attention › MultiHeadAttention"),
        ("multihead", "Multi-Head Attention › MultiHeadAttention"),
        ("HeadAtt", "Multi-Head Attention › MultiHeadAttention"),
        ("get_scores", "Multi-Head Attention › MultiHeadAttention.get_scores"),
        ("get sc", "Multi-Head Attention › MultiHeadAttention.get_scores"),
        ("MultiHeadAttention.forward", "Multi-Head Attention › MultiHeadAttention.forward"),
        ("projection to heads", "Multi-Head Attention › PrepareForMultiHeadAttention"),
        ("positional enc", "Positional Encodings"),
        ("PrepareForMulti", "Multi-Head Attention › PrepareForMultiHeadAttention"),
    ],
)
def test_names_their_parts_and_headings_are_found_first(mha: Page, query: str, found: str) -> None:
    assert titles(ask(mha, query))[0] == found


def test_a_name_in_the_code_leads_to_its_line(mha: Page, repository: Path) -> None:
    results = ask(mha, "einsum")
    line = next(
        number
        for number, text in enumerate(
            (repository / "labml_nn/transformers/mha.py").read_text().split("\n"), start=1
        )
        if "einsum(" in text
    )
    row = results.filter(has_text="MultiHeadAttention.get_scores")
    assert row.locator("code mark").inner_text() == "einsum"
    row.click()
    mha.wait_for_url(f"**#L{line}")
    assert "einsum" in mha.locator(":target").inner_text()


def test_words_of_a_note_are_found_and_marked(mha: Page) -> None:
    results = ask(mha, "broadcast silence sa")
    assert titles(results) == ["Multi-Head Attention › MultiHeadAttention.forward"]
    marks = results.first.locator(".search-text mark").all_inner_texts()
    assert {mark.lower() for mark in marks} == {"broadcast", "silence", "sa"}
    # Only the last word may be unfinished, and every word has to be there.
    assert ask(mha, "broadc silence").count() == 0
    assert ask(mha, "silence zebra").count() == 0
    assert mha.locator("dialog [role=status]").inner_text() == "No results"
    assert mha.get_by_role("combobox").get_attribute("aria-expanded") == "false"


@pytest.mark.parametrize("width", [1400, 400])
@pytest.mark.parametrize(
    ("query", "here"),
    [
        ("MultiHeadAttention", True),
        ("would be broadcast in silence", True),
        ("TransformerLayer", False),
        ("attention has gathered is now", False),
    ],
    ids=["definition", "note", "definition elsewhere", "note elsewhere"],
)
def test_a_result_leads_to_its_row_below_the_header(
    mha: Page, query: str, here: bool, width: int
) -> None:
    mha.set_viewport_size({"width": width, "height": 800})
    first = ask(mha, query).first
    target = first.get_attribute("href")
    assert (MHA in target) is here
    mha.keyboard.press("Enter")
    mha.wait_for_url(target)
    row = mha.locator(".row", has=mha.locator(":target"))
    top, bottom = mha.evaluate(
        """() => {
            const header = document.querySelector('.md-header').getBoundingClientRect();
            return [header.bottom, innerHeight];
        }"""
    )
    assert top <= row.bounding_box()["y"] < bottom / 2
    highlighted = row.locator(":target").evaluate(
        "one => getComputedStyle(one.closest('.line') ?? one).backgroundColor"
    )
    assert highlighted == "rgb(255, 243, 196)"


def test_the_header_does_not_move_when_the_button_comes(page: Page, address: str) -> None:
    for width in (1400, 400):
        page.set_viewport_size({"width": width, "height": 800})
        page.goto(urljoin(address, MHA), wait_until="networkidle")
        shifts = page.evaluate(
            """() => new Promise(resolve => new PerformanceObserver(list =>
                resolve(list.getEntries()
                    .flatMap(one => one.sources.map(source => source.node?.parentElement))
                    .filter(one => one?.closest('.md-header')).length))
                .observe({type: 'layout-shift', buffered: true})
                || setTimeout(() => resolve(0), 300))"""
        )
        assert shifts == 0
        # Where the script has not put the button yet, an empty box is as wide as it.
        places = page.evaluate(
            """() => {
                const at = () =>
                    document.querySelector('.md-header__option').getBoundingClientRect().x;
                const button = document.querySelector('.find');
                const before = at();
                button.remove();
                return [before, at()];
            }"""
        )
        assert places[0] == places[1]


def test_without_scripts_there_is_no_button_and_no_place_for_one(
    browser: Browser, address: str
) -> None:
    with browser.new_context(java_script_enabled=False) as context:
        page = context.new_page()
        page.goto(urljoin(address, MHA))
        assert page.get_by_role("button", name="Search").count() == 0
        content = "getComputedStyle(document.querySelector('.md-header__inner'), '::after').content"
        assert page.evaluate(content) == "none"


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1400, 400])
def test_the_dialogue_has_no_barrier(
    browser: Browser, repository: Path, address: str, scheme: str, width: int
) -> None:
    viewport = {"width": width, "height": 900}
    with browser.new_context(color_scheme=scheme, viewport=viewport) as context:
        page = context.new_page()
        page.goto(urljoin(address, MHA))
        page.add_script_tag(path=repository / "node_modules/axe-core/axe.min.js")
        found = []
        for query in ["", "multi head", "zebra"]:
            ask(page, query)
            found += page.evaluate(
                "axe.run().then(result => result.violations.flatMap(one =>"
                " one.nodes.map(node => one.id + ' ' + node.html)))"
            )
            assert page.evaluate("document.documentElement.scrollWidth") == width
    assert found == []


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
    assert set(tags) <= {"span", "code", "strong", "small", "mark"}
    assert page.title() == "Trap"


def test_it_works_below_another_folder_and_with_the_network_cut(
    page: Page, serve: Callable[[Path], str], bare: Path
) -> None:
    address = serve(bare) + "sub/path/a%20b/trap/"
    page.goto(address)
    ask(page, "head").first.wait_for()
    page.context.set_offline(True)
    ask(page, "trap").first.click()
    page.wait_for_url(address + "#Trap")


def test_it_works_from_a_folder_on_the_disk(page: Page, bare: Path) -> None:
    file = bare / "sub" / "path" / "a b" / "trap" / "index.html"
    page.goto(file.as_uri())
    ask(page, "note with").first.click()
    page.wait_for_url(file.as_uri() + "#Trap")


@pytest.mark.parametrize("missing", ["search-names.js", "search-notes.js"])
def test_an_index_that_cannot_be_loaded_is_said_and_asked_for_again(
    browser: Browser, serve: Callable[[Path], str], bare: Path, missing: str
) -> None:
    file = bare / "sub" / "path" / "assets" / missing
    file.rename(file.with_suffix(".away"))
    with browser.new_page() as page:
        page.goto(serve(bare) + "sub/path/a%20b/trap/")
        page.keyboard.press("/")
        page.get_by_text("The index can't be loaded").wait_for()
        file.with_suffix(".away").rename(file)
        page.keyboard.press("Escape")
        assert ask(page, "onerror").count() == 1


def test_a_script_that_cannot_be_loaded_is_said_and_asked_for_again(
    browser: Browser, serve: Callable[[Path], str], bare: Path
) -> None:
    file = bare / "sub" / "path" / "assets" / "search.js"
    file.rename(file.with_suffix(".away"))
    with browser.new_page() as page:
        page.goto(serve(bare) + "sub/path/a%20b/trap/")
        page.keyboard.press("/")
        page.get_by_role("status").filter(has_text="Not loaded").wait_for(state="attached")
        file.with_suffix(".away").rename(file)
        assert ask(page, "onerror").count() == 1
