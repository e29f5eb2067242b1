r"""Pages that are edited and run in the browser, by Python over what stands in for torch."""

import json
import re
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from literate import site as project
from literate.settings import load
from tests.browser.conftest import MHA, PATIENCE, addresses_asked, barriers, low
from tests.literate.projects import ROOT

# What the pages may do: no script from elsewhere, no text that becomes a script. WebAssembly is
# compiled, which a policy has to allow by name. The engine's pages have scripts and styles inline.
POLICY = (
    "default-src 'self'; script-src 'self' 'unsafe-inline' 'wasm-unsafe-eval'; "
    "style-src 'self' 'unsafe-inline'; img-src 'self' data:"
)

EINSUM = '"ijbh,jbhd->ibhd"'
# Of each part of the core path one; `whole` runs all.
SAMPLE = (
    "labml_nn/basics/autograd.py",
    "labml_nn/fine_tuning/lora.py",
    "labml_nn/pretrained/download.py",
    "labml_nn/training/loop.py",
    "labml_nn/transformers/mha.py",
    "labml_nn/transformers/modern/model.py",
    "labml_nn/transformers/rotary.py",
)


class Guarded(SimpleHTTPRequestHandler):
    r"""Sends the policy with each file, and notes what was sent in full."""

    sent: list[str]

    def end_headers(self) -> None:
        self.send_header("Content-Security-Policy", POLICY)
        super().end_headers()

    def log_request(self, code: Any = "-", size: Any = "-") -> None:
        if code == 200:
            self.sent.append(self.path)

    def log_message(self, format: str, *arguments: object) -> None:
        r"""Nothing on the terminal."""


@contextmanager
def guarded(folder: Path) -> Iterator[tuple[str, list[str]]]:
    r"""Serve a folder under the policy; its address, and the list of what was sent."""
    handler = type("Handler", (Guarded,), {"sent": []})
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(handler, directory=str(folder))) as server:
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/", handler.sent
        finally:
            server.shutdown()
            thread.join()


@pytest.fixture(scope="module")
def guarded_site(site: Path) -> Iterator[tuple[str, list[str]]]:
    with guarded(site) as served:
        yield served


@pytest.fixture
def address(guarded_site: tuple[str, list[str]]) -> str:
    return guarded_site[0]


def opened(page: Page, address: str) -> None:
    r"""Open a page and its editor, and wait until Python is ready."""
    page.goto(address)
    page.get_by_role("button", name=re.compile(r"^Edit \(\d\.\d MB\)$")).click()
    ready(page)


def ready(page: Page) -> None:
    expect(page.locator(".editor .status")).to_contain_text("Ready after", timeout=PATIENCE)


def line_of(page: Page, text: str) -> Any:
    r"""A line of the code, scrolled to: the editor has only those in the page that are in view."""
    line = page.locator(".editor .cm-line", has_text=text).first
    height = page.evaluate("document.documentElement.scrollHeight")
    for top in range(0, height, 400):
        if line.count():
            break
        page.evaluate("top => scrollTo(0, top)", top)
        # The editor draws what has come into view in the next frame.
        page.evaluate(
            "() => new Promise(done => requestAnimationFrame(() => setTimeout(done, 50)))"
        )
    return line


def retype(page: Page, text: str, new: str) -> None:
    r"""Put other code in the place of a line; blanks before it stay."""
    line_of(page, text).click()
    page.keyboard.press("Home")
    page.keyboard.press("Shift+End")
    page.keyboard.insert_text(new)


def run(page: Page) -> None:
    page.keyboard.press("Control+Enter")


def press(page: Page, name: str) -> None:
    page.locator(".editor").get_by_role("button", name=re.compile(f"^{name}")).first.click()


def says(page: Page, text: str) -> None:
    expect(page.locator(".editor .status")).to_contain_text(text, timeout=PATIENCE)


