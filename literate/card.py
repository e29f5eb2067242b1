r"""
---
title: Preview Picture
summary: The picture that stands beside a link to a page.
---

Where a link to a page is shown, in a chat or in a search, a picture may stand beside it: the title,
the summary and the name of the site. It is drawn when the site is built, with the font that Pillow
brings along, so that nothing has to be installed or asked for.
"""

import hashlib
import os
import unicodedata
from bisect import bisect_right
from io import BytesIO
from pathlib import Path

import PIL
from PIL import Image, ImageDraw, ImageFont

WIDTH, HEIGHT = 1200, 630
_MARGIN = 80
_BACKGROUND = "#161a24"
_SITE = "#8fb7ff"
_TITLE = "#ffffff"
_SUMMARY = "#c3cad6"
_NOTE = "#39415a"
_CODE = "#232938"


def draw(title: str, summary: str, site_name: str) -> bytes:
    r"""
    ## Draw a preview

    A PNG of 1200 by 630 pixels, the size that is shown everywhere without being cut. A title or a
    summary that is too long ends with an ellipsis.
    """
    image = Image.new("RGB", (WIDTH, HEIGHT), _BACKGROUND)
    canvas = ImageDraw.Draw(image)
    _columns(canvas)
    canvas.text((_MARGIN, 72), _letters(site_name), fill=_SITE, font=ImageFont.load_default(34))
    # The font has one weight; a stroke makes it bold.
    bottom = _text(canvas, 142, title, size=72, lines=2, fill=_TITLE, stroke=1)
    _text(canvas, bottom + 26, summary, size=38, lines=3, fill=_SUMMARY, stroke=0)
    # A few colours with what lies between them: a tenth of the bytes.
    image = image.quantize(24, method=Image.Quantize.MEDIANCUT, dither=Image.Dither.NONE)
    written = BytesIO()
    image.save(written, "PNG", optimize=True)
    return written.getvalue()


def kept(title: str, summary: str, site_name: str, folder: Path) -> Path:
    r"""
    ## Draw a preview once

    The file is named by what is on it and by what draws it, so whatever has its name is right.
    """
    parts = [title, summary, site_name, PIL.__version__, Path(__file__).read_text(encoding="utf-8")]
    path = folder / f"{hashlib.sha256(repr(parts).encode()).hexdigest()}.png"
    if not path.is_file():
        folder.mkdir(parents=True, exist_ok=True)
        beside = path.with_name(f"{path.name}.{os.getpid()}")
        beside.write_bytes(draw(title, summary, site_name))
        beside.replace(path)
    return path


def _columns(canvas: ImageDraw.ImageDraw) -> None:
    r"""
    A page in small: notes on the left, code on the right.
    """
    canvas.rectangle((700, 528, WIDTH, HEIGHT), fill=_CODE)
    for row, (note, indent, code) in enumerate([(520, 0, 260), (460, 36, 320), (300, 36, 200)]):
        top = 546 + 30 * row
        canvas.rounded_rectangle((_MARGIN, top, _MARGIN + note, top + 8), 4, fill=_NOTE)
        canvas.rounded_rectangle((740 + indent, top, 740 + indent + code, top + 8), 4, fill=_SITE)


def _text(
    canvas: ImageDraw.ImageDraw,
    top: int,
    text: str,
    *,
    size: int,
    lines: int,
    fill: str,
    stroke: int,
) -> int:
    r"""
    The y below the text.
    """
    font = ImageFont.load_default(size)
    height = round(1.25 * size)
    for line in _wrapped(_letters(text), font, WIDTH - 2 * _MARGIN, lines):
        canvas.text((_MARGIN, top), line, fill=fill, font=font, stroke_width=stroke)
        top += height
    return top


def _wrapped(text: str, font: ImageFont.FreeTypeFont, width: int, most: int) -> list[str]:
    r"""
    As many words on each line as fit; the last line holds what remains, as far as it fits.
    """
    lines: list[str] = []
    for word in text.split():
        longer = f"{lines[-1]} {word}" if lines else word
        if lines and font.getlength(longer) <= width:
            lines[-1] = longer
        else:
            lines.append(word)
    shown = [*lines[: most - 1], " ".join(lines[most - 1 :])]
    return [_cut(line, font, width) for line in shown if line]


def _cut(text: str, font: ImageFont.FreeTypeFont, width: int) -> str:
    if font.getlength(text) <= width:
        return text
    fitting = bisect_right(
        range(len(text)), width, key=lambda end: font.getlength(f"{text[:end]}…")
    )
    return text[: fitting - 1].rstrip(" .,;:") + "…"


def _letters(text: str) -> str:
    r"""
    The font has the letters of ASCII and a few marks; accents are left out, as are other scripts.
    """
    plain = unicodedata.normalize("NFKD", text.replace("–", "-").replace("—", "-"))
    return "".join(one for one in plain if one.isascii() or one in "‘’“”")
