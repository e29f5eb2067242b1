r"""The attention page of the site that `make site` builds, read in a browser."""

import re
from collections.abc import Iterator
from itertools import product
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from literate.reading.rows import rows
from literate.reading.source import read
from tests.browser.conftest import MHA, SCHEMES, WATCH_JUMPS, addresses_asked, barriers, further

# A definition whose code is one row.
NAME = "PrepareForMultiHeadAttention.__init__"

# The boxes of each row that has code, but for the introduction, where all stands in two columns.
ROWS = """() => [...document.querySelectorAll('.row:not(.intro)')].map(row => {
    const box = one => one && one.getBoundingClientRect().toJSON();
    return {
        kinds: row.className.split(' '),
        note: box(row.querySelector('.note > :first-child')),
        below: box(row.querySelector('.note'))?.bottom,
        code: box(row.querySelector('.code .line')),
        end: box(row.querySelector('.code'))?.bottom,
    };
}).filter(row => row.code)"""

# The share of the code column that is filled, from the first class on.
FILL = """() => {
    const boxes = [...document.querySelectorAll('.row:not(.intro) .line')]
        .map(one => one.getBoundingClientRect());
    const filled = boxes.reduce((sum, box) => sum + box.height, 0);
    return filled / (boxes.at(-1).bottom - boxes[0].top);
}"""

# The panel of the run has a status of its own.
COPIED = """[...document.querySelectorAll('[role=status]')]
    .some(one => one.textContent === 'Copied')"""


@pytest.fixture(scope="module")
def lesson(browser: Browser, address: str) -> Iterator[Page]:
    r"""The attention page on a wide screen, for tests that only look at it."""
    with browser.new_context(viewport={"width": 1400, "height": 900}) as context:
        page = context.new_page()
        page.goto(address + MHA, wait_until="networkidle")
        yield page


def test_notes_stand_left_of_their_code_and_begin_at_its_line_or_below_the_note_above(
    lesson: Page,
) -> None:
    rows = [row for row in lesson.evaluate(ROWS) if row["note"]]
    beside = [row for row in rows if "wide" not in row["kinds"]]
    assert len(beside) > 10
    # A long note of a class stands above its code.
    assert all(row["below"] <= row["code"]["top"] for row in rows if row not in beside)
    for before, row in zip([None, *beside], beside, strict=False):
        assert row["note"]["right"] <= row["code"]["left"]
        late = row["note"]["top"] - row["code"]["top"]
        is_headed = {"part", "method"} & {*row["kinds"]}
        assert -8 < late < 8 or (
            not is_headed and late > 0 and 0 <= row["note"]["top"] - before["below"] < 12
        )


def test_a_long_note_never_tears_the_code_apart(lesson: Page) -> None:
    rows = lesson.evaluate(ROWS)
    for before, row in zip(rows, rows[1:], strict=False):
        if not {"part", "method", "wide"} & {*row["kinds"]}:
            assert row["code"]["top"] - before["end"] < 8


def test_on_a_narrow_screen_the_note_stands_above_and_lines_suit_a_finger(mha: Page) -> None:
    mha.set_viewport_size({"width": 400, "height": 800})
    rows = [row for row in mha.evaluate(ROWS) if row["note"]]
    assert len(rows) > 10
    assert all(row["below"] <= row["code"]["top"] for row in rows)
    heights = mha.evaluate(
        "[...document.querySelectorAll('.line[id]')].map(one => one.getBoundingClientRect().height)"
    )
    assert len(heights) > 60 and min(heights) >= 24