def test_a_changed_line_shows_other_shapes_and_undo_brings_back_the_pages_own(
    page: Page, address: str
) -> None:
    asked = addresses_asked(page)
    page.goto(address + MHA, wait_until="networkidle")
    # Nothing of all this is fetched before the click.
    assert not [one for one in asked if "assets/edit" in one]
    opened(page, address + MHA)
    run(page)
    says(page, "Shapes and values are those of the page’s own run")
    expect(page.locator(".editor .cm-line.differs")).to_have_count(0)

    retype(page, EINSUM, 'x = torch.einsum("ijbh,jbhd->ibdh", self.dropout(attn), value)')
    expect(page.locator(".editor .cm-line.changed")).to_have_count(1)
    predicts = page.get_by_label("Your prediction of the run")
    predicts.select_option("other numbers, of the same shapes")
    run(page)
    says(page, "You predicted: other numbers, of the same shapes. It is: another shape")
    says(page, "differ from the page’s own run")
    # The next run gets a prediction of its own.
    expect(predicts).to_have_value("")
    assert "differs" in line_of(page, "ibdh").get_attribute("class").split()
    # Heads and features have changed places.
    told = re.compile(
        r"x, call 1 of 2: on the page \[seq_len_q 7, batch_size 3, heads 5, d_k 2\]: -0\.0.*"
        r" → now \[seq_len_q 7, batch_size 3, d_k 2, heads 5\]: -0\.0.*x, call 2 of 2"
    )
    expect(page.locator(".editor .details")).to_have_text(told)
    # So says a card, to who points at the sign; the first call of this line is as it was.
    page.locator(".editor .result.differs", has_text=re.compile("^call 2: .* → ")).first.hover()
    expect(page.locator(".card.told")).to_contain_text(re.compile("call 2 of 2.*on the page.*now"))

    press(page, "Undo")
    line_of(page, EINSUM).click()
    predicts.select_option("nothing changes")
    run(page)
    says(page, "As you predicted: nothing changes.")
    says(page, "Shapes and values are those of the page’s own run")


def test_an_error_stands_at_its_line_in_the_words_of_torch(page: Page, address: str) -> None:
    opened(page, address + MHA)
    retype(page, EINSUM, 'print("seen"); x = attn @ value')
    run(page)
    failure = page.locator(".editor .failure")
    expect(failure).to_contain_text("RuntimeError: ", timeout=PATIENCE)
    assert "failed" in line_of(page, "attn @ value").get_attribute("class").split()
    assert page.locator(".editor .at").inner_text() == "attn @ value"
    expect(page.locator(".editor .output pre")).to_have_text("seen\n")
    press(page, "Page’s own")
    expect(line_of(page, EINSUM)).to_be_visible()


def test_a_run_without_end_is_ended_and_python_is_ready_again(page: Page, address: str) -> None:
    opened(page, address + MHA)
    retype(page, EINSUM, "while True: pass")
    run(page)
    says(page, "Running")
    press(page, "Stop")
    ready(page)
    press(page, "Undo")
    press(page, "Run")
    says(page, "Shapes and values are those")


def test_a_link_carries_the_change_and_nothing_runs_by_itself(
    page: Page, address: str, browser: Browser
) -> None:
    opened(page, address + MHA)
    retype(page, EINSUM, "x = value  # <b>mine</b>")
    press(page, "Link")
    expect(page.locator(".editor .status")).to_contain_text("nothing was sent")
    link = page.url
    assert "#edit=" in link

    with browser.new_context() as context:
        other = context.new_page()
        asked = addresses_asked(other)
        other.goto(link, wait_until="networkidle")
        lines = other.locator(".shared .lines code")
        expect(lines).to_have_count(2)
        expect(lines.last).to_have_text("+         x = value  # <b>mine</b>")
        assert not [one for one in asked if "pyodide" in one]
        other.get_by_role("button", name="Open in the editor").click()
        expect(other.locator(".editor .cm-line.changed")).to_have_text(
            "        x = value  # <b>mine</b>"
        )
        ready(other)
        # The page's own code has run, to be compared with; the change has not.
        expect(other.locator(".editor .cm-line.differs")).to_have_count(0)
        press(other, "Run")
        expect(other.locator(".editor .cm-line.differs, .editor .failure")).not_to_have_count(0)


