r"""The model that writes on the page of the cache, with it and without, compared with torch."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
import torch
from playwright.sync_api import Page, expect

from labml_nn.training.sampling import generate, greedy
from tests.browser.conftest import addresses_asked, barriers, low, model_of

BUTTON = re.compile(r"\(0\.\d MB\)")
PROMPT = "JULIET:\nO "
PLACE = "transformers/kv_cache/"


def start(page: Page, address: str) -> None:
    r"""Open the page of the cache, and fetch the model."""
    page.goto(f"{address}{PLACE}", wait_until="networkidle")
    page.get_by_role("button", name=BUTTON).click()
    expect(page.locator("form.writing")).to_be_visible()


def choose(page: Page, **values: Any) -> None:
    r"""Fill in the form, by the beginnings of the labels."""
    for label, value in values.items():
        page.get_by_label(re.compile(f"^{label.replace('_', '.')}")).fill(str(value))


def write(page: Page) -> list[str]:
    r"""Let the model write to the end; what was written in each way."""
    status = page.locator(".writing [role=status]")
    status.evaluate("one => one.textContent = ''")
    page.get_by_role("button", name="Write", exact=True).click()
    expect(status).to_contain_text("The text:")
    return page.locator(".written").all_text_contents()


def test_both_ways_write_what_torch_writes(page: Page, address: str, site: Path) -> None:
    start(page, address)
    graph = json.loads((site / "assets" / "live" / "write.json").read_text())
    n = graph["seq_len"] - len(PROMPT)
    choose(page, The_text=PROMPT, Temperature=0, Characters=n)
    found = write(page)
    symbols = graph["symbols"]
    tokens = torch.tensor([symbols.index(one) for one in PROMPT])[:, None]
    written = generate(model_of(site, graph), tokens, n, graph["seq_len"], greedy)[:, 0]
    assert found == ["".join(symbols[token] for token in written)] * 2


def test_the_cache_changes_nothing_beyond_the_context_either(page: Page, address: str) -> None:
    start(page, address)
    choose(page, The_text=PROMPT, Temperature=0.9, Top_k=20, Top_p=0.95, Min_p=0.02, Characters=60)
    cached, whole = write(page)
    assert cached == whole
    assert cached.startswith(PROMPT) and len(cached) == len(PROMPT) + 60
    for speed in page.locator(".writing .speed").all_inner_texts():
        assert re.fullmatch(r"[\d.]+ tokens a second", speed)

    # Another time it writes something else.
    again, _ = write(page)
    assert again != cached


def test_filters_leave_only_the_likeliest(page: Page, address: str) -> None:
    start(page, address)
    choose(page, The_text=PROMPT, Temperature=0, Characters=20)
    greedy_text = write(page)
    for choice in ({"Top_k": 1}, {"Top_k": 0, "Top_p": 0.05}, {"Top_p": 1, "Min_p": 1}):
        choose(page, Temperature=1, **choice)
        assert write(page) == greedy_text


def test_it_can_be_stopped(page: Page, address: str) -> None:
    start(page, address)
    choose(page, The_text=PROMPT, Characters=1000)
    page.get_by_role("button", name="Write", exact=True).click()
    written = page.locator(".written").first
    expect(written).not_to_have_text(PROMPT)
    page.get_by_role("button", name="Stop").click()
    expect(page.get_by_role("button", name="Write", exact=True)).to_be_focused()
    text = written.text_content()
    assert len(PROMPT) < len(text) < len(PROMPT) + 1000
    # And go on with something else.
    choose(page, Characters=5)
    assert [len(one) for one in write(page)] == [len(PROMPT) + 5] * 2


def test_unknown_characters_are_said_and_an_empty_prompt_is_refused(
    page: Page, address: str
) -> None:
    start(page, address)
    choose(page, The_text="café", Characters=3)
    expect(page.locator("#prompt-said")).to_have_text("The model doesn’t know “é”, and reads “�”.")
    assert [len(one) for one in write(page)] == [7, 7]
    choose(page, The_text="")
    page.get_by_role("button", name="Write", exact=True).click()
    assert page.evaluate("document.querySelector('form.writing textarea').validity.customError")
    expect(page.get_by_role("button", name="Stop")).to_be_disabled()


@pytest.mark.whole
def test_it_writes_offline_once_it_is_fetched(page: Page, address: str) -> None:
    asked = addresses_asked(page)
    start(page, address)
    assert len([one for one in asked if "weights" in one]) == 1
    page.context.set_offline(True)
    choose(page, The_text=PROMPT, Characters=8)
    assert [len(one) for one in write(page)] == [len(PROMPT) + 8] * 2
    page.context.set_offline(False)


@pytest.mark.whole
def test_the_keyboard_alone_does_everything(page: Page, address: str) -> None:
    page.goto(f"{address}{PLACE}", wait_until="networkidle")
    page.get_by_role("button", name=BUTTON).focus()
    page.keyboard.press("Enter")
    expect(page.get_by_label("The text begins with")).to_be_focused()
    page.keyboard.press("ControlOrMeta+A")
    page.keyboard.type("KING")
    for name in ("Temperature", "Top-k", "Top-p", "Min-p", "Characters"):
        page.keyboard.press("Tab")
        expect(page.get_by_label(re.compile(f"^{name}"))).to_be_focused()
    page.keyboard.press("ControlOrMeta+A")
    page.keyboard.type("12")
    page.keyboard.press("Enter")
    expect(page.get_by_role("button", name="Write", exact=True)).to_be_focused()
    assert [len(one) for one in page.locator(".written").all_text_contents()] == [16, 16]
    expect(page.locator(".writing [role=status]")).to_contain_text("tokens a second")


def test_it_can_be_used_by_everybody_on_any_screen(screen: Page, address: str) -> None:
    start(screen, address)
    choose(screen, Characters=30)
    write(screen)
    fields = ".writing :is(textarea, input, button)"
    assert barriers(screen, "figure[data-write]") + low(screen, fields) == []
