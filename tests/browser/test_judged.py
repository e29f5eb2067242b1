r"""The example project of an author: a line of plain Python is judged in the page."""

from pathlib import Path

from playwright.sync_api import Page, expect

from tests.browser.conftest import PATIENCE, served
from tests.browser.test_edit import press, ready, retype, says
from tests.literate.projects import succeed
from tests.literate.test_judged import copied


def test_a_line_of_plain_python_is_judged_and_each_line_tells_what_it_binds(
    page: Page, tmp_path: Path
) -> None:
    folder = copied(tmp_path)
    succeed(folder, "mkdocs", "build", "-q")
    with served(folder / "site") as address:
        page.goto(f"{address}insertion/")
        page.get_by_role("button", name="Write a line of Hand.take").click()
        ready(page)
        press(page, "Check")
        says(page, "Nothing to judge yet")
        retype(page, "YOUR_LINE", "self.cards.append(card)")
        press(page, "Check")
        says(page, "This is a known mistake: the card goes to the right end, whatever it is")
        retype(page, "self.cards.append", "self.cards[place:place] = [card]")
        press(page, "Check")
        says(page, "Right: the same results")
        press(page, "Run")
        says(page, "Ran in")
        line = page.locator(".editor .cm-content .cm-line", has_text="place = len(")
        line.click()
        expect(page.locator(".editor .details")).to_contain_text("place int: 0", timeout=PATIENCE)