def test_a_module_that_the_page_imports_can_be_edited(page: Page, address: str) -> None:
    opened(page, address + "transformers/models/")
    page.get_by_label("Module that is edited").select_option("labml_nn/transformers/mha.py")
    retype(page, "attn = scores.softmax(dim=1)", "attn = scores.softmax(dim=0)")
    page.get_by_label("Module that is edited").select_option("labml_nn/transformers/models.py")
    press(page, "Run")
    says(page, "differ from the page’s own run")
    expect(page.locator(".editor .cm-line.differs").first).to_be_visible()


def test_a_line_that_the_reader_writes_is_judged_and_its_mistake_is_named(
    page: Page, address: str
) -> None:
    page.goto(address + MHA)
    own = page.get_by_role("link", name="Test your own attention or model")
    assert own.get_attribute("href") == "../../wrongline/pasted/"
    page.get_by_role("button", name="Write a line of MultiHeadAttention.forward").first.click()
    ready(page)
    press(page, "Check")
    says(page, "Nothing to judge yet")
    retype(page, "YOUR_LINE", "scores = self.get_scores(query, key)")
    press(page, "Check")
    says(page, "This is a known mistake: the scores are not scaled (in the museum: Unscaled)")
    retype(page, "scores = self.get_scores", "scores = self.get_scores(query / self.d_k**0.5, key)")
    press(page, "Check")
    says(page, "Right: the same results")
    retype(page, "scores = self.get_scores", "scores = self.get_score(query, key)")
    press(page, "Check")
    says(page, "With your code the example stops. AttributeError")
    assert "failed" in line_of(page, "self.get_score(").get_attribute("class").split()


# The lines of the feed-forward network, and one of its mistakes.
LINES = [
    "hidden = self.activation(self.layer1(x))",
    "hidden = self.dropout(hidden)",
    "return self.layer2(hidden)",
]
LATE = "return self.activation(self.layer2(hidden))"


def assembling(page: Page, address: str) -> Locator:
    r"""The lines of the feed-forward network, ready to be put in order."""
    page.goto(address + "transformers/feed_forward/")
    page.get_by_role("button", name="Put the lines of FeedForward.forward in order").click()
    assembly = page.locator(".assembly")
    expect(assembly.locator(".status")).to_contain_text("Python is ready", timeout=PATIENCE)
    return assembly


def piece(assembly: Locator, text: str) -> Locator:
    return assembly.locator(".piece").filter(has=assembly.page.get_by_text(text, exact=True))


def checked(assembly: Locator, text: str) -> None:
    assembly.get_by_role("button", name="Check").click()
    expect(assembly.locator(".status")).to_contain_text(text, timeout=PATIENCE)


def test_lines_are_assembled_by_clicks_keys_and_drags(page: Page, address: str) -> None:
    assembly = assembling(page, address)
    program = assembly.get_by_role("list", name="Your program")
    checked(assembly, "Nothing to judge yet")
    # By keys: taken with Enter, moved with an arrow.
    for text in (LATE, LINES[0]):
        piece(assembly, text).locator(".takes").press("Enter")
    piece(assembly, LINES[0]).locator(".takes").press("ArrowUp")
    expect(assembly.locator(".status")).to_have_text("Line 1 of 2.")
    # By a drag, to between the two.
    start = piece(assembly, LINES[1]).bounding_box()
    goal = piece(assembly, LATE).bounding_box()
    page.mouse.move(start["x"] + 60, start["y"] + 8)
    page.mouse.down()
    page.mouse.move(goal["x"] + 60, goal["y"] + 0.75 * goal["height"], steps=5)
    page.mouse.up()
    expect(program.locator("code")).to_have_text([LINES[0], LINES[1], LATE])
    checked(assembly, "This is a known mistake: the activation comes after both layers")
    # By clicks: one back, another instead.
    piece(assembly, LATE).locator(".takes").click()
    piece(assembly, LINES[2]).locator(".takes").click()
    expect(program.locator("code")).to_have_text(LINES)
    checked(assembly, "Right: the same results")
    # What is left says why.
    expect(piece(assembly, LATE).locator(".why")).to_have_text(
        "the activation comes after both layers"
    )
    # An order that no program has: the line is marked.
    piece(assembly, LINES[1]).locator(".takes").press("ArrowUp")
    checked(assembly, "With this program the example stops. UnboundLocalError")
    expect(piece(assembly, LINES[1])).to_have_class(re.compile("failed"))
    assembly.get_by_role("button", name="Close").click()
    expect(page.get_by_role("button", name="Put the lines of FeedForward")).to_be_focused()


