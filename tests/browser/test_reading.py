r"""The attention page of the site that `make site` builds, read in a browser."""

from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from literate.reading.rows import rows
from literate.reading.source import Line, read
from tests.browser.conftest import MHA, barriers
from tests.literate.projects import succeed

# A definition whose code is one row.
NAME = "PrepareForMultiHeadAttention.__init__"

# The boxes of each row that has both a note and code.
ROWS = """() => [...document.querySelectorAll('.row')].map(row => {
    const box = one => one && one.getBoundingClientRect().toJSON();
    return {
        wide: row.classList.contains('wide'),
        note: box(row.querySelector('.note > :first-child')),
        code: box(row.querySelector('.code .line')),
    };
}).filter(row => row.note && row.code)"""

# The panel of the run has a status of its own.
COPIED = """[...document.querySelectorAll('[role=status]')]
    .some(one => one.textContent === 'Copied')"""


def test_each_line_of_code_stands_on_the_page_once_with_its_number(
    mha: Page, repository: Path
) -> None:
    source = read(repository / "labml_nn/transformers/mha.py")
    lines = mha.evaluate(
        """() => [...document.querySelectorAll('.line[id]')].map(line => [
            line.id,
            line.querySelector('a[data-line]').dataset.line,
            line.lastElementChild.textContent])"""
    )
    assert lines == [
        [f"L{line.number}", str(line.number), line.text.rstrip("\n")]
        for line in source.lines
        if line.kind == "code"
    ]


def test_notes_stand_left_of_their_code_and_start_on_its_line(mha: Page) -> None:
    rows = mha.evaluate(ROWS)
    above, beside = ([row for row in rows if row["wide"] is wide] for wide in (True, False))
    assert len(above) >= 2 and len(beside) > 10
    # A long note of a class stands above its code.
    assert all(row["note"]["bottom"] <= row["code"]["top"] for row in above)
    for row in beside:
        assert row["note"]["right"] <= row["code"]["left"]
        assert abs(row["note"]["top"] - row["code"]["top"]) < 8


def test_on_a_narrow_screen_the_note_stands_above_and_nothing_scrolls_sideways(mha: Page) -> None:
    mha.set_viewport_size({"width": 400, "height": 800})
    rows = mha.evaluate(ROWS)
    assert len(rows) > 10
    assert all(row["note"]["bottom"] <= row["code"]["top"] for row in rows)
    assert mha.evaluate("document.documentElement.scrollWidth") == 400
    # Each line is high enough for a finger.
    heights = mha.evaluate(
        "[...document.querySelectorAll('.line[id]')].map(one => one.getBoundingClientRect().height)"
    )
    assert len(heights) > 60 and min(heights) >= 24


def test_no_line_of_code_is_cut_at_1366_pixels(mha: Page) -> None:
    mha.set_viewport_size({"width": 1366, "height": 768})
    cut = mha.evaluate(
        """() => [...document.querySelectorAll('.row pre')]
            .filter(pre => pre.scrollWidth > pre.clientWidth)
            .map(pre => pre.textContent)"""
    )
    assert cut == []


def code_beside(repository: Path) -> list[Line]:
    r"""The code of the row that the method begins: up to its first comment."""
    source = read(repository / "labml_nn/transformers/mha.py")
    method = next(one for one in source.definitions if one.name == NAME)
    row = next(one for one in rows(source) if one.code and one.code[0].number == method.first)
    return list(row.code)


def test_copied_code_has_neither_numbers_nor_shapes(mha: Page, repository: Path) -> None:
    copied = mha.evaluate(
        """() => {
            const code = document.getElementById('PrepareForMultiHeadAttention.__init__')
                .closest('.row').querySelector('.code code');
            getSelection().selectAllChildren(code);
            return getSelection().toString();
        }"""
    )
    lines = [line.text.rstrip("\n") for line in code_beside(repository)]
    assert [line for line in copied.split("\n") if line.strip()] == lines


