r"""
---
title: Pictures of a notebook
summary: A figure of a note becomes a PNG, which every viewer of notebooks shows.
---

A PNG in a data address is shown by Colab, GitHub, JupyterLab and VS Code, without a network. (Colab
shows no attachment and no SVG, VS Code no SVG.) The PNG is made of the very SVG that the site
shows, in the colours of its light pages, on white.

A notebook that has a figure of the same numbers keeps its bytes: another version of what draws
would make others. To have all drawn anew, delete the notebooks and write them again.
"""

import base64
import io
import json
import re
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path

from literate.problems import needs
from literate.results.records import Figure, Result

# Pixels for each unit of a picture: a chart is 740 pixels wide, as a note in Colab.
ZOOM = 1.6
# Few colours: a third of the bytes, and no difference to be seen.
COLOURS = 48
# The classes of a picture, in the colours of the light page.
INK = "#1f2328"
CLASSES = {
    "accent": "#17577f",
    "second": "#d52a2a",
    "line-1": "#1d5fc4",
    "line-2": "#b14800",
    "line-3": "#157043",
    "line-4": "#9331a8",
    "line-5": "#bb2240",
    "line-6": "#0b6f80",
    "line-7": "#6f6200",
    "line-8": "#545b68",
}


class Rasters:
    r"""
    ## The PNGs of figures

    Of these `results`; those that notebooks in `folder` have already are taken from there.
    """

    def __init__(self, results: Mapping[str, Result], folder: Path) -> None:
        self.results = results
        self.folder = folder

    def of(self, name: str) -> str:
        r"""
        ### The bytes of a figure, in base 64

        `name` is the path of its result and its dotted name there, as a link has them. Raises a
        [LiterateError](../problems.py#LiterateError) if nothing here can draw it.
        """
        path, _, dotted = name.partition("#")
        figure: Figure = self.results[path].find(dotted)[1]
        if figure.digest not in self._known:
            with needs("imaging", path, f"the picture of `{dotted}` in a notebook"):
                self._known[figure.digest] = base64.b64encode(png(figure.picture)).decode()
        return self._known[figure.digest]

    @cached_property
    def _known(self) -> dict[str, str]:
        found = {}
        for file in self.folder.rglob("*.ipynb"):
            try:
                cells = json.loads(file.read_text(encoding="utf-8"))["cells"]
            except (ValueError, KeyError):
                continue
            for cell in cells:
                data = re.search(r"base64,([A-Za-z0-9+/=]+)", "".join(cell["source"]))
                if data and "numbers" in cell["metadata"]:
                    found[cell["metadata"]["numbers"]] = data[1]
        return found


def png(picture: str) -> bytes:
    r"""
    ## The PNG of an SVG

    With Matplotlib's own letters, which the picture was laid out with, and none of the system: the
    pixels are the same everywhere.
    """
    import matplotlib
    import resvg_py
    from PIL import Image

    fonts = Path(matplotlib.get_data_path(), "fonts", "ttf")
    box = re.search(r'viewBox="[-\d.]+ [-\d.]+ ([\d.]+)', picture)
    drawn = resvg_py.svg_to_bytes(
        svg_string=_coloured(picture),
        background="#ffffff",
        width=round(float(box[1]) * ZOOM) if box else None,
        skip_system_fonts=True,
        font_files=[str(fonts / f"DejaVu{name}.ttf") for name in ("Sans", "SansMono")],
        font_family="DejaVu Sans",
        sans_serif_family="DejaVu Sans",
        monospace_family="DejaVu Sans Mono",
    )
    image = Image.open(io.BytesIO(bytes(drawn))).convert("RGB")
    few = image.quantize(COLOURS, method=Image.Quantize.MEDIANCUT, dither=Image.Dither.NONE)
    written = io.BytesIO()
    few.save(written, "png", optimize=True)
    return written.getvalue()


def _coloured(picture: str) -> str:
    r"""
    With colours in place of the classes of the page's style sheet.
    """
    rules = "".join(
        f".fill-{name}{{fill:{colour}}}.stroke-{name}{{stroke:{colour}}}"
        for name, colour in CLASSES.items()
    )
    head, rest = picture.split(">", 1)
    text = f'{head} color="{INK}" fill="{INK}" font-family="DejaVu Sans">'
    return f"{text}<style>{rules}</style>{rest}".replace('"monospace"', '"DejaVu Sans Mono"')
