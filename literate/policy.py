r"""
---
title: Policy
summary: The strictest Content-Security-Policy under which the built site runs.
---

A host can tell browsers what a page may load and run. `python -m literate policy site` prints what
to send as the header `Content-Security-Policy`. Its first word is `default-src 'self'`: nothing
comes from another host, and nothing that somebody manages to write into a page runs. The pages
that this tool writes need no more. What more there is, the theme forces:

* `script-src` names two inline scripts of Material by their SHA-256. The first notes where the root
  of the site is, so it has one checksum for each depth of folders, and other scripts need it. The
  second opens the tab that an address names.
* `img-src data:` is there if a style sheet holds icons, which Material's does.

A third one, for the colours that the reader has chosen, is a file here: the browser fetches it
together with the style sheets, without which it shows nothing either. Material's settings stand in
an element `<script>` too, but as JSON, which no browser runs and no policy asks about.

A new version of the theme changes the checksums, so the policy is printed from each build. Hosts
that read a file named “_headers” get it as the line after `/*`. GitHub Pages can't send it, and the
pages carry none of their own in a `<meta>`: for a copy of the site on a disk, browsers don't agree
on what `'self'` means, and it would not be readable any more.
"""

from base64 import b64encode
from hashlib import sha256
from html.parser import HTMLParser
from pathlib import Path

from literate.problems import LiterateError, Problem

# A browser runs these; the rest are data.
_RUN = {"", "module", "text/javascript", "application/javascript"}


class _Inline(HTMLParser):
    r"""
    The inline scripts and styles of a page.
    """

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.scripts: set[str] = set()
        self.styles: set[str] = set()
        self.attributes: set[str] = set()
        self.problems: list[Problem] = []
        self._path = path
        self._into: set[str] | None = None
        self._text = ""
        self.feed(path.read_text(encoding="utf-8"))
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {name: value or "" for name, value in attrs}
        self._into, self._text = None, ""
        if tag == "script" and "src" not in values and values.get("type", "").lower() in _RUN:
            self._into = self.scripts
        if tag == "style":
            self._into = self.styles
        if "style" in values:
            self.attributes.add(values["style"])
        for name in values:
            if name.startswith("on"):
                sentence = f"`{name}` holds a script; let a script of a file listen instead."
                self.problems.append(Problem(str(self._path), self.getpos()[0], sentence))

    def handle_data(self, data: str) -> None:
        # The parser may hand a text over in pieces.
        self._text += data

    def handle_endtag(self, tag: str) -> None:
        if self._into is not None:
            self._into.add(self._text)
        self._into = None


def policy(site: Path) -> str:
    r"""
    ## Print the policy of a built site

    Raises [LiterateError](problems.py#LiterateError) for a folder without pages, and for a page
    with an attribute such as “onclick”, which no checksum admits.
    """
    pages = [_Inline(path) for path in sorted(site.rglob("*.html"))]
    if not pages:
        sentence = "holds no page; build the site first, or name the folder it was built into."
        raise LiterateError([Problem(str(site), 1, sentence)])
    problems = [problem for page in pages for problem in page.problems]
    if problems:
        raise LiterateError(problems)
    scripts = set().union(*(page.scripts for page in pages))
    styles = set().union(*(page.styles for page in pages))
    attributes = set().union(*(page.attributes for page in pages))
    sheets = (path.read_text(encoding="utf-8") for path in sorted(site.rglob("*.css")))

    rules = ["default-src 'self'"]
    if any("data:image/" in sheet for sheet in sheets):
        rules.append("img-src 'self' data:")
    if scripts:
        rules.append(" ".join(["script-src 'self'", *_checksums(scripts)]))
    if styles or attributes:
        hashes = ["'unsafe-hashes'"] if attributes else []
        rules.append(" ".join(["style-src 'self'", *hashes, *_checksums(styles | attributes)]))
    return "; ".join(rules)


def _checksums(texts: set[str]) -> list[str]:
    digests = (b64encode(sha256(text.encode()).digest()).decode() for text in texts)
    return sorted(f"'sha256-{digest}'" for digest in digests)