def test_a_note_and_its_lines_light_up_together_whichever_is_pointed_at(mha: Page) -> None:
    row = mha.locator(".row", has=mha.locator(".note[data-at]:not(:has(.definition))")).first
    note, line = row.locator(".note"), row.locator(".line").first
    ground = "one => getComputedStyle(one).backgroundColor"
    before = [note.evaluate(ground), line.evaluate(ground)]
    assert note.get_attribute("data-at") == line.get_attribute("id")[1:]
    for pointed in (note, line):
        pointed.hover()
        lit = note.evaluate(ground)
        assert lit == line.evaluate(ground) and lit not in before
        mha.mouse.move(5, 5)
        assert [note.evaluate(ground), line.evaluate(ground)] == before
    # So does a long docstring, which stands above its line.
    band = mha.locator(".row.wide").first
    band.locator(".line").first.hover()
    assert band.locator(".note").evaluate(ground) == band.locator(".line").first.evaluate(ground)
    mha.mouse.move(5, 5)
    # So does the keyboard, for which all line numbers are one stop, and the arrows lead on.
    assert mha.locator("a[data-line]:not([tabindex='-1'])").count() == 1
    mha.locator("a[data-line][tabindex='0']").focus()
    for _ in range(200):
        if note.evaluate(ground) != before[0]:
            break
        mha.keyboard.press("ArrowDown")
    assert note.evaluate(ground) == line.evaluate(ground) == lit
    assert line.evaluate("one => one.contains(document.activeElement)")


# Notes whose first letter is cut.
UNSEEN = """[...document.querySelectorAll('.row:has(> .opener) > .note')].filter(note => {
    const text = document.createTreeWalker(note, NodeFilter.SHOW_TEXT, one =>
        one.data.trim() ? NodeFilter.FILTER_ACCEPT : NodeFilter.FILTER_SKIP).nextNode();
    const letter = document.createRange();
    letter.setStart(text, text.data.search(/\\S/));
    letter.setEnd(text, letter.startOffset + 1);
    return letter.getBoundingClientRect().bottom > note.getBoundingClientRect().bottom + 2;
}).map(note => note.textContent)"""


@pytest.mark.parametrize("width", [400, *further(1400)])
def test_notes_come_on_demand_for_who_wants_the_code_first_and_stay_so(
    page: Page, address: str, width: int
) -> None:
    page.set_viewport_size({"width": width, "height": 900})
    page.goto(address + MHA, wait_until="networkidle")
    filled = page.evaluate(FILL)
    page.get_by_role("button", name="Code first").click()
    page.get_by_role("button", name="Show all notes").click()
    # In one load: the next may have another face, since one that comes too late isn't used.
    assert page.evaluate(FILL) == pytest.approx(filled, abs=0.01)
    page.get_by_role("button", name="Code first").click()
    for _ in range(2):
        assert page.evaluate(FILL) > filled
        rows = page.locator(".row:has(> .opener)")
        note, opener = rows.first.locator(".note"), rows.first.locator(".opener")
        # On a phone the first words are seen, in one line, also those of a list.
        assert width == 1400 or note.bounding_box()["height"] < 30
        assert width == 1400 or page.evaluate(UNSEEN) == []
        expect(opener).to_have_attribute("aria-expanded", "false")
        opener.press("Enter")
        expect(opener).to_have_attribute("aria-expanded", "true")
        expect(note).to_be_visible()
        assert note.bounding_box()["y"] < rows.first.locator(".code").bounding_box()["y"]
        assert barriers(page) == []
        # It is remembered.
        page.reload(wait_until="networkidle")
    page.get_by_role("button", name="Show all notes").click()
    expect(page.locator(".opener").filter(visible=True)).to_have_count(0)


def test_a_link_into_a_note_opens_it_and_one_to_nowhere_breaks_nothing(
    page: Page, address: str
) -> None:
    # (An error of a script fails every test.)
    page.goto(address + MHA + "#100%", wait_until="networkidle")
    page.get_by_role("button", name="Code first").click()
    target = page.locator(".row:has(.opener) .note [id]").first
    anchor = target.get_attribute("id")
    row = page.locator(".row.open")
    expect(row).to_have_count(0)
    for start in (MHA, "about:blank"):
        page.goto(start if start == "about:blank" else address + start)
        page.goto(f"{address}{MHA}#{anchor}")
        expect(row).to_have_count(1)
        expect(row.locator(f"[id='{anchor}']")).to_be_visible()


