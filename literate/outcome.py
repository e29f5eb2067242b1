r"""
---
title: Outcome
summary: A page shows what its notebook gave.
---

Below its rows, a page that trains shows how it went when its notebook was
[executed](executed.py) for this site: the pictures, as files beside the page, and what was printed.
"""

import html
import posixpath
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from io import BytesIO

from literate import highlight
from literate.links import Links, folder


@dataclass(frozen=True)
class Part:
    r"""
    ## What one cell has put out

    * `title` and `note` are those above the cell, as plain text
    * `text` is what it has printed
    * `pictures` are PNG files
    """

    title: str
    note: str
    text: str
    pictures: tuple[bytes, ...]


@dataclass(frozen=True)
class Outcome:
    r"""
    ## What a notebook gave

    * `form` says with which values, `size = "tiny"`
    * `parts` are what its cells have put out
    """

    form: tuple[str, ...]
    parts: tuple[Part, ...]


@dataclass(frozen=True)
class Shown:
    r"""
    ## How a page shows it

    * `values` is the HTML that says which run it was
    * `figures` are the HTML of each picture or text, with its caption
    * `files` are the pictures, by where they go on the site
    """

    values: str
    figures: tuple[str, ...]
    files: dict[str, bytes]


def sentence(form: Sequence[str]) -> str:
    r"""
    ## Say in a notebook where its outputs are from
    """
    values = f", with {', '.join(f'`{one}`' for one in form)}" if form else ""
    return f"The outputs are those of a run when this site was built{values}."


def show(outcome: Outcome, uri: str, links: Links) -> Shown:
    r"""
    ## Show it on the page `uri`

    A browser fetches a picture, which was made [light](#light), after all else; its place is kept
    until then.
    """
    figures: list[str] = []
    files: dict[str, bytes] = {}
    for part in outcome.parts:
        title = html.escape(part.title)
        note = f" {html.escape(part.note)}" if part.note else ""
        caption = f"<figcaption><strong>{title}</strong>{note}</figcaption>"
        for picture in part.pictures:
            place = posixpath.join(folder(uri), f"outcome-{len(files) + 1}.png")
            files[place] = light(picture)
            width, height = size(picture)
            address = html.escape(links.beside(uri, place))
            alt = f"{title or 'A picture'}: drawn by the notebook in this run"
            # Side by side, some would be too small to read.
            across = ' class="across"' if width > 3 * height else ""
            # Not only when it comes into view: a reader may be offline by then.
            figures.append(
                f'<figure{across}><img src="{address}" width="{width}" height="{height}" '
                f'alt="{alt}" fetchpriority="low">{caption}</figure>'
            )
        if part.text:
            code = highlight.block(part.text, "")
            # On a line of its own it is put aside as code that is ready.
            block = f'<pre tabindex="0"><span><code>{code}</code></span></pre>'
            printed = f'<div class="code">{block}</div>'
            figures.append(f"<figure>\n{printed}\n{caption}</figure>")
    values = ", ".join(
        f"<code>{highlight.visible(html.escape(one))}</code>" for one in outcome.form
    )
    return Shown(values, tuple(figures), files)


def size(picture: bytes) -> tuple[int, int]:
    r"""
    ## Width and height of a picture

    They stand at the same place in every PNG file.
    """
    return int.from_bytes(picture[16:20], "big"), int.from_bytes(picture[20:24], "big")


@cache
def light(picture: bytes) -> bytes:
    r"""
    ## The same picture, in fewer bytes

    A plot has a few colours, and between them the many that smooth its edges. The nearest of 256
    look the same, and take a third of the bytes. A picture that would not become smaller stays.
    """
    # It takes long to import, and most pages have no pictures.
    from PIL import Image

    with Image.open(BytesIO(picture)) as opened:
        drawn = opened.convert("RGBA")
    # What can be seen through is white on the page.
    paper = Image.new("RGBA", drawn.size, "white")
    flat = Image.alpha_composite(paper, drawn).convert("RGB")
    written = BytesIO()
    flat.quantize(256, dither=Image.Dither.NONE).save(written, "PNG", optimize=True)
    return min(picture, written.getvalue(), key=len)