def test_lines_can_be_assembled_on_every_screen(screen: Page, address: str) -> None:
    assembly = assembling(screen, address)
    piece(assembly, LINES[0]).locator(".takes").click()
    assert barriers(screen, ".assembly") == []
    if screen.viewport_size["width"] < 500:
        assert low(screen, ".assembly button") == []


@pytest.mark.whole
def test_a_bug_is_not_lit_and_it_is_mended(page: Page, address: str) -> None:
    page.goto(address + MHA)
    page.get_by_role("button", name="Mend a bug in causal_mask").click()
    ready(page)
    press(page, "Run")
    says(page, "Press Check to have it judged")
    expect(page.locator(".editor :is(.cm-line.differs, .cm-line.changed)")).to_have_count(0)
    press(page, "Check")
    says(page, "the code is as you found it")
    mask = "torch.ones(seq_len, seq_len, dtype=torch.bool)"
    retype(page, ".tril(1)", f"return {mask}.tril(-1).unsqueeze(-1)")
    press(page, "Check")
    says(page, "a position doesn't see itself (in the museum: StrictMask)")
    retype(page, ".tril(-1)", f"return {mask}.tril().unsqueeze(-1)")
    press(page, "Check")
    says(page, "Right: the same results")
    # Another exercise takes its place in the editor.
    page.get_by_role("button", name="Write a line of MultiHeadAttention.forward").first.click()
    expect(page.locator(".editor .status")).to_contain_text("YOUR_LINE", timeout=PATIENCE)
    expect(page.locator(".editor")).to_have_count(1)


@pytest.mark.whole
def test_the_next_page_finds_python_in_the_cache(
    page: Page, guarded_site: tuple[str, list[str]]
) -> None:
    address, sent = guarded_site
    opened(page, address + MHA)
    sent.clear()
    opened(page, address + "transformers/rms_norm/")
    # So does a model that runs the reader's own text find its kernels.
    page.goto(address + MHA)
    page.get_by_role("button", name="Step through the recorded run").click()
    page.get_by_role("button", name=re.compile("own text")).click()
    expect(page.locator(".next li")).to_have_count(8, timeout=PATIENCE)
    # The cache of a test's browser is in memory, which is too small for Python itself: 9.6 MB.
    kept = re.compile(r"\.zip$|\.asm\.mjs$|/kernels[^/]*\.wasm$")
    assert [one for one in sent if kept.search(one)] == []
    assert [one for one in sent if one.endswith(".safetensors")]


def test_what_is_fetched_is_at_most_six_megabytes_packed(site: Path) -> None:
    editor = project.edit(load(ROOT))
    most = max(editor.offer(path).bytes for path in editor.imports if editor.offers(path))
    assert most <= 6_000_000


def test_the_editor_is_usable_on_every_screen(screen: Page, address: str) -> None:
    opened(screen, address + MHA)
    # It comes to where the reader looks.
    assert screen.locator(".editor .bar").bounding_box()["y"] < 200
    press(screen, "Run")
    says(screen, "Ran in")
    assert barriers(screen, ".editor") == []
    if screen.viewport_size["width"] < 500:
        assert low(screen, ".editor button") == []
        # No line runs off the side, and docstrings are folded: they open as the notes of the page.
        assert screen.locator(".editor .cm-scroller").evaluate(
            "one => one.scrollWidth <= one.clientWidth"
        )
        expect(screen.locator(".editor .cm-content")).not_to_contain_text('r"""')
        folded = screen.locator(".editor .folded", has_text="d_model is the number").first
        opener, note = folded.locator("button"), folded.locator(".note")
        expect(opener).to_have_attribute("aria-expanded", "false")
        opener.click()
        expect(opener).to_have_attribute("aria-expanded", "true")
        expect(note).to_contain_text("heads is the number of heads")
        assert barriers(screen, ".editor") == []
        opener.click()
        expect(note).to_have_count(0)
        # Shapes stand below their lines there.
        expect(screen.locator(".editor .cm-content .result").first).to_contain_text(
            re.compile(r"\w")
        )
    press(screen, "Close")
    expect(screen.locator(".row > .code").nth(1)).to_be_visible()
    expect(screen.get_by_role("button", name=re.compile("^Edit"))).to_be_focused()


