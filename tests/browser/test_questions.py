r"""Questions with answers to choose from: the reader is told why each answer is right or wrong."""

import json

from playwright.sync_api import Page, expect

from tests.browser.conftest import MHA, barriers

QUESTION = "details.question:has(.answers, .task-list)"
WRONG = "Without it, the exponentials of the softmax overflow."
BECAUSE = "The softmax subtracts the largest score first."
RIGHT = "The sum of more products varies more, and one key would get most of the weight."


def test_an_answer_is_judged_with_its_reason(mha: Page) -> None:
    question = mha.locator(QUESTION)
    question.locator("summary").click()
    expect(question.get_by_role("radio")).to_have_count(4)
    # Nothing is given away before a choice.
    expect(question.locator(".because:visible")).to_have_count(0)
    expect(question.get_by_role("radio", checked=True)).to_have_count(0)

    question.get_by_role("radio", name=WRONG).click()
    expect(question.locator(".because:visible")).to_have_count(1)
    expect(question.get_by_role("status")).to_contain_text(f"Not this one. {BECAUSE}")

    # By the keyboard, too. What was said before stays, to be compared.
    for _ in range(2):
        mha.keyboard.press("ArrowDown")
    expect(question.get_by_role("radio", name=RIGHT)).to_be_checked()
    expect(question.get_by_role("status")).to_contain_text("Right. Yes.")
    expect(question.locator(".answer.right")).to_have_count(1)


def test_on_paper_the_reasons_stand_below_all_answers(mha: Page) -> None:
    mha.emulate_media(media="print")
    # A browser that prints says so, and the theme opens what is closed.
    mha.evaluate("dispatchEvent(new Event('beforeprint'))")
    question = mha.locator(QUESTION)
    answers, reasons = question.locator(".answer label"), question.locator(".because:visible")
    expect(reasons).to_have_count(4)
    mark = "all => all.map(one => getComputedStyle(one, '::before').content.includes('✓'))"
    assert sum(reasons.evaluate_all(mark)) == 1
    assert question.locator(".answer", has_text=RIGHT).locator(".because").evaluate_all(mark) == [
        True
    ]
    bottom = answers.last.bounding_box()
    top = reasons.first.bounding_box()
    assert bottom and top and bottom["y"] + bottom["height"] <= top["y"]


def answer(page: Page, address: str, text: str) -> None:
    r"""Open the question of the attention page, and choose an answer."""
    page.goto(address + MHA, wait_until="networkidle")
    page.locator(f"{QUESTION} summary").click()
    page.locator(QUESTION).get_by_role("radio", name=text).click()


def test_what_was_wrong_comes_back_until_it_was_right_twice(page: Page, address: str) -> None:
    again = page.get_by_role("region", name="Three from last week")

    def on(day: int) -> None:
        page.clock.set_fixed_time(f"2026-11-{day:02}T10:00:00")
        page.goto(address + "course/", wait_until="networkidle")

    on(2)
    expect(again).to_contain_text("comes back here from the next day on")
    # What was right at once doesn't come back.
    answer(page, address, RIGHT)
    on(2)
    expect(again).to_contain_text("comes back here from the next day on")
    answer(page, address, WRONG)
    on(2)
    expect(again).to_contain_text("1 question waits. The next one comes back on Tuesday")
    on(3)
    question = again.locator("details.question")
    expect(question).to_contain_text("Why")
    assert barriers(page, ".again") == []
    # It leads where it leads from its own page.
    expect(again.get_by_role("link", name="Multi-Head Attention").first).to_be_visible()
    question.get_by_role("radio", name=RIGHT).click()
    expect(again).to_contain_text("It comes back in a week.")
    on(4)
    expect(question).to_have_count(0)
    on(10)
    with page.expect_download() as download:
        again.get_by_role("button", name="Export").click()
    (kept,) = json.loads(download.value.path().read_text("utf-8"))
    assert (kept["right"], kept["due"][:10]) == (1, "2026-11-10")
    question.get_by_role("radio", name=RIGHT).click()
    expect(again).to_contain_text("It stays away from now on.")
    on(20)
    expect(again).to_contain_text("comes back here from the next day on")


def test_nothing_is_kept_of_a_reader_who_has_switched_it_off(page: Page, address: str) -> None:
    answer(page, address, WRONG)
    page.goto(address + "course/")
    page.get_by_label("Keep what I get wrong").uncheck()
    answer(page, address, WRONG)
    page.goto(address + "course/")
    expect(page.locator(".again")).to_contain_text("Nothing is kept")
    kept = page.evaluate("Object.keys(localStorage).filter(key => key.startsWith('again'))")
    assert kept == []


def test_nothing_is_in_the_way_on_any_screen(screen: Page, address: str) -> None:
    screen.goto(address + MHA, wait_until="networkidle")
    question = screen.locator(QUESTION)
    question.locator("summary").click()
    question.get_by_role("radio", name=WRONG).click()
    assert barriers(screen, QUESTION) == []


def test_without_scripts_all_answers_can_be_read(plain: Page, address: str) -> None:
    plain.goto(address + MHA)
    plain.locator(f"{QUESTION} summary").click()
    expect(plain.locator(QUESTION)).to_contain_text(BECAUSE)
    expect(plain.locator(f"{QUESTION} input:checked")).to_have_count(1)
