r"""
---
title: Ready HTML
summary: Lines of code that are HTML already are not read again as Markdown.
---

Most of the text of a page is HTML that is right as it is: the lines of code, with their numbers and
colours, the lists of where a definition is used, the [exhibits](../page/exhibit.py), and the run.
Python-Markdown would take it apart tag by tag to find out that there is nothing to do. With this
extension it puts that aside before it begins, and back when it is done, and the page is the same.

The Markdown itself doesn't change, so an engine without the extension gives the same page, later.
"""

import re

from markdown import Extension, Markdown
from markdown.preprocessors import Preprocessor

# Above the steps that parse HTML, “mkdocs_raw_html” (21) and “html_block” (20); below that of
# fences, “fenced_code_block” (25), because in a fence this is no HTML.
PRIORITY = 22

_CODE = re.compile(
    r'^(<div class="code"[^\n]*?)(<pre\b.*?</pre>(?:<div class="actions">[^\n]*?</div>)?)'
    r'|^(<(?:figure class="exhibit[^"]*"|section class="run"|div class="gallery")[^>\n]*>)([^\n]*)'
    r"(?=</(?:figure|section|div)>$)"
    r'|^()(<details class="uses">[^\n]*</details>)$',
    re.MULTILINE | re.DOTALL,
)


class ReadyHtml(Extension):
    r"""
    ## The extension for Python-Markdown
    """

    def extendMarkdown(self, md: Markdown) -> None:
        r"""
        ### Register the step that puts the code aside

        Python-Markdown itself puts it back, as it does with every piece of raw HTML.
        """
        md.preprocessors.register(_PutAside(md), "literate_ready", PRIORITY)


class _PutAside(Preprocessor):
    def run(self, lines: list[str]) -> list[str]:
        def aside(match: re.Match[str]) -> str:
            # Each of the ways to match has two groups, of which none is None.
            opening, ready = (group for group in match.groups() if group is not None)
            return opening + self.md.htmlStash.store(ready)

        return _CODE.sub(aside, "\n".join(lines)).split("\n")