def test_measured_shapes_are_shown_at_the_end_of_their_lines(mha: Page) -> None:
    shapes = mha.evaluate(
        """() => [...document.querySelectorAll('.shape')].map(shape => [
            shape.parentElement.textContent.trim(),
            getComputedStyle(shape, '::after').content,
            shape.title,
            shape.getBoundingClientRect().toJSON(),
            shape.parentElement.lastElementChild.getBoundingClientRect().toJSON()])"""
    )
    letters = [content for code, content, *_ in shapes if code.startswith("scores = ")]
    assert letters[0].strip('"').split(" (")[0] in ("i j b h", "i i b h")
    titles = [title for _, _, title, _, _ in shapes]
    assert any("[seq_len_q, seq_len_k, batch_size, heads]" in title for title in titles)
    assert len(shapes) > 10
    # On the line, to the right of the code.
    for code, _, _, shape, text in shapes:
        assert shape["left"] >= text["right"], code
        assert abs(shape["top"] - text["top"]) < 3, code
        assert text["height"] < 30, code
    legend = mha.locator("article .axes")
    expect(legend).to_have_count(1)
    expect(legend).to_contain_text("h heads")


def test_a_link_to_a_line_brings_it_into_view_below_the_header(page: Page, address: str) -> None:
    page.goto(address + MHA, wait_until="networkidle")
    line = page.evaluate("[...document.querySelectorAll('.line[id]')].at(-30).id")
    page.goto(address + MHA + "#" + line, wait_until="networkidle")
    target = page.locator(f"#{line}").bounding_box()
    header = page.locator(".md-header").bounding_box()
    assert header["y"] + header["height"] <= target["y"] < 900 - target["height"]


def test_formulas_are_set_with_the_fonts_of_the_site(mha: Page) -> None:
    assert mha.evaluate("document.fonts.load('16px KaTeX_Math').then(all => all.length)") > 0
    loaded = mha.evaluate(
        "performance.getEntriesByType('resource').map(one => one.name)"
        ".filter(name => name.includes('KaTeX_'))"
    )
    assert any(name.endswith(".woff2") for name in loaded)


@pytest.mark.parametrize("width", [1400, 400])
def test_nothing_moves_while_a_page_comes_and_is_read(page: Page, address: str, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 900})
    page.add_init_script(
        """window.moved = [];
        new PerformanceObserver(list => moved.push(...list.getEntries().map(one => one.value)))
            .observe({type: 'layout-shift', buffered: true});"""
    )
    page.goto(address + MHA, wait_until="networkidle")
    for _ in range(page.evaluate("document.body.scrollHeight") // 600):
        page.mouse.wheel(0, 600)
        page.evaluate("new Promise(requestAnimationFrame)")
    # Fonts that come late on a busy machine move what nobody sees; from 0.1 on it is seen.
    assert sum(page.evaluate("moved")) < 0.01


def test_without_scripts_the_page_reads_in_full(browser: Browser, address: str) -> None:
    with browser.new_context(java_script_enabled=False) as context:
        page = context.new_page()
        page.goto(address + MHA)
        assert page.locator("h1").inner_text().startswith("Multi-Head Attention")
        assert page.locator(".line[id]").count() > 60
        assert page.locator("math").count() > 3
        assert page.locator(".katex-html").first.is_visible()
        assert page.locator(".row .note").first.is_visible()


PAGES = [
    "",
    "transformers/",
    MHA,
    "transformers/basic/autoregressive_experiment/",
    "training/loop/",
    "literate/page/",
    "changelog/",
    "contributing/",
    # Boxes to tick.
    "course/",
    # Links in captions and on code, and a neighbour with an apostrophe in its title.
    "results/ways/",
    "transformers/memory/",
]


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1400, 400])
def test_no_page_has_a_barrier(browser: Browser, address: str, scheme: str, width: int) -> None:
    viewport = {"width": width, "height": 900}
    with browser.new_context(color_scheme=scheme, viewport=viewport) as context:
        page = context.new_page()
        found = []
        for one in PAGES:
            page.goto(address + one, wait_until="networkidle")
            found += barriers(page)
        background = page.locator("body").get_attribute("data-md-color-scheme")
    assert background == {"light": "default", "dark": "slate"}[scheme]
    assert found == []


def copied(page: Page, name: str, role: str, label: str) -> str:
    r"""What is on the clipboard after a button or a link of a definition's row was clicked."""
    row = page.locator(".row", has=page.locator(f"[id='{name}']"))
    row.locator(".code").hover()
    row.get_by_role(role, name=label).click()
    # The browser answers when it has written.
    page.wait_for_function(COPIED)
    return page.evaluate("navigator.clipboard.readText()")


