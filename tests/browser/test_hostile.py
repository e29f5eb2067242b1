r"""A site of pages that try to be more than text, in a browser."""

from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from literate.reading.source import Source, read
from tests.literate.projects import ROOT, succeed, write

HOSTILE = '''r"""
---
title: "</title><script>window.executed = 'title'</script> & <b> \\"quoted\\" שלום"
summary: "\\"><script>window.executed = 'summary'</script>"
---

<script>window.executed = 'note'</script> and `<script>window.executed = 'code'</script>`, a tag
<img src=x onerror="window.executed = 'image'"> and [x]:javascript:window.executed='link'

    <script>window.executed = 'indented'</script>

> ```
> <script>window.executed = 'quoted'</script>
> ```

```html
</code></pre></div></section><script>window.executed = 'fence'</script>
    {{ four }} `` $spaces$ 🙂 \u202e
```
"""
a = "</code></pre><script>window.executed = 'string'</script>"
b = "\tתו\t", "שלום", 'עולם', "\u202e", "\x02", {"🙂": "$x$ {{ y }} {% z %} ``` ~~~ &lt; &#60;"}


def f(user: str) -> str:
    r"""
    ## F <script>window.executed = 'heading'</script> `<i>`

    * a list
    ```{.python onclick="window.executed = 'attribute'"}
    <script>window.executed = 'list'</script>
    ```
    """
    # <svg onload="window.executed = 'comment'"> <!-- ``` ~~~
    return f"{user}" + "LONG"  # </span><script>window.executed = 'remark'</script>
'''.replace("LONG", "<long> " * 2000)


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    r"""A site of one hostile page, built as this site is."""
    folder = tmp_path_factory.mktemp("hostile")
    configuration = (ROOT / "mkdocs.yml").read_text(encoding="utf-8").partition("\nnav:")[0]
    files = {
        "lib/__init__.py": HOSTILE,
        "pyproject.toml": '[tool.literate]\nsources = { lib = "" }\n',
        "mkdocs.yml": configuration,
        "docs/.keep": "",
    }
    write(folder, files)
    (folder / "node_modules").symlink_to(ROOT / "node_modules")
    succeed(folder, "mkdocs", "build", "--strict", "--quiet")
    return folder


@pytest.fixture
def source(project: Path, page: Page, serve: Callable[[Path], str]) -> Source:
    r"""The source of the page that the browser is at."""
    page.goto(serve(project / "site"), wait_until="networkidle")
    return read(project / "lib/__init__.py", "lib/__init__.py")


def test_nothing_in_a_source_is_executed(page: Page, source: Source) -> None:
    assert page.evaluate("window.executed") is None
    # Nor would it be by the search, which shows pieces of pages.
    assert page.locator("article script, article svg[onload], article img[src=x]").count() == 0
    handlers = """() => [...document.querySelectorAll("article *")].flatMap(
        (one) => one.getAttributeNames().filter((name) => name.startsWith("on")))"""
    assert page.evaluate(handlers) == []
    assert page.title().startswith("</title><script>window.executed = 'title'</script> & <b> \"q")
    summary = page.locator("meta[name=description]").get_attribute("content")
    assert summary == "\"><script>window.executed = 'summary'</script>"


def test_each_line_of_code_stands_there_once_with_its_number(page: Page, source: Source) -> None:
    texts = """() => [...document.querySelectorAll(".line[id]")].map((line) => [
        line.id, line.querySelector("a[data-line]").dataset.line,
        line.querySelector(":scope > span").textContent])"""
    assert page.evaluate(texts) == [
        [f"L{line.number}", str(line.number), line.text.rstrip("\n")]
        for line in source.lines
        if line.kind == "code"
    ]


def test_notes_show_what_stands_in_them(page: Page, source: Source) -> None:
    text = page.locator("article").evaluate("(article) => article.textContent")
    for words in [
        "<script>window.executed = 'note'</script> and <script>window.executed = 'code'</script>,",
        "<img src=x onerror=\"window.executed = 'image'\"> and",
        "[x]:javascript:window.executed='link'",
        "<script>window.executed = 'indented'</script>",
        "</code></pre></div></section><script>window.executed = 'fence'</script>\n"
        "    {{ four }} `` $spaces$ 🙂 \u202e",
        "F <script>window.executed = 'heading'</script> <i>",
        "<script>window.executed = 'list'</script>",
        "<svg onload=\"window.executed = 'comment'\"> <!-- ``` ~~~",
    ]:
        assert words in text


def test_text_from_right_to_left_stays_in_its_string(page: Page, source: Source) -> None:
    # The first of two strings stands to the left of the second, whatever is in them.
    (number,) = [line.number for line in source.lines if line.text.startswith("b = ")]
    places = """(id) => [...document.querySelectorAll(`#${id} > span span`)]
        .filter((one) => /[א-ת]/.test(one.textContent))
        .map((one) => one.getBoundingClientRect().left)"""
    left = page.evaluate(places, f"L{number}")
    assert len(left) >= 3
    assert left == sorted(left)
    shown = """(id) => [...document.querySelectorAll(`#${id} .unseen`)].map((one) =>
        [getComputedStyle(one).unicodeBidi, getComputedStyle(one, "::before").content])"""
    assert page.evaluate(shown, f"L{number}") == [["isolate", '"U+202E"'], ["isolate", '"U+0002"']]


def test_what_looks_like_a_tag_in_the_index_is_shown_as_text(page: Page, source: Source) -> None:
    page.keyboard.type("/heading")
    result = page.locator("dialog li a").first
    expect(result).to_contain_text("F <script>window.executed = 'heading'</script> <i>")
    expect(result).to_contain_text("</title><script>window.executed = 'title'</script> & <b>")
    tags = result.evaluate("one => [...one.querySelectorAll('*')].map(tag => tag.localName)")
    assert set(tags) <= {"b", "mark"}
    assert page.evaluate("window.executed") is None
