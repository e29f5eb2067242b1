r"""
---
title: Lighten
summary: What no page needs is taken out of the style sheets, and no script holds up the first text.
---

A theme is made for every site there could be. The first text of a page is seen when all of its
style sheets are there, so each rule for a thing that the site doesn't have makes each reader wait.
When the site is built, its pages and scripts tell what there is, and the rest is taken out. That
is done to the built files, whichever engine has written them.

A rule stays unless it cannot apply: a name that stands anywhere in a tag of a page or in a script
counts as used. Not in every script, though: those of the search index are data, and those of a
worker cannot reach the page. And the theme's script names things that it makes only where pages ask
for them. What stays is in its old order, byte for byte.
"""

import re
from collections.abc import Iterable, Iterator
from hashlib import sha256
from pathlib import Path

from literate.fonts import cut_fonts

# Strings and addresses may hold braces and semicolons that mean nothing.
_TOKEN = re.compile(
    r"""url\(\s*(?:"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|[^"')][^)]*)\s*\)"""
    r"""|"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|/\*.*?\*/|[{};]""",
    re.DOTALL,
)
_WORD = re.compile(r"[\w-]+")
_TAG = re.compile(r"<[a-zA-Z][^>]*>")
_NESTING = ("@media", "@supports", "@layer", "@container")
# A file whose name tells its content must change its name with its content.
_HASHED = re.compile(r"(?P<stem>.+)\.[0-9a-f]{8}\.min\.css")
_SCRIPT = re.compile(r"<script (?=src=)")
# By this name the theme's script finds the form for the colours. It tells the browser of them, and
# that looks at all elements of the page twice more. Our own script does so when they change.
_PALETTE = re.compile(r'(<form\b[^<>]*) data-md-component="palette"')
# So no page is in the state that the theme's script puts it in while colours change.
_SWITCHING = "data-md-color-switching"
# Data, and folders of scripts for workers: no word in them is the name of a thing on a page.
_NAMELESS = {"search-names.js", "search-notes.js", "workers", "lunr"}
# How the names of what the theme's script makes begin, and the features or names of which a page
# that asks for it has one.
_ON_DEMAND = {
    "md-annotation": {"content.code.annotate"},
    "md-code_": {"content.code.annotate", "content.code.copy", "content.code.select"},
    "md-mermaid": {"mermaid"},
    "md-search-result": {"md-search__form"},
    "md-source": {"md-source"},
    "md-status": {"md-status"},
    "md-tag": {"md-search__form", "md-tag"},
    "md-tooltip": {
        "content.code.annotate",
        "content.code.copy",
        "content.footnote.tooltips",
        "content.tooltips",
    },
    "md-version": {"version"},
    "tabbed-": {"tabbed-set"},
}
_FEATURES = re.compile(r'"features": ?\[([^]]*)\]')
_VERSIONS = re.compile(r'"version": ?\{')


def lighten(site: Path, kept: Path | None = None) -> None:
    r"""
    ## Lighten a built site

    `kept` is a folder in which to keep [fonts](fonts.py#cut_fonts) for the next time.

    Style sheets lose the rules that no page of the site can need, the [fonts](fonts.py#cut_fonts)
    of formulas lose the characters, scripts wait until the page has been read, and the theme's
    script leaves the colours to ours. To do it again changes nothing.
    """
    pages = {path: path.read_text(encoding="utf-8") for path in _files(site, "*.html")}
    tags = {word for text in pages.values() for word in _words_of_tags(text)}
    words = tags | _made(site, pages.values(), tags)
    sheets = {path: path.read_text(encoding="utf-8") for path in _files(site, "*.css")}
    for path, text in sheets.items():
        sheets[path], pages = cut_fonts(path, text, pages, kept)
    fewer = reduced(list(sheets.values()), words, tags)
    sheets = dict(zip(sheets, fewer, strict=True))
    names = {}
    for path, text in sheets.items():
        content = text.encode()
        hashed = _HASHED.fullmatch(path.name)
        if hashed:
            name = f"{hashed['stem']}.{sha256(content).hexdigest()[:8]}.min.css"
            names[path.name] = name
            # A map of the old file would explain the new one wrongly.
            path.with_name(f"{path.name}.map").unlink(missing_ok=True)
            path.unlink()
            path = path.with_name(name)
        path.write_bytes(content)
    for path, text in pages.items():
        for old, new in names.items():
            text = text.replace(f"/{old}", f"/{new}")
        path.write_bytes(_SCRIPT.sub("<script defer ", _PALETTE.sub(r"\1", text)).encode())


def _files(site: Path, pattern: str) -> list[Path]:
    return sorted(site.rglob(pattern))


def _made(site: Path, pages: Iterable[str], tags: set[str]) -> set[str]:
    r"""
    The names of what scripts may make.
    """
    scripts = [
        path for path in _files(site, "*.js") if not _NAMELESS & {*path.relative_to(site).parts}
    ]
    words = {word for path in scripts for word in _WORD.findall(path.read_text(encoding="utf-8"))}
    asked = set(tags)
    for page in pages:
        for features in _FEATURES.findall(page):
            asked.update(re.findall(r"[\w.]+", features))
        asked.update({"version"} if _VERSIONS.search(page) else ())
    idle = tuple(start for start, asking in _ON_DEMAND.items() if not asking & asked)
    return {word for word in words if not word.startswith(idle)}


