r"""The colours of a page: the system's, or those that the reader has chosen."""

import pytest
from playwright.sync_api import Browser, expect

from tests.browser.conftest import MHA

SCHEMES = {"light": "default", "dark": "slate"}


@pytest.mark.parametrize("system", ["light", "dark"])
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
