r"""
---
title: Kept HTML
summary: A page whose Markdown is as it was is not converted again by the next build.
---

A third of a build goes into turning Markdown into HTML. Where the text, the engine's settings and
the files that can be linked to are as they were, so is the HTML, with the table of contents, the
anchors and the links of the page. It is kept beside the [pages](../page/pages_on_disk.py).

What MkDocs says of a page while it converts it, of a link that leads nowhere for instance, has to
be said by each build. So a page of which it says something is not kept. Nor is any where an
extension of Markdown may read more than the text.
"""

import json
import logging
from collections.abc import Iterable
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import Files
from mkdocs.structure.pages import Page as Document
from mkdocs.structure.toc import AnchorLink, TableOfContents

from literate.page.pages_on_disk import PagesOnDisk, digest
from literate.takeaway.page_keys import of_tool

# Extensions that make of a text what follows from it alone.
PURE = {
    "abbr", "admonition", "attr_list", "codehilite", "def_list", "fenced_code", "footnotes",
    "md_in_html", "meta", "sane_lists", "smarty", "tables", "toc",
} | {
    f"pymdownx.{name}"
    for name in (
        "arithmatex betterem caret critic details emoji highlight inlinehilite keys magiclink mark "
        "smartsymbols superfences tabbed tasklist tilde"
    ).split()
}  # fmt: skip
# Where MkDocs says what is wrong with a page.
SAYS = logging.getLogger("mkdocs.structure.pages")


def is_pure(config: MkDocsConfig) -> bool:
    r"""
    ## Does the HTML follow from the text?
    """
    names = {name for name in config.markdown_extensions if isinstance(name, str)}
    return names <= PURE and _settings(config) is not None


def _settings(config: MkDocsConfig) -> str | None:
    r"""
    The settings of the extensions; None if there is code of somebody else among them.
    """

    def named(value: Any) -> str:
        module = str(getattr(value, "__module__", ""))
        if not module.startswith(("pymdownx.", "material.")):
            raise TypeError
        return f"{module}.{value.__qualname__}"

    try:
        return json.dumps(config.mdx_configs, sort_keys=True, default=named)
    except (TypeError, ValueError, AttributeError):
        return None


class _Said(logging.Handler):
    def __init__(self) -> None:
        super().__init__()
        self.count = 0

    def emit(self, record: logging.LogRecord) -> None:
        self.count += 1


class KeptHtml:
    r"""
    ## The HTML of a build

    It is asked before the engine converts a page, and told after.
    """

    def __init__(self, on_disk: PagesOnDisk, config: MkDocsConfig) -> None:
        self.on_disk = on_disk
        names = [str(name) for name in config.markdown_extensions if isinstance(name, str)]
        self.of_all = digest(of_tool(), names, _settings(config), config.site_url)
        self.files = ""
        self.key = ""
        self.known: dict[str, Any] | None = None
        self.said = _Said()
        self.before = 0

    def begins(self, markdown: str, page: Document, files: Files) -> bool:
        r"""
        ### Is the HTML of a page there?

        Only of one that has its title from what stands above its Markdown: MkDocs would look for
        it in the text.
        """
        self.files = self.files or digest(*sorted(files.src_uris))
        self.key = digest(self.of_all, self.files, page.file.src_uri, markdown)
        has_title = "title" in page.meta
        self.known = self.on_disk.html(page.file.src_uri, self.key) if has_title else None
        self.before = self.said.count
        SAYS.addHandler(self.said)
        return self.known is not None

    def ends(self, html: str, page: Document, files: Files) -> str:
        r"""
        ### The HTML of the page

        What was kept, or else what the engine has made, which is kept from now on.
        """
        SAYS.removeHandler(self.said)
        known = self.known
        if known is None:
            # Without a log nobody knows what MkDocs would have said.
            if self.said.count == self.before and SAYS.isEnabledFor(logging.INFO):
                self._keep(html, page)
            return html
        page.toc = TableOfContents(_anchors(known["toc"]))
        page.present_anchor_ids = set(known["anchors"])
        page.links_to_anchors = {
            file: links
            for uri, links in known["links"].items()
            if (file := files.get_file_from_path(uri)) is not None
        }
        return str(known["html"])

    def _keep(self, html: str, page: Document) -> None:
        if "title" not in page.meta:
            return
        links = {file.src_uri: links for file, links in (page.links_to_anchors or {}).items()}
        made = {
            "html": html,
            "toc": _written(page.toc),
            "anchors": sorted(page.present_anchor_ids or ()),
            "links": links,
        }
        self.on_disk.keep_html(page.file.src_uri, self.key, made)


def _written(toc: Iterable[AnchorLink]) -> list[Any]:
    return [[link.title, link.id, link.level, _written(link.children)] for link in toc]


def _anchors(written: Iterable[Any]) -> list[AnchorLink]:
    made = []
    for title, name, level, children in written:
        link = AnchorLink(title, name, level)
        link.children = _anchors(children)
        made.append(link)
    return made