@pytest.mark.whole
def test_notes_stay_beside_their_lines(page: Page, address: str) -> None:
    opened(page, address + MHA)
    tops = page.locator(".editor .notes .row").evaluate_all(
        "all => all.map(one => [one.offsetTop, one.offsetTop + one.offsetHeight])"
    )
    assert all(below <= top for (_, below), (top, _) in zip(tops, tops[1:], strict=False))
    line = line_of(page, "def causal_mask")
    heading = page.locator(".editor .notes h2", has_text="Causal mask").bounding_box()
    code = line.bounding_box()
    assert abs(heading["y"] - code["y"]) < 30
    # The comments are hidden, but for those who want them.
    expect(page.locator(".editor .cm-content")).not_to_contain_text(
        "A query that may look at nothing"
    )


def test_a_page_that_is_a_file_says_what_to_do(browser: Browser, site: Path) -> None:
    with browser.new_context() as context:
        page = context.new_page()
        page.goto((site / MHA / "index.html").as_uri())
        page.get_by_role("button", name=re.compile("^Edit")).click()
        expect(page.locator(".refused")).to_contain_text("python -m http.server")
        # A link with a change says the same, without a click.
        page.goto("about:blank")
        page.goto((site / MHA / "index.html").as_uri() + "#edit=x")
        expect(page.locator(".refused")).to_contain_text("python -m http.server")


# One worker runs all: from the path of a page to what its lines gave.
RUN_ALL = """async ([program, sources, paths]) => {
    const index = await (await fetch(sources + 'index.json')).json();
    const worker = new Worker(program + '/worker.js', { type: 'module' });
    const answer = kinds => new Promise((resolve, reject) => worker.onmessage = ({ data }) =>
        kinds.includes(data.kind) ? resolve(data) : data.kind === 'failed' && reject(data.message));
    worker.postMessage({ kind: 'start', sources, files: index.files, wanted: index.packages,
        first: [...new Set(paths.flatMap(path => index.first[path]))] });
    await answer(['ready']);
    const found = {};
    for (const path of paths) {
        worker.postMessage({ id: 1, kind: 'run', path, edited: {} });
        found[path] = (await answer(['done'])).result;
    }
    worker.terminate();
    return found;
}"""


def compare(page: Page, address: str, site: Path, paths: list[str]) -> list[str]:
    r"""What differs from the recorded shapes, page by page."""
    page.goto(address + MHA)
    offered = page.locator("[data-edit]")
    program, sources = (
        page.evaluate("place => new URL(place, location.href).href", offered.get_attribute(one))
        for one in ("data-program", "data-sources")
    )
    found = page.evaluate(RUN_ALL, [program, f"{sources}/", paths])
    wrong = []
    for path in paths:
        error = found[path]["error"]
        if error:
            wrong.append(f"{path}: {error['type']}: {error['message']}")
            continue
        known = recorded(site, path)
        shapes = {
            (line, one[0], tuple(one[1]))
            for line, told in found[path]["lines"].items()
            for one in told
            if one[0] != RANDOM
        }
        # Of what grows in a loop, the page names the axes of those that all its runs share.
        several = {
            place for place, times in Counter(one[:2] for one in shapes).items() if times > 1
        }
        more = {
            one for one in shapes - known if one[:2] not in several and one[:2] in places(known)
        }
        if known - shapes or more:
            wrong.append(f"{path}: {sorted((known - shapes) | more)[:4]}")
    return wrong


def places(shapes: set[tuple[str, str, tuple[int, ...]]]) -> set[tuple[str, str]]:
    return {one[:2] for one in shapes}


def recorded(site: Path, path: str) -> set[tuple[str, str, tuple[int, ...]]]:
    r"""The shapes of the recorded run of a page."""
    place = path.removeprefix("labml_nn/").removesuffix(".py").removesuffix("__init__")
    about = json.loads((site / place / "about.json").read_text("utf-8"))
    return {
        (line, name, tuple(sizes))
        for line, told in about["tensors"].items()
        for name, _, sizes, _ in told
        if name != RANDOM
    }