# What of the text of the page lies under an element.
COVERED = """over => {
    const box = over.getBoundingClientRect();
    const page = document.querySelector('article');
    const walker = document.createTreeWalker(page, NodeFilter.SHOW_TEXT);
    const unseen = '.visually-hidden, math, .actions';
    const found = [];
    while (walker.nextNode()) {
        const { parentElement: parent, textContent: text } = walker.currentNode;
        if (!text.trim() || over.contains(parent) || parent.closest(unseen)) continue;
        const range = document.createRange();
        range.selectNodeContents(walker.currentNode);
        for (const one of range.getClientRects()) {
            const isBeside = one.right <= box.left + 1 || one.left >= box.right - 1;
            const isApart = one.bottom <= box.top + 1 || one.top >= box.bottom - 1;
            if (one.width && parent.checkVisibility() && !isBeside && !isApart) found.push(text);
        }
    }
    return found;
}"""


def test_what_opens_or_comes_by_itself_covers_no_text(mha: Page) -> None:
    for width in (1400, 400):
        mha.set_viewport_size({"width": width, "height": 900})
        uses = mha.locator("details.uses").first
        row = mha.locator(".row", has=mha.locator("[id='PrepareForMultiHeadAttention']"))
        assert uses.locator("summary").evaluate(COVERED) == []
        uses.locator("summary").click()
        assert uses.evaluate(COVERED) == []
        uses.locator("summary").click()
        row.locator(".code").hover()
        expect(row.get_by_role("button", name="Copy line")).to_be_visible()
        assert row.locator(".actions").evaluate(COVERED) == []
        # The way back to the top comes when one scrolls up.
        for down in (600, -100):
            mha.mouse.wheel(0, down)
            mha.evaluate("new Promise(requestAnimationFrame)")
        top = mha.locator(".md-top")
        expect(top).not_to_have_attribute("hidden", "")
        box, header = top.bounding_box(), mha.locator(".md-header").bounding_box()
        assert header["y"] <= box["y"] and box["y"] + box["height"] <= header["height"]


def test_the_size_of_the_code_is_the_reader_s_to_set(page: Page, address: str) -> None:
    page.set_viewport_size({"width": 1400, "height": 900})
    page.goto(address + MHA, wait_until="networkidle")
    size = "parseFloat(getComputedStyle(document.querySelector('.line')).fontSize)"
    before = page.evaluate(size)
    button = page.locator(".code-size")
    while "125" not in button.inner_text():
        button.click()
    page.reload(wait_until="networkidle")
    assert page.evaluate(size) == pytest.approx(before * 1.25, abs=0.1)
    assert button.inner_text() == "Code size: 125 %"
    cut = (
        "[...document.querySelectorAll('.row pre')].some(one => one.scrollWidth > one.clientWidth)"
    )
    assert not page.evaluate(cut)
    shapes = (
        "[...document.querySelectorAll('.shape')].map(one => one.getBoundingClientRect().right)"
    )
    assert max(page.evaluate(shapes)) <= 1400


def test_a_line_that_is_linked_to_is_marked_where_the_system_chooses_the_colours(
    browser: Browser, address: str
) -> None:
    with browser.new_context(forced_colors="active") as context:
        page = context.new_page()
        page.goto(address + MHA)
        line = page.locator(".line[id]").nth(3).get_attribute("id")
        page.goto(f"{address}{MHA}#{line}")
        outline = "one => getComputedStyle(one).outlineStyle"
        assert page.locator(f"#{line}").evaluate(outline) == "solid"
        assert page.locator(".line[id]").first.evaluate(outline) == "none"


