r"""The recorded run of a page, stepped through in a browser."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from textwrap import indent
from typing import Any

import pytest
import torch
from playwright.sync_api import Browser, Locator, Page, expect
from torch import Tensor

from tests.browser.conftest import WATCH_JUMPS, barriers, build, complaints_of, further
from tests.literate import projects

INTRODUCTION = "\n\n".join(f"{number}. What fills the first screen." for number in range(60))
PAGE = f'''r"""
---
title: A run
summary: A page whose run is stepped through.
---

{INTRODUCTION}
"""

import torch
from torch import Tensor


def attend(query: Tensor, key: Tensor) -> Tensor:
    r"""
    ## Attention
    """
    # A score for each pair of positions.
    scores = torch.einsum("ibhd,jbhd->ijbh", query, key)

    # Nobody looks ahead.
    scores[0, 1:] = -torch.inf
    return scores


def example(seq_len: int = 7, batch_size: int = 3, heads: int = 5, d_k: int = 2) -> Tensor:
    r"""
    ## Example
    """
    shape = seq_len, batch_size, heads, d_k
    # Two names on one line.
    query, key = torch.randn(shape), torch.randn(shape)

    # The same numbers once more, and a part of them.
    half = query[:, 0, 0] / 2
    scores = attend(query, key)

    # Weights.
    weights = scores.softmax(1)
    for round in range(9):
        many = torch.full((100, 90), float(round))
    return weights


def after() -> None:
    r"""
    ## What follows