def test_lessons_give_the_recorded_shapes(page: Page, address: str, site: Path) -> None:
    assert compare(page, address, site, list(SAMPLE)) == []


# What a generator of random numbers remembers has another size there.
RANDOM = "self.random[0]"


@pytest.mark.whole
def test_every_lesson_gives_the_recorded_shapes(page: Page, address: str, site: Path) -> None:
    editor = project.edit(load(ROOT))
    lessons = [
        path
        for path in editor.imports
        if editor.offers(path) and "\ndef example(" in (ROOT / path).read_text("utf-8")
    ]
    assert compare(page, address, site, lessons) == []


PASTED = """
class SelfAttention(nn.Module):
    def __init__(self, embed_size, heads):
        super().__init__()
        self.heads = heads
        self.q = nn.Linear(embed_size, embed_size)
        self.k = nn.Linear(embed_size, embed_size)
        self.v = nn.Linear(embed_size, embed_size)
        self.o = nn.Linear(embed_size, embed_size)

    def forward(self, x):
        matrices = (self.q, self.k, self.v)
        q, k, v = (f(x).unflatten(-1, (self.heads, -1)).transpose(1, 2) for f in matrices)
        scores = q @ k.transpose(-2, -1) / x.shape[-1] ** 0.5
        return self.o((scores.softmax(-1) @ v).transpose(1, 2).flatten(2))
"""


def test_a_pasted_attention_is_told_its_mistakes(page: Page, address: str) -> None:
    page.goto(address + "wrongline/pasted/")
    asked = addresses_asked(page)
    page.get_by_role("button", name=re.compile(r"^Paste your attention")).click()
    page.locator(".pasted .cm-content").click()
    page.keyboard.insert_text(PASTED)
    page.get_by_role("button", name="Which mistake is it?").click()
    found = page.locator(".editor .found")
    # Without a mask it may be an encoder's: nobody is accused before somebody has said so.
    expect(found).to_contain_text("divided by the root of the whole width", timeout=PATIENCE)
    expect(found).to_contain_text("nothing in its code says whether it may")
    expect(found).not_to_contain_text("there is no causal mask")
    page.get_by_role("button", name=re.compile("^It mustn’t")).click()
    expect(found).to_contain_text("there is no causal mask", timeout=PATIENCE)
    expect(found).to_contain_text("Not tried: 3")
    page.get_by_role("button", name=re.compile("likely line")).first.click()
    expect(page.locator(".pasted .cm-activeLine")).to_contain_text("** 0.5")
    # With another number of heads than was guessed, the scale is another, too.
    page.get_by_label("SelfAttention(… heads =").fill("4")
    page.get_by_role("button", name="Test again").click()
    expect(page.get_by_label("SelfAttention(… heads =")).to_have_value("4", timeout=PATIENCE)
    assert all("embed_size" not in one for one in asked)
    assert barriers(page, "section.paste") == []
    # What was said of another text goes. A library comes when a text imports it, and not before.
    assert not any("einops" in one for one in asked)
    page.locator(".pasted .cm-content").click()
    page.keyboard.press("Control+Home")
    page.keyboard.insert_text("from einops import rearrange\n")
    expect(found).to_be_empty()
    expect(page.locator(".editor .assumed")).to_be_hidden()
    page.get_by_role("button", name="Which mistake is it?").click()
    expect(found).to_contain_text("divided by the root of the whole width", timeout=PATIENCE)
    assert any("einops/einops.py" in one for one in asked)


# An attention that is right, and a model whose attention gets no mask.
PASTED_MODEL = """
class Attention(nn.MultiheadAttention):
    def forward(self, x, mask=None):
        return super().forward(x, x, x, attn_mask=mask)[0]

class Model(nn.Module):
    def __init__(self, vocab_size, d_model, n_heads):
        super().__init__()
        self.table = nn.Embedding(vocab_size, d_model)
        self.attention = Attention(d_model, n_heads, batch_first=True)
        self.head = nn.Linear(d_model, vocab_size)

    def forward(self, tokens, targets=None):
        x = self.table(tokens)
        return self.head(x + self.attention(x)), None
"""