@pytest.mark.parametrize("width", [1366, 400, *further(1024)])
def test_no_line_is_cut_and_on_a_wide_screen_no_column_is_empty_for_long(
    page: Page, address: str, width: int
) -> None:
    page.set_viewport_size({"width": width, "height": 768})
    # The last has a shape that is longer than a phone is wide.
    wide = (MHA, "transformers/memory/flash/", "transformers/positions/alibi/")
    for path in wide if width > 400 else (MHA, wide[1], "transformers/mistakes/decoding/"):
        page.goto(address + path, wait_until="networkidle")
        cut = page.evaluate(
            """() => [...document.querySelectorAll('.row :is(pre, .katex-display)')]
                .filter(one => one.scrollWidth > one.clientWidth + one.matches('.katex-display'))
                .map(one => one.textContent)"""
        )
        assert cut == [], path
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        assert (
            page.evaluate(
                "Math.min(...[...document.querySelectorAll('.row .shape')]"
                ".map(one => one.getBoundingClientRect().left))"
            )
            > 0
        )
        assert width == 400 or page.evaluate(FILL) > 0.45, path


def test_measured_shapes_are_shown_at_the_end_of_their_lines(lesson: Page) -> None:
    shapes = lesson.evaluate(
        """() => [...document.querySelectorAll('.shape')].map(shape => {
            const code = document.createRange();
            code.selectNodeContents(shape.parentElement.lastElementChild);
            return [
                shape.parentElement.textContent.trim(),
                getComputedStyle(shape, '::after').content,
                shape.title,
                shape.getBoundingClientRect().toJSON(),
                code.getClientRects()[0].toJSON()];
        })"""
    )
    letters = [content for code, content, *_ in shapes if code.startswith("scores = ")]
    assert letters[0].strip('"').split(" (")[0] == "i j b h"
    titles = [title for _, _, title, _, _ in shapes]
    assert any("[seq_len_q, seq_len_k, batch_size, heads]" in title for title in titles)
    assert len(shapes) > 10
    # On the line, to the right of the code.
    for code, _, _, shape, text in shapes:
        assert shape["left"] >= text["right"], code
        assert abs(shape["top"] - text["top"]) < 3, code
        assert text["height"] < 30, code
    expect(lesson.locator("article .axes")).to_contain_text("h heads")


