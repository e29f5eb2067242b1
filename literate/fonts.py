r"""
---
title: Fonts
summary: Of KaTeX's fonts, the site serves the characters that its formulas are set in.
---

KaTeX has twenty fonts for all of mathematics, of which a site needs a few dozen characters. So each
font is cut down to what the formulas of the site are set in, which leaves a few kilobytes.

A font that comes late moves what was set without it, and to ask for it early makes some browsers
hold back all of the page until it is there. So it is asked for when the text has been laid out, and
until it has come a script of a few lines keeps the formulas, and nothing else, out of sight.

The name of a font that was cut down tells its content: a browser may keep it, and never takes the
font of an older build, which may lack a character, for a new one.
"""

import os
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from hashlib import sha256
from html import unescape
from importlib.metadata import version
from io import BytesIO
from pathlib import Path
from typing import NamedTuple

SCRIPT = "fonts.js"
_FACE = re.compile(r"@font-face\{([^{}]*)\}")
_FILE = re.compile(r"url\((fonts/[\w-]+)\.woff2\)")
_RULE = re.compile(r"([^{}]+)\{([^{}]*)\}")
_FONT = re.compile(r"font-(family|style|weight):([^;]+)")
_FORMULA = re.compile(r'<span class="katex-html"')
_PART = re.compile(r"<(/?)\w+([^>]*)>|[^<]+")
_CLASSES = re.compile(r'\sclass="([^"]*)"')
_SHEET = re.compile(r'<link rel="stylesheet"[^>]*>')
# A browser that cannot wait for a script before it shows anything may run it a moment late.
_HIDING = '\n      <script async blocking="render" src="{}"></script>'


class Font(NamedTuple):
    r"""
    ## What style sheets call a font
    """

    family: str = "KaTeX_Main"
    style: str = "normal"
    weight: str = "400"


class _Rule(NamedTuple):
    r"""
    The classes of each step of a selector, from the outermost inwards, and the fields of a font
    that it sets.
    """

    steps: list[set[str]]
    sets: dict[str, str]

    def applies(self, nested: list[set[str]]) -> bool:
        r"""
        Whether the rule holds for the innermost of nested elements, each given by its classes.
        """
        outer = iter(nested[:-1])
        return self.steps[-1] <= nested[-1] and all(
            any(step <= classes for classes in outer) for step in self.steps[:-1]
        )


def cut_fonts(
    sheet: Path, css: str, pages: Mapping[Path, str], kept: Path | None = None
) -> tuple[str, dict[Path, str]]:
    r"""
    ## Cut the fonts of a style sheet down to what pages need

    * `css` is the text of the `sheet`, beside which the fonts lie
    * `pages` are the texts of the pages of the site
    * `kept` is a folder that keeps each font that was cut, so that none is cut twice

    Gives the text with the fonts that are left, and the pages, of which those with formulas now ask
    for the script. Fonts that have been cut stay as they are.
    """
    faces = {_font_of(face[1]): file[1] for face, file in _faces(css)}
    if not faces:
        return css, dict(pages)
    rules = _rules(css)
    families = {face.family for face in faces}
    script = sheet.parent.parent / SCRIPT
    hiding: set[Path] = set()
    texts: dict[str, set[str]] = defaultdict(set)
    for path, page in pages.items():
        shown = [
            (_nearest(font, faces), text)
            for font, text in _texts(page, rules)
            if font.family in families
        ]
        hiding |= {path} if shown else set()
        for font, text in shown:
            texts[faces[font]].update(text)

    names = {}
    for name in sorted(set(faces.values())):
        whole = sheet.parent / f"{name}.woff2"
        if name in texts:
            content = _cut(whole, texts[name], kept)
            names[name] = f"{name}.{sha256(content).hexdigest()[:8]}.woff2"
            (sheet.parent / names[name]).write_bytes(content)
        whole.unlink(missing_ok=True)

    for face, file in _faces(css):
        # Browsers that know custom properties know this format, too.
        source = f'src:url({names[file[1]]}) format("woff2")' if file[1] in names else ""
        kept = re.sub(r"src:[^;}]*", source, face[0]) if source else ""
        css = css.replace(face[0], kept)
    return css, {
        path: _hiding(page, _seen_from(path, script))
        if path in hiding and script.is_file()
        else page
        for path, page in pages.items()
    }


