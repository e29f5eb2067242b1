r"""Six pages are edited in Firefox, a mistake trains there, and a file says what to do."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.browser.firefox import PROGRAM, Firefox, running_firefox
from tests.browser.test_edit import guarded

pytestmark = [
    pytest.mark.whole,
    pytest.mark.skipif(PROGRAM is None, reason="there is no Firefox here"),
]
PAGES = (
    "basics/autograd/",
    "fine_tuning/lora/",
    "training/loop/",
    "transformers/mha/",
    "transformers/mistakes/masks/",
    "transformers/rotary/",
)
EDIT = "[...document.querySelectorAll('button')].find(one => one.textContent.startsWith('Edit ('))"
RUN = (
    "[...document.querySelectorAll('.editor .runs')].find(one => one.textContent.startsWith('Run'))"
)
STATUS = "const said = document.querySelector('.editor .status')?.textContent ?? '';"


@pytest.fixture(scope="module")
def firefox(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Firefox]:
    with running_firefox(tmp_path_factory.mktemp("firefox")) as firefox:
        yield firefox


@pytest.fixture(scope="module")
def address(site: Path) -> Iterator[str]:
    with guarded(site) as (address, _):
        yield address


@pytest.mark.parametrize("page", PAGES)
def test_the_run_is_that_of_the_page(firefox: Firefox, address: str, page: str) -> None:
    firefox.go(address + page)
    firefox.until(f"return Boolean({EDIT})")
    firefox.run(f"{EDIT}.click()")
    firefox.until(f"{STATUS} return said.includes('Ready after')")
    firefox.run(f"{RUN}.click()")
    said = firefox.until(f"{STATUS} return said.startsWith('Ran in') && said")
    assert "Shapes and values are those of the page’s own run" in said


def test_a_mistake_trains(firefox: Firefox, address: str) -> None:
    firefox.go(address + "transformers/mistakes/masks/")
    firefox.until("return document.querySelectorAll('section.train button').length === 6")
    firefox.run("document.querySelector('section.train button').click()")
    firefox.until(f"{STATUS} return said.startsWith('Ready')")
    firefox.run("document.querySelector('.training input[type=number]').value = 5")
    firefox.run("document.querySelector('.training .runs').click()")
    said = firefox.until(f"{STATUS} return said.includes('has not seen') && said")
    assert said.startswith("5 steps in")


def test_a_page_that_is_a_file_says_what_to_do(firefox: Firefox, site: Path) -> None:
    firefox.go((site / "transformers/mha/index.html").as_uri())
    firefox.until(f"return Boolean({EDIT})")
    firefox.run(f"{EDIT}.click()")
    said = firefox.until("return document.querySelector('.refused')?.textContent")
    assert "python -m http.server" in said
