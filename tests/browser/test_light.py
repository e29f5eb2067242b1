r"""What lights up, what a card tells, where lines and views lead, on the built attention page."""

import json
import re
from pathlib import Path

from playwright.sync_api import Browser, Page, expect

from literate.reading.source import read
from tests.browser.conftest import MHA

LIT = """() => ({
    symbols: [...document.querySelectorAll('.lit')].map(one => one.dataset.s),
    places: [...CSS.highlights.get('lit')].map(range =>
        [range.startContainer.parentElement.closest('.line').id, range.toString()]),
})"""


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
    expect(mha.locator(".lit")).to_have_count(0)


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
        page.goto(address + MHA, wait_until="networkidle")
        page.locator("[data-s=d_k]").first.tap()
        page.wait_for_function("CSS.highlights.get('lit').size > 0")
        assert set(page.evaluate(LIT)["symbols"]) == {"d_k"}
        page.locator("h1").tap()
        page.wait_for_function("CSS.highlights.get('lit').size === 0")
        expect(page.locator(".lit")).to_have_count(0)


def test_a_checked_claim_carries_a_mark_and_a_page_its_path(mha: Page) -> None:
    claim = mha.locator("code.claim").first
    assert claim.evaluate("one => getComputedStyle(one, '::after').content") == '"\u00a0✓"'
    assert claim.get_attribute("title") == "measured when this page was built"
    # And a path leads back to the sections.
    path = mha.get_by_role("navigation", name="Path")
    expect(path).to_be_visible()
    path.get_by_role("link", name="Course").click()
    mha.wait_for_url(lambda address: address.endswith("/course/"))


def test_a_card_tells_what_a_name_stands_for_and_the_name_leads_there(
    page: Page, address: str
) -> None:
    page.goto(address + "transformers/models/", wait_until="networkidle")
    name = page.locator(".line a", has_text="MultiHeadAttention").last
    name.hover()
    card = page.locator(".card")
    expect(card).to_contain_text("MultiHeadAttention(heads: int, d_model: int")
    # A card can be pointed at itself, and goes when the reader turns away.
    card.hover()
    expect(card).to_be_visible()
    page.mouse.move(5, 5)
    expect(card).to_be_hidden()
    page.locator(".line a", has_text="Linear").first.hover()
    expect(card).to_contain_text("torch.nn.Linear")
    # By the keyboard it opens, too, and is the description.
    link = page.locator(".line span a", has_text="FeedForward").last
    page.keyboard.press("Tab")
    link.focus()
    expect(card).to_contain_text("FeedForward(")
    assert link.get_attribute("aria-describedby") == "card"
    page.keyboard.press("Escape")
    expect(card).to_be_hidden()
    name.click()
    page.wait_for_url(f"**/{MHA}#MultiHeadAttention")
    expect(page.locator(":target")).to_contain_text("Multi-head attention")


