r"""Two pages about attention side by side, driven in a browser."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from urllib.parse import urljoin

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from literate.reading.source import read
from tests.browser.conftest import barriers

FOLDER = "labml_nn/transformers"
# What is shown of one part: for each row its kind, and what stands left and right.
ROWS = """part => [...part.querySelectorAll('.pair')].map(pair => [
    pair.className.split(' ')[1],
    pair.querySelector('.left code')?.textContent ?? null,
    pair.querySelector('.right code')?.textContent ?? null])"""


@pytest.fixture(scope="module")
def address(serve: Callable[[Path], str], site: Path) -> str:
    return urljoin(serve(site), "compare/")


def opened(page: Page, address: str) -> Page:
    r"""The page, when the two are there."""
    page.goto(address)
    expect(status(page)).to_have_text(re.compile("Lines that differ"))
    return page


def status(page: Page) -> Locator:
    return page.locator("#compare [role=status]")


def part(page: Page, name: str) -> list[tuple[str, str | None, str | None]]:
    found = page.locator("#compare details", has=page.locator(f"summary strong:text-is('{name}')"))
    expect(found).to_have_count(1)
    return [tuple(row) for row in found.evaluate(ROWS)]


def code(repository: Path, name: str, definition: str) -> list[str]:
    r"""The lines of code of a definition, without its notes; none if the page has no such."""
    source = read(repository / FOLDER / f"{name}.py")
    return [
        line.text.rstrip("\n")
        for one in source.definitions
        if one.name == definition
        for line in source.lines
        if line.kind == "code" and one.first <= line.number <= one.last
    ]


def test_chosen_pages_are_compared_and_the_address_names_them(page: Page, address: str) -> None:
    opened(page, address)
    page.get_by_label("Left").select_option("mha")
    page.get_by_label("Right").select_option("positions/shaw_relative")
    expect(page).to_have_url(f"{address}?a=mha&b=positions/shaw_relative")
    expect(page.locator("#compare .numbers thead")).to_contain_text("Relative Positions")
    page.get_by_label("Left").select_option("memory/flash")
    expect(page.locator("#compare .numbers thead")).to_contain_text("Flash Attention")
    page.reload()
    expect(page.get_by_label("Left")).to_have_value("memory/flash")
    expect(page.get_by_label("Right")).to_have_value("positions/shaw_relative")
    page.go_back()
    expect(page.get_by_label("Left")).to_have_value("mha")
    expect(page.locator("#compare .numbers thead")).to_contain_text("Multi-Head Attention")


@pytest.mark.parametrize(
    ("where", "left"),
    [("transformers/variants/soft_cap/", "mha"), ("transformers/mha/", "positions/alibi")],
)
def test_the_page_of_an_attention_leads_to_its_comparison_with_another(
    page: Page, address: str, where: str, left: str
) -> None:
    page.goto(urljoin(address, f"../{where}"))
    page.locator(".take a", has_text="Compare").click()
    expect(page.get_by_label("Left")).to_have_value(left)
    expect(page.get_by_label("Right")).to_have_value(where[13:].rstrip("/"))


def test_each_side_has_its_own_code_and_what_it_inherits(
    page: Page, address: str, repository: Path
) -> None:
    opened(page, f"{address}?a=mha&b=positions/alibi")
    for method in ("__init__", "get_scores", "forward"):
        rows = part(page, method)
        base = code(repository, "mha", f"MultiHeadAttention.{method}")
        own = code(repository, "positions/alibi", f"AlibiAttention.{method}")
        assert [row[1] for row in rows if row[1]] == base
        assert [row[2] for row in rows if row[2]] == (own or base)


def test_only_what_differs_is_lit(page: Page, address: str) -> None:
    opened(page, f"{address}?a=mha&b=positions/alibi")
    assert {kind for kind, _, _ in part(page, "forward")} == {"equal"}
    for method in ("__init__", "get_scores"):
        rows = part(page, method)
        both = [(left, right) for kind, left, right in rows if kind == "equal"]
        assert len(both) > 0 and all(left == right for left, right in both)
        # No line is lit that the other side has.
        lit = [row for row in rows if row[0] != "equal"]
        assert lit and not {left for _, left, _ in lit} & {right for _, _, right in rows} - {None}
        assert not {right for _, _, right in lit} & {left for _, left, _ in rows} - {None}
    scores = part(page, "get_scores")
    penalties = "        penalties = distances[:, :, None, None] * self.slopes"
    assert ("added", None, penalties) in scores
    assert part(page, "get_scores")[0][0] == "equal"
    ground = "one => getComputedStyle(one).backgroundColor"
    lit = page.locator("#compare .added .right", has_text="penalties = ").evaluate(ground)
    same = page.locator("#compare .equal .right", has_text="def get_scores").evaluate(ground)
    assert lit != same == "rgba(0, 0, 0, 0)"


def test_in_a_line_of_both_the_words_that_differ_are_marked(page: Page, address: str) -> None:
    opened(page, f"{address}?a=mha&b=memory/learned_sink")
    changed = page.locator("#compare .changed", has_text="softmax")
    expect(changed).to_have_count(1)
    marks = "one => [...one.querySelectorAll('mark')].map(mark => mark.textContent).join('')"
    assert changed.locator(".left").evaluate(marks) == ""
    assert changed.locator(".right").evaluate(marks) == "[:, :-1]"
    head = page.locator("#compare .changed", has_text="class ")
    assert head.locator(".left").evaluate(marks) == "MultiHeadAttentionnn.Module"
    assert head.locator(".right").evaluate(marks) == "LearnedSinkAttentionMultiHeadAttention"


def test_a_page_is_the_same_as_itself(page: Page, address: str) -> None:
    opened(page, f"{address}?a=variants/delta_rule&b=variants/delta_rule")
    expect(status(page)).to_contain_text("Lines that differ: 0.")
    expect(status(page)).to_contain_text("Shapes that differ: 0.")
    assert page.locator("#compare details[open]").count() == 0


def test_every_page_of_the_table_can_be_compared(page: Page, address: str) -> None:
    opened(page, address)
    keys = page.evaluate("[...document.getElementById('compare-b').options].map(one => one.value)")
    assert len(keys) == page.locator("table.recorded").first.locator("tbody tr").count() > 25
    for key in keys:
        page.get_by_label("Right").select_option(key)
        # The first part of the right is its class, or its function.
        title = page.locator("#compare-b option:checked").inner_text()
        expect(page.locator("#compare .numbers th").nth(2)).to_have_text(title)
        expect(status(page)).to_contain_text("Lines that differ")
        assert page.locator("#compare .right code").count() > 2, key


def test_shapes_that_the_other_side_has_not_are_in_colour(page: Page, address: str) -> None:
    opened(page, f"{address}?a=variants/differential_attention&b=mha")
    row = page.locator("#compare .pair", has_text="attn = scores.softmax(dim=1)")
    expect(row.locator(".shape.differs")).to_have_count(2)
    expect(row.locator(".left .shape")).to_contain_text("batch_size, heads, 2]")
    # The end is the same in both.
    last = page.locator("#compare .pair", has_text="self.output(x.flatten").last
    expect(last.locator(".shape")).to_have_count(2)
    expect(last.locator(".shape.differs")).to_have_count(0)
    # Of two tensors of a line one is as on the other side.
    opened(page, f"{address}?a=memory/latent_attention&b=mha")
    row = page.locator("#compare .changed", has_text="query, rotated = self.get_queries(query)")
    expect(row.locator(".shape")).to_have_count(2)
    expect(row.locator(".shape.differs")).to_have_count(0)


def test_the_numbers_are_those_of_the_result(page: Page, address: str, repository: Path) -> None:
    opened(page, f"{address}?a=memory/grouped_query&b=variants/linear_attention")
    table = json.loads((repository / "results/compare.json").read_text())["tables"]["attentions"]
    rows = {row["page"]: row for row in table["rows"]}
    both = [
        rows[f"{FOLDER}/{one}.py"] for one in ("memory/grouped_query", "variants/linear_attention")
    ]
    shown = page.locator("#compare .numbers tbody tr").evaluate_all(
        "rows => rows.map(row => [row.className, ...[...row.cells].map(one => one.textContent)])"
    )
    for number, title in [
        ("parameters", "Parameters"),
        ("token", "Cache, one token bytes"),
        ("kept", "Cache, 64 tokens bytes"),
        ("flops", "Forward pass FLOPs"),
    ]:
        assert ["differs", title, *(f"{row[number]:,}" for row in both)] in shown
    links = page.locator("#compare .numbers thead a")
    assert links.nth(1).get_attribute("href").endswith("transformers/variants/linear_attention/")


def test_curves_of_both_are_drawn_over_the_same_axes(page: Page, address: str) -> None:
    opened(page, f"{address}?a=mha&b=positions/alibi")
    pictures = page.locator("#compare figure svg")
    expect(pictures).to_have_count(2)
    label = pictures.first.get_attribute("aria-label")
    assert "sines: from 2.187 at 64 to 2.785 at 512." in label
    assert "ALiBi: from 2.089 at 64 to 2.076 at 512." in label
    page.get_by_label("Right").select_option("ways/batch_first")
    expect(pictures.first).to_have_attribute("aria-label", re.compile("batch first: from"))


def test_without_scripts_the_table_is_there(plain: Page, address: str) -> None:
    plain.goto(address)
    rows = plain.locator("table.recorded tbody tr")
    assert rows.count() > 25
    grouped = rows.filter(has_text="grouped_query.py")
    expect(grouped).to_contain_text("10,400")
    expect(grouped.locator("a")).to_have_attribute("href", "../transformers/memory/grouped_query/")
    # One sentence that says so, and no room for what doesn't come.
    assert 10 < plain.locator("#compare").bounding_box()["height"] < 100


def test_the_keyboard_alone_compares(page: Page, address: str) -> None:
    opened(page, f"{address}?a=mha&b=positions/alibi")
    page.get_by_label("Left").focus()
    page.keyboard.press("Tab")
    expect(page.get_by_label("Right")).to_be_focused()
    # One key a time: a box forgets the letters of a word that is typed slowly.
    for _ in range(40):
        if "soft_cap" in page.get_by_label("Right").input_value():
            break
        page.keyboard.press("ArrowDown")
    expect(page).to_have_url(re.compile("b=variants/soft_cap"))
    expect(page.locator("#compare .numbers th").nth(2)).to_have_text("Soft-Capped Scores")
    folded = page.locator("#compare summary", has_text="prepare_mask")
    folded.focus()
    page.keyboard.press("Enter")
    expect(page.locator("#compare details[open] summary", has_text="prepare_mask")).to_be_visible()


def test_on_a_narrow_screen_all_stands_in_one_column(page: Page, address: str) -> None:
    page.set_viewport_size({"width": 400, "height": 800})
    opened(page, f"{address}?a=mha&b=memory/learned_sink")
    equal = page.locator("#compare .equal:not(.shapes)", has_text="def forward").first
    expect(equal.locator(".left")).to_be_visible()
    expect(equal.locator(".right")).to_be_hidden()
    changed = page.locator("#compare .changed", has_text="softmax")
    boxes = [changed.locator(one).bounding_box() for one in (".left", ".right")]
    assert boxes[0]["x"] == boxes[1]["x"] and boxes[0]["y"] < boxes[1]["y"]


def test_there_is_no_barrier(screen: Page, address: str) -> None:
    for query in ("?a=mha&b=positions/alibi", "?a=variants/differential_attention&b=mha"):
        opened(screen, address + query)
        screen.locator("#compare details").evaluate_all(
            "all => all.forEach(one => one.open = true)"
        )
        assert barriers(screen, "#compare") == []


def test_a_page_that_does_not_come_is_said_and_can_be_asked_for_again(
    browser: Browser, address: str
) -> None:
    with browser.new_context() as context:
        page = context.new_page()
        page.route("**/positions/alibi/", lambda route: route.abort())
        page.goto(f"{address}?a=mha&b=positions/alibi")
        expect(status(page)).to_have_text(re.compile("can't be compared"))
        assert page.locator("#compare .pair").count() == 0
        page.unroute("**/positions/alibi/")
        page.get_by_label("Right").select_option("variants/soft_cap")
        expect(page.locator("#compare .numbers")).to_contain_text("Soft-Capped Scores")
        page.get_by_label("Right").select_option("positions/alibi")
        expect(page.locator("#compare .numbers")).to_contain_text("Linear Biases")