def test_the_lines_of_a_row_are_copied_and_a_definition_with_all_that_it_needs(
    browser: Browser, repository: Path, address: str
) -> None:
    with browser.new_context(permissions=["clipboard-read", "clipboard-write"]) as context:
        page = context.new_page()
        page.goto(address + MHA, wait_until="networkidle")
        lines = copied(page, NAME, "button", "Copy line")
        page.reload(wait_until="networkidle")
        snippet = copied(page, "MultiHeadAttention", "link", "Snippet")
    assert lines == "".join(line.text for line in code_beside(repository))
    command = ("literate", "snippet", "labml_nn/transformers/mha.py:MultiHeadAttention")
    assert snippet == succeed(repository, *command)


def test_a_name_in_the_code_leads_to_its_definition(page: Page, address: str) -> None:
    page.goto(address + "transformers/models/", wait_until="networkidle")
    page.locator(".line a", has_text="MultiHeadAttention").last.click()
    page.wait_for_url(f"**/{MHA}#MultiHeadAttention")
    assert page.locator(":target").inner_text().startswith("Multi-head attention")


@pytest.mark.parametrize("page", [MHA, "transformers/", "changelog/"])
def test_a_copy_on_the_disk_reads_as_the_site_does(
    browser: Browser, site: Path, address: str, page: str
) -> None:
    look = """() => {
        const each = (selector, what) => [...document.querySelectorAll(selector)].map(what);
        return {
            fonts: [...document.fonts].filter(one => one.status == 'loaded').map(one => one.family),
            formulas: each('.katex-html', one => [one.innerText, one.offsetWidth]),
            hidden: each('.katex-mathml', one => one.offsetWidth),
            text: document.querySelector('article').innerText,
            background: each('.row .code', one => getComputedStyle(one).backgroundColor),
            notes: each('.row .note', one => one.offsetWidth),
        };
    }"""
    found = []
    for start in (address, site.as_uri() + "/"):
        with browser.new_context(viewport={"width": 1400, "height": 900}) as context:
            tab = context.new_page()
            tab.goto(f"{start}{page}index.html", wait_until="networkidle")
            tab.evaluate("document.fonts.ready.then(() => true)")
            found.append(tab.evaluate(look))
    served, copied = found
    assert copied == served
    assert len(copied["text"]) > 100
    assert page != MHA or ("KaTeX_Math" in copied["fonts"] and len(copied["formulas"]) > 3)


def test_no_formula_is_cut_and_no_column_is_empty_for_long(page: Page, address: str) -> None:
    for path in (MHA, "transformers/memory/flash/", "transformers/positions/alibi/"):
        page.goto(address + path, wait_until="networkidle")
        cut = page.evaluate(
            """() => [...document.querySelectorAll('.row .katex-display')]
                .filter(one => one.scrollWidth > one.clientWidth + 1).length"""
        )
        assert cut == 0, path
        beside = [row for row in page.evaluate(ROWS) if not row["wide"]]
        heights = page.evaluate(
            """() => [...document.querySelectorAll('.row:not(.wide)')].map(row => {
                const height = one => one ? one.getBoundingClientRect().height : 0;
                const note = [...row.querySelectorAll('.note > *')].map(height);
                const code = height(row.querySelector('.code pre'));
                return [note.reduce((sum, one) => sum + one, 0), code];
            })"""
        )
        assert beside and max(abs(note - code) for note, code in heights) < 450, path


def test_each_step_of_the_course_can_be_ticked_and_stays_so(browser: Browser, address: str) -> None:
    with browser.new_context() as context:
        page = context.new_page()
        page.goto(address + "course/", wait_until="networkidle")
        boxes = page.locator(".task-list-item > input")
        assert boxes.count() == 12
        boxes.nth(1).check()
        page.reload(wait_until="networkidle")
        # The next one is about another part of the same page.
        assert [boxes.nth(at).is_checked() for at in range(12)] == [at == 1 for at in range(12)]
        boxes.nth(1).uncheck()
        page.reload(wait_until="networkidle")
        assert not boxes.nth(1).is_checked()