def test_a_shape_shows_the_numbers_of_the_run(mha: Page, repository: Path, site: Path) -> None:
    number = line_of(repository, "scores = self.get_scores(query /")
    *_, index = json.loads((site / MHA / "about.json").read_text())["tensors"][number[1:]][0]
    trace = json.loads((site / MHA / "trace.json").read_text())
    _, _, _, _, low, mean, high, _ = trace["tensors"][index]
    mha.locator(f"#{number} .shape").hover()
    # One card is enough.
    assert mha.locator(f"#{number} .shape").get_attribute("title") is None
    card = mha.locator(".card")
    # What draws it is fetched first.
    card.locator("canvas").first.wait_for()
    expect(card).to_contain_text(f"min {low}, mean {mean}, max {high}")
    expect(card).to_contain_text("scores: float32 [seq_len_q 7, seq_len_k 11, batch_size 3")
    pictures = card.locator("canvas")
    assert "rows seq_len_q, columns seq_len_k" in pictures.first.get_attribute("aria-label")
    colours = pictures.evaluate_all(
        """all => all.map(one => new Set([...new Uint32Array(
            one.getContext('2d').getImageData(0, 0, one.width, one.height).data.buffer)]
            // Neither grey nor without a colour: the style has come before what it is for.
            .filter(one => (one & 255) !== (one >> 16 & 255))).size)"""
    )
    assert len(colours) == 2 and min(colours) > 7
    # By keyboard it is the number of the line that tells.
    mha.mouse.move(5, 5)
    expect(card).to_be_hidden()
    before = f"#{number} > a[data-line]"
    mha.evaluate(f"document.querySelector('{before}').focus()")
    mha.keyboard.press("ArrowUp")
    mha.keyboard.press("ArrowDown")
    expect(card).to_contain_text(f"mean {mean}")
    # What tells of many tensors begins below the header, ends on the screen, and is scrolled.
    many = line_of(repository, "self, *, query: Tensor")
    mha.set_viewport_size({"width": 400, "height": 800})
    mha.locator(f"#{many} .shape").hover()
    expect(card).to_contain_text("mask: bool")
    box, header = card.bounding_box(), mha.locator(".md-header").bounding_box()
    assert header["height"] <= box["y"] and box["y"] + box["height"] <= 800
    assert card.evaluate("one => one.scrollHeight > one.clientHeight")


def test_a_line_and_a_range_have_an_address(page: Page, address: str, repository: Path) -> None:
    first, last = line_of(repository, "def forward(self, x"), line_of(repository, "self.linear(x)")
    for hash, ends in ((f"{first}-{last}", [first, last]), (last, [last, last])):
        page.goto(f"{address}{MHA}#{hash}", wait_until="networkidle")
        aimed = page.locator(".line.aimed")
        ids = aimed.evaluate_all("all => all.map(one => one.id)")
        assert [ids[0], ids[-1]] == ends
        header = page.locator(".md-header").evaluate("one => one.offsetHeight")
        assert header - 1 <= aimed.first.bounding_box()["y"] < 300


def test_lines_are_chosen_by_their_numbers_and_nothing_moves(mha: Page, repository: Path) -> None:
    first, last = line_of(repository, "def forward(self, x"), line_of(repository, "self.linear(x)")
    mha.locator(f"#{first}").scroll_into_view_if_needed()
    before = mha.evaluate("scrollY")
    mha.locator(f"#{first} > a[data-line]").click()
    mha.wait_for_url(f"**/#{first}")
    mha.locator(f"#{last} > a[data-line]").click(modifiers=["Shift"])
    mha.wait_for_url(f"**/#{first}-{last}")
    expect(mha.locator(".line.aimed")).to_have_count(2)
    assert mha.evaluate("scrollY") == before


def test_uses_lead_to_the_lines_that_use(mha: Page) -> None:
    uses = mha.locator(".row", has=mha.locator("[id='causal_mask']")).locator(".uses")
    uses.locator("summary").click()
    uses.locator("a").first.click()
    mha.wait_for_url(re.compile(r".*#L\d+$"))
    expect(mha.locator(".line:target")).to_contain_text("causal_mask")


def test_on_paper_the_page_is_black_on_white_and_has_no_buttons(mha: Page) -> None:
    mha.emulate_media(media="print", color_scheme="dark")
    assert mha.locator(".axes").first.is_visible() and mha.locator(".actions").first.is_hidden()
    colours = mha.locator(".row .line > span").first.evaluate(
        """one => [getComputedStyle(one).color,
                   getComputedStyle(one.closest('.code')).backgroundColor]"""
    )
    # The margins of a sheet have the colour of the root, and nothing waits for the next sheet.
    assert mha.evaluate("getComputedStyle(document.documentElement).colorScheme") == "light only"
    mha.set_viewport_size({"width": 794, "height": 1123})
    breaks = "all => all.map(one => getComputedStyle(one).breakInside)"
    assert {*mha.locator("article details").evaluate_all(breaks)} == {"auto"}
    ink, paper = ([int(one) for one in re.findall(r"\d+", colour)[:3]] for colour in colours)
    assert max(ink) < 60 and min(paper) > 230
