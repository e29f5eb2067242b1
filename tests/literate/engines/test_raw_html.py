r"""Code put aside while Markdown is read: the page is the same as if it had not been."""

import re
from pathlib import Path

import markdown
import pytest

from literate.engines.raw_html import ReadyHtml

CASES = Path(__file__).parents[1] / "cases"
EXTENSIONS = ["md_in_html", "tables", "footnotes", "toc", "pymdownx.superfences"]


def squeezed(page: str) -> str:
    r"""A page without the white space between its elements."""
    return re.sub(r"(?<=>)\s+|\s+(?=<)", "", page)


def converted(text: str, *more: markdown.Extension) -> str:
    return markdown.markdown(text, extensions=[*EXTENSIONS, *more])


@pytest.mark.parametrize("path", sorted(CASES.glob("*.md")), ids=lambda path: path.name)
def test_a_page_is_the_same_with_its_code_put_aside(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert squeezed(converted(text, ReadyHtml())) == squeezed(converted(text))


CODE = '<pre class="highlight"><code>a *b* <i>\n\n# c</code></pre>'
USES = (
    '<details class="uses"><summary>Used</summary><ul><li><a href="#b">*b*</a></li></ul></details>'
)
ACTIONS = '<div class="actions"><a class="copies" href="b.py" download>Snippet</a></div>'


def test_markdown_does_not_look_into_code_uses_and_snippets() -> None:
    page = (
        '<section class="row" markdown="1">\n'
        f'<div class="note" markdown="1">\n\nA *note*.\n\n{USES}\n\n</div>\n'
        f'<div class="code">{CODE}{ACTIONS}</div>\n</section>\n'
    )
    converter = markdown.Markdown(extensions=[*EXTENSIONS, ReadyHtml()])
    found = converter.convert(page)
    assert CODE in found and found.count("<em>") == 1
    assert squeezed(found) == squeezed(converted(page))
    aside = "".join(converter.htmlStash.rawHtmlBlocks)
    assert all(one in aside for one in (CODE, USES, ACTIONS))


def test_html_in_a_fence_is_shown_as_text() -> None:
    fence = '```\n<div class="code"><pre>x</pre></div>\n```\n'
    assert "&lt;pre&gt;x&lt;/pre&gt;" in converted(fence, ReadyHtml())