{indent(INTRODUCTION, "    ")}
    """
'''
LAST = 3 + 2 + 6 + 1
# The first step in a function that is given tensors.
START = 3
BEGIN = "Step through the recorded run"


def expected() -> dict[str, Tensor]:
    r"""What the example binds, by torch alone."""
    torch.manual_seed(0)
    query, key = torch.randn(7, 3, 5, 2), torch.randn(7, 3, 5, 2)
    scores = torch.einsum("ibhd,jbhd->ijbh", query, key)
    before = scores.clone()
    scores[0, 1:] = -torch.inf
    return {"query": query, "key": key, "before": before, "scores": scores}


def line_of(text: str) -> int:
    return PAGE[: PAGE.index(text)].count("\n") + 1


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(tmp_path_factory.mktemp("project"), PAGE, {})


@contextmanager
def opened(browser: Browser, address: str, begin: bool = True, **options: Any) -> Iterator[Page]:
    r"""The page at the first step of its run; nothing may go wrong, or move by itself."""
    options = {"viewport": {"width": 1400, "height": 900}, "reduced_motion": "reduce"} | options
    with browser.new_context(**options) as context:
        page = context.new_page()
        complaints = complaints_of(page)
        page.add_init_script(WATCH_JUMPS)
        page.goto(address, wait_until="networkidle")
        page.evaluate("new Promise(requestAnimationFrame)")
        # A busy machine paints half of a page, and then the rest: what nobody sees.
        assert sum(page.evaluate("moved")) < 0.01
        if begin:
            page.get_by_role("button", name=BEGIN).click()
            page.locator("section.run canvas").wait_for()
        yield page
    assert complaints == []


LOW = 700


@pytest.fixture
def run(browser: Browser, address: str) -> Iterator[Page]:
    with opened(browser, address) as page:
        yield page


def where(page: Page) -> Locator:
    return page.locator("section.run .where")


def following(page: Page) -> Locator:
    return page.get_by_role("button", name="Next step")


def step_to(page: Page, step: int) -> None:
    r"""Press the buttons until it is that step, from 1."""
    while (at := int(where(page).inner_text().split()[1])) != step:
        before = where(page).inner_text()
        name = "Next step" if at < step else "Previous step"
        page.get_by_role("button", name=name).click()
        expect(where(page)).not_to_have_text(before)


def table(page: Page) -> Tensor:
    r"""The numbers of the table, which is opened."""
    button = page.get_by_role("button", name="As a table")
    if button.get_attribute("aria-expanded") != "true":
        button.click()
    rows = page.locator("section.run tbody tr").evaluate_all(
        "all => all.map(row => [...row.querySelectorAll('td')].map(one => one.textContent))"
    )
    plain = [[cell.replace("−", "-").replace("∞", "inf") for cell in row] for row in rows]
    return torch.tensor([[float(cell) for cell in row] for row in plain])


@pytest.mark.whole
def test_the_other_engine_has_the_same_run(site: Path) -> None:
    projects.succeed(site.parent, "literate", "zensical", "--site-dir", "other")
    sections = [
        re.findall('<section class="run".*?</section>', (folder / "index.html").read_text(), re.S)
        for folder in (site, site.parent / "other")
    ]
    assert sections[0] == sections[1] and len(sections[0]) == 1
    for name in ("trace.json", "assets/panel.js", "assets/literate.js", "assets/live.css"):
        assert (site.parent / "other" / name).read_bytes() == (site / name).read_bytes()


@pytest.fixture
def low_run(browser: Browser, address: str) -> Iterator[Page]:
    r"""In a window in which the first step is out of sight."""
    with opened(browser, address, viewport={"width": 1400, "height": LOW}) as page:
        yield page


def test_it_begins_where_the_idea_begins_and_the_line_lights_up(low_run: Page) -> None:
    run = low_run
    lit = run.locator(".line.stepped")
    line = line_of("scores = torch.einsum")
    expect(where(run)).to_have_text(f"step {START} of {LAST} · line {line}")
    expect(lit).to_have_attribute("id", f"L{line}")
    expect(lit.locator("a[aria-current=step]")).to_have_count(1)
    # It was out of sight, and stands a third from the top now; its note is lit, too.
    assert abs(lit.bounding_box()["y"] - 0.3 * LOW) < 2
    expect(run.locator(".row.active .line.stepped")).to_have_count(1)
    following(run).click()
    expect(lit).to_have_attribute("id", f"L{line_of('scores = attend')}")
    following(run).click()
    expect(lit).to_have_attribute("id", f"L{line_of('weights = scores')}")
    top = run.evaluate("scrollY")
    run.get_by_role("button", name="Previous step").click()
    expect(lit).to_have_attribute("id", f"L{line_of('scores = attend')}")
    # What can be seen already doesn't move.
    assert run.evaluate("scrollY") == top


def test_the_ends_are_ends(run: Page) -> None:
    step_to(run, 1)
    before = run.get_by_role("button", name="Previous step")
    expect(before).to_have_attribute("aria-disabled", "true")
    before.press("Enter")
    expect(where(run)).to_contain_text("step 1 of")
    step_to(run, LAST)
    expect(following(run)).to_have_attribute("aria-disabled", "true")
    following(run).press("Enter")
    expect(where(run)).to_contain_text(f"step {LAST} of")
    # Of nine rounds six are there.
    expect(run.locator("section.run .numbers")).to_contain_text("3 more steps")


def test_a_loop_says_which_pass_and_passes_can_be_left_out(run: Page) -> None:
    step_to(run, 7)
    line = line_of("many = torch")
    expect(where(run)).to_have_text(f"step 7 of {LAST} · pass 2 of 9 · line {line}")
    run.get_by_label("Each line once").check()
    # The other passes are left out: this line has been seen.
    following(run).click()
    expect(where(run)).to_contain_text(f"step {LAST} of")
    run.get_by_role("button", name="Previous step").click()
    expect(where(run)).to_contain_text("step 6 of 12 · pass 1 of 9")
    run.get_by_label("Each line once").uncheck()
    following(run).click()
    expect(where(run)).to_contain_text("pass 2 of 9")


def test_arrow_keys_step_in_the_panel_and_where_the_focus_is_nowhere(run: Page) -> None:
    expect(following(run)).to_be_focused()
    run.keyboard.press("ArrowRight")
    expect(where(run)).to_contain_text("step 4 of")
    run.keyboard.press("ArrowLeft")
    run.evaluate("document.activeElement.blur()")
    run.keyboard.press("ArrowLeft")
    expect(where(run)).to_contain_text("step 2 of")
    # Not where they mean something else.
    run.get_by_role("slider").or_(run.locator("section.run canvas")).first.focus()
    run.keyboard.press("ArrowRight")
    expect(where(run)).to_contain_text("step 2 of")
    # One status says where it is now, and nothing else speaks.
    said = run.locator("section.run [role=status]")
    expect(said).to_have_count(1)


def test_a_step_is_predicted_before_it_is_shown(run: Page) -> None:
    run.get_by_label("Predict each step first").check()
    following(run).click()
    question = run.locator("section.run .prediction")
    # `scores` of the example are [7, 7, 3, 5]; no shape and no number gives it away.
    expect(question).to_contain_text("What shape has scores?")
    lit = run.locator(".line.stepped")
    expect(lit).to_have_attribute("id", f"L{line_of('scores = attend')}")
    expect(lit.locator(".shape")).to_be_hidden()
    expect(run.locator("section.run .shape-of")).to_be_hidden()
    expect(run.locator("section.run [role=status]")).not_to_contain_text("seq_len")
    # By the keyboard: the focus is at the first answer.
    expect(question.get_by_role("button").first).to_be_focused()
    question.get_by_role("button", name="[7, 7, 5, 3]").or_(
        question.get_by_role("button", name=re.compile("heads 5, batch_size 3"))
    ).press("Enter")
    expect(question).to_contain_text(re.compile(r"No: scores is \[.*3.*5\].* 0 of 1 right"))
    expect(run.locator("section.run .shape-of")).to_be_visible()
    assert barriers(run, "section.run") == []
    # The focus is where one goes on; without the choice nothing is asked.
    expect(following(run)).to_be_focused()
    run.get_by_label("Predict each step first").uncheck()
    following(run).click()
    expect(question).to_be_empty()
    expect(run.locator("section.run .shape-of")).to_be_visible()


def test_scrolling_steps_for_those_who_ask_for_it(run: Page) -> None:
    goal = "line => scrollTo(0, scrollY + document.getElementById(`L${line}`)\
        .getBoundingClientRect().top - innerHeight * 0.3)"
    goal = " ".join(goal.split())
    step_to(run, START)
    run.evaluate(goal, line_of("weights = scores"))
    expect(where(run)).to_contain_text("step 3 of")
    run.get_by_label("Step by scrolling").check()
    run.evaluate(goal, line_of("half = query"))
    expect(where(run)).to_contain_text("step 2 of")
    run.evaluate(goal, line_of("weights = scores"))
    expect(where(run)).to_contain_text("step 5 of")
    # In the moment in which the panel itself has scrolled.
    back = "document.querySelector('[aria-label=\"Previous step\"]').click()"
    run.evaluate(f"line => {{ scrollTo(0, 0); {back}; ({goal})(line) }}", line_of("half = query"))
    expect(where(run)).to_contain_text("step 2 of")


def test_the_panel_stays_under_a_hand_that_presses_again(browser: Browser, address: str) -> None:
    with opened(browser, address, reduced_motion="no-preference") as page:
        step_to(page, START + 1)
        at = following(page).bounding_box()
        # The line of each step is elsewhere, and the page goes on scrolling to it.
        for step in range(START + 2, LAST + 1):
            page.mouse.down()
            page.mouse.up()
            expect(where(page)).to_contain_text(f"step {step} of")
            assert following(page).bounding_box() == at
        # Without the hand it goes back to its line.
        page.mouse.move(0, 0)
        expect(page.locator("section.run .held")).to_have_count(0)
        page.wait_for_function(
            """() => {
                const edges = of => document.querySelector(of).getBoundingClientRect();
                const [panel, line] = [edges("section.run .panel"), edges(".line.stepped")];
                return Math.abs(panel.top - line.top) < 2 || panel.bottom > innerHeight - 12;
            }"""
        )


def test_what_is_pressed_does_not_slip_away_before_it_is_released(run: Page) -> None:
    run.get_by_role("button", name="As a table").hover()
    run.mouse.down()
    run.evaluate("scrollBy({ top: 90, behavior: 'instant' })")
    run.mouse.up()
    expect(run.locator("section.run .panel").get_by_role("table")).to_be_visible()


def test_it_closes_and_goes_on_where_it_was(run: Page) -> None:
    following(run).click()
    panel = run.locator("section.run .panel")
    run.keyboard.press("Escape")
    expect(panel).to_be_hidden()
    expect(run.locator(".line.stepped, .row.active, .stepping")).to_have_count(0)
    # The focus isn't lost.
    begin = run.get_by_role("button", name=BEGIN)
    expect(begin).to_be_focused()
    run.keyboard.press("Enter")
    expect(where(run)).to_contain_text("step 4 of")
    run.get_by_role("button", name="Close").click()
    expect(panel).to_be_hidden()


def test_without_a_script_one_step_is_there_folded(browser: Browser, address: str) -> None:
    with browser.new_context(java_script_enabled=False) as context:
        page = context.new_page()
        page.goto(address)
        section = page.locator("section.run")
        assert section.bounding_box()["height"] < 40
        expect(section).to_contain_text(f"{LAST} steps, with the numbers of each line")
        expect(section.locator("table")).to_be_hidden()
        section.locator("summary").click()
        expect(section).to_contain_text(
            f"Step {START} of {LAST} · line {line_of('scores = torch')}"
        )
        expect(section.locator("table")).to_be_visible()


def test_a_swipe_steps(browser: Browser, address: str) -> None:
    phone = {"viewport": {"width": 400, "height": 800}, "has_touch": True}
    with opened(browser, address, **phone) as page:
        step_to(page, 2)
        box = page.locator("section.run .shape-of").bounding_box()
        touch = page.context.new_cdp_session(page)

        def swipe(across: int, down: int) -> None:
            x, y = box["x"] + 150, box["y"] + 5
            ends = [("touchStart", 0), ("touchMove", 0.5), ("touchMove", 1), ("touchEnd", None)]
            for kind, part in ends:
                at = [] if part is None else [{"x": x + part * across, "y": y + part * down}]
                touch.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": at})

        swipe(-100, 5)
        expect(where(page)).to_contain_text("step 3 of")
        swipe(100, 5)
        expect(where(page)).to_contain_text("step 2 of")
        # Neither a tap nor a way down is a swipe.
        swipe(-10, 0)
        swipe(-50, -100)
        expect(where(page)).to_contain_text("step 2 of")


def test_the_values_are_those_of_torch(run: Page) -> None:
    by_torch = expected()
    step_to(run, 1)
    # Two names on one line, and sliders for the axes that are neither rows nor columns.
    run.get_by_role("button", name="query", exact=True).click()
    assert torch.allclose(table(run), by_torch["query"][:, 0, 0], rtol=0.006)
    run.get_by_role("slider", name="heads").fill("3")
    run.get_by_role("slider", name="batch_size").fill("2")
    assert torch.allclose(table(run), by_torch["query"][:, 2, 3], rtol=0.006)
    step_to(run, 3)
    # What was picked of an axis stays picked.
    assert torch.allclose(table(run), by_torch["before"][:, :, 2, 3], rtol=0.006)
    step_to(run, 4)
    assert torch.allclose(table(run), by_torch["scores"][:, :, 2, 3], rtol=0.006)
    expect(run.locator("section.run .numbers")).to_contain_text("90 are not")
    step_to(run, 5)
    weights = by_torch["scores"].softmax(1)
    assert torch.allclose(table(run), weights[:, :, 2, 3], rtol=0.006, atol=1e-6)
    numbers = run.locator("section.run .numbers")
    expect(numbers).to_contain_text("a row is who asks; it sums to one")
    low, mean, high = (
        float(one) for one in re.findall(r"(?:min|mean|max) ([\d.]+)", numbers.inner_text())
    )
    assert (low, mean, high) == pytest.approx(
        (weights.min().item(), weights.mean().item(), weights.max().item()), rel=0.006
    )
    # A slice says what it is a slice of.
    step_to(run, 6)
    shape = run.locator("section.run .shape-of")
    expect(shape).to_contain_text("many [100, 90], of which the first 32 × 64 are shown")


def test_a_cell_is_read_by_pointer_and_by_keys(run: Page) -> None:
    key = expected()["key"]
    canvas = run.locator("section.run canvas")
    cell = run.locator("section.run .cell")

    def says(row: int, column: int) -> None:
        number = float(cell.inner_text().partition(": ")[2].replace("−", "-"))
        assert cell.inner_text().startswith(f"seq_len {row}, d_k {column}: ")
        assert number == pytest.approx(key[row, 0, 0, column].item(), rel=0.006)

    step_to(run, 1)
    says(0, 0)
    canvas.focus()
    for arrow in ("ArrowDown", "ArrowDown", "ArrowRight", "ArrowRight"):
        run.keyboard.press(arrow)
    says(2, 1)
    # Said aloud, too; and the step is the same.
    expect(run.locator("section.run [role=status]")).to_have_text(cell.inner_text())
    expect(where(run)).to_contain_text("step 1 of")
    # The panel is back at its line, from where it stayed under the pointer.
    run.mouse.move(0, 0)
    canvas.hover(position={"x": 5, "y": 5})
    says(0, 0)
    assert canvas.get_attribute("role") == "img"
    assert re.match(
        r"\[seq_len 7, batch_size 3, heads 5, d_k 2\]: rows seq_len, columns d_k, from −\d",
        canvas.get_attribute("aria-label"),
    )


# The colour in the corner of the cell at a row and a column; letters don't reach it.
COLOUR = """([row, column]) => {
    const canvas = document.querySelector('section.run canvas');
    const scale = devicePixelRatio;
    const size = [canvas.width / scale, canvas.height / scale];
    const [rows, columns] = window.sizes;
    const gutter = [rows > 1 ? 22 : 2, columns > 1 ? 14 : 2];
    const cell = [(size[0] - gutter[0] - 1) / columns, (size[1] - gutter[1] - 1) / rows];
    const x = (gutter[0] + column * cell[0] + 2) * scale;
    const y = (gutter[1] + row * cell[1] + 2) * scale;
    const ground = document.createElement('canvas').getContext('2d');
    ground.fillStyle = getComputedStyle(canvas).backgroundColor;
    ground.fillRect(0, 0, 1, 1);
    ground.drawImage(canvas, x, y, 1, 1, 0, 0, 1, 1);
    return [...ground.getImageData(0, 0, 1, 1).data].slice(0, 3);
}"""


def colour(page: Page, sizes: list[int], row: int, column: int) -> list[int]:
    page.evaluate("sizes => window.sizes = sizes", sizes)
    return page.evaluate(COLOUR, [row, column])


@pytest.mark.parametrize("scheme", ["light", *further("dark")])
def test_one_colour_means_one_number_on_the_whole_page(
    browser: Browser, address: str, scheme: str
) -> None:
    with opened(browser, address, color_scheme=scheme) as page:
        step_to(page, 1)
        page.get_by_role("button", name="query", exact=True).click()
        query = expected()["query"][:, 0, 0]
        row, column = divmod(int(query.argmax()), 2)
        whole = colour(page, [7, 2], row, column)
        step_to(page, 2)
        half = colour(page, [7, 2], row, column)
        # The half is nearer to the ground than the whole, although it is the largest of its own.
        step_to(page, 5)
        zero = colour(page, [7, 7], 0, 5)
        one = colour(page, [7, 7], 0, 0)
    assert zero == ([255] * 3 if scheme == "light" else [0x14, 0x16, 0x1B])
    far = [sum(abs(a - b) for a, b in zip(this, zero, strict=True)) for this in (whole, half, one)]
    assert far[0] > 1.5 * far[1] > 0
    assert far[2] >= far[0]


@pytest.mark.parametrize(
    ("scheme", "width"),
    [("light", 1400), ("dark", 400)]
    + [pytest.param(*one, marks=pytest.mark.whole) for one in (("dark", 1400), ("light", 400))],
)
def test_nobody_meets_a_barrier_and_nothing_scrolls_sideways(
    browser: Browser, address: str, scheme: str, width: int
) -> None:
    size = {"viewport": {"width": width, "height": 800}, "has_touch": width == 400}
    with opened(browser, address, color_scheme=scheme, **size) as page:
        found = barriers(page, "section.run")
        step_to(page, 4)
        found += barriers(page, "section.run")
        table(page)
        found += barriers(page, "section.run")
        panel = page.locator("section.run .panel").bounding_box()
        lit = page.locator(".line.stepped").bounding_box()
        if width == 400:
            # Below the line, on a third of the screen, and the page can be scrolled up to its end.
            assert panel["height"] <= 267 and panel["y"] + panel["height"] == 800
            assert 50 < lit["y"] and lit["y"] + lit["height"] <= panel["y"]
            # So it is when the line was hidden below it.
            top = "one => scrollTo(0, scrollY + one.getBoundingClientRect().top - 540)"
            page.locator(f"#L{line_of('weights = scores')}").evaluate(top)
            step_to(page, 5)
            lit = page.locator(".line.stepped").bounding_box()
            assert 50 < lit["y"] and lit["y"] + lit["height"] <= panel["y"]
            for name in ("Previous step", "Next step", "Close"):
                box = page.get_by_role("button", name=name).bounding_box()
                assert min(box["width"], box["height"]) >= 44
        else:
            assert abs(panel["y"] - lit["y"]) < 2 or panel["y"] + panel["height"] >= 790
    assert found == []


@pytest.mark.parametrize("width", [1100, *further(1400)])
def test_on_a_wide_screen_the_panel_covers_neither_notes_nor_code(
    browser: Browser, address: str, width: int
) -> None:
    with opened(browser, address, viewport={"width": width, "height": 900}) as page:
        for step in range(START, 8):
            step_to(page, step)
            panel = page.locator("section.run .panel").bounding_box()
            assert panel["x"] + panel["width"] <= width
            assert panel["y"] >= 0 and panel["y"] + panel["height"] <= 900
            ends = page.locator(".row > .note, .row > .code").evaluate_all(
                "all => all.map(one => one.getBoundingClientRect().right)"
            )
            assert max(ends) <= panel["x"]


@pytest.mark.parametrize(
    ("motion", "behavior"), [("reduce", "instant"), ("no-preference", "smooth")]
)
def test_the_page_glides_only_for_those_who_like_it(
    browser: Browser, address: str, motion: str, behavior: str
) -> None:
    with opened(browser, address, reduced_motion=motion) as page:
        page.evaluate(
            "() => { window.asked = []; window.scrollTo = (to) => asked.push(to.behavior); }"
        )
        page.evaluate("document.body.style.paddingTop = '3000px'")
        following(page).click()
        expect(where(page)).to_contain_text("step 4 of")
        assert page.evaluate("asked") == [behavior]


def test_quick_steps_end_at_the_last_one(run: Page) -> None:
    run.evaluate(
        """() => {
            const next = document.querySelector('section.run button[aria-label="Next step"]');
            for (let at = 0; at < 2; at += 1) next.click();
        }"""
    )
    expect(where(run)).to_contain_text("step 5 of")
    expect(run.locator("section.run .shape-of")).to_contain_text("weights [seq_len 7, seq_len 7")
