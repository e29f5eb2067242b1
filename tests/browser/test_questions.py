r"""Questions with answers to choose from: the reader is told why each answer is right or wrong."""

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
