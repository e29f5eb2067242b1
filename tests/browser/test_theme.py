r"""The colours of a page: the system's, or those that the reader has chosen."""

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import urljoin

import pytest
from playwright.sync_api import Browser, Page

MHA = "transformers/mha/"
SYSTEM, LIGHT, DARK = 0, 1, 2
SCHEMES = {"light": "default", "dark": "slate"}
GROUND = "getComputedStyle(document.body).backgroundColor"


@pytest.fixture(scope="module")
def address(serve: Callable[[Path], str], site: Path) -> str:
    return urljoin(serve(site), MHA)


@pytest.fixture(params=["light", "dark"])
def system(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture
def reader(browser: Browser, system: str) -> Iterator[Page]:
    with browser.new_context(color_scheme=system) as context:
        yield context.new_page()


def shown(page: Page) -> tuple[str | None, str, int]:
    r"""The scheme, how the bars of the browser are told to look, and which choice is marked."""
    page.wait_for_function("document.querySelector('meta[name=theme-color]')")
    return (
        page.locator("body").get_attribute("data-md-color-scheme"),
        page.evaluate("document.querySelector('meta[name=color-scheme]')?.content ?? 'light'"),
        page.evaluate(
            "[...document.querySelectorAll('[name=__palette]')].findIndex(x => x.checked)"
        ),
    )


def choose_next(page: Page) -> None:
    r"""By the one button that is seen."""
    (label,) = page.locator("[name=__palette] + label").filter(visible=True).all()
    label.click()


def test_a_reader_who_has_chosen_nothing_has_the_colours_of_the_system(
    reader: Page, address: str, system: str
) -> None:
    reader.goto(address)
    assert shown(reader) == (SCHEMES[system], system, SYSTEM)
    other = "dark" if system == "light" else "light"
    before = reader.evaluate(GROUND)
    reader.emulate_media(color_scheme=other)
    reader.wait_for_function(f"document.body.dataset.mdColorScheme === '{SCHEMES[other]}'")
    assert shown(reader) == (SCHEMES[other], other, SYSTEM)
    assert reader.evaluate(GROUND) != before


def test_the_colours_of_the_system_are_there_before_any_of_the_page_is_seen(
    reader: Page, address: str, system: str
) -> None:
    r"""With that script alone that the page waits for."""
    others = re.compile(r".*/(?!colors)[^/]*\.js")
    reader.route(others, lambda route: route.abort())
    reader.goto(address)
    assert reader.locator("body").get_attribute("data-md-color-scheme") == SCHEMES[system]
    reader.unroute(others)
    reader.reload()
    assert shown(reader) == (SCHEMES[system], system, SYSTEM)
    # As the system is now, not as it was when the reader was here last.
    other = "dark" if system == "light" else "light"
    reader.emulate_media(color_scheme=other)
    reader.route(others, lambda route: route.abort())
    reader.reload()
    assert reader.locator("body").get_attribute("data-md-color-scheme") == SCHEMES[other]


def test_a_click_leads_to_the_next_colours_and_round(
    reader: Page, address: str, system: str
) -> None:
    reader.goto(address)
    shown(reader)
    for index, scheme in ((LIGHT, "light"), (DARK, "dark"), (SYSTEM, system), (LIGHT, "light")):
        choose_next(reader)
        assert shown(reader) == (SCHEMES[scheme], scheme, index)


def test_the_enter_key_does_the_same_and_stays_there(reader: Page, address: str) -> None:
    reader.goto(address)
    shown(reader)
    reader.locator("#__palette_0").focus()
    for index, scheme in ((LIGHT, "light"), (DARK, "dark")):
        reader.keyboard.press("Enter")
        assert shown(reader) == (SCHEMES[scheme], scheme, index)
        assert reader.evaluate("document.activeElement.id") == f"__palette_{index}"
    assert reader.url == address


def test_what_was_chosen_is_there_before_any_of_the_page_is_seen(
    reader: Page, address: str
) -> None:
    reader.goto(address)
    shown(reader)
    choose_next(reader)
    choose_next(reader)
    # Without the scripts that come last: what the page has without them, it has from the start.
    reader.route("**/literate.js", lambda route: route.abort())
    reader.reload()
    assert reader.locator("body").get_attribute("data-md-color-scheme") == "slate"
    reader.unroute("**/literate.js")
    reader.reload()
    assert shown(reader) == ("slate", "dark", DARK)
    reader.emulate_media(color_scheme="light")
    reader.emulate_media(color_scheme="dark")
    reader.emulate_media(color_scheme="light")
    assert shown(reader) == ("slate", "dark", DARK)


def test_nothing_makes_the_browser_look_at_all_elements_again(
    browser: Browser, address: str
) -> None:
    r"""What every element inherits is as it was built, and so are the blocks of code."""
    colours = (
        "['scheme', 'primary', 'accent'].map(x => document.body.getAttribute(`data-md-color-${x}`))"
    )
    with browser.new_context(java_script_enabled=False) as context:
        page = context.new_page()
        page.goto(address)
        built = page.evaluate(colours)
    with browser.new_context(color_scheme="light") as context:
        page = context.new_page()
        page.goto(address, wait_until="networkidle")
        shown(page)
        assert page.evaluate(colours) == built
        assert page.locator("meta[name=color-scheme]").count() == 0
        # The theme's script gives each block of code a name, and asks for the page's layout.
        assert page.locator(".row pre").count() > 0
        assert page.locator("[id^=__code]").count() == 0
