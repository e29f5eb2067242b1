r"""What lights up, what a card tells, where lines and views lead, on the built attention page."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from urllib.parse import urljoin

import pytest
from playwright.sync_api import Browser, Page, expect

from literate.reading.source import read

MHA = "transformers/mha/"

LIT = """() => ({
    symbols: [...document.querySelectorAll('.lit')].map(one => one.dataset.s),
    places: [...CSS.highlights.get('lit')].map(range =>
        [range.startContainer.parentElement.closest('.line').id, range.toString()]),
})"""

# The middle of the first `word` in the code of a line.
POINT = """([id, word]) => {
    const text = document.getElementById(id).lastElementChild;
    const walker = document.createTreeWalker(text, NodeFilter.SHOW_TEXT);
    let node = walker.nextNode();
    while (!node.data.includes(word)) node = walker.nextNode();
    const range = document.createRange();
    range.setStart(node, node.data.indexOf(word));
    range.setEnd(node, node.data.indexOf(word) + word.length);
    document.getElementById(id).scrollIntoView({block: 'center'});
    const box = range.getBoundingClientRect();
    return [box.x + box.width / 2, box.y + box.height / 2];
}"""


@pytest.fixture(scope="module")
def address(serve: Callable[[Path], str], site: Path) -> str:
    return serve(site)


@pytest.fixture
def mha(page: Page, address: str) -> Page:
    page.goto(urljoin(address, MHA), wait_until="networkidle")
    return page


def line_of(repository: Path, text: str) -> str:
    source = read(repository / "labml_nn/transformers/mha.py")
    return next(f"L{line.number}" for line in source.lines if text in line.text)


def test_a_symbol_lights_its_equals_and_the_name_in_the_code(mha: Page) -> None:
    mha.locator("[data-s=d_k]").first.hover()
    mha.wait_for_function("CSS.highlights.get('lit').size > 0")
    lit = mha.evaluate(LIT)
    assert len(lit["symbols"]) > 3 and set(lit["symbols"]) == {"d_k"}
    assert len(lit["places"]) > 5 and {word for _, word in lit["places"]} == {"d_k"}
    grounds = mha.evaluate(
        """[...CSS.highlights.get('lit')].map(range => getComputedStyle(
            range.startContainer.parentElement, '::highlight(lit)').backgroundColor)"""
    )
    (ground,) = set(grounds)
    assert ground not in ("transparent", "rgba(0, 0, 0, 0)")
    mha.mouse.move(5, 5)
    mha.wait_for_function("CSS.highlights.get('lit').size === 0")
    assert mha.locator(".lit").count() == 0


def test_a_formula_that_has_the_focus_lights_its_symbols(mha: Page) -> None:
    formula = mha.locator(".katex[tabindex='0']").first
    formula.focus()
    inside = formula.evaluate("one => [...one.querySelectorAll('[data-s]')].map(s => s.dataset.s)")
    expect(mha.locator(".lit").first).to_be_visible()
    lit = mha.evaluate(LIT)
    assert set(lit["symbols"]) == set(inside)
    # Elsewhere, too.
    assert len(lit["symbols"]) > len(inside)


def test_a_tap_lights_a_symbol_until_the_next_tap(browser: Browser, address: str) -> None:
    phone = {"viewport": {"width": 400, "height": 800}, "has_touch": True}
    with browser.new_context(**phone) as context:
        page = context.new_page()
        page.goto(urljoin(address, MHA), wait_until="networkidle")
        page.locator("[data-s=d_k]").first.tap()
        page.wait_for_function("CSS.highlights.get('lit').size > 0")
        assert set(page.evaluate(LIT)["symbols"]) == {"d_k"}
        page.locator("h1").tap()
        page.wait_for_function("CSS.highlights.get('lit').size === 0")
        assert page.locator(".lit").count() == 0


def test_a_checked_claim_carries_a_mark_that_says_so(mha: Page) -> None:
    claim = mha.locator("code.claim").first
    assert claim.evaluate("one => getComputedStyle(one, '::after').content") == '" ✓"'
    assert claim.get_attribute("title") == "measured when this page was built"


def test_a_path_leads_back_to_the_sections(mha: Page) -> None:
    path = mha.get_by_role("navigation", name="Path")
    expect(path).to_be_visible()
    path.get_by_role("link", name="Lessons").click()
    mha.wait_for_url(lambda address: address.endswith("/transformers/"))


def test_a_name_lights_its_uses_and_not_its_namesakes(mha: Page, repository: Path) -> None:
    forward = line_of(repository, "query = self.query(query)")
    mha.mouse.click(*mha.evaluate(POINT, [forward, "query"]))
    mha.wait_for_function("CSS.highlights.get('lit').size > 0")
    lines = {int(line[1:]) for line, _ in mha.evaluate(LIT)["places"]}
    source = read(repository / "labml_nn/transformers/mha.py")
    method = next(one for one in source.definitions if one.name == "MultiHeadAttention.forward")
    assert len(lines) > 4
    assert min(lines) >= method.first and max(lines) <= method.last
    # And the key Escape ends it.
    mha.keyboard.press("Escape")
    assert mha.evaluate(LIT)["places"] == []


def test_a_card_tells_what_a_name_stands_for(page: Page, address: str) -> None:
    page.goto(urljoin(address, "transformers/models/"), wait_until="networkidle")
    page.locator(".line a", has_text="MultiHeadAttention").last.hover()
    card = page.locator(".card")
    expect(card).to_contain_text("MultiHeadAttention(heads: int, d_model: int")
    # A card can be pointed at itself, and goes when the reader turns away.
    card.hover()
    expect(card).to_be_visible()
    page.mouse.move(5, 5)
    expect(card).to_be_hidden()


def test_a_card_opens_by_keyboard_and_is_the_description(page: Page, address: str) -> None:
    page.goto(urljoin(address, "transformers/models/"), wait_until="networkidle")
    link = page.locator(".line span a", has_text="FeedForward").last
    link.scroll_into_view_if_needed()
    page.evaluate("document.querySelector('a[data-line]').focus()")
    page.keyboard.press("Tab")
    link.focus()
    expect(page.locator(".card")).to_contain_text("FeedForward(")
    assert link.get_attribute("aria-describedby") == "card"
    page.keyboard.press("Escape")
    expect(page.locator(".card")).to_be_hidden()


def test_a_name_of_pytorch_leads_to_its_documentation(mha: Page) -> None:
    link = mha.locator(".line a", has_text="Linear").first
    assert link.get_attribute("href") == (
        "https://docs.pytorch.org/docs/stable/generated/torch.nn.Linear.html"
    )
    link.hover()
    expect(mha.locator(".card")).to_contain_text("torch.nn.Linear")


def test_a_shape_shows_the_numbers_of_the_run(mha: Page, repository: Path, site: Path) -> None:
    number = line_of(repository, "scores = self.get_scores(query /")
    told = json.loads((site / MHA / "about.json").read_text())["tensors"][number[1:]][0]
    mha.locator(f"#{number} .shape").hover()
    # One card is enough.
    assert mha.locator(f"#{number} .shape").get_attribute("title") is None
    card = mha.locator(".card")
    expect(card).to_contain_text(f"min {told[4]}, mean {told[5]}, max {told[6]}")
    expect(card).to_contain_text("scores: float32 [seq_len_q 7, seq_len_q 7, batch_size 3")
    rows = told[7].split(":")[1].split("/")
    assert card.locator("canvas").first.evaluate("one => [one.width, one.height]") == [
        len(rows[0]),
        len(rows),
    ]
    # By keyboard it is the number of the line that tells.
    mha.mouse.move(5, 5)
    expect(card).to_be_hidden()
    before = f"#{number} > a[data-line]"
    mha.evaluate(f"document.querySelector('{before}').focus()")
    mha.keyboard.press("Shift+Tab")
    mha.keyboard.press("Tab")
    expect(card).to_contain_text(f"mean {told[5]}")


def test_a_range_of_lines_has_an_address(page: Page, address: str, repository: Path) -> None:
    first, last = line_of(repository, "def forward(self, x"), line_of(repository, "self.linear(x)")
    page.goto(urljoin(address, f"{MHA}#{first}-{last}"), wait_until="networkidle")
    aimed = page.locator(".line.aimed")
    ids = aimed.evaluate_all("all => all.map(one => one.id)")
    assert (ids[0], ids[-1]) == (first, last)
    header = page.locator(".here").evaluate(
        "one => getComputedStyle(one, '::before').height.slice(0, -2) * 1"
    ) + page.locator(".md-header").evaluate("one => one.offsetHeight")
    assert header - 1 <= aimed.first.bounding_box()["y"] < 300


def test_lines_are_chosen_by_their_numbers_and_nothing_moves(mha: Page, repository: Path) -> None:
    first, last = line_of(repository, "def forward(self, x"), line_of(repository, "self.linear(x)")
    mha.locator(f"#{first}").scroll_into_view_if_needed()
    before = mha.evaluate("scrollY")
    mha.locator(f"#{first} > a[data-line]").click()
    assert mha.url.endswith(f"#{first}")
    mha.locator(f"#{last} > a[data-line]").click(modifiers=["Shift"])
    assert mha.url.endswith(f"#{first}-{last}")
    expect(mha.locator(".line.aimed")).to_have_count(2)
    assert mha.evaluate("scrollY") == before


def test_links_to_lines_are_copied(browser: Browser, address: str) -> None:
    with browser.new_context(permissions=["clipboard-read", "clipboard-write"]) as context:
        page = context.new_page()
        page.goto(urljoin(address, MHA), wait_until="networkidle")
        row = page.locator(".row", has=page.locator("[id='MultiHeadAttention.forward']"))
        row.locator(".code").hover()
        row.get_by_role("button", name="Copy a link to line").click()
        page.wait_for_function("document.querySelector('[role=status]').textContent === 'Copied'")
        copied = page.evaluate("navigator.clipboard.readText()")
        first, last = re.search(r"#L(\d+)-L(\d+)$", copied).groups()
        page.goto(copied)
        assert page.locator(".aimed").first.get_attribute("id") == f"L{first}"
        assert page.locator(".aimed").last.get_attribute("id") == f"L{last}"


def test_a_link_to_a_definition_is_copied(browser: Browser, address: str) -> None:
    with browser.new_context(permissions=["clipboard-read", "clipboard-write"]) as context:
        page = context.new_page()
        page.goto(urljoin(address, MHA), wait_until="networkidle")
        heading = page.locator("[id='MultiHeadAttention.forward']")
        heading.hover()
        heading.locator(".headerlink").click()
        expect(page.locator("[role=status]")).to_have_text("Link copied")
        copied = page.evaluate("navigator.clipboard.readText()")
    assert copied == urljoin(address, f"{MHA}#MultiHeadAttention.forward")


def test_the_definition_in_view_stays_in_view_and_the_outline_follows(mha: Page) -> None:
    for name in ["MultiHeadAttention", "MultiHeadAttention.forward"]:
        mha.evaluate(f"location.hash = '#{name}'")
        shown = mha.locator(".here")
        expect(shown.locator("a").last).to_have_text(name.split(".")[-1])
        assert shown.locator("a").evaluate_all("all => all.map(one => one.hash)") == [
            "#" + ".".join(name.split(".")[: depth + 1]) for depth in range(name.count(".") + 1)
        ]
        # The outline marks the same definition.
        outline = mha.locator(".md-nav--secondary .md-nav__link--active").last
        heading = mha.locator(f"[id='{name}']").inner_text().rstrip("¶").strip()
        expect(outline).to_have_text(heading)
    mha.evaluate("scrollTo(0, 0)")
    expect(mha.locator(".here")).to_be_hidden()


@pytest.mark.parametrize("path", ["", "contributing/", "changelog/"])
def test_a_page_without_definitions_names_none(page: Page, address: str, path: str) -> None:
    page.goto(urljoin(address, path), wait_until="networkidle")
    assert page.locator("h2[id]").count() > 0
    expect(page.locator(".here")).to_have_count(0)


def test_a_heading_within_a_definition_is_none(page: Page, address: str) -> None:
    page.goto(urljoin(address, MHA), wait_until="networkidle")
    inside = ("why-the-scores-are-scaled", "example")
    for name, shown in [("example", "example"), inside, ("causal_mask", "causal_mask")]:
        page.locator(f"[id='{name}']").evaluate("one => one.scrollIntoView()")
        expect(page.locator(".here a").last).to_have_text(shown)


def test_the_keys_j_and_k_go_from_row_to_row(mha: Page) -> None:
    focused = "[...document.querySelectorAll('.row')].indexOf(document.activeElement)"
    mha.keyboard.press("j")
    first = mha.evaluate(focused)
    mha.keyboard.press("j")
    mha.keyboard.press("j")
    assert mha.evaluate(focused) == first + 2
    mha.keyboard.press("k")
    assert mha.evaluate(focused) == first + 1
    assert 0 < mha.locator(":focus").bounding_box()["y"] < 900


def test_uses_lead_to_the_lines_that_use(mha: Page) -> None:
    uses = mha.locator(".row", has=mha.locator("[id='causal_mask']")).locator(".uses")
    uses.locator("summary").click()
    uses.locator("a").first.click()
    mha.wait_for_url(re.compile(r".*#L\d+$"))
    expect(mha.locator(".line:target")).to_contain_text("causal_mask")


def test_nothing_is_told_before_it_is_asked_for(page: Page, address: str) -> None:
    asked = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto(urljoin(address, MHA), wait_until="networkidle")
    assert not [one for one in asked if "about.json" in one]


def test_on_paper_the_page_is_black_on_white_and_has_no_buttons(mha: Page) -> None:
    mha.emulate_media(media="print", color_scheme="dark")
    assert mha.locator(".axes").first.is_visible() and mha.locator(".actions").first.is_hidden()
    colours = mha.locator(".row .line > span").first.evaluate(
        """one => [getComputedStyle(one).color,
                   getComputedStyle(one.closest('.code')).backgroundColor]"""
    )
    ink, paper = ([int(one) for one in re.findall(r"\d+", colour)[:3]] for colour in colours)
    assert max(ink) < 60 and min(paper) > 230
