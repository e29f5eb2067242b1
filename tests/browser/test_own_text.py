r"""The reader's own text on a page, in a browser, compared with torch for the same text."""

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import torch
from playwright.sync_api import Browser, Page, expect
from torch import Tensor, nn
from torch.testing import assert_close

from tests.browser.conftest import MHA, addresses_asked, barriers, further, low, model_of

TEXT = "But soft, what light through yonder window"
BEGIN = "Step through the recorded run"
BUTTON = re.compile(r"own text \(0\.\d MB\)")


def graph_of(site: Path, page: str) -> dict[str, Any]:
    return json.loads((site / page / "live.json").read_text())


def tokens_of(site: Path, page: str, text: str) -> Tensor:
    symbols = graph_of(site, page)["symbols"]
    numbers = [symbols.index(one) if one in symbols[:-1] else len(symbols) - 1 for one in text]
    return torch.tensor(numbers)[:, None]


@torch.no_grad()
def logits_of(site: Path, page: str, text: str) -> Tensor:
    return model_of(site, graph_of(site, page))(tokens_of(site, page, text))[:, 0]


def loss_of(logits: Tensor, tokens: Tensor) -> float:
    return nn.functional.cross_entropy(logits[:-1], tokens[1:, 0]).item()


@contextmanager
def without_head(layer: int, head: int) -> Iterator[None]:
    r"""The attention weights of one head are zero: those of the softmax with this number."""
    softmax, calls = Tensor.softmax, iter(range(99))

    def changed(scores: Tensor, dim: int) -> Tensor:
        weights = softmax(scores, dim)
        if next(calls) == layer:
            # `[seq_len, seq_len, batch_size, heads]`
            weights[..., head] = 0
        return weights

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Tensor, "softmax", changed)
        yield


def start(page: Page, address: str, text: str | None = TEXT) -> None:
    r"""Open a page, click the button, and wait for what the text gave."""
    page.goto(address, wait_until="networkidle")
    page.get_by_role("button", name=BEGIN).click()
    page.get_by_role("button", name=BUTTON).click()
    expect(page.locator(".next li")).to_have_count(8)
    if text is not None:
        give(page, text)


def give(page: Page, text: str) -> None:
    r"""Type a text, and wait until it has run."""
    page.evaluate("document.querySelector('.own-text .loss').textContent = ''")
    page.get_by_label("Your text").fill(text)
    expect(page.locator(".own-text .loss")).not_to_be_empty()


def told(page: Page, selector: str) -> list[tuple[str, float]]:
    r"""Characters with their probabilities, as they are shown: `[("e", 0.41), …]`."""
    pairs = []
    for words in page.locator(selector).all_inner_texts():
        sign, number, _ = words.split()
        pairs.append(({"␣": " ", "⏎": "\n"}.get(sign, sign), float(number) / 100))
    return pairs


@pytest.mark.parametrize("path", ["transformers/modern/attention/", *further(MHA)])
def test_next_characters_and_loss_are_those_of_torch(
    page: Page, address: str, site: Path, path: str
) -> None:
    start(page, address + path)
    symbols = graph_of(site, path)["symbols"]
    logits = logits_of(site, path, TEXT)
    loss = loss_of(logits, tokens_of(site, path, TEXT))
    expect(page.locator(".own-text .loss")).to_contain_text(f"{loss:.3f} nats")
    place = page.get_by_label("What comes after place")
    for at in (len(TEXT) - 1, 3):
        place.fill(str(at))
        probabilities, order = logits[at].softmax(dim=-1).sort(descending=True)
        for (character, shown), token, probability in zip(
            told(page, ".next li"), order.tolist(), probabilities.tolist(), strict=False
        ):
            assert character == symbols[token]
            assert abs(shown - probability) < 0.006