@pytest.mark.whole
def test_a_whole_model_is_pasted_and_each_of_its_classes_can_be_tested(
    page: Page, address: str
) -> None:
    page.goto(address + "wrongline/pasted/")
    page.get_by_role("button", name=re.compile(r"^Paste your attention")).click()
    page.locator(".pasted .cm-content").click()
    page.keyboard.insert_text(PASTED_MODEL)
    page.get_by_role("button", name="Which mistake is it?").click()
    found = page.locator(".editor .found")
    # The whole model comes first.
    expect(found).to_contain_text("the model sees the future", timeout=PATIENCE)
    expect(page.locator(".editor .assumed")).to_contain_text("which is a whole model")
    page.get_by_role("button", name="Test Attention").click()
    expect(found).to_contain_text("This was Attention", timeout=PATIENCE)
    assert barriers(page, "section.paste") == []


def drawn(page: Page, steps: int) -> None:
    r"""Wait for the curve: it is drawn with the next frame, which may come after the result."""
    told = re.compile(f"^The loss after {steps} of {steps} steps")
    expect(page.locator(".curve")).to_have_attribute("aria-label", told)


def test_a_model_trains_and_its_curve_lies_on_the_recorded_one(
    page: Page, address: str, repository: Path
) -> None:
    record = json.loads((repository / "results/train_here.json").read_text("utf-8"))
    lines = {one["name"]: dict(one["points"]) for one in record["figures"]["losses"]["lines"]}
    page.goto(address + "course/train_here/")
    page.get_by_role("button", name=re.compile(r"^Train here")).click()
    says(page, "Ready")
    page.locator(".training select").first.select_option("A learned table of pairs")
    page.get_by_role("spinbutton").fill("20")
    page.get_by_role("button", name="Train", exact=True).click()
    expect(page.locator(".editor .sample")).to_contain_text("After 20 steps", timeout=PATIENCE)
    says(page, "has not seen")
    drawn(page, 20)
    points = page.locator(".curve .live").get_attribute("points").split()
    known = page.locator(".curve .recorded").get_attribute("points").split()
    # Both are drawn on the same axes, to a tenth of a pixel.
    assert len(points) == 20
    assert known[-1] == points[-1]
    assert len(known) == len([step for step in lines["A learned table of pairs"] if step <= 20])


@pytest.mark.whole
def test_a_mistake_trains_below_its_exhibit_over_the_right_curve(
    page: Page, address: str, repository: Path
) -> None:
    record = json.loads((repository / "results/train_mistakes.json").read_text("utf-8"))
    lines = {one["name"]: one["points"] for one in record["figures"]["losses"]["lines"]}
    page.goto(address + "transformers/mistakes/masks/")
    buttons = page.get_by_role("button", name=re.compile(r"^Train it here"))
    expect(buttons).to_have_count(6)
    heading = "one => one.previousElementSibling.querySelector('h2').id"
    assert page.locator("section.train").first.evaluate(heading) == "MaskUnused"
    buttons.first.click()
    says(page, "Ready. Train it.")
    assert page.locator(".training select").first.input_value() == "MaskUnused"
    # A mask is there to be wrong here, and not to be left out.
    expect(page.get_by_label("without the mask")).to_be_hidden()
    expect(page.locator(".legend")).to_contain_text("the right model, recorded with PyTorch")
    page.get_by_role("spinbutton").fill("8")
    page.get_by_role("button", name="Train", exact=True).click()
    expect(page.locator(".editor .sample")).to_contain_text("After 8 steps", timeout=PATIENCE)
    says(page, "from prefixes alone, as it writes")
    drawn(page, 8)
    points = page.locator(".curve .live").get_attribute("points").split()
    known = page.locator(".curve .recorded").get_attribute("points").split()
    assert len(points) == 8
    assert len(known) == len([step for step, _ in lines["RightAttention"] if step <= 8])
    assert barriers(page, "section.train") == []
    # Another exhibit takes its place: one Python at a time.
    buttons.last.click()
    says(page, "Ready. Train it.")
    expect(page.locator(".editor.training")).to_have_count(1)
    assert page.locator(".training select").first.input_value() == "MaskAsZeros"
    page.get_by_role("button", name="Close").click()
    expect(buttons).to_have_count(6)