def _words_of_tags(text: str) -> Iterator[str]:
    # Most tags stand on a page many times.
    for tag in set(_TAG.findall(text)):
        yield from _WORD.findall(tag)


def reduced(sheets: list[str], words: set[str], tags: set[str]) -> list[str]:
    r"""
    ## Keep what can be needed

    * `sheets` are style sheets that are used together
    * `words` are all words that pages or scripts can use as names
    * `tags` are those of them that stand in a tag

    Rules go whose selectors name a class, an id, an element or an attribute that there isn't; then
    custom properties that no rule and no script asks for, and what becomes empty by that.
    """
    kept = [_pruned(_TOKEN.sub(_without_comment, sheet), words, tags) for sheet in sheets]
    while True:
        asked = set(re.findall(r"var\(\s*(--[\w-]+)", "".join(kept))) | words
        fewer = [_without_properties(sheet, asked) for sheet in kept]
        if fewer == kept:
            return kept
        kept = fewer


def _without_comment(token: re.Match[str]) -> str:
    # A licence stays.
    return "" if token[0].startswith("/*") and token[0][2] != "!" else token[0]


def _rules(css: str) -> Iterator[tuple[str, str | None]]:
    r"""
    What stands before each brace, and what stands between it and its partner; None without braces.
    """
    start = opened = depth = 0
    for token in _TOKEN.finditer(css):
        if token[0] == "{":
            opened = opened if depth else token.start()
            depth += 1
        elif token[0] == "}":
            depth -= 1
            if depth == 0:
                yield css[start:opened], css[opened + 1 : token.start()]
                start = token.end()
        elif token[0] == ";" and depth == 0:
            yield css[start : token.end()], None
            start = token.end()
    if css[start:].strip():
        yield css[start:], None


def _pruned(css: str, words: set[str], tags: set[str]) -> str:
    kept = []
    for head, body in _rules(css):
        if body is None:
            kept.append(head)
        elif head.strip().startswith(_NESTING):
            inner = _pruned(body, words, tags)
            kept += [f"{head}{{{inner}}}"] if inner.strip() else []
        elif head.strip().startswith("@"):
            kept.append(f"{head}{{{body}}}")
        else:
            able = [one for one in _split(head, ",") if _can_apply(one, words, tags)]
            kept += [f"{','.join(able)}{{{body}}}"] if able else []
    return "".join(kept)


def _split(text: str, mark: str) -> list[str]:
    r"""
    The parts between marks that stand in no brackets.
    """
    parts, depth, start = [], 0, 0
    for at, letter in enumerate(text):
        depth += (letter in "([") - (letter in ")]")
        if letter == mark and depth == 0:
            parts.append(text[start:at])
            start = at + 1
    return [*parts, text[start:]]


def _can_apply(selector: str, words: set[str], tags: set[str]) -> bool:
    r"""
    What stands in the brackets of `:not()`, `:is()` and their like is not looked at.
    """
    selector = re.sub(r"/\*.*?\*/", "", selector, flags=re.DOTALL)
    outside = selector
    while (fewer := re.sub(r"\([^()]*\)", "", outside)) != outside:
        outside = fewer
    for name, value in re.findall(r"""\[([\w-]+)(?:=["']?([\w-]+)["']?)?\]""", outside):
        if name == _SWITCHING:
            return False
        # The direction of the text is the page's own; scripts only ask for it.
        if name not in words or (value and value not in (tags if name == "dir" else words)):
            return False
    bare = re.sub(r"\[[^]]*\]", "", outside)
    names = re.findall(r"[.#]((?:[\w-]|\\.)+)", bare)
    elements = re.findall(r"(?:^|[\s>+~])([a-zA-Z][\w-]*)", bare)
    return all(one.replace("\\", "") in words for one in (*names, *elements))


def _without_properties(css: str, asked: set[str]) -> str:
    kept = []
    for head, body in _rules(css):
        if body is None:
            kept.append(head)
        elif "{" in _TOKEN.sub(lambda one: one[0] if len(one[0]) == 1 else "", body):
            inner = _without_properties(body, asked)
            kept += [f"{head}{{{inner}}}"] if inner.strip() else []
        else:
            lines = [one for one in _declarations(body) if _is_asked(one, asked)]
            kept += [f"{head}{{{''.join(lines)}}}"] if lines else []
    return "".join(kept)


def _declarations(body: str) -> Iterator[str]:
    start = 0
    for token in _TOKEN.finditer(body):
        if token[0] == ";":
            yield body[start : token.end()]
            start = token.end()
    if body[start:].strip():
        yield body[start:]


def _is_asked(declaration: str, asked: set[str]) -> bool:
    name = declaration.partition(":")[0].strip()
    return not name.startswith("--") or name in asked