def test_the_lens_ends_with_what_the_model_says(page: Page, address: str, site: Path) -> None:
    start(page, address + MHA)
    last = told(page, ".lens tr:last-child td")
    assert last == told(page, ".next li")[: len(last)]

    # After the first layer: its result, through what comes behind the last one.
    model = model_of(site, graph_of(site, MHA))
    model.encoder.layers = model.encoder.layers[:1]
    with torch.no_grad():
        logits = model(tokens_of(site, MHA, TEXT))[-1, 0]
    symbols = graph_of(site, MHA)["symbols"]
    probabilities, order = logits.softmax(dim=-1).sort(descending=True)
    first = told(page, ".lens tr:first-child td")
    assert [character for character, _ in first] == [symbols[token] for token in order[:5]]
    assert_close([shown for _, shown in first], probabilities[:5].tolist(), atol=0.006, rtol=0)


def test_without_a_head_loss_and_text_change_as_torch_says(
    page: Page, address: str, site: Path
) -> None:
    start(page, address + MHA)
    page.get_by_role("combobox", name="Layer").select_option("1")
    page.get_by_role("group", name="heads of layer 1").get_by_label("2").check()
    tokens = tokens_of(site, MHA, TEXT)
    model, whole = model_of(site, graph_of(site, MHA)), logits_of(site, MHA, TEXT)
    with without_head(1, 2), torch.no_grad():
        logits = model(tokens)[:, 0]
    loss, more = loss_of(logits, tokens), loss_of(logits, tokens) - loss_of(whole, tokens)
    assert abs(more) > 0.002
    line = page.locator(".own-text .loss")
    expect(line).to_contain_text(f"without head 2 of layer 1: {loss:.3f}")
    shown = re.search(r"\(([+−])(\d\.\d+)\)", line.inner_text())
    assert abs(float(shown[2]) * (1 if shown[1] == "+" else -1) - more) < 0.0015

    # How it goes on, without the head and with it.
    symbols = graph_of(site, MHA)["symbols"]
    for at, context in enumerate([without_head, None]):
        text = tokens
        with torch.no_grad():
            for _ in range(24):
                if context:
                    with context(1, 2):
                        logits = model(text[-64:])
                else:
                    logits = model(text[-64:])
                text = torch.cat([text, logits[-1:].argmax(dim=-1)])
        expected = "".join(symbols[token] for token in text[len(tokens) :, 0])
        signs = expected.replace(" ", "␣").replace("\n", "⏎")
        expect(page.locator(".goes-on code").nth(at)).to_have_text(signs)


def test_attention_is_told_in_words_and_by_the_keyboard(
    page: Page, address: str, site: Path
) -> None:
    start(page, address + MHA)
    steps = graph_of(site, MHA)["steps"]
    bound = [step["bound"] for step in steps if step["layer"] in (None, 0)]
    where = page.locator("section.run .where")
    at = int(where.inner_text().split()[1])
    for _ in range(bound.index("attn") + 1 - at):
        before = where.inner_text()
        page.get_by_role("button", name="Next step").click()
        expect(where).not_to_have_text(before)
    expect(page.locator(".numbers")).to_contain_text("it sums to one")
    page.locator("section.run canvas").focus()
    page.keyboard.press("ArrowDown")
    expect(page.locator("section.run .cell")).to_have_text(
        re.compile(r"“u” looks at “B” [\d.]+ \(places 1 and 0\)")
    )
    # The status says what the keyboard has moved to.
    expect(page.locator(".panel > [role=status]")).to_contain_text("“u” looks at “B”")


def test_unknown_characters_and_what_is_too_long_are_said(page: Page, address: str) -> None:
    start(page, address + MHA, "café 東")
    said = page.locator("#own-said")
    expect(said).to_have_text("6 of 64 characters. It doesn’t know “é”, “東”, and reads “�”.")
    give(page, "a" * 70)
    expect(said).to_have_text("64 of 64 characters. The model reads the last 64.")
    page.get_by_label("Your text").fill("")
    expect(said).to_contain_text("Without a text there is nothing to run.")
    give(page, "b")
    expect(page.locator(".own-text .loss")).to_contain_text("more than one character")