def _faces(css: str) -> Iterator[tuple[re.Match[str], re.Match[str]]]:
    r"""
    What declares a font, and its file in it.
    """
    for face in _FACE.finditer(css):
        if file := _FILE.search(face[1]):
            yield face, file


def _font_of(declarations: str) -> Font:
    return Font(**{name: value.strip("\"'") for name, value in _FONT.findall(declarations)})


def _rules(css: str) -> list[_Rule]:
    r"""
    The rules that choose a font, the one that wins at the end.
    """
    rules = []
    for selectors, declarations in _RULE.findall(_FACE.sub("", css)):
        sets = {name: value.strip("\"'") for name, value in _FONT.findall(declarations)}
        for selector in selectors.split(",") if sets else []:
            # To take a child for any descendant keeps, at worst, a character too many.
            steps = [set(re.findall(r"\.([\w-]+)", step)) for step in re.split(r"[\s>]+", selector)]
            rules += [_Rule(steps, sets)] if any(steps) else []
    return sorted(rules, key=lambda rule: sum(map(len, rule.steps)))


def _nearest(font: Font, faces: Mapping[Font, str]) -> Font:
    r"""
    The face that a browser takes for a font.
    """
    same = [face for face in faces if face.family == font.family]
    return max(same, key=lambda face: (face.style == font.style, face.weight == font.weight))


def _texts(page: str, rules: list[_Rule]) -> Iterator[tuple[Font, str]]:
    r"""
    The texts of the formulas of a page, each with its font.
    """
    for formula in _FORMULA.finditer(page):
        nested, fonts = [{"katex"}], [Font()]
        for part in _PART.finditer(page, formula.start()):
            end, rest = part.groups()
            if rest is None:
                # Invisible: it only gives a line its height.
                if text := unescape(part[0]).strip("\u200b"):
                    yield fonts[-1], text
            elif end:
                nested.pop()
                fonts.pop()
                if len(nested) == 1:
                    break
            elif not rest.endswith("/"):
                classes = _CLASSES.search(rest)
                nested.append(set(classes[1].split()) if classes else set())
                sets: dict[str, str] = {}
                for rule in rules:
                    sets |= rule.sets if rule.applies(nested) else {}
                fonts.append(fonts[-1]._replace(**sets))


def _cut(file: Path, characters: set[str], kept: Path | None) -> bytes:
    r"""
    The font that is kept is named by what it was cut from, how, and by what.
    """
    if kept is None:
        return _subset(file, characters)
    parts = [sha256(file.read_bytes()).hexdigest(), sorted(characters)]
    parts += [version("fonttools"), Path(__file__).read_text(encoding="utf-8")]
    path = kept / f"{sha256(repr(parts).encode()).hexdigest()}.woff2"
    if not path.is_file():
        kept.mkdir(parents=True, exist_ok=True)
        beside = path.with_name(f"{path.name}.{os.getpid()}")
        beside.write_bytes(_subset(file, characters))
        beside.replace(path)
    return path.read_bytes()


def _subset(file: Path, characters: set[str]) -> bytes:
    r"""
    A font with some of its characters, in the same form: the bytes depend on nothing else.
    """
    # It takes long to import, and only a site with formulas needs it.
    from fontTools import subset

    options = subset.Options(flavor="woff2", hinting=False, recalc_timestamp=False)
    cutter = subset.Subsetter(options)
    cutter.populate(unicodes=map(ord, characters))
    written = BytesIO()
    with subset.load_font(file, options) as font:
        cutter.subset(font)
        subset.save_font(font, written, options)
    return written.getvalue()


def _hiding(page: str, script: str) -> str:
    r"""
    The page, with the script that hides formulas after the style sheets.
    """
    sheets = list(_SHEET.finditer(page))
    if not sheets:
        return page
    at = sheets[-1].end()
    return page[:at] + _HIDING.format(script) + page[at:]


def _seen_from(page: Path, file: Path) -> str:
    return Path(os.path.relpath(file, page.parent)).as_posix()
