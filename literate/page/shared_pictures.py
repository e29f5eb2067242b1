r"""
---
title: Picture of a Page
summary: Who gets a link to a page sees its title and its summary in a picture of its own.
---

Whatever shows a link (a chat, a forum, a social network) asks the page for a picture. It is drawn
when the site is built: the name of the site, the title, the summary. No network is asked, and the
letters are Matplotlib's own, so the same words give the same bytes on each machine. It is kept
under a hash of its words.

**In:** the words. **Out:** a PNG of 1200 by 630 pixels, about ten kilobytes.
"""

import html
import io
import textwrap
from hashlib import sha256
from pathlib import Path

from literate.problems import needs

# The size that those who show links ask for.
WIDTH, HEIGHT = 1200, 630
MARGIN = 80
# The name of the picture beside its page.
NAME = "share.png"

# So many letters of a size go into a line, and so many lines into the picture.
_TITLE = 64, 26, 3
_SUMMARY = 34, 52, 4
_INK, _FAINT, _PAPER, _ACCENT = "#1f2328", "#5a6068", "#fffefb", "#17577f"


def svg(site: str, title: str, summary: str) -> str:
    r"""
    ## The picture as SVG
    """
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}">',
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="{_PAPER}"/>',
        f'<rect width="24" height="{HEIGHT}" fill="{_ACCENT}"/>',
        _text(site, MARGIN + 20, 30, _ACCENT),
    ]
    below = MARGIN + 130
    for words, (size, letters, most), colour in (
        (title, _TITLE, _INK),
        (summary, _SUMMARY, _FAINT),
    ):
        for line in textwrap.wrap(words, letters, max_lines=most, placeholder=" …"):
            parts.append(_text(line, below, size, colour))
            below += round(1.3 * size)
        below += 20
    return "".join([*parts, "</svg>"])


def _text(words: str, below: int, size: int, colour: str) -> str:
    place = f'x="{MARGIN}" y="{below}" font-size="{size}" fill="{colour}"'
    return f"<text {place}>{html.escape(words)}</text>"


def picture(store: Path, site: str, title: str, summary: str) -> bytes:
    r"""
    ## The picture as PNG

    From `store`, if it was drawn before. Raises a [LiterateError](../problems.py#LiterateError) if
    nothing here can draw it.
    """
    drawn = svg(site, title, summary)
    kept = store / "shared" / f"{sha256(drawn.encode()).hexdigest()[:32]}.png"
    if not kept.is_file():
        kept.parent.mkdir(parents=True, exist_ok=True)
        # Two builds may do the same at the same time: neither sees half a file.
        beside = kept.with_suffix(f".{id(drawn)}")
        with needs("imaging", "mkdocs.yml", "the pictures of shared links"):
            beside.write_bytes(_png(drawn))
        beside.replace(kept)
    return kept.read_bytes()


def _png(drawn: str) -> bytes:
    import matplotlib
    import resvg_py
    from PIL import Image

    fonts = Path(matplotlib.get_data_path(), "fonts", "ttf")
    pixels = resvg_py.svg_to_bytes(
        svg_string=drawn,
        width=WIDTH,
        skip_system_fonts=True,
        font_files=[str(fonts / "DejaVuSerif.ttf")],
        font_family="DejaVu Serif",
        serif_family="DejaVu Serif",
    )
    image = Image.open(io.BytesIO(bytes(pixels))).convert("RGB")
    # A few colours are enough for letters with soft edges.
    few = image.quantize(16, method=Image.Quantize.MEDIANCUT, dither=Image.Dither.NONE)
    written = io.BytesIO()
    few.save(written, "png", optimize=True)
    return written.getvalue()