@pytest.mark.whole
def test_it_works_offline_once_it_is_fetched(page: Page, address: str) -> None:
    asked = addresses_asked(page)
    start(page, address + MHA)
    weights = [one.rpartition("/")[2] for one in asked if "weights" in one]
    assert weights == ["classic.safetensors"]
    page.context.set_offline(True)
    give(page, "ROMEO:")
    page.get_by_role("combobox", name="Layer").select_option("2")
    where = page.locator("section.run .where")
    at = int(where.inner_text().split()[1])
    page.get_by_role("button", name="Next step").click()
    expect(where).to_contain_text(f"step {at + 1} of")
    page.context.set_offline(False)


def test_a_page_that_has_changed_since_its_model_was_trained_says_so(
    page: Page, address: str, site: Path
) -> None:
    changed = graph_of(site, MHA) | {"stale": ["labml_nn/transformers/mha.py"]}
    page.route("**/live.json", lambda route: route.fulfill(json=changed))
    start(page, address + MHA)
    said = "changed since its model was trained"
    expect(page.locator(".own-text")).to_contain_text(said)
    page.unroute("**/live.json")
    start(page, address + MHA)
    expect(page.locator(".own-text")).not_to_contain_text(said)


def test_what_could_not_be_fetched_can_be_tried_again(browser: Browser, address: str) -> None:
    with browser.new_context() as context:
        page = context.new_page()
        page.route("**/weights/**", lambda route: route.abort())
        page.goto(address + MHA, wait_until="networkidle")
        page.get_by_role("button", name=BEGIN).click()
        page.get_by_role("button", name=BUTTON).click()
        again = page.get_by_role("button", name="Try again")
        expect(again).to_be_enabled()
        page.unroute("**/weights/**")
        again.click()
        expect(page.locator(".next li")).to_have_count(8)


@pytest.mark.whole
def test_the_worker_ends_with_the_page(page: Page, address: str) -> None:
    start(page, address + MHA)
    (worker,) = page.workers
    with worker.expect_event("close"):
        page.evaluate("dispatchEvent(new PageTransitionEvent('pagehide'))")
    # Who comes back finds it at work.
    page.evaluate("dispatchEvent(new PageTransitionEvent('pageshow', { persisted: true }))")
    give(page, "ROMEO:")
    assert len(page.workers) == 1


def test_it_can_be_used_by_everybody_on_any_screen(screen: Page, address: str) -> None:
    start(screen, address + MHA, "café, " + TEXT)
    fields = ".own-text :is(textarea, select, label:has(input))"
    assert barriers(screen, "section.run") + low(screen, fields) == []


def test_the_keyboard_alone_does_everything(page: Page, address: str) -> None:
    page.goto(address + MHA, wait_until="networkidle")
    page.get_by_role("button", name=BEGIN).click()
    page.get_by_role("button", name=BUTTON).focus()
    page.keyboard.press("Enter")
    # When all is there, the reader is where the text is typed.
    expect(page.get_by_label("Your text")).to_be_focused()
    page.keyboard.press("ControlOrMeta+A")
    page.keyboard.type("O Romeo")
    expect(page.locator("#own-said")).to_contain_text("7 of 64")
    expect(page.get_by_label("What comes after place")).to_have_attribute("max", "6")
    page.keyboard.press("Tab")
    expect(page.get_by_role("combobox", name="Layer")).to_be_focused()
    page.keyboard.press("ArrowDown")
    expect(page.get_by_role("group", name="heads of layer 1")).to_be_visible()
    page.keyboard.press("Tab")
    page.keyboard.press("Space")
    expect(page.locator(".own-text .loss")).to_contain_text("without head 0 of layer 1")
    for _ in range(4):
        page.keyboard.press("Tab")
    expect(page.get_by_label("What comes after place")).to_be_focused()
    page.keyboard.press("ArrowLeft")
    expect(page.locator(".own-text .character")).to_have_text("5, “e”")