@pytest.mark.parametrize("width", [400, *further(1400)])
def test_nothing_moves_while_a_page_comes_and_is_read(page: Page, address: str, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 900})
    page.add_init_script(WATCH_JUMPS)
    page.goto(address + MHA, wait_until="networkidle")
    for _ in range(page.evaluate("document.body.scrollHeight") // 600):
        page.mouse.wheel(0, 600)
        page.evaluate("new Promise(requestAnimationFrame)")
    # Fonts that come late on a busy machine move what nobody sees; from 0.1 on it is seen.
    assert sum(page.evaluate("moved")) < 0.01


# What a reader has to ask for, by a key, a look or a click.
ASKED_FOR = re.compile(
    r"search|about\.json|quiz|compare|trace|panel|predict|shared|live|own_text|worker|weights|writing|go_on"
)


def test_nothing_is_fetched_before_it_is_asked_for(page: Page, address: str) -> None:
    asked = addresses_asked(page)
    # The recorded run is below the first screen.
    page.set_viewport_size({"width": 1280, "height": 500})
    page.goto(address, wait_until="networkidle")
    page.locator(".go-on button").scroll_into_view_if_needed()
    page.goto(address + MHA, wait_until="networkidle")
    page.get_by_role("button", name="Search").hover()
    page.get_by_role("button", name="What shape is this?").scroll_into_view_if_needed()
    page.wait_for_load_state("networkidle")
    assert asked and not list(filter(ASKED_FOR.search, asked))
    # The recorded run comes into view; what can be started from there waits for a click.
    page.get_by_role("button", name="Step through the recorded run").click()
    page.locator("section.run canvas").wait_for()
    found = {one.rpartition("/")[2] for one in asked if ASKED_FOR.search(one)}
    # Besides, what the panel shares with other scripts.
    found = {name for name in found if not name.startswith("shared-")}
    assert found == {"panel.js", "live.css", "trace.json"}


def test_without_scripts_all_is_there_to_read_and_no_button(plain: Page, address: str) -> None:
    plain.goto(address + MHA)
    assert plain.locator("h1").inner_text().startswith("Multi-Head Attention")
    assert plain.locator(".line[id]").count() > 60
    assert plain.locator("math").count() > 3
    for place in (".katex-html", ".row .note", ".shape", "section.run summary"):
        expect(plain.locator(place).first).to_be_visible()
    expect(plain.locator("section.run")).to_contain_text("steps, with the numbers of each line")
    expect(plain.locator(".quiz")).to_have_count(0)
    # Nor is room kept for what doesn't come.
    content = "getComputedStyle(document.querySelector('.md-header__inner'), '::after').content"
    assert plain.evaluate(content) == "none"
    expect(plain.get_by_role("button", name="Search")).to_have_count(0)
    expect(plain.locator("article button")).to_have_count(0)
    plain.goto(address)
    # What a model wrote for the record stands there.
    expect(plain.locator("figure.typed")).to_contain_text("ROMEO:")
    expect(plain.locator("article button").filter(visible=True)).to_have_count(0)


PAGES = [
    "",
    "transformers/",
    MHA,
    "transformers/basic/autoregressive_experiment/",
    "training/loop/",
    "literate/page/",
    "changelog/",
    "contributing/",
    "rules/",
    # Boxes to tick.
    "course/",
    # Links in captions and on code, and a neighbour with an apostrophe in its title.
    "results/ways/",
    "transformers/memory/",
]


@pytest.mark.parametrize("pages", [PAGES[:1], *further(PAGES[1:])])
def test_no_page_has_a_barrier(page: Page, address: str, pages: list[str]) -> None:
    found = []
    for one in pages:
        page.goto(address + one, wait_until="networkidle")
        for system, width in product(SCHEMES, (1400, 400)):
            page.emulate_media(color_scheme=system)
            expect(page.locator("body")).to_have_attribute("data-md-color-scheme", SCHEMES[system])
            page.set_viewport_size({"width": width, "height": 900})
            # Colours and drawers that are still on their way have another contrast.
            page.evaluate("Promise.all(document.getAnimations().map(one => one.finished))")
            found += barriers(page)
    assert found == []


@pytest.mark.parametrize("system", ["light", *further("dark")])
def test_colours_are_those_of_the_system_until_others_are_chosen(
    browser: Browser, address: str, system: str
) -> None:
    other = "dark" if system == "light" else "light"
    with browser.new_context(color_scheme=system) as context:
        page = context.new_page()
        page.goto(address + MHA)
        body = page.locator("body")
        expect(body).to_have_attribute("data-md-color-scheme", SCHEMES[system])
        page.emulate_media(color_scheme=other)
        expect(body).to_have_attribute("data-md-color-scheme", SCHEMES[other])
        # By the one button that is seen; what was chosen outlives the page.
        for scheme in ("light", "dark"):
            page.locator("[name=__palette] + label").filter(visible=True).click()
            expect(body).to_have_attribute("data-md-color-scheme", SCHEMES[scheme])
        page.emulate_media(color_scheme="light")
        page.reload()
        expect(body).to_have_attribute("data-md-color-scheme", "slate")


def copied(page: Page, name: str, role: str, label: str) -> str:
    r"""What is on the clipboard after a button or a link of a definition's row was clicked."""
    row = page.locator(".row", has=page.locator(f"[id='{name}']"))
    row.locator(".code").hover()
    row.get_by_role(role, name=label).click()
    # The browser answers when it has written.
    page.wait_for_function(COPIED)
    return page.evaluate("navigator.clipboard.readText()")


def test_code_is_copied_without_numbers_and_shapes_and_a_definition_with_all_it_needs(
    browser: Browser, repository: Path, address: str, site: Path
) -> None:
    source = read(repository / "labml_nn/transformers/mha.py")
    method = next(one for one in source.definitions if one.name == NAME)
    row = next(one for one in rows(source) if one.code and one.code[0].number == method.first)
    with browser.new_context(permissions=["clipboard-read", "clipboard-write"]) as context:
        page = context.new_page()
        page.goto(address + MHA, wait_until="networkidle")
        selected = page.locator(".row", has=page.locator(f"[id='{NAME}']")).evaluate(
            """row => {
                getSelection().selectAllChildren(row.querySelector('.code code'));
                return getSelection().toString();
            }"""
        )
        lines = copied(page, NAME, "button", "Copy line")
        page.reload(wait_until="networkidle")
        snippet = copied(page, "MultiHeadAttention", "link", "Snippet")
    assert lines == "".join(line.text for line in row.code)
    assert [line for line in selected.split("\n") if line.strip()] == lines.splitlines()
    # What the command prints, too, as the tests of small sites show.
    served = site / "snippets/transformers/mha/MultiHeadAttention.py"
    assert snippet == served.read_text(encoding="utf-8")


@pytest.mark.parametrize("page", [MHA, *further("transformers/", "changelog/")])
def test_a_copy_on_the_disk_reads_as_the_site_does(
    browser: Browser, site: Path, address: str, page: str
) -> None:
    look = """() => {
        const each = (selector, what) => [...document.querySelectorAll(selector)].map(what);
        return {
            // Those of the system take the place of what comes late.
            fonts: [...document.fonts]
                .filter(one => one.status == 'loaded' && !one.family.includes('system'))
                .map(one => one.family),
            // Its unbroken pieces: where a line ends depends on the face of the text, which a
            // browser leaves out if it comes late.
            formulas: each('.katex-html .katex-base', one => [one.innerText, one.offsetWidth]),
            hidden: each('.katex-mathml', one => one.offsetWidth),
            text: document.querySelector('article').innerText,
            background: each('.row .code', one => getComputedStyle(one).backgroundColor),
            notes: each('.row .note', one => one.offsetWidth),
        };
    }"""
    found = []
    for start in (address, site.as_uri() + "/"):
        # The recorded run, which a browser does not fetch from the disk, is below the first screen.
        with browser.new_context(viewport={"width": 1400, "height": 500}) as context:
            tab = context.new_page()
            tab.goto(f"{start}{page}index.html", wait_until="networkidle")
            tab.evaluate("document.fonts.ready.then(() => true)")
            found.append(tab.evaluate(look))
    served, copied = found
    assert copied == served
    assert len(copied["text"]) > 100
    assert page != MHA or ("KaTeX_Math" in copied["fonts"] and len(copied["formulas"]) > 3)


def test_on_the_disk_links_lead_to_pages_and_the_recorded_run_is_stepped_through(
    browser: Browser, site: Path
) -> None:
    with browser.new_context(viewport={"width": 1400, "height": 900}) as context:
        page = context.new_page()
        page.goto(site.as_uri() + "/index.html")
        page.locator("article").get_by_role("link", name="The lessons").click()
        page.locator("article").get_by_role("link", name="Multi-Head Attention").first.click()
        expect(page.locator("h1")).to_contain_text("Multi-Head Attention")
        page.get_by_role("button", name="Step through the recorded run").click()
        expect(page.locator("section.run canvas")).to_be_visible()
        before = page.locator(".line.stepped").get_attribute("id")
        page.get_by_role("button", name="Next step").click()
        expect(page.locator(f".line.stepped:not(#{before})")).to_have_count(1)


def test_each_step_of_the_course_can_be_ticked_and_stays_so(page: Page, address: str) -> None:
    page.goto(address + "course/", wait_until="networkidle")
    boxes = page.locator(".task-list-item > input")
    assert boxes.count() == 12
    boxes.nth(1).check()
    page.reload(wait_until="networkidle")
    # Who ticks them again is a script, which on a busy machine comes after the network is idle.
    expect(boxes.nth(1)).to_be_checked()
    # The next one is about another part of the same page.
    assert [boxes.nth(at).is_checked() for at in range(12)] == [at == 1 for at in range(12)]
    boxes.nth(1).uncheck()
    page.reload(wait_until="networkidle")
    expect(boxes.nth(1)).not_to_be_checked()
