r"""
---
title: Fonts
summary: The faces of text and code come from npm, cut down to the letters that pages have.
---

A page is set in [Source Serif](https://github.com/adobe-fonts/source-serif), and its code in
[JetBrains Mono](https://github.com/JetBrains/JetBrainsMono). Both are npm packages beside
[KaTeX](katex.py). A whole face weighs twenty kilobytes or more. Pages need the letters of English,
a few accents, and the signs of typography; a letter that isn't among them is taken from a font of
the reader's system.

To cut a face down takes half a second. The result is kept beside the packages, under a hash of all
that it was made from.
"""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import sha256
from importlib.metadata import version
from io import BytesIO
from pathlib import Path

from literate.page import katex
from literate.problems import LiterateError, Problem
from literate.settings import Settings

# ASCII, and from the rest of Latin-1 and of typography what English texts and names need.
LETTERS = "".join(map(chr, range(0x20, 0x7F))) + "\u00a0§±¶·×äèéöü\u2009–—‘’“”…−"


@dataclass(frozen=True)
class Face:
    r"""
    ## A face

    `package` is that of npm, `style` the weight and the slant, and `features` what is kept of the
    rules by which letters change in company: kerning, ligatures, and figures of equal width.
    """

    package: str
    style: str
    features: tuple[str, ...]

    @property
    def name(self) -> str:
        r"""
        ### The name of the file
        """
        return f"{self.package}-{self.style}.woff2"


_TEXT = ("kern", "liga", "lnum", "tnum")
FACES = (
    Face("source-serif-4", "400-normal", _TEXT),
    Face("source-serif-4", "400-italic", _TEXT),
    Face("source-serif-4", "600-normal", _TEXT),
    # Without ligatures: two signs that melt into one are not what the reader has to type.
    Face("jetbrains-mono", "400-normal", ("kern",)),
)


def files(settings: Settings) -> Iterator[tuple[str, bytes]]:
    r"""
    ## The fonts of a site

    Each with its name, and the licence of each package.
    """
    packages = katex.folder(settings).parent / "@fontsource"
    for name in dict.fromkeys(face.package for face in FACES):
        yield f"{name}-LICENSE", _read(packages / name / "LICENSE")
    for face in FACES:
        whole = packages / face.package / "files" / f"{face.package}-latin-{face.style}.woff2"
        yield face.name, _cut(_read(whole), face, packages.parent / ".cache" / "literate")


def _read(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except FileNotFoundError:
        sentence = "this font is not installed there; `npm ci` brings it."
        raise LiterateError([Problem(str(file), 1, sentence)]) from None


def _cut(whole: bytes, face: Face, kept: Path) -> bytes:
    made_from = (whole, LETTERS, face, version("fonttools"), version("brotli"))
    file = kept / f"{sha256(repr(made_from).encode()).hexdigest()[:32]}.woff2"
    if file.is_file():
        return file.read_bytes()
    content = cut(whole, face)
    kept.mkdir(parents=True, exist_ok=True)
    # Two builds may do the same at the same time.
    beside = file.with_suffix(f".{os.getpid()}")
    beside.write_bytes(content)
    beside.replace(file)
    return content


def cut(whole: bytes, face: Face) -> bytes:
    r"""
    ## Cut a face down to the letters of pages
    """
    # This import is slow, and needed only where no cut face is kept yet.
    from fontTools import subset

    options = subset.Options(layout_features=list(face.features), hinting=False, flavor="woff2")
    options.desubroutinize = True
    font = subset.load_font(BytesIO(whole), options)
    subsetter = subset.Subsetter(options)
    subsetter.populate(text=LETTERS)
    subsetter.subset(font)
    content = BytesIO()
    subset.save_font(font, content, options)
    return content.getvalue()
